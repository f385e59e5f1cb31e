"""Where do documents come from?"""

from likewise.sources.columns import Columns, OnBad
from likewise.sources.several import at_least_one, documents_of
from likewise.sources.skipped import Skipped
from likewise.sources.source import Place, Source, open_source

__all__ = [
    "Columns",
    "OnBad",
    "Place",
    "Skipped",
    "Source",
    "at_least_one",
    "documents_of",
    "open_source",
]

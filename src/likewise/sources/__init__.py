"""Where do documents come from?"""

from likewise.sources.columns import Columns, OnBad, chosen_columns
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
    "chosen_columns",
    "documents_of",
    "open_source",
]

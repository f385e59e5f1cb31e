"""Where do documents come from?"""

from likewise.sources.columns import Columns, OnBad
from likewise.sources.skipped import Skipped
from likewise.sources.source import Place, Source, documents_of, open_source

__all__ = ["Columns", "OnBad", "Place", "Skipped", "Source", "documents_of", "open_source"]

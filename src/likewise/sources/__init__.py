"""Where do documents come from?"""

from likewise.sources.columns import Columns
from likewise.sources.source import Source, open_source

__all__ = ["Columns", "Source", "open_source"]

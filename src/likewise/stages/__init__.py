"""How do steps make a search?"""

from likewise.stages.fusion import fuse
from likewise.stages.retrieval import Retrieve
from likewise.stages.stage import Answered, Cut, Stage

__all__ = ["Answered", "Cut", "Retrieve", "Stage", "fuse"]

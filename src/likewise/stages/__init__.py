"""How do steps make a search?"""

from likewise.stages.fusion import fuse
from likewise.stages.reading import read_stage
from likewise.stages.stage import Context, Cut, Result, Scorer, Stage, Where

__all__ = ["Context", "Cut", "Result", "Scorer", "Stage", "Where", "fuse", "read_stage"]

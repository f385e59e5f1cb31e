"""What does a figure look like?

Drawn by matplotlib (the extra `plots`), in one style, as SVG with text that can be searched and as
PNG. The same numbers give the same bytes.
"""

from likewise.draw.curves import draw_risk
from likewise.draw.words import draw_words

__all__ = ["draw_risk", "draw_words"]

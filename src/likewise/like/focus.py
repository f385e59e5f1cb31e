"""The dial of likeness: from documents on the same subject to documents that say the same thing.

A score is a weighed mean of four parts: dense vectors (x), specific words (ψ), all words (b, BM25
of the whole document as a share of its own score), and the share of a document's title that the
document in hand says (t),

    (x/x̄ + w (s ψ/ψ̄ + (1 - s) b/b̄) + v t/t̄) / (1 + w + v)

where x̄, ψ̄, b̄ and t̄ are what the twenty documents most like one have on average in this collection:
so a score of 1 is as like as these are. Where most documents have no title there are three parts.

The weights at three places of the dial (documents of one category; between the two; cited, linked,
duplicates) are what 14 tasks choose, also leaving one collection out: benchmarks/likeness.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.errors import UsageError
from likewise.models.model import BALANCED, Typical, Weights

LEVELS = {"subject": 0.0, "balanced": BALANCED, "thing": 1.0}


class Curve(NamedTuple):
    """The weights of words and of titles at the places of the dial."""

    words: tuple[float, float, float]
    titles: tuple[float, float, float]


TITLED = Curve(words=(0.3, 0.3, 1.0), titles=(0.0, 0.1, 0.4))
UNTITLED = Curve(words=(0.3, 0.5, 1.0), titles=(0.0, 0.0, 0.0))
# The share of specific words in the weight of words.
SPECIFIC = 0.3


def read_focus(focus: str | float) -> float:
    """Read a place of the dial: subject, balanced, thing, or a number from 0 to 1."""
    text = str(focus).strip().lower()
    if text in LEVELS:
        return LEVELS[text]
    try:
        place = float(text)
    except ValueError:
        place = -1.0
    if not 0 <= place <= 1:
        raise UsageError(
            f"focus must be subject, balanced, thing or a number from 0 to 1, not {focus!r}"
        )
    return place


def named_focus(place: float) -> str:
    """Write a place of the dial, by its name where it has one."""
    names = {level: name for name, level in LEVELS.items()}
    return names.get(place, f"{place:g}")


def weights_at(place: float, typical: Typical, *, dense: float = 1.0) -> Weights:
    """Weigh the parts at a place of the dial; `dense` is how much dense vectors count in all.

    What no document has counts for nothing, and the others for all.
    """
    curve = TITLED if typical.titles else UNTITLED
    words, titles = (float(np.interp(place, [*LEVELS.values()], at)) for at in curve)
    every = (
        (dense, typical.dense),
        (words * SPECIFIC, typical.specific),
        (words * (1 - SPECIFIC), typical.words),
        (titles, typical.titles),
    )
    total = sum(weight for weight, there in every if there) or 1.0
    return Weights(*(weight / there / total if there else 0.0 for weight, there in every))

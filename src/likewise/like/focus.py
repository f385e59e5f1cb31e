"""The dial of likeness: from documents on the same subject to documents that say the same thing.

A score is a weighed mean of three parts: dense vectors (x), specific words (ψ) and all words (b,
BM25 of the whole document as a share of its own score),

    (x/x̄ + w (s ψ/ψ̄ + (1 - s) b/b̄)) / (1 + w)

where x̄, ψ̄ and b̄ are what the twenty documents most like one have on average in this collection:
so a score of 1 is as like as these are. The weight w of words is .3 for the same subject (documents
of one category), .5 between the two, and 1 for the same thing (cited, linked, duplicates); specific
words have .3 of it, .4 for the same thing.

They are what 14 tasks choose, also leaving one collection out: benchmarks/likeness.py.
"""

from __future__ import annotations

import numpy as np

from likewise.errors import UsageError
from likewise.models.model import BALANCED, Typical, Weights

LEVELS = {"subject": 0.0, "balanced": BALANCED, "thing": 1.0}
# At these places of the dial: the weight of words, and the share of specific words in it.
WORDS = (0.3, 0.5, 1.0)
SPECIFIC = (0.3, 0.3, 0.4)


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
    words, share = (float(np.interp(place, [*LEVELS.values()], at)) for at in (WORDS, SPECIFIC))
    every = (
        (dense, typical.dense),
        (words * share, typical.specific),
        (words * (1 - share), typical.words),
    )
    total = sum(weight for weight, there in every if there) or 1.0
    return Weights(*(weight / there / total if there else 0.0 for weight, there in every))

"""Scores by one part of words alone, by the kernel that scores all of them."""

import numpy as np

from likewise.like.kernels import SPECIFIC, WORDS, score_rows, table_of

_NO_WORDS = np.zeros(1, np.uint32), np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(0, "f4")
_NO_RECORDS = np.zeros(0, np.uint8), np.zeros(1, np.uint32)


def score_part(part, rows, documents, column, *, norms=None, rarity=None):
    """Score rows; `documents` are specific words, or the stream of records."""
    given = (
        documents if part == SPECIFIC else _NO_WORDS,
        documents if part == WORDS else _NO_RECORDS,
        documents if part not in (SPECIFIC, WORDS) else _NO_RECORDS,
    )
    norms = np.zeros(0, np.float32) if norms is None else norms
    rarity = np.zeros(0) if rarity is None else rarity
    out, weights = np.full(len(rows), np.nan), np.zeros(3)
    weights[part] = 1.0
    table = table_of(**{("specific", "words", "titles")[part]: column})
    score_rows(rows, given, (norms, rarity), table, weights, out)
    return out

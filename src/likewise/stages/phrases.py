"""Where do the words of a phrase stand one after the other?

Terms are looked up by their positions. Words that the analysis drops have none: where documents are
few enough their texts are read, and the words between the terms compared as they are spelled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.collection.positions import GAP
from likewise.collection.segment import Segment
from likewise.compiled import Bools, Int, Ints, kernel
from likewise.text.analysis import Analyzer

# A word that the analysis drops, and how far it stands from the first term of its phrase.
Dropped = tuple[str, int]
_TEXTS_AT_ONCE = 256


def dropped_words(text: str, kept: Sequence[int], analyzer: Analyzer) -> tuple[Dropped, ...]:
    """List the words of a phrase that are no terms; `kept` are the positions of those that are."""
    [words] = analyzer.words([text])
    first = kept[0] if len(kept) else 0
    return tuple((word, at - first) for at, word in enumerate(words) if at not in kept)


def stands_in(words: Sequence[str], start: int, dropped: Sequence[Dropped], by: Analyzer) -> bool:
    """Tell whether dropped words stand around a place of a text, given by its words."""
    return all(
        0 <= start + offset < len(words) and by.folded(words[start + offset]) == word
        for word, offset in dropped
    )


def read_phrases(
    segment: Segment, docs: Ints, starts: Sequence[Ints], dropped: Sequence[Dropped], by: Analyzer
) -> Bools:
    """Tell which documents have dropped words around any of the places given for each.

    Places are positions as they are stored: what follows a title is read `GAP` further on.
    """
    found = np.zeros(len(docs), np.bool_)
    for first in range(0, len(docs), _TEXTS_AT_ONCE):
        rows = range(first, min(first + _TEXTS_AT_ONCE, len(docs)))
        documents = [segment.documents[int(docs[row])] for row in rows]
        titles = by.words([document.title for document in documents])
        texts = by.words([document.text for document in documents])
        for row, title, text in zip(rows, titles, texts, strict=True):
            words = [*title, *([""] * GAP if title else ()), *text]
            found[row] = any(stands_in(words, at, dropped, by) for at in starts[row].tolist())
    return found


@kernel
def find_phrases(
    bounds: Ints, values: Ints, columns: Ints, offsets: Ints, n_terms: Int
) -> tuple[Ints, Ints]:
    """Find where documents have terms at given offsets from each other: documents, and places.

    `columns` are the terms' places among those that the positions are of. Equals for each document
    every p for which all j have `p + offsets[j]` among the positions of term `columns[j]`.
    """
    n_docs = (len(bounds) - 1) // n_terms
    room = 0
    for i in range(n_docs):
        room += bounds[i * n_terms + columns[0] + 1] - bounds[i * n_terms + columns[0]]
    docs, starts = np.empty(room, np.int64), np.empty(room, np.int64)
    n = 0
    for i in range(n_docs):
        first = i * n_terms
        for at in range(bounds[first + columns[0]], bounds[first + columns[0] + 1]):
            start = values[at] - offsets[0]
            j = 1
            while j < len(columns):
                low, high = bounds[first + columns[j]], bounds[first + columns[j] + 1]
                place = low + np.searchsorted(values[low:high], start + offsets[j])
                if place == high or values[place] != start + offsets[j]:
                    break
                j += 1
            if j == len(columns):
                docs[n], starts[n] = i, start
                n += 1
    return docs[:n].copy(), starts[:n].copy()

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
from likewise.records import Document
from likewise.text.analysis import Analyzer, encode, words_of_chunk
from likewise.text.chunks import cut

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
        rows = np.arange(first, min(first + _TEXTS_AT_ONCE, len(docs)))
        documents = [segment.documents[doc] for doc in docs[rows].tolist()]
        words = _Words(documents, by)
        places = [starts[row] for row in rows.tolist()]
        owners = np.repeat(np.arange(len(rows)), [*map(len, places)])
        there = np.ones(len(owners), np.bool_)
        for word, offset in dropped:
            there &= words.are(word, owners, np.concatenate(places) + offset)
        found[rows[owners[there]]] = True
    return found


class _Words:
    """The words of documents by their positions, of which only those asked for are looked at."""

    def __init__(self, documents: Sequence[Document], by: Analyzer) -> None:
        texts = [encode(text) for one in documents for text in (one.title, one.text)]
        chunks = cut(texts)
        spelled = [*map(words_of_chunk, chunks.distinct.all())]
        widths = np.array([*map(len, spelled)], np.int64)
        self._words = np.array([by.folded(word) for words in spelled for word in words], np.object_)
        self._firsts = np.cumsum(widths) - widths
        self._tokens = chunks.tokens
        # Where each token ends, and each text begins, among the words of all.
        self._ends = np.cumsum(widths[chunks.tokens])
        bounds = np.concatenate(([0], self._ends))[chunks.token_bounds]
        self._begins, self._sizes = bounds[:-1].reshape(-1, 2), np.diff(bounds).reshape(-1, 2)

    def are(self, word: str, owners: Ints, places: Ints) -> Bools:
        """Tell at which of the places of documents a word stands."""
        n_title, n_text = self._sizes[owners].T
        after = n_title + np.where(n_title > 0, GAP, 0)
        in_title = (places >= 0) & (places < n_title)
        in_text = (places >= after) & (places < after + n_text)
        begins = self._begins[owners]
        at = np.where(in_title, begins[:, 0] + places, begins[:, 1] + places - after)
        known = np.flatnonzero(in_title | in_text)
        tokens = np.searchsorted(self._ends, at[known], "right")
        # Counted from the end of its chunk, which may be of several words.
        chunk = self._tokens[tokens]
        last = np.append(self._firsts, len(self._words))[chunk + 1]
        found = np.zeros(len(places), np.bool_)
        found[known] = self._words[last - (self._ends[tokens] - at[known])] == word
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

"""How much of a document's title does the document in hand say? A part of likeness.

What a text refers to (a related page, a cited paper, an entry that explains a word) is named in it
by its title. The part is the share of the title's words that the text has, by their idf, with a
word that occurs f times counted as `f / (f + 1)`:

    Σ idf(w) f(w) / (f(w) + 1)  /  Σ idf(w)    over the words w of the title

It is linear in the weights of the text's words, so that documents in hand can be mixed.
"""

from __future__ import annotations

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.collection.words import TITLE
from likewise.compiled import Floats
from likewise.like.by_words import WordScores
from likewise.like.components import EncodedQuery, Encoder
from likewise.models.model import Weights

# Where fewer documents have a title, those that have one would be preferred for that alone.
_LEAST_TITLED = 0.5


def has_titles(collection: Snapshot) -> bool:
    """Tell whether most documents have a title."""
    if not collection.has_field(TITLE):
        return False
    live = collection.live_docs()
    return bool(len(live) and (collection.lengths(live, TITLE) > 0).mean() >= _LEAST_TITLED)


class Titles:
    """Shares of titles that the document in hand says."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._collection = encoder.collection

    def scan(self, query: EncodedQuery, weight: float, out: Floats) -> None:
        """Add the scores of all documents."""
        scorer = WordScores(self._encoder, query, Weights(0, 0, 0, weight))
        out += scorer.score(np.arange(len(out))).astype(np.float32)

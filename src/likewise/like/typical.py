"""How like one another are the documents of a collection that are most alike, by each part?"""

from __future__ import annotations

import numpy as np

from likewise.compiled import Doubles, Floats
from likewise.like.components import AllWords, Component, Dense, Encoder, SpecificWords
from likewise.like.titles import Titles, has_titles
from likewise.models.model import Typical
from likewise.retrieve.question import of_doc

# So many documents are asked with, and so many of the best answers to each count.
_SAMPLE, _BEST = 100, 20
_LEAST = 1e-3


def measure_typical(encoder: Encoder, *, seed: int = 0) -> Typical:
    """Give the mean score of the best answers to a sample of documents, by each part.

    Every document is scored. Documents with nothing of a part do not count for it; a part that no
    document has is 0.
    """
    collection = encoder.collection
    live = collection.live_docs()
    sample = np.sort(np.random.default_rng(seed).permutation(live)[:_SAMPLE])
    barred = np.ones(collection.n_slots, np.bool_)
    barred[live] = False
    parts: dict[str, Component] = {
        "dense": Dense(encoder),
        "specific": SpecificWords(encoder),
        "words": AllWords(encoder),
    }
    if has_titles(collection):
        parts["titles"] = Titles(encoder)
    means: dict[str, list[float]] = {name: [] for name in parts}
    for doc in sample.tolist():
        query = encoder.encode(*of_doc(collection, doc))
        for name, part in parts.items():
            scores = np.zeros(collection.n_slots, np.float32)
            part.scan(query, 1.0, scores)
            scores[barred], scores[doc] = -np.inf, -np.inf
            best = _best(scores)
            if len(best):
                means[name].append(float(best.mean()))
    return Typical(
        **{name: max(float(np.mean(its)), _LEAST) if its else 0.0 for name, its in means.items()}
    )


def _best(scores: Floats) -> Doubles:
    """Give the best scores that are above nothing."""
    if len(scores) > _BEST:
        scores = np.partition(scores, len(scores) - _BEST)[-_BEST:]
    found: Doubles = np.sort(scores[scores > 0]).astype(np.float64)
    return found

"""Do these words belong together? Their meetings in the documents of a collection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Ids, Ints, kernel

_DECODED = 1 << 16


def mean_npmi(
    word_sets: Sequence[Sequence[str]], collection: Snapshot, *, docs: Ints | None = None
) -> Doubles:
    """Measure how coherent sets of terms are: the mean NPMI of the pairs of each set.

    `NPMI = ln(p(a,b) / (p(a) p(b))) / -ln p(a,b)` over the documents that hold terms: -1 for two
    that never meet, 1 for two that never part (Bouma 2009; Lau, Newman, Baldwin 2014). Terms are
    analysed terms, as the collection stores them; a set of fewer than two has 0. Counted in all
    documents, or in `docs`.
    """
    sets = [list(dict.fromkeys(words)) for words in word_sets]
    n_sets, widest = len(sets), max(map(len, sets), default=0)
    if not n_sets or widest < 2:
        return np.zeros(n_sets, np.float64)
    numbers = collection.find_terms([word for words in sets for word in words])
    owners = np.repeat(np.arange(n_sets), [len(words) for words in sets])
    places = np.concatenate([np.arange(len(words)) for words in sets])
    known = numbers >= 0
    order = np.flatnonzero(known)[np.argsort(numbers[known], kind="stable")]
    first = np.searchsorted(numbers[order], np.arange(collection.n_terms + 1)).astype(np.int64)
    met = np.zeros((n_sets, widest, widest), np.int64)
    docs = collection.live_docs() if docs is None else docs
    for start in range(0, len(docs), _DECODED):
        counts = collection.term_counts(docs[start : start + _DECODED])
        count_meetings(
            (counts.bounds, counts.terms),
            (first, owners[order].astype(np.int32), places[order].astype(np.int32)),
            met,
        )
    return np.array(
        [
            _mean_of_pairs(met[i, : len(words), : len(words)], max(len(docs), 1))
            for i, words in enumerate(sets)
        ]
    )


def _mean_of_pairs(met: Ints, n_docs: int) -> float:
    a, b = np.triu_indices(len(met), 1)
    if not len(a):
        return 0.0
    alone = np.diag(met) / n_docs
    both = met[a, b] / n_docs
    meeting = np.maximum(both, 1e-300)
    apart = np.maximum(alone[a] * alone[b], 1e-300)
    npmi = np.log(meeting / apart) / np.maximum(-np.log(meeting), 1e-300)
    return float(np.where(both <= 0, -1.0, np.where(both >= 1, 1.0, npmi)).mean())


@kernel
def count_meetings(
    documents: tuple[Ints, Ids], members: tuple[Ints, Ids, Ids], met: NDArray[np.int64]
) -> None:
    """Add up in how many documents the words of each set meet: `met[set, a, b]`, a ≤ b.

    Term t is in the sets `owners[first[t]:first[t + 1]]` at the `places` of the same slice. Equals
    `met[s, a, b] += sum(word_a in doc and word_b in doc for doc in documents)`.
    """
    bounds, terms = documents
    first, owners, places = members
    n_sets, widest, _ = met.shape
    present = np.empty((n_sets, widest), np.int32)
    sizes = np.zeros(n_sets, np.int32)
    touched = np.empty(n_sets, np.int32)
    for doc in range(len(bounds) - 1):
        n_touched = 0
        for j in range(bounds[doc], bounds[doc + 1]):
            for i in range(first[terms[j]], first[terms[j] + 1]):
                owner = owners[i]
                if sizes[owner] == 0:
                    touched[n_touched] = owner
                    n_touched += 1
                present[owner, sizes[owner]] = places[i]
                sizes[owner] += 1
        for i in range(n_touched):
            owner = touched[i]
            for x in range(sizes[owner]):
                a = present[owner, x]
                for y in range(x, sizes[owner]):
                    b = present[owner, y]
                    met[owner, min(a, b), max(a, b)] += 1
            sizes[owner] = 0

"""What every model says of a document: topics, words of its own, and their shares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Floats, Int, Ints, kernel

OWN_WORDS = 15


class Triples(NamedTuple):
    """The decomposition of documents (θ, ψ, λ).

    `topics` has a row for each document; its specific words are the term numbers
    `terms[bounds[i]:bounds[i + 1]]` with `weights`, the largest first; `shares` are those of the
    topics, the specific words and the background, and add up to one (all zero for an empty
    document).
    """

    topics: NDArray[np.float32]
    bounds: Ints
    terms: Ints
    weights: Floats
    shares: NDArray[np.float32]


@kernel
def largest(bounds: Ints, values: Floats, limit: Int) -> tuple[Ints, Ints]:
    """Find the `limit` largest values above zero of each slice, ties by place.

    Equals np.argsort(-values, kind="stable")[:limit] within each slice, without the zeros.
    """
    places = np.empty(min(len(values), limit * (len(bounds) - 1)), np.int64)
    out = np.zeros(len(bounds), np.int64)
    n: Int = 0
    for i in range(len(bounds) - 1):
        start = n
        for j in range(bounds[i], bounds[i + 1] if limit > 0 else bounds[i]):
            if not values[j] > 0:
                continue
            if n - start == limit and values[j] <= values[places[n - 1]]:
                continue
            k = n if n - start < limit else n - 1
            while k > start and values[places[k - 1]] < values[j]:
                places[k] = places[k - 1]
                k -= 1
            places[k] = j
            if n - start < limit:
                n += 1
        out[i + 1] = n
    return out, places[:n].copy()

"""The largest inner products, against all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.models.klsa import KLSA, fit_space
from likewise.models.stored_vectors import StoredVectors
from likewise.neighbours.int8 import Coded
from likewise.neighbours.vectors import VectorSearch
from likewise.stages.masks import mask_of


def search_of(pieces):
    """Search rows that are as they are, without a collection."""
    segments = [Coded(rows, np.ones(len(rows), np.float32)) for rows in pieces]
    return VectorSearch(segments, np.cumsum([0, *map(len, pieces)]))


@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=3),
    n=st.integers(0, 40),
    seed=st.integers(0, 10**6),
    offset=st.sampled_from([0.0, 1e3]),
)
def test_the_nearest_are_those_of_all(sizes, n, seed, offset):
    """Also where single precision cannot tell rows apart: sums of large numbers that cancel."""
    random = np.random.default_rng(seed)
    pieces = []
    for size in sizes:
        rows = random.integers(-3, 4, (size, 9)).astype(np.float32)
        rows[:, 0] = rows[:, 1] = offset
        pieces.append(rows)
    allowed = [random.random(size) < 0.6 for size in sizes]
    point = random.standard_normal(9)
    point[0], point[1] = 1e4, -1e4
    search = search_of(pieces)
    for masks in ([None] * len(sizes), allowed):
        open_ = np.concatenate(allowed) if masks is allowed else np.ones(sum(sizes), np.bool_)
        scores = np.concatenate(pieces).astype(np.float64) @ point
        docs = np.flatnonzero(open_)
        found = search.nearest(point, n, masks=masks)
        assert len(found.docs) == (min(n, len(docs)) if n else len(docs))
        assert np.isin(found.docs, docs).all()
        np.testing.assert_allclose(found.scores, scores[found.docs], rtol=1e-9, atol=1e-6)
        kept = np.sort(scores[docs])[::-1][: len(found.docs)]
        np.testing.assert_allclose(found.scores, kept, rtol=1e-9, atol=1e-6)
        assert np.array_equal(np.lexsort((found.docs, -found.scores)), np.arange(len(found.docs)))


def test_points_and_scores_are_sums_of_rows(kinds):
    stored = StoredVectors(kinds, fit_space(kinds, KLSA(axes=12), threads=1))
    search = stored.search
    docs = np.array([500, 3, 220, 7])
    weights = np.array([0.5, 2.0, 0.25, 1.0])
    rows = search.rows(np.arange(600)).astype(np.float64)
    point = stored.weighted_sum(docs, weights)
    np.testing.assert_allclose(point, weights @ rows[docs], rtol=1e-12)
    np.testing.assert_allclose(
        search.scores(point, np.arange(600)), rows @ point, rtol=1e-6, atol=1e-9
    )
    live = mask_of(kinds).segments
    found = search.nearest(point, 10, live)
    everything = search.nearest(point, 0, live)
    assert np.array_equal(found.docs, everything.docs[:10])
    assert np.array_equal(found.scores, everything.scores[:10])
    assert len(everything.docs) == kinds.n_docs
    assert len(search.nearest(point, 10_000, live).docs) == kinds.n_docs


class Proposing:
    """An index that knows the first segment, and proposes some of its rows twice."""

    segments = (0,)

    def __init__(self, rows):
        self.rows = rows
        self.asked = []

    def propose(self, point, n, **_):
        self.asked.append(n)
        order = np.argsort(-(self.rows @ point), kind="stable")[:n]
        return np.concatenate([order, order[:3]])


def test_an_index_only_proposes(kinds):
    stored = StoredVectors(kinds, fit_space(kinds, KLSA(axes=12), threads=1))
    plain = stored.search
    finder = Proposing(stored.rows(np.arange(200)))
    segments = [segment.dense for segment in stored.segments]
    search = VectorSearch(segments, kinds.bases, [finder, None, None])
    point = stored.weighted_sum(np.array([17, 30]), np.array([1.0, 0.5]))
    masks = [segment.live & (np.arange(segment.n_docs) % 2 == 0) for segment in kinds.segments]
    few = [segment.live & (np.arange(segment.n_docs) < 5) for segment in kinds.segments]
    live = mask_of(kinds).segments
    for allowed in (live, masks, few):
        one = plain.nearest(point, 20, masks=allowed)
        other = search.nearest(point, 20, masks=allowed)
        assert np.array_equal(one.docs, other.docs)
        assert np.array_equal(one.scores, other.scores)
        assert len(np.unique(other.docs)) == len(other.docs)
        if allowed is not live:
            assert np.concatenate(allowed)[other.docs].all()
    # A filter that leaves out what is nearest.
    far = np.concatenate([segment.live for segment in kinds.segments])
    far[plain.nearest(point, 100, live).docs] = False
    masks = np.split(far, kinds.bases[1:-1])
    asked = [*finder.asked]
    assert np.array_equal(
        plain.nearest(point, 20, masks=masks).docs, search.nearest(point, 20, masks=masks).docs
    )
    finder.asked[:] = asked
    # More is asked of it where much is not allowed, and nothing where nearly all is not.
    assert len(finder.asked) == 2
    assert finder.asked[1] >= 2 * finder.asked[0] - 2
    assert len(search.nearest(point, 0, live).docs) == kinds.n_docs
    assert len(finder.asked) == 2


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_rows_no_neighbours(n):
    found = search_of([np.empty((0, 4), np.float32)]).nearest(np.ones(4), n, masks=[None])
    assert len(found.docs) == len(found.scores) == 0

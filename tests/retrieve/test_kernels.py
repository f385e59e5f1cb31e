import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.postings import PAIRS_FROM, Bounds, Postings
from likewise.retrieve.best import NO_ANSWER, key_of, push, score_of, unpack
from likewise.retrieve.impacts import add_impacts, best_impact, impact, large_count
from likewise.retrieve.kernels import GROUP, find_above, lower_bound, make_workspace
from likewise.retrieve.models import (
    BM25_IMPACT,
    COUNT_IMPACT,
    DIRICHLET_IMPACT,
    JELINEK_MERCER_IMPACT,
    TFIDF_IMPACT,
)

KINDS = [BM25_IMPACT, TFIDF_IMPACT, DIRICHLET_IMPACT, JELINEK_MERCER_IMPACT, COUNT_IMPACT]
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


def bits_of(score):
    return np.array([score], np.float32).view(np.int32)[0]


@given(score=singles, doc=st.integers(0, 2**32 - 1))
def test_keys_keep_score_and_document(score, doc):
    key = key_of(bits_of(score), doc)
    docs, scores = unpack(np.array([[NO_ANSWER, key]]))
    assert scores[0, 0] == score == score_of(key)
    assert docs[0, 0] == doc
    assert key > NO_ANSWER


@given(a=st.tuples(singles, st.integers(0, 5)), b=st.tuples(singles, st.integers(0, 5)))
def test_keys_order_by_score_then_earlier_document(a, b):
    a, b = ((score + 0.0, doc) for score, doc in (a, b))
    better = a[0] > b[0] or (a[0] == b[0] and a[1] < b[1])
    assert (key_of(bits_of(a[0]), a[1]) > key_of(bits_of(b[0]), b[1])) == better


@given(keys=st.lists(st.integers(-(2**62), 2**62), max_size=60, unique=True), k=st.integers(1, 20))
def test_a_heap_keeps_the_largest(keys, k):
    heap = np.full(k, NO_ANSWER, np.int64)
    size = 0
    for key in keys:
        size = push(heap, size, key)
    assert size == min(k, len(keys))
    assert sorted(heap[:size].tolist()) == sorted(keys)[-k:]
    if size == k:
        assert heap[0] == sorted(keys)[-k]


@given(docs=st.lists(st.integers(0, 500), unique=True, max_size=300), doc=st.integers(0, 501))
def test_lower_bound_is_searchsorted(docs, doc):
    ascending = np.sort(np.array(docs, np.uint16))
    assert lower_bound(ascending, 0, len(docs), doc) == np.searchsorted(ascending, doc)
    start = len(docs) // 3
    within = start + np.searchsorted(ascending[start:], doc)
    assert lower_bound(ascending, start, len(docs), doc) == within


@given(
    places=st.dictionaries(st.integers(0, 299), st.floats(0.5, 9, width=32), max_size=40),
    least=st.floats(0.25, 10, width=32),
)
def test_find_above_is_flatnonzero(places, least):
    scores = np.zeros(5 * GROUP, np.float32)
    scores[list(places)] = list(places.values())
    found = np.zeros(len(scores), np.uint16)
    least = np.float32(least)
    for low in (0, 2 * GROUP):
        n = find_above(scores, low, 300, least, found)
        assert found[:n].tolist() == (low + np.flatnonzero(scores[low:300] >= least)).tolist()


def made_postings(generator, n_docs, df):
    docs = np.sort(generator.choice(n_docs, df, replace=False)).astype(np.uint16)
    true = np.where(generator.random(df) < 0.1, generator.integers(255, 900, df), 1)
    true = np.where(generator.random(df) < 0.4, generator.integers(1, 254, df), true)
    large = np.flatnonzero(true >= 255)
    postings = Postings(
        terms=np.zeros(1, np.uint32),
        heads=np.array([[0, df, true.sum(), 255], [1, 0, 0, 0]], np.uint32),
        entries=np.array([255, df << 32], np.uint64),
        docs=docs,
        counts=np.minimum(true, 255).astype(np.uint8),
        impacts=np.full(df, 255, np.uint8),
        large_at=large.astype(np.uint32),
        large_counts=true[large].astype(np.uint32),
    )
    return postings, true


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("df", [1, 40, 700])
def test_add_impacts_is_add_at(kind, df):
    postings, true = made_postings(np.random.default_rng(df), 1000, df)
    norms = np.random.default_rng(1).random(1000).astype(np.float32) + np.float32(0.1)
    weight, factor = np.float32(1.7), np.float32(0.3)
    scores = np.zeros(1000, np.float32)
    add_impacts(postings, (0, df), norms, (kind, norms), (weight, factor), scores)
    each = np.array(
        [
            impact(kind, np.float32(count), norms[doc], factor)
            for doc, count in zip(postings.docs, true, strict=True)
        ],
        np.float32,
    )
    expected = np.zeros(1000, np.float32)
    np.add.at(expected, postings.docs, weight * each)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_of_few_postings_is_their_largest(kind):
    norms = np.random.default_rng(1).random(1000).astype(np.float32) + np.float32(0.1)
    factor = np.float32(0.3)
    nothing = Bounds(*(np.empty(0, t) for t in (np.uint32, np.uint32, np.uint8, np.uint16)))
    bounding = (nothing, np.empty(0, np.float32), np.empty(0, np.float32))
    for df in (1, 40, PAIRS_FROM - 1):
        postings, true = made_postings(np.random.default_rng(df), 1000, df)
        # A large count is taken for the largest.
        most = np.where(true >= 255, max(true.max(), 255), true)
        each = [
            impact(kind, np.float32(count), norms[doc], factor)
            for doc, count in zip(postings.docs, most, strict=True)
        ]
        assert best_impact(postings, 0, norms, (kind, norms), factor, bounding) == max(each)


def test_impacts_by_hand():
    one = np.float32(1)
    assert impact(BM25_IMPACT, np.float32(3), one, one) == pytest.approx(3 / 4)
    assert impact(TFIDF_IMPACT, np.float32(3), np.float32(0.5), one) == pytest.approx(
        (1 + math.log(3)) / 2
    )
    assert impact(DIRICHLET_IMPACT, np.float32(3), one, np.float32(2)) == pytest.approx(math.log(7))
    assert impact(
        JELINEK_MERCER_IMPACT, np.float32(3), np.float32(0.5), np.float32(2)
    ) == pytest.approx(math.log(4))


def test_large_counts_are_found_by_their_posting():
    at, counts = np.array([2, 9], np.uint32), np.array([255, 4000], np.uint32)
    assert large_count(at, counts, 2) == 255
    assert large_count(at, counts, 9) == 4000


def test_a_workspace_starts_empty():
    space = make_workspace()
    assert not space.scores.any()
    assert not space.seen.any()
    assert len(space.scores) % GROUP == 0

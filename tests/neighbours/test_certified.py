"""Search by a divergence, with a proof: what is closed is exact, and the rest says so."""

import numpy as np
import pytest
from drawn import families, nearest_of, recall, reference, same, simplex
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.neighbours.index import build_neighbours

DIVERGENCES = ("js", "kl")
SPREAD = (0.01, 0.05, 0.3, 1.0, 20.0)


def index_of(metric, rows, method="scan"):
    return build_neighbours(rows, metric=metric, method=method)


@pytest.mark.parametrize("metric", DIVERGENCES)
@pytest.mark.parametrize("alpha", SPREAD)
@pytest.mark.parametrize("k", [1, 10])
def test_without_a_limit_every_query_closes_and_is_exact(metric, alpha, k):
    rows, queries = simplex(1000, 60, alpha), simplex(20, 60, alpha, seed=1)
    neighbours = index_of(metric, rows)
    found = neighbours.nearest(queries, k, certified=True)
    assert found.closed.all()
    assert same(found[:2], neighbours.nearest(queries, k))
    distances = reference(metric, rows, queries)
    finite = np.isfinite(np.sort(distances, axis=1)[:, k - 1])
    if finite.any():
        assert recall(found.numbers[finite], distances[finite]) == 1


@given(
    st.sampled_from(DIVERGENCES),
    st.sampled_from(SPREAD),
    st.integers(1, 120),
    st.integers(1, 20),
    st.integers(0, 200),
    st.integers(0, 1000),
)
def test_what_is_closed_is_exact(metric, alpha, n, k, limit, seed):
    drawn = simplex(n + 5, 8, alpha, seed)
    drawn[n // 2] = drawn[0]
    neighbours = index_of(metric, drawn[:n])
    found = neighbours.nearest(drawn[n:], k, limit=limit, certified=True)
    wanted = neighbours.nearest(drawn[n:], k)
    assert same(*([part[found.closed] for part in answer] for answer in (found[:2], wanted)))
    if not limit:
        assert found.closed.all()


# By Kullback-Leibler divergence most vectors are in reach of such queries.
@pytest.mark.parametrize(("metric", "limit", "higher"), [("js", 300, 1500), ("kl", 2400, 2600)])
def test_with_a_limit_what_is_not_closed_says_so(metric, limit, higher):
    rows, queries = simplex(3000, 60, 1.0), simplex(40, 60, 1.0, seed=1)
    neighbours = index_of(metric, rows)
    limited = neighbours.nearest(queries, 10, limit=limit, certified=True)
    closed = limited.closed
    assert 0 < closed.sum() < len(queries)
    assert (limited.examined <= limit + 100).all()
    free = neighbours.nearest(queries, 10, certified=True)
    assert same(*([part[closed] for part in answer[:2]] for answer in (limited, free)))
    # What is known by then is not bad, only not proved.
    assert (limited.numbers >= 0).all()
    assert recall(limited.numbers, reference(metric, rows, queries)) > 0.7
    more = neighbours.nearest(queries, 10, limit=higher, certified=True)
    assert (more.closed >= closed).all()
    assert more.closed.sum() > closed.sum()


@pytest.mark.parametrize("method", ["scan", "tree(leaves=1)", "codes(tables=1)"])
def test_the_proof_does_not_lean_on_the_method(method):
    """However little the index finds by itself."""
    drawn = families(2040)
    rows, queries = drawn[:2000], drawn[2000:]
    exact = index_of("js", rows).nearest(queries, 10)
    found = index_of("js", rows, method).nearest(queries, 10, certified=True)
    assert found.closed.all()
    assert same(found[:2], exact)


@pytest.mark.parametrize(("metric", "share", "examined"), [("js", 0.9, 0.1), ("kl", 0.05, 0.6)])
def test_on_real_topics_few_documents_are_examined(theta, metric, share, examined):
    shuffled = np.random.default_rng(0).permutation(theta)
    rows, queries = shuffled[:-150], shuffled[-150:]
    neighbours = index_of(metric, rows)
    found = neighbours.nearest(queries, 10, certified=True)
    assert found.closed.all()
    assert same(found[:2], neighbours.nearest(queries, 10))
    assert found.examined.mean() < examined * len(rows)
    limited = neighbours.nearest(queries, 10, limit=200, certified=True)
    print(
        f"{metric}: {found.examined.mean():.0f} of {len(rows)} examined for ten neighbours, ",
        end="",
    )
    print(f"{limited.closed.mean():.2f} of the queries closed within 200")
    assert share < limited.closed.mean()


@pytest.mark.parametrize("metric", DIVERGENCES)
def test_deleted_vectors_never_appear(metric):
    drawn = families(640)
    rows, queries = drawn[:600], drawn[600:]
    neighbours = index_of(metric, rows[:500])
    neighbours.add(rows[500:])
    assert len(neighbours.parts) == 2
    gone = np.unique(neighbours.nearest(queries[:20], 10, certified=True).numbers)
    neighbours.delete(gone)
    for limit in (0, 50):
        found = neighbours.nearest(queries, 10, limit=limit, certified=True)
        assert not np.isin(found.numbers, gone).any()
    found = neighbours.nearest(queries, 10, certified=True)
    assert found.closed.all()
    assert same(found[:2], neighbours.nearest(queries, 10))


@pytest.mark.parametrize("metric", DIVERGENCES)
def test_zeros_have_no_neighbours_and_are_nobodys(metric):
    drawn = families(240)
    drawn[:30] = 0
    neighbours = index_of(metric, drawn[:200])
    queries = drawn[195:].copy()
    queries[3] = 0
    found = neighbours.nearest(queries, 10, certified=True)
    assert found.closed.all()
    assert (found.numbers[3] == -1).all()
    assert np.isinf(found.distances[3]).all()
    assert not np.isin(found.numbers, np.arange(30)).any()
    assert same(found[:2], neighbours.nearest(queries, 10))


def test_kullback_leibler_where_support_is_missing():
    """Those infinitely far come last, by number."""
    rows = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.4, 0.3, 0.3], [0, 1, 0]], np.float32)
    found = index_of("kl", rows).nearest([[0.5, 0.5, 0]], 4, certified=True)
    assert found.numbers.tolist() == [[1, 2, 0, 3]]
    assert np.isinf(found.distances[0]).tolist() == [False, False, True, True]
    assert found.closed.all()


def test_nothing_and_less_than_is_asked_for():
    rows = families(30)
    none = index_of("js", rows[:0]).nearest(rows, 3, certified=True)
    assert none.closed.all()
    assert (none.numbers == -1).all()
    few = index_of("js", rows).nearest(rows, 50, certified=True)
    assert few.closed.all()
    wanted = nearest_of(reference("js", rows, rows), 30)
    assert np.array_equal(np.sort(few.numbers[:, :30], axis=1), np.sort(wanted, axis=1))
    assert (few.numbers[:, 30:] == -1).all()
    asked_nothing = index_of("js", rows).nearest(rows[:0], 3, certified=True)
    assert asked_nothing.numbers.shape == (0, 3)
    assert asked_nothing.closed.shape == asked_nothing.examined.shape == (0,)


def test_what_was_looked_at_entirely_is_closed_whatever_the_limit():
    rows = families(40)
    found = index_of("js", rows).nearest(rows, 45, limit=10, certified=True)
    assert found.closed.all()
    assert (found.examined == 40).all()


@pytest.mark.parametrize("metric", ["hellinger", "cosine", "inner", "euclidean"])
def test_other_metrics_need_no_certificate(metric):
    rows = families(30)
    with pytest.raises(UsageError, match=f"{metric} needs no certificate.*js and kl can be"):
        index_of(metric, rows).nearest(rows, certified=True)


def test_what_cannot_be_asked():
    rows = families(30)
    neighbours = index_of("js", rows)
    with pytest.raises(UsageError, match="at least 1, not 0"):
        neighbours.nearest(rows, 0, certified=True)
    with pytest.raises(UsageError, match="59 numbers where the index has vectors of 60"):
        neighbours.nearest(rows[:, :59], certified=True)
    with pytest.raises(UsageError, match="is not a distribution"):
        neighbours.nearest(2 * rows, certified=True)


def test_only_what_is_allowed_is_found():
    rows, queries = simplex(300, 20, 0.1), simplex(5, 20, 0.1, seed=1)
    neighbours = index_of("js", rows)
    allowed = np.arange(300) % 3 == 0
    found = neighbours.nearest(queries, 10, allowed=allowed, certified=True)
    assert found.closed.all()
    assert same(found[:2], neighbours.nearest(queries, 10, allowed=allowed))
    assert (found.examined <= 300).all()


def test_a_limit_is_that_of_a_proof():
    rows = np.eye(3)
    with pytest.raises(UsageError, match="it goes with certified=True"):
        index_of("js", rows).nearest(rows, limit=5)

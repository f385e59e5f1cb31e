"""Each kernel against what it says it equals."""

import math

import numpy as np
import pytest
from drawn import families, simplex
from hypothesis import given
from hypothesis import strategies as st

from likewise.neighbours.kernels import (
    distance,
    fill_logs,
    keep_nearest,
    keep_within,
    score_pairs,
)
from likewise.neighbours.metrics import JENSEN_SHANNON, KULLBACK_LEIBLER, PRODUCT, SQUARED

FORMS = {"squared": SQUARED, "js": JENSEN_SHANNON, "kl": KULLBACK_LEIBLER, "product": PRODUCT}
NONE = np.empty(0, np.bool_)


def logs(values):
    out = np.empty_like(values)
    fill_logs(values, values.view(np.int32), out)
    return out


def in_numpy(form, factor, x, y):
    """What `distance` says it equals, in double precision."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    if form == SQUARED:
        return factor * ((x - y) ** 2).sum()
    if form == PRODUCT:
        return -(x * y).sum()
    p, q = x * x, y * y
    m = (p + q) / 2
    if form == JENSEN_SHANNON:
        return 0.5 * (xlogy(p, m) + xlogy(q, m)).sum()
    return xlogy(q, p).sum()


def xlogy(p, other):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, p * np.log(p / other), 0.0)


def one_distance(form, query, rows, row, factor=1.0):
    room = np.empty(4 * len(query), np.float32)
    return distance(form, np.float32(factor), query, rows, row, room)


def all_distances(form, queries, rows, factor=1.0):
    out = np.empty((len(queries), len(rows)), np.float32)
    score_pairs(form, np.float32(factor), queries, rows, 0, out)
    return out


@given(st.lists(st.floats(2**-125, 2**126, width=32), min_size=1, max_size=50))
def test_logarithms(values):
    given = np.array(values, np.float32)
    wanted = np.log(given.astype(np.float64))
    allowed = 2e-7 * np.maximum(np.abs(wanted), 1)
    assert (np.abs(logs(given) - wanted) <= allowed).all()


def test_logarithms_all_over_the_mantissa():
    values = np.concatenate([np.linspace(0.4, 2.1, 100_003), 2.0 ** np.arange(-120, 120)])
    given = values.astype(np.float32)
    wanted = np.log(given.astype(np.float64))
    assert (np.abs(logs(given) - wanted) <= 2e-7 * np.maximum(np.abs(wanted), 1)).all()
    assert logs(np.ones(3, np.float32)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dimension", [1, 2, 7, 33, 100])
def test_a_distance(form, dimension):
    rows = np.sqrt(simplex(12, dimension, 0.3))
    queries = np.sqrt(simplex(5, dimension, 0.3, seed=1))
    if dimension > 2:
        for points in (rows[3:6], queries[2:]):
            points[:, points[0].argmin()] = 0
            points /= np.linalg.norm(points, axis=1, keepdims=True)
    for query in queries:
        for i, row in enumerate(rows):
            wanted = in_numpy(form, 0.5, row, query)
            found = one_distance(form, query, rows, i, factor=0.5)
            assert found == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_a_distance_of_vectors_of_zeros():
    zeros = np.zeros((1, 4), np.float32)
    some = np.sqrt(np.full((1, 4), 0.25, np.float32))
    assert one_distance(SQUARED, some[0], zeros, 0) == 1
    assert one_distance(PRODUCT, some[0], zeros, 0) == 0
    assert one_distance(KULLBACK_LEIBLER, some[0], zeros, 0) == math.inf
    assert one_distance(JENSEN_SHANNON, some[0], zeros, 0) == pytest.approx(math.log(2) / 2)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_pairs_have_the_bits_of_a_distance(form):
    points = np.sqrt(families(70, 37))
    out = np.empty((6, 20), np.float32)
    score_pairs(form, np.float32(1), points[:6], points, 13, out)
    wanted = [[one_distance(form, q, points, 13 + j) for j in range(20)] for q in points[:6]]
    assert np.array_equal(out, np.array(wanted, np.float32))


@st.composite
def candidates(draw):
    """Points with duplicates, some candidates of each query, some barred, some found before."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    n, n_queries, k = draw(st.integers(1, 30)), draw(st.integers(0, 4)), draw(st.integers(1, 12))
    pool = np.sqrt(simplex(6, 5, 0.5, seed=int(random.integers(100))))
    points = pool[random.integers(len(pool), size=n)]
    queries = np.sqrt(simplex(4, 5, 0.5, seed=int(random.integers(100))))[:n_queries]
    mine = [
        random.permutation(n)[: random.integers(n + 1)].astype(np.int64) for _ in range(n_queries)
    ]
    first = draw(st.integers(0, 5))
    barred = random.random(first + n) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    barred = draw(st.sampled_from([NONE, barred]))
    return points, queries, mine, first, barred, k


@given(candidates(), st.sampled_from(sorted(FORMS.values())))
def test_the_nearest_are_kept(case, form):
    points, queries, mine, first, barred, k = case
    bounds = np.concatenate([[0], np.cumsum([len(rows) for rows in mine])]).astype(np.int64)
    rows = np.concatenate([*mine, np.empty(0, np.int64)])
    before = 1000 + np.arange(k)
    numbers = np.full((len(queries), k), -1, np.int64)
    distances = np.full((len(queries), k), np.inf, np.float32)
    known = min(2, k)
    numbers[:, :known] = before[:known]
    distances[:, :known] = np.float32(0.3)
    keep_nearest(
        form, np.float32(1), queries, points, bounds, rows, barred, first, numbers, distances
    )
    apart = all_distances(form, queries, points)
    for i, candidates in enumerate(mine):
        kept = [
            (apart[i, row], first + row)
            for row in candidates.tolist()
            if not (len(barred) and barred[first + row])
        ]
        wanted = sorted([*kept, *((np.float32(0.3), int(b)) for b in before[:known])])[:k]
        size = len(wanted)
        assert numbers[i, :size].tolist() == [number for _, number in wanted]
        assert distances[i, :size].tolist() == [float(d) for d, _ in wanted]
        assert (numbers[i, size:] == -1).all()
        assert np.isinf(distances[i, size:]).all()


@given(candidates(), st.sampled_from(sorted(FORMS.values())), st.floats(-1, 2))
def test_those_within_are_kept(case, form, radius):
    points, queries, mine, first, barred, _ = case
    apart = all_distances(form, queries, points)
    for i, rows in enumerate(mine):
        numbers, distances = keep_within(
            form, np.float32(1), queries[i], points, rows, barred, first, radius
        )
        wanted = [
            row
            for row in rows.tolist()
            if float(apart[i, row]) <= radius and not (len(barred) and barred[first + row])
        ]
        assert numbers.tolist() == [first + row for row in wanted]
        assert distances.tolist() == apart[i, wanted].tolist()

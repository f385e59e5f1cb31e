"""The largest inner products of stored vectors, against all of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from drawn import stored
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.errors import DamagedError, UsageError
from likewise.neighbours.cells import Cells
from likewise.neighbours.int8 import Coded, decode, encode, scan_points
from likewise.neighbours.tiles import Tiles
from likewise.neighbours.vector_finders import read_vector_finder
from likewise.neighbours.vectors import VectorSearch

each_finder = pytest.mark.parametrize("written", ["tiles", "cells"])


def plain(rows):
    """Vectors that are not rounded."""
    return Coded(np.ascontiguousarray(rows, np.float32), np.ones(len(rows), np.float32))


def cut(coded, sizes):
    ends = np.cumsum(sizes)
    return [
        Coded(coded.codes[end - size : end], coded.scales[end - size : end])
        for end, size in zip(ends, sizes, strict=True)
    ]


def search_of(pieces, finders=()):
    return VectorSearch(pieces, np.cumsum([0, *(len(piece.scales) for piece in pieces)]), finders)


def split(mask, sizes):
    return np.split(mask, np.cumsum(sizes)[:-1])


def formula(coded, point):
    """The scores as the formula has them, adding up one coordinate after the other."""
    scores = np.zeros(len(coded.scales))
    for column, x in zip(coded.codes.T, point, strict=True):
        scores += column * x
    return scores * coded.scales


def dense(coded, point, n, mask):
    """The answer by sorting everything."""
    scores, docs = formula(coded, point), np.flatnonzero(mask)
    order = np.lexsort((docs, -scores[docs]))[: n or None]
    return docs[order], scores[docs[order]]


kinds = st.sampled_from(["rounded", "plain", "ties", "cancelling", "tiny", "zeros"])


def drawn(kind, n, random):
    """Vectors and a point; `cancelling` are sums of large numbers of which little is left."""
    width = 9
    rows = random.standard_normal((n, width))
    point = random.standard_normal(width)
    if kind == "ties":
        rows = random.integers(-1, 2, (n, width)).astype(float)
        point = random.integers(-2, 3, width).astype(float)
    if kind == "cancelling":
        rows = random.integers(-3, 4, (n, width)).astype(float)
        rows[:, 0] = rows[:, 1] = 1e3
        point[:2] = 1e4, -1e4
    if kind == "tiny":
        rows *= 10.0 ** random.integers(-42, -30, (n, 1))
        point *= 10.0 ** random.choice([-60, -20, 0, 30])
    if kind == "zeros":
        rows[random.random(n) < 0.5] = 0
        point *= random.choice([0, 1])
    coded = encode(rows.astype(np.float32)) if kind in ("rounded", "zeros") else plain(rows)
    return coded, point


@given(
    kind=kinds,
    sizes=st.lists(st.integers(0, 60), max_size=4),
    n=st.integers(0, 70),
    share=st.sampled_from([None, 0.02, 0.3, 0.9]),
    seed=st.integers(0, 10**6),
)
def test_the_nearest_are_those_of_the_formula(kind, sizes, n, share, seed):
    random = np.random.default_rng(seed)
    coded, point = drawn(kind, sum(sizes), random)
    mask = np.ones(sum(sizes), np.bool_) if share is None else random.random(sum(sizes)) < share
    docs, scores = dense(coded, point, n, mask)
    masks = None if share is None else split(mask, sizes)
    if masks and seed % 2:
        masks = [None if mine.all() else mine for mine in masks]
    found = search_of(cut(coded, sizes)).nearest(point, n, masks)
    assert found.docs.tolist() == docs.tolist()
    assert found.scores.tolist() == scores.tolist()
    assert found.docs.dtype == np.int64
    assert found.scores.dtype == np.float64


@given(
    kind=kinds,
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=4),
    n=st.integers(0, 70),
    n_points=st.integers(1, 9),
    share=st.sampled_from([None, 0.02, 0.3, 0.9]),
    seed=st.integers(0, 10**6),
)
def test_of_many_points_the_nearest_are_among_the_candidates(kind, sizes, n, n_points, share, seed):
    random = np.random.default_rng(seed)
    coded, point = drawn(kind, sum(sizes), random)
    points = np.array([point * random.choice([-1, 0, 0.5, 1], 9) for _ in range(n_points)])
    mask = np.ones(sum(sizes), np.bool_) if share is None else random.random(sum(sizes)) < share
    masks = None if share is None else split(mask, sizes)
    found = search_of(cut(coded, sizes)).candidates_of_each(points, n, masks)
    assert len(found) == n_points
    for one, docs in zip(points, found, strict=True):
        truth, _ = dense(coded, one, n, mask)
        assert np.isin(truth, docs).all()
        assert mask[docs].all()
        assert (np.diff(docs) > 0).all()


def test_of_many_points_few_documents_are_candidates(halves):
    points = np.random.default_rng(1).standard_normal((20, 20))
    for sizes in ([2000], [500] * 4):
        for docs in search_of(cut(halves, sizes)).candidates_of_each(points, 20):
            assert 20 <= len(docs) <= 22


def test_many_vectors_and_any_cuts_give_the_same_bits():
    random = np.random.default_rng(0)
    coded = encode(random.laplace(size=(20_000, 150)).astype(np.float32))
    mask = random.random(20_000) < 0.7
    for scale in (1.0, 1e-30, 1e30):
        point = random.standard_normal(150) * scale
        for open_ in (None, mask, mask & (np.arange(20_000) % 10 == 0)):
            whole = np.ones(20_000, np.bool_) if open_ is None else open_
            docs, scores = dense(coded, point, 50, whole)
            for sizes in ([20_000], [1, 0, 7999, 12_000, 0], [200] * 100):
                masks = None if open_ is None else split(open_, sizes)
                found = search_of(cut(coded, sizes)).nearest(point, 50, masks)
                assert np.array_equal(found.docs, docs)
                assert np.array_equal(found.scores, scores)


def test_single_precision_is_never_trusted():
    """Vectors that differ by about as much as a scan rounds: it has them in another order."""
    random = np.random.default_rng(0)
    rows = (random.standard_normal(200) + random.standard_normal((3000, 200)) * 2**-18).astype("f4")
    point = random.standard_normal(200) + 1
    docs, scores = dense(plain(rows), point, 30, np.ones(3000, np.bool_))
    single = np.empty(3000, np.float32)
    scan_points(rows, np.ones(3000, np.float32), point.astype(np.float32), single)
    assert set(np.argsort(-single)[:30].tolist()) != set(docs.tolist())
    search = search_of(cut(plain(rows), [1000, 2000]))
    found = search.nearest(point, 30)
    assert np.array_equal(found.docs, docs)
    assert np.array_equal(found.scores, scores)


@pytest.mark.parametrize("scale", [1e-200, 1e-60, 1.0, 1e60, 1e200])
def test_few_documents_are_scored_whatever_the_length_of_a_point(scale, halves):
    point = np.random.default_rng(1).standard_normal(20) * scale
    for sizes in ([2000], [500] * 4):
        docs = search_of(cut(halves, sizes)).candidates(point, 20)
        assert 20 <= len(docs) <= 22
        assert (np.diff(docs) > 0).all()


@pytest.mark.parametrize("sizes", [[100], [40, 0, 60]])
@pytest.mark.parametrize("code", [encode, plain])
def test_scores_and_rows_are_those_of_documents_in_any_order(sizes, code):
    random = np.random.default_rng(0)
    coded = code(random.standard_normal((100, 7)).astype(np.float32))
    search, point = search_of(cut(coded, sizes)), random.standard_normal(7)
    docs = np.array([99, 3, 41, 3, 0, 40, 39])
    assert np.array_equal(search.scores(point, docs), formula(coded, point)[docs])
    assert np.array_equal(search.rows(docs), decode(coded)[docs])
    none = np.empty(0, np.int64)
    assert search.scores(point, none).shape == (0,)
    assert search.rows(none).shape == (0, 7)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_documents_and_one(n):
    for pieces in ([], [plain(np.empty((0, 4)))], [plain(np.empty((0, 4)))] * 3):
        search = search_of(pieces)
        found = search.nearest(np.ones(4), n)
        assert len(found.docs) == len(found.scores) == 0
        assert len(search.candidates(np.ones(4), n)) == 0
        assert len(search.rows(found.docs)) == 0
    one = search_of([plain(np.empty((0, 4))), plain(np.full((1, 4), 2.0))])
    assert one.nearest(np.ones(4), n).docs.tolist() == [0]
    assert one.nearest(np.ones(4), n).scores.tolist() == [8]
    masks = [np.empty(0, np.bool_), np.zeros(1, np.bool_)]
    assert one.nearest(np.ones(4), n, masks).docs.tolist() == []


def test_numbers_that_are_none_crash_nothing():
    rows = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    rows[3], rows[7, 1], rows[9, 2] = np.nan, np.inf, -np.inf
    mask = np.arange(50) % 2 == 1
    search = search_of(cut(plain(rows), [20, 30]))
    for masks in (None, split(mask, [20, 30])):
        found = search.nearest(np.ones(4), 5, masks)
        assert len(found.docs) == 5
        assert masks is None or mask[found.docs].all()


# With finders


class Proposing:
    """A finder that knows all, and proposes some rows twice."""

    def __init__(self, coded):
        self.rows = decode(coded)
        self.asked = []

    def propose(self, point, n, **_):
        self.asked.append(n)
        order = np.argsort(-(self.rows @ point), kind="stable")[:n]
        return np.concatenate([order, order[:3]])


@pytest.fixture
def halves():
    return encode(np.random.default_rng(0).standard_normal((2000, 20)).astype(np.float32))


def test_a_finder_only_proposes(halves):
    sizes = [1200, 800]
    finder, point = Proposing(cut(halves, sizes)[0]), np.random.default_rng(1).standard_normal(20)
    search = search_of(cut(halves, sizes), [finder, None])
    every = np.ones(2000, np.bool_)
    for mask in (None, every, np.arange(2000) % 2 == 0, np.arange(2000) % 10 == 0):
        docs, scores = dense(halves, point, 20, every if mask is None else mask)
        found = search.nearest(point, 20, None if mask is None else split(mask, sizes))
        assert np.array_equal(found.docs, docs)
        assert np.array_equal(found.scores, scores)
    # More is asked of it where much is left out.
    assert finder.asked[:2] == [20, 20]
    assert 40 <= finder.asked[2] <= 60
    assert 200 <= finder.asked[3] <= 340


def test_a_finder_is_not_asked_where_that_is_of_no_use(halves):
    finder, random = Proposing(halves), np.random.default_rng(1)
    search, point = search_of([halves], [finder]), random.standard_normal(20)
    few = np.arange(2000) % 25 == 0
    for n, mask, asked in (
        (10, few, point),
        (0, None, point),
        (2000, None, point),
        (1999, np.arange(2000) > 0, point),
        (900, np.arange(2000) % 2 == 0, point),
        (10, None, 0 * point),
    ):
        docs, _ = dense(halves, asked, n, np.ones(2000, np.bool_) if mask is None else mask)
        found = search.nearest(asked, n, None if mask is None else [mask])
        assert np.array_equal(found.docs, docs)
    assert finder.asked == []


def test_where_what_is_near_is_left_out_the_segment_is_scanned(halves):
    finder, point = Proposing(halves), np.random.default_rng(1).standard_normal(20)
    search, mask = search_of([halves], [finder]), np.ones(2000, np.bool_)
    mask[search.nearest(point, 600).docs] = False
    docs, scores = dense(halves, point, 20, mask)
    found = search.nearest(point, 20, [mask])
    assert len(finder.asked) == 2
    assert np.array_equal(found.docs, docs)
    assert np.array_equal(found.scores, scores)


def clustered(n, width=96, *, seed=0, clusters=150):
    """Unit vectors about centres."""
    random = np.random.default_rng(seed)
    centres = random.laplace(size=(clusters, width))
    rows = centres[random.integers(0, clusters, n)] + random.normal(size=(n, width))
    return encode((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))


@pytest.fixture(scope="module")
def vectors():
    return clustered(24_000)


@pytest.fixture(scope="module")
def points(vectors):
    """Vectors and means of some, of different lengths."""
    random, rows = np.random.default_rng(1), decode(vectors).astype(np.float64)
    drawn = [rows[random.integers(0, len(rows), 1 + i % 3)].mean(axis=0) for i in range(30)]
    return [point * 10.0 ** random.integers(-3, 4) for point in drawn]


@pytest.fixture(scope="module")
def built(vectors):
    known = {}

    def build(written, sizes):
        if (written, sizes) not in known:
            method = read_vector_finder(written)
            known[written, sizes] = [method.build(piece, seed=0) for piece in cut(vectors, sizes)]
        return known[written, sizes]

    return build


@each_finder
@pytest.mark.parametrize("sizes", [(24_000,), (15_000, 9000)])
def test_what_is_largest_is_found(written, sizes, vectors, points, built):
    pieces = cut(vectors, sizes)
    search, scanned = search_of(pieces, built(written, sizes)), search_of(pieces)
    masks = split(np.random.default_rng(2).random(24_000) < 0.6, sizes)
    for open_ in (None, masks):
        for n, least in ((10, 0.98), (200, 0.96)):
            shares = []
            for point in points:
                found, truth = search.nearest(point, n, open_), scanned.nearest(point, n, open_)
                assert len(found.docs) == n
                assert np.array_equal(found.scores, scanned.scores(point, found.docs))
                shares.append(np.isin(truth.docs, found.docs).mean())
            assert np.mean(shares) >= least


@each_finder
def test_a_finder_reads_less_than_all(written, vectors, points, built):
    [finder] = built(written, (24_000,))
    for point in points[:5]:
        rows = finder.propose(point.astype(np.float32), 10)
        assert 10 <= len(rows) < 2400
        assert len(set(rows.tolist())) == len(rows)


@each_finder
def test_saved_and_loaded_it_proposes_the_same(written, vectors, points, built, tmp_path):
    [finder], method = built(written, (24_000,)), read_vector_finder(written)
    memory = Memory()
    finder.save(memory)
    for arrays in (stored(finder, tmp_path / "pack"), memory):
        loaded = method.load(arrays, vectors)
        for point in points:
            query = point.astype(np.float32)
            assert np.array_equal(loaded.propose(query, 50), finder.propose(query, 50))
    with pytest.raises((UsageError, DamagedError), match="shaped"):
        method.load(memory, Coded(vectors.codes[:15_000], vectors.scales[:15_000]))


@each_finder
def test_threads_change_nothing(written, vectors, points, built):
    search = search_of([vectors], built(written, (24_000,)))
    alone = [search.nearest(point, 20) for point in points]
    fresh = search_of([vectors], built(written, (24_000,)))
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda point: fresh.nearest(point, 20), points))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.docs, other.docs)
        assert np.array_equal(one.scores, other.scores)


@each_finder
def test_a_finder_of_few_vectors(written):
    for n in (0, 1, 30):
        coded = clustered(n)
        finder = read_vector_finder(written).build(coded, seed=0)
        point = np.ones(96)
        assert sorted(finder.propose(point.astype(np.float32), 40).tolist()) == list(range(n))
        found = search_of([coded], [finder]).nearest(point, 5)
        assert len(found.docs) == min(n, 5)


def test_finders_are_read_as_they_are_written():
    assert read_vector_finder("tiles") == Tiles()
    assert read_vector_finder("cells(axes=32)") == Cells(axes=32)
    assert str(read_vector_finder("cells(axes=32)")) == "cells(axes=32)"
    assert str(read_vector_finder("tiles")) == "tiles"
    with pytest.raises(UsageError, match="unknown finder 'hnsw': it is one of cells, tiles"):
        read_vector_finder("hnsw")


class Proposes:
    """A finder that proposes what it is told to."""

    def __init__(self, rows):
        self.rows = np.array(rows)

    def propose(self, point, n, **_):
        return self.rows

    def save(self, out):
        """Put nothing."""


@pytest.mark.parametrize("rows", [[4, 2, 9], [4, 2, 9, 1, 7]])
def test_the_nearest_are_of_what_was_proposed(rows):
    coded = encode(np.random.default_rng(3).normal(size=(40, 8)).astype(np.float32))
    point = np.random.default_rng(4).normal(size=8)
    found = search_of([coded], [Proposes(rows)]).nearest(point, 3)
    mask = np.zeros(40, np.bool_)
    mask[rows] = True
    docs, scores = dense(coded, point, 3, mask)
    assert found.docs.tolist() == docs.tolist()
    assert found.scores.tolist() == scores.tolist()


def test_as_many_proposals_as_are_asked_for_are_not_compared(monkeypatch):
    monkeypatch.setattr("likewise.neighbours.vectors.scan_rows", None)
    coded = encode(np.random.default_rng(3).normal(size=(40, 8)).astype(np.float32))
    found = search_of([coded], [Proposes([4, 2, 9])]).candidates(np.ones(8), 3)
    assert found.tolist() == [2, 4, 9]

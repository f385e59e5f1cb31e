"""Does the index of rows propose what a scan would find, whatever happens to the collection?"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.files import map_array
from likewise.collection.snapshot import DERIVED, open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError
from likewise.neighbours.coded import Coded, decode, encode
from likewise.records import Document
from likewise.smooth import finder
from likewise.smooth.finder import (
    FINDER,
    TILE,
    RowFinder,
    add_column,
    add_four,
    open_finder,
    pack,
    scale_sums,
    scan_columns,
    weigh_axes,
    write_finder,
)
from likewise.smooth.search import RowSearch
from likewise.smooth.space import KLSA, fit_space
from likewise.smooth.store import open_rows, save_space, store_rows

WIDTH = 120


def clustered(n, width=WIDTH, *, seed=0, clusters=200):
    """Rows about centres, their coordinates heavy-tailed and their lengths different."""
    random = np.random.default_rng(seed)
    centres = random.laplace(size=(clusters, width))
    rows = centres[random.integers(0, clusters, n)] + random.normal(size=(n, width))
    return (rows * random.lognormal(-3, 0.4, (n, 1))).astype(np.float32)


def made(folder, parts):
    folder.mkdir(exist_ok=True)
    write_finder(folder, parts)
    columns, scales = map_array(folder / "columns.npy"), map_array(folder / "scales.npy")
    return RowFinder(range(len(parts)), parts, columns, scales)


def cut(coded, bounds):
    return [
        Coded(coded.codes[a:b], coded.scales[a:b])
        for a, b in zip([0, *bounds], [*bounds, len(coded.scales)], strict=True)
    ]


@pytest.fixture(scope="module")
def rows():
    return encode(clustered(30_000))


@pytest.fixture(scope="module")
def points(rows):
    """Weighted sums of 20 rows, as a ranking's first documents would be: of three clusters."""
    random, found = np.random.default_rng(1), decode(rows)
    weights = (1 / np.arange(1, 21)).astype(np.float32)
    points = []
    for _ in range(40):
        near = [np.argsort(-found @ found[i])[:7] for i in random.integers(0, len(found), 3)]
        points.append(weights @ found[np.concatenate(near)[:20]])
    return points


@pytest.fixture(scope="module")
def one(rows, tmp_path_factory):
    return made(tmp_path_factory.mktemp("finder"), [rows])


def levels(codes):
    return np.rint(codes.T * (7 / 127)).astype(np.int64)


@given(st.sampled_from([1, 100, TILE - 1, TILE, TILE + 1, 2 * TILE + 5]), st.integers(0, 9))
def test_scanning_columns_equals_numpy(n, seed):
    random = np.random.default_rng(seed)
    coded = encode(random.laplace(size=(n, 9)).astype(np.float32))
    tiles = [pack(coded.codes[first : first + TILE]).ravel() for first in range(0, n, TILE)]
    axes = np.sort(random.choice(9, random.integers(1, 10), replace=False))
    weights = random.integers(-400, 400, len(axes))
    out = np.empty(n, np.float32)
    scan_columns(np.concatenate(tiles), coded.scales, axes, weights, 9, out)
    sums = weights @ levels(coded.codes)[axes]
    np.testing.assert_array_equal(out, sums.astype(np.float32) * coded.scales)


def test_the_small_kernels_equal_numpy():
    random = np.random.default_rng(0)
    column, sums = random.integers(0, 256, 50).astype(np.uint8), np.ones(100, np.int16)
    low, high = sums[:50], sums[50:]
    add_column(column, np.int16(-70), low, high)
    np.testing.assert_array_equal(low, 1 - 70 * (column & 15).astype(np.int16))
    np.testing.assert_array_equal(high, 1 - 70 * (column >> 4).astype(np.int16))
    four, weights = random.integers(0, 256, (4, 50)).astype(np.uint8), np.array([9, -80, 700, 1])
    before = sums.copy()
    add_four(*four, weights.astype(np.int16), low, high)
    for column, weight in zip(four, weights, strict=True):
        add_column(column, np.int16(weight), before[:50], before[50:])
    np.testing.assert_array_equal(sums, before)
    scales, out = random.random(90, np.float32), np.empty(90, np.float32)
    scale_sums(sums, scales, out)
    np.testing.assert_array_equal(out, sums[:90].astype(np.float32) * scales)


finite = st.floats(-(2.0**99), 2.0**99, width=32)


@given(st.lists(finite, min_size=1, max_size=400))
def test_sums_fit_sixteen_bits(numbers):
    point = np.array(numbers, np.float32)
    axes, weights = weigh_axes(point)
    assert np.abs(weights).sum() * 7 < 1 << 15
    assert len(set(axes.tolist())) == len(axes) == min(64, len(point))
    left = np.delete(np.abs(point), axes)
    assert np.abs(point[axes]).min() >= left.max(initial=0)
    # The best row there could be, which would be the first to fall out of 16 bits.
    row = encode(np.where(point < 0, -1, 1).astype(np.float32)[None, :])
    out = np.empty(1, np.float32)
    scan_columns(pack(row.codes).ravel(), row.scales, axes, weights, len(point), out)
    assert out[0] == np.float32(7 * np.abs(weights).sum()) * row.scales[0]


@given(
    st.lists(st.integers(0, TILE + 3), min_size=1, max_size=4),
    st.integers(1, 400),
    st.booleans(),
)
def test_proposals_are_rows_of_their_segments(tmp_path_factory, sizes, n, nothing):
    random = np.random.default_rng(n)
    parts = [encode(random.normal(size=(size, 3)).astype(np.float32)) for size in sizes]
    index = made(tmp_path_factory.mktemp("finder"), parts)
    point = np.zeros(3, np.float32) if nothing else random.normal(size=3).astype(np.float32)
    found = list(index.propose(point, n))
    assert [segment for segment, _ in found] == list(range(len(sizes)))
    for (_, mine), size in zip(found, sizes, strict=True):
        assert np.all(np.diff(mine) > 0)
        assert len(mine) == 0 or 0 <= mine[0] <= mine[-1] < size
    assert sum(len(mine) for _, mine in found) == min(n, sum(sizes))


def test_what_is_largest_is_found(rows, points, one):
    truth = decode(rows) @ np.array(points).T
    for n, least in ((10, 0.99), (200, 0.97)):
        shares = []
        for point, scores in zip(points, truth.T, strict=True):
            [(_, found)] = one.propose(point, 200)
            shares.append(np.isin(np.argsort(-scores)[:n], found).mean())
        assert np.mean(shares) >= least


def test_few_rows_are_all_weighed(rows, points, tmp_path):
    few = Coded(rows.codes[:1500], rows.scales[:1500])
    index = made(tmp_path / "few", [few])
    for point in points[:5]:
        [(_, found)] = index.propose(point, 75)
        assert set(found.tolist()) == set(np.argsort(-decode(few) @ point)[:75].tolist())


def test_parts_change_nothing(rows, points, one, tmp_path):
    bounds = [0, 700, 700, 9000, 25_000]
    index = made(tmp_path / "parts", cut(rows, bounds))
    np.testing.assert_array_equal(index.columns, one.columns)
    for point in points[:10]:
        [(_, whole)] = one.propose(point, 200)
        starts = [0, *bounds]
        found = [mine + starts[i] for i, mine in index.propose(point, 200)]
        np.testing.assert_array_equal(np.concatenate(found), whole)


def test_threads_change_nothing(points, one):
    alone = [list(one.propose(point, 150)) for point in points]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda point: list(one.propose(point, 150)), points))
    for [(_, a)], [(_, b)] in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_sample_that_misleads_costs_time_only(points, one):
    """Every row that the sample has is good: what is above its guess is too few."""
    scales = np.full(len(one.scales), 1e-9, np.float32)
    scales[:: finder._STRIDE] = one.scales[:: finder._STRIDE]
    index = RowFinder(one.segments, one.parts, one.columns, scales)
    [(_, found)] = index.propose(points[0], 200)
    assert len(found) == 200


# With a collection


@pytest.fixture
def small(monkeypatch):
    """Few rows are many."""
    monkeypatch.setattr(finder, "_FEWEST_FOUND", 100)
    monkeypatch.setattr(finder, "_SPARE", 60)


@pytest.fixture
def c(small, make, draw):
    collection = make(draw(600), pieces=3, deleted=[3, 250, 599])
    with Writer(collection.folder) as writer:
        save_space(writer, fit_space(collection, KLSA(axes=20), threads=1))
        store_rows(writer)
    return open_snapshot(collection.folder)


def stored(collection):
    rows = open_rows(collection)
    return collection.derived(FINDER, model=rows.entry.folder)


def answers(collection, n=20, *, indexed=True):
    search = RowSearch(open_rows(collection), indexed=indexed)
    asked = collection.live_docs()[::30]
    found = [
        search.nearest(search.point(np.array([doc, doc + 8]), np.array([1.0, 0.5])), n)
        for doc in asked.tolist()
    ]
    return [ranking.docs.tolist() for ranking in found]


def recall(collection, n=20):
    found, truth = answers(collection, n), answers(collection, n, indexed=False)
    assert all(len(ranking) == n for ranking in found)
    return np.mean([len({*a} & {*b}) / n for a, b in zip(found, truth, strict=True)])


def add(collection, texts, *, first):
    documents = [Document(f"d{first + i}", "", " ".join(terms)) for i, terms in enumerate(texts)]
    with Writer(collection.folder) as writer:
        writer._merge = lambda *_: None
        writer.add(documents)
        store_rows(writer)
    return open_snapshot(collection.folder)


def test_many_rows_have_an_index(c):
    [entry] = stored(c)
    assert len(entry.segments) == 3
    index = open_finder(open_rows(c))
    assert index is not None
    assert list(index.segments) == [0, 1, 2]
    assert recall(c) >= 0.99


def test_few_rows_have_none(make, draw):
    collection = make(draw(120))
    with Writer(collection.folder) as writer:
        save_space(writer, fit_space(collection, KLSA(axes=20), threads=1))
        store_rows(writer)
    collection = open_snapshot(collection.folder)
    assert stored(collection) == []
    assert open_finder(open_rows(collection)) is None
    assert recall(collection) == 1


def test_deleted_documents_are_never_answers(c):
    gone = [f"d{i}" for i in range(0, 600, 4) if i not in (3, 250, 599)]
    with Writer(c.folder) as writer:
        writer.delete(gone)
    after = open_snapshot(c.folder)
    assert len(stored(after)) == 1
    live = set(after.live_docs().tolist())
    assert all(live.issuperset(docs) for docs in answers(after))
    assert recall(after) >= 0.99


def test_added_documents_are_scanned_until_they_are_many(c, draw):
    before = stored(c)
    few = add(c, draw(60, seed=1), first=600)
    assert stored(few) == before
    assert list(open_finder(open_rows(few)).segments) == [0, 1, 2]
    assert max(max(docs) for docs in answers(few)) >= 600
    assert recall(few) >= 0.99
    many = add(few, draw(200, seed=2), first=660)
    assert stored(many) != before
    assert len(stored(many)) == 1
    assert list(open_finder(open_rows(many)).segments) == [0, 1, 2, 3, 4]
    assert recall(many) >= 0.99


def test_merged_segments_have_a_new_index(c):
    with Writer(c.folder) as writer:
        writer.merge()
        assert stored(open_snapshot(c.folder)) == []
        store_rows(writer)
    merged = open_snapshot(c.folder)
    assert list(open_finder(open_rows(merged)).segments) == [0]
    assert recall(merged) >= 0.99


def test_an_index_that_is_not_there_is_not_missed(c):
    truth = answers(c, indexed=False)
    with Writer(c.folder) as writer:
        writer.commit(derived=[entry for entry in writer.manifest.derived if entry.kind != FINDER])
    without = open_snapshot(c.folder)
    assert open_finder(open_rows(without)) is None
    assert answers(without) == truth


def test_no_room_for_the_index_leaves_the_rows(small, make, draw, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(finder, "write_finder", full)
    collection = make(draw(300))
    with Writer(collection.folder) as writer:
        save_space(writer, fit_space(collection, KLSA(axes=20), threads=1))
        store_rows(writer)
    collection = open_snapshot(collection.folder)
    assert open_rows(collection).missing() == []
    assert stored(collection) == []
    assert recall(collection) == 1


@pytest.mark.parametrize("file", ["columns.npy", "scales.npy"])
def test_damage_is_found(c, file):
    path = c.folder / DERIVED / stored(c)[0].folder / file
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match="checksum"):
        answers(c)
    path.unlink()
    with pytest.raises(DamagedError, match="missing"):
        answers(c)


def test_an_index_of_other_rows_is_refused(c):
    rows = open_rows(c)
    with Writer(c.folder) as writer:
        writer.put_derived(
            FINDER,
            model=rows.entry.folder,
            segments=[segment.entry.name for segment in c.segments],
            write=lambda folder: write_finder(folder, rows.segments[:2]),
        )
    with pytest.raises(DamagedError, match="other rows"):
        answers(open_snapshot(c.folder))


def test_the_same_collection_gives_the_same_index(c):
    [entry] = stored(c)
    with Writer(c.folder) as writer:
        writer.commit(derived=[e for e in writer.manifest.derived if e.kind != FINDER])
        store_rows(writer)
    [again] = stored(open_snapshot(c.folder))
    assert again.files == entry.files

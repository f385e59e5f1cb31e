"""Do tiles of 4-bit columns propose what a scan would find?"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from drawn import altered, is_mapped, stored
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.collection.pack import BULK, open_pack
from likewise.errors import DamagedError
from likewise.neighbours.int8 import Coded, decode, encode
from likewise.neighbours.largest import room_for, rows_of, strided_maxima
from likewise.neighbours.tiles import (
    TILE,
    Tiles,
    add_column,
    add_eight,
    pack,
    scale_sums,
    scan_columns,
    touch_rows,
    weigh_axes,
)

WIDTH = 120


def clustered(n, width=WIDTH, *, seed=0, clusters=200):
    """Rows about centres, their coordinates heavy-tailed and their lengths different."""
    random = np.random.default_rng(seed)
    centres = random.laplace(size=(clusters, width))
    rows = centres[random.integers(0, clusters, n)] + random.normal(size=(n, width))
    return (rows * random.lognormal(-3, 0.4, (n, 1))).astype(np.float32)


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
def one(rows):
    return Tiles().build(rows)


def levels(codes):
    return np.rint(codes.T * (7 / 127)).astype(np.int64)


@given(st.sampled_from([1, 100, TILE - 1, TILE, TILE + 1, 2 * TILE + 5]), st.integers(0, 9))
def test_scanning_columns_equals_numpy(n, seed):
    random = np.random.default_rng(seed)
    coded = encode(random.laplace(size=(n, 9)).astype(np.float32))
    tiles = [pack(coded.codes[first : first + TILE]).ravel() for first in range(0, n, TILE)]
    axes = np.sort(random.choice(9, random.integers(1, 10), replace=False))
    weights = random.integers(-400, 400, len(axes))
    wanted = min(n, 50)
    keys, unit = room_for(wanted), float(coded.scales.max()) / 4096
    sums = (weights @ levels(coded.codes)[axes]).astype(np.float32)
    scores = (sums * coded.scales * np.float32(1 / unit)).astype(np.int32)
    best = np.lexsort((np.arange(n), -scores.astype(np.int64)))[:wanted]
    for least in (-(1 << 31), int(scores[best[wanted // 2]]), int(scores.max()) + 1):
        query = (axes, weights, unit, least)
        size = scan_columns(np.concatenate(tiles), coded.scales, query, 9, keys, wanted)
        right = best[scores[best] >= least]
        assert size == len(right)
        np.testing.assert_array_equal(rows_of(keys[:size]), np.sort(right))


def test_the_small_kernels_equal_numpy():
    random = np.random.default_rng(0)
    column, sums = random.integers(0, 256, 50).astype(np.uint8), np.ones(100, np.int16)
    low, high = sums[:50], sums[50:]
    add_column(column, np.int16(-70), low, high)
    np.testing.assert_array_equal(low, 1 - 70 * (column & 15).astype(np.int16))
    np.testing.assert_array_equal(high, 1 - 70 * (column >> 4).astype(np.int16))
    eight = random.integers(0, 256, (8, 50)).astype(np.uint8)
    weights = np.array([9, -80, 700, 1, 0, -3, 44, -512])
    before = sums.copy()
    add_eight(tuple(eight[:4]), tuple(eight[4:]), weights.astype(np.int16), low, high)
    for column, weight in zip(eight, weights, strict=True):
        add_column(column, np.int16(weight), before[:50], before[50:])
    np.testing.assert_array_equal(sums, before)
    scales, out = random.random(90, np.float32), np.empty(90, np.int32)
    scale_sums(sums, scales, np.float32(7), out)
    np.testing.assert_array_equal(out, (sums[:90].astype(np.float32) * scales * 7).astype(np.int32))
    rows, codes = np.array([3, 0, 3]), random.integers(-127, 128, (5, 200)).astype(np.int8)
    assert touch_rows(rows, codes) == codes[rows, ::64].sum(dtype=np.int64)
    maxima = np.empty(18, np.int32)
    strided_maxima(out, maxima)
    np.testing.assert_array_equal(maxima, out.reshape(-1, 18).max(axis=0))


finite = st.floats(-(2.0**99), 2.0**99, width=32)


@given(st.lists(finite, min_size=1, max_size=400))
def test_sums_fit_sixteen_bits(numbers):
    point = np.array(numbers, np.float32)
    axes, weights = weigh_axes(point, 64)
    assert np.abs(weights).sum() * 7 < 1 << 15
    assert len(set(axes.tolist())) == len(axes) == min(64, len(point))
    left = np.delete(np.abs(point), axes)
    assert np.abs(point[axes]).min() >= left.max(initial=0)
    # The best row there could be, which would be the first to fall out of 16 bits.
    row = encode(np.where(point < 0, -1, 1).astype(np.float32)[None, :])
    keys = room_for(1)
    row = row._replace(scales=np.ones(1, np.float32))
    query = (axes, weights, 1.0, 0)
    assert scan_columns(pack(row.codes).ravel(), row.scales, query, len(point), keys, 1) == 1
    assert keys[0] >> 32 == (7 * np.abs(weights).sum() if point.any() else 0)


@given(st.integers(0, 2 * TILE + 3), st.integers(1, 400), st.booleans())
def test_proposals_are_rows(size, n, nothing):
    random = np.random.default_rng(n)
    index = Tiles().build(encode(random.normal(size=(size, 3)).astype(np.float32)))
    point = np.zeros(3, np.float32) if nothing else random.normal(size=3).astype(np.float32)
    found = index.propose(point, n)
    assert len(found) == min(n, size)
    assert (np.diff(found) > 0).all()
    assert len(found) == 0 or 0 <= found[0] <= found[-1] < size


def test_what_is_largest_is_found(rows, points, one):
    truth = decode(rows) @ np.array(points).T
    for n, asked, rough, least in (
        (10, 200, False, 0.99),
        (200, 200, False, 0.97),
        (10, 100, True, 0.8),
    ):
        shares = []
        for point, scores in zip(points, truth.T, strict=True):
            found = one.propose(point, asked, rough=rough)
            shares.append(np.isin(np.argsort(-scores)[:n], found).mean())
        assert np.mean(shares) >= least


def test_few_rows_are_all_weighed(rows, points):
    few = Coded(rows.codes[:1500], rows.scales[:1500])
    index = Tiles().build(few)
    for point in points[:5]:
        found = index.propose(point, 75)
        assert set(found.tolist()) == set(np.argsort(-decode(few) @ point)[:75].tolist())


@pytest.mark.parametrize("n", [0, 1, TILE, 20_000])
def test_what_is_saved_is_what_is_loaded(rows, points, n, tmp_path):
    some = Coded(rows.codes[:n], rows.scales[:n])
    built, memory = Tiles().build(some), Memory()
    built.save(memory)
    pack = stored(built, tmp_path / "pack")
    assert pack.names == ["tiles"]
    assert "tiles" in BULK
    loaded = Tiles().load(pack, some)
    assert is_mapped(loaded.tiles) or n == 0
    assert np.array_equal(loaded.tiles, built.tiles)
    again = Memory()
    loaded.save(again)
    assert np.array_equal(again["tiles"], memory["tiles"])
    for point in points[:5]:
        assert np.array_equal(loaded.propose(point, 60), built.propose(point, 60))
        assert np.array_equal(
            Tiles().load(memory, some).propose(point, 60), built.propose(point, 60)
        )


def test_threads_change_nothing(points, rows):
    one = Tiles().build(rows)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda point: one.propose(point, 150), points))
    for point, found in zip(points, together, strict=True):
        np.testing.assert_array_equal(one.propose(point, 150), found)


def test_tiles_of_other_vectors_are_refused(rows, tmp_path):
    pack = stored(Tiles().build(rows), tmp_path / "pack")
    few = Coded(rows.codes[:9000], rows.scales[:9000])
    narrow = Coded(rows.codes[:, :9], rows.scales)
    for other in (few, narrow):
        with pytest.raises(DamagedError, match=r"tiles: tiles is shaped \(480, 4096\), not"):
            Tiles().load(pack, other)


def test_damage_crashes_nothing(rows, points, tmp_path):
    """Levels lead nowhere: what seems best may be something else."""
    path = tmp_path / "pack"
    stored(Tiles().build(rows), path)
    for at in np.linspace(0, 1, 50):
        altered(path, "tiles", at=at, bits=0xFF)
    index = Tiles().load(open_pack(path), rows)
    found = index.propose(points[0], 200)
    assert len(set(found.tolist())) == 200
    with pytest.raises(DamagedError, match="tiles was altered"):
        open_pack(path).check()


def test_vectors_that_are_not_rounded_have_no_tiles(rows):
    assert Tiles().build(Coded(decode(rows), np.ones(len(rows.scales), np.float32))) is None

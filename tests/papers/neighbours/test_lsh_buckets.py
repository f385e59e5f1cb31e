"""Buckets: every kernel against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise_papers.neighbours.collision_probability import perturbations
from likewise_papers.neighbours.lsh_buckets import (
    cell_bits,
    find_buckets,
    find_keys,
    list_marks,
    probe,
    read_buckets,
    sort_keys,
)


def draw(n, dimension, length, tables, seed=0):
    random = np.random.default_rng(seed)
    n_functions = length * tables
    points = random.standard_normal((n, dimension)).astype(np.float32)
    axes = random.standard_normal((dimension, n_functions), np.float32) / np.float32(4)
    offsets = random.random(n_functions, np.float32)
    multipliers = random.integers(0, 1 << 64, n_functions, np.uint64)
    return points, (axes, offsets, multipliers)


def values_of(points, functions):
    """Projections, summed in the order of the coordinates."""
    values = np.tile(functions[1], (len(points), 1))
    for j in range(points.shape[1]):
        values = values + points[:, j : j + 1] * functions[0][j]
    return values


def keys_of(slices, multipliers, length):
    products = slices.astype(np.int64).view(np.uint64) * multipliers
    return products.reshape(len(slices), -1, length).sum(axis=2, dtype=np.uint64)


@pytest.mark.parametrize("dimension", [1, 4, 7, 33])
def test_keys_are_sums_of_slices(dimension):
    points, functions = draw(50, dimension, length=5, tables=3)
    keys = np.empty((3, 50), np.uint64)
    find_keys(points, functions, 5, keys)
    expected = keys_of(np.floor(values_of(points, functions)), functions[2], 5)
    np.testing.assert_array_equal(keys.T, expected)


@given(
    st.lists(st.integers(0, 40), max_size=200), st.integers(1, 12), st.sampled_from([0, 33, 51, 58])
)
def test_sorted_keys_are_in_order_of_cell_tag_and_row(small, bits, shift):
    keys = np.array(small, np.uint64) << np.uint64(shift)
    starts = np.empty((1 << bits) + 1, np.uint32)
    tags, rows = np.empty(len(keys), np.uint16), np.empty(len(keys), np.int32)
    sort_keys(keys, bits, (starts, tags, rows))
    leading = keys >> np.uint64(48 - bits)
    order = np.argsort(leading, kind="stable")
    np.testing.assert_array_equal(rows, order)
    np.testing.assert_array_equal(tags, leading[order].astype(np.uint16))
    cells = (keys >> np.uint64(64 - bits))[order].astype(np.int64)
    np.testing.assert_array_equal(starts, np.searchsorted(cells, np.arange((1 << bits) + 1)))


def test_cells_are_as_many_as_memory_is_counted_for():
    for n in range(3, 5000):
        assert 2 <= n / (1 << cell_bits(n)) <= 4 or n < 9
    assert cell_bits(0) == cell_bits(1) == 1


@given(st.lists(st.integers(0, 300), unique=True))
def test_marks_are_listed_and_cleared(places):
    bits = np.zeros(320, np.uint8)
    bits[places] = 1
    marks = np.packbits(bits, bitorder="little").view(np.uint64)
    found = np.full(len(places) + 2, -1, np.int64)
    assert list_marks(marks, found, 1) == len(places) + 1
    assert found.tolist() == [-1, *sorted(places), -1]
    assert not marks.any()


@pytest.mark.parametrize("probes", [0, 1, 30])
def test_probes_are_the_keys_of_slices_stepped_to(probes):
    length, tables = 6, 4
    points, functions = draw(20, 9, length, tables, seed=3)
    bounds, members = steps = perturbations(length, probes)
    for values in values_of(points, functions):
        keys = np.empty(tables * len(bounds), np.uint64)
        probe(values, functions[2], length, steps, keys)
        slices = np.floor(values)
        places = (values - slices).reshape(tables, length)
        order = np.argsort(np.minimum(places, 1 - places), axis=1)
        for s in range(len(bounds)):
            moved = slices.reshape(tables, length).copy()
            for member in members[bounds[s - 1] : bounds[s]] if s else []:
                near = member < length
                for t in range(tables):
                    i = order[t, member if near else 2 * length - 1 - member]
                    moved[t, i] += 1 if (places[t, i] >= 0.5) == near else -1
            expected = keys_of(moved.reshape(1, -1), functions[2], length)[0]
            np.testing.assert_array_equal(keys[s :: len(bounds)], expected)


def fill(points, functions, length):
    tables, n = len(functions[1]) // length, len(points)
    bits = cell_bits(n)
    keys = np.empty((tables, n), np.uint64)
    find_keys(points, functions, length, keys)
    starts = np.empty((tables, (1 << bits) + 1), np.uint32)
    tags, rows = np.empty((tables, n), np.uint16), np.empty((tables, n), np.int32)
    for t in range(tables):
        sort_keys(keys[t], bits, (starts[t], tags[t], rows[t]))
    return keys, (starts.ravel(), tags.ravel(), rows.ravel()), (n, bits)


@pytest.mark.parametrize("n", [1, 300])
def test_buckets_are_found_by_their_keys(n):
    points, functions = draw(n, 5, length=3, tables=4)
    keys, buckets, size = fill(points, functions, 3)
    asked = np.concatenate([keys[:, :5], keys[:, :5] + np.uint64(1 << 40)], axis=1)
    spans = np.empty((asked.size, 2), np.int64)
    total = find_buckets(asked.ravel(), asked.shape[1], buckets, size, spans)
    assert total == np.diff(spans).sum() > 0
    shift = np.uint64(48 - size[1])
    for i, key in enumerate(asked.ravel()):
        own = np.flatnonzero(keys[i // asked.shape[1]] >> shift == key >> shift)
        assert buckets[2][slice(*spans[i])].tolist() == own.tolist()


@pytest.mark.parametrize("probes", [0, 12])
def test_read_buckets_is_the_union_over_tables_and_probes(probes):
    length, tables = 4, 5
    points, functions = draw(3000, 6, length, tables)
    queries = np.concatenate([points[:40], draw(20, 6, length, tables, seed=9)[0]])
    keys, buckets, size = fill(points, functions, length)
    steps = perturbations(length, probes)
    bounds, rows = read_buckets(queries, functions, length, buckets, size, steps)
    per_table = len(steps[0])
    shift = np.uint64(48 - size[1])
    for q, values in enumerate(values_of(queries, functions)):
        asked = np.empty(tables * per_table, np.uint64)
        probe(values, functions[2], length, steps, asked)
        same = (keys >> shift)[:, None] == (asked.reshape(tables, -1) >> shift)[:, :, None]
        expected = np.flatnonzero(same.any(axis=(0, 1)))
        np.testing.assert_array_equal(rows[bounds[q] : bounds[q + 1]], expected)
    assert bounds[-1] == len(rows) > 60

"""Lists of pairs of topics: what is packed, listed and read, and that enough is read."""

import numpy as np
import pytest
from drawn import families, is_mapped, n_stored, recall, reference, rows_of, same, simplex, stored
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.pack import BULK
from likewise.errors import DamagedError, UsageError
from likewise.neighbours import list_kernels as kernels
from likewise.neighbours.list_kernels import (
    RECORDED,
    SKETCHED,
    list_pairs,
    propose_above,
    propose_best,
    sketch_rows,
)
from likewise.neighbours.lists import MOST_TOPICS, Lists, PairLists, suits, value_bits


def roots(n, dimension=100, alpha=0.05, seed=0):
    return np.sqrt(simplex(n, dimension, alpha, seed))


def packed(row, width, bits):
    most = (1 << bits) - 1
    out = []
    for place in np.argsort(-row, kind="stable")[:width].tolist():
        value = min(int(row[place] * np.float32(most) + np.float32(0.5)), most)
        out.append(place << bits | value if row[place] >= np.float32(0.5) / np.float32(most) else 0)
    return out + [0] * (width - len(out))


def listed(record, bits, paired):
    """The pairs of places of a record under which it is listed, as the module says."""
    mask = (1 << bits) - 1
    shares = [np.float32(int(x) & mask) / np.float32(mask) for x in record]
    pairs = [(a, b) for a in range(paired) for b in range(a) if shares[a] >= np.float32(0.1)]
    alone = shares[0] >= np.float32(0.8) or shares[1] < np.float32(0.1)
    return ([(0, 0)] if alone and shares[0] > 0 else []) + pairs


def cell_of(one, other):
    low, high = sorted((int(one), int(other)))
    return high * (high + 1) // 2 + low


@pytest.fixture(scope="module")
def small():
    """Records of 300 points and their lists."""
    points = np.sqrt(families(300, 12))
    bits = value_bits(12)
    records = sketch_rows(points, RECORDED, bits)
    return points, bits, records, list_pairs(records, 12, bits, 4)


@pytest.mark.parametrize(
    ("n_topics", "bits"),
    [(1, 15), (2, 15), (3, 14), (4, 14), (5, 13), (100, 9), (256, 8), (257, 7), (2048, 5)],
)
def test_a_topic_takes_the_bits_it_needs(n_topics, bits):
    assert value_bits(n_topics) == bits
    assert n_topics - 1 < 1 << (16 - bits)


@given(st.integers(0, 1 << 40))
def test_bit_length(value):
    assert kernels._bit_length(value) == value.bit_length()


@pytest.mark.parametrize("dimension", [1, 2, 5, 50, 300])
@pytest.mark.parametrize("width", [1, 7, 32])
def test_rows_are_packed(dimension, width):
    points = roots(20, dimension, 0.3)
    points[3] = 0
    points[4] = np.sqrt(np.float32(1 / dimension))
    bits = value_bits(dimension)
    assert sketch_rows(points, width, bits).tolist() == [packed(row, width, bits) for row in points]


@pytest.mark.parametrize("paired", [2, 4, 7])
@pytest.mark.parametrize("alpha", [0.01, 0.3, 10.0])
def test_records_are_listed_under_their_pairs(paired, alpha):
    n_topics = 12
    bits = value_bits(n_topics)
    points = roots(80, n_topics, alpha)
    points[5] = 0
    records = sketch_rows(points, RECORDED, bits)
    starts, rows, sketches, first, second = list_pairs(records, n_topics, bits, paired)
    mask = (1 << bits) - 1
    wanted = {}
    for i, record in enumerate(records.tolist()):
        for a, b in listed(record, bits, paired):
            pair = sorted({record[a], record[b]}, key=lambda x: x >> bits)
            others = [x for j, x in enumerate(record[:SKETCHED]) if j not in (a, b)]
            cell = cell_of(record[a] >> bits, record[b] >> bits)
            wanted.setdefault(cell, []).append((i, pair, (pair + others)[:SKETCHED]))
    assert starts[0] == 0
    assert starts[-1] == len(rows) == sum(map(len, wanted.values()))
    for cell in range(n_topics * (n_topics + 1) // 2):
        here = slice(starts[cell], starts[cell + 1])
        mine = wanted.get(cell, [])
        assert sorted(rows[here].tolist()) == [i for i, _, _ in mine]
        assert sketches[here].tolist() == [sketch for _, _, sketch in mine]
        if mine:
            assert first[cell] == pytest.approx(
                np.mean([(pair[0] & mask) / mask for _, pair, _ in mine]), abs=1e-5
            )
            shares = [(pair[1] & mask) / mask for _, pair, _ in mine if len(pair) == 2]
            assert second[cell] == pytest.approx(np.mean(shares or [0]), abs=1e-5)


def test_every_point_with_a_place_is_listed():
    """However many topics it has, and however small their shares."""
    for alpha in (0.001, 0.1, 1.0, 1000.0):
        points = roots(200, 400, alpha)
        lists = Lists(reads=100).build(points, seed=0)
        assert set(lists._arrays.rows.tolist()) == set(range(200))


@given(
    st.lists(st.sampled_from([-0.5, 0.0, 0.1, 0.25, 0.5]), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_the_largest_of_a_query(values, limit):
    query = np.array(values, np.float32)
    wanted = [i for i in np.argsort(-query, kind="stable") if query[i] > 0][:limit]
    assert kernels._largest(query, limit).tolist() == wanted


def test_scores_of_sketches_and_records(small):
    points, bits, records, (_, _, sketches, _, _) = small
    whole = kernels._whole_numbers(points[7], bits)
    assert whole.tolist() == [int(x * np.float32(1 << (30 - bits))) for x in points[7]]
    mask = (1 << bits) - 1

    def score(sketch):
        return int(sum(int(whole[x >> bits]) * (x & mask) for x in sketch.tolist()))

    assert [kernels._sketch_score(whole, sketches, i, bits) for i in range(50)] == [
        score(sketch) for sketch in sketches[:50]
    ]
    found = [kernels._record_score(whole, records, i, bits) for i in range(len(records))]
    assert found == [score(record) for record in records]
    # And that is a product of points, but for packing.
    np.testing.assert_allclose(np.array(found) / 2**30, points @ points[7], atol=2e-3)


def test_whole_numbers_do_not_overflow():
    for dimension in (1, 2, 100, 2048):
        bits = value_bits(dimension)
        point = np.full((1, dimension), np.sqrt(1 / dimension), np.float32)
        point[0, 0] = np.sqrt(1 - (point[0, 1:] ** 2).sum())
        records = sketch_rows(point, RECORDED, bits)
        whole = kernels._whole_numbers(point[0], bits)
        score = kernels._record_score(whole, records, 0, bits)
        # A share of 1/45 is packed into five bits as 1/31.
        wanted = np.sort(point[0])[::-1][:RECORDED] ** 2
        assert score / 2**30 == pytest.approx(wanted.sum(), rel=0.5, abs=2e-3)
    assert kernels._whole_numbers(np.array([-0.5, 0.5], np.float32), 15).tolist() == [0, 1 << 14]


@given(st.lists(st.integers(0, 20), max_size=40), st.integers(1, 40))
def test_the_highest_are_kept(values, limit):
    keys, scores = np.arange(len(values), dtype=np.int32), np.array(values, np.uint32)
    size = kernels._keep(keys, scores, len(values), limit)
    if len(values) <= limit:
        assert keys[:size].tolist() == list(range(len(values)))
        return
    least = sorted(values)[-limit]
    assert keys[:size].tolist() == [i for i, value in enumerate(values) if value >= least]
    assert scores[:size].tolist() == [value for value in values if value >= least]


@pytest.mark.parametrize("reads", [1, 100, 400, 10_000])
@pytest.mark.parametrize(("looked_up", "proposed"), [(12, 5), (40, 10), (400, 50)])
def test_the_best_of_what_was_read_are_proposed(small, reads, looked_up, proposed):
    _, bits, records, lists = small
    starts, entries, _, first, second = lists
    # In whatever order, a sketch has the first seven of a record.
    sketches = records.copy()
    sketches[:, SKETCHED:] = 0
    queries = np.sqrt(families(30, 12, seed=5))
    found = propose_best(queries, records, *lists, 8, reads, looked_up, proposed)
    for query, rows in zip(queries, np.split(found[1], found[0][1:-1]), strict=True):
        read = []
        for cell in kernels._ordered_cells(query, starts, first, second, 8):
            read += entries[starts[cell] : starts[cell + 1]].tolist()
            if len(read) >= reads:
                break
        whole = kernels._whole_numbers(query, bits)

        def by(packed, among, n, whole=whole):
            score = {i: kernels._record_score(whole, packed, i, bits) for i in among}
            return sorted(score, key=score.get, reverse=True)[:n]

        best = by(records, by(sketches, set(read), looked_up), proposed)
        assert rows.tolist() == sorted(best)


def test_the_most_promising_pairs_are_read_first(small):
    points, _, _, (starts, _, _, first, second) = small
    query = points[11]
    cells = kernels._ordered_cells(query, starts, first, second, 8)
    promise = {}
    for high in range(12):
        for low in range(high + 1):
            cell = cell_of(low, high)
            promise[cell] = query[low] * first[cell] + query[high] * second[cell]
    values = [promise[cell] for cell in cells]
    assert values == sorted(values, reverse=True)
    asked = np.argsort(-query, kind="stable")[:8]
    wanted = {cell_of(a, b) for a in asked for b in asked if query[a] > 0 and query[b] > 0}
    assert set(cells.tolist()) == {cell for cell in wanted if starts[cell + 1] > starts[cell]}


@pytest.mark.parametrize("least", [0.4, 0.7, 0.95])
def test_what_may_be_within_is_proposed_once(small, least):
    points, _, records, lists = small
    bounds, rows = propose_above(points, records, *lists, 12, np.float32(least))
    products = points.astype(np.float64) @ points.T
    missed = 0
    for i, mine in enumerate(np.split(rows, bounds[1:-1])):
        assert len(set(mine.tolist())) == len(mine)
        assert (products[i, mine] >= least - 0.1).all()
        missed += len(set(np.flatnonzero(products[i] >= least)) - set(mine.tolist()))
    assert missed <= 0.02 * (products >= least).sum()


def test_a_wide_radius_is_that_of_all_points():
    points = roots(300)
    lists = Lists().build(points, seed=0)
    for rows in rows_of(lists.propose_within(points[:4], 1.2)):
        assert rows.tolist() == list(range(300))
    assert len(lists.propose_within(points[:4], 0.5).rows) < 300


def test_what_suits():
    points = roots(50, 40)
    assert suits(points)
    assert suits(np.zeros((3, 40), np.float32))
    assert suits(np.empty((0, 40), np.float32))
    assert suits(np.eye(5, MOST_TOPICS, dtype=np.float32))
    assert not suits(np.eye(5, MOST_TOPICS + 1, dtype=np.float32))
    assert not suits(2 * points)
    assert not suits(simplex(50, 40))
    turned = points.copy()
    turned[17, points[17].argmax()] *= -1
    assert not suits(turned)


@pytest.mark.parametrize("n_topics", [40, MOST_TOPICS + 1])
def test_other_vectors_are_refused(n_topics):
    points = np.random.default_rng(0).standard_normal((20, n_topics)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    with pytest.raises(UsageError, match="lists need numbers of at least 0 in rows of length 1"):
        Lists().build(points, seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reads": -1}, "reads must be 0 or more, not -1"),
        ({"recall": 0.0}, "recall must be above 0"),
        ({"recall": 1.5}, "recall must be above 0 and at most 1, not 1.5"),
        ({"paired": 1}, "paired must be from 2 to 7, or 0, not 1"),
        ({"paired": 8}, "paired must be from 2 to 7, or 0, not 8"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        Lists(**options)


@pytest.fixture(scope="module", params=[0.02, 0.1])
def sparse(request):
    """Documents that few topics dominate, with queries of their kind and the distances."""
    points = roots(20_000 if request.param < 0.1 else 8000, 100, request.param)
    queries = roots(200, 100, request.param, seed=1)
    return points, queries, reference("euclidean", points, queries)


def scored(lists, points, queries, k=10):
    """The nearest of what is proposed, as an index would give them."""
    numbers = np.full((len(queries), k), -1, np.int64)
    for i, rows in enumerate(rows_of(lists.propose(queries, k))):
        near = np.argsort(((points[rows] - queries[i]) ** 2).sum(axis=1))[:k]
        numbers[i, : len(near)] = rows[near]
    return numbers


@pytest.mark.parametrize("wanted", [0.7, 0.95])
def test_as_much_is_read_as_the_recall_asked_for_needs(sparse, wanted):
    points, queries, distances = sparse
    lists = Lists(recall=wanted).build(points, seed=0)
    assert lists.tuned.reached >= wanted
    # Other documents than those it was tuned on: 2000 neighbours, so a few hundredths of noise.
    assert recall(scored(lists, points, queries), distances) >= wanted - 0.03
    assert len(lists.propose(queries, 10).rows) < 0.02 * len(points) * len(queries)


def test_more_recall_takes_more_reads():
    points = roots(8000, 100, 0.1)
    reads = [Lists(recall=r, paired=4).build(points, seed=0).tuned.reads for r in (0.5, 0.9, 0.97)]
    assert reads == sorted(set(reads))


def test_more_neighbours_are_looked_for_in_more_entries(sparse):
    points, queries, distances = sparse
    lists = Lists(recall=0.95).build(points, seed=0)
    assert recall(scored(lists, points, queries, 50), distances) >= 0.92


def test_reads_and_pairs_that_are_given_are_not_worked_out():
    points = roots(2000)
    lists = Lists(reads=777, paired=3).build(points, seed=0)
    assert lists.tuned[:2] == (3, 777)
    assert lists.paired == 3
    assert Lists(paired=5).build(points, seed=0).paired == 5


def test_four_are_paired_or_six_where_four_are_too_few():
    sparse, spread = roots(3000, 60, 0.02), roots(3000, 60, 0.3)
    assert Lists(recall=0.9).build(sparse, seed=0).paired == 4
    assert Lists(recall=1.0).build(spread, seed=0).paired == 6


def test_what_was_found_out_is_taken_over():
    points = roots(3000)
    origin = Lists().build(points[:2000], seed=0)
    other = Lists().build(points[2000:], seed=0, origin=origin)
    assert other.tuned == origin.tuned


def test_lists_are_mapped_as_they_were_written(tmp_path):
    points, queries = roots(2000), roots(20, seed=1)
    lists = Lists(reads=3000).build(points, seed=0)
    pack = stored(lists, tmp_path / "pack")
    again = Lists(reads=3000).load(pack, points)
    assert isinstance(again, PairLists)
    assert again.tuned == lists.tuned
    assert same(again._arrays, lists._arrays)
    assert all(is_mapped(array) for array in again._arrays)
    assert same(again.propose(queries, 10), lists.propose(queries, 10))
    assert again.n_bytes == lists.n_bytes == n_stored(pack) > 0
    assert not BULK.intersection(pack.names)
    for other in (points[:-1], points[:, :-1]):
        with pytest.raises(DamagedError, match=r"lists: .* is shaped"):
            Lists(reads=3000).load(pack, other)


@pytest.mark.parametrize("n", [0, 1, 2, 15])
@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_few_points_are_all_found(n, dimension):
    points = roots(n, dimension, 1.0)
    lists = Lists().build(points, seed=0)
    found = scored(lists, points, points, 15)
    assert (found >= 0).sum() == n * n
    assert dimension == 1 or np.array_equal(found[:, :1].ravel(), np.arange(n))


def test_many_of_the_same():
    points = np.repeat(roots(3, 20), 400, axis=0)
    lists = Lists().build(points, seed=0)
    for i, rows in enumerate(rows_of(lists.propose(points[::400], 10))):
        assert len(rows) >= 10
        assert set(rows.tolist()) <= set(range(400 * i, 400 * i + 400))


def test_points_without_a_place():
    points = roots(50, 20)
    points[10:20] = 0
    lists = Lists().build(points, seed=0)
    proposed = rows_of(lists.propose(points, 50))
    assert all(set(rows.tolist()).isdisjoint(range(10, 20)) for rows in proposed)
    assert all((len(rows) == 0) == (10 <= i < 20) for i, rows in enumerate(proposed))
    nothing = Lists().build(np.zeros((5, 20), np.float32), seed=0)
    assert nothing.propose(points, 3).rows.size == 0

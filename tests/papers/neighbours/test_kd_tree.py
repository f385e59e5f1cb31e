"""The k-d tree: exact where it is asked to be, and within its promise where it is not."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import altered, is_mapped, n_stored, stored
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from likewise import notation
from likewise.collection.arrays import Memory
from likewise.collection.pack import open_pack
from likewise.errors import DamagedError, UsageError
from likewise.neighbours.scan import Scan
from likewise_papers.neighbours.kd_tree import Tree
from likewise_papers.neighbours.kd_tree_kernels import (
    cut_at,
    distance,
    distance_to_box,
    gap,
    grow,
    nearest,
    offer,
    put,
    take,
    widest,
    within,
)

seeds = st.integers(0, 2**32 - 1)


def sparse_points(n, d=40, seed=0, alpha=0.05):
    """Square roots of draws from a Dirichlet distribution."""
    return np.sqrt(np.random.default_rng(seed).dirichlet(np.full(d, alpha), n)).astype(np.float32)


def coarse_points(n, d, seed):
    """Points on a coarse grid: many ties, and sums of squares without rounding."""
    return np.random.default_rng(seed).integers(-3, 4, (n, d)).astype(np.float32) / 4


def squares(points, query):
    return ((points.astype(np.float64) - query) ** 2).sum(axis=1)


def brute(points, query, k):
    return np.lexsort((np.arange(len(points)), squares(points, query)))[:k]


def rows_of(proposals):
    return [
        proposals.rows[start:stop]
        for start, stop in zip(proposals.bounds[:-1], proposals.bounds[1:], strict=True)
    ]


def recall(proposals, truth):
    found = rows_of(proposals)
    return np.mean([np.isin(want, rows).mean() for rows, want in zip(found, truth, strict=True)])


@given(n=st.integers(1, 200), d=st.integers(1, 6), leaf=st.integers(1, 20), seed=seeds)
def test_every_point_is_in_one_leaf_and_inside_its_cell(n, d, leaf, seed):
    points = coarse_points(n, d, seed)
    tree = grow(points, leaf)
    assert sorted(tree.rows.tolist()) == list(range(n))
    box = tree.box.reshape(2, d)
    assert (box[0] == points.min(axis=0)).all()
    assert (box[1] == points.max(axis=0)).all()
    cells = [(0 if len(tree.dims) else -1, box)]
    seen = []
    while cells:
        node, cell = cells.pop()
        if node < 0:
            mine = points[tree.rows[tree.leaves[~node] : tree.leaves[~node + 1]]]
            assert len(mine) <= leaf or (mine == mine[0]).all()
            assert (mine >= cell[0]).all()
            assert (mine <= cell[1]).all()
            seen.append(~node)
            continue
        dim, edges = tree.dims[node], tree.edges[6 * node : 6 * node + 6]
        assert edges[:2].tolist() == cell[:, dim].tolist()
        for side in (0, 1):
            inner = cell.copy()
            inner[:, dim] = edges[2 + 2 * side : 4 + 2 * side]
            cells.append((tree.children[2 * node + side], inner))
    assert sorted(seen) == list(range(len(tree.leaves) - 1))


@given(
    n=st.integers(1, 150),
    d=st.integers(1, 5),
    k=st.integers(1, 30),
    leaf=st.integers(1, 9),
    seed=seeds,
)
def test_without_epsilon_it_is_brute_force_with_ties_by_row(n, d, k, leaf, seed):
    points, queries = coarse_points(n, d, seed), coarse_points(4, d, seed + 1) * 1.5
    tree = grow(points, leaf)
    found, sizes = nearest(points, tree, queries, k, 1.0, 0)
    for query, rows, size in zip(queries, found, sizes, strict=True):
        assert sorted(rows[:size].tolist()) == sorted(brute(points, query, k).tolist())
    proposed = rows_of(Tree(leaf=leaf).build(points).propose(queries, k))
    for query, rows in zip(queries, proposed, strict=True):
        assert len(np.unique(rows)) == len(rows) == min(n, k + 4)
        assert np.isin(brute(points, query, k), rows).all()


@given(n=st.integers(1, 150), d=st.integers(1, 5), radius=st.sampled_from([0, 0.5, 0.75, 2]))
def test_all_within_a_radius_are_found(n, d, radius):
    points, queries = coarse_points(n, d, n), coarse_points(5, d, n + 1)
    finder = Tree(leaf=3).build(points)
    assert finder.exact
    for query, rows in zip(queries, rows_of(finder.propose_within(queries, radius)), strict=True):
        assert sorted(rows) == np.flatnonzero(squares(points, query) <= radius**2).tolist()


@given(epsilon=st.floats(0, 4), k=st.integers(1, 12), seed=seeds)
def test_answers_are_within_one_plus_epsilon(epsilon, k, seed):
    points, queries = sparse_points(300, 12, seed), sparse_points(3, 12, seed + 1)
    tree = grow(points, 4)
    found, sizes = nearest(points, tree, queries, k, 1 + epsilon, 0)
    assert (sizes == k).all()
    for query, rows in zip(queries, found, strict=True):
        distances = np.sqrt(np.sort(squares(points, query)[rows]))
        best = np.sqrt(squares(points, query)[brute(points, query, k)])
        assert (distances <= best * (1 + epsilon) * (1 + 1e-9)).all()


@given(epsilon=st.floats(0, 4), radius=st.floats(0, 1.5))
def test_within_a_radius_over_one_plus_epsilon_nothing_is_missed(epsilon, radius):
    points, queries = sparse_points(300, 12), sparse_points(4, 12, 1)
    finder = Tree(leaf=4, epsilon=epsilon).build(points)
    assert finder.exact == (epsilon == 0)
    for query, rows in zip(queries, rows_of(finder.propose_within(queries, radius)), strict=True):
        far = squares(points, query)
        assert np.isin(np.flatnonzero(far <= (radius / (1 + epsilon)) ** 2), rows).all()
        assert (far[rows] <= radius**2 * 1.0001).all()


def test_it_finds_what_scipy_finds_and_more_leaves_find_more():
    points, queries = sparse_points(5000), sparse_points(100, seed=1)
    truth = cKDTree(points).query(queries, 10)[1]
    exact = Tree().build(points)
    assert recall(exact.propose(queries, 10), truth) == 1
    approximate = cKDTree(points).query(queries, 10, eps=1.0)[1]
    theirs = np.mean([np.isin(a, b).mean() for a, b in zip(truth, approximate, strict=True)])
    ours = recall(replace(exact, config=Tree(epsilon=1.0)).propose(queries, 10), truth)
    assert ours >= max(theirs - 0.02, 0.9)
    few, some, many = (
        recall(replace(exact, config=Tree(leaves=leaves)).propose(queries, 10), truth)
        for leaves in (1, 30, 300)
    )
    assert few < some < many
    assert many > 0.9
    assert not replace(exact, config=Tree(leaves=300)).exact


def test_a_limit_of_leaves_reads_the_nearest_first():
    points = np.arange(64, dtype=np.float32)[:, None]
    finder = Tree(leaf=4, leaves=1).build(points)
    (rows,) = rows_of(finder.propose(np.array([[21.0]], np.float32), 3))
    assert sorted(rows) == [20, 21, 22, 23]
    (rows,) = rows_of(finder.propose_within(np.array([[21.0]], np.float32), 50.0))
    assert sorted(rows) == [20, 21, 22, 23]


def test_equal_points_and_points_on_an_exponential_scale():
    same = np.ones((100_000, 3), np.float32)
    finder = Tree().build(same)
    assert len(finder.tree.dims) == 0
    (rows,) = rows_of(finder.propose(same[:1], 5))
    assert sorted(rows) == list(range(9))
    skewed = np.ldexp(1.0, -np.arange(140)).astype(np.float32)[:, None]
    queries = skewed[::7].copy()
    found = rows_of(Tree(leaf=1).build(skewed).propose(queries, 2))
    for query, rows in zip(queries, found, strict=True):
        assert np.isin(brute(skewed, query, 2), rows).all()


def test_deep_trees_are_cut_in_halves():
    # Cut in the middle each cell would lose one point only.
    points = (1.5 ** -np.arange(250.0)).astype(np.float32)[:, None]
    tree = grow(points, 1)
    depths = np.zeros(len(tree.dims), np.int64)
    for node in range(len(tree.dims)):
        for child in tree.children[2 * node : 2 * node + 2]:
            if child >= 0:
                depths[child] = depths[node] + 1
    assert 66 <= depths.max() <= 66 + 8


def test_splitting_queries_and_saving_change_nothing(tmp_path):
    points, queries = sparse_points(2000), sparse_points(20, seed=3)
    config = Tree(leaf=5, epsilon=0.5)
    finder = config.build(points)
    pack = stored(finder, tmp_path / "pack")
    assert finder.n_bytes == n_stored(pack)
    loaded = config.load(pack, points)
    assert all(is_mapped(array) for array in loaded.tree)
    for first, second in [
        (finder.propose(queries, 7), loaded.propose(queries, 7)),
        (finder.propose_within(queries, 0.8), loaded.propose_within(queries, 0.8)),
    ]:
        assert first.bounds.tolist() == second.bounds.tolist()
        assert first.rows.tolist() == second.rows.tolist()
    together = rows_of(finder.propose(queries, 7))
    for i in range(len(queries)):
        (alone,) = rows_of(finder.propose(queries[i : i + 1], 7))
        assert alone.tolist() == together[i].tolist()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_points(n, tmp_path):
    points = sparse_points(3)[:n]
    finder = Tree().build(points, seed=1, origin=Tree().build(points))
    for tree in (finder, Tree().load(stored(finder, tmp_path / "pack"), points)):
        assert [sorted(rows) for rows in rows_of(tree.propose(sparse_points(2), 5))] == [
            list(range(n))
        ] * 2
        assert [len(rows) for rows in rows_of(tree.propose_within(sparse_points(2), 9.0))] == [
            n
        ] * 2
        assert tree.propose(sparse_points(2)[:0], 5).bounds.tolist() == [0]


def test_what_does_not_fit_is_said(tmp_path):
    with pytest.raises(UsageError, match="leaf must be at least 1"):
        Tree(leaf=0)
    with pytest.raises(UsageError, match="epsilon at least 0"):
        Tree(epsilon=float("nan"))
    points = sparse_points(30)
    finder = Tree().build(points)
    with pytest.raises(UsageError, match="40"):
        finder.propose(points[:, :7], 3)
    pack = stored(finder, tmp_path / "pack")
    with pytest.raises(DamagedError, match="not a tree of 29 points"):
        Tree().load(pack, points[:29])
    with pytest.raises(DamagedError, match="of 39 coordinates"):
        Tree().load(pack, points[:, :39])
    with pytest.raises(DamagedError, match="there is no array rows"):
        Tree().load(stored(Scan().build(points), tmp_path / "pack"), points)


@pytest.mark.parametrize("name", ["rows", "leaves", "dims", "children", "edges", "box"])
def test_altered_arrays_never_lead_a_search_astray(name, tmp_path):
    points, path = sparse_points(300), tmp_path / "pack"
    finder = Tree(leaf=4).build(points)
    stored(finder, path)
    altered(path, name)
    with pytest.raises(DamagedError, match=f"{name} was altered"):
        Tree(leaf=4).load(open_pack(path), points)
    array = getattr(finder.tree, name)
    wrong = [array[:-1], np.append(array, 0), array.astype(np.float64)]
    if name not in ("edges", "box"):
        for value in (-(2**31), 2**31 - 1):
            wrong.append(array.copy())
            wrong[-1][3] = value
    for other in wrong:
        memory = Memory()
        finder.save(memory)
        memory.put(name, other)
        with pytest.raises(DamagedError, match="not a tree of 300 points"):
            Tree(leaf=4).load(memory, points)


def test_it_is_written_as_it_is_read():
    assert str(Tree()) == "tree"
    config = Tree(epsilon=1.5, leaves=200)
    assert str(config) == "tree(epsilon=1.5,leaves=200)"
    assert notation.read(str(config), {"tree": Tree}, what="method") == config


@given(n=st.integers(1, 40), d=st.integers(1, 70), seed=seeds)
def test_kernels_equal_numpy(n, d, seed):
    points = sparse_points(n, d, seed, alpha=0.5)
    query = sparse_points(1, d, seed + 1, alpha=0.5)
    far = squares(points, query[0])
    for row in range(n):
        assert distance(points, row, query, 0, np.inf) == pytest.approx(far[row])
        assert distance(points, row, query, 0, far[row] * 0.5) > far[row] * 0.5 or far[row] == 0
    box = np.concatenate([points.min(axis=0), points.max(axis=0)])
    outside = query[0] - query[0].clip(box[:d], box[d:])
    assert distance_to_box(box, query, 0) == pytest.approx((outside.astype(float) ** 2).sum())
    rows = np.arange(n, dtype=np.int32)
    dim = widest(points, rows, np.empty(d), np.empty(d))
    variances = points.var(axis=0, dtype=np.float64)
    assert dim == -1 if n == 1 else variances[dim] == pytest.approx(variances.max())


def test_a_sample_that_is_all_the_same_is_not_taken_for_the_whole():
    points = np.zeros((2048, 2), np.float32)
    points[1::8, 1] = 1.0
    rows = np.arange(2048, dtype=np.int32)
    assert widest(points, rows, np.empty(2), np.empty(2)) == 1


@given(values=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 8.0]), min_size=2, max_size=30))
def test_no_cut_leaves_a_side_empty(values):
    array = np.array(values, np.float32)
    if array.min() < array.max():
        middle = cut_at(array, array.min(), array.max(), False)
        assert middle == (array.min() + array.max()) / 2
        for at in (middle, cut_at(array, array.min(), array.max(), True)):
            assert 0 < (array < at).sum() < len(array)
    assert gap(3.0, np.float32(1), np.float32(2)) == 1
    assert gap(0.0, np.float32(1), np.float32(3)) == 1
    assert gap(2.0, np.float32(1), np.float32(3)) == 0


@given(values=st.lists(st.integers(0, 9), min_size=1, max_size=60), k=st.integers(1, 20))
def test_heaps_keep_order(values, k):
    bounds, nodes = np.empty(len(values)), np.empty(len(values), np.int32)
    for i, value in enumerate(values):
        put(bounds, nodes, i, float(value), value)
    out = []
    for size in range(len(values), 0, -1):
        out.append(int(nodes[0]))
        take(bounds, nodes, size)
    assert out == sorted(values)
    best, rows, size = np.empty(k), np.empty(k, np.int64), 0
    for row, value in enumerate(values):
        if size < k or (value, row) < (best[0], rows[0]):
            offer(best, rows, size, float(value), row)
            size = min(size + 1, k)
    answers = sorted(zip(best[:size], rows[:size], strict=True))
    assert answers == sorted((value, row) for row, value in enumerate(values))[:k]


def test_rows_found_within_outgrow_the_room_set_aside():
    points = coarse_points(2000, 2, 5)
    ends, rows = within(points, grow(points, 8), points[:3], 100.0, 1.0, 0)
    assert ends.tolist() == [0, 2000, 4000, 6000]
    assert (np.sort(rows.reshape(3, -1)) == np.arange(2000)).all()

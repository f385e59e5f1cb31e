"""Lists and graphs of faiss: what they find, and that they give the same bits anywhere."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from drawn import altered, n_stored, stored

from likewise import notation
from likewise.collection.arrays import Memory
from likewise.collection.pack import open_pack
from likewise.errors import DamagedError, MissingExtra, UsageError
from likewise.neighbours import ivf
from likewise.neighbours.ivf import IVF, ListsFinder
from likewise_papers.neighbours.hnsw import HNSW, GraphFinder
from likewise_papers.neighbours.kd_tree import Tree

faiss = pytest.importorskip("faiss")

METHODS = [IVF(), HNSW()]
each_method = pytest.mark.parametrize("method", METHODS, ids=str)


def clustered(n, d=48, seed=0, centres=50):
    """Unit vectors around a number of centres, the leading coordinates the largest."""
    random, scale = np.random.default_rng(seed), np.arange(1, d + 1) ** -0.5
    middles = np.random.default_rng(7).standard_normal((centres, d))
    points = (middles[random.integers(0, centres, n)] + random.standard_normal((n, d))) * scale
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def simplex(n, d=60, seed=0):
    """Square roots of draws from a Dirichlet distribution."""
    return np.sqrt(np.random.default_rng(seed).dirichlet(np.full(d, 0.05), n)).astype(np.float32)


def squares(points, query):
    return ((points.astype(np.float64) - query) ** 2).sum(axis=1)


def rows_of(proposals):
    found = [
        proposals.rows[start:stop]
        for start, stop in zip(proposals.bounds[:-1], proposals.bounds[1:], strict=True)
    ]
    assert all(len(np.unique(rows)) == len(rows) for rows in found)
    return found


def recall(finder, points, queries, k=10):
    shares = []
    for query, rows in zip(queries, rows_of(finder.propose(queries, k)), strict=True):
        shares.append(np.isin(np.argsort(squares(points, query))[:k], rows).mean())
    return np.mean(shares)


def same(first, second):
    return first.bounds.tolist() == second.bounds.tolist() and (first.rows == second.rows).all()


@pytest.fixture(scope="module")
def points():
    return clustered(20_000)


@pytest.fixture(scope="module")
def queries():
    return clustered(100, seed=1)


@pytest.fixture(scope="module", params=METHODS, ids=str)
def finder(request, points):
    return request.param.build(points[:6000] if request.param == HNSW() else points, seed=3)


def test_nearly_all_of_the_nearest_are_proposed(finder, queries):
    assert not finder.exact
    assert recall(finder, finder.points, queries) >= 0.98
    assert recall(finder, finder.points, queries, k=1) >= 0.98
    assert recall(finder, finder.points, queries, k=200) >= 0.98


@each_method
def test_topics_are_found_too(method):
    topics = simplex(8000)
    assert recall(method.build(topics[:-50], seed=0), topics[:-50], topics[-50:]) >= 0.97


def test_the_index_is_small(finder):
    per_point = finder.n_bytes / len(finder.points)
    assert per_point < (50 if isinstance(finder, ListsFinder) else 160)


def test_nearly_all_within_a_radius_are_proposed(finder, queries):
    points = finder.points
    for radius in (0.0, 0.6, 0.9, 5.0):
        found, wanted = 0, 0
        for query, rows in zip(
            queries, rows_of(finder.propose_within(queries, radius)), strict=True
        ):
            near = np.flatnonzero(squares(points, query) <= radius**2)
            found, wanted = found + np.isin(near, rows).sum(), wanted + len(near)
        assert found >= 0.98 * wanted
        assert wanted > 0 or radius == 0
    (rows,) = rows_of(finder.propose_within(points[:1], 0.0))
    assert rows.tolist() == [0]
    (rows,) = rows_of(finder.propose_within(points[:1], -1.0))
    assert rows.tolist() == []


def test_the_same_bits_however_queries_are_split_and_on_any_thread(finder, queries):
    together = finder.propose(queries, 10)
    single = [finder.propose(queries[i : i + 1], 10) for i in range(len(queries))]
    assert all(
        rows.tolist() == alone.rows.tolist()
        for rows, alone in zip(rows_of(together), single, strict=True)
    )
    before = faiss.omp_get_max_threads()
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: finder.propose(queries, 10), range(8)):
            assert same(other, together)
    assert faiss.omp_get_max_threads() == before


def test_what_is_saved_is_what_is_loaded(finder, queries, tmp_path):
    pack = stored(finder, tmp_path / "pack")
    assert n_stored(pack) == pytest.approx(finder.n_bytes, rel=0.25)
    loaded = finder.config.load(pack, finder.points)
    assert same(loaded.propose(queries, 10), finder.propose(queries, 10))
    assert same(loaded.propose_within(queries, 0.6), finder.propose_within(queries, 0.6))
    again = stored(loaded, tmp_path / "again")
    assert np.array_equal(again["faiss"], pack["faiss"])
    # What it reads stays where it is, whoever else lets go of it.
    del pack, again
    gc.collect()
    assert same(loaded.propose(queries, 10), finder.propose(queries, 10))


def test_an_index_in_memory_is_read_as_one_in_a_file(finder, queries):
    memory = Memory()
    finder.save(memory)
    loaded = finder.config.load(memory, finder.points)
    assert same(loaded.propose(queries, 10), finder.propose(queries, 10))


def test_a_graph_reads_the_points_where_they_are(tmp_path):
    points = clustered(300)
    finder = HNSW().build(points)
    loaded = HNSW().load(stored(finder, tmp_path / "pack"), points)
    points[5] = 100.0
    for index in (finder.index, loaded.index):
        assert (index.storage.reconstruct(5) == 100.0).all()


SCRIPT = """
import hashlib
import numpy as np
from likewise.collection.arrays import Memory
from likewise_papers.neighbours.hnsw import HNSW
from likewise.neighbours.ivf import IVF
points = np.random.default_rng(0).standard_normal((40_000, 33)).astype(np.float32)
for method, n in ((IVF(), 40_000), (HNSW(construction=20), 1000)):
    for seed in (1, 2):
        memory = Memory()
        method.build(points[:n], seed=seed).save(memory)
        print(hashlib.sha256(memory["faiss"]).hexdigest())
"""


def test_the_same_bits_with_the_same_seed_on_any_number_of_threads():
    seen = []
    for threads in ("1", "4"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"OMP_NUM_THREADS": threads},
        )
        assert done.stderr == ""
        seen.append(done.stdout.split())
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 4


def test_lists_learnt_before_are_used_again(points, queries):
    first = IVF().build(points[:15_000], seed=0)
    second = IVF().build(points[15_000:15_900], seed=5, origin=first)
    assert second.index.nlist == first.index.nlist
    assert (
        second.index.quantizer.reconstruct_n(0, 5) == first.index.quantizer.reconstruct_n(0, 5)
    ).all()
    assert recall(second, points[15_000:15_900], queries) >= 0.98
    third = IVF().build(points[:15_000], seed=9, origin=first)
    assert same(third.propose(queries, 10), first.propose(queries, 10))
    with pytest.raises(UsageError, match="cannot take over from ivf: build without"):
        IVF(lists=5).build(points, seed=0, origin=first)
    with pytest.raises(UsageError, match="cannot take over from tree"):
        IVF().build(points, seed=0, origin=Tree().build(points[:5]))
    with pytest.raises(UsageError, match="47 coordinates cannot take over from an index of 48"):
        IVF().build(points[:50, :47], seed=0, origin=first)


def test_lists_are_derived_from_the_number_of_points(points):
    assert IVF().build(points).index.nlist == 256
    assert IVF(lists=100).build(points).index.nlist == 100
    assert IVF(lists=100).build(points[:1500]).index.nlist == 38
    assert isinstance(IVF().build(points[:999]).index, faiss.IndexIVFFlat)
    assert isinstance(IVF().build(points[:, :31]).index, faiss.IndexIVFFlat)
    assert isinstance(IVF().build(points[:1000]).index, faiss.IndexIVFPQFastScan)


def test_more_probes_and_candidates_find_more(points, queries):
    finder = IVF(refine=1).build(points, seed=0)
    few = recall(replace(finder, config=IVF(probes=1)), points, queries)
    some = recall(replace(finder, config=IVF(probes=8)), points, queries)
    assert few < some - 0.05
    sizes = [
        np.diff(replace(finder, config=IVF(refine=refine)).propose(queries, 10).bounds).max()
        for refine in (1, 16)
    ]
    assert sizes == [110, 260]
    (rows,) = rows_of(replace(finder, config=IVF(probes=2)).propose_within(queries[:1], 3.0))
    assert 0 < len(rows) < len(points) // 4


@pytest.mark.parametrize("width", [1, 2, 31, 33, 47])
@each_method
def test_any_number_of_coordinates(method, width, tmp_path):
    points, queries = clustered(3000, width), clustered(20, width, seed=1)
    finder = method.build(points, seed=0)
    for either in (finder, method.load(stored(finder, tmp_path / "pack"), points)):
        for query, rows in zip(queries, rows_of(either.propose(queries, 5)), strict=True):
            far = np.sort(squares(points, query))
            assert np.median(np.sort(squares(points[rows], query))[:5] - far[:5]) < 1e-6


@pytest.mark.parametrize("n", [0, 1, 2, 40])
@each_method
def test_few_points(method, n, tmp_path):
    points, queries = clustered(n), clustered(3, seed=1)
    finder = method.build(points, seed=0)
    loaded = method.load(stored(finder, tmp_path / "pack"), points)
    for either in (finder, loaded, method.build(points, origin=None)):
        assert [len(rows) for rows in rows_of(either.propose(queries, 100))] == [n] * 3
        assert [len(rows) for rows in rows_of(either.propose_within(queries, 9.0))] == [n] * 3
        assert either.propose(queries[:0], 5).bounds.tolist() == [0]
        assert either.n_bytes >= 0


@each_method
def test_equal_points(method):
    points = np.full((2000, 40), 0.5, np.float32)
    points[77, 0] = 0.75
    finder = method.build(points, seed=0)
    (rows,) = rows_of(finder.propose(points[:1], 10))
    assert len(rows) >= 10
    (rows,) = rows_of(finder.propose_within(points[:1], 0.1))
    assert len(rows) > 1000


@each_method
def test_what_does_not_fit_is_said(method, tmp_path):
    points = clustered(1200)
    finder = method.build(points, seed=0)
    with pytest.raises(UsageError, match="48 coordinates"):
        finder.propose(points[:, :40], 3)
    pack = stored(finder, tmp_path / "pack")
    with pytest.raises(UsageError, match=r"\(1200, 48\), not \(1100, 48\)"):
        method.load(pack, points[:1100])
    with pytest.raises(UsageError, match=r"\(1200, 48\), not \(1200, 47\)"):
        method.load(pack, points[:, :47])
    other = IVF() if isinstance(method, HNSW) else HNSW()
    with pytest.raises(DamagedError, match="build it again"):
        other.load(pack, points)


@each_method
def test_damage_is_noticed_before_it_is_read(method, tmp_path):
    points, path = clustered(1200), tmp_path / "pack"
    finder = method.build(points, seed=0)
    for at in (0.0, 0.01, 0.3, 0.7, 1.0):
        stored(finder, path)
        altered(path, "faiss", at=at)
        with pytest.raises(DamagedError, match=r"pack: faiss was altered \(checksum\)"):
            method.load(open_pack(path), points)
    assert isinstance(method.load(stored(finder, path), points), ListsFinder | GraphFinder)


@each_method
def test_what_is_no_index_is_said_to_be_none(method):
    points, whole = clustered(1200), Memory()
    method.build(points, seed=0).save(whole)
    data, about = whole["faiss"], {"points": [1200, 48]}
    for content, values in (
        (data[:0], about),
        (data[:-1], about),
        (data[:100], about),
        (data[100:], about),
        (data, {}),
        (data, {"points": 3}),
        (None, about),
    ):
        memory = Memory()
        memory.note(**values)
        if content is not None:
            memory.put("faiss", content)
        with pytest.raises(DamagedError, match="not a readable index"):
            method.load(memory, points)


def test_settings_that_make_no_sense():
    for wrong in ({"lists": -1}, {"probes": -1}, {"refine": 0}):
        with pytest.raises(UsageError, match="refine must be at least 1"):
            IVF(**wrong)
    with pytest.raises(UsageError, match="recall must be above 0"):
        IVF(recall=0.0)
    for wrong in ({"links": 1}, {"construction": 0}, {"search": -1}):
        with pytest.raises(UsageError, match="links must be at least 2"):
            HNSW(**wrong)
    with pytest.raises(UsageError, match="finite"):
        IVF().build(np.full((2000, 40), np.nan, np.float32), seed=0)


@each_method
def test_it_is_written_as_it_is_read(method):
    assert str(method) == method.notation
    assert notation.read(str(method), {method.notation: type(method)}, what="method") == method
    assert str(IVF(probes=8)) == "ivf(probes=8)"


@each_method
def test_without_faiss_the_message_is_the_install_command(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"pip install 'likewise\[vectors\]'"):
        method.build(clustered(10), seed=0)


def test_lists_are_read_until_enough_is_found(monkeypatch):
    """Points without any structure need more lists than the least."""
    monkeypatch.setattr(ivf, "_CODES_READ", 256)
    monkeypatch.setattr(ivf, "_LISTS_READ", 4)
    points = np.random.default_rng(0).normal(size=(8000, 24)).astype(np.float32)
    config = IVF(lists=200, refine=1)
    few = replace(config, recall=0.5).build(points, seed=0)
    many = replace(config, recall=0.97).build(points, seed=0)
    assert few.index.nprobe < many.index.nprobe <= 200
    queries = points[::40]
    assert recall(few, points, queries) < recall(many, points, queries)
    assert recall(many, points, queries) > 0.95

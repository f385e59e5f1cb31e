"""The data choose the method: by their number, and by how few topics dominate."""

import importlib.machinery

import numpy as np
import pytest
from drawn import simplex

from likewise import notation
from likewise.collection.arrays import Memory
from likewise.errors import UsageError
from likewise.neighbours import choose as module
from likewise.neighbours.choose import Auto, choose
from likewise.neighbours.index import METHODS, build_neighbours, read_method
from likewise.neighbours.ivf import IVF
from likewise.neighbours.lists import Lists
from likewise.neighbours.metrics import METRICS, embed
from likewise.neighbours.scan import Scan
from likewise.neighbours.store import open_neighbours
from likewise_papers.neighbours.hnsw import HNSW

SPARSE, DENSE = 0.01, 1.0


@pytest.fixture
def faiss(monkeypatch):
    """Whether faiss is installed, as a test has it."""

    def installed(there):
        spec = importlib.machinery.ModuleSpec("faiss", None)
        monkeypatch.setattr(module, "find_spec", lambda name: spec if there else None)

    return installed


@pytest.fixture
def large(monkeypatch):
    """Make a few thousand vectors count as many, which a scan should not look at one by one."""
    monkeypatch.setattr(module, "_SCANNED", 1000)
    monkeypatch.setattr(module, "_READ_COST", 1)


def points(alpha, metric="hellinger", n=2500):
    return embed(METRICS[metric], simplex(n, 100, alpha))


@pytest.mark.parametrize("alpha", [SPARSE, DENSE])
def test_few_are_scanned(alpha, faiss):
    faiss(True)
    assert choose(points(alpha), METRICS["hellinger"]) == Scan()
    assert choose(points(alpha, n=0), METRICS["hellinger"]) == Scan()


def test_many_with_few_topics_are_listed(large, faiss):
    faiss(True)
    chosen = choose(points(SPARSE), METRICS["hellinger"])
    assert isinstance(chosen, Lists)
    assert chosen.recall == Auto().recall
    assert chosen.paired in (4, 6)
    assert choose(points(SPARSE), METRICS["hellinger"], Auto(recall=0.5)).recall == 0.5
    cosine = choose(points(SPARSE, "cosine"), METRICS["cosine"])
    assert isinstance(cosine, Lists)


def test_many_with_many_topics_are_partitioned_or_scanned(large, faiss):
    for there, method in ((True, IVF()), (False, Scan())):
        faiss(there)
        assert choose(points(DENSE), METRICS["hellinger"]) == method
        # Vectors that lists do not take, however sparse.
        assert choose(points(SPARSE, "euclidean"), METRICS["euclidean"]) == method
        assert choose(points(SPARSE, "inner"), METRICS["inner"]) == method
        turned = points(SPARSE, "cosine")
        turned[:, ::2] *= -1
        assert choose(turned, METRICS["cosine"]) == method


def test_lists_that_cost_as_much_as_a_scan_are_not_chosen(large, faiss, monkeypatch):
    faiss(True)
    monkeypatch.setattr(module, "_READ_COST", 10_000)
    assert choose(points(SPARSE), METRICS["hellinger"]) == IVF()


@pytest.mark.parametrize("metric", ["js", "kl"])
def test_divergences_are_scanned(metric, large, faiss):
    faiss(True)
    assert choose(points(SPARSE, metric), METRICS[metric]) == Scan()


def test_the_same_points_and_seed_the_same_choice(large, faiss):
    faiss(True)
    chosen = {choose(points(alpha), METRICS["hellinger"], seed=3) for alpha in [0.1, 0.1]}
    assert len(chosen) == 1


def test_a_sample_is_tried_where_there_are_more(large, faiss, monkeypatch):
    faiss(True)
    monkeypatch.setattr(module, "_TRIED", 2000)
    tried = []
    build = Lists.build

    def watched(self, points, **options):
        tried.append(len(points))
        return build(self, points, **options)

    monkeypatch.setattr(Lists, "build", watched)
    assert isinstance(choose(points(SPARSE), METRICS["hellinger"], Auto(recall=0.9)), Lists)
    assert tried == [2000]


def test_an_index_knows_what_was_chosen(large, faiss, tmp_path):
    faiss(True)
    neighbours = build_neighbours(simplex(2500, 100, SPARSE))
    assert isinstance(neighbours.method, Lists)
    neighbours.save(tmp_path / "index")
    assert open_neighbours(tmp_path / "index").method == neighbours.method


def test_auto_is_no_index():
    with pytest.raises(UsageError, match="auto is no index"):
        Auto().build(points(SPARSE, n=10))
    with pytest.raises(UsageError, match="auto is no index"):
        Auto().load(Memory(), np.empty((0, 3), np.float32))
    for recall in (0.0, 1.1, -1.0):
        with pytest.raises(UsageError, match="recall must be above 0 and at most 1"):
            Auto(recall=recall)


def test_methods_are_known_by_their_notation():
    assert set(METHODS) == {"auto", "scan", "lsh", "codes", "tree", "lists", "ivf", "hnsw"}
    for name, method in METHODS.items():
        assert notation.write(method()) == name
        assert read_method(name) == method()
    assert read_method("auto(recall=0.9)") == Auto(0.9)
    assert read_method("hnsw(links=8)") == HNSW(links=8)
    with pytest.raises(UsageError, match="unknown method 'annoy': it is one of auto, codes"):
        read_method("annoy")
    with pytest.raises(UsageError, match="'depth=3' is no option; it has leaf=16"):
        read_method("tree(depth=3)")

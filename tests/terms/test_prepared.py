"""What a large graph keeps ready: it saves time and changes no answer."""

import numpy as np
import pytest

from likewise.collection.arrays import Memory
from likewise.collection.build import Resources
from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.derived.kind import Inputs
from likewise.derived.store import derived_of
from likewise.errors import DamagedError
from likewise.records import Document
from likewise.terms import kernel, kinds
from likewise.terms.catalogue import store_graph
from likewise.terms.graph_cache import open_graph
from likewise.terms.kinds import PREPARED
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import choose_nodes
from likewise.terms.related import TermGraph
from likewise.terms.solving import ChebyshevKernel

WORDS = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(400)]
ONE = Resources(threads=1)


def documents(n, seed=0):
    random = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, len(WORDS) + 1)
    popularity /= popularity.sum()
    for i in range(n):
        drawn = [random.choice(WORDS, 8, p=popularity) for _ in range(3)]
        text = ". ".join(" ".join(sentence).capitalize() for sentence in drawn)
        yield Document(f"{seed}-{i}", text=f"{text}.")


@pytest.fixture(autouse=True, scope="module")
def unsynced():
    """Leave out waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        yield


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A collection whose graph counts as large."""
    monkeypatch.setattr(kinds, "FEWEST_PAIRS", 100)
    monkeypatch.setattr(kernel, "LARGE", 100)
    monkeypatch.setattr(kernel, "SMALL", 10)
    build(tmp_path / "c.lw", documents(300), resources=ONE)
    return make(tmp_path / "c.lw")


def make(folder):
    snapshot = open_snapshot(folder)
    store_graph(snapshot, choose_nodes(snapshot))
    return folder


def change(folder, act):
    with Writer(folder, keep_up) as writer:
        act(writer)


def opened(folder, nearness=Nearness()):
    return open_graph(open_snapshot(folder), "", nearness)


def kept(folder):
    return opened(folder).stored.prepared()


def artifacts(folder):
    return open_snapshot(folder).artifacts("prepared")


def test_what_is_kept_ready_is_what_would_be_worked_out(large):
    ready = opened(large)
    assert isinstance(ready.kernel, ChebyshevKernel)
    afresh = TermGraph(ready.stored, Nearness(least=2))
    assert afresh._prepared is None
    worked_out = TermGraph(ready.stored)
    worked_out.__dict__["_prepared"] = None
    np.testing.assert_array_equal(ready.graph.bounds, worked_out.graph.bounds)
    np.testing.assert_array_equal(ready.graph.columns, worked_out.graph.columns)
    np.testing.assert_array_equal(ready.graph.weights, worked_out.graph.weights)
    np.testing.assert_array_equal(ready.graph.components, worked_out.graph.components)
    assert isinstance(worked_out.kernel, ChebyshevKernel)
    one = ready.similarities(WORDS[30])
    np.testing.assert_array_equal(one, worked_out.similarities(WORDS[30]))
    other = TermGraph(ready.stored, Nearness(route="solve")).similarities(WORDS[30])
    assert np.abs(one - other).max() < 1e-3 * other.max()
    best = np.argsort(-other)[1:21]
    assert len(set(best) & set(np.argsort(-one)[1:21])) >= 19


def test_any_other_nearness_is_worked_out(large):
    for options in ({"weights": "counts"}, {"laplacian": "combinatorial"}, {"damping": 0.5}):
        assert opened(large, Nearness(**options))._prepared is None
    assert opened(large, Nearness(kernel="diffusion"))._prepared is not None


def test_it_is_not_used_once_documents_have_changed(large):
    assert kept(large) is not None
    change(large, lambda w: w.delete(["0-3"]))
    # Deleting does not wait for it; what nobody can use is not kept.
    assert kept(large) is None
    assert artifacts(large) == []
    fewer = opened(large)
    assert fewer.stored.counted.n_docs == 299
    assert fewer.nearest(WORDS[30], 5)


def test_it_is_made_again_when_documents_are_added_or_merged(large):
    first = kept(large).graph
    change(large, lambda w: w.add(documents(100, seed=1), resources=ONE))
    second = kept(large).graph
    assert len(second.columns) > len(first.columns)
    assert len(artifacts(large)) == 1
    change(large, lambda w: w.delete(["0-3"]))
    change(large, lambda w: w.add(documents(3, seed=2), resources=ONE))
    assert kept(large) is not None
    assert len(artifacts(large)) == 1
    change(large, lambda w: w.delete(["0-4"]))
    change(large, lambda w: w.merge(resources=ONE))
    assert kept(large) is not None
    assert len(artifacts(large)) == 1


def test_a_deleted_document_is_as_if_it_had_never_been_there(large):
    def related():
        return opened(large).nearest(WORDS[30], 50)

    before = related()
    new = Document("new", text=f"{WORDS[30]} {WORDS[31]} {WORDS[200]}.")
    change(large, lambda w: w.add([new], resources=ONE))
    assert related() != before
    change(large, lambda w: w.delete(["new"]))
    assert kept(large) is None
    assert related() == before
    change(large, lambda w: w.merge(resources=ONE))
    assert kept(large) is not None
    assert related() == before


def test_graphs_that_are_not_the_largest_keep_edges_alone(large, monkeypatch):
    monkeypatch.setattr(kernel, "LARGE", 10**9)
    make(large)
    assert kept(large).leading is None
    assert not isinstance(opened(large).kernel, ChebyshevKernel)


def test_small_graphs_keep_nothing_ready(tmp_path):
    build(tmp_path / "c.lw", documents(30), resources=ONE)
    assert kept(make(tmp_path / "c.lw")) is None


def test_where_pairs_found_no_room_nothing_is_kept_ready(large, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kinds, "write_pairs", full)
    change(large, lambda w: w.add(documents(3, seed=1), resources=ONE))
    assert artifacts(large) == []


@pytest.mark.parametrize("array", ["bounds", "columns", "weights", "parts", "values", "vectors"])
def test_arrays_that_do_not_fit_are_damage(large, array):
    snapshot = open_snapshot(large)
    arrays, memory = snapshot.pack(artifacts(large)[0].pack), Memory()
    for name in arrays.names:
        memory.put(name, arrays[name][:-1] if name == array else arrays[name])
    memory.note(**arrays.meta)
    inputs = Inputs(derived_of(snapshot), "graph")
    PREPARED.load(arrays, {}, inputs)
    with pytest.raises(DamagedError, match="do not fit together; make the graph again"):
        PREPARED.load(memory, {}, inputs)

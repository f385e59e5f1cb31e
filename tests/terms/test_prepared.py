import numpy as np
import pytest

import likewise as lw
from likewise.collection.snapshot import open_snapshot
from likewise.errors import DamagedError
from likewise.terms import kernel, prepared
from likewise.terms.nearness import Nearness
from likewise.terms.opening import open_graph
from likewise.terms.prepared import PREPARED, open_prepared
from likewise.terms.related import TermGraph
from likewise.terms.solving import ChebyshevKernel

WORDS = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(400)]


def documents(n, seed=0):
    random = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, len(WORDS) + 1)
    popularity /= popularity.sum()
    for i in range(n):
        drawn = [random.choice(WORDS, 8, p=popularity) for _ in range(3)]
        text = ". ".join(" ".join(sentence).capitalize() for sentence in drawn)
        yield lw.Document(f"{seed}-{i}", text=f"{text}.")


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A collection whose graph counts as large."""
    monkeypatch.setattr(prepared, "FEWEST_PAIRS", 100)
    monkeypatch.setattr(kernel, "LARGE", 100)
    monkeypatch.setattr(kernel, "SMALL", 10)
    c = lw.index(documents(300), to=tmp_path / "c.lw", model=None)
    c.make_term_graph()
    return c


def kept(c):
    graph = c.term_graph()
    return open_prepared(graph.stored)


def test_what_is_kept_ready_is_what_would_be_worked_out(large):
    ready = large.term_graph()
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
        assert large.term_graph(nearness=Nearness(**options))._prepared is None
    diffusion = large.term_graph(nearness=Nearness(kernel="diffusion"))
    assert diffusion._prepared is not None


def test_it_is_not_used_once_documents_have_changed(large):
    assert kept(large) is not None
    large.delete("0-3")
    assert kept(large) is None
    fewer = large.term_graph()
    assert fewer.stored.counted.n_docs == 299
    assert fewer.nearest(WORDS[30], 5)


def test_it_is_made_again_when_documents_are_added_or_merged(large):
    first = kept(large).graph
    large.add(documents(100, seed=1))
    second = kept(large).graph
    assert len(second.columns) > len(first.columns)
    large.delete("0-3")
    large.merge()
    assert kept(large) is not None
    entries = [entry for entry in large.snapshot.manifest.derived if entry.kind == PREPARED]
    assert len(entries) == 1


def test_a_deleted_document_is_as_if_it_had_never_been_there(large):
    before = large.related(WORDS[30], 50)
    large.add([lw.Document("new", text=f"{WORDS[30]} {WORDS[31]} {WORDS[200]}.")])
    assert large.related(WORDS[30], 50) != before
    large.delete("new")
    assert kept(large) is None
    assert large.related(WORDS[30], 50) == before
    large.merge()
    assert kept(large) is not None
    assert large.related(WORDS[30], 50) == before


def test_graphs_that_are_not_the_largest_keep_edges_alone(large, monkeypatch):
    monkeypatch.setattr(kernel, "LARGE", 10**9)
    large.make_term_graph()
    assert kept(large).leading is None
    assert not isinstance(large.term_graph().kernel, ChebyshevKernel)


def test_small_graphs_keep_nothing_ready(tmp_path):
    c = lw.index(documents(30), to=tmp_path / "c.lw", model=None)
    c.make_term_graph()
    assert kept(c) is None


def test_arrays_that_do_not_fit_are_damage(large, monkeypatch):
    stored = open_graph(open_snapshot(large.folder)).stored
    whole = prepared.map_array
    monkeypatch.setattr(
        prepared,
        "map_array",
        lambda path: whole(path)[:-1] if path.name == "weights.npy" else whole(path),
    )
    with pytest.raises(DamagedError, match="make the graph again"):
        open_prepared(stored)

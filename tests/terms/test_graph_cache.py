import gc
import weakref

import pytest

from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.terms.catalogue import Stored, store_graph
from likewise.terms.graph_cache import has_graph, open_graph
from likewise.terms.kinds import GraphSettings
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import Filters, choose_nodes

from .counts_in_python import made_of, same_bits

TEXTS = ["alpha beta. gamma", "beta gamma", "alpha beta", "gamma delta", "beta"]


@pytest.fixture
def folder(tmp_path):
    made_of(tmp_path / "c", TEXTS)
    return tmp_path / "c"


def store(folder, name="graph", settings=GraphSettings(), **filters):
    snapshot = open_snapshot(folder)
    nodes = choose_nodes(snapshot, Filters(**{"min_df": 1, "max_df": 1} | filters))
    store_graph(snapshot, nodes, settings, name=name)
    return open_snapshot(folder)


def test_where_none_is_stored_one_is_counted(folder):
    snapshot = open_snapshot(folder)
    assert not has_graph(snapshot)
    made = open_graph(snapshot)
    assert (made.stored.entry, made.stored.name) == (None, "graph")
    assert sorted(made.names(range(len(made)))) == ["alpha", "beta", "delta", "gamma"]
    # It is the same as one that is stored.
    stored = open_graph(store(folder))
    assert stored.stored.entry is not None
    assert same_bits(stored.stored.counted, made.stored.counted)
    assert [one[1:] for one in made.nearest("alpha")] == [
        one[1:] for one in stored.nearest("alpha")
    ]
    # What was opened knows nothing of it.
    assert not has_graph(snapshot)


def test_the_graph_called_so_or_one_by_name(folder):
    store(folder)
    snapshot = store(folder, "second", GraphSettings("document"))
    assert has_graph(snapshot)
    assert open_graph(snapshot).stored.name == "graph"
    assert open_graph(snapshot, "second").stored.settings.within == "document"
    assert open_graph(snapshot, "graph").stored.settings.within == "sentence"
    with pytest.raises(UsageError, match=r"no term graph 'third'.*there is graph, second"):
        open_graph(snapshot, "third")


def test_a_name_without_any_graph(folder):
    with pytest.raises(UsageError, match=r"has no term graph; make one with terms\.make_graph"):
        open_graph(open_snapshot(folder), "graph")


def test_what_was_opened_is_kept_with_the_snapshot(folder, monkeypatch):
    snapshot = store(folder)
    opened = open_graph(snapshot)
    assert open_graph(snapshot) is opened
    assert open_graph(snapshot, "", Nearness()) is opened
    # Another nearness is another graph of the same counts, which are read once.
    read = []
    count = Stored._segment
    monkeypatch.setattr(Stored, "_segment", lambda self, i: read.append(i) or count(self, i))
    other = open_graph(snapshot, "", Nearness(weights="counts"))
    assert other is not opened
    assert other.stored is opened.stored
    assert len(other.nearest("beta")) == len(opened.nearest("beta")) > 0
    assert read == [0]
    # Another snapshot is another collection.
    assert open_graph(open_snapshot(folder)) is not opened


def test_what_was_opened_goes_with_the_snapshot(folder):
    snapshot = store(folder)
    open_graph(snapshot).nearest("beta")
    gone = weakref.ref(snapshot)
    del snapshot
    gc.collect()
    assert gone() is None

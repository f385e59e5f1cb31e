"""Graphs of a collection: by name, made beside writers, and asked beside them."""

import threading

import pytest

from likewise.collection.build import Resources
from likewise.collection.creating import build
from likewise.collection.generations import older_generations
from likewise.collection.job import Job
from likewise.collection.layout import DATA, WORK
from likewise.collection.manifest import Artifact
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.derived.store import carry_over
from likewise.errors import CollectionError, LockedError, StorageError, UsageError
from likewise.records import Document
from likewise.terms import catalogue
from likewise.terms.catalogue import (
    check_graph_name,
    drop_graph,
    find_graph,
    open_counts,
    store_graph,
    stored_graphs,
)
from likewise.terms.extracting import extract_nodes
from likewise.terms.graph_cache import open_graph
from likewise.terms.kinds import GraphSettings
from likewise.terms.nodes import Filters, choose_nodes, read_names

from .counts_in_python import as_plain, made_of, same_bits

ALL = Filters(min_df=1, max_df=1, numbers=True)
TEXTS = ["Alpha beta. Gamma delta", "beta gamma", "Delta alpha beta", "", "alpha"]
ONE = Resources(threads=1)


@pytest.fixture(autouse=True, scope="module")
def unsynced():
    """Leave out waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        yield


@pytest.fixture
def folder(tmp_path):
    made_of(tmp_path / "c", TEXTS)
    return tmp_path / "c"


def put(folder, nodes=None, settings=GraphSettings(), **options):
    snapshot = open_snapshot(folder)
    store_graph(snapshot, nodes or choose_nodes(snapshot, ALL), settings, **options)
    return open_counts(open_snapshot(folder), options.get("name"))


def files(folder):
    return {path.name for path in (folder / DATA).iterdir()}


def named(folder):
    return {entry.file for entry in open_snapshot(folder).manifest.files()}


# Names


def test_graphs_have_names(folder):
    put(folder)
    put(folder, settings=GraphSettings("document"), name="other")
    c = open_snapshot(folder)
    # Without a name it is the one called so, else the one made last.
    assert open_counts(c).name == "graph"
    assert open_counts(c, "graph").settings.within == "sentence"
    assert find_graph(c, "other").kind == "graph"
    assert stored_graphs(c.manifest) == ["graph", "other"]
    with pytest.raises(UsageError, match=r"no term graph 'third'.*there is graph, other"):
        find_graph(c, "third")
    put(folder, name="second")
    put(folder, name="other")
    drop_graph(folder, "graph")
    # One that is made again is the last.
    assert stored_graphs(open_snapshot(folder).manifest) == ["second", "other"]
    assert open_counts(open_snapshot(folder)).name == "other"


def test_no_graph(folder):
    expected = f"{folder} has no term graph; make one with terms.make_graph()"
    with pytest.raises(UsageError, match=expected):
        open_counts(open_snapshot(folder))
    with pytest.raises(UsageError, match=expected):
        drop_graph(folder, "graph")


def test_a_graph_does_not_take_the_place_of_a_model(folder, monkeypatch):
    with Writer(folder) as writer:
        writer.put(Artifact("0123456789ab", "model", 1, "mine"))
    snapshot = open_snapshot(folder)
    nodes = choose_nodes(snapshot, ALL)
    # Not after all has been counted.
    monkeypatch.setattr(catalogue, "derive", None)
    with pytest.raises(UsageError, match="'mine' is the name of a model; give another name"):
        store_graph(snapshot, nodes, name="mine")
    check_graph_name(snapshot.manifest, "graph")
    assert stored_graphs(open_snapshot(folder).manifest) == []


def test_a_model_that_took_the_name_meanwhile(folder, monkeypatch):
    snapshot = open_snapshot(folder)

    def meanwhile(*_args, **_options):
        with Writer(folder) as writer:
            writer.put(Artifact("0123456789ab", "model", 1, "mine"), defaults={"like": "mine"})
        return []

    monkeypatch.setattr(catalogue, "derive", meanwhile)
    with pytest.raises(UsageError, match="'mine' is the name of a model"):
        store_graph(snapshot, choose_nodes(snapshot, ALL), name="mine")
    store_graph(snapshot, choose_nodes(snapshot, ALL), name="yours")
    manifest = open_snapshot(folder).manifest
    assert stored_graphs(manifest) == ["yours"]
    assert manifest.defaults == {"like": "mine"}
    assert files(folder) == named(folder)


def test_nodes_and_sentences_must_fit(folder):
    snapshot = open_snapshot(folder)
    said = extract_nodes(snapshot, str.split, within="document")
    with pytest.raises(UsageError, match="the extractor was given whole documents"):
        store_graph(snapshot, said)
    with pytest.raises(UsageError, match="at least one node"):
        store_graph(snapshot, read_names(snapshot, ["x"]).__class__("words"))
    assert not (folder / WORK).exists() or [*(folder / WORK).iterdir()] == []


# Made again, dropped


def test_a_graph_made_again_drops_the_old_pairs(folder):
    first = put(folder)
    before = {a.pack.file for a in first.collection.manifest.artifacts}
    first.collection.close()
    put(folder, settings=GraphSettings("document")).collection.close()
    # Who made it read the old ones until then.
    write(folder, lambda w: w.delete(["0"]))
    assert files(folder) == named(folder)
    assert not files(folder) & before


def test_a_dropped_graph_takes_its_pairs_along(folder):
    put(folder).collection.close()
    drop_graph(folder, "graph")
    assert files(folder) == named(folder)
    assert not [name for name in files(folder) if name.startswith(("graph", "pairs"))]


def test_a_graph_that_is_broken_off_leaves_the_old_one(folder, monkeypatch):
    before = put(folder)

    def broken(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(catalogue, "derive", broken)
    with pytest.raises(KeyboardInterrupt):
        put(folder, settings=GraphSettings("document"))
    after = open_counts(open_snapshot(folder))
    assert after.entry == before.entry
    assert [*(folder / WORK).iterdir()] == []
    assert files(folder) == named(folder)


def test_progress_is_told_of_documents(folder):
    told = []
    put(folder, progress=told.append)
    assert sum(told) == len(TEXTS)


# Beside a writer


def test_others_write_while_a_graph_is_counted(folder, monkeypatch):
    """Segments that are still there keep their pairs; the others are counted when asked for."""
    derive = catalogue.derive

    def meanwhile(*args, **options):
        made = derive(*args, **options)
        with Writer(folder, keep_up) as writer:
            writer.add([Document("new", text="alpha delta")], resources=ONE)
            writer.delete(["0"])
        return made

    monkeypatch.setattr(catalogue, "derive", meanwhile)
    stored = put(folder)
    assert stored.missing() == [1]
    assert stored.counted.n_docs == 5
    scratch = catalogue.Stored(stored.collection, None, stored.nodes, stored.settings)
    assert same_bits(stored.counted, scratch.counted)
    # And are stored with the next change.
    with Writer(folder, keep_up) as writer:
        writer.delete(["1"])
    assert open_counts(open_snapshot(folder)).missing() == []


def test_a_collection_replaced_while_a_graph_is_counted(folder, monkeypatch):
    def meanwhile(*_args, **_options):
        build(folder, [Document("x", text="beta")], overwrite=True, resources=ONE)
        return []

    monkeypatch.setattr(catalogue, "derive", meanwhile)
    with pytest.raises(CollectionError, match="was replaced as a whole in the meantime"):
        put(folder)
    assert stored_graphs(open_snapshot(folder).manifest) == []
    assert [*(folder / WORK).iterdir()] == []


def test_a_writer_is_waited_for_or_not(folder, monkeypatch):
    snapshot = open_snapshot(folder)
    nodes = choose_nodes(snapshot, ALL)
    with Writer(folder):
        with monkeypatch.context() as patch:
            # Nothing is counted in vain.
            patch.setattr(catalogue, "derive", None)
            with pytest.raises(LockedError):
                store_graph(snapshot, nodes, wait=False)
        waiting = threading.Thread(target=store_graph, args=(snapshot, nodes))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        assert stored_graphs(open_snapshot(folder).manifest) == []
    waiting.join()
    assert stored_graphs(open_snapshot(folder).manifest) == ["graph"]


def test_a_folder_that_cannot_be_written_to(folder, monkeypatch):
    def refuse(*_args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Job, "__init__", refuse)
    with pytest.raises(StorageError, match="permission denied"):
        put(folder)


def answers(snapshot, name="graph"):
    graph = open_graph(snapshot, name)
    counted = as_plain(graph.stored.counted)
    between = graph.between("alpha", "gamma delta")
    return counted, graph.nearest("alpha"), between[:3], between.through


@pytest.mark.parametrize("asked", ["before", "not before", "opened before"])
@pytest.mark.parametrize(
    "act",
    [
        lambda folder: put(folder, settings=GraphSettings("document")),
        lambda folder: drop_graph(folder, "graph"),
        lambda folder: write(folder, lambda w: w.merge(resources=ONE)),
        lambda folder: write(folder, lambda w: w.delete(["0", "2"])),
        lambda folder: build(folder, [Document("x", text="b")], overwrite=True, resources=ONE),
    ],
    ids=["made again", "dropped", "merged", "deleted", "replaced"],
)
def test_a_reader_answers_as_before_whatever_is_written(folder, act, asked):
    put(folder)
    write(folder, lambda w: w.add([Document("new", text="gamma alpha")], resources=ONE))
    write(folder, lambda w: w.delete(["1"]))
    known = answers(open_snapshot(folder))
    reader = open_snapshot(folder)
    if asked == "before":
        assert answers(reader) == known
    elif asked == "opened before":
        open_graph(reader)
    act(folder)
    for i in range(3):
        # Every change sweeps what nobody holds.
        write(folder, lambda w, i=i: w.add([Document(f"{i} more", text="a")], resources=ONE))
    assert answers(reader) == known
    reader.check()


def write(folder, act):
    with Writer(folder, keep_up) as writer:
        act(writer)


def test_a_reader_that_goes_along_holds_no_old_generation(folder):
    """What is loaded goes along; what was opened goes with its snapshot."""
    put(folder, extract_nodes(open_snapshot(folder), str.split)).collection.close()
    reader = open_snapshot(folder)
    answers(reader)
    before = open_counts(reader).nodes, open_counts(reader)._segment(0)
    for i in range(3):
        write(folder, lambda w, i=i: w.add([Document(f"{i}+", text="beta alpha")], resources=ONE))
        later = open_snapshot(folder, reader)
        carry_over(reader, later)
        reader.close()
        assert open_counts(later).nodes is before[0]
        assert open_counts(later)._segment(0) is before[1]
        other = open_snapshot(folder)
        assert same_bits(open_counts(later).counted, open_counts(other).counted)
        other.close()
        reader = later
    write(folder, lambda w: w.delete(["0"]))
    held = [generation for generation, _ in older_generations(folder)]
    assert held == [reader.manifest.generation]

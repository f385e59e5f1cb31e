"""Do graphs stay with their collection, whatever happens to it?"""

import dataclasses
import os
import random
import shutil
import signal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.collection.build import Resources
from likewise.collection.files import write_array
from likewise.collection.manifest import GRAPH
from likewise.collection.snapshot import DERIVED, MODELS, open_snapshot
from likewise.collection.writer import Writer, build, create
from likewise.errors import CollectionError, DamagedError, FormatError, UsageError
from likewise.records import Document
from likewise.terms import counting, store
from likewise.terms.extracting import extract_nodes
from likewise.terms.nodes import Filters, choose_nodes, read_names
from likewise.terms.store import (
    PAIRS,
    GraphSettings,
    find_graph,
    keep_up_graphs,
    open_counts,
    store_graph,
)
from likewise.text.analysis import Analyzer

from .counts_in_python import as_plain, by_terms, count, made_of, matches, same_bits

ALL = Filters(min_df=1, max_df=1, numbers=True)
WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta.",
    "Runs",
    "running!",
    "中文。",
    "café",
    "The",
    "new york",
]
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
    with Writer(folder) as writer:
        store_graph(writer, nodes or choose_nodes(open_snapshot(folder), ALL), settings, **options)
    return open_counts(open_snapshot(folder), options.get("name"))


def add(folder, *texts, keep_up=True, **options):
    """Add documents, each by its text."""
    with Writer(folder) as writer:
        writer.add([Document(text, text=text) for text in texts], resources=ONE, **options)
        if keep_up:
            keep_up_graphs(writer)
    return open_counts(open_snapshot(folder))


def expected(stored, see=None):
    """What a graph must count, in plain Python."""
    c, nodes = stored.collection, stored.nodes
    see = see or by_terms(c.analysis, nodes.names(c, np.arange(len(nodes))))
    documents = [document for _, document in c.documents()]
    return count(documents, see, len(nodes), within=stored.settings.within)


def pairs_of(stored):
    return stored.collection.derived(PAIRS, model=stored.entry.folder)


# What is stored


def test_a_graph_comes_back_as_it_was_stored(folder):
    nodes = choose_nodes(open_snapshot(folder), ALL)
    chosen = GraphSettings("document", Filters(min_df=1, max_df=1, numbers=True), "")
    stored = put(folder, nodes, chosen)
    assert (stored.name, stored.settings) == (GRAPH, chosen)
    assert stored.nodes.numbers.tolist() == nodes.numbers.tolist()
    assert stored.missing() == []
    assert as_plain(stored.counted) == expected(stored)
    stored.collection.check()


@pytest.mark.parametrize("exact", [False, True])
def test_names_come_back_as_they_were_stored(folder, exact):
    names = ["Alpha", "beta", "gamma δelta", "...", "gamma-δelta"]
    nodes = read_names(open_snapshot(folder), names, exact=exact)
    assert (nodes.left_out, nodes.merged) == (("...",), (("gamma-δelta", "gamma δelta"),))
    stored = put(folder, nodes, GraphSettings(names="names.txt"))
    for part in ("kind", "texts", "left_out", "merged", "heard"):
        assert getattr(stored.nodes, part) == getattr(nodes, part)
    assert stored.settings.names == "names.txt"
    assert stored.counted.doc_freqs.tolist() == [1 if exact else 3, 3, 0]


def test_the_pairs_of_one_segment_are_mapped_not_copied(folder):
    counted = put(folder).counted
    for array in (*counted.pairs, counted.doc_freqs):
        base = array
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)


def test_graphs_have_names(folder):
    put(folder)
    put(folder, settings=GraphSettings("document"), name="other")
    c = open_snapshot(folder)
    # Without a name it is the one called so, else the one made last.
    assert open_counts(c).name == "graph"
    assert open_counts(c, "graph").settings.within == "sentence"
    assert find_graph(c, "other").kind == GRAPH
    with pytest.raises(UsageError, match=r"no term graph 'third'.*there is graph, other"):
        find_graph(c, "third")
    put(folder, name="second")
    with Writer(folder) as writer:
        writer.drop_model("graph")
    assert open_counts(open_snapshot(folder)).name == "second"


def test_no_graph(folder):
    with pytest.raises(
        UsageError, match=f"{folder} has no term graph; make one with: likewise term-graph"
    ):
        open_counts(open_snapshot(folder))


def test_a_graph_does_not_take_the_place_of_another_kind_of_model(folder):
    with Writer(folder) as writer:
        writer.put_model("mine", kind="topics", write=lambda folder: None)
        nodes = choose_nodes(open_snapshot(folder), ALL)
        with pytest.raises(UsageError, match="kind topics; give another name"):
            store_graph(writer, nodes, name="mine")
    with pytest.raises(UsageError, match="no term graph"):
        find_graph(open_snapshot(folder))


def test_a_collection_of_nothing(tmp_path):
    create(tmp_path / "c")
    nodes = read_names(open_snapshot(tmp_path / "c"), ["alpha", "beta"])
    stored = put(tmp_path / "c", nodes)
    assert as_plain(stored.counted) == ({}, [0, 0], 0)
    stored = add(tmp_path / "c", "beta alpha", "beta")
    assert as_plain(stored.counted) == ({(0, 1): 1}, [1, 2], 2)


# What happens to it


def test_added_documents_count_at_once(folder):
    first = put(folder)
    before = pairs_of(first)
    stored = add(folder, "alpha delta", "unheard of beta alpha")
    assert stored.missing() == []
    assert pairs_of(stored)[: len(before)] == before
    assert as_plain(stored.counted) == expected(stored)
    assert stored.counted.n_docs == 7


def test_deleted_documents_do_not_count(folder):
    put(folder)
    with Writer(folder) as writer:
        writer.delete(["0", "3"])
        keep_up_graphs(writer)
    stored = open_counts(open_snapshot(folder))
    assert stored.missing() == []
    assert as_plain(stored.counted) == expected(stored)
    assert (stored.counted.pairs.counts > 0).all()


def test_a_merge_counts_anew(folder):
    put(folder)
    stored = add(folder, "gamma delta", "Beta")
    with Writer(folder) as writer:
        writer.delete(["Beta", "1"])
        writer.merge(resources=ONE)
        kept = writer.manifest.derived
        keep_up_graphs(writer)
    assert kept == ()
    stored = open_counts(open_snapshot(folder))
    assert stored.missing() == []
    assert len(pairs_of(stored)) == 1
    assert as_plain(stored.counted) == expected(stored)


def test_what_was_not_stored_changes_no_count(folder):
    put(folder)
    stored = add(folder, "alpha delta", keep_up=False)
    assert stored.missing() == [1]
    with Writer(folder) as writer:
        writer.commit(derived=[])
    # What was opened before does not change either.
    assert not (folder / DERIVED / pairs_of(stored)[0].folder).exists()
    none = open_counts(open_snapshot(folder))
    assert none.missing() == [0, 1]
    assert same_bits(none.counted, stored.counted)
    assert as_plain(none.counted) == expected(none)


def test_a_graph_made_again_drops_the_old_pairs(folder):
    before = {entry.folder for entry in pairs_of(put(folder))}
    stored = put(folder, settings=GraphSettings("document"))
    found = {path.name for path in (folder / DERIVED).iterdir()}
    assert found == {entry.folder for entry in pairs_of(stored)}
    assert not found & before


def test_a_dropped_graph_takes_its_pairs_along(folder):
    put(folder)
    with Writer(folder) as writer:
        writer.drop_model(GRAPH)
    assert [*(folder / DERIVED).iterdir()] == []


def test_a_collection_started_anew_has_no_graph(folder):
    put(folder)
    build(folder, [Document("x", text="beta")], overwrite=True, resources=ONE)
    with pytest.raises(UsageError, match="no term graph"):
        open_counts(open_snapshot(folder))
    assert [*(folder / DERIVED).iterdir()] == []


def test_what_an_extractor_said_outlives_merges_and_deletions(folder):
    def extract(text):
        return [word for word in ("Alpha", "beta", "delta") if word.lower() in text.lower()]

    put(folder, extract_nodes(open_snapshot(folder), extract))
    add(folder, "alpha Alpha. Beta beta delta", "delta Alpha")
    nodes = open_counts(open_snapshot(folder)).nodes
    names = {name: i for i, name in enumerate(nodes.texts)}

    def see(text):
        exact = text in ("alpha Alpha. ", "Beta beta delta", "delta Alpha")
        found = text.replace(".", "").split() if exact else extract(text)
        return [names[word] for word in found if word in names]

    stored = open_counts(open_snapshot(folder))
    assert as_plain(stored.counted) == expected(stored, see)
    with Writer(folder) as writer:
        writer.delete(["0", "delta Alpha"])
    stored = open_counts(open_snapshot(folder))
    assert as_plain(stored.counted) == expected(stored, see)
    with Writer(folder) as writer:
        writer.merge(resources=ONE)
        keep_up_graphs(writer)
    stored = open_counts(open_snapshot(folder))
    assert stored.missing() == []
    assert as_plain(stored.counted) == expected(stored, see)
    assert np.array_equal(stored.nodes.heard.keys, nodes.heard.keys)


CHANGES = ["add", "add", "replace", "delete", "merge", "lose"]


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["terms", "words", "document"]))
def test_counts_are_those_of_the_live_documents_after_any_changes(tmp_path_factory, seed, kind):
    folder = tmp_path_factory.mktemp("changed") / "c"
    rng = random.Random(seed)

    def some(n):
        for _ in range(n):
            words = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(25)))
            yield Document(f"{rng.random()}", rng.choice(["", "Alpha of Beta"]), words)

    c = made_of(folder, some(rng.randrange(1, 12)))
    if kind == "words":
        nodes = read_names(c, ["alpha", "beta gamma", "New York", "york", "run alpha", "gamma"])
    elif c.n_terms:
        nodes = choose_nodes(c, ALL)
    else:
        return
    put(folder, nodes, GraphSettings(within="document" if kind == "document" else "sentence"))
    for _ in range(rng.randrange(1, 7)):
        change = rng.choice(CHANGES)
        c = open_snapshot(folder)
        ids = [doc_id for doc_id in c.doc_ids(c.live_docs()) if rng.random() < 0.3]
        with Writer(folder) as writer:
            if change == "add":
                writer.add(some(rng.randrange(6)), resources=ONE)
            elif change == "replace":
                again = [d._replace(id=i) for d, i in zip(some(len(ids)), ids, strict=True)]
                writer.add(again, replace=True, resources=ONE)
            elif change == "delete":
                writer.delete(ids)
            elif change == "merge":
                writer.merge(resources=ONE)
            else:
                writer.commit(derived=[e for e in writer.manifest.derived if rng.random() < 0.5])
            if rng.random() < 0.7:
                keep_up_graphs(writer, threads=rng.choice([1, 2]))
        c = open_snapshot(folder)
        see = seen_words(c, nodes) if kind == "words" else None
        stored = open_counts(c, threads=rng.choice([1, 2]))
        assert as_plain(stored.counted) == expected(stored, see), change


def seen_words(c, nodes):
    """Find names by all their words, stop words as well."""
    every = Analyzer(dataclasses.replace(c.analysis, min_length=1, stop="none"))
    names = {tuple(every.terms(name)): i for i, name in enumerate(nodes.texts)}
    return lambda text: matches(every.terms(text), names)


# What goes wrong


def test_a_full_disk_leaves_the_documents_and_the_counts(folder, monkeypatch):
    put(folder)

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store.Stored, "write", full)
        stored = add(folder, "alpha delta")
    assert stored.missing() == [1]
    assert as_plain(stored.counted) == expected(stored)
    with Writer(folder) as writer:
        keep_up_graphs(writer)
    assert open_counts(open_snapshot(folder)).missing() == []


def test_spilling_leaves_nothing_beside_the_pairs(folder, monkeypatch):
    monkeypatch.setattr(counting, "MEMORY", 1)
    monkeypatch.setattr(
        store.count_pairs, "__kwdefaults__", store.count_pairs.__kwdefaults__ | {"memory": 1}
    )
    monkeypatch.setattr("likewise.terms.sightings._BLOCKS_AT_ONCE", 1)
    stored = put(folder)
    assert as_plain(stored.counted) == expected(stored)
    assert {path.name for path in (folder / DERIVED).iterdir()} == {
        entry.folder for entry in pairs_of(stored)
    }


@pytest.mark.parametrize("file", ["columns", "counts", "bounds", "doc-freqs"])
def test_damage_is_found(folder, file):
    [entry] = pairs_of(put(folder))
    path = folder / DERIVED / entry.folder / f"{file}.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    stored = open_counts(open_snapshot(folder))
    with pytest.raises(DamagedError, match=file):
        stored.counted  # noqa: B018
    with pytest.raises(DamagedError, match=file):
        stored.collection.check()


@pytest.mark.parametrize(
    ("file", "place", "value"),
    [
        ("columns", 0, -1),
        ("columns", -1, 4),
        ("columns", 1, 2**31 - 1),
        ("bounds", 0, 1),
        ("bounds", 1, 2**40),
        ("bounds", 2, -7),
        ("bounds", -1, 2),
    ],
)
def test_damage_in_large_files_is_no_crash(folder, monkeypatch, file, place, value):
    """Of large files the sizes are looked at, not the checksums."""
    stored = put(folder)
    assert len(stored.nodes) == 4
    [entry] = pairs_of(stored)
    alter(folder / DERIVED / entry.folder / f"{file}.npy", place, value)
    monkeypatch.setattr("likewise.collection.snapshot._CHECKED_AT_OPEN", 0)
    with pytest.raises(DamagedError, match="pairs that do not fit together; make the graph again"):
        open_counts(open_snapshot(folder)).counted  # noqa: B018


@pytest.mark.parametrize(
    ("file", "place", "value"),
    [("heard-nodes", 0, 9), ("heard-nodes", 1, -1), ("heard-bounds", 1, 2**40)],
)
def test_damage_in_what_was_heard_is_no_crash(folder, monkeypatch, file, place, value):
    stored = put(folder, extract_nodes(open_snapshot(folder), str.split))
    alter(folder / MODELS / stored.entry.folder / f"{file}.npy", place, value)
    monkeypatch.setattr(store, "_CHECKED_AT_OPEN", 0)
    with pytest.raises(DamagedError, match="names that do not fit together; make the graph again"):
        open_counts(open_snapshot(folder))


def alter(path, place, value):
    values = np.load(path)
    values[place] = value
    write_array(path, values)


def test_a_graph_that_was_replaced_is_not_damaged(folder):
    put(folder)
    before = open_snapshot(folder)
    put(folder, settings=GraphSettings("document"))
    with pytest.raises(CollectionError, match="has changed since it was opened") as told:
        open_counts(before)
    assert type(told.value) is CollectionError
    # One that is gone without having been replaced is.
    after = open_snapshot(folder)
    shutil.rmtree(folder / MODELS / find_graph(after).folder)
    with pytest.raises(DamagedError, match="missing"):
        open_counts(after)


def test_a_graph_of_another_format_is_refused(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(store, "FORMAT", 99)
        put(folder)
    with pytest.raises(FormatError, match="format 99; make it again"):
        open_counts(open_snapshot(folder))


def test_a_killed_process_leaves_a_graph_that_counts_right(folder, monkeypatch):
    """The process is killed where it waits for the disk, a few steps later each time."""
    put(folder)
    n = 0
    while True:
        child = os.fork()
        if not child:
            die_at_sync(n)
            change(folder, n)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        stored = open_counts(open_snapshot(folder))
        stored.collection.check()
        assert as_plain(stored.counted) == expected(stored)
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            break
        n += 5
    assert n > 20
    with Writer(folder) as writer:
        keep_up_graphs(writer)
    stored = open_counts(open_snapshot(folder))
    assert stored.missing() == []
    assert as_plain(stored.counted) == expected(stored)
    assert {path.name for path in (folder / DERIVED).iterdir()} == {
        entry.folder for entry in stored.collection.manifest.derived
    }


def die_at_sync(n):
    left = [n]

    def sync(_handle):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1

    os.fsync = sync


def change(folder, n):
    """Add, delete, merge, make the graph again."""
    try:
        with Writer(folder) as writer:
            writer.add([Document(f"new-{n}", text="alpha gamma. Beta delta")], resources=ONE)
            keep_up_graphs(writer)
            writer.delete(["0"], missing_ok=True)
            writer.merge(resources=ONE)
            keep_up_graphs(writer)
            store_graph(writer, choose_nodes(open_snapshot(folder), ALL))
    except BaseException:
        os._exit(1)

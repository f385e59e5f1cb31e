"""Kinds of a graph's derived data: memory = file = join, and whatever happens to the documents."""

import dataclasses
import gc
import os
import random
import signal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.collection.build import Resources, content
from likewise.collection.creating import build, create
from likewise.collection.layout import DATA, WORK
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.derived.kind import Inputs
from likewise.derived.store import derived_of
from likewise.errors import DamagedError, UsageError
from likewise.records import Document
from likewise.terms import counting, kinds
from likewise.terms.catalogue import Stored, find_graph, open_counts, store_graph
from likewise.terms.counting import read_counted
from likewise.terms.extracting import extract_nodes, key_of
from likewise.terms.kinds import GRAPH, PAIRS, GraphRoot, GraphSettings
from likewise.terms.nodes import Filters, choose_nodes, read_names
from likewise.text.analysis import Analyzer, encode

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
    snapshot = open_snapshot(folder)
    store_graph(snapshot, nodes or choose_nodes(snapshot, ALL), settings, **options)
    return open_counts(open_snapshot(folder), options.get("name"))


def change(folder, act, derive=keep_up):
    """Change a collection; give its graph as it is then."""
    with Writer(folder, derive) as writer:
        act(writer)
    return open_counts(open_snapshot(folder))


def add(folder, *texts, derive=keep_up, **options):
    """Add documents, each by its text."""
    documents = [Document(text, text=text) for text in texts]
    return change(folder, lambda w: w.add(documents, resources=ONE, **options), derive)


def delete(folder, *ids, derive=keep_up):
    return change(folder, lambda w: w.delete(ids), derive)


def merge(folder, derive=keep_up):
    return change(folder, lambda w: w.merge(resources=ONE), derive)


def expected(graph, see=None):
    """What a graph must count, in plain Python."""
    c, nodes = graph.collection, graph.nodes
    see = see or by_terms(c.analysis, nodes.names(c, np.arange(len(nodes))))
    documents = [document for _, document in c.documents()]
    return count(documents, see, len(nodes), within=graph.settings.within)


def pairs_of(graph):
    return graph.collection.artifacts("pairs", of=graph.entry.id)


def counted_again(graph):
    """The same graph as if nothing of it were stored."""
    return Stored(graph.collection, None, graph.nodes, graph.settings).counted


# What is stored


def test_a_graph_comes_back_as_it_was_stored(folder):
    nodes = choose_nodes(open_snapshot(folder), ALL)
    chosen = GraphSettings("document", Filters(min_df=1, max_df=1, numbers=True), "")
    graph = put(folder, nodes, chosen)
    assert (graph.name, graph.settings) == ("graph", chosen)
    assert graph.nodes.numbers.tolist() == nodes.numbers.tolist()
    assert graph.missing() == []
    assert as_plain(graph.counted) == expected(graph)
    graph.collection.check()


@pytest.mark.parametrize("exact", [False, True])
def test_names_come_back_as_they_were_stored(folder, exact):
    names = ["Alpha", "beta", "gamma δelta", "...", "gamma-δelta", "gamma, δelta"]
    nodes = read_names(open_snapshot(folder), names, exact=exact)
    merged = (("gamma-δelta", "gamma δelta"), ("gamma, δelta", "gamma δelta"))
    assert (nodes.left_out, nodes.merged) == (("...",), merged)
    graph = put(folder, nodes, GraphSettings(names="names.txt"))
    for part in ("kind", "texts", "left_out", "merged", "heard"):
        assert getattr(graph.nodes, part) == getattr(nodes, part)
    assert graph.settings.names == "names.txt"
    assert graph.counted.doc_freqs.tolist() == [1 if exact else 3, 3, 0]
    # Lists of names may be long: no manifest has them.
    assert "δelta" not in repr(graph.entry.about)


def test_what_was_heard_comes_back_as_it_was_stored(folder):
    nodes = extract_nodes(open_snapshot(folder), str.split)
    heard = put(folder, nodes).nodes.heard
    for before, after in zip(nodes.heard, heard, strict=True):
        assert np.array_equal(before, after)
        assert getattr(before, "dtype", None) == getattr(after, "dtype", None)


def test_the_pairs_of_one_segment_are_mapped_not_copied(folder):
    graph = put(folder)
    mapped = graph.collection.pack(pairs_of(graph)[0].pack)
    for array in (*graph.counted.pairs, graph.counted.doc_freqs):
        assert any(np.shares_memory(array, mapped[name]) for name in mapped.names)


def test_a_collection_of_nothing(tmp_path):
    create(tmp_path / "c")
    nodes = read_names(open_snapshot(tmp_path / "c"), ["alpha", "beta"])
    graph = put(tmp_path / "c", nodes)
    assert as_plain(graph.counted) == ({}, [0, 0], 0)
    graph = add(tmp_path / "c", "beta alpha", "beta")
    assert as_plain(graph.counted) == ({(0, 1): 1}, [1, 2], 2)


# What happens to it


def test_added_documents_count_at_once(folder):
    before = pairs_of(put(folder))
    graph = add(folder, "alpha delta", "unheard of beta alpha")
    assert graph.missing() == []
    assert pairs_of(graph)[: len(before)] == before
    assert as_plain(graph.counted) == expected(graph)
    assert graph.counted.n_docs == 7


def test_deleted_documents_do_not_count(folder):
    before = pairs_of(put(folder))
    graph = delete(folder, "0", "3")
    # What is stored is of all documents: it stays.
    assert pairs_of(graph) == before
    assert as_plain(graph.counted) == expected(graph)
    assert (graph.counted.pairs.counts > 0).all()


def test_a_merge_joins_or_counts(folder):
    put(folder)
    add(folder, "gamma delta", "Beta")
    graph = delete(folder, "Beta", "1")
    before = {artifact.id for artifact in pairs_of(graph)}
    graph = merge(folder)
    assert graph.missing() == []
    [artifact] = pairs_of(graph)
    assert artifact.id not in before
    assert as_plain(graph.counted) == expected(graph)


def test_what_was_not_stored_changes_no_count(folder):
    put(folder)
    graph = add(folder, "alpha delta", derive=None)
    assert graph.missing() == [1]
    with Writer(folder) as writer:
        writer.put(drop=[artifact.id for artifact in pairs_of(graph)])
    none = open_counts(open_snapshot(folder))
    assert none.missing() == [0, 1]
    assert same_bits(none.counted, graph.counted)
    assert as_plain(none.counted) == expected(none)


def test_a_collection_started_anew_has_no_graph(folder):
    put(folder).collection.close()
    build(folder, [Document("x", text="beta")], overwrite=True, resources=ONE)
    with pytest.raises(UsageError, match="no term graph"):
        open_counts(open_snapshot(folder))
    assert not [*(folder / DATA).glob("graph-*"), *(folder / DATA).glob("pairs-*")]


def extract(text):
    return [word for word in ("Alpha", "beta", "delta") if word.lower() in text.lower()]


def test_what_an_extractor_said_outlives_merges_and_deletions(folder):
    put(folder, extract_nodes(open_snapshot(folder), extract))
    nodes = add(folder, "alpha Alpha. Beta beta delta", "delta Alpha").nodes
    names = {name: i for i, name in enumerate(nodes.texts)}

    def see(text):
        exact = text in ("alpha Alpha. ", "Beta beta delta", "delta Alpha")
        found = text.replace(".", "").split() if exact else extract(text)
        return [names[word] for word in found if word in names]

    def check(graph):
        assert graph.missing() == []
        assert as_plain(graph.counted) == expected(graph, see)

    check(open_counts(open_snapshot(folder)))
    check(delete(folder, "0", "delta Alpha"))
    check(merge(folder))
    check(add(folder, "beta Alpha", derive=keep_up))


CHANGES = ["add", "add", "replace", "delete", "merge", "lose"]


@settings(
    max_examples=25,
)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["terms", "words", "document", "extracted"]),
)
def test_counts_are_those_of_the_live_documents_after_any_changes(tmp_path_factory, seed, kind):
    folder = tmp_path_factory.mktemp("changed") / "c"
    rng = random.Random(seed)
    given = [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(25))) for _ in range(12)]

    def some(n):
        for _ in range(n):
            # Some documents have the same text.
            yield Document(f"{rng.random()}", rng.choice(["", "Alpha of Beta"]), rng.choice(given))

    c = made_of(folder, some(rng.randrange(1, 12)))
    if kind == "words":
        nodes = read_names(c, ["alpha", "beta gamma", "New York", "york", "run alpha", "gamma"])
    elif kind == "extracted":
        nodes = extract_nodes(c, lambda text: ["alpha", *text.split()[1:3]])
    elif c.n_terms:
        nodes = choose_nodes(c, ALL)
    else:
        return
    put(folder, nodes, GraphSettings(within="document" if kind == "document" else "sentence"))
    heard = {} if nodes.heard is None else dict(zip(*heard_in(nodes), strict=True))
    for _ in range(rng.randrange(1, 7)):
        what = rng.choice(CHANGES)
        c = open_snapshot(folder)
        ids = [doc_id for doc_id in c.doc_ids(c.live_docs()) if rng.random() < 0.3]
        with Writer(folder, keep_up if rng.random() < 0.7 else None) as writer:
            if what == "add":
                writer.add(some(rng.randrange(6)), resources=ONE)
            elif what == "replace":
                again = [d._replace(id=i) for d, i in zip(some(len(ids)), ids, strict=True)]
                writer.add(again, replace=True, resources=ONE)
            elif what == "delete":
                writer.delete(ids)
            elif what == "merge":
                writer.merge(resources=ONE)
            else:
                its = [a.id for a in writer.manifest.artifacts if a.kind == "pairs"]
                writer.put(drop=[one for one in its if rng.random() < 0.5])
        graph = open_counts(open_snapshot(folder), threads=rng.choice([1, 2]))
        assert same_bits(graph.counted, counted_again(graph)), what
        if kind == "extracted":
            # Texts that are there are never forgotten.
            texts = {key_of(encode(content(d))) for _, d in graph.collection.documents()}
            keys, _ = heard_in(graph.nodes)
            assert texts & heard.keys() <= {*keys}
        else:
            see = seen_words(graph.collection, nodes) if kind == "words" else None
            assert as_plain(graph.counted) == expected(graph, see), what


def heard_in(nodes):
    """The keys of texts, and what was heard in each."""
    keys, bounds, found, sentences, _ = nodes.heard
    rows = [(found[a:b].tolist(), sentences[a:b].tolist()) for a, b in pairwise(bounds)]
    return keys.tolist(), rows


def seen_words(c, nodes):
    """Find names by all their words, stop words as well."""
    every = Analyzer(dataclasses.replace(c.analysis, min_length=1, stop="none"))
    names = {tuple(every.terms(name)): i for i, name in enumerate(nodes.texts)}
    return lambda text: matches(every.terms(text), names)


def test_terms_that_no_document_has_any_more_are_nodes_without_pairs(folder):
    """A merge takes their letters, and they come back under other numbers."""
    graph = put(folder)
    names = graph.nodes.names(graph.collection, np.arange(len(graph.nodes)))
    delete(folder, "0", "1", "2")
    graph = merge(folder)
    assert graph.nodes.names(graph.collection, np.arange(4)).count("") == 3
    graph = add(folder, "alpha beta gamma delta")
    assert graph.counted.doc_freqs.tolist() == [2 if name == "alpha" else 0 for name in names]
    assert same_bits(graph.counted, counted_again(graph))


def test_a_reader_that_goes_along_counts_as_one_that_opens(folder):
    """What it has of terms goes with each snapshot."""
    graph = put(folder)
    nodes = graph.nodes
    assert same_bits(graph.counted, counted_again(graph))
    delete(folder, "0", "1", "2")
    merge(folder)
    add(folder, "alpha beta gamma delta", derive=None)
    after = open_snapshot(folder)
    one = Stored(after, None, nodes, graph.settings).counted
    assert same_bits(one, open_counts(open_snapshot(folder)).counted)


# Memory = file = join


def arrays_of(arrays):
    names = ("bounds", "columns", "counts", "doc-freqs")
    return {name: arrays[name] for name in names} | {"meta": dict(arrays.meta)}


def same_arrays(one, other):
    assert one["meta"] == other["meta"]
    for name in one.keys() - {"meta"}:
        assert one[name].dtype == other[name].dtype
        assert np.array_equal(one[name], other[name])


def computed(graph, i=0, threads=1):
    memory = Memory()
    PAIRS.compute(Inputs(derived_of(graph.collection), graph.name, i, threads), memory)
    return arrays_of(memory)


@pytest.mark.parametrize("kind", ["terms", "document", "words", "extracted"])
@pytest.mark.parametrize("gone", [[], ["b 1"], ["a 0", "c 7"], ["a 0", "b 1", "c 7"]])
def test_memory_is_file_is_join(tmp_path, kind, gone, monkeypatch):
    rng = random.Random(len(gone))

    def some(name):
        for i in range(8):
            yield Document(f"{name} {i}", text=" ".join(rng.choice(WORDS) for _ in range(20)))

    folder = tmp_path / "c"
    c = made_of(folder, some("a"))
    within = GraphSettings("document" if kind == "document" else "sentence")
    nodes = {
        "words": lambda: read_names(c, ["alpha", "beta gamma", "New York"]),
        "extracted": lambda: extract_nodes(c, lambda text: ["alpha", *text.split()[1:3]]),
    }.get(kind, lambda: choose_nodes(c, ALL))()
    put(folder, nodes, within)
    for name in "bc":
        change(folder, lambda w, name=name: w.add(some(name), resources=ONE))
    graph = delete(folder, *gone) if gone else open_counts(open_snapshot(folder))
    for i, artifact in enumerate(pairs_of(graph)):
        stored_arrays = arrays_of(graph.collection.pack(artifact.pack))
        same_arrays(stored_arrays, computed(graph, i))
        same_arrays(stored_arrays, computed(graph, i, threads=2))
    joined = []
    join = type(PAIRS).join

    def watched(self, *args):
        joined.append(join(self, *args))
        return joined[-1]

    monkeypatch.setattr(type(PAIRS), "join", watched)
    graph = merge(folder)
    # Where all segments have lost documents there is nothing to be joined.
    assert joined == [len(gone) < 3]
    [artifact] = pairs_of(graph)
    same_arrays(arrays_of(graph.collection.pack(artifact.pack)), computed(graph))


def test_a_merge_counts_only_what_lost_documents(folder, monkeypatch):
    put(folder)
    add(folder, "alpha delta", "beta")
    delete(folder, "beta")
    counted = []
    count = kinds.count_segment

    def watched(snapshot, root, segment, docs, **options):
        counted.append(docs.tolist())
        return count(snapshot, root, segment, docs, **options)

    monkeypatch.setattr(kinds, "count_segment", watched)
    monkeypatch.setattr(kinds, "write_pairs", None)
    graph = merge(folder)
    assert counted == [[5]]
    assert as_plain(graph.counted) == expected(graph)


# What is forgotten


def test_what_was_heard_in_deleted_texts_goes_with_a_merge(folder):
    put(folder, extract_nodes(open_snapshot(folder), extract))
    keys = {name: key_of(encode(text)) for name, text in zip("01234", TEXTS, strict=True)}
    graph = delete(folder, "0", "3")
    # Until then what they counted for is subtracted by it.
    assert {*graph.nodes.heard.keys.tolist()} == {*keys.values()}
    before = heard_in(graph.nodes)
    graph = merge(folder)
    assert {*graph.nodes.heard.keys.tolist()} == {keys["1"], keys["2"], keys["4"]}
    after = dict(zip(*heard_in(graph.nodes), strict=True))
    assert after == {key: row for key, row in zip(*before, strict=True) if key in after}
    assert graph.missing() == []
    # It is the same graph still, and the old one's files are gone.
    assert graph.entry.id == find_graph(open_snapshot(folder)).id
    gc.collect()
    graph = add(folder, "alpha")
    assert len([*(folder / DATA).glob("graph-*")]) == 1
    assert same_bits(graph.counted, counted_again(graph))


def test_what_was_heard_in_a_replaced_text_goes_too(folder):
    put(folder, extract_nodes(open_snapshot(folder), extract))
    new = [Document("0", text="alpha anew")]
    change(folder, lambda w: w.add(new, replace=True, resources=ONE))
    keys = merge(folder).nodes.heard.keys.tolist()
    assert key_of(encode(TEXTS[0])) not in keys
    assert len(keys) == 4


def test_a_text_that_another_document_has_is_still_heard(folder):
    nodes = extract_nodes(open_snapshot(folder), lambda text: ["Yes"] if "beta" in text else [])
    put(folder, nodes)
    twin = [Document("twin", text=TEXTS[1])]
    change(folder, lambda w: w.add(twin, resources=ONE))
    delete(folder, "1", "twin")
    change(folder, lambda w: w.add(twin, resources=ONE))
    delete(folder, "0")
    graph = merge(folder)
    assert key_of(encode(TEXTS[1])) in graph.nodes.heard.keys.tolist()
    assert graph.counted.doc_freqs.tolist() == [2]
    assert same_bits(graph.counted, counted_again(graph))
    delete(folder, "twin")
    assert key_of(encode(TEXTS[1])) not in merge(folder).nodes.heard.keys.tolist()


def test_graphs_that_heard_nothing_forget_nothing(folder):
    before = put(folder).entry
    put(folder, read_names(open_snapshot(folder), ["alpha"]), name="names")
    delete(folder, "0")
    graph = merge(folder)
    assert graph.entry == before
    root = GraphRoot(graph.nodes, graph.settings)
    inputs = Inputs(derived_of(graph.collection), "graph")
    assert GRAPH.forget(root, [Document("0", text=TEXTS[0])], inputs) is None


def test_what_was_deleted_while_a_graph_was_made(folder, monkeypatch):
    """What is merged away meanwhile is forgotten when the graph is published."""
    snapshot = open_snapshot(folder)
    nodes = extract_nodes(snapshot, extract)
    monkeypatch.setattr("likewise.terms.catalogue.derive", lambda *a, **o: meanwhile())

    def meanwhile():
        with Writer(folder, keep_up) as writer:
            writer.delete(["0"])
            writer.merge(resources=ONE)
            writer.delete(["1"])
        return []

    store_graph(snapshot, nodes)
    graph = open_counts(open_snapshot(folder))
    keys = graph.nodes.heard.keys.tolist()
    assert key_of(encode(TEXTS[0])) not in keys
    assert key_of(encode(TEXTS[1])) in keys
    assert graph.missing() == [0]
    assert same_bits(graph.counted, counted_again(graph))
    assert graph.counted.n_docs == 3


def test_what_was_replaced_while_a_graph_was_made(folder):
    """Its id is still there; its text is not."""
    snapshot = open_snapshot(folder)
    nodes = extract_nodes(snapshot, extract)
    with Writer(folder, keep_up) as writer:
        writer.add([Document("0", text="alpha anew")], replace=True, resources=ONE)
        writer.merge(resources=ONE)
    store_graph(snapshot, nodes)
    graph = open_counts(open_snapshot(folder))
    keys = graph.nodes.heard.keys.tolist()
    assert key_of(encode(TEXTS[0])) not in keys
    assert {key_of(encode(text)) for text in TEXTS[1:]} == {*keys}


# What goes wrong


def test_a_full_disk_leaves_the_documents_and_the_counts(folder, monkeypatch, caplog):
    put(folder)

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(PAIRS), "compute", full)
        graph = add(folder, "alpha delta")
    assert "pairs of graph is not stored" in caplog.text
    assert graph.missing() == [1]
    assert as_plain(graph.counted) == expected(graph)
    assert add(folder, "beta").missing() == []


def test_spilling_leaves_nothing_beside_the_pairs(folder, monkeypatch):
    monkeypatch.setattr(counting, "MEMORY", 1)
    defaults = counting.write_pairs.__kwdefaults__ | {"memory": 1}
    monkeypatch.setattr(counting.write_pairs, "__kwdefaults__", defaults)
    monkeypatch.setattr("likewise.terms.occurrences._BLOCKS_AT_ONCE", 1)
    graph = put(folder)
    assert as_plain(graph.counted) == expected(graph)
    assert [*(folder / WORK).iterdir()] == []
    named = {entry.file for entry in graph.collection.manifest.files()}
    assert {path.name for path in (folder / DATA).iterdir()} == named


@pytest.mark.parametrize("array", ["columns", "counts", "bounds", "doc-freqs"])
def test_damage_is_found(folder, array):
    graph = put(folder)
    [artifact] = pairs_of(graph)
    pack = graph.collection.pack(artifact.pack)
    path = folder / DATA / artifact.pack.file
    data = bytearray(path.read_bytes())
    data[pack._arrays[array][2]] ^= 1
    path.write_bytes(bytes(data))
    again = open_counts(open_snapshot(folder))
    with pytest.raises(DamagedError, match=f"{array} was altered"):
        again.counted  # noqa: B018
    with pytest.raises(DamagedError, match=f"{array} was altered"):
        again.collection.check()


def altered(arrays, array, place, value):
    """The arrays of a pack with one of them altered, as no checksum finds it."""
    memory = Memory()
    for name in arrays.names:
        memory.put(name, arrays[name].copy())
    memory.note(**arrays.meta)
    if value is None:
        memory.put(array, memory[array][:place])
    else:
        memory[array][place] = value
    return memory


@pytest.mark.parametrize(
    ("array", "place", "value"),
    [
        ("columns", 0, -1),
        ("columns", -1, 4),
        ("columns", 1, 2**31 - 1),
        ("columns", -1, None),
        ("counts", -1, None),
        ("bounds", 0, 1),
        ("bounds", 1, 2**40),
        ("bounds", 2, -7),
        ("bounds", -1, 2),
        ("bounds", 0, None),
        ("bounds", -1, None),
        ("doc-freqs", -1, None),
    ],
)
def test_pairs_that_do_not_fit_together_are_damage(folder, array, place, value):
    graph = put(folder)
    assert len(graph.nodes) == 4
    arrays = graph.collection.pack(pairs_of(graph)[0].pack)
    inputs = Inputs(derived_of(graph.collection), graph.name, 0)
    assert same_bits(PAIRS.load(arrays, {}, inputs), read_counted(arrays))
    with pytest.raises(DamagedError, match="pairs that do not fit together; make the graph again"):
        PAIRS.load(altered(arrays, array, place, value), {}, inputs)


@pytest.mark.parametrize(
    ("array", "place", "value"),
    [
        ("heard.nodes", 0, 9),
        ("heard.nodes", 1, -1),
        ("heard.bounds", 1, 2**40),
        ("heard.bounds", -1, None),
        ("heard.sentences", -1, None),
        ("heard.keys", -1, None),
    ],
)
def test_names_that_do_not_fit_together_are_damage(folder, array, place, value):
    graph = put(folder, extract_nodes(open_snapshot(folder), str.split))
    arrays = graph.collection.pack(graph.entry.pack)
    inputs = Inputs(derived_of(graph.collection), graph.name)
    with pytest.raises(DamagedError, match="names that do not fit together; make the graph again"):
        GRAPH.load(altered(arrays, array, place, value), graph.entry.about, inputs)


@pytest.mark.parametrize("value", [-1, 4])
def test_terms_that_are_not_there_are_damage(folder, value):
    graph = put(folder)
    assert graph.collection.n_terms == 4
    arrays = graph.collection.pack(graph.entry.pack)
    inputs = Inputs(derived_of(graph.collection), graph.name)
    with pytest.raises(DamagedError, match="terms that no document ever had; make the graph again"):
        GRAPH.load(altered(arrays, "numbers", 2, value), graph.entry.about, inputs)


def test_a_killed_process_leaves_a_graph_that_counts_right(folder, monkeypatch):
    """The process is killed where it waits for the disk, a few steps later each time."""
    put(folder).collection.close()
    n = 0
    while True:
        child = os.fork()
        if not child:
            die_at_sync(n)
            change_all(folder, n)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        graph = open_counts(open_snapshot(folder))
        graph.collection.check()
        assert as_plain(graph.counted) == expected(graph)
        graph.collection.close()
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            break
        n += 5
    assert n > 20
    graph = add(folder, "beta")
    assert graph.missing() == []
    assert as_plain(graph.counted) == expected(graph)
    named = {entry.file for entry in graph.collection.manifest.files()}
    assert {path.name for path in (folder / DATA).iterdir()} == named
    assert [*(folder / WORK).iterdir()] == []


def die_at_sync(n):
    left = [n]

    def sync(_handle):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1

    os.fsync = sync


def change_all(folder, n):
    """Add, delete, merge, make the graph again."""
    try:
        with Writer(folder, keep_up) as writer:
            writer.add([Document(f"new-{n}", text="alpha gamma. Beta delta")], resources=ONE)
            writer.delete(["0"], missing_ok=True)
            writer.merge(resources=ONE)
        snapshot = open_snapshot(folder)
        store_graph(snapshot, choose_nodes(snapshot, ALL))
    except BaseException:
        os._exit(1)

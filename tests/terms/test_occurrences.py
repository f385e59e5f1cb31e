"""Which nodes each sentence mentions."""

import random

import numpy as np
import pytest

from likewise.collection.creating import create
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.records import Document
from likewise.terms.extracting import extract_nodes
from likewise.terms.matching import Known, match_names, resolve_exactly
from likewise.terms.nodes import Filters, Heard, choose_nodes, read_names
from likewise.terms.occurrences import _splice, _translate, in_order, occurrences
from likewise.text.chunks import cut

from .counts_in_python import by_terms, made_of

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "Dr.",
    "delta.",
    "Runs!",
    "running",
    "中文字。",
    "café",
    "the",
    "12",
]
ALL = Filters(min_df=1, max_df=1, numbers=True)


def random_documents(n=40, seed=0):
    rng = random.Random(seed)
    for i in range(n):
        words = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(40)))
        yield Document(str(i), rng.choice(["", "Alpha of the Beta"]), words)


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    return made_of(tmp_path_factory.mktemp("occurrences") / "c", random_documents())


@pytest.fixture
def small_lots(monkeypatch):
    monkeypatch.setattr("likewise.terms.occurrences._BLOCKS_AT_ONCE", 1)
    monkeypatch.setattr("likewise.terms.occurrences._DOCS_AT_ONCE", 3)
    monkeypatch.setattr("likewise.terms.occurrences._RECORDS_AT_ONCE", 3)


def seen(batches):
    """Each document's mentions with their sentences."""
    out = {}
    for docs, bounds, nodes, sentences, _ in batches:
        assert len(bounds) == len(docs) + 1
        for i, doc in enumerate(docs.tolist()):
            its = slice(bounds[i], bounds[i + 1])
            out[doc] = [*zip(nodes[its].tolist(), sentences[its].tolist(), strict=True)]
    return out


def expected(c, see):
    return {
        doc: [(node, i) for i, text in enumerate(c.sentences(doc)) for node in see(text)]
        for doc in range(c.n_slots)
    }


@pytest.mark.parametrize("threads", [1, 2])
def test_terms_of_sentences(c, threads):
    nodes = choose_nodes(c, ALL)
    see = by_terms(c.analysis, nodes.names(c, np.arange(len(nodes))))
    batches = [*occurrences(c, nodes, 0, threads=threads)]
    assert seen(batches) == expected(c, see)
    assert [doc for batch in batches for doc in batch.docs.tolist()] == [*range(40)]
    assert not any(batch.whole for batch in batches)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_in_any_lots(small_lots, tmp_path, monkeypatch, threads):
    monkeypatch.setattr("likewise.collection.documents._BLOCK_BYTES", 300)
    c = made_of(tmp_path / "c", random_documents())
    nodes = choose_nodes(c, ALL)
    batches = [*occurrences(c, nodes, 0, threads=threads)]
    assert len(batches) > 10
    see = by_terms(c.analysis, nodes.names(c, np.arange(len(nodes))))
    assert seen(batches) == expected(c, see)
    some = np.array([1, 5, 6, 20, 21, 39])
    of_some = seen(occurrences(c, nodes, 0, some, threads=threads))
    assert of_some == {doc: its for doc, its in seen(batches).items() if doc in some}
    assert seen(occurrences(c, nodes, 0, some[:0], threads=threads)) == {}


def test_terms_of_documents_come_from_their_records(c, small_lots):
    nodes = choose_nodes(c, ALL)
    see = by_terms(c.analysis, nodes.names(c, np.arange(len(nodes))))
    for threads in (1, 2):
        batches = [*occurrences(c, nodes, 0, within="document", threads=threads)]
        assert all(batch.whole for batch in batches)
        found = {doc: {node for node, _ in its} for doc, its in seen(batches).items()}
        assert found == {doc: {n for n, _ in its} for doc, its in expected(c, see).items()}


def test_names_are_seen_in_sentences_and_in_documents(tmp_path):
    c = made_of(tmp_path / "c", ["New York is old. York too, New", "no name", "new. York"])
    nodes = read_names(c, ["new york", "york", "old"])
    assert seen(occurrences(c, nodes, 0)) == {0: [(0, 0), (2, 0), (1, 1)], 1: [], 2: [(1, 1)]}
    in_documents = [*occurrences(c, nodes, 0, within="document")]
    assert seen(in_documents) == {0: [(0, 0), (2, 0), (1, 0)], 1: [], 2: [(1, 0)]}
    assert in_documents[0].whole


def test_case_counts_in_exact_names_but_not_for_the_ends_of_sentences(tmp_path):
    c = made_of(tmp_path / "c", ["Dr. CAT saw a cat. DR. CAT left"])
    nodes = read_names(c, ["CAT", "cat", "left"], exact=True)
    assert seen(occurrences(c, nodes, 0)) == {0: [(0, 0), (1, 0), (0, 1), (2, 1)]}
    assert len(c.sentences(0)) == 2


@pytest.mark.parametrize("text", ["", "a", "Ab. Cd! Éf→G 中文。字 DR. Who, dR. no", "\n\n. x"])
def test_cutting_exactly_gives_the_same_places(text):
    texts = [text.encode(), b"", text.swapcase().encode()]
    folded, kept = cut(texts), cut(texts, keep_case=True)
    assert kept.token_bounds.tolist() == folded.token_bounds.tolist()
    assert kept.token_sentences.tolist() == folded.token_sentences.tolist()
    words, lower = kept.distinct.all(), folded.distinct.all()
    assert [words[t].lower() for t in kept.tokens] == [lower[t] for t in folded.tokens]


def test_what_an_extractor_said_replaces_what_is_found(tmp_path):
    made_of(tmp_path / "c", ["Bob met Ann. Ann left", "Ann and Eve"])
    c = open_snapshot(tmp_path / "c")
    nodes = extract_nodes(c, lambda text: ["Ann"] if "Bob" in text else ["Eve", "Ann"])
    assert nodes.texts == ("Ann", "Eve")
    assert seen(occurrences(c, nodes, 0)) == {0: [(0, 0), (1, 1), (0, 1)], 1: [(1, 0), (0, 0)]}
    with Writer(tmp_path / "c") as writer:
        # A text that was heard, and one that was not.
        writer.add([Document("2", text="Ann and Eve"), Document("3", text="ann. Eve, Bob, Ann")])
        writer.delete(["0"])
        writer.merge()
    c = open_snapshot(tmp_path / "c")
    assert seen(occurrences(c, nodes, 0)) == {
        0: [(1, 0), (0, 0)],
        1: [(1, 0), (0, 0)],
        2: [(1, 1), (0, 1)],
    }
    assert seen(occurrences(c, nodes, 0, within="document"))[2] == [(1, 0), (0, 0)]


def test_an_extractor_of_documents_knows_no_sentences(c):
    nodes = extract_nodes(c, lambda text: ["x"], within="document")
    assert {*seen(occurrences(c, nodes, 0, within="document"))} == {*range(40)}
    with pytest.raises(UsageError, match="give it sentences"):
        next(occurrences(c, nodes, 0))


def test_within_is_a_sentence_or_a_document(c):
    with pytest.raises(UsageError, match="'page'"):
        next(occurrences(c, choose_nodes(c, ALL), 0, within="page"))


def test_a_segment_of_no_documents(tmp_path):
    create(tmp_path / "c")
    with Writer(tmp_path / "c") as writer:
        writer.add([])
    c = open_snapshot(tmp_path / "c")
    nodes = read_names(c, ["a name"])
    for segment in range(len(c.segments)):
        assert seen(occurrences(c, nodes, segment)) == {}


def test_a_full_cache_of_chunks_is_started_anew(monkeypatch):
    monkeypatch.setattr("likewise.terms.matching._CACHE_BYTES", 0)
    matcher = match_names([["a1", "b1"], ["c1"]], resolve_exactly, exact=True)
    known = Known(matcher)
    texts = [b"a1 b1 c1", b"a1 x c1 a1 b1"]
    for _ in range(3):
        assert matcher.match(texts[:1], known).nodes.tolist() == [0, 1]
        assert matcher.match(texts, known).nodes.tolist() == [0, 1, 1, 0]


def test_results_come_in_order_and_errors_come_through():
    for threads in (1, 3):
        assert [*in_order(lambda i: i * i, range(50), threads)] == [i * i for i in range(50)]
        results = in_order(lambda i: 1 // (3 - i), range(50), threads)
        assert [next(results) for _ in range(3)] == [0, 0, 1]
        with pytest.raises(ZeroDivisionError):
            next(results)


def test_kernels_equal_what_they_say():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 5, 20)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    terms = rng.integers(0, 30, bounds[-1]).astype(np.int32)
    node_of = np.where(rng.random(30) < 0.5, rng.permutation(30), -1).astype(np.int32)
    out, nodes = _translate(bounds, terms, node_of)
    for i in range(20):
        expected = node_of[terms[bounds[i] : bounds[i + 1]]]
        assert nodes[out[i] : out[i + 1]].tolist() == expected[expected >= 0].tolist()
    rows = np.where(rng.random(20) < 0.5, rng.integers(0, 20, 20), -1)
    heard = Heard(np.arange(20).astype(np.uint64), bounds, terms + 100, terms + 200, "sentence")
    out, nodes, sentences = _splice(bounds, terms, terms + 300, rows, *heard[1:4])
    parts = [(terms + 100, r) if r >= 0 else (terms, i) for i, r in enumerate(rows.tolist())]
    expected = np.concatenate([its[bounds[r] : bounds[r + 1]] for its, r in parts])
    assert np.array_equal(nodes, expected)
    shifts = np.where(nodes >= 100, 100, 300)
    assert np.array_equal(sentences, nodes + shifts)
    assert np.diff(out).tolist() == [sizes[r] for _, r in parts]


def test_terms_of_a_mixed_collection_are_those_of_each_document_s_language(tmp_path):
    texts = [
        "Der Ausschuss wird neue Quellen der Energien in seiner Sitzung am Dienstag beraten.",
        "Le comité examinera les énergies nouvelles lors de sa réunion de mardi prochain.",
        "The committee will discuss new energies of the nation at its meeting on Tuesday.",
    ]
    c = made_of(tmp_path / "mixed.lw", texts, language="mixed")
    assert len(c.languages) == 3
    nodes = choose_nodes(c, ALL)
    [found] = [*occurrences(c, nodes, 0)]
    for i in range(3):
        mine = found.nodes[found.bounds[i] : found.bounds[i + 1]]
        recorded = c.term_counts(np.array([i])).terms
        assert {*nodes.names(c, mine)} == {*c.terms(recorded)}

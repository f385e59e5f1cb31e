"""In how many documents each pair stands together, against plain Python and scipy."""

import random
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, triu

from likewise.collection import arrays
from likewise.collection.arrays import Memory
from likewise.collection.creating import create
from likewise.collection.pack import Pack, Packer
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.records import Document
from likewise.terms import counting
from likewise.terms.counting import (
    LONGEST_SENTENCE,
    add,
    add_all,
    count_pairs,
    no_counts,
    read_counted,
    subtract,
    write_pairs,
    write_sum,
)
from likewise.terms.nodes import Filters, choose_nodes, read_names
from likewise.terms.occurrences import Occurrences, occurrences
from likewise.terms.pair_kernels import by_node, count_rows, group, lay_out, merge_rows

from .counts_in_python import as_plain, by_terms, count, made_of, same_bits

ALL = Filters(min_df=1, max_df=1, numbers=True)


def batch(documents, *, whole=False):
    """Make a batch of documents, which are lists of sentences, which are lists of nodes."""
    nodes = [node for doc in documents for its in doc for node in its]
    sentences = [i for doc in documents for i, its in enumerate(doc) for _ in its]
    sizes = [sum(map(len, doc)) for doc in documents]
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.zeros(len(nodes)) if whole else sentences
    return Occurrences(
        np.arange(len(documents)),
        bounds,
        np.array(nodes, np.int32),
        np.array(places, np.int32),
        whole,
    )


def plain(documents, n_nodes):
    pairs, nodes = {}, [0] * n_nodes
    for doc in documents:
        its = {(i, j) for s in doc for i in s for j in s if i < j}
        for pair in its:
            pairs[pair] = pairs.get(pair, 0) + 1
        for node in {node for s in doc for node in s}:
            nodes[node] += 1
    return pairs, nodes, len(documents)


@pytest.fixture(autouse=True, scope="module")
def unsynced():
    """Leave out waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        yield


collections = st.lists(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=4), max_size=12)


@given(collections, st.integers(1, 4))
def test_pairs_are_counted_once_a_document(documents, step):
    batches = [batch(documents[i : i + step]) for i in range(0, len(documents), step)]
    counted = count_pairs(batches, 10)
    assert as_plain(counted) == plain(documents, 10)
    # Every batch a block of its own, and as little memory as can be.
    assert same_bits(count_pairs(batches, 10, memory=1), counted)
    assert same_bits(count_pairs(batches, 10, memory=1, threads=2), counted)


@given(collections, collections)
def test_sums_and_differences_are_exact(some, others):
    a, b, both = (count_pairs([batch(docs)], 10) for docs in (some, others, some + others))
    assert same_bits(add(a, b), both)
    assert same_bits(subtract(both, b), a)
    assert same_bits(subtract(both, both, threads=2), no_counts(10))


def written(path, batches, n_nodes, **options):
    """Count into a pack, and read it; nothing is left beside it."""
    out = Packer(path)
    write_pairs(batches, n_nodes, out, **options)
    counted = read_counted(Pack(path, out.close()))
    assert [*path.parent.iterdir()] == [path]
    path.unlink()
    return counted


def random_batches(seed, n_nodes, n_docs=300, per_batch=50):
    rng = np.random.default_rng(seed)
    # Some nodes in most documents, many in few.
    chances = 1 / np.arange(1, n_nodes + 1)
    chances /= chances.sum()
    documents = [
        [
            rng.choice(n_nodes, rng.integers(0, 30), p=chances).tolist()
            for _ in range(rng.integers(5))
        ]
        for _ in range(n_docs)
    ]
    return [batch(documents[i : i + per_batch]) for i in range(0, n_docs, per_batch)]


@pytest.mark.parametrize("n_nodes", [1, 63, 64, 65, 5000])
def test_the_same_bits_with_any_memory_and_threads(n_nodes, monkeypatch, tmp_path):
    batches = random_batches(n_nodes, n_nodes)
    once = count_pairs(batches, n_nodes)
    for memory in (1, 50_000, 1_000_000):
        for threads in (1, 2):
            assert same_bits(count_pairs(batches, n_nodes, memory=memory, threads=threads), once)
            again = written(tmp_path / "p.npz", batches, n_nodes, memory=memory, threads=threads)
            assert same_bits(again, once)
    if n_nodes == 5000:
        monkeypatch.setattr(counting, "MEMORY", 1)
        monkeypatch.setattr(arrays, "MOST_HELD", 1)  # the sum, too, goes to files
        twice = add(once, once, threads=2)
        assert np.array_equal(twice.pairs.counts, 2 * once.pairs.counts)
        assert same_bits(subtract(twice, once), once)


def test_a_small_budget_spills(monkeypatch, tmp_path):
    merged = []
    monkeypatch.setattr(
        counting, "merge_rows", lambda *args: merged.append(args) or merge_rows(*args)
    )
    batches = random_batches(0, 100)
    written(tmp_path / "p.npz", batches, 100)
    assert not merged
    written(tmp_path / "p.npz", batches, 100, memory=1)
    assert len(merged[0][3]) == 101 * len(batches)


def test_what_does_not_end_well_leaves_no_files(tmp_path):
    def broken():
        yield from random_batches(0, 100)
        raise UsageError("no more")

    out = Packer(tmp_path / "p.npz")
    seen = []

    def look(_n_docs):
        seen.append(len([*tmp_path.iterdir()]))

    with pytest.raises(UsageError, match="no more"):
        write_pairs(broken(), 100, out, memory=1, progress=look)
    # What does not fit memory stands beside the pack.
    assert max(seen) == 2
    assert [*tmp_path.iterdir()] == [out.path]
    out.abandon()


def test_files_hold_what_memory_does(tmp_path):
    batches = random_batches(1, 100)
    once = count_pairs(batches, 100)
    for memory in (1, 1 << 20):
        assert same_bits(written(tmp_path / "p.npz", batches, 100, memory=memory), once)
    assert same_bits(written(tmp_path / "p.npz", [], 7), no_counts(7))


@given(st.lists(collections, min_size=1, max_size=4))
def test_sums_of_several_are_exact(several):
    parts = [count_pairs([batch(documents)], 10) for documents in several]
    every = count_pairs([batch([*chain(*several)])], 10)
    assert same_bits(add_all(parts), every)
    held = Memory()
    write_sum(parts, held, threads=2)
    assert same_bits(read_counted(held), every)
    assert held.meta["n_pairs"] == len(every.pairs.columns)


def test_pairs_of_documents_equal_a_product_of_matrices():
    rng = np.random.default_rng(3)
    dense = rng.random((200, 90)) < 0.2
    documents = [[np.flatnonzero(row).tolist()] for row in dense]
    counted = count_pairs([batch(documents, whole=True)], 90)
    x = csr_array(dense.astype(np.int32))
    product = triu(x.T @ x, 1).tocsr()
    product.sort_indices()
    assert np.array_equal(product.indptr, counted.pairs.bounds)
    assert np.array_equal(product.indices, counted.pairs.columns)
    assert np.array_equal(product.data, counted.pairs.counts)
    assert counted.doc_freqs.tolist() == dense.sum(axis=0).tolist()


def test_counts_of_different_graphs_are_not_added():
    with pytest.raises(UsageError, match="of 3 and of 4 nodes"):
        add(no_counts(3), no_counts(4))


def test_progress_is_told_of_documents():
    told = []
    write_pairs(random_batches(0, 10), 10, Memory(), progress=told.append)
    assert told == [50] * 6


def test_long_sentences_are_counted_in_runs_but_whole_documents_are_not():
    n = 2 * LONGEST_SENTENCE + 10
    sentence = [*range(n)]
    counted = count_pairs([batch([[sentence]])], n)
    sizes = [LONGEST_SENTENCE, LONGEST_SENTENCE, 10]
    assert len(counted.pairs.columns) == sum(size * (size - 1) // 2 for size in sizes)
    assert counted.doc_freqs.tolist() == [1] * n
    counted = count_pairs([batch([[sentence]], whole=True)], n)
    assert len(counted.pairs.columns) == n * (n - 1) // 2


# Against plain Python, from documents


def counts_of(c, nodes, **options):
    within = options.get("within", "sentence")
    batches = (b for i in range(len(c.segments)) for b in occurrences(c, nodes, i, within=within))
    return count_pairs(batches, len(nodes))


TEXTS = [
    "Alpha beta. Gamma",
    "",
    "alpha",
    "no sentence end but beta gamma alpha beta",
    "Alpha. Beta. Gamma. Alpha",
    "中文字 alpha。日本語、テキスト and beta",
    "Ünïcode naïve café! Beta ﬁne.\n\nGamma ﬁne",
    "alpha gamma\n\nbeta gamma? beta alpha",
]


@pytest.mark.parametrize("within", ["sentence", "document"])
def test_counts_are_those_of_plain_python(tmp_path, within):
    documents = [Document(str(i), "Alpha" * (i % 2), text) for i, text in enumerate(TEXTS)]
    c = made_of(tmp_path / "c", documents)
    nodes = choose_nodes(c, ALL)
    see = by_terms(c.analysis, nodes.names(c, np.arange(len(nodes))))
    counted = as_plain(counts_of(c, nodes, within=within))
    assert counted == count(documents, see, len(nodes), within=within)
    assert counted[1] == c.frequencies(nodes.numbers)[0].tolist()


def test_pairs_never_span_sentences(tmp_path):
    c = made_of(tmp_path / "c", ["alpha beta. Gamma delta", "beta gamma"])
    nodes = read_names(c, ["alpha", "beta", "gamma", "delta"])
    assert as_plain(counts_of(c, nodes)) == ({(0, 1): 1, (1, 2): 1, (2, 3): 1}, [1, 2, 2, 1], 2)


def test_a_collection_of_nothing(tmp_path):
    create(tmp_path / "c")
    c = open_snapshot(tmp_path / "c")
    nodes = read_names(c, ["alpha"])
    assert same_bits(counts_of(c, nodes), no_counts(1))


def test_a_document_of_fifty_thousand_words(tmp_path):
    rng = random.Random(1)
    words = [f"w{rng.randrange(400)}" for _ in range(50_000)]
    c = made_of(tmp_path / "c", [" ".join(words)])
    nodes = choose_nodes(c, ALL)
    see = by_terms(c.analysis, nodes.names(c, np.arange(len(nodes))))
    documents = [document for _, document in c.documents()]
    counted = counts_of(c, nodes)
    assert as_plain(counted) == count(documents, see, len(nodes))
    whole = counts_of(c, nodes, within="document")
    assert len(whole.pairs.columns) == len(nodes) * (len(nodes) - 1) // 2


# Kernels


@given(collections, st.integers(0, 3))
def test_kernels_equal_what_they_say(documents, longest):
    its = batch(documents)
    groups, docs = group(its.bounds, its.sentences, longest)
    expected, owners = [], []
    for i, doc in enumerate(documents):
        for s in doc if longest else [[*chain(*doc)]]:
            step = longest or max(len(s), 1)
            runs = [s[j : j + step] for j in range(0, len(s), step)]
            expected += runs
            owners += [i] * len(runs)
    assert docs.tolist() == owners
    assert groups.tolist() == [i for i, run in enumerate(expected) for _ in run]
    bounds, found = by_node(its.nodes, groups, 10)
    for i in range(10):
        assert (
            found[bounds[i] : bounds[i + 1]].tolist() == np.unique(groups[its.nodes == i]).tolist()
        )
    doc_freqs = np.zeros(10, np.int64)
    laid, places, work = lay_out(bounds, found, docs, doc_freqs)
    assert laid.tolist() == [n for run in expected for n in [*sorted({*run}), -1]]
    assert [laid[p] for p in places] == [
        i for i in range(10) for _ in range(bounds[i], bounds[i + 1])
    ]
    later = [sum(len({n for n in run if n > i}) for run in expected if i in run) for i in range(10)]
    assert work.tolist() == later
    assert doc_freqs.tolist() == plain(documents, 10)[1]
    if longest == 0:
        x = np.zeros((len(expected), 10), np.int64)
        for i, run in enumerate(expected):
            x[i, run] = 1
        product = np.triu(x.T @ x, 1)[2:9]
        sizes, columns, counts = count_rows(2, 9, bounds, found, places, laid)
        assert sizes.tolist() == (product > 0).sum(axis=1).tolist()
        assert columns.tolist() == np.nonzero(product)[1].tolist()
        assert counts.tolist() == product[product > 0].tolist()

"""Words that are near on the graph of terms, as the risk of a robust expansion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.expand.robust import Robust
from likewise.expand.similarity import SIMILARITIES, by_graph
from likewise.terms.graph_cache import open_graph
from likewise.terms.nodes import Filters

TEXTS = [
    "wave wave beach surf",
    "wave tsunami japan earthquake",
    "japan earthquake tsunami warning coast",
    "japan prefecture asia",
    "wave function quantum",
    "beach holiday surf coast",
    "quantum physics function",
    "zebra wave",
]
WORDS = sorted({*" ".join(TEXTS).split()})


@pytest.fixture(scope="module")
def seas(shelved):
    with shelved(TEXTS) as shelf:
        yield shelf


def context_of(shelf, words, **options):
    question = shelf.ask(dict.fromkeys(words, 1.0))
    [context] = by_graph([question], shelf.search(**options), 50)
    return context


def test_alike_is_near_among_the_candidates(seas):
    """(I - S + εI)⁻¹ of the candidates alone, over the roots of its diagonal."""
    context = context_of(seas, ["japan", "wave"])
    opened = open_graph(seas.snapshot)
    names = opened.names(range(len(opened)))
    columns = np.array([5, 0, 3, 2, 7])
    nodes = [names.index(name) for name in context.pool.names(columns)]
    square = np.eye(len(nodes))
    for i, node in enumerate(nodes):
        to, entries = opened.laplacian.row(node)
        for other, entry in zip(to.tolist(), entries.tolist(), strict=True):
            if other in nodes:
                square[i, nodes.index(other)] -= entry
    kernel = np.linalg.inv(square + np.eye(len(nodes)))
    scale = np.sqrt(np.diag(kernel))
    expected = kernel / np.outer(scale, scale)
    assert np.allclose(context.similarity(columns), expected, rtol=1e-6, atol=1e-12)
    assert np.array_equal(context.risk(columns), context.similarity(columns))
    assert (expected - np.eye(5)).max() > 0.01


@given(words=st.sets(st.sampled_from(WORDS), min_size=1, max_size=5), seed=st.integers(0, 9))
def test_it_is_a_kernel(seas, words, seed):
    context = context_of(seas, words)
    columns = np.random.default_rng(seed).permutation(len(context.pool.terms))
    alike = context.similarity(columns)
    # The same bits both ways round, whatever the order.
    assert np.array_equal(alike, alike.T)
    assert np.array_equal(np.diag(alike), np.ones(len(columns)))
    assert alike.min() >= 0
    assert alike.max() <= 1
    assert np.linalg.eigvalsh(alike).min() > -1e-9


def test_words_that_are_no_terms_of_the_graph_are_like_none(shelve):
    shelf = shelve(TEXTS)
    # In two documents or more, so that the graph lacks most words.
    shelf.collection.terms.make_graph(filters=Filters(min_df=2, max_df=1))
    shelf.snapshot = shelf.collection.snapshot
    context = context_of(shelf, ["japan", "wave"])
    opened = open_graph(shelf.snapshot)
    names = context.pool.names(np.arange(len(context.pool.terms)))
    on_graph = np.isin(names, opened.names(range(len(opened))))
    assert 0 < on_graph.sum() < len(names)
    alike = context.similarity(np.arange(len(names)))
    assert np.array_equal(alike[~on_graph], np.eye(len(names))[~on_graph])
    among = alike[np.ix_(on_graph, on_graph)]
    assert (among - np.eye(len(among))).max() > 0
    # None at all.
    columns = np.flatnonzero(~on_graph)
    assert np.array_equal(context.similarity(columns), np.eye(len(columns)))
    assert context.similarity(columns[:0]).shape == (0, 0)


def test_names_of_several_words_are_like_none(shelve):
    shelf = shelve(TEXTS)
    shelf.collection.terms.make_graph(names=["japan", "tsunami japan", "earthquake", "wave"])
    shelf.snapshot = shelf.collection.snapshot
    context = context_of(shelf, ["tsunami", "wave"])
    names = context.pool.names(np.arange(len(context.pool.terms)))
    alike = context.similarity(np.arange(len(names)))
    rows = dict(zip(names, alike, strict=True))
    assert rows["earthquake"][names.index("japan")] > 0
    assert rows["tsunami"].sum() == 1


def test_robust_expansion_by_the_graph(seas):
    question = seas.ask({"japan": 1.0, "wave": 1.0})
    how = Robust(similarity="graph")
    grown = seas.expand(how, question)
    assert set(grown.terms) > {"japan", "wave"}
    assert min(grown.terms.values()) > 0
    assert sum(grown.terms.values()) == pytest.approx(2)
    two = how.expand([question] * 2, seas.search(threads=2))
    assert two == [grown, grown]
    # Another risk is another choice.
    assert grown.terms != seas.expand(Robust(similarity="jaccard"), question).terms


def test_a_query_without_documents_is_left_alone(seas):
    grown = seas.expand(Robust(similarity="graph"), seas.ask({"unheard": 1.0}))
    assert grown.terms == {}
    assert "no document answers it" in grown.skipped_reason


def test_the_ranking_is_needed():
    assert not SIMILARITIES["graph"].searches
    assert Robust(similarity="graph", docs=7).feedback_docs == 7

"""Expansion along the graph of terms: its formula, its limits, and queries that are left alone."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.expand import graph as module
from likewise.expand.expansion import NO_SHARE, ExpansionResult, Feedback, read_expander
from likewise.expand.graph import GraphExpander
from likewise.records import EMPTY
from likewise.terms.graph_cache import open_graph
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import Filters

TEXTS = [
    "wing flow flutter",
    "wing flow heat",
    "wing lift",
    "flutter flow",
    "heat oven bread",
    "bread oven flour",
    "bread flour",
    "flow heat",
    "zebra gnu",
    "okapi",
]
WORDS = sorted({*" ".join(TEXTS).split()})


@pytest.fixture
def shelf(shelve):
    return shelve(TEXTS)


def asked(**terms):
    return Feedback(terms, EMPTY)


def added(grown, query):
    return {term: weight for term, weight in grown.terms.items() if term not in query}


def formula(shelf, query, how):
    """The expanded query, in plain NumPy."""
    opened = open_graph(shelf.snapshot, how.graph, how.nearness)
    names = opened.names(range(len(opened)))
    kernel = np.maximum(opened.kernel.block(np.arange(len(names))), 0)
    df = np.array([shelf.doc_freqs[name] for name in names])
    idf = np.log(1 + (shelf.n_docs - df + 0.5) / (df + 0.5))
    own = [names.index(word) for word in query if word in names]
    weights = np.array([query[names[i]] for i in own]) * idf[own]
    logs = np.zeros(len(names))
    for i, weight in zip(own, weights / weights.sum(), strict=True):
        near = kernel[i].copy()
        near[own] = 0
        nearest = np.sort(near)[::-1][:20]
        logs += weight * np.log(0.1 + (near / nearest.mean() if nearest.any() else near))
    gains = (np.exp(logs) - 0.1) * np.sqrt(idf)
    gains[own] = 0
    best = sorted((i for i in range(len(names)) if gains[i] > 1e-9), key=lambda i: -gains[i])
    best = best[: how.terms]
    known = {word: weight for word, weight in query.items() if shelf.doc_freqs[word]}
    total = sum(known.values())
    out = {word: (1 - how.share) * weight for word, weight in known.items()}
    return out | {names[i]: how.share * total * gains[i] / gains[best].sum() for i in best}


HOW = [
    GraphExpander(),
    GraphExpander(terms=3, share=0.5),
    GraphExpander(kernel="diffusion(variance=2)", weights="cosine"),
    GraphExpander(kernel="resistance(eps=0.1)", laplacian="combinatorial", weights="counts"),
]


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize(
    "query",
    [
        {"wing": 1.0},
        {"wing": 2.0, "bread": 1.0},
        {"flow": 1.0, "heat": 0.25, "okapi": 1.0},
        {"flow": 1.0, "unheard": 3.0},
    ],
)
def test_the_expansion_is_the_formula(shelf, how, query):
    found = shelf.expand(how, asked(**query)).terms
    assert dict(found) == pytest.approx(formula(shelf, query, how), rel=1e-6)
    assert [*found.values()] == sorted(found.values(), reverse=True)


def test_only_the_nearest_are_the_measure(shelve):
    """With more than 20 terms the mean is that of the 20 nearest."""
    shelf = shelve([*TEXTS, "wing " + " ".join(f"w{i}" for i in range(30)), "w0 flow"])
    query = {"wing": 1.0, "heat": 1.0}
    expected = formula(shelf, query, GraphExpander())
    assert dict(shelf.expand(GraphExpander(), asked(**query)).terms) == pytest.approx(expected)


def test_what_is_near_to_all_words_comes_before_what_is_near_to_one(shelf):
    terms = [*added(shelf.expand(GraphExpander(), asked(flow=1, bread=1)), {"flow", "bread"})]
    assert terms[0] == "heat"
    alone = [*added(shelf.expand(GraphExpander(), asked(bread=1)), {"bread"})]
    assert alone[:2] == ["flour", "oven"]


@given(
    words=st.dictionaries(
        st.sampled_from([*WORDS, "unheard"]), st.floats(0.01, 100), min_size=1, max_size=5
    ),
    share=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_weights_are_positive_and_add_up_to_the_querys(shelved_once, words, share):
    how = GraphExpander(share=share)
    grown = shelved_once.expand(how, asked(**words))
    known = {word: weight for word, weight in words.items() if word != "unheard"}
    if not grown.terms:
        assert grown.skipped_reason
        return
    assert min(grown.terms.values()) > 0
    assert sum(grown.terms.values()) == pytest.approx(sum(known.values()))
    kept = {word: grown.terms.get(word, 0.0) for word in known}
    assert kept == pytest.approx({word: (1 - share) * weight for word, weight in known.items()})
    assert added(grown, known)


@pytest.fixture(scope="module")
def shelved_once(shelved):
    with shelved(TEXTS) as shelf:
        yield shelf


def test_no_share_asks_no_graph(shelf, monkeypatch):
    monkeypatch.setattr("likewise.terms.related.TermGraph.__init__", None)
    how = GraphExpander(share=0.0)
    assert (
        how.expand([asked(wing=1), asked()], shelf.search()) == [ExpansionResult({}, NO_SHARE)] * 2
    )


@pytest.mark.parametrize("query", [{"unheard": 1.0}, {}, {"wing": 0.0}, {"wing": 1e300}])
def test_no_word_of_the_graph(shelf, query):
    grown = shelf.expand(GraphExpander(), asked(**query))
    assert grown == ExpansionResult({}, "no word of it is a term of the graph")


def test_a_word_without_edges_is_left_alone(shelf):
    grown = shelf.expand(GraphExpander(), asked(okapi=1))
    assert grown == ExpansionResult({}, "no term stands out in the graph")


def test_words_of_the_collection_that_are_no_nodes_stay_in_the_query(shelf):
    shelf.collection.terms.make_graph(filters=Filters(min_df=2, max_df=1))
    snapshot = shelf.collection.snapshot
    assert "lift" not in open_graph(snapshot).names(range(len(open_graph(snapshot))))
    [answered] = shelf.collection.pipeline(lw.stage("graph"))("wing lift")
    assert answered.query.terms["lift"] == pytest.approx(0.8)
    assert answered.query.terms["wing"] == pytest.approx(0.8)
    [answered] = shelf.collection.pipeline(lw.stage("graph"))("lift")
    assert answered.query.expansion.skipped_reason == "no word of it is a term of the graph"


def test_no_term_that_is_not_connected(shelf):
    terms = shelf.expand(GraphExpander(terms=1000), asked(wing=1)).terms
    assert {*terms} == {*WORDS} - {"zebra", "gnu", "okapi"}
    # With a word elsewhere, what is near to it counts for little, but for something.
    both = added(shelf.expand(GraphExpander(terms=1000), asked(wing=1, zebra=1)), {"wing", "zebra"})
    assert {*both} == {*WORDS} - {"wing", "zebra", "okapi"}


def test_terms_is_how_many(shelf):
    every = [*added(shelf.expand(GraphExpander(), asked(wing=1)), {"wing"})]
    for n in (1, 2, 5):
        found = shelf.expand(GraphExpander(terms=n), asked(wing=1))
        assert [*added(found, {"wing"})] == every[:n]


BATCH = [{word: 1.0} for word in WORDS] + [
    {"wing": 1.0, "heat": 2.0},
    {"unheard": 1.0},
    {},
    {"zebra": 0.5, "flow": 1.0},
    *({a: 1.0, b: 1.0} for a, b in pairwise(WORDS)),
]


@pytest.mark.parametrize("cells", [1 << 24, 0])
def test_a_batch_is_as_each_alone(shelf, cells, monkeypatch):
    """More than are worked out together, whether their columns are kept or not."""
    assert len(BATCH) > module._TOGETHER
    monkeypatch.setattr(module, "_CELLS", cells)
    batch = [asked(**query) for query in BATCH]
    together = GraphExpander().expand(batch, shelf.search())
    for one, alone in zip(together, batch, strict=True):
        single = shelf.expand(GraphExpander(), alone)
        assert one.skipped_reason == single.skipped_reason
        assert dict(one.terms) == pytest.approx(dict(single.terms), rel=1e-9)


def test_threads_do_not_change_the_bits(shelve):
    found = []
    for threads in (1, 2):
        # Graphs are kept with a snapshot, so that each has its own.
        shelf = shelve(TEXTS)
        batch = [asked(**query) for query in BATCH]
        found.append(GraphExpander().expand(batch, shelf.search(threads=threads)))
    assert found[0] == found[1]


# Graphs of names


def test_names_of_several_words_are_no_terms(shelf):
    names = ["wing", "flow heat", "flutter", "lift", "flow", "unheard of", "unheard"]
    shelf.collection.terms.make_graph(names=names, within="document")
    [answered] = shelf.collection.pipeline(lw.stage("graph"))("wing")
    assert {*answered.query.terms} == {"wing", "flow", "flutter", "lift"}


def test_spellings_of_a_term_are_one(shelve):
    shelf = shelve(["Wing flow", "wing Flow", "wing heat", "WING flow", "flow heat"])
    names = ["Wing", "wing", "WING", "flow", "Flow", "heat"]
    shelf.collection.terms.make_graph(names=names, exact=True, within="document")
    opened = shelf.collection.terms.graph()
    assert len(opened) == 6
    for word in ("wing", "flow", "heat"):
        [answered] = shelf.collection.pipeline(lw.stage("graph"))(word)
        terms = answered.query.terms
        assert {*terms} == {"wing", "flow", "heat"}
        assert terms[word] == pytest.approx(0.8)
        assert sum(terms.values()) == pytest.approx(1)


# How it is reached


def test_a_graph_by_name(shelf):
    few = Filters(min_df=3, max_df=1)
    shelf.collection.terms.make_graph(filters=few, name="few")
    shelf.collection.terms.make_graph()
    [last] = shelf.collection.pipeline(lw.stage("graph"))("wing")
    [named] = shelf.collection.pipeline(lw.stage("graph(graph=few)"))("wing")
    assert {*named.query.terms} < {*last.query.terms}
    assert {*named.query.terms} == {"wing", "flow", "heat", "bread"}
    with pytest.raises(UsageError, match="no term graph 'other'"):
        shelf.collection.pipeline(expand="graph(graph=other)")


def test_the_graph_is_made_where_there_is_none(shelf):
    assert shelf.collection.info()["documents"] == len(TEXTS)
    answers = shelf.collection.search("lift", expand="graph")
    assert len(answers) > len(shelf.collection.search("lift", method="bm25"))
    assert shelf.collection.terms.graph().stored.entry is not None
    # It finds the same as one that is not stored.
    direct = shelf.expand(GraphExpander(), asked(lift=1))
    assert dict(answers.expanded.added) == pytest.approx(added(direct, {"lift"}))


def test_a_search_that_cannot_be_leaves_no_graph(shelf):
    with pytest.raises(UsageError, match="no terms to expand"):
        shelf.collection.pipeline("hybrid", expand="graph")
    assert shelf.collection.terms.graphs == []


def test_it_is_read_as_it_is_written():
    how = read_expander("graph(terms=5,share=0.3,kernel=walk,weights=npmi)")
    assert how == GraphExpander(terms=5, share=0.3, kernel="walk", weights="npmi")
    assert read_expander(str(how)) == how
    assert read_expander("graph") == GraphExpander()
    assert how.nearness == Nearness(kernel="walk", weights="npmi")
    assert how.with_share(0.7) == GraphExpander(terms=5, share=0.7, kernel="walk", weights="npmi")
    assert how.feedback_docs == 0
    assert read_expander("robust(similarity=graph)").by_graph
    assert not read_expander("robust").by_graph


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("graph(terms=0)", "terms of at least 1"),
        ("graph(share=1.5)", "graph needs share from 0"),
        ("graph(kernel=x)", "unknown kernel 'x'"),
        ("graph(weights=x)", "weights is one of idf"),
        ("graph(laplacian=x)", "laplacian is one of normalised"),
        ("graph(kernel=walk,laplacian=combinatorial)", "defined on the normalised Laplacian"),
        ("graph(docs=3)", "'docs=3' is no option"),
    ],
)
def test_what_cannot_be_meant_is_refused(how, message):
    with pytest.raises(UsageError, match=message):
        read_expander(how)

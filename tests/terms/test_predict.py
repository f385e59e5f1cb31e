import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.build import Resources
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document
from likewise.terms.catalogue import Stored
from likewise.terms.kinds import GraphSettings
from likewise.terms.nodes import Filters, choose_nodes, read_names
from likewise.terms.predict import add_votes, predict, read_ballot
from likewise.terms.related import TermGraph

from .counts_in_python import made_of
from .graphs import dense

TEXTS = [
    "Wing flutter. Wing flow, flow",
    "Flow of heat",
    "Heat, bread and an oven",
    "An oven. Oven, oven",
    "",
    "Zebra",
]
MORE = ["Flutter of bread", "Heat heat heat flow"]
NAMES = ["wing flutter", "flow", "OVEN", "heat", "unheard of"]
KINDS = ["terms", "words", "exact"]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    """Two segments, with a deleted document in the first."""
    folder = tmp_path_factory.mktemp("predict") / "c"
    made_of(folder, TEXTS)
    with Writer(folder) as writer:
        writer._merge = lambda *_: None
        documents = [Document(text, text=text) for text in MORE]
        writer.add(documents, resources=Resources(threads=1))
        writer.delete(["1"])
    return open_snapshot(folder)


@pytest.fixture(scope="module", params=KINDS)
def graph(request, snapshot):
    if request.param == "terms":
        nodes = choose_nodes(snapshot, Filters(min_df=1, max_df=1))
    else:
        nodes = read_names(snapshot, NAMES, exact=request.param == "exact")
    return TermGraph(Stored(snapshot, None, nodes, GraphSettings()))


def holders(graph):
    """Tell which nodes each document mentions, text by text."""
    texts = [*TEXTS, *MORE]
    return [{*graph.stored.nodes.find(graph.collection, text).tolist()} for text in texts]


def shares(values):
    return values / values.sum()


DOCS = np.array([7, 0, 2, 6, 3])
SCORES = np.array([0.9, 0.7, 0.5, 0.4, 0.1])


def test_votes_are_those_of_a_plain_loop(graph):
    votes = np.zeros(len(graph))
    for doc, score in zip(DOCS, SCORES, strict=True):
        for node in holders(graph)[doc]:
            votes[node] += score**2
    found = predict(graph, DOCS, SCORES, stepped=0.0)
    assert found.scores == pytest.approx(shares(votes))
    assert np.array_equal(found.scores, found.voted)


@pytest.mark.parametrize("stepped", [0.25, 0.5, 1.0])
def test_votes_take_a_step_along_the_edges(graph, stepped):
    weights = dense(graph.graph)
    degrees = weights.sum(axis=1)
    voted = predict(graph, DOCS, SCORES, stepped=0.0).scores
    spread = np.zeros(len(graph))
    for node in np.flatnonzero(degrees):
        spread += voted[node] * weights[node] / degrees[node]
    found = predict(graph, DOCS, SCORES, stepped=stepped)
    # A graph without edges leaves votes where they are.
    step = stepped if degrees.any() else 0
    expected = (1 - step) * voted + (step * shares(spread) if step else 0)
    assert found.scores == pytest.approx(expected)
    assert found.voted == pytest.approx((1 - step) * voted)
    assert found.scores.sum() == pytest.approx(1)
    assert found.scores.min() >= 0


def test_a_term_that_nobody_mentions_is_found_by_its_edges(snapshot):
    nodes = choose_nodes(snapshot, Filters(min_df=1, max_df=1))
    graph = TermGraph(Stored(snapshot, None, nodes, GraphSettings()))
    number = {name: node for node, name in enumerate(graph.names(range(len(graph))))}
    found = predict(graph, np.array([2]), np.array([1.0]))
    assert found.voted[number["flutter"]] == 0 < found.scores[number["flutter"]]
    assert found.voters(number["flutter"]) == []
    assert found.scores[number["zebra"]] == 0


def test_the_voters_of_a_term_share_its_votes(graph):
    found = predict(graph, DOCS, SCORES)
    for node in range(len(graph)):
        every = found.voters(node, 100)
        has = [doc for doc in DOCS if node in holders(graph)[doc]]
        assert {doc for doc, _ in every} == {*has}
        assert sum(part for _, part in every) == pytest.approx(found.voted[node])
        parts = [part for _, part in every]
        assert parts == sorted(parts, reverse=True)
        assert found.voters(node, 1) == every[:1]
        scores = dict(zip(DOCS.tolist(), SCORES.tolist(), strict=True))
        assert [doc for doc, _ in every] == sorted(has, key=lambda doc: -scores[doc])


def test_distinctive_terms_are_voted_for_above_their_usual_share(graph):
    found = predict(graph, DOCS, SCORES)
    usual = graph.stored.counted.doc_freqs
    told = found.distinctive(usual)
    for node, p in enumerate(found.scores.tolist()):
        q = usual[node] / usual.sum()
        assert told[node] == (pytest.approx(p * np.log(p / q)) if p > 0 else 0)
    # They are the parts of a divergence.
    assert told.sum() > 0
    assert told.min() < 0 < told.max()
    # Votes as documents are in general tell nothing.
    everywhere = found._replace(scores=usual / usual.sum())
    assert everywhere.distinctive(usual) == pytest.approx(np.zeros(len(graph)))
    assert not found.distinctive(np.zeros_like(usual)).any()


def test_the_order_of_documents_does_not_matter(graph):
    one = predict(graph, DOCS, SCORES)
    other = predict(graph, DOCS[::-1].copy(), SCORES[::-1].copy())
    assert np.array_equal(one.scores, other.scores)
    assert one.voters(0) == other.voters(0)


def test_no_document_gives_no_prediction(graph):
    for docs in ([], [4], [5] if graph.stored.nodes.kind != "terms" else []):
        found = predict(graph, np.array(docs, np.int64), np.ones(len(docs)))
        assert not found.scores.any()
        assert found.voters(0) == []


def test_scores_of_nothing_do_not_vote(graph):
    found = predict(graph, DOCS, np.array([0.0, -0.5, 0.0, -1.0, 0.0]))
    assert not found.scores.any()
    assert all(found.voters(node) == [] for node in range(len(graph)))
    # Beside others they change nothing.
    one = predict(graph, DOCS[:2], SCORES[:2])
    other = predict(graph, DOCS, np.array([0.9, 0.7, 0.0, -1.0, 0.0]))
    assert np.array_equal(one.scores, other.scores)
    for node in range(len(graph)):
        assert one.voters(node) == other.voters(node)


def test_a_ballot_has_the_documents_of_all_segments(graph):
    ballot = read_ballot(graph, DOCS, SCORES)
    assert ballot.docs.tolist() == sorted(DOCS)
    for i, doc in enumerate(ballot.docs.tolist()):
        its = ballot.nodes[ballot.bounds[i] : ballot.bounds[i + 1]]
        assert {*its.tolist()} == holders(graph)[doc]
        assert ballot.weights[i] == SCORES[DOCS.tolist().index(doc)]


@given(
    documents=st.lists(
        st.tuples(st.lists(st.integers(0, 4), max_size=8), st.floats(0, 10, allow_subnormal=False)),
        max_size=6,
    )
)
def test_the_kernel_counts_a_document_once(documents):
    weights = np.array([weight for _, weight in documents], np.float64)
    bounds = np.cumsum([0, *(len(its) for its, _ in documents)])
    nodes = np.array([node for its, _ in documents for node in its], np.int32)
    expected = [sum(weight for its, weight in documents if node in its) for node in range(5)]
    assert add_votes(weights, bounds, nodes, 5).tolist() == expected

"""Do stored halves rank as the formulas say, whatever the path?"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.like.components import EncodedQuery, Encoder, QueryWords, mix, word_norms
from likewise.like.hybrid import Likeness
from likewise.like.kernels import SPECIFIC, scan_words, table_of
from likewise.models.model import Weights
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.models.topics import TopicModel
from likewise.neighbours.int8 import (
    CodedPoints,
    decode,
    encode,
    scan_points,
    scan_rows,
    score_points,
)
from likewise.records import Filter
from likewise.retrieve.question import of_doc, of_text
from likewise.stages.masks import mask_of
from likewise_papers.like.published import PublishedEncoder

from .conftest import documents
from .one_part import score_part

MODELS = ["lsi", "lda", "ddm"]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A collection of several segments, with deletions, and three models."""
    folder = tmp_path_factory.mktemp("likeness") / "c.lw"
    every = list(documents(90))
    c = lw.index(every[:40], to=folder, model=None)
    c.add(every[40:70])
    c.add(every[70:])
    c.delete([every[3]["id"], every[50]["id"]])
    c.models.fit("lsi(topics=4)")
    c.models.fit("lda(topics=3,sweeps=40)")
    c.models.fit("ddm(topics=3,sweeps=40)")
    return c


# Ways of comparing: the product's, and the papers'.
WAYS = {
    "hybrid": Encoder,
    "published": PublishedEncoder,
}


def dense(collection, view):
    """Everything compared, worked out anew from the triples in double precision."""
    s, model = collection.snapshot, view.model
    docs = np.arange(s.n_slots)
    counts = s.term_counts(docs)
    triples = model.transform(counts, words=1000)
    points = model.compact(counts, triples).astype(np.float64)
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    points /= np.where(lengths > 0, lengths, 1)
    words = np.zeros((s.n_slots, s.n_terms))
    for i in range(s.n_slots):
        mine = slice(triples.bounds[i], triples.bounds[i + 1])
        words[i, triples.terms[mine]] = triples.weights[mine]
    topical = isinstance(model, TopicModel)
    published = isinstance(view, PublishedEncoder)
    if topical and not published:
        norms = np.linalg.norm(words, axis=1, keepdims=True)
        words /= np.where(norms > 0, norms, 1)
    shares = triples.shares[:, :2].astype(np.float64)
    if published and topical:
        known = points.any(axis=1, keepdims=True)
        return triples.topics * known * shares[:, :1], words * shares[:, 1:]
    if published:
        return triples.topics.astype(np.float64), words * np.sqrt(shares[:, 1:])
    return points, words


def by_words(collection, doc):
    """BM25 of a document as the query for all others, over its own score."""
    s = collection.snapshot
    slots = np.arange(s.n_slots)
    counts = np.zeros((s.n_slots, s.n_terms))
    bounds, terms, numbers = s.term_counts(slots)
    for i in slots.tolist():
        mine = slice(bounds[i], bounds[i + 1])
        counts[i, terms[mine]] = numbers[mine]
    doc_freqs = (counts[s.live_docs()] > 0).sum(axis=0)
    idf = np.log1p((s.n_docs - doc_freqs + 0.5) / (doc_freqs + 0.5))
    lengths = counts.sum(axis=1, keepdims=True) / s.average_length
    impacts = counts / np.maximum(counts + 1.2 * (0.25 + 0.75 * lengths), 1e-9)
    scores = impacts @ (counts[doc] * idf)
    return scores / scores[doc]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("how", WAYS)
def test_scores_are_those_of_the_formulas(three, model, how):
    view = WAYS[how](vectors_of(three.snapshot, model))
    likeness = Likeness(view, Weights(1.0, 1.5, 0.7))
    points, words = dense(three, view)
    s = three.snapshot
    for doc in (0, 41, 75):
        asked = view.encode(of_doc(s, doc).counts)
        ranking, _ = likeness.rank(asked, k=200, candidates=0)
        expected = points @ points[doc] + 1.5 * words @ words[doc] + 0.7 * by_words(three, doc)
        assert set(ranking.docs.tolist()) <= set(s.live_docs().tolist())
        assert ranking.scores == pytest.approx(expected[ranking.docs], abs=0.02)
        assert (np.diff(ranking.scores) <= 0).all()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("how", WAYS)
def test_parts_add_up_to_the_score(three, model, how):
    view = WAYS[how](vectors_of(three.snapshot, model))
    likeness = Likeness(view, Weights(0.7, 1.5, 0.6))
    asked = view.encode(of_text(three.snapshot, "laminar boundary layer flutter").counts)
    ranking, _ = likeness.rank(asked, k=50, candidates=0)
    assert len(ranking.docs)
    for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
        assert likeness.parts(asked, doc).score == pytest.approx(score, abs=1e-6)


def test_deep_enough_candidates_give_what_the_scan_gives(three):
    view = Encoder(vectors_of(three.snapshot, "lsi"))
    likeness = Likeness(view, Weights(1.0, 1.0, 1.0))
    asked = [view.encode(of_doc(three.snapshot, doc).counts) for doc in range(0, 90, 7)]
    for one in asked:
        (a, _), (b, _) = (likeness.rank(one, k=5, candidates=depth) for depth in (0, 90))
        assert a.docs.tolist() == b.docs.tolist()
        assert a.scores.tobytes() == b.scores.tobytes()


def test_own_words_bring_candidates_that_are_far_by_topics(tmp_path):
    texts = [f"alpha beta gamma delta number{i}" for i in range(60)]
    texts += ["omega sigma tau upsilon quaternion", "alpha beta gamma delta quaternion"]
    c = lw.index(
        [{"id": str(i), "text": text} for i, text in enumerate(texts)],
        to=tmp_path / "c.lw",
        model="lsi(topics=2)",
    )
    view = Encoder(vectors_of(c.snapshot))
    asked = view.encode(of_doc(c.snapshot, 61).counts)
    likeness = Likeness(view, Weights(1.0, 2.0))
    words, _ = likeness.rank(asked, k=1, candidates=1, omit=np.array([61]))
    assert words.docs.tolist() == [60]


def test_filters_and_documents_left_out(three):
    s = three.snapshot
    view = Encoder(vectors_of(three.snapshot, "lsi"))
    likeness = Likeness(view, Weights())
    asked = view.encode(of_doc(s, 0).counts)
    allowed = mask_of(s, Filter.read("theme=wing")).segments
    for depth in (0, 10):
        ranking, _ = likeness.rank(asked, k=100, candidates=depth, allowed=allowed)
        assert {three.snapshot.document(doc).fields["theme"] for doc in ranking.docs} == {"wing"}
        ranking, _ = likeness.rank(asked, k=200, candidates=depth, omit=np.array([0, 1]))
        assert not {0, 1} & set(ranking.docs.tolist())


def test_nothing_is_like_nothing(three):
    view = Encoder(vectors_of(three.snapshot, "lsi"))
    asked = view.encode(of_text(three.snapshot, "").counts)
    for depth in (0, 10):
        ranking, _ = Likeness(view, Weights()).rank(asked, k=10, candidates=depth)
        assert len(ranking.docs) == 0
    with pytest.raises(UsageError, match="k must be at least 1"):
        Likeness(view, Weights()).rank(asked, k=0, candidates=0)


@pytest.mark.parametrize("model", MODELS)
def test_a_mixture_scores_the_mean_less_what_is_unlike(three, model):
    view = Encoder(vectors_of(three.snapshot, model))
    likeness = Likeness(view, Weights(1.0, 1.0, 1.0))
    one, two, away = (view.encode(of_doc(three.snapshot, doc).counts) for doc in (0, 1, 2))
    mixed = mix([one, two], [away], against=0.5)
    for doc in (10, 41, 80):
        scores = [likeness.parts(asked, doc).score for asked in (one, two, away)]
        expected = (scores[0] + scores[1]) / 2 - 0.5 * scores[2]
        assert likeness.parts(mixed, doc).score == pytest.approx(expected, abs=1e-6)


def test_what_is_not_stored_is_worked_out(three):
    stored, made = (
        vectors_of(three.snapshot, "lsi"),
        StoredVectors(three.snapshot, three.models["lsi"]),
    )
    for a, b in zip(stored.segments, made.segments, strict=True):
        for x, y in zip((*a.dense, *a[1:]), (*b.dense, *b[1:]), strict=True):
            assert np.array_equal(x, y)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(0, 30),
)
@settings(max_examples=50)
def test_kernels_equal_numpy(seed, n_docs, width, n_asked):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n_docs, width)).astype(np.float32)
    rows[generator.random(n_docs) < 0.2] = 0
    coded = encode(rows)
    assert decode(coded) == pytest.approx(rows, abs=float(np.abs(rows).max(initial=0)) / 100)
    assert np.linalg.norm(decode(coded), axis=1) == pytest.approx(
        np.linalg.norm(rows, axis=1), rel=1e-5
    )
    query = generator.normal(size=width)
    expected = (coded.codes.astype(np.float64) @ query) * coded.scales
    out = np.empty(n_docs, np.float32)
    scan_points(*coded, query.astype(np.float32), out)
    assert out == pytest.approx(expected, abs=1e-3)
    chosen = generator.integers(0, n_docs, 10)
    few = np.empty(10, np.float32)
    scan_rows(chosen, *coded, query.astype(np.float32), few)
    assert few == pytest.approx(expected[chosen], abs=1e-3)
    some = np.empty(10)
    score_points(chosen, *coded, query, some)
    assert some == pytest.approx(expected[chosen], abs=1e-9)

    sizes = generator.integers(0, 6, n_docs)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    terms = np.concatenate(
        [generator.choice(50, size, replace=False) for size in sizes] + [np.empty(0)]
    ).astype(np.int32)
    weights = generator.integers(-127, 128, len(terms)).astype(np.int8)
    scales = generator.random(n_docs).astype(np.float32)
    asked = np.sort(generator.choice(60, n_asked, replace=False))
    values = generator.normal(size=n_asked)
    vector = np.zeros(60)
    vector[asked] = values
    products = vector[terms] * weights
    sums = np.array([products[a:b].sum() for a, b in pairwise(bounds)])
    table, words = table_of(specific=(asked, values)), (bounds, terms, weights, scales)
    some = score_part(SPECIFIC, chosen, words, (asked, values))
    assert some == pytest.approx((sums * scales)[chosen], abs=1e-9)
    added = np.ones(n_docs, np.float32)
    scan_words(words, table, 2.0, added)
    assert added == pytest.approx(1 + 2 * sums * scales, abs=1e-2)
    norms = np.empty(n_docs, np.float32)
    word_norms(bounds, weights, norms)
    expected = [np.linalg.norm(weights[a:b]) for a, b in pairwise(bounds)]
    assert norms == pytest.approx(np.array(expected), rel=1e-5)


def test_coded_points_read_as_one_array():
    generator = np.random.default_rng(0)
    pieces = [encode(generator.normal(size=(n, 5)).astype(np.float32)) for n in (3, 0, 4)]
    whole = np.concatenate([decode(piece) for piece in pieces])
    points = CodedPoints(pieces)
    assert points.shape == (7, 5)
    assert np.array_equal(points[1:6], whole[1:6])
    assert np.array_equal(points[np.array([6, 0, 3])], whole[[6, 0, 3]])


def test_asking_for_one_document_is_not_changed_by_mixing():
    words = QueryWords(np.array([3]), np.ones(1), np.ones(1))
    asked = EncodedQuery(np.ones(2), np.array([3]), np.ones(1), words)
    assert mix([asked], [], against=0.5) is asked

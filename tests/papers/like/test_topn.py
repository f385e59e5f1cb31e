import math
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise import notation
from likewise.collection.build import Resources
from likewise.collection.creating import create
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.engine.pipeline import Pipeline
from likewise.errors import UsageError
from likewise.like.components import Encoder
from likewise.like.hybrid import Likeness
from likewise.models.model import Weights
from likewise.models.stored_vectors import vectors_of
from likewise.records import Document, Query, QueryDocument
from likewise.retrieve.documents import Whole, words_of
from likewise.retrieve.models import BM25, TFIDF, JelinekMercer, QueryLikelihood
from likewise.retrieve.question import AGAINST, Question, of_doc, of_text
from likewise.retrieve.search import Retriever
from likewise.text.analysis import Analysis
from likewise_papers.like.topn import TopN, TopNTopics, TopNTopicsRanker, top_n

PLAIN = Analysis(language="none", stemmer="none", stop="none", min_length=1)
MODELS = [TFIDF(), BM25(), QueryLikelihood(50), JelinekMercer()]


@contextmanager
def stored(texts, *, pieces=1, deleted=(), analysis=PLAIN):
    """A collection of lists of words, in several segments, while a block lasts."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "c"
        create(folder, analysis)
        step = -(-len(texts) // pieces) or 1
        with Writer(folder) as writer:
            writer._merge = lambda *_: None
            for first in range(0, len(texts), step):
                batch = enumerate(texts[first : first + step], first)
                documents = [Document(f"d{i}", "", " ".join(words)) for i, words in batch]
                writer.add(documents, resources=Resources(threads=1))
            if deleted:
                writer.delete([f"d{i}" for i in deleted])
        yield open_snapshot(folder)


def texts_of(seed, n_docs=40, *, n_words=50, longest=25):
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, n_words + 1)
    words = np.array([f"w{i:02}" for i in range(n_words)])
    return [
        generator.choice(words, generator.integers(0, longest), p=shares / shares.sum()).tolist()
        for _ in range(n_docs)
    ]


class Cosines:
    """TF-IDF by its definition, from the words of the live documents."""

    def __init__(self, texts, deleted=()):
        self.texts = [Counter(words) for words in texts]
        self.live = [i for i in range(len(texts)) if i not in deleted]
        self.doc_freqs = Counter(w for i in self.live for w in self.texts[i])

    def vector(self, i):
        return {
            word: (1 + math.log(n)) * math.log(1 + len(self.live) / self.doc_freqs[word])
            for word, n in self.texts[i].items()
            if self.doc_freqs[word]
        }

    def best(self, i, n):
        vector = self.vector(i)
        return dict(sorted(vector.items(), key=lambda item: (-item[1], item[0]))[: n or None])

    def score(self, i, j, n=0):
        left, right = self.best(i, n), self.vector(j)
        lengths = [math.sqrt(sum(x * x for x in v.values())) for v in (left, right)]
        if not all(lengths):
            return 0.0
        return sum(x * right.get(word, 0.0) for word, x in left.items()) / math.prod(lengths)


def ask(collection, like, unlike=()):
    return Question(
        "q",
        tuple(of_doc(collection, i) for i in like),
        tuple(of_doc(collection, i) for i in unlike),
    )


def asking(like, unlike=()):
    """The same as a query."""
    return Query(
        "q",
        like=tuple(QueryDocument(f"d{i}") for i in like),
        unlike=tuple(QueryDocument(f"d{i}") for i in unlike),
    )


def check(ranking, expected, k):
    """Compare a ranking with the scores of all documents that may be answers."""
    best = sorted((-score, i) for i, score in expected.items() if abs(score) > 1e-9)[:k]
    assert len(ranking.docs) == len(best)
    assert ranking.scores == pytest.approx([-score for score, _ in best], abs=2e-6)
    for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
        assert score == pytest.approx(expected[doc], abs=2e-6)
    order = np.lexsort((ranking.docs, -ranking.scores))
    assert order.tolist() == list(range(len(order)))


def parts_of(scorer, doc):
    """The parts of one score."""
    return scorer.explain(np.array([doc]))[0].parts


def same(left, right):
    return all(
        a.docs.tolist() == b.docs.tolist() and a.scores.tolist() == b.scores.tolist()
        for a, b in zip(left, right, strict=True)
    )


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    pieces=st.integers(1, 3),
    deletes=st.booleans(),
    masked=st.booleans(),
    words=st.sampled_from([0, 1, 4]),
    n_like=st.integers(1, 3),
    n_unlike=st.integers(0, 2),
    k=st.sampled_from([1, 5, 100]),
)
def test_scores_are_mean_cosines(seed, pieces, deletes, masked, words, n_like, n_unlike, k):
    generator = np.random.default_rng(seed)
    texts = texts_of(seed)
    deleted = generator.choice(len(texts), 6, replace=False).tolist() if deletes else []
    cosines = Cosines(texts, deleted)
    chosen = generator.choice(cosines.live, n_like + n_unlike, replace=False).tolist()
    like, unlike = chosen[:n_like], chosen[n_like:]
    with stored(texts, pieces=pieces, deleted=deleted) as collection:
        assert len(collection.segments) == pieces
        allowed = None
        if masked:
            allowed = [generator.random(segment.n_docs) < 0.5 for segment in collection.segments]
        mask = np.concatenate(allowed) if masked else np.ones(len(texts), bool)
        expected = {}
        for i in cosines.live:
            found = any(cosines.score(j, i, words) for j in like)
            if mask[i] and i not in chosen and found:
                expected[i] = sum(cosines.score(j, i, words) for j in like) / n_like
                if unlike:
                    against = sum(cosines.score(j, i, words) for j in unlike) / n_unlike
                    expected[i] -= AGAINST * against
        question = ask(collection, like, unlike)
        ranker = Whole(Retriever(collection, TFIDF()))
        if words:
            ranker = top_n(collection, TopN(words))
        ranking, scorer = ranker.rank(question, k=k, allowed=allowed)
        check(ranking, expected, k)
        for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
            parts = parts_of(scorer, doc)
            assert sum(part.score for part in parts) == pytest.approx(score, abs=2e-6)
            sizes = [abs(part.score) for part in parts]
            assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), model=st.sampled_from(MODELS), words=st.sampled_from([0, 3]))
def test_forward_records_give_the_bits_of_a_search(seed, model, words):
    with stored(texts_of(seed), pieces=2) as collection:
        retriever = Retriever(collection, model)
        ranker = Whole(retriever, words=words)
        for doc in range(5):
            query = ranker.take(of_doc(collection, doc))
            ranking = retriever.rank([query], k=1000)[0]
            assert ranker.score(query, ranking.docs).tolist() == ranking.scores.tolist()


def test_own_parts_of_documents_count_for_every_example():
    """By query likelihood a document is scored for an example with which it shares no word."""
    texts = [["a", "b"], ["c", "d"], ["a", "x", "y"], ["c", "z"]]
    with stored(texts) as collection:
        ranker = Whole(Retriever(collection, QueryLikelihood(10)))
        question = ask(collection, [0, 1])
        ranking, scorer = ranker.rank(question, k=5)
        assert sorted(ranking.docs.tolist()) == [2, 3]
        for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
            length = len(texts[doc])
            own = 2 * math.log(10 / (10 + length))
            # Both words that are shared stand in two of the nine places.
            assert score == pytest.approx((math.log1p(1 / (10 * 2 / 9)) + 2 * own) / 2, abs=1e-6)
            parts = parts_of(scorer, doc)
            assert sum(part.score for part in parts) == pytest.approx(score, abs=1e-6)


def test_threads_and_batches_change_no_bit():
    with stored(texts_of(3, 80), pieces=2) as collection:
        queries = [asking([i, i + 1], [i + 2]) for i in range(0, 60, 3)]
        for stage in (BM25(), TopN(5)):
            one = [Pipeline(collection, stage, k=7)(query)[0].ranking for query in queries]
            for threads in (1, 3):
                found = Pipeline(collection, stage, k=7, threads=threads)(queries)
                assert same(one, [result.ranking for result in found])


def test_unlike_lowers_a_document():
    texts = [["a", "b", "c"], ["a", "b"], ["b", "c"], ["c", "d", "e"], ["e", "f"]]
    with stored(texts) as collection:
        ranker = Whole(Retriever(collection, TFIDF()))
        plain, _ = ranker.rank(ask(collection, [0]), k=9)
        away, _ = ranker.rank(ask(collection, [0], [3]), k=9)
        assert set(plain.docs.tolist()) == {1, 2, 3}
        assert away.docs.tolist() == [1, 2]
        before, after = (dict(zip(r.docs.tolist(), r.scores, strict=True)) for r in (plain, away))
        assert after[2] < before[2]
        assert after[1] == before[1]


def test_nothing_known_finds_nothing():
    with stored([["a", "b"], ["a"], []]) as collection:
        for ranker in (Whole(Retriever(collection, BM25())), top_n(collection)):
            for example in (of_doc(collection, 2), of_text(collection, "zzz qqq")):
                question = Question("q", (example,))
                ranking, scorer = ranker.rank(question, k=3)
                assert len(ranking.docs) == 0
                assert scorer.score(np.array([0, 1])).tolist() == [-math.inf, -math.inf]
                assert parts_of(scorer, 0) == ()


def test_a_text_from_outside_is_asked_by_its_known_words():
    with stored([["a", "b"], ["c"], ["b", "b"]]) as collection:
        ranker = Whole(Retriever(collection, TFIDF()))
        found, _ = ranker.rank(Question("q", (of_text(collection, "b a zzz"),)), k=3)
        assert found.docs.tolist() == [0, 2]
        assert found.scores[0] == pytest.approx(1, abs=1e-6)


def test_best_words_are_the_rare_and_the_frequent():
    analysis = Analysis(language="none", stemmer="none", stop="none", min_length=1, min_df=2)
    texts = [["a", "a", "b", "c", "once", "d"], ["a", "b", "c"], ["a", "c", "b"], ["a"], ["d"]]
    with stored(texts, analysis=analysis) as collection:
        counts = of_doc(collection, 0).counts
        assert words_of(collection, counts) == {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}
        assert list(words_of(collection, counts, 2)) == ["a", "d"]
        assert list(words_of(collection, counts, 3)) == ["a", "d", "b"]


def test_what_does_not_fit_is_refused():
    with stored([["a", "b"]]) as collection:
        ranker = top_n(collection)
        with pytest.raises(UsageError, match="k must be at least 1, not 0"):
            ranker.rank(ask(collection, [0]), k=0)
    for wrong in (lambda: TopN(0), lambda: TopNTopics(words=0), lambda: TopNTopics(weight=1.5)):
        with pytest.raises(UsageError, match="must be"):
            wrong()


def test_configurations_are_written_as_they_are_read():
    table = {kind.notation: kind for kind in (TopN, TopNTopics)}
    for config in (TopN(), TopN(3), TopNTopics(), TopNTopics(5, 0.25, "lda")):
        assert notation.read(str(config), table, what="method") == config
    assert str(TopNTopics(weight=0.25, model="lda")) == "topn-lda(weight=0.25,model=lda)"


# Words and topics


@pytest.fixture
def likeness(themes):
    halves = vectors_of(themes.snapshot, "lda")
    return Likeness(Encoder(halves), Weights(0.3, 2.0))


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_words_and_topics_are_mixed(themes, likeness, weight):
    s = themes.snapshot
    config = TopNTopics(words=3, weight=weight)
    ranker = TopNTopicsRanker(s, config, likeness)
    texts = [themes.snapshot.analyzer.counts(d.text) for _, d in s.documents()]
    cosines = Cosines([list(Counter(t).elements()) for t in texts])
    points = Likeness(likeness.encoder, Weights(1.0, 0.0))
    like, unlike = [0, 6], [1]
    for question in (ask(s, like), ask(s, like[:1]), ask(s, like, unlike)):
        own = set(question.docs.tolist())
        expected = dict.fromkeys(set(range(60)) - own, 0.0)
        for example in question.examples:
            asked = likeness.encoder.encode(example.counts)
            share = 1 / len(question.like) if example.doc in like else -AGAINST
            for i in expected:
                words = cosines.score(example.doc, i, 3) / cosines.score(
                    example.doc, example.doc, 3
                )
                topics = points.parts(asked, i).score
                expected[i] += share * ((1 - weight) * words + weight * topics)
        ranking, scorer = ranker.rank(question, k=100)
        check(ranking, expected, 100)
        doc = int(ranking.docs[0])
        parts = parts_of(scorer, doc)
        assert sum(part.score for part in parts) == pytest.approx(ranking.scores[0], abs=1e-6)
        assert any(part.kind == "topic" for part in parts) == (weight > 0)
        assert any(part.kind == "word" for part in parts) == (weight < 1)


def test_the_document_itself_gets_one(themes, likeness):
    s = themes.snapshot
    question = Question("q", (of_text(s, s.document(4).text),))
    ranking, _ = TopNTopicsRanker(s, TopNTopics(words=2), likeness).rank(question, k=60)
    scores = dict(zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True))
    # Stored topics are a byte each.
    assert scores[4] == pytest.approx(1, abs=0.01)


def test_mixes_keep_to_filters_and_know_when_they_know_nothing(themes, likeness):
    s = themes.snapshot
    ranker = TopNTopicsRanker(s, TopNTopics(), likeness, name="number {}".format)
    allowed = [np.arange(segment.n_docs) % 2 == 0 for segment in s.segments]
    questions = [ask(s, [i], [i + 1]) for i in range(10)]
    found = [ranker.rank(question, k=50, allowed=allowed) for question in questions]
    assert all((one.docs % 2 == 0).all() and len(one.docs) > 20 for one, _ in found)
    assert any(part.name.startswith("number ") for part in parts_of(found[0][1], 6))
    for example in (of_doc(s, 60), of_text(s, "zzz qqq")):
        assert len(ranker.rank(Question("q", (example,)), k=3)[0].docs) == 0

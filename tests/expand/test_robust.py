"""Robust expansion: its parts by hand, its limits, and queries that are left alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.expand.expansion import Feedback, WordSearch
from likewise.expand.feedback import RankedRM
from likewise.expand.perturb import perturb
from likewise.expand.qp import solve
from likewise.expand.robust import FIRST, FLAT, Robust
from likewise.expand.similarity import SIMILARITIES, Similarity
from likewise.records import Ranking
from likewise.retrieve.models import BM25
from likewise.retrieve.words import retriever_of

PLAIN = lw.Analysis(stemmer="none", stop="none", title_weight=1)
TEXTS = [
    "wave wave beach surf",
    "wave tsunami japan earthquake",
    "japan earthquake tsunami warning coast",
    "japan prefecture asia",
    "wave function quantum",
    "beach holiday surf coast",
    "quantum physics function",
]


@pytest.fixture(scope="module")
def seas(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seas") / "seas.lw"
    documents = [{"id": str(i), "text": text, "year": 2000 + i} for i, text in enumerate(TEXTS)]
    return lw.index(documents, to=folder, analysis=PLAIN, model=None)


def asked(collection, text, k=50):
    [result] = collection.pipeline("bm25", k=k)(text)
    return Feedback(result.scorer.terms, result.ranking), WordSearch(result.scorer.retriever)


def grown(collection, text, how):
    question, search = asked(collection, text)
    return how.expand([question], search)[0]


def test_ranked_relevance_by_hand(seas):
    """One word, two documents: p = Σ 1/rank · tf/(length + average) over Σ 1/rank."""
    question, search = asked(seas, "tsunami")
    first, second = question.ranking.docs[:2].tolist()
    assert [first, second] == [1, 2]
    average = sum(len(text.split()) for text in TEXTS) / len(TEXTS)
    by_doc = {1: 1 / 1.5 / (4 + average), 2: 0.5 / 1.5 / (5 + average)}
    p = {}
    for doc, share in by_doc.items():
        for word in TEXTS[doc].split():
            p[word] = p.get(word, 0) + share
    n = {word: sum(word in text.split() for text in TEXTS) for word in p}
    idf = {word: np.log(1 + (7 - n[word] + 0.5) / (n[word] + 0.5)) for word in p}
    chosen = sorted(p, key=lambda word: -p[word] * idf[word])[:3]
    weights = {word: p[word] * np.sqrt(idf[word]) for word in chosen}
    total = sum(weights.values())
    expected = {word: 0.4 * weight / total for word, weight in weights.items()}
    expected["tsunami"] += 0.6
    [found] = RankedRM(docs=2, terms=3, share=0.4).expand([question], search)
    assert dict(found.terms) == pytest.approx(expected)


def test_jaccard_by_hand(seas):
    question, search = asked(seas, "japan wave")
    [context] = SIMILARITIES["jaccard"].contexts([question], search, 50)
    names = ["japan", "tsunami", "wave", "surf"]
    columns = np.searchsorted(context.pool.terms, seas.snapshot.find_terms(names))
    # japan: 1 2 3; tsunami: 1 2; wave: 0 1 4; surf: 0 (document 5 is not found).
    expected = [
        [1, 2 / 3, 1 / 5, 0],
        [2 / 3, 1, 1 / 4, 0],
        [1 / 5, 1 / 4, 1, 1 / 3],
        [0, 0, 1 / 3, 1],
    ]
    assert context.similarity(columns).tolist() == [pytest.approx(row) for row in expected]


@pytest.mark.parametrize("name", ["loo", "tat"])
def test_perturbation_similarity_is_of_its_distances(seas, name):
    question, search = asked(seas, "japan wave")
    [context] = SIMILARITIES[name].contexts([question], search, 50)
    [perturbed] = perturb([question], search, name, docs=50)
    columns = np.arange(6)
    distances = perturbed.distances(columns)
    median = np.median([d for d in distances[np.triu_indices(6, 1)] if d > 0])
    assert np.allclose(context.similarity(columns), np.exp(-distances / median))
    moved = np.sqrt(perturbed.models[1:, :6]) - np.sqrt(perturbed.models[0, :6])
    assert np.allclose(context.risk(columns), moved.T @ moved)
    [near] = SIMILARITIES[f"{name}-near"].contexts([question], search, 50)
    assert np.array_equal(near.risk(columns), context.similarity(columns))


def test_the_covariance_is_the_kernel_weighed_by_probability(seas):
    """Eq. 4 has √p⁽ⁱ⁾ - √p over p √m, so that p_i p_j m G_ij is the covariance's numerator."""
    question, search = asked(seas, "japan wave")
    [context] = SIMILARITIES["loo"].contexts([question], search, 50)
    [perturbed] = perturb([question], search, "loo", docs=50)
    columns = np.arange(len(perturbed.pool.terms))
    p = perturbed.models[0]
    weighed = p[:, None] * perturbed.gram(columns) * p * len(perturbed.weights)
    assert np.allclose(context.risk(columns), weighed)


@pytest.mark.parametrize("name", [*SIMILARITIES])
@given(words=st.lists(st.sampled_from(" ".join(TEXTS).split()), min_size=1, max_size=5))
def test_every_similarity_is_a_kernel(seas, name, words):
    question, search = asked(seas, " ".join(words))
    [context] = SIMILARITIES[name].contexts([question], search, 50)
    similarity = context.similarity(np.arange(len(context.pool.terms)))
    assert np.array_equal(similarity, similarity.T)
    assert np.allclose(np.diag(similarity), 1)
    assert (similarity >= 0).all()
    assert (similarity <= 1).all()
    assert np.linalg.eigvalsh(similarity).min() > -1e-9
    risk = context.risk(np.arange(len(context.pool.terms)))
    assert np.array_equal(risk, risk.T)
    assert np.linalg.eigvalsh(risk).min() > -1e-9


def test_the_expansion_is_the_programmes_answer(seas):
    question, search = asked(seas, "japan wave")
    how = Robust(similarity="jaccard", kappa=0.5, gamma=1.0, share=0.3)
    [context] = SIMILARITIES["jaccard"].contexts([question], search, 50)
    columns, gains = how.candidates(context)
    assert gains.max() == 1
    assert set(context.pool.names(columns[:2])) == {"japan", "wave"}
    similarity = context.similarity(columns)
    x = solve(gains, similarity, similarity[:2], n_asked=2, kappa=0.5, gamma=1.0)
    expected = dict(zip(context.pool.names(columns), 2 * 0.3 * x / x.sum(), strict=True))
    expected = {word: weight for word, weight in expected.items() if weight > 0}
    expected["japan"] += 0.7
    expected["wave"] += 0.7
    assert dict(grown(seas, "japan wave", how).terms) == pytest.approx(expected)


def test_more_risk_aversion_leaves_less_of_what_is_uncertain(seas):
    """What x weighs less, weighs less against the query's own terms when these are kept."""

    def added(kappa):
        terms = grown(seas, "japan wave", Robust(kappa=kappa, keep=1.0)).terms
        return sum(weight for word, weight in terms.items() if word not in {"japan", "wave"})

    assert added(0.03) > added(1.0) > added(20.0) > 0


def test_an_infeasible_programme_leaves_the_query_alone(seas):
    stage = seas.pipeline("bm25", expand="robust(coverage=50)")
    [answered] = stage("japan wave")
    plain = seas.pipeline("bm25")("japan wave")[0]
    assert "no choice of terms meets coverage=50" in answered.query.expansion.skipped_reason
    assert answered.query.terms == {"japan": 1, "wave": 1}
    assert answered.ranking.docs.tolist() == plain.ranking.docs.tolist()
    assert answered.ranking.scores.tolist() == plain.ranking.scores.tolist()


@pytest.mark.parametrize("name", ["loo", "tat", "jaccard"])
def test_what_cannot_be_expanded_is_left_alone(seas, name):
    how = Robust(similarity=name)
    assert "no document" in grown(seas, "zebra", how).skipped_reason
    assert "no document" in grown(seas, "", how).skipped_reason
    nothing = seas.pipeline("bm25", expand=how, filter="year=1900")
    [answered] = nothing("japan wave")
    assert len(answered.ranking.docs) == 0
    assert answered.query.expansion.skipped_reason


def test_one_word_is_expanded_and_says_how(seas):
    found = grown(seas, "tsunami", Robust())
    assert "words of its first documents" in found.note
    assert "joined" in found.note
    assert set(found.terms) > {"tsunami"}
    assert grown(seas, "tsunami", Robust(similarity="jaccard")).note == ""
    assert grown(seas, "tsunami zebra", Robust()).terms == found.terms


def test_a_batch_is_its_queries_and_threads_change_nothing(seas):
    texts = ["japan wave", "tsunami", "zebra", "beach surf coast", "quantum function wave"]
    alone = [grown(seas, text, Robust()) for text in texts]
    questions = [asked(seas, text)[0] for text in texts]
    for threads in (1, 4):
        search = WordSearch(retriever_of(seas.snapshot, BM25()), threads=threads)
        assert Robust().expand(questions, search) == alone


def test_a_similarity_of_the_users_own(seas, monkeypatch):
    def alone(batch, search, docs):
        found = SIMILARITIES["jaccard"].contexts(batch, search, docs)
        return [one._replace(risk=lambda columns: np.eye(len(columns))) for one in found]

    monkeypatch.setitem(SIMILARITIES, "alone", Similarity(alone))
    assert len(grown(seas, "japan wave", Robust(similarity="alone")).terms) > 2


def test_a_share_of_nothing_leaves_the_query_alone(seas):
    assert grown(seas, "japan wave", Robust().with_share(0)).skipped_reason
    whole = grown(seas, "japan wave", Robust().with_share(1))
    assert sum(whole.terms.values()) == pytest.approx(2)


def falling(scores):
    """A ranking of documents of the collection with these scores."""
    return Ranking(np.arange(len(scores)), np.array(scores, np.float64))


@pytest.mark.parametrize(
    ("scores", "decline"),
    [
        ([9, 8, 7, 6, 5, 4, 3], 1.0),  # There is no tenth: it counts as nothing.
        ([10, 9.9, 9.8, 9.7, 9.6, 9.5, 9.4, 9.3, 9.2, 9.2, 1, 0], 0.08),
        ([-1, -2, -3, -3, -3, -3, -3, -3, -3, -3, -5], 0.5),  # From the lowest, -5: 4 to 2.
    ],
)
@pytest.mark.parametrize("adapt", [0.5, 1.0, 2.0, 10.0, 100.0])
def test_the_share_follows_how_far_scores_fall(shelve, scores, decline, adapt):
    shelf = shelve([f"wave tsunami w{i} w{i % 3} japan" for i in range(12)])
    asked = Feedback({"wave": 1.0, "japan": 1.0}, falling(scores))
    by_query = shelf.expand(Robust(share=0.4, adapt=adapt), asked)
    fixed = shelf.expand(Robust().with_share(0.4 * min(1.0, adapt * decline)), asked)
    assert not by_query.skipped_reason
    assert dict(by_query.terms) == pytest.approx(dict(fixed.terms), rel=1e-12)
    whole = shelf.expand(Robust(share=0.4), asked)
    assert (dict(by_query.terms) == dict(whole.terms)) == (adapt * decline >= 1)


def test_flat_scores_leave_the_query_alone_and_say_why(shelve):
    shelf = shelve(["wave japan beach"] * 12)
    # The same text twelve times: BM25 itself gives all of them one score.
    asked = shelf.ask({"wave": 1.0})
    assert len({*asked.ranking.scores.tolist()}) == 1
    assert shelf.expand(Robust(adapt=10), asked) == ({}, FLAT, "")
    assert shelf.expand(Robust(), asked).terms
    [result] = shelf.collection.pipeline("bm25 >> robust(adapt=10) >> bm25")("wave")
    assert result.query.expansion.skipped_reason == FLAT
    [plain] = shelf.collection.pipeline("bm25")("wave")
    assert result.ranking.docs.tolist() == plain.ranking.docs.tolist()
    assert result.ranking.scores.tolist() == plain.ranking.scores.tolist()


def test_as_many_are_read_as_tell_how_flat_scores_are():
    assert Robust(docs=3, similarity="jaccard").feedback_docs == 3
    assert Robust(docs=3, similarity="jaccard", adapt=1).feedback_docs == FIRST >= 10
    assert Robust(docs=50, similarity="jaccard", adapt=1).feedback_docs == 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adapt": -1.0}, "adapt from 0 up"),
        ({"adapt": float("nan")}, "adapt from 0 up"),
        ({"similarity": "cosine"}, "one of loo, tat, loo-near, tat-near, jaccard"),
        ({"kappa": 0.0}, "kappa from 1e-6 to 1e6"),
        ({"gamma": -1.0}, "gamma from 1e-6 to 1e6"),
        ({"gamma": float("nan")}, "gamma from 1e-6 to 1e6"),
        ({"coverage": -0.1}, "coverage from 0 up"),
        ({"balance": 1.5}, "balance from 0 to 1"),
        ({"keep": 2.0}, "keep from 0 to 1"),
        ({"budget": float("inf")}, "budget from 0 up"),
        ({"share": 1.1}, "share from 0"),
        ({"docs": 0}, "docs of at least 1"),
        ({"context": 5}, "context of at least docs"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        Robust(**options)


def test_only_what_goes_by_a_similarity_has_another():
    how = Robust(docs=5)
    assert how.with_similarity("jaccard") == Robust(similarity="jaccard", docs=5)
    assert RankedRM().with_similarity("jaccard") is None

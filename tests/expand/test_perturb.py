import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.expand.expansion import Feedback, WordSearch, rank_weights, read_expander
from likewise.expand.feedback import relevance
from likewise.expand.perturb import STRATEGIES, loo, perturb, tat
from likewise.expand.perturb_kernels import gather, relevance_models, squared_distances
from likewise.expand.pool import read_pool
from likewise.records import Filter, Ranking
from likewise.retrieve.models import BM25, TFIDF, JelinekMercer, QueryLikelihood
from likewise.retrieve.search import Retriever
from likewise.stages.masks import mask_of

PLAIN = lw.Analysis(language="none", stemmer="none", stop="none", min_length=1)
NO_RANKING = Ranking(np.empty(0, np.int64), np.empty(0))
MODELS = [BM25(), QueryLikelihood(50), JelinekMercer(), TFIDF()]


def make(folder, texts):
    documents = [
        {"id": f"d{i}", "text": " ".join(terms), "even": str(i % 2 == 0)}
        for i, terms in enumerate(texts)
    ]
    return lw.index(documents, to=folder, analysis=PLAIN)


def zipf_texts(n_docs, *, n_words=40, longest=30):
    generator = np.random.default_rng(3)
    shares = 1 / np.arange(1, n_words + 1)
    words = np.array([f"w{i:02}" for i in range(n_words)])
    return [
        generator.choice(words, generator.integers(0, longest), p=shares / shares.sum()).tolist()
        for _ in range(n_docs)
    ]


class Shelf:
    """A collection, and the texts that it was made of."""

    def __init__(self, folder, texts):
        self.texts = texts
        self.collection = make(folder, texts)
        self.snapshot = self.collection.snapshot
        self.retrievers = {model: Retriever(self.snapshot, model) for model in MODELS}

    def search(self, model=MODELS[0], **options):
        return WordSearch(self.retrievers[model], **options)

    def ask(self, terms, model=MODELS[0], k=50, **options):
        return Feedback(terms, self.retrievers[model].rank([terms], k=k, **options)[0])


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return Shelf(tmp_path_factory.mktemp("shelf") / "c", zipf_texts(300))


class CountingRetriever(Retriever):
    """Notes what is searched for."""

    def __init__(self, collection, model):
        super().__init__(collection, model)
        self.calls = []

    def rank(self, queries, **options):
        self.calls.append(list(queries))
        return super().rank(queries, **options)


# Equation 4


@pytest.fixture
def toy(tmp_path):
    return Shelf(tmp_path / "c", [["a", "b", "x"], ["a", "a", "y"], ["b", "z"]])


def test_equation_4_by_hand(toy):
    # The best document is d0 for a and b, d2 without a, d1 without b.
    [found] = perturb([toy.ask({"a": 1.0, "b": 1.0})], toy.search(), docs=1)
    assert found.pool.names(np.arange(5)) == ["a", "b", "x", "y", "z"]
    assert found.pool.docs.tolist() == [0, 2, 1]
    assert found.terms.tolist() == [0, 1]
    assert found.weights.tolist() == [[0, 1], [1, 0]]
    expected = [
        [0.3375, 0.325, 0.3125, 0.0125, 0.0125],
        [0.0375, 0.475, 0.0125, 0.0125, 0.4625],
        [0.6375, 0.025, 0.0125, 0.3125, 0.0125],
    ]
    np.testing.assert_allclose(found.models, expected, rtol=1e-12)
    features = found.features()
    assert features.shape == (5, 2)
    # x: √0.0125 - √0.3125 = -√0.2, over 0.3125 √2
    np.testing.assert_allclose(features[2], [-1.0119288512538813] * 2, rtol=1e-12)
    np.testing.assert_allclose(features[3], [0, 25.298221281347036], rtol=1e-12)
    root = math.sqrt
    np.testing.assert_allclose(
        features[0],
        (np.array([root(0.0375), root(0.6375)]) - root(0.3375)) / 0.3375 / root(2),
        rtol=1e-12,
    )
    np.testing.assert_allclose(found.distances()[2, 3], 0.1 * (3.2**2 + 83.2**2), rtol=1e-12)
    np.testing.assert_allclose(found.features(np.array([3, 2])), features[[3, 2]])
    assert found.note == ""


def test_nearest_words_by_hand(toy):
    [found] = perturb([toy.ask({"a": 1.0, "b": 1.0})], toy.search(), docs=1)
    distances = found.distances()
    expected = sorted((distances[2, i], name) for i, name in enumerate("abyz", 0) if name in "ab")
    near = found.nearest("x")
    # Strong words are those of the query's own documents: y and z are none.
    assert [(round(d, 9), term) for term, d in near] == [(round(d, 9), t) for d, t in expected]
    [(term, distance)] = found.nearest("x", 1, among=np.array([2, 3, 4]))
    assert (term, distance) == ("y", pytest.approx(distances[2, 3]))
    with pytest.raises(UsageError, match="'nonsense'"):
        found.nearest("nonsense")


def test_the_strategies_of_the_paper():
    assert loo(3).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert tat(3).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert set(STRATEGIES) == {"loo", "tat"}


# Against what is slow and plain

words = st.integers(0, 39).map(lambda i: f"w{i:02}")
queries = st.dictionaries(words, st.sampled_from([1.0, 2.0, 0.3]), min_size=2, max_size=6)


def random_weights(n):
    return np.random.default_rng(n).exponential(1, (5, n)) * (
        np.random.default_rng(n + 1).random((5, n)) < 0.8
    )


def slow_models(shelf, terms, weights, model, docs, smoothing):
    """Relevance models as the paper has them, each query asked alone."""
    asked = [terms, *({t: w * a for (t, w), a in zip(terms.items(), row, strict=True) if w * a}
                      for row in weights.tolist())]  # fmt: skip
    counts = [Counter(text) for text in shelf.texts]
    total = sum(counts, Counter())
    n_tokens = sum(total.values())
    models = []
    for query in asked:
        [ranking] = shelf.retrievers[model].rank([query], k=docs) if query else [NO_RANKING]
        p = Counter()
        by_rank = [1 / (i + 1) for i in range(len(ranking.docs))]
        for doc, weight in zip(ranking.docs.tolist(), by_rank, strict=True):
            share = weight / sum(by_rank)
            for term, count in counts[doc].items():
                p[term] += share * count / counts[doc].total()
        kept = 1 - smoothing if len(ranking.docs) else 0
        models.append({t: kept * p[t] + (1 - kept) * n / n_tokens for t, n in total.items()})
    return models


@given(
    terms=queries,
    strategy=st.sampled_from(["loo", "tat", random_weights]),
    model=st.sampled_from(MODELS),
    docs=st.sampled_from([1, 7, 50]),
    smoothing=st.sampled_from([0.1, 0.5]),
)
def test_as_each_query_alone(shelf, terms, strategy, model, docs, smoothing):
    [found] = perturb(
        [shelf.ask(terms, model, docs)],
        shelf.search(model),
        strategy,
        docs=docs,
        smoothing=smoothing,
    )
    weights = STRATEGIES.get(strategy, strategy)(len(terms))
    assert found.weights.tolist() == weights.tolist()
    assert found.pool.names(found.terms) == list(terms)
    slow = slow_models(shelf, terms, weights, model, docs, smoothing)
    names = found.pool.names(np.arange(len(found.pool.terms)))
    expected = np.array([[p[name] for name in names] for p in slow])
    np.testing.assert_allclose(found.models, expected, rtol=1e-9)
    assert (found.models > 0).all()
    p, moved = expected[0], expected[1:]
    features = ((np.sqrt(moved) - np.sqrt(p)) / p / np.sqrt(len(weights))).T
    np.testing.assert_allclose(found.features(), features, rtol=1e-6, atol=1e-6)


@given(terms=queries, strategy=st.sampled_from(["loo", "tat", random_weights]))
def test_a_kernel_and_its_distances(shelf, terms, strategy):
    [found] = perturb([shelf.ask(terms)], shelf.search(), strategy)
    gram, distances = found.gram(), found.distances()
    assert (gram == gram.T).all()
    values = np.linalg.eigvalsh(gram)
    assert values.min() >= -1e-9 * max(values.max(), 1)
    assert (distances == distances.T).all()
    assert (np.diag(distances) == 0).all()
    assert (distances >= 0).all()
    norms = np.diag(gram)
    np.testing.assert_allclose(
        distances,
        np.maximum(norms[:, None] + norms - 2 * gram, 0),
        atol=1e-9 * max(norms.max(), 1),
    )
    some = np.array([3, 0, 5]) % len(gram)
    assert (found.gram(some) == gram[np.ix_(some, some)]).all()
    assert (found.distances(some) == distances[np.ix_(some, some)]).all()


def test_the_kernels_are_what_they_say():
    generator = np.random.default_rng(0)
    dense = generator.integers(0, 3, (6, 9)) * (generator.random((6, 9)) < 0.5)
    rows, columns = np.nonzero(dense)
    bounds = np.searchsorted(rows, np.arange(7)).astype(np.int64)
    shares = generator.random((4, 6)) * (generator.random((4, 6)) < 0.6)
    shares[2] = 0
    lengths, background = generator.random(6) + 1, generator.random(9)
    counted = (bounds, columns.astype(np.int64), dense[rows, columns].astype(np.float64))
    models = relevance_models(counted, lengths, shares, background, 0.2)
    expected = 0.8 * (shares / lengths) @ dense + 0.2 * background
    expected[2] = background
    np.testing.assert_allclose(models, expected, rtol=1e-12)
    points = generator.random((7, 3))
    g = points @ points.T
    expected = np.diag(g)[:, None] + np.diag(g) - 2 * g
    np.testing.assert_allclose(squared_distances(points), expected, atol=1e-12)


@given(
    rankings=st.lists(st.lists(st.integers(0, 10**9) | st.integers(0, 40), unique=True), min_size=1)
)
def test_documents_are_gathered_as_they_are_met(rankings):
    docs = [doc for ranking in rankings for doc in ranking]
    bounds = np.cumsum([0, *map(len, rankings)], dtype=np.int64)
    weights = np.arange(1.0, len(docs) + 1)
    gathered, shares = gather(np.array(docs, np.int64), bounds, weights)
    found = list(dict.fromkeys(docs))
    assert gathered.tolist() == found
    expected = np.zeros((len(rankings), len(found)))
    for i, ranking in enumerate(rankings):
        for doc, weight in zip(ranking, weights[bounds[i] :].tolist(), strict=False):
            expected[i, found.index(doc)] = weight
    assert shares.tolist() == expected.tolist()


def test_the_first_model_has_the_bits_of_feedback(shelf):
    asked = shelf.ask({"w03": 1.0, "w10": 1.0})
    [found] = perturb([asked], shelf.search())
    assert found.pool.docs[:50].tolist() == asked.ranking.docs.tolist()
    assert found.shares[0, :50].tolist() == rank_weights(50).tolist()
    assert (found.shares[0, 50:] == 0).all()
    own = read_pool(shelf.snapshot, asked.ranking.docs, asked.terms)
    p = relevance(own, rank_weights(50))
    at = np.searchsorted(found.pool.terms, own.terms)
    assert (found.models[0, at] == 0.9 * p + 0.1 * own.background).all()


# One search for all


def same(left, right):
    return (
        left.pool.docs.tolist() == right.pool.docs.tolist()
        and left.pool.terms.tolist() == right.pool.terms.tolist()
        and left.terms.tolist() == right.terms.tolist()
        and left.weights.tolist() == right.weights.tolist()
        and left.models.tobytes() == right.models.tobytes()
        and left.note == right.note
    )


MIXED = [
    {"w01": 1.0, "w02": 2.0, "w30": 1.0},
    {"w05": 1.0},
    {"nowhere": 1.0},
    {"w01": 1.0, "w02": 2.0},
    {},
    {f"w{i:02}": 1.0 + i % 3 for i in range(20)},
    {"w01": 1.0, "w02": 2.0, "w30": 1.0},
    {"w39": 1.0, "nowhere": 2.0, "w38": 1.0},
    {"w04": 1.0, "w08": 1.0, "w12": -0.5},
]


@pytest.mark.parametrize("strategy", ["loo", "tat", random_weights])
@pytest.mark.parametrize("k", [3, 50])
def test_a_batch_is_each_alone_on_any_number_of_threads(shelf, strategy, k):
    batch = [shelf.ask(terms, k=k) for terms in MIXED]
    together = perturb(batch, shelf.search(), strategy)
    for asked, found in zip(batch, together, strict=True):
        assert same(perturb([asked], shelf.search(), strategy)[0], found)
    threaded = perturb(batch, shelf.search(threads=2), strategy)
    assert all(same(a, b) for a, b in zip(together, threaded, strict=True))
    assert perturb([], shelf.search(), strategy) == []


def test_all_is_searched_for_at_once_and_nothing_twice(shelf):
    retriever = CountingRetriever(shelf.snapshot, BM25())
    first, second = {"w01": 1.0, "w02": 1.0, "w03": 1.0}, {"w01": 1.0, "w02": 1.0}
    perturb([shelf.ask(first), shelf.ask(second)], WordSearch(retriever))
    [asked] = retriever.calls
    assert len(asked) == 5
    assert second in asked
    assert first not in asked
    # A ranking that is not deep enough is made again, in the same search.
    retriever.calls.clear()
    perturb([shelf.ask(first, k=49)], WordSearch(retriever), "tat")
    [asked] = retriever.calls
    assert asked == [first, {"w01": 1.0}, {"w02": 1.0}, {"w03": 1.0}]
    # A perturbation that leaves the query as it is, is not searched for.
    retriever.calls.clear()
    [found] = perturb([shelf.ask(second)], WordSearch(retriever), [[1, 1], [2, 1]])
    assert retriever.calls == [[{"w01": 2.0, "w02": 1.0}]]
    assert (found.features()[:, 0] == 0).all()
    assert (found.features()[:, 1] != 0).any()


def test_what_the_first_search_tells_is_not_searched_for(shelf, monkeypatch):
    plain = "bm25 >> proximity >> robust(adapt=10,docs=3) >> bm25"
    asked = "w02 w05 w09 w11"
    before = shelf.collection.search(asked, method=plain)
    monkeypatch.setattr("likewise.expand.perturb._MANY_DOCS", 0)
    ranked, rank = [], Retriever.rank
    monkeypatch.setattr(
        Retriever,
        "rank",
        lambda self, queries, **how: ranked.append(len(queries)) or rank(self, queries, **how),
    )
    after = shelf.collection.search(asked, method=plain)
    assert [(one.doc_id, one.score) for one in after] == [(one.doc_id, one.score) for one in before]
    # The query, what is not told of its four parts, and the expanded query.
    assert ranked[0] == ranked[-1] == 1
    assert sum(ranked) < 6
    # Under a filter too, unless it came later; where the first search was another's all parts are.
    for method, filter, is_told in (
        (plain, "even=True", True),
        (plain.replace(" >>", " >> where(even=True) >>", 1), "", False),
        (plain.replace("bm25", "ql", 1), "", False),
    ):
        ranked.clear()
        shelf.collection.search(asked, method=method, filter=filter)
        assert (sum(ranked) < 6) == is_told
        assert sum(ranked) <= 6


@pytest.mark.parametrize("k", [1, 4, 30])
def test_an_expander_at_the_end_gives_no_more_than_is_asked_for(shelf, k):
    for method in ("bm25 >> rm3", "bm25 >> robust", "bm25 >> robust(adapt=10)"):
        found = shelf.collection.search("w02 w05", method=method, k=k)
        plain = shelf.collection.search("w02 w05", method="bm25", k=k)
        assert [(one.doc_id, one.score) for one in found] == [
            (one.doc_id, one.score) for one in plain
        ]


def test_a_deeper_ranking_is_read_only_where_the_first_documents_stay_the_same():
    # Of a query that reads 30 documents no 30 were ranked: it is searched for again.
    for how, deep in (("", 100), (",docs=30", 20), (",context=30", 20)):
        assert read_expander(f"robust(adapt=10{how})").depth(0, log=False) == deep


def test_a_filter_holds_for_all(shelf):
    allowed = mask_of(shelf.snapshot, Filter.read("even=True")).segments
    terms = {"w02": 1.0, "w07": 1.0}
    [found] = perturb([shelf.ask(terms, allowed=allowed)], shelf.search(allowed=allowed))
    assert len(found.pool.docs) >= 50
    assert (found.pool.docs % 2 == 0).all()
    [free] = perturb([shelf.ask(terms)], shelf.search())
    assert (free.pool.docs % 2 == 1).any()


def test_what_was_added_and_deleted_before_makes_no_difference(shelf, tmp_path):
    # Terms get other numbers, documents too.
    texts = [[f"w{i:02}" for i in range(39, -1, -1)], *shelf.texts]
    other = Shelf(tmp_path / "c", texts)
    other.collection.delete(["d0"])
    snapshot = lw.open(other.collection.folder).snapshot
    retriever = Retriever(snapshot, BM25())
    for terms in ({"w03": 1.0, "w10": 1.0}, {"w20": 1.0}):
        [found] = perturb([shelf.ask(terms)], shelf.search())
        asked = Feedback(terms, retriever.rank([terms], k=50)[0])
        [again] = perturb([asked], WordSearch(retriever))
        assert again.pool.docs.tolist() == (found.pool.docs + 1).tolist()
        assert again.terms.tolist() != found.terms.tolist()
        assert again.pool.names(again.terms) == found.pool.names(found.terms)
        strongest = [one.pool.names(one.strongest(20)) for one in (found, again)]
        assert strongest[0] == strongest[1]
        assert found.nearest("w10", 30) == again.nearest("w10", 30)


# What has no plain perturbation


@pytest.mark.parametrize("strategy", ["loo", "tat", loo])
@pytest.mark.parametrize("k", [3, 50])
def test_one_term_is_joined_with_feedback_terms(shelf, strategy, k):
    retriever = CountingRetriever(shelf.snapshot, BM25())
    [found] = perturb(
        [shelf.ask({"w05": 2.0, "nowhere": 1.0}, k=k)], WordSearch(retriever), strategy
    )
    own, *added = found.pool.names(found.terms)
    assert own == "w05"
    assert len(added) == 4
    assert retriever.calls[-1] == [{"w05": 2.0, term: 2.0} for term in added]
    assert len(retriever.calls) == (1 if k == 50 else 2)
    assert found.weights.tolist() == np.hstack([np.ones((4, 1)), np.eye(4)]).tolist()
    assert found.note == (
        "one word alone cannot be perturbed: 4 words of its first documents were joined with it, "
        "one at a time"
    )
    asked = shelf.ask({"w05": 1.0})
    pool = read_pool(shelf.snapshot, asked.ranking.docs, asked.terms)
    strength = relevance(pool, rank_weights(50)) * pool.idf
    strength[pool.asked] = 0
    assert added == pool.names(np.argsort(-strength)[:4])
    assert (found.features() != 0).any(axis=0).all()


def test_one_term_alone_in_its_documents(tmp_path):
    shelf = Shelf(tmp_path / "c", [["a"], ["a", "a"], ["b"]])
    [found] = perturb([shelf.ask({"a": 1.0})], shelf.search())
    assert found.features().shape == (1, 0)
    assert found.gram().tolist() == [[0]]
    assert "its documents have no other" in found.note


@pytest.mark.parametrize("terms", [{}, {"nowhere": 1.0}, {"w01": -1.0}, {"w01": math.nan}])
def test_no_known_word(shelf, terms):
    [found] = perturb([Feedback(terms, NO_RANKING)], shelf.search())
    check_empty(found, "none of its words is in the collection")


def test_no_answer(shelf):
    allowed = [np.zeros(segment.n_docs, np.bool_) for segment in shelf.snapshot.segments]
    for terms in ({"w01": 1.0}, {"w01": 1.0, "w02": 1.0}):
        [found] = perturb([Feedback(terms, NO_RANKING)], shelf.search(allowed=allowed))
        check_empty(found, "no document answers it")


def test_an_empty_collection(tmp_path):
    shelf = Shelf(tmp_path / "c", [])
    [found] = perturb([Feedback({"a": 1.0}, NO_RANKING)], shelf.search())
    check_empty(found, "none of its words is in the collection")


def check_empty(found, note):
    assert found.note == note
    assert len(found.pool.docs) == len(found.weights) == len(found.terms) == 0
    n = len(found.pool.terms)
    assert found.models.shape == (1, n)
    assert found.features().shape == (n, 0)
    assert found.distances().shape == (n, n)
    assert len(found.strongest(5)) == 0


def test_a_long_query_is_perturbed_where_it_weighs_most(shelf):
    terms = {f"w{i:02}": 1.0 for i in range(12)} | {"w00": 50.0}
    asked = shelf.ask(terms)
    retriever = CountingRetriever(shelf.snapshot, BM25())
    [found] = perturb([asked], WordSearch(retriever), most=3)
    # The weight makes up for the idf of the first; of the others the rarest are taken.
    in_docs = {term: sum(term in text for text in shelf.texts) for term in terms}
    rarest = sorted(sorted(list(terms)[1:], key=in_docs.__getitem__)[:2])
    assert found.pool.names(found.terms) == ["w00", *rarest]
    assert found.note == "only the 3 weightiest of its 12 terms are perturbed"
    [searched] = retriever.calls
    assert [set(terms) - set(query) for query in searched] == [{t} for t in ("w00", *rarest)]
    assert all(query[t] == terms[t] for query in searched for t in query)
    [every] = perturb([asked], shelf.search(), most=12)
    assert len(every.weights) == 12
    assert every.note == ""


def test_negative_weights_stay(shelf):
    retriever = CountingRetriever(shelf.snapshot, BM25())
    asked = shelf.ask({"w04": 1.0, "w08": 1.0, "w12": -0.5})
    [found] = perturb([asked], WordSearch(retriever))
    assert retriever.calls == [[{"w08": 1.0, "w12": -0.5}, {"w04": 1.0, "w12": -0.5}]]
    assert found.pool.names(found.terms) == ["w04", "w08"]


# The user's own strategies


def test_a_row_of_zeros_finds_nothing_and_knows_the_collection_only(shelf):
    [found] = perturb([shelf.ask({"w01": 1.0, "w02": 1.0})], shelf.search(), [[0, 0], [1, 0]])
    assert found.models[1].tolist() == found.pool.background.tolist()
    assert found.models[2].tolist() != found.pool.background.tolist()


def test_a_weight_beyond_all_is_none_to_a_search(shelf):
    asked = shelf.ask({"w01": 1.0, "w02": 1e20})
    [found] = perturb([asked], shelf.search(), [[1, 1e300], [1, 0]])
    assert found.models[1].tolist() == found.models[2].tolist()


def test_one_term_can_be_weighed_otherwise_by_the_user(shelf):
    model = QueryLikelihood(50)
    asked = shelf.ask({"w05": 1.0}, model)
    [found] = perturb([asked], shelf.search(model), lambda n: np.full((1, n), 3.0))
    assert found.note == ""
    # The ranking stays, and documents weigh by rank.
    assert (found.features() == 0).all()


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("nonsense", "unknown strategy 'nonsense'"),
        ([1.0, 0.0], "not 2;"),
        ([[1.0, 0.0, 1.0]], "not 1 × 3"),
        (np.empty((0, 2)), "not 0 × 2"),
        (lambda n: 1.0, "not a single number"),
        (lambda n: [[1.0], [1.0, 2.0]], "an array of numbers"),
        (lambda n: [["a", "b"]], "an array of numbers"),
        ([[1.0, np.nan]], "finite"),
        ([[1.0, np.inf]], "finite"),
        ([[1.0, -0.5]], "0 or more"),
    ],
)
def test_a_strategy_that_does_not_fit_is_refused(shelf, strategy, message):
    with pytest.raises(UsageError, match=message):
        perturb([shelf.ask({"w01": 1.0, "w02": 1.0})], shelf.search(), strategy)


@pytest.mark.parametrize(
    "options", [{"docs": 0}, {"most": 0}, {"smoothing": 0.0}, {"smoothing": 1.0}]
)
def test_options_that_do_not_fit_are_refused(shelf, options):
    with pytest.raises(UsageError, match=next(iter(options))):
        perturb([], shelf.search(), **options)


def test_it_prints_in_a_line(shelf):
    [found] = perturb([shelf.ask({"w03": 1.0, "w10": 1.0})], shelf.search())
    assert repr(found).startswith("<Perturbed 'w03, w10': 2 perturbations, ")
    assert "\n" not in repr(found)

"""Golden values worked by hand, and every model against dictionaries and loops."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.expand.expansion import NO_SHARE, Feedback, read_expander
from likewise.expand.feedback import KL, NO_ANSWER, RM1, RM3, Bo1, Rocchio, relevance
from likewise.expand.pool import read_pool
from likewise.retrieve.models import BM25, TFIDF, JelinekMercer, QueryLikelihood
from likewise.text.analysis import Analysis

FEEDBACK = [RM3(), RM1(), Bo1(), KL(), Rocchio(), Rocchio(gamma=0.15)]
MODELS = [BM25(), QueryLikelihood(20), JelinekMercer(), TFIDF()]
NOTHING_NEW = "no term stands out in its first documents"

# Documents 0 and 1 are the feedback of the golden values; lengths are 4, 6, 3 and 3.
#         a  b  c  d  e  f
# d0      2  1  1
# d1      1  2     3
# d2         1  1     1
# d3                  2  1
# docs    2  3  2  1  2  1    N = 4
# freq    3  4  2  3  3  1    16 tokens
TOY = ["a a b c", "a b b d d d", "b c e", "e e f"]


@pytest.fixture
def toy(shelve):
    return shelve(TOY)


# Relevance models. Scores 3 and 1 are the weights .75 (d1) and .25 (d0):
#   p(a) = .75 · 1/6 + .25 · 2/4 = .125 + .125  = .25
#   p(b) = .75 · 2/6 + .25 · 1/4 = .25  + .0625 = .3125
#   p(c) =             .25 · 1/4                = .0625
#   p(d) = .75 · 3/6                            = .375
# The three best, d b a, have .9375 together: .4, 1/3, 4/15.


def test_rm1_by_hand(toy, rank):
    asked = Feedback({"a": 1.0, "b": 1.0}, rank((1, 3.0), (0, 1.0)))
    # All four add up to 1; the query's weights to 2.
    grown = toy.expand(RM1(terms=4), asked)
    assert list(grown.terms) == ["d", "b", "a", "c"]
    assert grown.terms == pytest.approx({"d": 0.75, "b": 0.625, "a": 0.5, "c": 0.125})
    grown = toy.expand(RM1(terms=3), asked)
    assert grown.terms == pytest.approx({"d": 0.8, "b": 2 / 3, "a": 8 / 15})
    # Of the first document alone.
    grown = toy.expand(RM1(docs=1), asked)
    assert grown.terms == pytest.approx({"d": 2 * 3 / 6, "b": 2 * 2 / 6, "a": 2 * 1 / 6})


def test_rm3_by_hand(toy, rank):
    asked = Feedback({"a": 1.0, "b": 1.0}, rank((1, 3.0), (0, 1.0)))
    # ½ · (½, ½) + ½ · (4/15, 1/3, 2/5) = 23/60, 5/12, 1/5; twice that, as the query has 2.
    expected = {"b": 5 / 6, "a": 23 / 30, "d": 2 / 5}
    assert toy.expand(RM3(terms=3), asked).terms == pytest.approx(expected)
    assert list(toy.expand(RM3(terms=3), asked).terms) == ["b", "a", "d"]
    # ¾ of the query: ¾ · ½ + ¼ · 4/15 = 53/120, ¾ · ½ + ¼ · 1/3 = 11/24, ¼ · 2/5 = 1/10.
    expected = {"b": 11 / 12, "a": 53 / 60, "d": 1 / 5}
    assert toy.expand(RM3(terms=3, share=0.25), asked).terms == pytest.approx(expected)
    # A query of weights 2 and 1 (and a word that no document has) has 3, shared 2/3, 1/3.
    asked = Feedback({"a": 2.0, "b": 1.0, "zebra": 9.0}, asked.ranking)
    expected = {
        "a": 3 * (0.5 * 2 / 3 + 0.5 * 4 / 15),
        "b": 3 * (0.5 * 1 / 3 + 0.5 * 1 / 3),
        "d": 3 * 0.5 * 0.4,
    }
    assert toy.expand(RM3(terms=3), asked).terms == pytest.approx(expected)


def test_shares_of_0_and_1(toy, rank):
    asked = Feedback({"a": 1.0, "b": 1.0}, rank((1, 3.0), (0, 1.0)))
    assert toy.expand(RM3(share=0), asked) == ({}, NO_SHARE, "")
    assert toy.expand(RM3(share=1), asked) == toy.expand(RM1(), asked)


def test_logarithms_are_weighed_as_likelihoods(toy, rank):
    # Scores ln 6 and ln 2 are the odds 3 : 1 of the tests above.
    ranking = rank((1, math.log(6)), (0, math.log(2)))
    asked = Feedback({"a": 1.0, "b": 1.0}, ranking)
    grown = toy.expand(RM3(terms=3), asked, model=QueryLikelihood())
    assert grown.terms == pytest.approx({"b": 5 / 6, "a": 23 / 30, "d": 2 / 5})
    far = Feedback(asked.terms, rank((1, -5000.0), (0, -9000.0)))
    grown = toy.expand(RM1(), far, model=QueryLikelihood())
    assert grown.terms == pytest.approx({"d": 1.0, "b": 2 / 3, "a": 1 / 3})


def test_negative_scores_weigh_all_documents_the_same(toy, rank):
    asked = Feedback({"a": 1.0}, rank((1, 2.0), (0, -1.0)))
    # ½ · (1/6 + 2/4) = 1/3, ½ · (2/6 + 1/4) = 7/24, ½ · 1/4 = 1/8, ½ · 3/6 = 1/4.
    expected = {"a": 1 / 3, "b": 7 / 24, "c": 1 / 8, "d": 1 / 4}
    assert toy.expand(RM1(), asked).terms == pytest.approx(expected)


# Bose-Einstein. In d0 and d1: a 3, b 3, c 1, d 3; P = F/4: a .75, b 1, c .5, d .75.
#   a: 3 log2(1.75/.75) + log2(1.75) = 3 · 1.222392 + .807355 = 4.474532
#   b: 3 log2(2/1)      + log2(2)    = 3 + 1                  = 4
#   c and d are in one of the documents only.


def test_bo1_by_hand(toy, rank):
    asked = Feedback({"b": 1.0}, rank((1, 3.0), (0, 1.0)))
    a = 3 * 1.2223924213364481 + 0.8073549220576041
    # a has no occurrence elsewhere, so that its weight is its own limit: b 1 + 4/a, a 1.
    whole = 1 + 4 / a + 1
    grown = toy.expand(Bo1(), asked)
    assert list(grown.terms) == ["b", "a"]
    assert grown.terms == pytest.approx({"b": (1 + 4 / a) / whole, "a": 1 / whole})
    assert toy.expand(Bo1(share=0), asked).skipped_reason == NO_SHARE
    alone = toy.expand(Bo1(share=1), asked)
    assert alone.terms == pytest.approx({"a": a / (a + 4), "b": 4 / (a + 4)})
    # One term is asked for, the best: a.
    assert toy.expand(Bo1(terms=1, share=1), asked).terms == {"a": 1.0}


def test_bo1_divides_by_what_the_best_term_could_weigh(shelve, rank):
    # x: f 2, F 2, P ½: 2 log2(3) + log2(1.5)  = 3.169925 + .584963 = 3.754888
    # y: f 3, F 4, P 1: 3 log2(2) + log2(2)    = 4
    # y would weigh 3 log2(1.75/.75) + log2(1.75) = 4.474532 if it were in these documents only.
    shelf = shelve(["x y y z", "x y w", "y v", "v v w"])
    asked = Feedback({"x": 1.0}, rank((0, 2.0), (1, 1.0)))
    x, y, limit = 3.754887502163469, 4.0, 4.474532185966948
    whole = 1 + x / limit + y / limit
    expected = {"x": (1 + x / limit) / whole, "y": y / limit / whole}
    assert shelf.expand(Bo1(), asked).terms == pytest.approx(expected)
    # z is in one of the documents, but asked for: P ¼, log2(5) + log2(1.25) = 2.643856.
    asked = Feedback({"x": 2.0, "z": 1.0}, asked.ranking)
    z = 2.643856189774724
    whole = (1 + x / limit) + y / limit + (0.5 + z / limit)
    expected = {"x": 1 + x / limit, "y": y / limit, "z": 0.5 + z / limit}
    expected = {term: 3 * weight / whole for term, weight in expected.items()}
    assert shelf.expand(Bo1(), asked).terms == pytest.approx(expected)


def test_bo1_takes_at_least_as_many_terms_as_the_query_has(toy, rank):
    # a is the best, b the next; with two asked for, one term is not enough.
    asked = Feedback({"b": 1.0, "c": 1.0}, rank((1, 3.0), (0, 1.0)))
    assert set(toy.expand(Bo1(terms=1, share=1), asked).terms) == {"a", "b"}


def test_kl_by_hand(toy, rank):
    # Of the 10 tokens of d0 and d1: a .3, b .3; of all 16: a 3/16, b 4/16.
    #   a: .3 log2(1.6) = .3 · .678072 = .203422, its own limit (it is nowhere else)
    #   b: .3 log2(1.2) = .3 · .263034 = .078910
    asked = Feedback({"b": 1.0}, rank((1, 3.0), (0, 1.0)))
    ratio = 0.2630344058337938 / 0.6780719051126377
    grown = toy.expand(KL(), asked)
    assert grown.terms == pytest.approx({"b": (1 + ratio) / (2 + ratio), "a": 1 / (2 + ratio)})
    assert toy.expand(KL(share=0), asked).skipped_reason == NO_SHARE
    alone = toy.expand(KL(share=1), asked)
    assert alone.terms == pytest.approx({"a": 1 / (1 + ratio), "b": ratio / (1 + ratio)})


def test_kl_leaves_out_what_is_rarer_than_elsewhere(shelve, rank):
    # Of 4 tokens each has x 1, so .25 of the documents; of all 10 tokens x is 6, or .6.
    shelf = shelve(["x y", "x y", "x x x x", "w w"])
    asked = Feedback({"x": 1.0}, rank((0, 2.0), (1, 1.0)))
    assert shelf.expand(KL(share=1), asked).terms == {"y": 1.0}


# Rocchio. idf = ln(1 + 4/n): a ln 3, b ln(7/3), c ln 3, d ln 5. Entries (1 + ln tf) idf:
#   d1: a 1.0986, b 1.6931 · .8473 = 1.4346, d 2.0986 · 1.6094 = 3.3776, of length 3.8305
#   d0: a 1.6931 · 1.0986 = 1.8601, b .8473, c 1.0986, of length 2.3205
# The query a b is 1.0986, .8473, of length 1.3874.


def rocchio_by_hand(alpha, beta):
    ln = math.log
    a = (alpha * ln(3) / 1.38738 + beta * (ln(3) / 3.83054 + 1.86011 / 2.32053) / 2) / ln(3)
    b = (alpha * ln(7 / 3) / 1.38738 + beta * (1.43460 / 3.83054 + 0.84730 / 2.32053) / 2) / ln(
        7 / 3
    )
    d = beta * 3.37759 / 3.83054 / 2 / ln(5)
    return {"a": 2 * a / (a + b + d), "b": 2 * b / (a + b + d), "d": 2 * d / (a + b + d)}


def test_rocchio_by_hand(toy, rank):
    asked = Feedback({"a": 1.0, "b": 1.0}, rank((1, 3.0), (0, 1.0)))
    # d is the one new term: its entry, .5 · .75 · 3.3776/3.8305 = .33, is above c's .18.
    grown = toy.expand(Rocchio(terms=1), asked)
    assert grown.terms == pytest.approx(rocchio_by_hand(1, 0.75), rel=1e-4)
    grown = toy.expand(Rocchio(terms=1).with_share(0.5), asked)
    assert grown.terms == pytest.approx(rocchio_by_hand(0.5, 0.5), rel=1e-4)
    grown = toy.expand(Rocchio(terms=1).with_share(1), asked)
    assert grown.terms == pytest.approx(rocchio_by_hand(0, 1), rel=1e-4)
    assert toy.expand(Rocchio().with_share(0), asked) == ({}, NO_SHARE, "")
    assert set(toy.expand(Rocchio(), asked).terms) == set("abcd")


def test_rocchio_takes_away_what_the_last_documents_have(shelve, rank):
    shelf = shelve(["q x", "q x", "y q", "z"])
    asked = Feedback({"q": 1.0}, rank((0, 3.0), (1, 2.0), (2, 1.0)))
    without = shelf.expand(Rocchio(docs=2), asked).terms
    grown = shelf.expand(Rocchio(docs=2, gamma=0.5), asked).terms
    assert set(without) == set(grown) == {"q", "x"}
    assert grown["x"] > without["x"]
    # idf: q ln(7/3), x ln 3, y ln 5. The first two are the same vector; the last takes some of q,
    # and y would be negative.
    q, x, y = math.log(7 / 3), math.log(3), math.log(5)
    size, last = math.hypot(q, x), math.hypot(q, y)
    entries = {"q": (1 + 0.75 * q / size - 0.5 * q / last) / q, "x": 0.75 * x / size / x}
    whole = sum(entries.values())
    assert grown == pytest.approx({term: entry / whole for term, entry in entries.items()})
    # So much that nothing is left of the query, nor of what else it has.
    assert shelf.expand(Rocchio(docs=1, alpha=0, gamma=9, beta=0.1), asked).terms.keys() == {"x"}


# Dictionaries and loops


def best(shelf, weights, n):
    """Choose by weight (to the twelfth digit), then rarity, then the alphabet."""
    top = max(weights.values(), default=0)
    order = sorted(
        (term for term, weight in weights.items() if weight > 0),
        key=lambda term: (round(weights[term] * (-1e12 / top)), shelf.doc_freqs[term], term),
    )
    return {term: weights[term] for term in order[:n]}


def joined(query, new, share, norm, limit=0.0):
    if not new or share == 0:
        return {}
    final = Counter()
    for term, weight in new.items():
        final[term] += share * weight / (limit or norm(new.values()))
    for term, weight in query.items():
        final[term] += (1 - share) * weight / norm(query.values())
    scale = (sum(query.values()) or 1) / sum(final.values())
    return {term: weight * scale for term, weight in final.items() if weight > 0}


def plain_rm3(shelf, how, query, docs, scores, *, is_log):
    scores = [math.exp(s - max(scores)) for s in scores] if is_log else scores
    p = Counter()
    for doc, score in zip(docs, scores, strict=True):
        weight = score / np.sum(scores) / max(shelf.lengths[doc], 1)
        for term, count in shelf.counts[doc].items():
            p[term] += count * weight
    return joined(query, best(shelf, p, how.terms), how.share, sum)


def plain_bo1(shelf, how, query, docs, *, kl):
    counts = sum((shelf.counts[doc] for doc in docs), Counter())
    length = sum(shelf.lengths[doc] for doc in docs)

    def weigh(count, freq):
        if kl:
            return max(count / length * math.log2(count / length * shelf.n_tokens / freq), 0)
        p = freq / shelf.n_docs
        return count * math.log2((1 + p) / p) + math.log2(1 + p)

    weights = {}
    for term, count in counts.items():
        n = sum(term in shelf.counts[doc] for doc in docs)
        if n >= 2 or len(docs) == 1 or term in query:
            weights[term] = weigh(count, shelf.term_freqs[term])
    new = best(shelf, weights, max(how.terms, len(query)))
    limit = weigh(counts[next(iter(new))], counts[next(iter(new))]) if new else 0
    return joined(query, new, how.share, max, limit)


def plain_rocchio(shelf, how, query, docs):
    def idf(term):
        return math.log(1 + shelf.n_docs / shelf.doc_freqs[term])

    def unit(vector):
        size = math.sqrt(sum(entry**2 for entry in vector.values()))
        return {term: entry / size for term, entry in vector.items()}

    first, rest = docs[: how.docs], docs[how.docs :]
    parts = [(doc, how.beta / len(first)) for doc in first]
    if how.gamma:
        last = rest[-how.docs :]
        parts += [(doc, -how.gamma / len(last)) for doc in last]
    vector = Counter()
    for doc, part in parts:
        counts = shelf.counts[doc]
        for term, entry in unit({t: (1 + math.log(c)) * idf(t) for t, c in counts.items()}).items():
            vector[term] += part * entry
    new = best(shelf, {t: v for t, v in vector.items() if t not in query}, how.terms)
    for term, entry in unit({t: q * idf(t) for t, q in query.items()}).items():
        new[term] = vector[term] + how.alpha * entry
    asked_for = {term: entry / idf(term) for term, entry in new.items() if entry > 1e-12}
    return joined(query, asked_for, 1.0, sum)


def plainly(shelf, how, query, ranking, model):
    """What an expander should give for a query's known words, all of weight above 0."""
    query = {term: weight for term, weight in query.items() if shelf.doc_freqs[term]}
    docs, scores = ranking.docs.tolist(), ranking.scores.tolist()
    if isinstance(how, Rocchio):
        return plain_rocchio(shelf, how, query, docs)
    docs, scores = docs[: how.docs], scores[: how.docs]
    if isinstance(how, RM3):
        return plain_rm3(shelf, how, query, docs, scores, is_log=model.log)
    return plain_bo1(shelf, how, query, docs, kl=isinstance(how, KL))


WORDS = list("abcdefghijkl")
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=12
)
QUERIES = st.dictionaries(
    st.sampled_from([*WORDS, "zebra"]), st.sampled_from([1.0, 2.0, 0.3]), min_size=1, max_size=4
)
SHARES = st.sampled_from([0.1, 0.5, 0.9, 1.0])
COUNTS = st.sampled_from([1, 2, 3, 5, 30])


@st.composite
def expanders(draw):
    kind = draw(st.sampled_from([RM3, RM1, Bo1, KL, Rocchio]))
    docs, terms = draw(COUNTS), draw(COUNTS)
    if kind is not Rocchio:
        return kind(docs=docs, terms=terms, share=draw(SHARES))
    parts = ([0, 1], [0.75, 2], [0, 0.37])
    return Rocchio(docs, terms, *(draw(st.sampled_from(choice)) for choice in parts))


JOBS = st.lists(st.tuples(QUERIES, expanders(), st.sampled_from(MODELS)), min_size=3, max_size=6)


@settings(max_examples=60)
@given(texts=TEXTS, jobs=JOBS)
def test_every_model_gives_what_loops_over_dictionaries_give(shelved, texts, jobs):
    with shelved(texts) as shelf:
        for query, how, model in jobs:
            asked = shelf.ask(query, model=model, k=how.feedback_docs)
            grown = shelf.expand(how, asked, model=model)
            if len(asked.ranking.docs) == 0:
                assert grown == ({}, NO_ANSWER, "")
                continue
            expected = plainly(shelf, how, query, asked.ranking, model)
            assert grown.skipped_reason == ("" if expected else NOTHING_NEW)
            if isinstance(how, Rocchio) and set(expected) != set(grown.terms):
                # Which of equals is taken, rounding may decide.
                assert sorted(expected.values()) == pytest.approx(sorted(grown.terms.values()))
            else:
                assert grown.terms == pytest.approx(expected, rel=1e-9)


@settings(max_examples=40)
@given(texts=TEXTS, jobs=JOBS)
def test_weights_are_positive_and_add_up_to_those_of_the_query(shelved, texts, jobs):
    with shelved(texts) as shelf:
        for query, how, model in jobs:
            asked = shelf.ask(query, model=model)
            grown = shelf.expand(how, asked, model=model)
            assert shelf.expand(how, asked, model=model) == grown
            assert shelf.expand(how.with_share(0), asked, model=model).skipped_reason in (
                NO_SHARE,
                NO_ANSWER,
            )
            if grown.skipped_reason:
                assert grown.terms == {}
                continue
            assert min(grown.terms.values()) > 0
            assert list(grown.terms.values()) == sorted(grown.terms.values(), reverse=True)
            known = math.fsum(weight for term, weight in query.items() if shelf.doc_freqs[term])
            assert math.fsum(grown.terms.values()) == pytest.approx(known)
            assert all(shelf.doc_freqs[term] for term in grown.terms)


# What can be odd


@pytest.mark.parametrize("how", FEEDBACK, ids=str)
def test_queries_without_an_answer_say_so(toy, how):
    for query in ({}, {"zebra": 1.0}):
        assert toy.expand(how, toy.ask(query)) == ({}, NO_ANSWER, "")
    nothing = [np.zeros(4, np.bool_)]
    assert toy.expand(how, toy.ask({"a": 1.0}, allowed=nothing)) == ({}, NO_ANSWER, "")


@pytest.mark.parametrize("how", FEEDBACK, ids=str)
def test_documents_without_words(shelve, rank, how):
    shelf = shelve(["", "a b a b", "a b c", "", "d"])
    for ranking in (rank((0, 1.0)), rank((0, 2.0), (3, 1.0))):
        assert (
            shelf.expand(how.with_share(1), Feedback({"a": 1.0}, ranking)).skipped_reason
            == NOTHING_NEW
        )
    # Beside others they change nothing but their weight in the mean.
    among = Feedback({"a": 1.0}, rank((1, 2.0), (0, 1.0), (2, 1.0)))
    alone = Feedback({"a": 1.0}, rank((1, 2.0), (2, 1.0)))
    if not getattr(how, "gamma", 0):
        expected = shelf.expand(how.with_share(1), alone).terms
        assert shelf.expand(how.with_share(1), among).terms == pytest.approx(expected)


@pytest.mark.parametrize("how", FEEDBACK, ids=str)
def test_one_document_and_queries_of_one_word(shelve, how):
    shelf = shelve(["a b b"])
    grown = shelf.expand(how, shelf.ask({"a": 1.0}))
    # All of the collection is no surprise: it diverges from nothing.
    if isinstance(how, KL):
        assert grown == ({}, NOTHING_NEW, "")
    else:
        assert set(grown.terms) == {"a", "b"}
    shelf = shelve(["a", "a a", "b"])
    grown = shelf.expand(how, shelf.ask({"a": 1.0}))
    assert grown.terms == pytest.approx({"a": 1.0})


@pytest.mark.parametrize("how", FEEDBACK, ids=str)
def test_documents_that_another_way_found_expand_queries_of_unknown_words(toy, rank, how):
    grown = toy.expand(how, Feedback({"zebra": 2.0}, rank((0, 2.0), (1, 1.0))))
    assert set(grown.terms) <= set("abcd")
    assert math.fsum(grown.terms.values()) == pytest.approx(1)


@pytest.mark.parametrize("how", FEEDBACK, ids=str)
def test_terms_that_the_analysis_does_not_admit_stay_out(shelve, rank, how):
    rule = Analysis("none", stemmer="none", stop="none", min_length=1, min_df=2)
    shelf = shelve(TOY, analysis=rule)
    grown = shelf.expand(how, Feedback({"a": 1.0, "d": 1.0}, rank((1, 3.0), (0, 1.0))))
    assert set(grown.terms) <= {"a", "b", "c"}
    # d was asked for, but is in one document only.
    assert math.fsum(grown.terms.values()) == pytest.approx(1)


def test_words_that_are_not_admitted_count_in_lengths(shelve, rank):
    rule = Analysis("none", stemmer="none", stop="none", min_length=1, min_df=2)
    shelf = shelve(TOY, analysis=rule)
    # d1 without its three d: p(a) = .25, p(b) = .3125, p(c) = .0625 as above, of .625.
    grown = shelf.expand(RM1(), Feedback({"a": 1.0}, rank((1, 3.0), (0, 1.0))))
    assert grown.terms == pytest.approx({"a": 0.4, "b": 0.5, "c": 0.1})


def random_texts(seed, n_docs):
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 41)
    return [
        " ".join(f"w{w:02}" for w in generator.choice(40, size, p=shares / shares.sum()))
        for size in generator.integers(0, 25, n_docs)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_segments_and_deleted_documents_make_no_difference(shelve, seed):
    texts = random_texts(seed, 60)
    generator = np.random.default_rng(seed)
    gone = sorted(generator.choice(60, 25, replace=False).tolist())
    kept = [text for i, text in enumerate(texts) if i not in gone]
    fresh, grown = shelve(kept), shelve(texts, pieces=5, deleted=gone)
    merged = shelve(texts, pieces=5, deleted=gone)
    merged.collection.merge()
    merged.snapshot = merged.collection.snapshot
    assert [len(s.snapshot.segments) for s in (fresh, grown, merged)] == [1, 5, 1]
    for how in [*FEEDBACK, RM3(terms=3), Bo1(terms=1), Rocchio(terms=2)]:
        for query in ({"w03": 1.0}, {"w11": 1.0, "w25": 2.0}, {"w30": 1.0, "w08": 1.0}):
            expected = fresh.expand(how, fresh.ask(query))
            for other in (grown, merged):
                found = other.expand(how, other.ask(query))
                assert found.skipped_reason == expected.skipped_reason
                assert found.terms == pytest.approx(expected.terms)


# How they are written


def test_depth():
    assert [how.feedback_docs for how in FEEDBACK] == [10, 10, 3, 3, 10, 1000]
    given = (RM3(docs=7), KL(docs=50), Rocchio(docs=4))
    assert [how.feedback_docs for how in given] == [7, 50, 4]
    assert Rocchio(docs=2000, gamma=1).feedback_docs == 4000


@pytest.mark.parametrize("how", FEEDBACK, ids=str)
def test_what_prints_is_what_is_read(how):
    assert read_expander(str(how)) == how
    assert read_expander(str(how.with_share(0.3))) == how.with_share(0.3)
    assert str(type(how)()) == how.notation


def test_at_keeps_everything_but_the_share():
    assert str(RM3(docs=5).with_share(0.1)) == "rm3(docs=5,share=0.1)"
    assert RM1().with_share(0.5) == RM1(share=0.5)
    assert Bo1(terms=4).with_share(0.2) == Bo1(terms=4, share=0.2)
    # 4 : 4 : 2 is .5 : .5 : .25
    assert Rocchio(alpha=4, beta=4, gamma=2).with_share(0.5) == Rocchio(
        alpha=0.5, beta=0.5, gamma=0.25
    )
    assert Rocchio(gamma=0.3).with_share(0) == Rocchio(alpha=1.0, beta=0.0, gamma=0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: RM3(docs=0), "rm3 needs docs of at least 1, a whole number, not 0"),
        (lambda: RM1(terms=-1), "rm1 needs terms of at least 1, a whole number, not -1"),
        (lambda: Bo1(docs=2.5), "bo1 needs docs of at least 1, a whole number, not 2.5"),
        (lambda: KL(terms=0), "kl needs terms of at least 1"),
        (lambda: Rocchio(docs=0), "rocchio needs docs of at least 1"),
        (lambda: RM3(share=1.5), "rm3 needs share from 0 .the query alone. to 1, not 1.5"),
        (lambda: KL(share=float("nan")), "kl needs share from 0 .* not nan"),
        (lambda: RM3().with_share(-0.1), "rm3 needs share from 0 .* not -0.1"),
        (lambda: Rocchio().with_share(2), "rocchio needs share from 0 .* not 2"),
        (lambda: Rocchio(alpha=-1), "from 0 to 1e6, .* not alpha=-1, beta=0.75, gamma=0.0"),
        (lambda: Rocchio(alpha=0, beta=0), "alpha or beta above 0"),
        (lambda: Rocchio(gamma=float("inf")), "gamma=inf"),
    ],
)
def test_wrong_options_are_refused(wrong, message):
    with pytest.raises(UsageError, match=message):
        wrong()


def test_what_others_use(toy, rank):
    pool = read_pool(toy.snapshot, np.array([1, 0]), {"a": 1.0})
    p = relevance(pool, np.array([0.75, 0.25]))
    assert dict(zip(pool.names(np.arange(4)), p, strict=True)) == pytest.approx(
        {"a": 0.25, "b": 0.3125, "c": 0.0625, "d": 0.375}
    )
    # With lengths damped by 2: .75 · 3/8 is d's, .25 · 1/6 c's.
    damped = relevance(pool, np.array([0.75, 0.25]), damping=2.0)
    assert damped.tolist() == pytest.approx(
        [0.75 / 8 + 0.5 / 6, 1.5 / 8 + 0.25 / 6, 0.25 / 6, 2.25 / 8]
    )

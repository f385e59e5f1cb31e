"""Golden values: two lists of one query, worked by hand.

a: 10 → 4, 20 → 2, 30 → 0        by score 1, .5, 0        by rank 1, 2/3, 1/3
b: 20 → 9, 40 → 3                 by score 1, 0            by rank 1, 1/2

With ties:
c: 5 → 2, 7 → 2, 9 → 1            by score 1, 1, 0         by rank 1, 2/3, 1/3
d: 7 → 3, 9 → 3                   by score 1, 1            by rank 1, 1/2
"""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.records import EMPTY, Explanation, Part, Query, Ranking
from likewise.stages import Context, Cut, Result, Stage
from likewise.stages.fusion import METHODS, NORMALISATIONS, NORMALISED, Fuse, fuse_rankings


def ranking(pairs):
    return Ranking(
        np.array([doc for doc, _ in pairs], np.int64),
        np.array([score for _, score in pairs], np.float64),
    )


A = ranking([(10, 4.0), (20, 2.0), (30, 0.0)])
B = ranking([(20, 9.0), (40, 3.0)])
C = ranking([(5, 2.0), (7, 2.0), (9, 1.0)])
D = ranking([(7, 3.0), (9, 3.0)])

GOLDEN = {
    ("min", "score"): [(10, 1), (20, 0.5), (30, 0), (40, 0)],
    ("max", "score"): [(10, 1), (20, 1), (30, 0), (40, 0)],
    ("sum", "score"): [(20, 1.5), (10, 1), (30, 0), (40, 0)],
    ("anz", "score"): [(10, 1), (20, 0.75), (30, 0), (40, 0)],
    ("mnz", "score"): [(20, 3), (10, 1), (30, 0), (40, 0)],
    ("min", "rank"): [(10, 1), (20, 2 / 3), (40, 1 / 2), (30, 1 / 3)],
    ("max", "rank"): [(10, 1), (20, 1), (40, 1 / 2), (30, 1 / 3)],
    ("sum", "rank"): [(20, 5 / 3), (10, 1), (40, 1 / 2), (30, 1 / 3)],
    ("anz", "rank"): [(10, 1), (20, 5 / 6), (40, 1 / 2), (30, 1 / 3)],
    ("mnz", "rank"): [(20, 10 / 3), (10, 1), (40, 1 / 2), (30, 1 / 3)],
    ("rrf", "score"): [(20, 1 / 62 + 1 / 61), (10, 1 / 61), (40, 1 / 62), (30, 1 / 63)],
}

TIES = {
    ("min", "score"): [(5, 1), (7, 1), (9, 0)],
    ("max", "score"): [(5, 1), (7, 1), (9, 1)],
    ("sum", "score"): [(7, 2), (5, 1), (9, 1)],
    ("anz", "score"): [(5, 1), (7, 1), (9, 0.5)],
    ("mnz", "score"): [(7, 4), (9, 2), (5, 1)],
    ("min", "rank"): [(5, 1), (7, 2 / 3), (9, 1 / 3)],
    ("max", "rank"): [(5, 1), (7, 1), (9, 1 / 2)],
    ("sum", "rank"): [(7, 5 / 3), (5, 1), (9, 5 / 6)],
    ("anz", "rank"): [(5, 1), (7, 5 / 6), (9, 5 / 12)],
    ("mnz", "rank"): [(7, 10 / 3), (9, 5 / 3), (5, 1)],
    ("rrf", "score"): [(7, 1 / 62 + 1 / 61), (9, 1 / 63 + 1 / 62), (5, 1 / 61)],
}

# A counts once, B half.
WEIGHTED = {
    ("min", "score"): [(10, 1), (20, 0.5), (30, 0), (40, 0)],
    ("max", "score"): [(10, 1), (20, 0.5), (30, 0), (40, 0)],
    ("sum", "score"): [(10, 1), (20, 1), (30, 0), (40, 0)],
    ("anz", "score"): [(10, 1), (20, 0.5), (30, 0), (40, 0)],
    ("mnz", "score"): [(20, 2), (10, 1), (30, 0), (40, 0)],
    ("min", "rank"): [(10, 1), (20, 1 / 2), (30, 1 / 3), (40, 1 / 4)],
    ("max", "rank"): [(10, 1), (20, 2 / 3), (30, 1 / 3), (40, 1 / 4)],
    ("sum", "rank"): [(20, 7 / 6), (10, 1), (30, 1 / 3), (40, 1 / 4)],
    ("anz", "rank"): [(10, 1), (20, 7 / 12), (30, 1 / 3), (40, 1 / 4)],
    ("mnz", "rank"): [(20, 7 / 3), (10, 1), (30, 1 / 3), (40, 1 / 4)],
    ("rrf", "score"): [(20, 1 / 62 + 0.5 / 61), (10, 1 / 61), (30, 1 / 63), (40, 0.5 / 62)],
}

COMBINATIONS = sorted(GOLDEN)


def assert_is(fused, expected):
    assert fused.docs.tolist() == [doc for doc, _ in expected]
    assert fused.scores == pytest.approx([score for _, score in expected])


def test_every_combination_has_its_golden_values():
    pairs = {(method, normalise) for method in METHODS for normalise in NORMALISATIONS}
    assert set(GOLDEN) == set(TIES) == set(WEIGHTED) == pairs - {("rrf", "rank")}


@pytest.mark.parametrize(("method", "normalise"), COMBINATIONS)
def test_golden_values(method, normalise):
    fused = fuse_rankings([A, B], method=method, normalise=normalise)
    assert_is(fused, GOLDEN[method, normalise])


@pytest.mark.parametrize(("method", "normalise"), COMBINATIONS)
def test_golden_values_of_ties(method, normalise):
    assert_is(fuse_rankings([C, D], method=method, normalise=normalise), TIES[method, normalise])


@pytest.mark.parametrize(("method", "normalise"), COMBINATIONS)
def test_golden_values_of_weights(method, normalise):
    fused = fuse_rankings([A, B], method=method, normalise=normalise, weights=[1, 0.5])
    assert_is(fused, WEIGHTED[method, normalise])


@pytest.mark.parametrize(("method", "normalise"), COMBINATIONS)
def test_golden_values_beside_an_empty_list(method, normalise):
    alone = {
        "score": [(10, 1), (20, 0.5), (30, 0)],
        "rank": [(10, 1), (20, 2 / 3), (30, 1 / 3)],
        "rrf": [(10, 1 / 61), (20, 1 / 62), (30, 1 / 63)],
    }["rrf" if method == "rrf" else normalise]
    for lists in ([A, EMPTY], [EMPTY, A], [A]):
        assert_is(fuse_rankings(lists, method=method, normalise=normalise), alone)


def test_rrf_goes_by_ranks_however_scores_are_normalised():
    by_rank = fuse_rankings([A, B], method="rrf", normalise="rank")
    assert_is(by_rank, GOLDEN["rrf", "score"])


def test_equal_scores_all_count_as_one():
    fused = fuse_rankings([ranking([(5, 2.0), (7, 2.0)])])
    assert fused.docs.tolist() == [5, 7]
    assert fused.scores.tolist() == [1.0, 1.0]


def test_only_empty_lists_give_nothing():
    assert fuse_rankings([EMPTY, EMPTY]) is EMPTY
    assert fuse_rankings([]) is EMPTY
    assert fuse_rankings([], weights=[]) is EMPTY


@pytest.mark.parametrize(("method", "normalise"), COMBINATIONS)
def test_a_list_of_weight_0_is_left_out(method, normalise):
    options = {"method": method, "normalise": normalise}
    with_b = fuse_rankings([A, B], weights=[2, 0], **options)
    without = fuse_rankings([A], weights=[2], **options)
    assert with_b.docs.tolist() == without.docs.tolist()
    assert with_b.scores.tolist() == without.scores.tolist()
    assert fuse_rankings([EMPTY, B], weights=[1, 0], **options) is EMPTY


rankings = st.dictionaries(st.integers(0, 20), st.floats(-5, 5), max_size=12).map(
    lambda scores: ranking(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
)
weighted = st.lists(st.tuples(rankings, st.sampled_from([0.1, 0.5, 1.0, 3.0])), max_size=5)
methods = st.sampled_from(sorted(METHODS))
normalisations = st.sampled_from(sorted(NORMALISATIONS))


def fused_plainly(lists, method, normalise):
    """Each document by itself, from the definitions."""
    found = {}
    for one, weight in lists:
        scores = one.scores.tolist()
        for i, doc in enumerate(one.docs.tolist()):
            if method == "rrf":
                value = 1 / (60 + i + 1)
            elif normalise == "rank":
                value = 1 - i / len(scores)
            elif scores[0] > scores[-1]:
                value = (scores[i] - scores[-1]) / (scores[0] - scores[-1])
            else:
                value = 1.0
            found.setdefault(doc, []).append(value * weight)
    combine = {
        "min": min,
        "max": max,
        "sum": math.fsum,
        "rrf": math.fsum,
        "anz": lambda values: math.fsum(values) / len(values),
        "mnz": lambda values: math.fsum(values) * len(values),
    }[method]
    return {doc: combine(values) for doc, values in found.items()}


@given(weighted, methods, normalisations)
def test_every_document_once_best_first_ties_by_doc(lists, method, normalise):
    fused = fuse_rankings(
        [one for one, _ in lists],
        method=method,
        normalise=normalise,
        weights=[weight for _, weight in lists],
    )
    pairs = list(zip((-fused.scores).tolist(), fused.docs.tolist(), strict=True))
    assert pairs == sorted(pairs)
    expected = fused_plainly(lists, method, normalise)
    assert {doc: -minus for minus, doc in pairs} == pytest.approx(expected)


@given(weighted, methods, normalisations, st.randoms(use_true_random=False))
def test_the_order_of_the_lists_changes_no_bit(lists, method, normalise, random):
    shuffled = random.sample(lists, len(lists))
    fused, again = (
        fuse_rankings(
            [one for one, _ in order],
            method=method,
            normalise=normalise,
            weights=[weight for _, weight in order],
        )
        for order in (lists, shuffled)
    )
    assert fused.docs.tolist() == again.docs.tolist()
    assert fused.scores.tolist() == again.scores.tolist()


def test_the_same_scores_in_other_lists_are_a_tie():
    """Added list by list, one of these sums is an ulp above the other."""
    lists = [
        ranking([(7, 1.0), (8, 0.3), (3, 0.1), (9, 0.0)]),
        ranking([(7, 1.0), (3, 0.2), (8, 0.2), (9, 0.0)]),
        ranking([(7, 1.0), (3, 0.3), (8, 0.1), (9, 0.0)]),
    ]
    assert (0.1 + 0.2) + 0.3 != (0.3 + 0.2) + 0.1
    fused = fuse_rankings(lists)
    assert fused.docs.tolist() == [7, 3, 8, 9]
    assert fused.scores[1] == fused.scores[2]


def test_fuse_is_a_stage(papers):
    pipeline = papers.pipeline(lw.fuse("bm25", "ql", method="rrf") >> Cut(1))
    [result] = pipeline("wing flutter")
    assert papers.snapshot.doc_ids(result.ranking.docs) == ["1"]
    assert str(lw.fuse("bm25", "ql")) == "fuse(bm25, ql, method=sum)"
    assert str(lw.fuse("bm25", "ql", normalise="rank", weights=(1, 0.5))) == (
        "fuse(bm25, ql, method=sum, normalise=rank, weights=1|0.5)"
    )


def test_a_stage_takes_weights(papers):
    [alone] = papers.pipeline(lw.fuse("bm25"))("wing flutter heat")
    [weighted] = papers.pipeline(lw.fuse("bm25", "ql", weights=[3, 0]))("wing flutter heat")
    assert weighted.ranking.docs.tolist() == alone.ranking.docs.tolist()
    assert weighted.ranking.scores == pytest.approx(3 * alone.ranking.scores)


@pytest.mark.parametrize("normalise", NORMALISATIONS)
@pytest.mark.parametrize("method", METHODS)
def test_fused_scores_are_split_by_list(papers, method, normalise):
    fused = lw.fuse("bm25", "ql", "tfidf", method=method, normalise=normalise, weights=[1, 2, 0.5])
    [result] = papers.pipeline(fused)("wing flutter flow")
    docs = np.append(result.ranking.docs, 4)
    assert result.scorer.score(docs).tolist() == [*result.ranking.scores.tolist(), -np.inf]
    for one in result.scorer.explain(result.ranking.docs):
        assert sum(part.score for part in one.parts) == pytest.approx(one.score, abs=1e-9)
        assert {part.name for part in one.parts} <= {"bm25", "ql", "tfidf"}


def assert_adds_up(part):
    if part.parts:
        assert sum(inner.score for inner in part.parts) == pytest.approx(part.score, abs=1e-9)
    for inner in part.parts:
        assert_adds_up(inner)


@pytest.mark.parametrize("normalise", NORMALISATIONS)
@pytest.mark.parametrize("method", METHODS)
def test_what_a_list_gave_is_split_as_it_splits_its_scores(papers, monkeypatch, method, normalise):
    fused = lw.fuse("bm25", "tfidf", method=method, normalise=normalise, weights=[1, 2])
    alone = {
        name: papers.pipeline(name)("wing flutter flow")[0].scorer for name in ("bm25", "tfidf")
    }
    [result] = papers.pipeline(fused)("wing flutter flow")
    docs = result.ranking.docs
    own = {name: scorer.explain(docs) for name, scorer in alone.items()}

    def search(*_, **__):
        raise AssertionError("explaining is no search")

    monkeypatch.setattr("likewise.stages.stage.Chain.run", search)
    for stage in fused.stages:
        monkeypatch.setattr(type(stage), "run", search)
    explained = result.scorer.explain(docs)
    assert any(one.parts for one in explained)
    for i, one in enumerate(explained):
        for part in one.parts:
            assert_adds_up(part)
            told = own[part.name][i]
            expected = {word.name: word.score * part.score / told.score for word in told.parts}
            assert {word.name: word.score for word in part.parts} == pytest.approx(expected)


class Told:
    """A scorer that explains whatever it is told to."""

    log = False
    searches = None

    def __init__(self, told):
        self.told = told

    def explain(self, docs):
        return [self.told[doc] for doc in docs.tolist()]


class Given(Stage):
    """Gives a result."""

    def __init__(self, result, name):
        self.result, self.name = result, name

    def run(self, batch, context):
        return [self.result] * len(batch)

    def depth(self, k, *, log):
        return 0

    def __str__(self):
        return self.name


def explain(papers, *scorers, pairs=((1, 4.0), (2, 2.0), (3, 0.0))):
    found = [Result(Query("1"), ranking(pairs), scorer) for scorer in scorers]
    stages = [Given(one, "abc"[i]) for i, one in enumerate(found)]
    weights = [1.0, 0.5, 0.25][: len(found)]
    [result] = Fuse.of(stages, weights=weights).run([Result(Query("1"))], Context(papers.snapshot))
    return dict(
        zip(result.ranking.docs.tolist(), result.scorer.explain(result.ranking.docs), strict=True)
    )


def test_what_own_parts_leave_is_the_rest(papers):
    words = (Part("word", "wing", 3.0, (Part("word", "wings", 3.0),)), Part("word", "heat", -1.0))
    told = {1: Explanation(4.0, words), 2: Explanation(2.0, words)}
    found = explain(papers, Told(told))
    [one] = found[1].parts
    assert one.parts == (
        Part("word", "wing", 0.75, (Part("word", "wings", 0.75),)),
        Part("word", "heat", -0.25),
        Part("rest", NORMALISED, 0.5),
    )
    [two] = found[2].parts
    assert [part.score for part in two.parts] == [0.75, -0.25]
    assert found[3].parts == ()


@pytest.mark.parametrize("own", [0.0, -4.0, -math.inf, 5e-324])
def test_scores_without_proportions_stay_whole(papers, own):
    told = dict.fromkeys((1, 2), Explanation(own, (Part("word", "wing", own),)))
    found = explain(papers, Told(told), None)
    assert found[1].parts == (Part("list", "a", 1.0), Part("list", "b", 0.5))


def test_the_passages_are_those_of_the_list_that_gives_most(papers):
    def told(evidence):
        return Told(dict.fromkeys((1, 2), Explanation(1.0, (Part("word", "wing", 1.0),), evidence)))

    assert explain(papers, told("more"), told("less"))[1].evidence == "more"
    assert explain(papers, told(None), told("more"), told("less"))[1].evidence == "more"
    assert explain(papers, told(None), None)[1].evidence is None


def test_a_list_is_named_by_its_last_search(papers):
    fused = lw.fuse("bm25 >> rm3 >> bm25(k1=2.0) >> cut(3)", "where(year>=1900) >> tfidf")
    [result] = papers.pipeline(fused)("wing flutter flow")
    names = {part.name for one in result.scorer.explain(result.ranking.docs) for part in one.parts}
    assert names == {"bm25(k1=2.0) …", "where(year>=1900) >> tfidf"}
    fused = lw.fuse("bm25 >> cut(3)", "bm25 >> cut(2)")
    [result] = papers.pipeline(fused)("wing flutter flow")
    names = {part.name for one in result.scorer.explain(result.ranking.docs) for part in one.parts}
    assert names == {"bm25 >> cut(3)", "bm25 >> cut(2)"}


def test_reasons_are_written_list_by_list(papers):
    fused = lw.fuse("bm25", "tfidf")
    text = str(papers.pipeline(fused).answers("wings fluttering", explain=True))
    for name in ("bm25", "tfidf"):
        assert re.search(rf"^ *{name} +[0-9.]+ = .*fluttering [0-9.]+", text, re.MULTILINE)


def test_a_document_of_any_list_may_be_an_answer(papers):
    fused = lw.fuse("where(year>=1962) >> bm25", "where(year<1961) >> bm25")
    [result] = papers.pipeline(fused)("wing flutter")
    assert str(result.query.filter) == "year>=1962 or year<1961"
    [every] = papers.pipeline("bm25", filter=result.query.filter)("wing flutter")
    assert sorted(result.ranking.docs.tolist()) == sorted(every.ranking.docs.tolist())


def test_what_does_not_exist_is_named():
    with pytest.raises(UsageError, match="unknown fusion 'avg'"):
        lw.fuse(Cut(1), method="avg")
    with pytest.raises(UsageError, match="unknown normalisation"):
        lw.fuse(Cut(1), normalise="z")
    with pytest.raises(UsageError, match="at least one"):
        lw.fuse()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], r"1 weight \(1\) for 2 to be fused: give one for each"),
        ([1, 2, 3], r"3 weights \(1, 2, 3\) for 2"),
        ([], r"0 weights \(\) for 2"),
        ([1, -0.5], "numbers from 0 up, not 1, -0.5"),
        ([1, math.nan], "numbers from 0 up, not 1, nan"),
        ([1, math.inf], "numbers from 0 up, not 1, inf"),
        ([1e308, 1e308], "numbers from 0 up"),
        ([0, 0], "every weight is 0"),
        (["a", 1], r"weights are numbers, one for each list, not \['a', 1\]"),
        (0.5, "not 0.5"),
    ],
)
def test_weights_that_cannot_be_meant(weights, message):
    with pytest.raises(UsageError, match=message):
        lw.fuse(Cut(1), Cut(2), weights=weights)


@pytest.mark.parametrize("worst", [-math.inf, -1.7e308])
def test_scores_without_a_finite_range_are_fused_by_rank(worst):
    endless = ranking([(1, 1.7e308), (2, worst)])
    with pytest.raises(UsageError, match="no finite range; normalise by rank"):
        fuse_rankings([endless])
    assert fuse_rankings([endless], normalise="rank").scores.tolist() == [1.0, 0.5]

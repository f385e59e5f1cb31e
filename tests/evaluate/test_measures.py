import math
import random

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.evaluate.measures import DEFAULT_MEASURES, evaluate, parse_measures
from likewise.evaluate.trec import Qrels, Run


def ranked(*doc_ids):
    return [(doc_id, float(-rank)) for rank, doc_id in enumerate(doc_ids)]


def test_average_precision_by_hand():
    # Relevant at ranks 1 and 3, one of three never found: (1/1 + 2/3) / 3.
    scores = evaluate(
        Run("r", {"q": ranked("a", "x", "b")}),
        Qrels({"q": {"a": 1, "b": 1, "c": 1, "x": 0}}),
        measures=["AP", "P@10", "R@1000", "RR"],
    )
    assert scores.means == pytest.approx({"AP": 5 / 9, "P@10": 0.2, "R@1000": 2 / 3, "RR": 1.0})


def test_ndcg_by_hand():
    # Gains 1, 0, 4 at ranks 1, 2, 3; the best order has 4, 2, 1.
    got = 1 / math.log2(2) + 4 / math.log2(4)
    best = 4 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    scores = evaluate(
        Run("r", {"q": ranked("low", "x", "high")}),
        Qrels({"q": {"low": 1, "high": 4, "mid": 2}}),
        measures="nDCG@10",
    )
    assert scores["nDCG@10"] == pytest.approx([got / best])


def test_every_positive_grade_is_relevant_and_none_below():
    qrels = Qrels({"q": {"minus": -1, "spam": -2, "zero": 0, "one": 1, "four": 4}})
    run = Run("r", {"q": ranked("minus", "spam", "zero", "one", "four")})
    scores = evaluate(run, qrels, measures="AP RR R@4 AP(rel=2) nDCG")
    gained = 1 / math.log2(5) + 4 / math.log2(6)
    assert scores.means == pytest.approx(
        {
            "AP": (1 / 4 + 2 / 5) / 2,
            "RR": 1 / 4,
            "R@4": 1 / 2,
            "AP(rel=2)": 1 / 5,
            "nDCG": gained / (4 + 1 / math.log2(3)),
        }
    )


def test_absent_queries_count_as_nothing_and_unjudged_ones_are_left_out():
    qrels = Qrels(
        {"found": {"a": 1}, "absent": {"a": 1}, "empty": {"a": 2}, "no": {"a": 0}, "bad": {"a": -1}}
    )
    run = Run("r", {"no": ranked("a"), "new": ranked("a"), "found": ranked("a"), "empty": []})
    scores = evaluate(run, qrels, measures=["AP"])
    assert scores.qids == ("found", "absent", "empty")
    assert scores["AP"].tolist() == [1.0, 0.0, 0.0]
    assert scores.means == {"AP": pytest.approx(1 / 3)}
    assert (scores.absent, scores.left_out) == (2, 2)
    assert str(scores) == "r: AP 0.3333 (3 queries)"


def test_a_run_without_answers_scores_nothing():
    scores = evaluate(Run("r"), Qrels({"q": {"a": 1}}))
    assert scores.measures == DEFAULT_MEASURES
    assert set(scores.means.values()) == {0.0}


def test_what_cannot_be_measured_is_said():
    with pytest.raises(UsageError, match="no relevant document"):
        evaluate(Run("r", {"q": ranked("a")}), Qrels({"q": {"a": 0}}))
    with pytest.raises(UsageError, match="answers none of the judged queries: it has '1'"):
        evaluate(Run("r", {"1": ranked("a")}), Qrels({"q1": {"a": 1}}))
    with pytest.raises(UsageError, match="was not measured; there is AP"):
        evaluate(Run("r"), Qrels({"q": {"a": 1}}), measures="AP")["P@5"]


def test_ties_keep_the_order_of_the_run():
    # trec_eval would put the greater id first.
    qrels = Qrels({"q": {"a": 1}})
    assert evaluate(Run("r", {"q": [("a", 1.0), ("z", 1.0)]}), qrels).means["AP"] == 1.0
    assert evaluate(Run("r", {"q": [("z", 1.0), ("a", 1.0)]}), qrels).means["AP"] == 0.5


def test_scores_apart_by_less_than_a_32_bit_float_keep_their_order():
    run = Run("r", {"q": [("a", 1.0), ("z", np.nextafter(1.0, 0))]})
    assert evaluate(run, Qrels({"q": {"a": 1}})).means["AP"] == 1.0


def test_ids_that_the_providers_cannot_hold():
    qrels = Qrels({"q\0": {"a\0b": 1, "\ud800": 1}})
    run = Run("r", {"q\0": ranked("a\0c", "a\0b", "\ud800")})
    assert evaluate(run, qrels, measures="AP").means == pytest.approx({"AP": (1 / 2 + 2 / 3) / 2})


@pytest.fixture(scope="module")
def random_collection():
    rng = random.Random(3)
    docs = [f"d{i}" for i in range(60)]
    judgements = {
        f"q{i}": {doc: rng.choice([-1, 0, 0, 1, 2, 4]) for doc in rng.sample(docs, 25)}
        for i in range(20)
    }
    rankings = {
        f"q{i}": [(doc, 100.0 - rank) for rank, doc in enumerate(rng.sample(docs, 40))]
        for i in range(18)
    }
    return Qrels(judgements), Run("r", rankings)


def test_values_equal_those_of_trec_eval(random_collection):
    qrels, run = random_collection
    names = {"AP": "map", "nDCG@10": "ndcg_cut_10", "P@10": "P_10", "R@1000": "recall_1000"}
    expected = pytrec_eval.RelevanceEvaluator(dict(qrels), set(names.values())).evaluate(
        {qid: dict(ranking) for qid, ranking in run.items()}
    )
    scores = evaluate(run, qrels)
    assert len(scores.qids) == 20
    for measure, name in names.items():
        values = [expected.get(qid, {}).get(name, 0.0) for qid in scores.qids]
        assert scores[measure] == pytest.approx(values, abs=1e-12)


def test_means_equal_those_of_ir_measures(random_collection):
    qrels, run = random_collection
    measures = [ir_measures.RR @ 10, ir_measures.Bpref, ir_measures.Rprec, ir_measures.Judged @ 5]
    scores = evaluate(run, qrels, measures=measures)
    expected = ir_measures.calc_aggregate(
        measures, dict(qrels), {qid: dict(ranking) for qid, ranking in run.items()}
    )
    assert scores.means == pytest.approx({repr(m): value for m, value in expected.items()})


@pytest.mark.parametrize("cutoff", range(5, 15))
def test_gains_of_one_measure_do_not_reach_another(random_collection, cutoff):
    # Where the order inside a set decides, ten cutoffs hardly all fall the harmless way.
    qrels, run = random_collection
    names = [f"nDCG(gains={{1:9,4:0}})@{cutoff}", f"nDCG@{cutoff}"]
    together = evaluate(run, qrels, measures=names)
    for name in names:
        assert together[name] == pytest.approx(evaluate(run, qrels, measures=name)[name])
    assert len({round(mean, 9) for mean in together.means.values()}) == 2


def test_measures_are_parsed_once_each_in_the_order_given():
    parsed = parse_measures("AP, nDCG@10 MAP,P(rel=2, judged_only=True)@5 nDCG( gains={0:1} )@3")
    assert parsed == [
        ir_measures.AP,
        ir_measures.nDCG @ 10,
        ir_measures.P(rel=2, judged_only=True) @ 5,
        ir_measures.nDCG(gains={0: 1}) @ 3,
    ]
    assert parse_measures(ir_measures.RR) == parse_measures(["MRR"]) == [ir_measures.RR]
    assert parse_measures("IPrec@1") == [ir_measures.IPrec @ 1.0]
    assert parse_measures("SetF(beta=2)") == [ir_measures.SetF(beta=2.0)]


@pytest.mark.parametrize(
    "name",
    [
        *("AP", "nDCG@10", "P@10", "R@1000", "RR", "RR@10", "Rprec", "Bpref", "Success@10"),
        *("Judged@10", "AP(rel=2)", "SetF(beta=0.5)", "IPrec@0.1", "infAP", "Compat(p=0.9)"),
    ],
)
def test_a_measure_prints_as_it_is_written(name):
    assert [repr(measure) for measure in parse_measures(name)] == [name]
    run, qrels = Run("r", {"q": ranked("a", "b")}), Qrels({"q": {"a": 1, "b": 0}, "p": {"a": 1}})
    scores = evaluate(run, qrels, measures=name)
    assert scores.measures == (name,)
    assert 0 <= scores.means[name] <= 1


@pytest.mark.parametrize(
    "name",
    [
        *("", "  ", "map", "ndcg_cut_10", "P", "R", "P@", "P@0", "P@1.5", "P@-1", "P@9999999"),
        *("P@1e3", "AP(rel=0)", "AP(rel=1001)", "AP(rel=True)", "AP(2)", "AP(k=3)", "AP(rel=2"),
        *("IPrec@1.5", "nDCG(gains={1:2.5})@3", "nDCG(gains={0:99999})@3", "nDCG(gains={a})@3"),
        *("nDCG(dcg='sum')@10", "nDCG(dcg=')@10", "AP@1.2.3", "A" * 500, "AP\0", "AP.x", "SDCG@10"),
        *("alpha_nDCG(judged_only=2)@10", "(((((", "P@" + "9" * 100),
    ],
)
def test_what_is_no_measure_is_refused_with_what_is(name):
    with pytest.raises(UsageError, match=r"nDCG@10|has no parameter|needs"):
        parse_measures(name)
    if name.strip():
        with pytest.raises(UsageError):
            parse_measures(["AP", name])


@pytest.mark.parametrize(
    "measure",
    [ir_measures.P @ 0, ir_measures.P, ir_measures.AP(rel=-1), ir_measures.P @ "x", 7, None],
)
def test_measures_given_as_values_are_checked_too(measure):
    with pytest.raises(UsageError):
        parse_measures([measure])


tokens = [
    "AP",
    "nDCG",
    "P",
    "IPrec",
    "(",
    ")",
    "rel",
    "=",
    "1",
    "@",
    "gains",
    "{",
    "}",
    ":",
    ",",
    ".",
]


@settings(max_examples=200)
@given(
    st.text(max_size=12) | st.lists(st.sampled_from(tokens), max_size=9).map("".join),
)
def test_any_text_gives_values_or_a_usage_error(text):
    run, qrels = Run("r", {"q": ranked("a", "b")}), Qrels({"q": {"b": 1}})
    try:
        scores = evaluate(run, qrels, measures=text)
    except UsageError:
        return
    assert np.isfinite(scores.values).all()

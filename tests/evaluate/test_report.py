import csv
import io
import json
import math
import random

import pytest
from scipy import stats

from likewise.errors import UsageError
from likewise.evaluate.measures import evaluate
from likewise.evaluate.report import compare
from likewise.evaluate.significance import holm, randomisation_test
from likewise.evaluate.trec import Qrels, Run

DOCS = [f"d{i}" for i in range(40)]


@pytest.fixture(scope="module")
def qrels():
    rng = random.Random(1)
    return Qrels({f"q{i}": dict.fromkeys(rng.sample(DOCS, 6), 1) for i in range(30)})


def made(qrels, name, *, skill, seed=2):
    rng = random.Random(seed)
    run = Run(name)
    for qid, grades in qrels.items():
        scores = {doc: rng.random() + skill * (doc in grades) for doc in DOCS}
        run.add(qid, sorted(scores.items(), key=lambda pair: -pair[1]))
    return run


@pytest.fixture(scope="module")
def runs(qrels):
    return [
        made(qrels, "base", skill=0.3),
        made(qrels, "same", skill=0.3),
        made(qrels, "good", skill=0.9, seed=3),
        made(qrels, "near", skill=0.32, seed=4),
    ]


def test_numbers_equal_those_of_the_parts(runs, qrels):
    comparison = compare(runs, qrels, measures="AP P@5", seed=7)
    scores = [evaluate(run, qrels, measures="AP P@5") for run in runs]
    gaps = [own[m] - scores[0][m] for own in scores[1:] for m in ("AP", "P@5")]
    p_values = [randomisation_test(gap, seed=7) for gap in gaps]
    near = comparison["near", "P@5"]
    assert near.mean == pytest.approx(scores[3].means["P@5"])
    assert near.difference.absolute == pytest.approx(gaps[5].mean())
    assert near.difference.percent == pytest.approx(100 * gaps[5].mean() / scores[0].means["P@5"])
    assert near.difference.p_randomisation == p_values[5]
    assert near.difference.p_randomisation_holm == holm(p_values)[5]
    good = comparison["good", "AP"].difference
    assert good.p_t == pytest.approx(stats.ttest_rel(scores[2]["AP"], scores[0]["AP"]).pvalue)
    assert good.p_t_holm == pytest.approx(min(1, good.p_t * 6), rel=0.5)
    assert sum(good.changes) == 30
    same = comparison["same", "AP"].difference
    assert (same.absolute, same.p_t, same.p_randomisation, same.changes) == (0, 1, 1, (0, 0, 30))
    assert comparison["base", "AP"].difference is None
    assert comparison["good", "AP"].interval.low < comparison["good", "AP"].mean


def test_another_baseline_turns_the_differences_round(runs, qrels):
    forth = compare(runs, qrels, measures="AP")["good", "AP"].difference
    back = compare(runs, qrels, measures="AP", baseline="good")["base", "AP"].difference
    assert back.absolute == pytest.approx(-forth.absolute)
    assert (back.changes.helped, back.changes.hurt) == (forth.changes.hurt, forth.changes.helped)
    with pytest.raises(UsageError, match="no run is named 'bset'; the runs are base, same"):
        compare(runs, qrels, baseline="bset")


def test_the_table(runs, qrels):
    text = str(compare(runs, qrels))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["run", "AP", "+/−", "p", "nDCG@10", "P@10", "R@1000"]
    rows = {line.split()[0]: line for line in lines[2:6]}
    assert list(rows) == ["base", "same", "good", "near"]
    assert "%" not in rows["base"]
    assert "+0.0%" in rows["same"]
    assert "0/0" in rows["same"]
    assert "†‡" in rows["good"]
    assert "†" not in rows["near"]
    assert "30 queries" in text
    assert "baseline" in text
    assert "Holm-corrected" in text
    # Columns stand under each other: every decimal point of the first measure in one place.
    assert len({line.index(".") for line in rows.values()}) == 1


def test_tables_too_wide_continue_below(runs, qrels):
    long = [Run("a system with " + "very " * 9 + str(i), run) for i, run in enumerate(runs)]
    measures = "AP RR Rprec Bpref P@1 P@2 P@3 P@4 P@5 P@6 P@7 P@8 nDCG@1 nDCG@2 nDCG@3"
    text = str(compare(long, qrels, measures=measures))
    assert max(map(len, text.splitlines())) <= 100
    for measure in measures.split():
        assert measure in text
    assert sum(line.startswith("run ") for line in text.splitlines()) > 1


def test_one_run_has_an_interval_and_no_tests(runs, qrels):
    comparison = compare(runs[:1], qrels)
    text = str(comparison)
    cell = comparison["base", "AP"]
    assert f"{cell.mean:.4f}" in text
    assert f"{cell.interval.low:.4f} – {cell.interval.high:.4f}" in text
    for absent in ("†", "baseline", "+/−", "%:"):
        assert absent not in text
    assert comparison.to_json()["runs"][0]["measures"]["AP"]["p_t"] is None


def test_one_query_has_no_p():
    qrels = Qrels({"q": {"a": 1}})
    runs = [Run("x", {"q": [("b", 1.0), ("a", 0.5)]}), Run("y", {"q": [("a", 1.0)]})]
    comparison = compare(runs, qrels, measures="AP")
    assert math.isnan(comparison["y", "AP"].difference.p_t)
    row = str(comparison).splitlines()[3]
    assert row.split() == ["y", "1.0000", "+100.0%", "1/0", "–"]
    assert comparison.to_json()["runs"][1]["measures"]["AP"]["p_t"] is None
    assert "1 query with" in str(comparison)
    assert "–" in str(compare(runs[:1], qrels, measures="AP")).splitlines()[3]


def test_a_baseline_of_nothing_has_no_percentage(qrels):
    comparison = compare([Run("none"), made(qrels, "some", skill=1)], qrels, measures="AP")
    cell = comparison["some", "AP"]
    assert math.isnan(cell.difference.percent)
    assert f"{cell.mean:.4f} –†‡" in str(comparison)
    assert "Of these, not answered and counted as 0: none 30." in str(comparison)


def test_runs_of_one_name_are_told_apart(runs, qrels):
    comparison = compare(
        [runs[0], Run("base", runs[2]), Run("base", runs[3])], qrels, measures="AP"
    )
    assert comparison.runs == ("base", "base (2)", "base (3)")
    assert comparison["base (2)", "AP"].difference.absolute > 0


def test_names_cannot_move_the_cursor(qrels):
    text = str(compare([Run("\x1b[2Jx", made(qrels, "x", skill=1))], qrels))
    assert "\x1b" not in text


def test_json_is_plain(runs, qrels):
    plain = compare(runs, qrels, measures=["AP", "P@5"]).to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["baseline"] == "base"
    assert plain["queries"] == 30
    assert [run["name"] for run in plain["runs"]] == ["base", "same", "good", "near"]
    good = plain["runs"][2]["measures"]["AP"]
    assert good["p_randomisation_holm"] >= good["p_randomisation"] > 0
    assert good["helped"] + good["hurt"] + good["equal"] == 30


def test_csv_has_a_line_for_each_run_and_measure(runs, qrels):
    comparison = compare(runs, qrels, measures=["AP", "P@5"])
    rows = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert [(row["run"], row["measure"]) for row in rows] == [
        (run, measure) for run in comparison.runs for measure in comparison.measures
    ]
    assert rows[0]["p_t"] == ""
    assert float(rows[4]["mean"]) == comparison["good", "AP"].mean


def test_values_of_each_query(runs, qrels):
    comparison = compare(runs, qrels, measures=(m for m in ("AP", "P@5")))
    values = comparison.per_query()
    assert len(values) == 4 * 2 * 30
    mine = [v.value for v in values if (v.run, v.measure) == ("near", "P@5")]
    assert sum(mine) / 30 == pytest.approx(comparison["near", "P@5"].mean)
    assert {v.qid for v in values} == set(qrels)


def test_the_same_seed_gives_the_same_answer(runs, qrels):
    first, again = (compare(runs, qrels, seed=3).to_json() for _ in range(2))
    assert first == again
    assert compare(runs, qrels, seed=4).to_json() != first


def test_what_cannot_be_compared_is_said(runs, qrels):
    with pytest.raises(UsageError, match="no run"):
        compare([], qrels)
    with pytest.raises(UsageError, match="not a measure"):
        compare(runs, qrels, measures="nDCK@10")
    with pytest.raises(UsageError, match="the runs are base"):
        compare(runs, qrels, measures="AP")["base", "P@5"]

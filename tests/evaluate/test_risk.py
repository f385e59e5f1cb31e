import csv
import io
import json
import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.evaluate.measures import evaluate
from likewise.evaluate.report import compare
from likewise.evaluate.risk import (
    SHARES,
    Curve,
    Loss,
    Point,
    Worst,
    check_shares,
    measure_risk,
    risk_curve,
)
from likewise.evaluate.risk_table import compare_risk
from likewise.evaluate.significance import holm
from likewise.evaluate.trec import Qrels, Run

# In the order of the queries, average precision before and after:
AP = {
    "fell": (5 / 6, 7 / 12),
    "rose": (1 / 2, 1),
    "rose a little": (1 / 2, 7 / 12),
    "lost": (1, 1 / 2),
    "fell but found": (1 / 3, 8 / 45),
    "same": (1, 1),
}
QRELS = Qrels(
    {
        "fell": {"a": 1, "b": 1, "x": 0},
        "unanswerable": {"a": 0},
        "rose": {"c": 1},
        "rose a little": {"d": 1, "e": 2},
        "lost": {"f": 1, "g": 1},
        "fell but found": {"h": 1, "i": 1, "j": 3},
        "same": {"k": 1},
    }
)
BEFORE = {
    "fell": "axb",
    "rose": "xc",
    "rose a little": "dx",
    "lost": "fg",
    "fell but found": "h",
    "same": "k",
}
AFTER = {
    "fell": "xab",
    "rose": "c",
    "rose a little": "xde",
    "lost": "fx",
    "fell but found": "wxyzhi",
    "same": "kx",
}


def run_of(name, docs):
    return Run(
        name, {qid: [(doc, -float(i)) for i, doc in enumerate(text)] for qid, text in docs.items()}
    )


@pytest.fixture(scope="module")
def before():
    return run_of("before", BEFORE)


@pytest.fixture(scope="module")
def after():
    return run_of("after", AFTER)


def test_a_worked_example(before, after):
    risk = measure_risk(before, after, QRELS, measures="AP P@1", depths=(6, 1))
    gaps = [right - left for left, right in AP.values()]
    first, second = risk.rewards
    assert (risk.name, risk.baseline, risk.n_queries) == ("after", "before", 6)
    assert (first.measure, second.measure) == ("AP", "P@1")
    assert first.before == pytest.approx(sum(left for left, _ in AP.values()) / 6)
    assert first.after == pytest.approx(sum(right for _, right in AP.values()) / 6)
    assert risk.percent == pytest.approx(100 * sum(gaps) / sum(left for left, _ in AP.values()))
    assert risk.percent == pytest.approx(-7.7333, abs=1e-4)
    assert risk.changes == (2, 3, 1)
    assert risk.robustness == pytest.approx(-1 / 6)
    assert risk.worst == ("lost", 1.0, 0.5)
    # Within six places only "lost" has lost a document; "fell but found" does not make up for it.
    # On the first place "fell" and "fell but found" have, and "rose a little", which is not hurt.
    assert risk.losses == (Loss(6, 1), Loss(1, 2))
    # P@1: three fell, two of them hurt, one rose.
    assert second.difference == pytest.approx(-2 / 6)
    assert second.percent == pytest.approx(-40)
    sums = [abs(sum(s * gap for s, gap in zip(signs, gaps, strict=True)))
            for signs in product((1, -1), repeat=6)]  # fmt: skip
    beyond = [value >= abs(sum(gaps)) - 1e-9 for value in sums]
    assert first.p_randomisation == pytest.approx(sum(beyond) / len(beyond))


def test_plain_values(before, after):
    plain = measure_risk(before, after, QRELS, measures="AP", depths=(6, 1)).to_json()
    assert json.loads(json.dumps(plain)) == plain
    values = plain.pop("measures")["AP"]
    assert plain == {
        "name": "after",
        "baseline": "before",
        "queries": 6,
        "helped": 2,
        "hurt": 3,
        "equal": 1,
        "ri": pytest.approx(-1 / 6),
        "r_loss": {"6": 1, "1": 2},
        "worst": {"qid": "lost", "before": 1.0, "after": 0.5},
    }
    assert values["mean"] - values["before"] == values["difference"]
    assert set(values) == {"before", "mean", "difference", "percent", "p_t", "p_randomisation"}


def test_a_query_that_one_run_does_not_answer_counts_as_0(before):
    answered = {qid: docs for qid, docs in BEFORE.items() if qid != "lost"}
    risk = measure_risk(before, run_of("less", answered), QRELS, depths=(10, 1))
    assert risk.changes == (0, 1, 5)
    assert risk.worst == Worst("lost", 1.0, 0.0)
    assert risk.losses == ((10, 2), (1, 1))
    back = measure_risk(run_of("less", answered), before, QRELS, depths=(10, 1))
    assert (back.changes, back.losses, back.worst) == ((1, 0, 5), ((10, 0), (1, 0)), None)


def test_nothing_is_a_gain_over_nothing(after):
    nothing = run_of("nothing", dict.fromkeys(AFTER, "x"))
    risk = measure_risk(nothing, after, QRELS)
    assert math.isnan(risk.percent)
    assert risk.to_json()["measures"]["AP"]["percent"] is None
    assert "–" in str(compare_risk([nothing, after], QRELS))


def test_one_query_has_no_p():
    qrels, runs = Qrels({"q": {"a": 1}}), [run_of("x", {"q": "ba"}), run_of("y", {"q": "a"})]
    table = compare_risk(runs, qrels, pairs=[(runs[1], runs[0])])
    [plain] = table.to_json()["runs"]
    assert plain["measures"]["AP"]["p_t"] is plain["measures"]["AP"]["p_t_holm"] is None
    assert plain["measures"]["AP"]["percent"] == 100
    assert "y against x: AP +100.0% (p –)" in str(table)


QIDS = [f"q{i}" for i in range(5)]
DOCS = "abcdefgh"
rankings = st.lists(st.sampled_from(DOCS), unique=True).map("".join)
some_runs = st.dictionaries(st.sampled_from(QIDS), rankings, min_size=5)
some_qrels = st.dictionaries(
    st.sampled_from(QIDS),
    st.dictionaries(st.sampled_from(DOCS), st.integers(0, 2)),
    min_size=5,
).filter(lambda judged: any(any(grades.values()) for grades in judged.values()))


@given(some_runs, some_qrels)
def test_a_run_against_itself_is_no_risk(docs, judged):
    run = run_of("run", docs)
    risk = measure_risk(run, run, Qrels(judged), depths=(8, 2))
    assert risk.changes[:2] == (0, 0)
    assert risk.robustness == 0
    assert risk.losses == ((8, 0), (2, 0))
    assert risk.worst is None
    for reward in risk.rewards:
        assert reward.difference == 0
        assert reward.percent == 0 or (math.isnan(reward.percent) and reward.before == 0)
        assert reward.p_randomisation == 1 or math.isnan(reward.p_randomisation)


@given(some_runs, some_runs, some_qrels)
def test_what_is_lost_and_what_turns_round(docs, others, judged):
    qrels = Qrels(judged)
    one, other = run_of("one", docs), run_of("other", others)
    forth = measure_risk(one, other, qrels, depths=(8, 3))
    back = measure_risk(other, one, qrels, depths=(8, 3))
    assert (forth.changes.helped, forth.changes.hurt) == (back.changes.hurt, back.changes.helped)
    assert forth.changes.equal == back.changes.equal
    assert forth.robustness == -back.robustness
    assert -1 <= forth.robustness <= 1
    for there, here in zip(forth.rewards, back.rewards, strict=True):
        assert there.difference == -here.difference
        assert there.p_randomisation == pytest.approx(here.p_randomisation, nan_ok=True)
        assert there.p_t == pytest.approx(here.p_t, nan_ok=True)
    # R-Loss, written another way: sets of documents, query by query.
    values = [evaluate(run, qrels, measures="AP") for run in (one, other)]
    for depth, lost in forth.losses:
        expected = 0
        for qid, left, right in zip(values[0].qids, *(v["AP"] for v in values), strict=True):
            found = [len(set(run[qid][:depth]) & {*qrels.relevant(qid)}) for run in (docs, others)]
            expected += max(0, found[0] - found[1]) if right < left - 1e-9 else 0
        assert lost == expected >= 0


def test_a_curve_starts_at_the_origin(before, after):
    asked = []

    def run_at(share):
        asked.append(share)
        return after if share > 0.5 else before

    curve = risk_curve("half", run_at, before, QRELS, depths=(1,))
    assert asked == [*SHARES] == [point.share for point in curve.points]
    assert len(curve.points) == 11
    assert curve.line() == [(0, 0)] * 6 + [(2, pytest.approx(-7.7333, abs=1e-4))] * 5
    assert curve.points[7].risk == measure_risk(before, after, QRELS, depths=(1,))
    assert [point["share"] for point in curve.to_json()["points"]] == [*SHARES]


@pytest.fixture(scope="module")
def table(before, after):
    same = run_of("same", BEFORE)
    rose = run_of("rose", BEFORE | {"rose": "c"})
    curves = [
        risk_curve(name, lambda share, to=to: to if share else before, before, QRELS, depths=(6, 1))
        for name, to in (("down", after), ("up", rose))
    ]
    pairs = [(after, rose), (rose, same)]
    runs = [before, after, same, rose]
    return compare_risk(runs, QRELS, depths=(6, 1), seed=3, curves=curves, pairs=pairs)


def test_the_table_has_the_numbers_of_eval(table, before, after):
    assert table.depths == (6, 1)
    rows = table.to_json()["runs"]
    runs = [before, after, run_of("same", BEFORE), run_of("rose", BEFORE | {"rose": "c"})]
    assert [row["name"] for row in rows] == ["after", "same", "rose"]
    evaluated = compare(runs, QRELS, measures="AP nDCG@10", seed=3).to_json()["runs"][1:]
    for row, expected in zip(rows, evaluated, strict=True):
        for measure in ("AP", "nDCG@10"):
            ours, theirs = row["measures"][measure], expected["measures"][measure]
            shared = ours.keys() & theirs.keys()
            assert {"mean", "percent", "p_t_holm", "p_randomisation_holm"} < shared
            for key in shared:
                assert ours[key] == pytest.approx(theirs[key], nan_ok=True), key
        assert (row["hurt"], row["helped"]) == (
            expected["measures"]["AP"]["hurt"],
            expected["measures"]["AP"]["helped"],
        )
    pairs = table.to_json()["pairs"]
    given = [pair["measures"][m]["p_randomisation"] for pair in pairs for m in ("AP", "nDCG@10")]
    corrected = [
        pair["measures"][m]["p_randomisation_holm"] for pair in pairs for m in ("AP", "nDCG@10")
    ]
    assert corrected == holm(given)
    assert given != corrected


def test_the_printed_table(table):
    text = str(table)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == [
        *("run", "AP", "nDCG@10", "hurt", "helped", "RI", "R-Loss@6", "@1", "p"),
    ]
    assert lines[2].split() == ["before", "0.6944", lines[2].split()[-1]]
    row = lines[3].split()
    assert row[:3] == ["after", "0.6407", "-7.7%"]
    assert row[-6:-1] == ["3", "2", "-.17", "1", "2"]
    assert lines[4].split()[-6:] == ["0", "0", "+.00", "0", "0", "1.000"]
    assert "Means over the 6 queries with a document judged relevant." in lines
    told = " ".join(text.split())
    assert "Hurt most in AP: query lost by after (1.0000 to 0.5000)." in told
    assert "after against rose: AP -1" in told
    assert "rose against same: AP +12.0% (p 1.000)" in told
    assert "RI: (helped − hurt) / queries" in told
    assert "R-Loss: relevant documents that the queries hurt lost" in told
    assert "Holm-corrected" in told
    at = lines.index("down as the share of the expansion grows")
    assert lines[at + 1].split() == ["share", *(f"{share:g}" for share in SHARES)]
    course = {line[:11].strip(): line.split() for line in lines[at + 3 : at + 10]}
    assert course["AP %"] == ["AP", "%", "+0.0", *["-7.7"] * 10]
    assert course["hurt"] == ["hurt", "0", *["3"] * 10]
    assert course["RI"] == ["RI", "+.00", *["-.17"] * 10]
    assert course["R-Loss@1"] == ["R-Loss@1", "0", *["2"] * 10]
    assert "up as the share of the expansion grows" in lines


def test_marks_are_those_of_corrected_tests():
    qids = [f"q{i}" for i in range(12)]
    qrels = Qrels({qid: {"a": 1} for qid in qids})
    runs = [
        run_of("low", dict.fromkeys(qids, "xya")),
        run_of("high", {qid: "a" if i else "xa" for i, qid in enumerate(qids)}),
        run_of("mixed", {qid: "xa" if i % 2 else "xyza" for i, qid in enumerate(qids)}),
    ]
    lines = str(compare_risk(runs, qrels)).splitlines()
    assert "†‡" in lines[3]
    assert lines[3].split()[-1] == ".002"  # 2 of the 2¹² signs, corrected for four tests
    assert "†" not in lines[4]


def test_wide_tables_continue_below_and_odd_names_are_safe(before, after):
    long = "a way with " + "very " * 15
    runs = [before, Run(long, after), Run("line\nbreak", after)]
    curve = Curve(
        long,
        tuple(Point(i / 40, measure_risk(before, after, QRELS)) for i in range(41)),
    )
    measures = "AP RR Rprec P@1 P@2 P@3 P@4 P@5 nDCG@1 nDCG@2"
    text = str(compare_risk(runs, QRELS, measures=measures, curves=[curve]))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert "line�break" in text
    assert sum(line.startswith("run ") for line in lines) > 1
    shares = [word for line in lines if line.startswith("share ") for word in line.split()[1:]]
    assert shares == [f"{i / 40:g}" for i in range(41)]


def test_csv_has_the_same_numbers(table):
    plain = table.to_json()
    first, *rows = csv.DictReader(io.StringIO(table.to_csv()))
    assert (first["run"], first["share"], first["hurt"]) == ("before", "", "")
    assert float(first["AP"]) == plain["baseline"]["measures"]["AP"]
    named = [(row["run"], row["share"]) for row in rows]
    points = [(name, str(share)) for name in ("down", "up") for share in SHARES]
    assert named == [("after", ""), ("same", ""), ("rose", ""), *points]
    expected = [*plain["runs"], *(p for curve in plain["curves"] for p in curve["points"])]
    for row, values in zip(rows, expected, strict=True):
        assert int(row["hurt"]) == values["hurt"]
        assert float(row["ri"]) == values["ri"]
        assert int(row["r_loss@1"]) == values["r_loss"]["1"]
        assert float(row["AP"]) == values["measures"]["AP"]["mean"]
        assert float(row["nDCG@10_p_t"]) == values["measures"]["nDCG@10"]["p_t"]
        assert row["worst_qid"] == ((values["worst"] or {}).get("qid") or "")
    assert rows[0]["AP_p_t_holm"] == str(plain["runs"][0]["measures"]["AP"]["p_t_holm"])


def test_what_a_figure_shows(table, before, after):
    assert table.lines(table.depths[0]) == {c.name: c.line() for c in table.curves}
    again = compare_risk([before, after, after], QRELS, depths=(1, 6))
    point = (2.0, pytest.approx(-7.7333, abs=1e-4))
    assert again.lines(again.depths[0]) == {"after": [point], "after (2)": [point]}
    assert [row["name"] for row in again.to_json()["runs"]] == ["after", "after (2)"]


def test_what_is_refused(before, after):
    with pytest.raises(UsageError, match="answer no query in common; give runs of the same"):
        measure_risk(run_of("x", {"rose": "c"}), run_of("y", {"lost": "f"}), QRELS)
    with pytest.raises(UsageError, match="'z' answers none of the judged queries"):
        measure_risk(before, run_of("z", {"other": "c"}), QRELS)
    for depths in ((), (0,), (10, -1)):
        with pytest.raises(UsageError, match="depths of at least 1"):
            measure_risk(before, after, QRELS, depths=depths)
    with pytest.raises(UsageError, match="1 given, give at least two runs"):
        compare_risk([before], QRELS)
    for shares in ((), (0.5, 1.1), (-0.1,), (math.nan,)):
        with pytest.raises(UsageError, match=r"shares are from 0 .* to 1"):
            risk_curve("x", lambda share: after, before, QRELS, shares=shares)
    assert check_shares((1, 0.5, 0, 0.5)) == (0.0, 0.5, 1.0)


def test_the_same_seed_gives_the_same_p(before):
    qids = [f"q{i}" for i in range(40)]
    qrels = Qrels({qid: {"a": 1} for qid in qids})
    low = run_of("low", {qid: "xyza"[i % 3 :] for i, qid in enumerate(qids)})
    high = run_of("high", {qid: "xyza"[i % 4 :] for i, qid in enumerate(qids)})
    one, again, other = (measure_risk(low, high, qrels, seed=seed) for seed in (0, 0, 1))
    assert one == again
    assert one.rewards[0].p_randomisation != other.rewards[0].p_randomisation
    assert one.rewards[0].p_t == other.rewards[0].p_t

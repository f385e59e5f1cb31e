import csv
import io
import json

import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.engine.risk import n_runs
from likewise.errors import UsageError
from likewise.evaluate import read_qrels, read_queries
from likewise.expand.expansion import read_expander
from likewise.expand.feedback import RM3

NOTES = {
    "1": "Wing flutter. Flutter of a wing in supersonic flow; wings and tails flutter.",
    "2": "Tail flutter. The tail and its hinge: oscillation of a tail in flow.",
    "3": "Panel oscillation. Oscillation of thin panels in supersonic flow, and their hinge.",
    "4": "Heat transfer. Heat transfer to a blunt body in supersonic flow.",
    "5": "Cooling. Transfer of heat from a hot wing to cool air by a film.",
    "6": "Boundary layers. The boundary layer on a wing, and where it separates.",
    "7": "Separation. Separated flow behind a blunt body, with a wake and a layer.",
    "8": "Wakes. The wake behind a body and its oscillation in slow flow.",
}
QUERIES = """\
{"id": "a", "text": "wing flutter"}
{"id": "b", "text": "heat transfer"}
{"id": "c", "text": "boundary layer"}
{"id": "d", "text": "wake oscillation"}
{"id": "unjudged", "text": "supersonic flow"}
"""
QRELS = """\
a 0 1 1
a 0 2 1
a 0 3 1
b 0 4 1
b 0 5 1
c 0 6 1
c 0 7 2
d 0 7 1
d 0 8 1
d 0 1 0
"""


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    documents = [{"id": key, "text": text} for key, text in NOTES.items()]
    lw.index(documents, to="notes.lw", model=None)
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels.txt").write_text(QRELS)

    def call(*arguments):
        code = main(arguments)
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


@pytest.fixture
def ask(call):
    """Ask the collection: with queries, judgements and no figure."""

    def ask(*arguments, plot=("--no-plot",)):
        files = ("--queries", "queries.jsonl", "--qrels", "qrels.txt")
        return call("risk", "notes.lw", *files, *plot, *arguments)

    return ask


def test_the_table_of_an_expander(ask):
    code, out, err = ask("--expand", "rm3(docs=2,terms=5)", "--depths", "3,1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split()[:2] == ["run", "AP"]
    assert lines[2].split()[0] == "bm25"
    assert lines[3].split()[0] == "rm3(docs=2,terms=5)"
    assert "Means over the 4 queries with a document judged relevant." in lines
    assert "Queries left out, as no document is judged relevant to them: 1 in each run." in lines
    assert "rm3(docs=2,terms=5) as the share of the expansion grows" in lines
    assert lines[-9].split()[:1] == ["share"]
    assert [line.split()[0] for line in lines[-2:]] == ["R-Loss@3", "R-Loss@1"]
    assert all(line.split()[1] == "0" for line in lines[-2:])


def test_numbers_are_those_of_run_files_and_of_eval(ask, call, tmp_path):
    how = "rm3(docs=2,terms=5,share=0.3)"
    plain = json.loads(ask("--expand", how, "-k", "4", "--depths", "3,1", "--json")[1])
    assert plain["depths"] == [3, 1]
    [row] = plain["runs"]
    assert (row["name"], plain["baseline"]["name"], plain["queries"]) == (how, "bm25", 4)
    run = ("run", "notes.lw", "--queries", "queries.jsonl", "-k", "4")
    (tmp_path / "bm25.run").write_text(call(*run, "--method", "bm25")[1])
    (tmp_path / "rm3.run").write_text(call(*run, "--expand", how, "--tag", how)[1])
    files = ("--qrels", "qrels.txt", "bm25.run", "rm3.run")
    read = json.loads(call("risk", *files, "--depths", "3,1", "--no-plot", "--json")[1])
    assert read == plain | {"curves": []}
    measures = ("--measures", "AP,nDCG@10", "--json")
    _, evaluated = json.loads(call("eval", *files, *measures)[1])["runs"]
    for measure, values in row["measures"].items():
        expected = evaluated["measures"][measure]
        for key in values.keys() & expected.keys():
            assert values[key] == pytest.approx(expected[key]), key
    # The expander as it is stands among its own points.
    [curve] = plain["curves"]
    assert [point["share"] for point in curve["points"]] == [i / 10 for i in range(11)]
    assert curve["name"] == how
    origin, third = curve["points"][0], curve["points"][3]
    assert (origin["hurt"], origin["helped"], origin["r_loss"]) == (0, 0, {"3": 0, "1": 0})
    assert origin["measures"]["AP"]["percent"] == 0
    for key in ("helped", "hurt", "equal", "ri", "r_loss", "worst"):
        assert third[key] == row[key]
    assert third["measures"]["AP"]["mean"] == row["measures"]["AP"]["mean"]
    assert row["helped"] + row["hurt"] > 0


def test_several_expanders_shares_and_csv(ask):
    options = ("--expand", "rm3", "--expand", "bo1", "--shares", "1,0,0.25", "--measures", "P@2 RR")
    plain = json.loads(ask(*options, "--json")[1])
    assert plain["measures"] == ["P@2", "RR"]
    assert [run["name"] for run in plain["runs"]] == ["rm3", "bo1"]
    first, *rows = csv.DictReader(io.StringIO(ask(*options, "--csv")[1]))
    assert float(first["RR"]) == plain["baseline"]["measures"]["RR"]
    assert [(row["run"], row["share"]) for row in rows] == [
        ("rm3", ""),
        ("bo1", ""),
        *((name, share) for name in ("rm3", "bo1") for share in ("0.0", "0.25", "1.0")),
    ]
    for row, run in zip(rows, plain["runs"], strict=False):
        assert float(row["P@2"]) == run["measures"]["P@2"]["mean"]


def test_another_expander_or_similarity_is_compared_directly(ask):
    plain = json.loads(ask("--expand", "rm3", "--against", "bo1", "--shares", "0", "--json")[1])
    assert [run["name"] for run in plain["runs"]] == ["rm3", "bo1"]
    [pair] = plain["pairs"]
    assert (pair["name"], pair["baseline"]) == ("rm3", "bo1")
    assert pair["measures"]["AP"]["before"] == plain["runs"][1]["measures"]["AP"]["mean"]
    code, out, _ = ask("--expand", "robust", "--expand", "rm3", "--against", "jaccard")
    assert code == 0
    assert "robust against robust(similarity=jaccard): AP " in out
    assert "rm3 against" not in out
    lines = out.splitlines()
    for name in ("robust", "rm3", "robust(similarity=jaccard)"):
        assert f"{name} as the share of the expansion grows" in lines


def test_rankings_that_are_short_have_the_depths_that_they_reach(ask):
    plain = json.loads(ask("--expand", "rm3", "-k", "100", "--json")[1])
    assert plain["depths"] == [100]
    plain = json.loads(ask("--expand", "rm3", "-k", "5", "--json")[1])
    assert plain["depths"] == [5]


def test_judged_queries_that_are_not_asked_do_not_count(ask, tmp_path):
    (tmp_path / "queries.jsonl").write_text(QUERIES.partition("\n")[2])
    code, out, err = ask("--expand", "rm3", "--json")
    assert code == 0
    assert err == "likewise: 1 judged query is not asked and not counted\n"
    assert json.loads(out)["queries"] == 3
    assert ask("--expand", "rm3", "--json", "--quiet")[2] == ""


def test_the_figure_and_what_it_is_given(ask, monkeypatch, tmp_path):
    drawn = []

    def draw(curves, *, x_label, y_label, title, to, marks):
        drawn.append((curves, x_label, y_label, title, marks))
        return [to.with_suffix(".svg"), to.with_suffix(".png")]

    monkeypatch.setattr("likewise.draw.curves.draw_risk", draw)
    (tmp_path / "made").mkdir()
    options = ("--expand", "rm3", "--depths", "1", "--json")
    code, out, err = ask(*options, plot=("--plot", "made/mine"))
    assert (code, err) == (0, "likewise: the figure is in made/mine.svg and made/mine.png\n")
    [(curves, x_label, y_label, title, marks)] = drawn
    [curve] = json.loads(out)["curves"]
    assert curves == {
        "rm3": [
            (point["r_loss"]["1"], point["measures"]["AP"]["percent"]) for point in curve["points"]
        ]
    }
    assert x_label.startswith("R-Loss at 1:")
    assert y_label == "gain in mean AP, %"
    assert title == "Risk and reward against bm25, 4 queries"
    assert marks == ["share 0", *[""] * 4, "share 0.5", *[""] * 4, "share 1"]
    assert "risk.svg and risk.png" in ask("--expand", "rm3", plot=())[2]
    assert ask("--expand", "rm3", "--quiet", plot=())[2] == ""


def test_the_figure_is_written(ask, tmp_path):
    pytest.importorskip("matplotlib")
    code, _, err = ask("--expand", "rm3", "--expand", "bo1", plot=())
    assert (code, err) == (0, "likewise: the figure is in risk.svg and risk.png\n")
    assert (tmp_path / "risk.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "risk.svg").read_text("utf-8")
    assert all(text in svg for text in ("rm3", "bo1", "Risk and reward against bm25", "share 1"))


def test_more_curves_than_a_figure_holds(ask, tmp_path):
    pytest.importorskip("matplotlib")
    many = [word for docs in range(1, 9) for word in ("--expand", f"rm3(docs={docs})")]
    code, out, err = ask(*many, "--shares", "0.5", plot=())
    assert code == 0
    assert "rm3(docs=8)" in out
    assert err.startswith("likewise: no figure: a figure holds 1 to 6 curves")
    code, _, err = ask(*many, "--shares", "0.5", plot=("--plot", "mine"))
    assert code == 2
    assert not [*tmp_path.glob("*.svg")]


RUNS = {
    "base": "a Q0 1 1 2.0 base\na Q0 4 2 1.0 base\nb Q0 1 1 1.0 base\n",
    "other": "a Q0 4 1 2.0 other\na Q0 1 2 1.0 other\nb Q0 4 1 1.0 other\n",
    "stranger": "c Q0 6 1 1.0 stranger\n",
    "unjudged": "z Q0 6 1 1.0 unjudged\n",
    "useless": "a Q0 8 1 1.0 useless\nb Q0 8 1 1.0 useless\n",
}


@pytest.fixture
def files(call, tmp_path):
    for name, text in RUNS.items():
        (tmp_path / f"{name}.run").write_text(text)
    return call


def test_run_files_are_one_point_each(files, monkeypatch):
    drawn = []

    def draw(curves, *, to, marks, **texts):
        drawn.append((curves, marks))
        return [to]

    monkeypatch.setattr("likewise.draw.curves.draw_risk", draw)
    code, out, err = files("risk", "--qrels", "qrels.txt", "base.run", "other.run", "--json")
    assert (code, err) == (0, "likewise: the figure is in risk\n")
    plain = json.loads(out)
    [row] = plain["runs"]
    # AP of a: 1/3 before, 1/6 after; of b: 0 before, 1/2 after; c and d are 0 in both.
    assert plain["queries"] == 4
    assert (row["hurt"], row["helped"], row["equal"], row["ri"]) == (1, 1, 2, 0)
    assert row["measures"]["AP"]["percent"] == pytest.approx(100)
    assert row["worst"] == {
        "qid": "a",
        "before": pytest.approx(1 / 3),
        "after": pytest.approx(1 / 6),
    }
    assert row["r_loss"] == {"1000": 0, "100": 0}
    assert drawn == [({"other": [(0, pytest.approx(100))]}, [""])]
    out = files("risk", "--qrels", "qrels.txt", "base.run", "other.run", "--no-plot")[1]
    assert "not answered and counted as 0: 2 in each run" in out
    assert "share" not in out


def test_no_figure_without_a_gain(files, tmp_path):
    code, out, err = files("risk", "--qrels", "qrels.txt", "useless.run", "base.run")
    assert code == 0
    assert err.startswith("likewise: no figure: the baseline's mean is 0")
    assert "–" in out
    assert not (tmp_path / "risk.svg").exists()


ASKED = ("notes.lw", "--queries", "queries.jsonl")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([*ASKED], 2, "--expand is needed with --queries: name an expander, such as rm3"),
        ([*ASKED, "--expand", "rm4"], 2, "unknown expander 'rm4': it is one of bo1, graph, kl"),
        ([*ASKED, "--expand", "rm3(share=2)"], 2, "rm3 needs share from 0"),
        (["base.run", *ASKED, "--expand", "rm3"], 2, "one path is expected, the collection, not 2"),
        (["notes.lw"], 2, "to ask a collection, add --queries FILE and --expand NAME"),
        (["notes.lw", "--expand", "rm3"], 2, "--expand is for queries that a collection is asked"),
        (["base.run", "other.run", "-k", "10"], 2, "-k is for queries that a collection is asked"),
        (["base.run", "other.run", "--threads", "0"], 2, "--threads is for queries"),
        (["base.run"], 2, "only base.run is given: to compare run files name two or more"),
        (["base.run", "nowhere.run"], 1, "nowhere.run: cannot be read"),
        (["base.run", "stranger.run"], 2, "'base' and 'stranger' answer no query in common"),
        (["base.run", "unjudged.run"], 2, "'unjudged' answers none of the judged queries"),
        (["base.run", "other.run", "--measures", "XX"], 2, "'XX' is not a measure"),
        ([*ASKED, "--expand", "rm3", "--shares", "0,2"], 2, "shares are from 0"),
        ([*ASKED, "--expand", "rm3", "--shares", "nan"], 2, "shares are from 0"),
        ([*ASKED, "--expand", "rm3", "--depths", "2000"], 2, "R-Loss at 2000 needs rankings as"),
        ([*ASKED, "--expand", "rm3", "--method", "near"], 2, "has no terms to expand"),
        ([*ASKED, "--expand", "rm3", "--against", "rm3"], 2, "rm3 cannot be compared with itself"),
        ([*ASKED, "--expand", "rm3", "--against", "jaccard"], 2,
         "jaccard is a similarity of words, and rm3 uses none: add --expand robust"),
        ([*ASKED, "--expand", "robust", "--against", "loo"], 2, "cannot be compared with itself"),
        ([*ASKED, "--expand", "rm3", "--against", "nothing"], 2, "unknown expander 'nothing'"),
        ([*ASKED, "--expand", "rm3", "--plot", "none/x"], 2, "--plot none/x: there is no folder"),
        ([*ASKED, "--expand", "rm3", "--plot", "x.pdf"], 2, "figures are written as .svg or .png"),
        (["nowhere.lw", *ASKED[1:], "--expand", "rm3"], 1, "nowhere.lw"),
    ],
)  # fmt: skip
def test_what_is_refused(files, tmp_path, arguments, code, message):
    before = sorted(tmp_path.iterdir())
    done, out, err = files("risk", "--qrels", "qrels.txt", *arguments)
    assert done == code
    assert out == ""
    assert err.startswith("likewise: ")
    assert message in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--shares", "0,half", "'0,half' is not numbers separated by commas, such as 0,0.5,1"),
        ("--depths", "100,0", "it must be at least 1"),
        ("--depths", "", "'' is not a whole number"),
        ("-k", "none", "'none' is not a whole number"),
    ],
)
def test_what_cannot_be_read(call, capsys, option, value, message):
    with pytest.raises(SystemExit) as exit_:
        call("risk", *ASKED, "--qrels", "qrels.txt", "--expand", "rm3", option, value)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_queries_without_judgements(ask, tmp_path):
    (tmp_path / "qrels.txt").write_text("x 0 1 1\ny 0 2 1\n")
    code, out, err = ask("--expand", "rm3")
    assert (code, out) == (2, "")
    assert "none of the queries is judged: there are queries 'a', 'b', 'c' …, and judgements" in err
    (tmp_path / "qrels.txt").write_text("a 0 1 0\n")
    assert "name no relevant document" in ask("--expand", "rm3")[2]


def test_from_python(call, capsys):
    collection = lw.open("notes.lw")
    queries, qrels = read_queries("queries.jsonl"), read_qrels("qrels.txt")
    how = read_expander("rm3(docs=2,terms=5)")
    seen = []
    table = collection.risk(
        iter(queries),
        qrels,
        [how, "bo1"],
        shares=(0, 0.5, 1),
        threads=1,
        progress=seen.append,
    )
    # The unexpanded queries and three shares of two expanders, whose own share is one of them.
    assert sum(seen) == len(queries) * 7 == len(queries) * n_runs([how, "bo1"], [], (0, 0.5, 1))
    assert [risk.name for risk in table.risks] == [str(how), "bo1"]
    assert table.depths == (1000, 100)
    many = collection.risk(queries, qrels, [how, "bo1"], shares=(0, 0.5, 1), threads=2)
    assert many.to_json() == table.to_json()
    other = [RM3(2, 5, 0.3)]
    elsewhere = collection.risk(queries, qrels, other, shares=(0, 1), progress=seen.append)
    assert sum(seen) == len(queries) * (7 + 4)
    assert n_runs(other, [], (0, 1)) == 4
    assert [point.share for point in elsewhere.curves[0].points] == [0, 1]
    with pytest.raises(UsageError, match="there is no expander to measure"):
        collection.risk(queries, qrels, [])
    assert capsys.readouterr().err == ""


def test_the_medical_abstracts(real, call):
    call("index", str(real("med") / "corpus.jsonl"), "--to", "med.lw", "--model", "none")
    files = [str(real("med") / name) for name in ("queries.jsonl", "qrels.txt")]
    options = ("--queries", files[0], "--qrels", files[1], "--no-plot", "--json")
    code, out, _ = call("risk", "med.lw", *options, "--expand", "rm3")
    assert code == 0
    plain = json.loads(out)
    [row] = plain["runs"]
    assert plain["queries"] == 30
    assert plain["baseline"]["measures"]["AP"] == pytest.approx(0.525, abs=0.005)
    assert row["measures"]["AP"]["percent"] > 12
    assert row["measures"]["AP"]["p_randomisation_holm"] < 0.01
    assert row["hurt"] <= 6
    losses = [point["r_loss"]["100"] for point in plain["curves"][0]["points"]]
    assert losses[0] == 0
    assert max(losses) > 0
    assert plain["curves"][0]["points"][0]["measures"]["AP"]["percent"] == 0


def test_nothing_to_ask_or_to_judge_by_is_said(papers):
    with pytest.raises(UsageError, match="there is no query: none was given"):
        papers.risk([], lw.Qrels({"1": {"1": 1}}), "rm3", k=5)
    with pytest.raises(UsageError, match="there is no judgement: none was given"):
        papers.risk([lw.Query("1", "wing")], lw.Qrels({}), "rm3", k=5)
    with pytest.raises(UsageError, match="None is no expander"):
        papers.risk([lw.Query("1", "wing")], lw.Qrels({"1": {"1": 1}}), None, k=5)

import json
import math
from pathlib import Path

import orjson
import pytest

from likewise import __version__
from likewise.errors import UsageError
from likewise.reproduce.experiment import Experiment, Paper, Result, Row, Table, Value
from likewise.reproduce.papers import all_papers
from likewise.reproduce.running import Done
from likewise.reproduce.summary import (
    END,
    MAIN,
    START,
    Main,
    main,
    readme_table,
    summary,
    to_bytes,
    update_readme,
)

from .made_up import everything

ROOT = Path(__file__).parent.parent.parent
PUBLISHED = ROOT / "docs" / "reproduction.json"
OURS = (Main("search", "p", "one", "new", ("old", "older", "away")),)


def done(result, name="one", paper="p"):
    one = Experiment(name, "Table 1", "a title", None, setting={"a": 1}, seed=7)
    return Done(Paper(paper, "P", "S", ()), one, {"a": 1}, ("notes",), result, 2.25)


def searched(*, title="t", new=0.4):
    columns = ("first | set", "second")
    rows = (
        Row("old", {"first | set": Value(0.3), "second": Value(0.5)}),
        Row("older", {"first | set": Value(0.2), "second": Value(math.nan)}),
        Row("new", {"first | set": Value(new, 0.35, 0.45), "second": Value(0.25)}, ours=True),
    )
    return Result((), (Table(title, columns, rows, unit="MAP"),))


def values(*all_done, quick=False):
    told = summary(all_done or [done(searched())], quick=quick, data={"notes": "ab"})
    return orjson.loads(to_bytes(told))


def test_a_summary_has_everything_once():
    told = values(done(everything()), done(searched(), "two"), done(searched(), paper="q"))
    assert (told["likewise"], told["quick"], told["data"]) == (__version__, False, {"notes": "ab"})
    assert told["seconds"] == pytest.approx(6.6, abs=0.2)
    assert told["verdicts"] == {"holds": 1, "does not hold": 1, "not testable here": 1}
    assert [paper["name"] for paper in told["papers"]] == ["p", "q"]
    assert [one["experiment"] for one in told["papers"][0]["experiments"]] == ["one", "two"]
    assert told["papers"][0]["experiments"][0]["setting"] == {"a": 1}
    assert [claim["text"] for claim in told["claims"]] == [
        "plain holds.",
        "plain fails.",
        "plain is open.",
    ]
    places = [(table["paper"], table["experiment"]) for table in told["tables"]]
    assert places == [("p", "one"), ("p", "one"), ("p", "two"), ("q", "one")]
    assert len(told["drawings"]) == 3
    assert json.loads(to_bytes(told)) == told


def test_the_table_has_a_line_for_each_set():
    assert readme_table(values(), main=OURS).splitlines() == [
        "| | measure | likewise | others |",
        "|---|---|---|---|",
        "| search, first \\| set | MAP | **.400** [.350 .450] | old .300, older .200 |",
        "| search, second | MAP | .250 | old .500 |",
    ]


def test_the_table_is_taken_from_the_experiment_that_is_named():
    told = values(done(searched(new=0.9), "two"), done(searched(new=0.8), paper="q"))
    assert len(readme_table(told, main=OURS).splitlines()) == 2
    told = values(done(searched(title="u", new=0.9)), done(searched(title="t", new=0.7)))
    chosen = [Main("search", "p", "one", "new", ("old",), table="t")]
    assert ".700" in readme_table(told, main=chosen)
    assert ".900" not in readme_table(told, main=chosen)


def test_columns_are_chosen_and_called_by_name():
    chosen = [Main("x", "p", "one", "new", ("old",), columns={"second": "2nd"}, measure="M")]
    assert readme_table(values(), main=chosen).splitlines()[2:] == [
        "| x, 2nd | M | .250 | old .500 |"
    ]


def test_the_main_claims_are_of_experiments_that_there_are():
    known = {(paper.name, one.name) for paper in all_papers() for one in paper.experiments}
    assert {(one.paper, one.experiment) for one in MAIN} <= known


@pytest.fixture
def readme(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"before\n\n{START}\nold\n{END}\n\nafter “…”\n", "utf-8")
    return path


def test_a_readme_is_brought_up_to_date(readme):
    update_readme(readme, values())
    text = readme.read_text("utf-8")
    assert text == f"before\n\n{START}\n{readme_table(values())}{END}\n\nafter “…”\n"
    update_readme(readme, values())
    assert readme.read_text("utf-8") == text


def test_a_readme_is_left_alone_where_there_is_no_place_or_no_full_run(readme):
    with pytest.raises(UsageError, match="quick run"):
        update_readme(readme, values(quick=True))
    for text in ("none", START, END, f"{END} {START}"):
        readme.write_text(text)
        with pytest.raises(UsageError, match="nowhere to put the table"):
            update_readme(readme, values())
        assert readme.read_text() == text
    with pytest.raises(UsageError, match="cannot be read"):
        update_readme(readme.with_name("away"), values())


def test_it_can_be_run_by_itself(tmp_path, readme, capsys):
    stored = tmp_path / "reproduction.json"
    stored.write_bytes(to_bytes(values()))
    assert main([str(stored), str(readme)]) == 0
    assert "| measure |" in readme.read_text("utf-8")
    assert main([str(stored)]) == 2
    assert "two files" in capsys.readouterr().err
    assert main([str(tmp_path / "away"), str(readme)]) == 2
    for rubbish in ("{}", "[]", "nonsense"):
        stored.write_text(rubbish)
        assert main([str(stored), str(readme)]) == 2
        assert "not a summary" in capsys.readouterr().err.splitlines()[-1]


def test_the_readme_has_the_figures_of_the_last_full_run():
    if not PUBLISHED.exists():
        pytest.skip("docs/reproduction.json is not there: it is made by a full run")
    told = orjson.loads(PUBLISHED.read_bytes())
    assert not told["quick"]
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.partition(START)[2].partition(END)[0].strip() == readme_table(told).strip()
    for one in MAIN:
        lines = readme_table(told, main=[one]).splitlines()[2:]
        assert lines, f"{one.task} is nowhere"
        for name in one.against:
            assert any(f"{name} " in line for line in lines), f"{one.task}: {name} is nowhere"

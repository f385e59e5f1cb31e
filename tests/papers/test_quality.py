from likewise_papers.experiment import Result, Row, Table, Value
from likewise_papers.papers import all_papers
from likewise_papers.quality import MAIN, Main, quality_table

from .results import done, searched, values

OURS = (Main("search", "p", "one", "new", ("old", "older", "away")),)


def test_the_table_has_a_line_for_each_set():
    assert quality_table(values(), main=OURS).splitlines() == [
        "| | measure | likewise | others |",
        "|---|---|---|---|",
        "| search, first \\| set | MAP | **.400** [.350 .450] | old .300, older .200 |",
        "| search, second | MAP | .250 | old .500 |",
    ]


def test_the_table_is_taken_from_the_experiment_that_is_named():
    told = values(done(searched(new=0.9), "two"), done(searched(new=0.8), paper="q"))
    assert len(quality_table(told, main=OURS).splitlines()) == 2
    told = values(done(searched(title="u", new=0.9)), done(searched(title="t", new=0.7)))
    chosen = [Main("search", "p", "one", "new", ("old",), table="t")]
    assert ".700" in quality_table(told, main=chosen)
    assert ".900" not in quality_table(told, main=chosen)


def test_columns_are_chosen_and_called_by_name():
    chosen = [Main("x", "p", "one", "new", ("old",), columns={"second": "2nd"}, measure="M")]
    assert quality_table(values(), main=chosen).splitlines()[2:] == [
        "| x, 2nd | M | .250 | old .500 |"
    ]


def test_the_main_claims_are_of_experiments_that_there_are():
    known = {(paper.name, one.name) for paper in all_papers() for one in paper.experiments}
    assert {(one.paper, one.experiment) for one in MAIN} <= known


def test_less_may_be_better():
    fewer = [Main("hurt", "p", "one", "new", ("old",), lower=True)]
    assert quality_table(values(), main=fewer).splitlines()[2:] == [
        "| hurt, first \\| set | MAP | .400 [.350 .450] | old .300 |",
        "| hurt, second | MAP | **.250** | old .500 |",
    ]


def test_what_is_written_alike_is_not_the_best_and_counts_are_whole():
    columns = ("gain", "hurt")
    rows = (
        Row("new", {"gain": Value(13.34), "hurt": Value(63.0)}),
        Row("old", {"gain": Value(13.26), "hurt": Value(74.0)}),
    )
    told = values(done(Result((), (Table("t", columns, rows, digits=1),))))
    chosen = [Main("x", "p", "one", "new", ("old",), lower=True)]
    assert quality_table(told, main=chosen).splitlines()[2:] == [
        "| x, gain |  | 13.3 | old 13.3 |",
        "| x, hurt |  | **63** | old 74 |",
    ]

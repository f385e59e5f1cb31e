"""Fields as a user meets them: a table with dates in several forms, indexed and asked."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import likewise as lw
from likewise.app.cli import main

PATENTS = """\
id,title,text,Filing Date,granted,priority,zip,year,status,open
US-1,Deep drilling on the Nile,a pump,25/03/2015,03/25/2015,2015-03-25,02139,2015,granted,true
US-2,Deepwater pump,a pump,04/03/2014,03/04/2014,2014-03,10001,2014,pending,false
US-3,Wing damper,a pump,01/12/2016,12/01/2016,20161201,94110,2016,granted,true
EP-4,No date at all,a pump,,,2013,60601,unknown,withdrawn,false
"""
MORE = "id,text,Filing Date,open\nUS-5,a pump,31/12/2017,true\nUS-6,a pump,soon,true\n"


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patents.csv").write_text(PATENTS)
    (tmp_path / "more.csv").write_text(MORE)

    def call(*arguments):
        code = main(arguments)
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


@pytest.fixture
def made(call):
    code, _, err = call(
        "index", "patents.csv", "--to", "p.lw", "--model", "none", "--language", "english"
    )
    assert code == 0
    assert err == (
        "fields: Filing Date is a date (day/month/year), granted a date (month/day/year), open "
        "true or false, priority a date, status text, year a number, zip text\n"
    )
    return call


def found(call, *filters):
    asked = [part for one in filters for part in ("--filter", one)]
    code, out, err = call("search", "p.lw", "pump", "--method", "bm25", *asked, "--json")
    assert (code, err) == (0, "")
    return sorted(answer["doc_id"] for answer in json.loads(out)["answers"])


def test_dates_of_a_table_are_found(made):
    assert found(made, "Filing Date>=2015") == ["US-1", "US-3"]
    assert found(made, "granted=2014-03-04") == found(made, "filing date=4 March 2014") == ["US-2"]
    assert found(made, "priority<2014") == ["EP-4"]
    assert found(made, "Filing Date>=2015", "title~nile") == ["US-1"]
    assert found(made, "zip=02139") == ["US-1"]


def test_what_makes_no_sense_is_told(made):
    for condition, message in {
        "status>=5": "status is text, such as 'granted', which >= does not compare",
        "Filing Date>=abc": "and 'abc' is none: write Filing Date>=2014",
        "filed=2015": "no document has a field 'filed'",
    }.items():
        code, out, err = made("search", "p.lw", "pump", "--filter", condition)
        assert (code, out) == (2, "")
        assert message in err


def test_additions_follow_and_say_what_does_not_fit(made):
    code, out, err = made("add", "p.lw", "more.csv")
    assert (code, out.splitlines()[0]) == (0, "p.lw: 2 documents added")
    assert err == (
        "Filing Date is a date (day/month/year): 1 value such as 'soon' did not fit and was kept "
        "as text; to change the type: likewise merge p.lw --type 'Filing Date=text'\n"
    )
    assert found(made, "Filing Date>2016") == ["US-5"]
    assert found(made, "Filing Date=soon") == ["US-6"]
    shown = made("info", "p.lw")[1]
    assert (
        "Filing Date  a date (day/month/year); 5 documents; 2014-03-04 to 2017-12-31; 1 kept as "
        "text, such as 'soon'\n"
    ) in shown
    assert "year         a number; 4 documents; 2014 to 2016; 1 kept as text, such as" in shown
    assert "status       text; 4 documents; such as 'granted'\n" in shown
    assert "open         true or false; 6 documents\n" in shown
    about = json.loads(made("info", "p.lw", "--json")[1])["fields"]["Filing Date"]
    assert about["range"] == ["2014-03-04", "2017-12-31"]
    assert (about["type"], about["documents"], about["as_text"]) == ("date-dmy", 5, 1)
    made("delete", "p.lw", "US-5", "US-6")
    about = json.loads(made("info", "p.lw", "--json")[1])["fields"]["Filing Date"]
    assert (about["range"], about["as_text"]) == (["2014-03-04", "2016-12-01"], 0)


def test_types_are_said_and_changed(call):
    index = ("index", "patents.csv", "--to", "p.lw", "--model", "none")
    assert call(*index, "--type", "Filing Date=day")[0] == 2
    assert call(*index, "--type", "granted")[0] == 2
    code, _, err = call(*index, "--type", "year=text", "--type", "fild=date")
    assert code == 0
    assert "year text" in err
    assert "--type fild: no document has a field 'fild'" in err
    assert found(call, "year=201*") == ["US-1", "US-2", "US-3"]
    code, _, err = call("add", "p.lw", "more.csv", "--type", "open=text")
    assert code == 2
    assert "open is true or false in p.lw, not text; to change that: likewise merge p.lw" in err
    assert call("merge", "p.lw", "--type", "yeer=number")[0] == 2
    code, _, err = call("merge", "p.lw", "--type", "year=number", "--quiet")
    assert code == 0
    assert err == "year: a number; 4 documents; 2014 to 2016; 1 kept as text, such as 'unknown'\n"
    assert found(call, "year>2014") == ["US-1", "US-3"]


def test_dates_that_could_be_two(call, tmp_path):
    (tmp_path / "two.csv").write_text("id,text,filed\n1,pump,04/03/2015\n2,pump,05/06/2016\n")
    code, _, err = call("index", "two.csv", "--to", "p.lw", "--model", "none", "--quiet")
    assert code == 0
    assert err == (
        "filed: 04/03/2015 and the like could be day/month or month/day and are kept as text; say "
        "which: likewise merge p.lw --type filed=date-dmy (or date-mdy)\n"
    )
    code, _, err = call("search", "p.lw", "pump", "--filter", "filed>=2016")
    assert code == 2
    assert "likewise merge p.lw --type filed=date-dmy" in err
    call("merge", "p.lw", "--type", "filed=date-mdy")
    assert found(call, "filed=2015-04-03") == ["1"]


def test_timestamps_of_pandas_are_dates(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["a", "b", "c"],
            "text": "pump",
            "when": pd.to_datetime(["2018-12-31 23:59", "2019-01-01 00:00", None]),
            "day": [pd.Timestamp("2019-05-01", tz="Asia/Tokyo").date(), None, None],
        }
    )
    c = lw.index(frame.to_dict("records"), to=tmp_path / "c.lw", model=None, types={"day": "date"})
    assert [answer.doc_id for answer in c.search("pump", filter="when>=2019")] == ["b"]
    assert [answer.doc_id for answer in c.search("pump", filter=["when<2019", "day=2019-05"])] == [
        "a"
    ]
    assert c.info()["fields"]["when"]["range"] == ["2018-12-31T23:59:00Z", "2019-01-01"]
    added = c.add([{"id": "d", "text": "pump", "when": "2020", "new": "x"}], types={"new": "text"})
    assert (added.n_docs, added.new_fields) == (1, {"new"})
    assert c.merge(types={"when": "text"}) == 2
    assert [answer.doc_id for answer in c.search("pump", filter="when=202*")] == ["d"]

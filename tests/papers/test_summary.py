import json

import pytest

from likewise import __version__
from likewise_papers.summary import to_bytes

from .made_up import everything
from .results import done, searched, values


def test_a_summary_has_everything_once():
    told = values(done(everything()), done(searched(), "two"), done(searched(), paper="q"))
    assert (told["likewise"], told["quick"], told["data"]) == (__version__, False, {"notes": "ab"})
    assert told["seconds"] == pytest.approx(6.6, abs=0.2)
    once = {"holds": 1, "does not hold": 1, "not testable here": 1}
    assert told["verdicts"] == {"published": once, "ours": dict.fromkeys(once, 0) | {"holds": 1}}
    assert [paper["name"] for paper in told["papers"]] == ["p", "q"]
    assert [one["experiment"] for one in told["papers"][0]["experiments"]] == ["one", "two"]
    assert told["papers"][0]["experiments"][0]["setting"] == {"a": 1}
    assert [claim["text"] for claim in told["claims"]] == [
        "plain holds.",
        "plain fails.",
        "plain is open.",
        "plain is ours.",
    ]
    places = [(table["paper"], table["experiment"]) for table in told["tables"]]
    assert places == [("p", "one"), ("p", "one"), ("p", "two"), ("q", "one")]
    assert len(told["drawings"]) == 3
    assert json.loads(to_bytes(told)) == told

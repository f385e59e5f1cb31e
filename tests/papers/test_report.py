import json

import pytest

import likewise_papers
from likewise.errors import UsageError
from likewise_papers import papers

from .made_up import PAPER, write_collection


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(papers, "all_papers", lambda: [PAPER])
    write_collection(tmp_path / "data" / "notes")
    return tmp_path


def test_papers_are_reproduced_from_python(here):
    said, done = [], []
    found = likewise_papers.reproduce(
        "made-up", data="data", out="x", quick=True, watch=said.append, finish=done.append
    )
    assert found == json.loads((here / "x" / "summary.json").read_bytes())
    assert (found["quick"], set(found["data"])) == (True, {"notes"})
    assert "indexing notes" in said
    assert [one.experiment.name for one in done] == [one.name for one in PAPER.experiments]
    assert "<h1>Do the published claims hold?</h1>" in (here / "x" / "index.html").read_text()
    again = likewise_papers.reproduce(["made-up"], data=[here / "data"], out=here / "x", quick=True)
    assert again == found


def test_what_is_wrong_is_said_before_anything_is_run(here):
    with pytest.raises(UsageError, match="unknown paper 'other'"):
        likewise_papers.reproduce("other")
    with pytest.raises(UsageError, match="no such folder"):
        likewise_papers.reproduce(data="away")
    assert not (here / "reproduction" / "kept").exists()

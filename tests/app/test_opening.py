import json
from dataclasses import replace

import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.collection.generations import commit
from likewise.collection.locks import WriteLock


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        assert main(arguments) == 0
        return capsys.readouterr()

    return call


@pytest.fixture
def old(tmp_path):
    c = lw.index(["Wing flutter of the U.S.A.", "Boundary layers"], to=tmp_path / "old.lw")
    lock = WriteLock(c.folder)
    commit(c.folder, replace(c.snapshot.manifest, analysis_revision=0))
    lock.release()
    c.close()
    return "old.lw"


ASKED = [("search", "wing"), ("like", "--text", "wing"), ("terms", "wing")]


@pytest.mark.parametrize("asked", ASKED, ids=lambda one: one[0])
def test_who_asks_a_collection_of_earlier_code_is_told(asked, call, old):
    name, *rest = asked
    told = "likewise: old.lw was indexed by an earlier likewise"
    err = call(name, old, *rest).err
    assert err.count(told) == 1
    assert "likewise index SOURCE --to old.lw --overwrite" in err


def test_queries_of_a_file_are_told_once_and_quiet_says_nothing(call, old, tmp_path):
    (tmp_path / "queries.tsv").write_text("1\twing\n2\tlayers\n")
    run = ("run", old, "--queries", "queries.tsv", "--method", "bm25")
    assert call(*run).err.count("by an earlier likewise") == 1
    assert "earlier" not in call(*run, "--quiet").err


def test_info_says_it_in_words_and_values(call, old):
    assert "  outdated   indexed by an earlier likewise" in call("info", old).out
    about = json.loads(call("info", old, "--json").out)
    assert (about["analysis_revision"], about["outdated"]) == (0, True)
    # What is added is analysed as of now; what was there is not.
    with lw.open(old) as c:
        c.add([{"id": "7", "text": "A damper"}])
        assert c.info()["outdated"]
        c.merge()
        assert c.info()["outdated"]


def test_a_new_collection_has_nothing_to_say(call, old):
    c = lw.index(["Wing flutter"], to="new.lw")
    assert not c.info()["outdated"]
    assert "earlier" not in call("search", "new.lw", "wing").err
    assert "outdated" not in call("info", "new.lw").out
    assert (
        "earlier"
        not in call("search", lw.index(["x"], to=old, overwrite=True).folder.name, "x").err
    )

"""Names: the tables' own first, then those that installed packages add, read when asked for."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from likewise import notation, registry
from likewise.errors import UsageError
from likewise.retrieve.models import BM25, TFIDF

OWN = {"bm25": "likewise.retrieve.models:BM25"}


@pytest.fixture
def added(monkeypatch):
    """Entry points as if installed: of a group, by name."""
    groups = {
        "likewise.search": {
            "bm25": "likewise.retrieve.models:TFIDF",
            "mine": "likewise.retrieve.models:TFIDF",
            "broken": "likewise_of_nobody.module:Thing",
            "missing": "likewise.retrieve.models:Thing",
        }
    }

    def entries(group):
        return {name: EntryPoint(name, at, group) for name, at in groups.get(group, {}).items()}

    monkeypatch.setattr(registry, "_entries", entries)


def test_a_name_of_the_table_wins_over_one_that_is_added(added):
    table = registry.Table(OWN, groups=("likewise.search",))
    assert table["bm25"] is BM25
    assert table["mine"] is TFIDF
    assert "mine" in table
    assert list(table) == ["bm25", "mine", "broken", "missing"]
    assert len(table) == 4
    with pytest.raises(KeyError):
        table["nothing"]


def test_names_of_other_groups_are_not_seen(added):
    for table in (registry.Table(OWN), registry.Table(OWN, groups=("likewise.expand",))):
        assert list(table) == ["bm25"]
        assert "mine" not in table


@pytest.mark.parametrize("name", ["broken", "missing"])
def test_what_cannot_be_imported_is_said(added, name):
    table = registry.Table(OWN, groups=("likewise.search",))
    with pytest.raises(UsageError, match=f"{name} is .* of an installed package, which cannot be"):
        table[name]


def test_an_unknown_name_is_told_all_names_and_close_ones(added):
    table = registry.Table(OWN, groups=("likewise.search",))
    with pytest.raises(UsageError) as error:
        notation.read("mime", table, what="method")
    assert str(error.value) == (
        "unknown method 'mime': it is one of bm25, broken, mine, missing; did you mean mine?"
    )


def test_entry_points_are_read_for_unknown_names_only():
    code = (
        "import importlib.metadata, sys;"
        "importlib.metadata.entry_points = lambda **_: sys.exit('read');"
        "from likewise.neighbours.index import read_method;"
        "from likewise.stages.reading import read_stage;"
        "from likewise.app.cli import parser;"
        "read_method('ivf'); read_stage('bm25 >> rm3 >> near >> klsa'); parser('search'); parser();"
        "read_method('{}')"
    )
    for name, told in (("scan", ""), ("tree", "read")):
        done = subprocess.run(
            [sys.executable, "-c", code.format(name)], capture_output=True, text=True, check=False
        )
        assert done.stderr.strip() == told


PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))


@pytest.mark.parametrize("group", PROJECT["project"]["entry-points"])
def test_names_of_the_papers_are_installed_and_stand_for_what_they_say(group):
    declared = PROJECT["project"]["entry-points"][group]
    installed = {one.name: one for one in entry_points(group=group)}
    assert {name: one.value for name, one in installed.items()} == declared, "pip install -e ."
    for name, one in installed.items():
        assert getattr(one.load(), "notation", name) == name

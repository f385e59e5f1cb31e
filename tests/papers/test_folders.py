import os

import pytest

from likewise.errors import UsageError
from likewise_papers.folders import VARIABLE, find_collection, named_folders


@pytest.fixture
def named(tmp_path, monkeypatch):
    """Make folders and name them, relative to where we are."""
    monkeypatch.chdir(tmp_path)

    def named(*folders):
        for folder in folders:
            if not folder.startswith("ir:"):
                (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(VARIABLE, os.pathsep.join(folders))

    return named


def test_a_list_of_folders(named, monkeypatch):
    named("one", "two")
    assert named_folders() == ["one", "two"]
    named("one")
    assert named_folders() == ["one"]
    # As a list ends that a script has put together.
    monkeypatch.setenv(VARIABLE, os.pathsep.join(["", "one", "", "two", ""]))
    assert named_folders() == ["one", "two"]
    monkeypatch.setenv(VARIABLE, "")
    assert named_folders() == []
    monkeypatch.delenv(VARIABLE)
    assert named_folders() == []


def test_ids_of_ir_datasets_stay_whole(named):
    named("ir:cranfield")
    assert named_folders() == ["ir:cranfield"]
    named("one", "ir:beir/scifact", "two", "ir:cranfield")
    assert named_folders() == ["one", "ir:beir/scifact", "two", "ir:cranfield"]


def test_a_folder_that_is_not_there_is_told(named, monkeypatch):
    named("one")
    monkeypatch.setenv(VARIABLE, os.pathsep.join(["one", "away"]))
    with pytest.raises(UsageError, match="LIKEWISE_DATA names away, and there is no such folder"):
        named_folders()


def test_a_collection_is_found_by_its_name(named, tmp_path):
    named("one/cran", "two/cran", "two/med", "three/cisi")
    named("one", "two", "three/cisi", "ir:cranfield")
    here = [
        str(find_collection(name)) for name in ("cran", "med", "cisi", "cranfield", "cacm", "one")
    ]
    assert here == ["one/cran", "two/med", "three/cisi", "None", "None", "one"]
    assert find_collection("cran", [tmp_path / "two"]) == tmp_path / "two" / "cran"
    assert find_collection("cran", []) is None

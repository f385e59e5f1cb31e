import pytest

from likewise.errors import UsageError
from likewise.records import Document
from likewise.reproduce.data import DOCSTRINGS, Data

from .made_up import NOTES, write_collection


@pytest.fixture
def folder(tmp_path):
    write_collection(tmp_path / "data" / "notes")
    write_collection(tmp_path / "data" / "bare", judged=False)
    (tmp_path / "data" / "none").mkdir()
    return tmp_path / "data"


def test_it_knows_which_collections_are_there(folder, tmp_path):
    data = Data(folder, tmp_path / "work")
    assert data.names == ["bare", "notes"]
    assert [data.has(name) for name in ("notes", "none", "other", DOCSTRINGS)] == [
        True,
        False,
        False,
        True,
    ]
    alone = Data(None, tmp_path / "work")
    assert alone.names == []
    assert alone.has(DOCSTRINGS)
    assert not alone.has("notes")


def test_a_collection_is_indexed_once(folder, tmp_path):
    said = []
    first = Data(folder, tmp_path / "work", watch=said.append)
    ready = first.open("notes")
    assert ready.snapshot.n_docs == len(NOTES)
    assert first.open("notes") is ready
    assert Data(folder, tmp_path / "work", watch=said.append).open("notes").snapshot.n_docs == 4
    assert said == ["indexing notes"]


def test_an_index_that_was_broken_off_is_made_again(folder, tmp_path):
    data = Data(folder, tmp_path / "work")

    def broken():
        yield Document("1", text="one")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        data.indexed("mine", broken, what="mine")
    whole = [Document("1", text="one"), Document("2", text="two")]
    assert data.indexed("mine", lambda: whole, what="mine").n_docs == 2
    assert data.indexed("mine", broken, what="mine").n_docs == 2


def test_queries_without_anything_relevant_are_left_out(folder, tmp_path):
    ready = Data(folder, tmp_path / "work").open("notes")
    assert [query.qid for query in ready.queries] == ["a", "b"]
    assert ready.file("queries.jsonl") == folder / "notes" / "queries.jsonl"
    assert ready.file("other") is None


def test_what_is_missing_is_said(folder, tmp_path):
    data = Data(folder, tmp_path / "work")
    with pytest.raises(UsageError, match=r"the collection bare has no queries\.jsonl"):
        _ = data.open("bare").queries
    with pytest.raises(UsageError, match=r"no collection 'other' in .*data"):
        data.open("other")
    with pytest.raises(UsageError, match="without --data"):
        Data(None, tmp_path / "work").open("other")
    with pytest.raises(UsageError, match="no such folder"):
        Data(folder / "away", tmp_path / "work")


@pytest.mark.parametrize("changed", ["corpus.jsonl", "qrels.txt", "another"])
def test_the_hash_is_that_of_all_files(folder, tmp_path, changed):
    before = Data(folder, tmp_path / "work").hash_of("notes")
    assert Data(folder, tmp_path / "work").hash_of("notes") == before
    with (folder / "notes" / changed).open("a") as file:
        file.write("\n")
    assert Data(folder, tmp_path / "work").hash_of("notes") != before


def test_the_hash_of_docstrings_is_that_of_versions(tmp_path, monkeypatch):
    before = Data(None, tmp_path).hash_of(DOCSTRINGS)
    monkeypatch.setattr("likewise.reproduce.data.python_version", lambda: "2.7")
    assert Data(None, tmp_path).hash_of(DOCSTRINGS) != before

import json

import pytest

from likewise.errors import SourceError, UsageError
from likewise.records import Document, Query
from likewise.sources import open_source
from likewise_papers.bench import measured, search
from likewise_papers.data import ALIKE, DOCSTRINGS, JUDGED, PAPERS, Data
from likewise_papers.titles import judged_titles

from .made_up import NOTES, write_collection


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    write_collection(folder / "notes")
    write_collection(folder / "bare", judged=False)
    write_collection(folder / "labelled", judged=False, category="c")
    write_collection(folder / "linked", judged=False, links=["1"])
    write_collection(folder / "papers", judged=False, abstract="a", body="b", categories=["c"])
    (folder / "none").mkdir()
    (folder / "README.md").write_text("about")
    return folder


@pytest.fixture
def data(folder, tmp_path):
    return Data([folder], tmp_path / "work")


def test_it_knows_which_collections_are_there(data, tmp_path):
    assert data.names == ["bare", "labelled", "linked", "notes", "papers"]
    named = ("notes", "none", "other", DOCSTRINGS)
    assert [data.has(name) for name in named] == [True, False, False, True]
    alone = Data([], tmp_path / "work")
    assert alone.names == []
    assert alone.has(DOCSTRINGS)
    assert not alone.has("notes")


def test_a_collection_serves_for_what_it_has(data, tmp_path):
    assert data.of([JUDGED]) == ("notes",)
    assert data.of([ALIKE]) == ("labelled", "linked")
    assert data.of([PAPERS]) == ("papers",)
    assert data.of([ALIKE, PAPERS]) == ("labelled", "linked", "papers")
    assert data.of([]) == ()
    alone = Data([], tmp_path / "work")
    assert all(alone.of([kind]) == (DOCSTRINGS,) for kind in (JUDGED, ALIKE, PAPERS))


def test_labels_are_of_the_first_field_that_is_there(data):
    named = ("labelled", "papers", "linked", DOCSTRINGS)
    assert [data.label_of(name) for name in named] == ["category", "categories", "", "module"]


def test_what_nothing_can_be_asked_of_is_told(folder, data):
    (folder / "labelled" / "corpus.jsonl").write_text("rubbish\n")
    assert [data.kind_of("bare"), data.kind_of("labelled")] == ["", ""]
    assert data.of([ALIKE]) == ("linked",)
    assert data.left_out["bare"].startswith("there is nothing to ask it: it has no queries.jsonl")
    assert "corpus.jsonl:1" in data.left_out["labelled"]
    assert {*data.left_out} == {"bare", "labelled"}


def test_nothing_is_read_where_no_kind_is_asked_for(folder, data):
    (folder / "bare" / "corpus.jsonl").write_text("rubbish\n")
    assert data.of([]) == ()
    assert not data.left_out


def test_one_collection_and_several_folders_can_be_given(folder, tmp_path):
    write_collection(tmp_path / "elsewhere" / "more")
    given = [folder / "notes", str(tmp_path / "elsewhere"), folder / "notes"]
    assert Data(given, tmp_path / "work").names == ["more", "notes"]
    write_collection(tmp_path / "elsewhere" / "notes")
    with pytest.raises(UsageError, match=r"two collections are called notes: .*; rename one"):
        Data([folder, tmp_path / "elsewhere"], tmp_path / "work")


def test_the_text_of_papers_is_their_abstract(tmp_path):
    (tmp_path / "papers").mkdir()
    paper = {"id": "1", "title": "of wings", "abstract": "flutter", "body": "heat"}
    (tmp_path / "papers" / "corpus.jsonl").write_text(json.dumps(paper))
    snapshot = Data([tmp_path / "papers"], tmp_path / "work").open("papers").snapshot
    [(_, document)] = snapshot.documents()
    assert document.text == "flutter"


def test_a_collection_is_indexed_once(folder, tmp_path):
    said = []
    first = Data([folder], tmp_path / "work", watch=said.append)
    ready = first.open("notes")
    assert ready.snapshot.n_docs == len(NOTES)
    assert first.open("notes") is ready
    assert Data([folder], tmp_path / "work", watch=said.append).open("notes").snapshot.n_docs == 4
    assert said == ["indexing notes"]


def test_an_index_that_was_broken_off_is_made_again(data):
    def broken():
        yield Document("1", text="one")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        data.indexed("mine", broken, what="mine")
    whole = [Document("1", text="one"), Document("2", text="two")]
    assert data.indexed("mine", lambda: whole, what="mine").n_docs == 2
    assert data.indexed("mine", broken, what="mine").n_docs == 2


def test_queries_without_anything_relevant_are_left_out(data):
    assert [query.qid for query in data.open("notes").queries] == ["a", "b"]


def test_what_is_missing_is_said(folder, data, tmp_path):
    with pytest.raises(SourceError, match=r"bare/queries\.jsonl: cannot be read"):
        _ = data.open("bare").queries
    with pytest.raises(UsageError, match="no collection 'other'; given are: bare, labelled"):
        data.open("other")
    with pytest.raises(UsageError, match="none but docstrings"):
        Data([], tmp_path / "work").open("other")
    with pytest.raises(UsageError, match="no such folder"):
        Data([folder / "away"], tmp_path / "work")
    with pytest.raises(UsageError, match=r"neither it nor any of its folders has a corpus\.jsonl"):
        Data([folder / "none"], tmp_path / "work")


def test_a_collection_has_one_corpus_and_a_name_of_its_own(folder, tmp_path):
    (folder / "notes" / "corpus.jsonl.bak").write_text("another")
    assert Data([folder], tmp_path / "work").corpus_of("notes") == folder / "notes" / "corpus.jsonl"
    (folder / "notes" / "corpus.jsonl.gz").write_text("another")
    with pytest.raises(UsageError, match=r"corpus\.jsonl and corpus\.jsonl\.gz; leave one"):
        Data([folder], tmp_path / "work")
    for name in ("docstrings", "ir:cranfield"):
        write_collection(tmp_path / "more" / name)
        with pytest.raises(UsageError, match=f"a collection cannot be called {name}"):
            Data([tmp_path / "more" / name], tmp_path / "work")


def test_what_cannot_be_read_is_said(folder, data, tmp_path, monkeypatch):
    refused = PermissionError(13, "Permission denied", "some/file")

    def refuse(*_):
        raise refused

    monkeypatch.setattr("likewise_papers.data._hash_file", refuse)
    with pytest.raises(SourceError, match="some/file: cannot be read: Permission denied"):
        data.hash_of("notes")
    monkeypatch.setattr("likewise_papers.data.Path.iterdir", refuse)
    with pytest.raises(SourceError, match="some/file: cannot be read: Permission denied"):
        Data([folder], tmp_path / "work")


def test_links_are_collections_by_their_own_names(folder, tmp_path):
    (tmp_path / "links").mkdir()
    for name in ("one", "two"):
        write_collection(tmp_path / name / "v1")
        (tmp_path / "links" / name).symlink_to(tmp_path / name / "v1")
    assert Data([tmp_path / "links"], tmp_path / "work").names == ["one", "two"]


def test_judgements_of_other_queries_do_not_count(folder, data):
    with (folder / "notes" / "qrels.txt").open("a") as file:
        file.write("elsewhere 0 1 1\n")
    ready = data.open("notes")
    assert [*ready.qrels] == [query.qid for query in ready.queries] == ["a", "b"]
    assert len(measured(ready, search(ready))) == 2


@pytest.mark.parametrize("changed", ["corpus.jsonl", "qrels.txt", "another"])
def test_the_hash_is_that_of_all_files(folder, tmp_path, changed):
    before = Data([folder], tmp_path / "work").hash_of("notes")
    assert Data([folder], tmp_path / "work").hash_of("notes") == before
    with (folder / "notes" / changed).open("a") as file:
        file.write("\n")
    assert Data([folder], tmp_path / "work").hash_of("notes") != before


def test_the_hash_of_docstrings_is_that_of_versions(tmp_path, monkeypatch):
    before = Data([], tmp_path).hash_of(DOCSTRINGS)
    monkeypatch.setattr("likewise_papers.data.python_version", lambda: "2.7")
    assert Data([], tmp_path).hash_of(DOCSTRINGS) != before


def test_titles_ask_for_what_their_documents_link_to():
    documents = [
        Document("a", "first", fields={"to": ["b", "a", "away", "b", 7, "c"]}),
        Document("b", "second", fields={"to": "a"}),
        Document("c", "", fields={"to": ["a"]}),
        Document("d", "fourth", fields={"to": ["d", "away"]}),
    ]
    queries, qrels = judged_titles(documents, "to", itself=False)
    assert [(query.qid, query.text) for query in queries] == [("a", "first")]
    assert qrels.relevant("a") == {"b": 1, "c": 1}
    assert judged_titles(documents, "to", itself=True)[1].relevant("a") == {"a": 1, "b": 1, "c": 1}
    many = [Document(str(i), f"t {i}", fields={"to": ["0", "1"]}) for i in range(1000)]
    queries, qrels = judged_titles(many, "to", itself=True)
    assert len(queries) == len(qrels) == 300
    assert queries == judged_titles(many, "to", itself=True)[0]


class Dataset:
    """What ir_datasets has, made up: `judged` has queries and judgements."""

    def __init__(self, name):
        self.name, self.is_judged = f"ir:{name}", name == "judged"

    def queries(self):
        return iter([Query("a", "flutter"), Query("b", "nothing")])

    def judgements(self):
        return iter([("a", "1", 1), ("b", "2", 1), ("b", "2", 0)])


def test_ids_of_ir_datasets_are_collections(data, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("likewise_papers.data.IrDataset", Dataset)
    monkeypatch.setattr("likewise.sources.irdatasets.IrDataset", Dataset)
    source = open_source(folder / "notes" / "corpus.jsonl")
    monkeypatch.setattr("likewise_papers.data.open_source", lambda name, columns: source)
    data = Data(["ir:judged", "ir:bare"], tmp_path / "work")
    assert data.names == ["ir:bare", "ir:judged"]
    assert data.of([JUDGED]) == ("ir:judged",)
    assert data.left_out == {
        "ir:bare": "this dataset of ir_datasets has no queries with judgements"
    }
    ready = data.open("ir:judged")
    # Of two judgements the last counts: nothing is relevant to the second query.
    assert [query.qid for query in ready.queries] == ["a"]
    assert ready.qrels.relevant("a") == {"1": 1}
    assert data.hash_of("ir:judged") != data.hash_of("ir:bare")

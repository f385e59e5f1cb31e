import sys

import pandas
import pytest

import likewise as lw
from likewise.errors import DuplicateId, MissingExtra, NotACollection, SourceError, UsageError

PAPER = {"id": "9", "title": "Shock waves", "text": "A shock wave ahead of a wing."}


def test_index_then_open_then_search(papers):
    again = lw.open(papers.folder)
    assert len(again) == 5
    assert [answer.doc_id for answer in again.search("wing flutter", method="bm25")] == [
        *("1", "4", "3")
    ]
    assert again["3"].fields == {"year": 1962, "tags": ["flow", "wing"]}
    assert "3" in again
    assert "30" not in again
    assert 3 not in again
    assert [document.id for document in again] == ["1", "2", "3", "4", "5"]
    assert repr(again).endswith("5 documents>")


def test_answers_are_records_a_table_json_and_a_frame(papers):
    answers = papers.search("wing flutter", k=2)
    assert str(answers).splitlines()[1].split()[2:] == ["1", "Wing", "flutter"]
    assert answers.to_json()["answers"][0]["fields"] == {"year": 1960}
    frame = answers.to_frame()
    assert list(frame.columns) == ["rank", "doc_id", "score", "title", "year", "tags"]
    assert frame["doc_id"].tolist() == ["1", "4"]
    assert isinstance(answers[:1], lw.Answers)
    assert str(papers.search("nothing like it").without_notes()) == "no document matches"
    assert list(papers.search("zzz").to_frame().columns) == ["rank", "doc_id", "score", "title"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_without_its_library_names_the_install_command(papers, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"likewise\[{library}\]"):
        papers.search("wing").to_frame(library)


def test_answers_as_a_frame_of_polars(tmp_path):
    polars = pytest.importorskip("polars", reason="polars is an extra of development")
    documents = [
        {"id": "1", "text": "wing flutter", "year": 1960, "tags": ["flow"]},
        # A field that is a number there and a text here.
        {"id": "2", "text": "wing", "year": "1961?", "score": "its own"},
    ]
    c = lw.index(documents, to=tmp_path / "c.lw", model=None)
    answers = c.search("wing", method="bm25")
    frame = answers.to_frame("polars")
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["rank", "doc_id", "score", "title", "year", "tags"]
    assert frame["score"].to_list() == [answer.score for answer in answers]
    assert sorted(frame["year"].to_list()) == ["1960", "1961?"]
    empty = c.search("zzz", method="bm25").to_frame("polars")
    assert (empty.height, empty.columns) == (0, ["rank", "doc_id", "score", "title"])
    with pytest.raises(UsageError, match="a frame is one of pandas or polars, not 'spark'"):
        answers.to_frame("spark")


def test_a_frame_becomes_a_collection_and_grows(tmp_path):
    frame = pandas.DataFrame(
        {"key": ["a", "b"], "abstract": ["wing", "heat"], "year": [1960, 1961]}
    )
    c = lw.index(frame, to=tmp_path / "c.lw", id="key", text="abstract", model=None)
    assert c["b"][:4] == ("b", "", "heat", {"year": 1961})
    assert c.add(frame.assign(key=["c", "d"]), id="key", text="abstract").n_docs == 2
    assert [answer.doc_id for answer in c.search("heat", filter="year>=1961")] == ["b", "d"]
    with pytest.raises(DuplicateId, match=r"frame:0: id 'a' was already .*id=.*replace=True"):
        c.add(frame, id="key", text="abstract")
    c.add(["a text alone"])
    assert c["0"].text == "a text alone"
    with pytest.raises(DuplicateId, match="documents:1: id '0' was already given"):
        c.add(["another"])


def test_add_delete_merge_show_at_once(papers):
    papers.add([PAPER])
    assert [answer.doc_id for answer in papers.search("shock", method="bm25")] == ["9"]
    assert papers.delete("9") == 1
    assert len(papers.search("shock", method="bm25")) == 0
    assert "9" not in [answer.doc_id for answer in papers.search("wing shock")]
    papers.add([PAPER])
    papers.add([PAPER | {"text": "A bow shock."}], replace=True)
    assert papers["9"].text == "A bow shock."
    papers.merge()
    assert papers.info()["segments"] == 1
    assert papers.info()["deleted"] == 0
    assert len(papers) == 6


def test_a_duplicate_names_both_places_and_changes_nothing(papers, tmp_path):
    source = tmp_path / "more.jsonl"
    source.write_text(
        '{"id": "7", "text": "x"}\n{"id": "8", "text": "x"}\n{"id": "7", "text": "y"}\n'
    )
    with pytest.raises(
        DuplicateId, match=r"more\.jsonl:3: id '7' was already given by .*more\.jsonl:1"
    ):
        papers.add(source)
    source.write_text('{"id": "3", "text": "x"}\n')
    with pytest.raises(
        DuplicateId, match=r"more\.jsonl:1: id '3' was already given by documents:3"
    ):
        papers.add(source)
    papers.refresh()
    assert len(papers) == 5


def test_a_bad_line_stops_or_is_skipped(papers, tmp_path):
    source = tmp_path / "more.jsonl"
    source.write_text('{"id": "7", "text": "x"}\n{"id": \n{"id": "8", "text": "y"}\n')
    with pytest.raises(SourceError, match=r"more\.jsonl:2: "):
        papers.add(source)
    assert len(lw.open(papers.folder)) == 5
    bad = []
    papers.add(source, on_bad=bad.append)
    assert [error.place.rpartition(":")[2] for error in bad] == ["2"]
    assert len(papers) == 7


def test_a_failed_index_leaves_nothing_and_a_failed_overwrite_the_old_one(papers, tmp_path):
    source = tmp_path / "bad.jsonl"
    source.write_text('{"id": "7", "text": "x"}\nnonsense\n')
    with pytest.raises(SourceError):
        lw.index(source, to=tmp_path / "new.lw")
    assert not (tmp_path / "new.lw").exists()
    with pytest.raises(SourceError):
        lw.index(source, to=papers.folder, overwrite=True)
    assert len(lw.open(papers.folder)) == 5
    with pytest.raises(UsageError, match="already holds documents"):
        lw.index([PAPER], to=papers.folder)
    fresh = lw.index([PAPER], to=papers.folder, overwrite=True)
    assert [document.id for document in fresh] == ["9"]


def test_an_overwrite_may_change_the_analysis(papers):
    again = lw.index(
        [PAPER], to=papers.folder, overwrite=True, analysis=lw.Analysis(stemmer="none")
    )
    assert len(again.search("waves", method="bm25")) == 1
    assert len(again.search("shocks", method="bm25", syntax=False)) == 0
    assert again.info()["analysis"]["stemmer"] == "none"


def test_nothing_to_index_and_empty_sources(tmp_path):
    with pytest.raises(UsageError, match="nothing to index"):
        lw.index(to=tmp_path / "x.lw")
    empty = lw.index([], to=tmp_path / "empty.lw")
    assert len(empty) == 0
    assert len(empty.search("word")) == 0
    empty.add([PAPER])
    assert len(empty.search("shock")) == 1
    with pytest.raises(NotACollection, match=r"likewise\.index\("):
        lw.open(tmp_path / "nowhere.lw")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(NotACollection, match="other files"):
        lw.index([PAPER], to=tmp_path / "other")


@pytest.mark.parametrize("query", ["", "   ", "¿¡…", "\x00", "\ud800", "a" * 100_000])
def test_queries_that_match_nothing_are_answered_with_nothing(papers, query):
    assert len(papers.search(query)) == 0


def test_run_and_compare(papers):
    queries = [lw.Query("a", "wing"), lw.Query("b", "heat"), lw.Query("c", "nothing")]
    run = papers.run(queries, k=2, name="mine")
    assert run.name == "mine"
    assert [doc_id for doc_id, _ in run["b"]] == ["2"]
    assert run["c"] == []
    qrels = lw.Qrels({"a": {"1": 1}, "b": {"2": 1}})
    assert lw.compare([run], qrels, measures="RR")["mine", "RR"].mean == 1.0


def test_bad_arguments_are_named(papers):
    with pytest.raises(UsageError, match="unknown method 'bm26': it is one of bm25, bo1"):
        papers.search("wing", method="bm26")
    with pytest.raises(UsageError, match=r"'k=1' is no option; it has k1=1.2, b=0.75"):
        papers.search("wing", method="bm25(k=1)")
    with pytest.raises(UsageError, match="b from 0 to 1"):
        papers.search("wing", method="bm25(b=2)")
    with pytest.raises(UsageError, match="k must be at least 1"):
        papers.search("wing", k=0)
    with pytest.raises(UsageError, match="k must be at least 1"):
        papers.search("wing", method="bm25", k=0)
    with pytest.raises(UsageError, match="no document 'x'"):
        papers["x"]

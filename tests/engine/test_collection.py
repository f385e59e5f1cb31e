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
    assert str(papers.search("nothing like it").untold()) == "no document matches"
    assert list(papers.search("zzz").to_frame().columns) == ["rank", "doc_id", "score", "title"]


def test_a_frame_without_pandas_names_the_install_command(papers, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"likewise\[pandas\]"):
        papers.search("wing").to_frame()


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
    with pytest.raises(NotACollection, match="likewise index"):
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

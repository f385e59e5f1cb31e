import numpy as np
import orjson
import pytest

from likewise.errors import UsageError
from likewise.like import neighbour_graph as graphs
from likewise.like.space import Space
from likewise.neighbours.index import Neighbours

from .conftest import space_by


def lines(path):
    if path.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        return parquet.read_table(path).to_pylist()
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("name", ["graph.parquet", "graph.jsonl"])
def test_every_document_has_its_neighbours(themes, tmp_path, name, monkeypatch):
    monkeypatch.setattr(graphs, "_BLOCK", 7)
    n = themes.write_neighbours(tmp_path / name, k=4, method="near(model=lda,index=scan)")
    found = lines(tmp_path / name)
    assert n == len(found) == 60 * 4
    assert list(tmp_path.iterdir()) == [tmp_path / name]
    for doc_id in ("flow-0", "wing-59"):
        mine = [line for line in found if line["doc_id"] == doc_id]
        answers = themes.like(doc_id, k=4, method="near(model=lda,index=scan)")
        assert [line["rank"] for line in mine] == [1, 2, 3, 4]
        assert [line["neighbour_id"] for line in mine] == [a.doc_id for a in answers]
        assert [1 - line["distance"] / 2 for line in mine] == pytest.approx(
            [a.score for a in answers], abs=1e-6
        )


def test_the_number_of_threads_changes_nothing(themes, tmp_path):
    for threads in (1, 4):
        themes.write_neighbours(tmp_path / f"{threads}.jsonl", k=3, threads=threads)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "4.jsonl").read_bytes()


def interrupted(themes, path, monkeypatch, *, after, **options):
    """Make a graph, stopped after so many blocks; give the rows that each block asked for."""
    asked = []
    nearest_to = Space.nearest_to

    def stopping(self, docs, k, *, threads=1):
        if len(asked) == after:
            raise KeyboardInterrupt
        asked.append(int(np.min(docs)))
        return nearest_to(self, docs, k, threads=threads)

    with monkeypatch.context() as patched:
        patched.setattr(Space, "nearest_to", stopping)
        patched.setattr(graphs, "_BLOCK", 10)
        try:
            themes.write_neighbours(path, **options)
        except KeyboardInterrupt:
            assert list(path.parent.iterdir()) == [path.with_name(path.name + ".work")]
    return asked


@pytest.mark.parametrize("near", ["near", "near(index=tree)", "near(model=lda,metric=js)"])
def test_a_stopped_graph_goes_on_where_it_was(themes, tmp_path, monkeypatch, near):
    path = tmp_path / "graph.jsonl"
    assert interrupted(themes, path, monkeypatch, after=2, k=3, method=near) == [0, 10]
    rest = interrupted(themes, path, monkeypatch, after=99, k=3, method=near)
    assert rest == [20, 30, 40, 50, 60]
    themes.write_neighbours(tmp_path / "whole.jsonl", k=3, method=near)
    assert path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_another_question_begins_again(themes, tmp_path, monkeypatch):
    path = tmp_path / "graph.jsonl"
    interrupted(themes, path, monkeypatch, after=2, k=3)
    again = interrupted(themes, path, monkeypatch, after=99, k=4)
    assert again[0] == 0


def test_half_an_index_begins_again(themes, tmp_path, monkeypatch):
    path, near = tmp_path / "graph.jsonl", "near(index=tree)"
    interrupted(themes, path, monkeypatch, after=2, k=3, method=near)
    index = tmp_path / "graph.jsonl.work" / "index"
    index.write_bytes(index.read_bytes()[:-9])
    assert interrupted(themes, path, monkeypatch, after=99, k=3, method=near)[0] == 0
    assert len(lines(path)) == 180


def test_what_cannot_be_written_is_said(themes, tmp_path):
    with pytest.raises(UsageError, match=r"\.parquet or \.jsonl"):
        themes.write_neighbours(tmp_path / "graph.csv")
    (tmp_path / "graph.jsonl").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        themes.write_neighbours(tmp_path / "graph.jsonl")
    assert (tmp_path / "graph.jsonl").read_text() == "mine"
    themes.write_neighbours(tmp_path / "graph.jsonl", overwrite=True, k=1)
    assert len(lines(tmp_path / "graph.jsonl")) == 60
    with pytest.raises(UsageError, match="at least 1"):
        themes.write_neighbours(tmp_path / "none.jsonl", k=0)


@pytest.mark.parametrize("near", ["near", "near(model=lda)", "near(model=lda,metric=kl)"])
def test_each_line_is_the_answer_for_one_document(themes, tmp_path, near):
    themes.write_neighbours(tmp_path / "g.jsonl", k=70, method=near)
    space, ids = space_by(themes, near), themes.snapshot.doc_ids(np.arange(61))
    found = {doc_id: [] for doc_id in ids}
    for line in lines(tmp_path / "g.jsonl"):
        found[line["doc_id"]].append((line["neighbour_id"], line["distance"]))
    for doc, doc_id in enumerate(ids):
        docs, distances = space.nearest_to(np.array([doc]), 70)
        there = np.isfinite(distances[0])
        near_ids = [ids[other] for other in docs[0][there]]
        assert [line[0] for line in found[doc_id]] == near_ids
        assert (
            np.float32([line[1] for line in found[doc_id]]).tolist() == distances[0][there].tolist()
        )
    assert found["empty"] == []


def test_progress_counts_every_document(themes, tmp_path):
    found = []
    themes.write_neighbours(tmp_path / "g.jsonl", k=2, progress=found.append)
    assert sum(found) == len(themes)


def test_a_folder_of_the_user_is_not_swept_away(themes, tmp_path):
    (tmp_path / "graph.jsonl.work").mkdir()
    (tmp_path / "graph.jsonl.work" / "mine").write_text("mine")
    with pytest.raises(UsageError, match="in the way"):
        themes.write_neighbours(tmp_path / "graph.jsonl")
    assert (tmp_path / "graph.jsonl.work" / "mine").read_text() == "mine"


def test_an_attempt_killed_before_its_index_was_whole_begins_again(themes, tmp_path, monkeypatch):
    path = tmp_path / "graph.jsonl"
    with monkeypatch.context() as patched:
        patched.setattr(Neighbours, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            themes.write_neighbours(path, k=3, method="near(index=scan)")
    themes.write_neighbours(path, k=3, method="near(index=scan)")
    assert len(lines(path)) == 180

"""Where vectors come from, and how they are kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.models.vector_sources import (
    field_rows,
    from_field,
    from_file,
    from_function,
    from_rows,
    keep,
    none_kept,
    one_vector,
    read_vector,
    read_vectors,
    unit,
)

NOTES = [
    {"id": "a", "text": "wing flutter", "v": [1, 0.5]},
    {"id": "b", "title": "Heat", "text": "flow", "v": [0, 2]},
    {"id": "c", "text": "", "v": [0, 0]},
    {"id": "d", "text": "panel"},
]
ROWS = np.array([[1, 0.5], [0, 2], [0, 0], [3, 3]])


@pytest.fixture
def notes(tmp_path):
    return lw.index(NOTES, to=tmp_path / "notes.lw", model=None).snapshot


def saved(folder, rows, ids=None):
    np.save(folder / "v.npy", rows)
    if ids is not None:
        (folder / "v.ids").write_text("".join(f"{name}\n" for name in ids))
    return folder / "v.npy"


def test_a_field_of_the_documents(notes):
    for vectors in (from_field(notes, "v"), read_vectors(notes, "v")):
        assert vectors.docs.tolist() == [0, 1, 2]
        assert vectors.rows.tolist() == ROWS[:3].tolist()
        assert vectors.without == 2, "zeros count as none"


def test_a_mapped_file_with_ids_beside_it_or_in_order(notes, tmp_path):
    path = saved(tmp_path, ROWS[[3, 0]], ["d", "a"])
    for vectors in (from_file(notes, path), read_vectors(notes, str(path))):
        assert vectors.docs.tolist() == [3, 0]
        assert vectors.rows.tolist() == ROWS[[3, 0]].tolist()
        assert isinstance(vectors.rows, np.memmap)
        assert vectors.without == 2
    (tmp_path / "names.txt").write_text("b\nc")
    assert from_file(notes, path, ids=tmp_path / "names.txt").docs.tolist() == [1, 2]
    path.with_suffix(".ids").unlink()
    np.save(path, ROWS.astype(np.float16))
    assert read_vectors(notes, path).docs.tolist() == [0, 1, 2, 3]
    assert read_vectors(notes, path).without == 1


def test_rows_and_rows_by_id(notes):
    assert read_vectors(notes, ROWS).docs.tolist() == [0, 1, 2, 3]
    assert read_vectors(notes, ROWS.tolist()).rows.tolist() == ROWS.tolist()
    assert read_vectors(notes, ROWS[:2], ids=["c", "b"]).docs.tolist() == [2, 1]
    assert read_vectors(notes, {"d": [1, 2], "a": np.ones(2)}).docs.tolist() == [3, 0]


def test_deleted_documents_have_no_row(tmp_path):
    collection = lw.index(NOTES, to=tmp_path / "notes.lw", model=None)
    collection.delete(["a"])
    snapshot = open_snapshot(tmp_path / "notes.lw")
    vectors = read_vectors(snapshot, ROWS[1:])
    assert vectors.docs.tolist() == snapshot.live_docs().tolist()
    assert vectors.without == 1
    with pytest.raises(UsageError, match="'a'"):
        read_vectors(snapshot, ROWS, ids=["a", "b", "c", "d"])


def test_a_function_is_asked_in_batches(notes):
    asked = []

    def lengths(texts):
        asked.append(list(texts))
        return [[len(text), 1.0] for text in texts]

    vectors = from_function(notes, lengths, batch=2)
    assert asked == [["wing flutter", "Heat\n\nflow"], ["panel"]]
    assert vectors.docs.tolist() == [0, 1, 3]
    assert vectors.rows[:, 0].tolist() == [12, 10, 5]
    assert vectors.without == 1
    assert read_vectors(notes, lengths).rows.tolist() == vectors.rows.tolist()


@pytest.mark.parametrize(
    ("rows", "ids", "said"),
    [
        (ROWS[:3], None, r"3 rows, and the collection 4 documents: give the ids"),
        (ROWS[:3], ["a", "b"], r"3 rows, and there are 2 ids"),
        (ROWS[:3], ["a", "x", "y"], r"2 ids .* no document .* first is 'x' \(line 2\)"),
        (ROWS[:3], ["a", "b", "a"], r"id 'a' stands twice .* \(line 3\)"),
        (ROWS[:, 0], None, r"shape \(4,\)"),
        (ROWS[:, :0], None, r"shape \(4, 0\)"),
        (ROWS.astype(str), None, r"a row of numbers"),
        (ROWS * 1j, None, r"type complex128"),
        (np.where(ROWS == 2, np.nan, ROWS), None, r"document 'b' \(row 2\) .* not finite"),
        (np.where(ROWS == 2, 1e300, ROWS), None, r"document 'b' \(row 2\) .* not finite"),
    ],
)
def test_wrong_rows_are_refused(notes, tmp_path, rows, ids, said):
    with pytest.raises(UsageError, match=said):
        from_rows(notes, rows, ids=ids)
    with pytest.raises(UsageError, match=said):
        read_vectors(notes, saved(tmp_path, rows, ids))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("w", r"field 'w'; fields are: v"),
        ("missing.npy", r"missing.npy is not a readable"),
        ({"a": [1, 2], "b": [1]}, r"not all of one length"),
        (lambda texts: [[1.0]] * (len(texts) + 1), r"shape \(4, 1\) for 3 texts"),
        (lambda _: None, r"the function's answer: .* type object"),
        (lambda texts: [[np.inf]] * len(texts), r"the function's answer: .* not finite"),
    ],
)
def test_wrong_sources_are_refused(notes, source, said):
    with pytest.raises(UsageError, match=said):
        read_vectors(notes, source)


@pytest.mark.parametrize("value", ["wing", 3, [[1, 2]], ["x"], [], [1, 2, 3], [None, 1]])
def test_a_field_that_is_no_vector_is_named(tmp_path, value):
    documents = [{"id": "a", "text": "wing", "v": [1, 2]}, {"id": "b", "text": "heat", "v": value}]
    collection = lw.index(documents, to=tmp_path / "n.lw", model=None).snapshot
    with pytest.raises(UsageError, match="'v' of document 'b'"):
        from_field(collection, "v")


def test_files_that_are_no_arrays_are_refused(notes, tmp_path):
    path = tmp_path / "v.npy"
    for data in (b"", b"no array", b"\x93NUMPY\x01\x00"):
        path.write_bytes(data)
        with pytest.raises(UsageError, match="not a readable"):
            from_file(notes, path)
    saved(tmp_path, ROWS)
    with pytest.raises(UsageError, match="file of ids"):
        from_file(notes, path, ids=tmp_path / "none.txt")
    (tmp_path / "v.ids").write_bytes(b"\xff\xfe\n")
    with pytest.raises(UsageError, match="file of ids"):
        from_file(notes, path)


# What is kept


@given(st.lists(st.text(), unique=True, max_size=30), st.integers(1, 9), st.integers(0, 99))
def test_vectors_are_found_by_id_whatever_the_order(ids, width, seed):
    ids = [*dict.fromkeys(name.encode("utf-8", "replace").decode() for name in ids)]
    random = np.random.default_rng(seed)
    rows = unit(random.standard_normal((len(ids), width)))
    rows[random.random(len(ids)) < 0.2] = 0
    kept = keep(ids, rows, unit)
    assert len(kept.keys) == rows.any(axis=1).sum(), "zeros are none"
    assert (np.diff(kept.keys.astype(object)) > 0).all()
    order = random.permutation(len(ids))
    found = kept.of([ids[i] for i in order])
    np.testing.assert_allclose(found, rows[order], atol=1 / 127)
    assert not kept.of(["\x00 nobody's id"]).any()


def test_none_are_kept():
    assert none_kept(3).of(["a", "b"]).tolist() == [[0, 0, 0]] * 2
    assert keep([], np.empty((0, 3)), unit).of(["a"]).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("value", ["wing", 3, [[1, 2]], ["x", "y"], [], [1, 2, 3], [None, 1]])
def test_what_is_no_vector_in_a_field_counts_as_none(tmp_path, value):
    documents = [{"id": "a", "text": "wing", "v": [1, 2]}, {"id": "b", "text": "heat", "v": value}]
    snapshot = lw.index(documents, to=tmp_path / "n.lw", model=None).snapshot
    found = field_rows(snapshot, snapshot.live_docs(), "v", 2)
    assert found.tolist() == [[1, 2], [0, 0]]


# One vector


def test_one_vector(tmp_path):
    np.save(tmp_path / "v.npy", np.array([[1, 2, 3]], np.float16))
    assert read_vector(tmp_path / "v.npy").tolist() == [1, 2, 3]
    assert one_vector([4, 5]).tolist() == [4, 5]
    for wrong in ([[1, 2], [3, 4]], [], 3, "wing", [[1], [2, 3]], [None]):
        with pytest.raises(UsageError, match="row of numbers"):
            one_vector(wrong)
    for wrong in ([np.nan, 1], [1e300, 1]):
        with pytest.raises(UsageError, match="not finite"):
            one_vector(wrong)
    np.savez(tmp_path / "several.npz", a=np.ones(2), b=np.ones(2))
    with pytest.raises(UsageError, match="several arrays"):
        read_vector(tmp_path / "several.npz")
    with pytest.raises(UsageError, match="not a readable"):
        read_vector(tmp_path / "none.npy")

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.collection.dates import read_date
from likewise.collection.field_values import LONGEST_VALUE, MOST_NUMBERS
from likewise.collection.fields import Fields, FieldsWriter, containing
from likewise.collection.pack import Pack, Packer
from likewise.collection.schema import FieldType, read_boolean, read_number, spell
from likewise.errors import DamagedError
from likewise.text.table import Strings

NUMBER = st.one_of(st.integers(-5, 5), st.sampled_from([0.5, -0.5, 1e300, True, False]))
TEXT = st.sampled_from(["", "a", "ab", "B", "é", "中", "1", "true", "\ud800", "?", "2015-03", "00"])
VALUE = st.one_of(NUMBER, TEXT, st.lists(NUMBER | TEXT, max_size=3), st.none(), st.just({"a": 1}))
ROWS = st.lists(st.dictionaries(st.sampled_from("xyz"), VALUE, max_size=3), max_size=10)


def written(folder, rows, *, step=3, types=None):
    writer = FieldsWriter(types)
    for first in range(0, len(rows), step):
        writer.add(first, rows[first : first + step])
    out = Packer(folder / "fields.npz")
    writer.write(out)
    return Fields(Pack(folder / "fields.npz", out.close()), len(rows))


def members(row, field):
    value = row.get(field)
    value = value if isinstance(value, list | tuple) else [value]
    return [v for v in value if isinstance(v, str | int | float)]


def spelled(value):
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else spell(float(value))


def as_type(value, type):
    """The number or date that a value is, None where it is kept as text."""
    if type == "text":
        return None
    if type == "number":
        return float(value) if not isinstance(value, str) else read_number(value)
    if type == "boolean":
        return read_boolean(spelled(value))
    found = read_date(spelled(value))
    return None if found is None else found.start


def marked(mask):
    return np.flatnonzero(mask).tolist()


@pytest.mark.usefixtures("unsynced")
@given(
    ROWS,
    st.sampled_from("xyzw"),
    st.sampled_from(["text", "number", "boolean", "date"]),
    TEXT,
    NUMBER,
    NUMBER,
)
def test_answers_equal_a_scan(tmp_path, rows, field, type, text, low, high):
    types = dict.fromkeys("xyz", FieldType(type))
    fields = written(tmp_path, rows, types=types)
    held = [[(v, as_type(v, type)) for v in members(row, field)] for row in rows]
    texts = [[spelled(v).encode("utf-8", "replace") for v, t in row if t is None] for row in held]

    def where(condition, values):
        return [i for i, row in enumerate(values) if any(map(condition, row))]

    key = text.encode("utf-8", "replace")
    assert marked(fields.present(field)) == [i for i, row in enumerate(held) if row]
    assert marked(fields.with_text(field, text)) == where(lambda t: t == key, texts)
    begins = marked(fields.with_text(field, text, prefix=True))
    assert begins == where(lambda t: t.startswith(key), texts)
    part = key.decode().lower()
    found = marked(fields.with_part(field, key.decode()))
    assert found == where(lambda t: part in t.decode().lower(), texts)
    typed = [[t for _, t in row if t is not None] for row in held]
    if type == "date":
        ends = sorted(int(min(end, 9) * 1e15) for end in (low, high))
        for a in (None, ends[0]):
            for b in (None, ends[1]):
                assert marked(fields.with_date(field, a, b)) == where(
                    lambda t, a=a, b=b: (a is None or a <= t) and (b is None or t < b), typed
                )
        return
    for a in (True, False):
        for b in (True, False):
            found = fields.with_number(field, low, high, closed=(a, b))
            assert marked(found) == where(
                lambda v, a=a, b=b: (
                    (low < v or (a and v == low)) and (v < high or (b and v == high))
                ),
                typed,
            )


def test_numbers_that_are_none(tmp_path):
    rows = [{"x": v} for v in (float("nan"), float("inf"), 10**400, 10**30, 7, np.float64(7))]
    fields = written(tmp_path, rows)
    # What a double does not hold exactly is a code, which makes the others texts too.
    assert marked(fields.with_text("x", "7")) == [4, 5]
    assert marked(fields.with_text("x", "1" + "0" * 30)) == [3]
    assert len(fields.numbers("x")[0]) == 0
    assert marked(fields.present("x")) == [2, 3, 4, 5]


def test_of_long_texts_it_is_known_that_they_are_there(tmp_path):
    rows = [{"x": "a" * LONGEST_VALUE}, {"x": "a" * (LONGEST_VALUE + 1)}, {}]
    fields = written(tmp_path, rows)
    assert marked(fields.present("x")) == [0, 1]
    assert fields.unseen("x").tolist() == [1]
    assert marked(fields.with_text("x", rows[1]["x"])) == []


def test_of_vectors_it_is_known_that_they_are_there(tmp_path):
    long = [1.5] * (MOST_NUMBERS + 1)
    rows = [{"x": long}, {"x": long[1:]}, {"x": [*long, "tag"]}, {"x": ["tag"] * 99}]
    fields = written(tmp_path, rows)
    assert fields.names == ["x"]
    assert fields.unseen("x").tolist() == [0]
    assert marked(fields.with_text("x", "1.5")) == [1, 2]
    assert marked(fields.with_text("x", "tag")) == [2, 3]
    assert marked(fields.present("x")) == [0, 1, 2, 3]


def test_ten_thousand_fields(tmp_path):
    rows = [{f"f{i}": i for i in range(10_000)}, {f"f{i}": f"v{i}" for i in range(5_000, 15_000)}]
    fields = written(tmp_path, rows)
    assert len(fields.names) == 15_000
    assert marked(fields.with_number("f7", 7, 7)) == [0]
    assert marked(fields.with_text("f7000", "v7000")) == [1]
    assert marked(fields.present("f7000")) == [0, 1]
    assert marked(fields.present("f14999")) == [1]


def test_field_names_of_any_kind(tmp_path):
    fields = written(tmp_path, [{"": 1, "a b\n": 2, "\ud800": 3, 5: 4}])
    assert sorted(fields.names) == ["", "5", "?", "a b\n"]
    assert marked(fields.with_number("?", 3, 3)) == marked(fields.with_number("5", 4, 4)) == [0]


def test_no_documents_and_no_fields(tmp_path):
    fields = written(tmp_path, [])
    assert fields.names == []
    assert marked(fields.present("x")) == []


def test_memory_is_counted():
    writer = FieldsWriter()
    writer.add(0, [{"x": "text", "y": 1}])
    one = writer.n_bytes
    writer.add(1, [{"x": "another", "y": 2}])
    assert 0 < one < writer.n_bytes


def test_the_most_common_text_of_some_documents(tmp_path):
    fields = written(tmp_path, [{"x": "b"}, {"x": ["a", "b"]}, {"x": "c"}, {"x": "c"}, {}])
    live = np.ones(5, np.bool_)
    assert fields.common_text("x", live) == (2, "b")
    live[0] = False
    assert fields.common_text("x", live) == (2, "c")
    assert fields.common_text("x", np.zeros(5, np.bool_)) == (0, "")
    assert fields.common_text("y", live) == (0, "")


def test_parts_whatever_the_case():
    texts = Strings.of([text.encode() for text in ("Straße", "NILE delta", "", "é", "É!")])
    assert containing(texts, "STRA") == [0]
    assert containing(texts, "nile") == [1]
    assert containing(texts, "é") == [3, 4]
    assert containing(Strings.of([b"aB", b"Ba"]), "AB") == [0]
    assert containing(Strings.of([b"aa", b"", b"a", b"baab"]), "AA") == [0, 3]
    assert containing(Strings.of([]), "a") == []


def test_a_segment_without_types_says_what_its_values_are(tmp_path):
    rows = [{"n": 2, "b": True, "t": "x", "m": 1}, {"n": 1, "b": False, "t": "y", "m": "z"}]
    fields = written(tmp_path, rows)
    assert fields.inferred_types == {}
    meta = {"fields": fields._arrays.meta["fields"]}
    old = type("Old", (), {"meta": meta, "__getitem__": lambda _, name: fields._arrays[name]})()
    before = Fields(old, 2)
    assert before.inferred_types == {"n": "number", "b": "boolean", "t": "text", "m": "text"}
    assert marked(before.present("n")) == [0, 1]


@pytest.mark.parametrize(
    "array", ["numbers", "number-docs", "dates", "date-docs", "texts", "text-offsets", "text-docs"]
)
def test_arrays_that_were_altered_are_named_when_asked(tmp_path, array):
    fields = written(tmp_path, [{"x": 1, "y": "text", "z": "2015-03-04"}])
    fields._arrays.unchecked(f"fields.{array}").view(np.uint8)[0] ^= 1
    assert fields.names == ["x", "y", "z"]
    with pytest.raises(DamagedError, match=rf"fields\.npz: fields\.{array} was altered"):
        fields.present({"n": "x", "t": "y", "d": "z"}[array[0]])


def test_the_same_bytes_in_memory_and_in_a_file(tmp_path):
    rows = [{"x": 1, "y": ["b", "a"]}, {"x": 0.5, "y": "a"}]
    file = written(tmp_path, rows)
    writer, memory = FieldsWriter(), Memory()
    writer.add(0, rows)
    writer.write(memory)
    assert memory.meta == file._arrays.meta
    for name in file._arrays.names:
        assert memory[name].tobytes() == file._arrays[name].tobytes()

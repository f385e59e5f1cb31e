from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.collection.fields import LONGEST_VALUE, MOST_NUMBERS, Fields, FieldsWriter, as_number
from likewise.collection.pack import Pack, Packer
from likewise.errors import DamagedError

NUMBER = st.one_of(st.integers(-5, 5), st.sampled_from([0.5, -0.5, 1e300, True, False]))
TEXT = st.sampled_from(["", "a", "ab", "b", "é", "中", "1", "true", "\ud800", "?"])
VALUE = st.one_of(NUMBER, TEXT, st.lists(NUMBER | TEXT, max_size=3), st.none(), st.just({"a": 1}))
ROWS = st.lists(st.dictionaries(st.sampled_from("xyz"), VALUE, max_size=3), max_size=10)


def written(folder, rows, *, step=3):
    writer = FieldsWriter()
    for first in range(0, len(rows), step):
        writer.add(first, rows[first : first + step])
    out = Packer(folder / "fields.npz")
    writer.write(out)
    return Fields(Pack(folder / "fields.npz", out.close()), len(rows))


def members(row, field):
    value = row.get(field)
    value = value if isinstance(value, list | tuple) else [value]
    texts = [v.encode("utf-8", "replace") for v in value if isinstance(v, str)]
    return [float(v) for v in value if isinstance(v, int | float)], texts


def marked(mask):
    return np.flatnonzero(mask).tolist()


@pytest.mark.usefixtures("unsynced")
@given(ROWS, st.sampled_from("xyzw"), TEXT, NUMBER, NUMBER)
def test_answers_equal_a_scan(tmp_path, rows, field, text, low, high):
    fields = written(tmp_path, rows)
    held = [members(row, field) for row in rows]
    key = text.encode("utf-8", "replace")

    def where(condition):
        return [i for i, (numbers, texts) in enumerate(held) if condition(numbers, texts)]

    assert marked(fields.present(field)) == where(lambda n, t: n or t)
    number = as_number(text)
    assert marked(fields.equal(field, text)) == where(lambda n, t: key in t or number in n)
    for a in (True, False):
        for b in (True, False):
            found = fields.between(field, low, high, closed=(a, b))
            assert marked(found) == where(
                lambda n, t, a=a, b=b: any(
                    (low < v or (a and v == low)) and (v < high or (b and v == high)) for v in n
                )
            )
    for operator, holds in {
        ">": lambda t: t > key,
        ">=": lambda t: t >= key,
        "<": lambda t: t < key,
        "<=": lambda t: t <= key,
    }.items():
        found = fields.texts_from(field, operator, text)
        assert marked(found) == where(lambda n, t, holds=holds: any(map(holds, t)))


def test_numbers_that_are_none(tmp_path):
    rows = [{"x": v} for v in (float("nan"), float("inf"), 10**400, 10**30, 7, np.float64(7))]
    fields = written(tmp_path, rows)
    assert marked(fields.equal("x", "7")) == [4, 5]
    assert marked(fields.equal("x", "1" + "0" * 30)) == [3]
    assert marked(fields.between("x", -np.inf, np.inf)) == [4, 5]


def test_long_texts_cannot_be_asked_for(tmp_path):
    rows = [{"x": "a" * LONGEST_VALUE}, {"x": "a" * (LONGEST_VALUE + 1)}]
    fields = written(tmp_path, rows)
    assert marked(fields.present("x")) == [0]
    assert marked(fields.equal("x", rows[1]["x"])) == []


def test_vectors_cannot_be_asked_for(tmp_path):
    long = [1.5] * (MOST_NUMBERS + 1)
    rows = [{"x": long}, {"x": long[1:]}, {"x": [*long, "tag"]}, {"x": ["tag"] * 99}]
    fields = written(tmp_path, rows)
    assert fields.names == ["x"]
    assert marked(fields.equal("x", "1.5")) == [1, 2]
    assert marked(fields.equal("x", "tag")) == [2, 3]
    assert marked(fields.present("x")) == [1, 2, 3]


def test_ten_thousand_fields(tmp_path):
    rows = [{f"f{i}": i for i in range(10_000)}, {f"f{i}": f"v{i}" for i in range(5_000, 15_000)}]
    fields = written(tmp_path, rows)
    assert len(fields.names) == 15_000
    assert marked(fields.equal("f7", "7")) == [0]
    assert marked(fields.equal("f7000", "v7000")) == [1]
    assert marked(fields.present("f7000")) == [0, 1]
    assert marked(fields.present("f14999")) == [1]


def test_field_names_of_any_kind(tmp_path):
    fields = written(tmp_path, [{"": 1, "a b\n": 2, "\ud800": 3, 5: 4}])
    assert sorted(fields.names) == ["", "5", "?", "a b\n"]
    assert marked(fields.equal("?", "3")) == marked(fields.equal("5", "4")) == [0]


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


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1.0), ("-2.5e3", -2500.0), ("true", 1.0), ("False", 0.0), ("nan", None), ("x", None)],
)
def test_as_number(text, number):
    assert as_number(text) == number


@pytest.mark.parametrize("array", ["numbers", "number-docs", "texts", "text-offsets", "text-docs"])
def test_arrays_that_were_altered_are_named_when_asked(tmp_path, array):
    fields = written(tmp_path, [{"x": 1, "y": "text"}])
    fields._arrays.unchecked(f"fields.{array}").view(np.uint8)[0] ^= 1
    assert fields.names == ["x", "y"]
    with pytest.raises(DamagedError, match=rf"fields\.npz: fields\.{array} was altered"):
        fields.present("x" if "number" in array else "y")


def test_the_same_bytes_in_memory_and_in_a_file(tmp_path):
    rows = [{"x": 1, "y": ["b", "a"]}, {"x": 0.5, "y": "a"}]
    file = written(tmp_path, rows)
    writer, memory = FieldsWriter(), Memory()
    writer.add(0, rows)
    writer.write(memory)
    assert memory.meta == file._arrays.meta
    for name in file._arrays.names:
        assert memory[name].tobytes() == file._arrays[name].tobytes()

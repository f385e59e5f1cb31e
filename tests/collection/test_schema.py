from __future__ import annotations

import numpy as np
import pytest

from likewise.collection.adding import Added
from likewise.collection.copying import copy_collection
from likewise.collection.creating import build
from likewise.collection.schema import FieldType, decide, known_types, notes_said, read_types
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.records import Document


def decided(*values):
    """The type of a column of texts, numbers and booleans."""
    texts = [value for value in values if isinstance(value, str)]
    counted = [(text, texts.count(text)) for text in dict.fromkeys(texts)]
    numbers = [float(value) for value in values if not isinstance(value, str | bool)]
    return decide(counted, numbers, sum(isinstance(value, bool) for value in values))


@pytest.mark.parametrize(
    ("values", "type"),
    [
        ([1, 2.5], "number"),
        (["1", "2.5", "-3e4"], "number"),
        (["1990", "1991"], "number"),
        ([2015, 20150304], "number"),
        ([1] * 9 + ["x"], "number"),
        ([1] * 8 + ["x"], "text"),
        ([1, "unknown", "n/a", "", "-"], "number"),
        (["02139", 10001, 94110], "text"),
        (["007"], "text"),
        (["12345678901234567"], "text"),
        ([True, False], "boolean"),
        (["true", "False"], "boolean"),
        ([True, 2, 3], "number"),
        (["yes", "no"], "text"),
        (["2015-03-04"], "date"),
        (["2015-03", "2015", 2014, 20150304], "date"),
        (["Mar 4, 2015", "2015-03-04T10:11:12Z", "04.03.2015"], "date"),
        (["04/03/2015", "25/03/2015"], "date-dmy"),
        (["04/03/2015", "03/25/2015"], "date-mdy"),
        (["04/03/2015", "25/03/2015", "03/25/2015"], "text"),
        (["25/03/2015", "03/25/2015"], "date"),
        (["25/03/2015"] * 10 + ["03/25/2015"], "date-dmy"),
        (["03/03/2015"], "date"),
        (["2015-03-04", "later"], "text"),
        (["open", "closed"], "text"),
    ],
)
def test_types_are_decided_by_the_values(values, type):
    assert decided(*values)[0] == type
    assert decided(*reversed(values))[0] == type


def test_dates_that_can_be_read_in_two_ways_are_none():
    assert decided("04/03/2015", "05/06/2016") == (FieldType.TEXT, "04/03/2015")
    assert decided("04/03/2015", "open", "closed") == (FieldType.TEXT, "")


def test_nothing_to_go_by_is_no_decision():
    assert decided() == decided("", "N/A", "unknown") == (None, "")


def test_types_are_said():
    assert read_types(["filed=date", "a=b = text"]) == {"filed": "date", "a=b": "text"}
    assert read_types({"zip": "text"}) == {"zip": FieldType.TEXT}
    assert known_types({"a": "date", "b": "place"}) == {"a": FieldType.DATE, "b": FieldType.TEXT}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["filed"], "not written as field=type, such as filed=date"),
        (["=date"], "not written as field=type"),
        ({"filed": "day"}, "'filed': 'day' is none of text, number, boolean, date, date-dmy"),
        (["a=text", "a=date"], "both text and date; say one"),
    ],
)
def test_what_is_no_type_is_an_error(given, message):
    with pytest.raises(UsageError, match=message):
        read_types(given)


# A collection keeps them


def documents(*values, name="f", first=0):
    return [Document(f"d{i}", text="x", fields={name: v}) for i, v in enumerate(values, first)]


def types_of(folder):
    return open_snapshot(folder).field_types


def add(folder, *values, first, name="f", **options):
    with Writer(folder) as writer:
        return writer.add(documents(*values, first=first, name=name), **options)


def test_a_collection_keeps_its_types(tmp_path):
    folder, copy = tmp_path / "c.lw", tmp_path / "copy.lw"
    added = build(folder, documents("25/03/2015", "04/03/2015"))
    assert added == Added(2, 0)
    assert notes_said(added.fields, folder, new=added.new_fields) == [
        "fields: f is a date (day/month/year)"
    ]
    assert open_snapshot(folder).manifest.fields == {"f": "date-dmy"}
    added = add(folder, "01/02/2015", "next week", "n/a", first=2)
    assert added.new_fields == frozenset()
    [said] = notes_said(added.fields, folder, new=added.new_fields)
    assert said == (
        "f is a date (day/month/year): 1 value such as 'next week' did not fit and was kept as "
        f"text; to change the type: likewise merge {folder} --type f=text"
    )
    copy_collection(folder, copy)
    for one in (folder, copy):
        with Writer(one) as writer:
            writer.merge()
        assert types_of(one) == {"f": "date-dmy"}
        values, docs = open_snapshot(one).segments[0].fields.dates("f")
        assert docs.tolist() == [2, 1, 0]
        assert (np.diff(values) > 0).all()


def test_a_field_is_decided_where_it_first_has_values(tmp_path):
    folder = tmp_path / "c.lw"
    build(folder, documents("unknown"))
    assert types_of(folder) == {"f": "text"}
    assert add(folder, 3, first=1).new_fields == {"f"}
    added = add(folder, True, name="g", first=2)
    assert [(note.name, note.type) for note in added.fields] == [("g", "boolean")]
    assert types_of(folder) == {"f": "number", "g": "boolean"}


def test_the_user_says_types(tmp_path):
    folder = tmp_path / "c.lw"
    build(folder, documents("04/03/2015"), types={"f": "date-mdy", "zip": "text"})
    assert types_of(folder) == {"f": "date-mdy"}
    add(folder, 10001, first=1, name="zip")
    add(folder, "05/03/2015", first=2, types={"f": "date-mdy"})
    assert types_of(folder) == {"f": "date-mdy", "zip": "text"}
    with pytest.raises(UsageError, match=r"a date \(month/day/year\) in ") as caught:
        add(folder, "x", first=3, types={"f": "date-dmy"})
    assert str(caught.value).endswith(
        f"not date-dmy; to change that: likewise.open({str(folder)!r}).merge("
        "types={'f': 'date-dmy'})"
    )
    assert caught.value.in_shell.endswith(
        f"; to change that: likewise merge {folder} --type f=date-dmy"
    )
    assert open_snapshot(folder).n_docs == 3


def test_a_merge_gives_another_type(tmp_path):
    folder = tmp_path / "c.lw"
    build(folder, documents("04/03/2015", 7, True))
    assert types_of(folder) == {"f": "text"}
    with Writer(folder) as writer:
        writer.merge(types={"f": "date-dmy"})
        with pytest.raises(UsageError, match="no document has a field 'F': did you mean f"):
            writer.merge(types={"F": "date"})
    fields = open_snapshot(folder).segments[0].fields
    assert (types_of(folder), len(fields.dates("f")[0])) == ({"f": "date-dmy"}, 1)
    assert [text.decode() for text in fields.texts("f")[0].all()] == ["7", "true"]
    with Writer(folder) as writer:
        writer.merge(types={"f": "text"})
    fields = open_snapshot(folder).segments[0].fields
    assert [text.decode() for text in fields.texts("f")[0].all()] == ["04/03/2015", "7", "true"]


def test_a_merge_forgets_fields_of_deleted_documents_only(tmp_path):
    folder = tmp_path / "c.lw"
    build(folder, documents(1), types={"later": "date"})
    add(folder, "x", first=1, name="secret")
    with Writer(folder) as writer:
        writer.delete(["d1"])
        writer.merge()
    assert open_snapshot(folder).manifest.fields == {"f": "number", "later": "date"}


@pytest.mark.usefixtures("small_blocks")
def test_types_do_not_depend_on_threads(tmp_path):
    from likewise.collection.build import Resources

    values = ["04/03/2015", "25/03/2015", "x", *["05/06/2016"] * 20]
    for threads in (1, 4):
        folder = tmp_path / f"{threads}.lw"
        build(folder, documents(*values), resources=Resources(threads=threads))
        assert types_of(folder) == {"f": "date-dmy"}


def test_many_fields_are_said_in_a_line(tmp_path):
    fields = {f"f{i:02}": i for i in range(30)}
    added = build(tmp_path / "c.lw", [Document("a", fields=fields)])
    [said] = notes_said(added.fields, "c.lw", new=added.new_fields)
    assert said.startswith("fields: f00 is a number, f01 a number,")
    assert said.endswith("f11 a number, … (30 in all)")

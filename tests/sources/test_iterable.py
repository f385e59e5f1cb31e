from __future__ import annotations

import types

import numpy as np
import pytest
from hypothesis import given
from source_strategies import bare, documents

from likewise.errors import SourceError, UsageError
from likewise.records import Document
from likewise.sources import open_source


@given(found=documents)
def test_documents_and_mappings_come_back(found):
    assert bare(open_source(found)) == found
    mappings = [{"id": d.id, "title": d.title, "text": d.text, **d.fields} for d in found]
    assert bare(open_source(mappings)) == found


def test_places():
    items = [Document("a", place="here:1"), Document("b"), {"id": "c", "text": ""}]
    assert [d.place for d in open_source(items)] == ["here:1", "documents:2", "documents:3"]


def test_the_callers_mapping_is_left_alone(read):
    record = {"id": 1, "text": "x", "a": {"b": 1}}
    frozen = types.MappingProxyType(record)
    assert read([frozen])[0].fields == {"a.b": 1}
    assert record == {"id": 1, "text": "x", "a": {"b": 1}}


def test_arrays_of_ids(read):
    assert read([{"id": np.int64(3), "text": np.str_("x")}])[0][:3] == ("3", "", "x")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (3, "expected a Document, a mapping or a text, received an int"),
        (None, "expected a Document, a mapping or a text, received a NoneType"),
        (Document(""), "empty"),
        (Document(3.5), "neither text nor an integer"),
        (Document("a", text={"x": 1}), "holds a nested record"),
        (Document("a", text="\ud800"), "surrogate"),
        (Document("a", fields={"f": object()}), "field 'f' cannot be stored"),
        ({"id": "\ud800", "text": ""}, "surrogate"),
    ],
)
def test_bad_items(read, item, reason):
    items = [Document("1"), item, Document("2")]
    with pytest.raises(SourceError, match=f"documents:2: .*{reason}"):
        read(items)
    bad = []
    assert [d.id for d in read(items, on_bad=bad.append)] == ["1", "2"]
    assert len(bad) == 1


def test_progress_is_in_documents():
    source = open_source([Document("a"), Document("b")])
    assert source.total == 2
    assert [source.done for _ in source] == [1, 2]
    assert open_source(Document(i) for i in "ab").total is None


@pytest.mark.parametrize("single", [Document("a"), {"id": 1}, b"bytes", 3, None])
def test_what_is_not_many_documents(single):
    with pytest.raises(UsageError, match=r"a source is a file"):
        open_source(single)

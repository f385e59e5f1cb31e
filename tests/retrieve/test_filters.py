import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer, build
from likewise.errors import UsageError
from likewise.records import Document
from likewise.retrieve.filters import Filter, allowed_docs
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever

FIELDS = {
    "a": {"year": 1990, "kind": "red", "tags": ["x", "y"], "open": True},
    "b": {"year": 2000.5, "kind": "blue|green", "tags": ["y"], "open": False},
    "c": {"kind": "red", "year": "unknown"},
    "d": {"year": -3},
}
DOCUMENTS = [Document(doc_id, text="word", fields=fields) for doc_id, fields in FIELDS.items()]


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters") / "c.lw"
    build(folder, DOCUMENTS[:2])
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[2:])
    return open_snapshot(folder)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("kind=red", "ac"),
        ("kind!=red", "bd"),
        (r"kind=blue\|green", "b"),
        (r"kind=red|blue\|green", "abc"),
        ("kind=*", "abc"),
        ("kind!=*", "d"),
        ("year=1990", "a"),
        ("year=1990.0", "a"),
        ("year>=1990", "ab"),
        ("year>1990", "b"),
        ("year<=1990", "ad"),
        ("year<1990", "d"),
        ("year=unknown", "c"),
        ("year>=u", "c"),
        ("year<v", "c"),
        ("tags=y", "ab"),
        ("tags=x", "a"),
        ("tags!=x", "bcd"),
        ("open=true", "a"),
        ("open=False", "b"),
        (["kind=red", "year=*"], "ac"),
        (["kind=red", "year>0"], "a"),
        (" year >= 1990 ", "ab"),
        ([], "abcd"),
    ],
)
def test_conditions(collection, where, expected):
    allowed = allowed_docs(collection, [where] if isinstance(where, str) else where)
    [found] = Retriever(collection, BM25()).rank([{"word": 1.0}], allowed=allowed)
    assert sorted(collection.doc_ids(found.docs)) == list(expected)


def test_a_field_that_no_document_has_is_an_error_that_lists_the_fields(collection):
    with pytest.raises(UsageError, match="'colour'; the fields are kind, open, tags, year"):
        allowed_docs(collection, ["colour=red"])


@pytest.mark.parametrize("text", ["", "year", "=3", "year>1|2"])
def test_what_is_no_condition_is_an_error(text):
    with pytest.raises(UsageError, match="filter"):
        Filter.read(text)


@given(
    st.text(st.characters(blacklist_characters="=<>!|\\", blacklist_categories=["Cs"]), min_size=1)
    .map(str.strip)
    .filter(bool),
    st.sampled_from(["=", "!="]),
    st.lists(
        st.text(st.characters(blacklist_characters="\\", blacklist_categories=["Cs"]))
        .map(str.strip)
        .filter(lambda value: not value.startswith("=")),
        min_size=1,
    ),
)
def test_what_prints_reads_back(field, operator, values):
    condition = Filter(field, operator, tuple(values))
    again = Filter.read(str(condition))
    assert (again.field, again.operator) == (field, operator)
    assert again.values == tuple(values) or str(again) == str(condition).rstrip()


@example("\r<")
@given(st.text())
def test_any_text_reads_or_is_a_usage_error(text):
    try:
        condition = Filter.read(text)
    except UsageError:
        return
    assert condition.field

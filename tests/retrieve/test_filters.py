import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.records import ALL, Condition, Document, Filter
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever
from likewise.stages.masks import mask_of

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
    allowed = mask_of(collection, Filter.read(where)).segments
    [found] = Retriever(collection, BM25()).rank([{"word": 1.0}], allowed=allowed)
    assert sorted(collection.doc_ids(found.docs)) == list(expected)


def test_a_field_that_no_document_has_is_an_error_that_lists_the_fields(collection):
    with pytest.raises(UsageError, match="'colour'; the fields are kind, open, tags, year"):
        mask_of(collection, Filter.read("colour=red"))


@pytest.mark.parametrize("text", ["", "year", "=3", "year>1|2"])
def test_what_is_no_condition_is_an_error(text):
    with pytest.raises(UsageError, match="filter"):
        Condition.read(text)


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
    condition = Condition(field, operator, tuple(values))
    again = Condition.read(str(condition))
    assert (again.field, again.operator) == (field, operator)
    assert again.values == tuple(values) or str(again) == str(condition).rstrip()


@example("\r<")
@given(st.text())
def test_any_text_reads_or_is_a_usage_error(text):
    try:
        condition = Condition.read(text)
    except UsageError:
        return
    assert condition.field


def test_filters_are_values_in_disjunctive_form():
    old, wing = Filter.read("year<1960"), Filter.read("theme=wing")
    assert old & wing == Filter.read(["year<1960", "theme=wing"])
    assert str(old & wing | wing) == "year<1960 & theme=wing or theme=wing"
    assert old & ALL == ALL & old == old & old == old
    assert old | ALL == ALL
    assert Filter.read(()) == ALL
    assert hash(old & wing) == hash(Filter.read([old, "theme=wing"]))


def test_either_of_two_filters(collection):
    one, other = (Filter.read(text) for text in ("year>=2000", "kind=paper"))
    masks = [mask_of(collection, both).segments for both in (one | other, one & other)]
    each = [mask_of(collection, single).segments for single in (one, other)]
    for i in range(len(collection.segments)):
        assert (masks[0][i] == (each[0][i] | each[1][i])).all()
        assert (masks[1][i] == (each[0][i] & each[1][i])).all()

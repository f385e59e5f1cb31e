import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.records import ALL, Condition, Document, Filter, Value
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever
from likewise.stages.masks import mask_of

FIELDS = {
    "a": {"year": 1990, "kind": "red", "tags": ["x", "y"], "open": True},
    "b": {"year": 2000.5, "kind": "blue|green", "tags": ["y"], "open": False},
    "c": {"kind": "red", "year": "unknown"},
    "d": {"year": -3},
}
TITLES = {"a": 'Deep "Nile" é', "d": "The Nile"}
DOCUMENTS = [
    Document(doc_id, TITLES.get(doc_id, ""), "word", fields) for doc_id, fields in FIELDS.items()
]


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
        ("tags=y", "ab"),
        ("tags=x", "a"),
        ("tags!=x", "bcd"),
        ("open=true", "a"),
        ("open=False", "b"),
        (["kind=red", "year=*"], "ac"),
        (["kind=red", "year>0"], "a"),
        (" year >= 1990 ", "ab"),
        ("YEAR>1990", "b"),
        ("open!=true", "bcd"),
        ("open=1|0", "ab"),
        ("kind=re*", "ac"),
        ("kind=re*|blue*", "abc"),
        ("kind!=re*", "bd"),
        ("kind~RE", "abc"),
        ("kind!~re", "d"),
        ("kind~blue|x", "b"),
        ("kind==red", "ac"),
        ("tags~Y", "ab"),
        ("id=a", "a"),
        ("id=a|d", "ad"),
        ("id!=a", "bcd"),
        ("id~B", "b"),
        ("title=*", "ad"),
        ("title!=*", "bc"),
        ("title=Deep*", "a"),
        ("title~nile", "ad"),
        ('title~"nile', "a"),
        ("title~É", "a"),
        ("title~deep the", ""),
        ("title=The Nile", "d"),
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


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("kind>=5", "kind is text, such as 'blue|green', which >= does not compare: write kind="),
        ("year>=u", "year is a number, such as 1990, and 'u' is none: write year>=1990, year="),
        ("year=u", "year is a number, such as 1990, and 'u' is none"),
        ("year=", "year is a number, such as 1990, and '' is none"),
        ("year~9", r"year is a number, which has no beginnings .*types={'year': 'text'}"),
        ("language=xx", r"unknown language 'xx'; it is a name or an ISO 639 code, .* are in en"),
        ("language=auto", "unknown language 'auto'"),
        ("year=19*", "year is a number, which has no beginnings and parts"),
        ("open>0", "open is true or false, and cannot be > '0': write open=true or open=false"),
        ("open=maybe", "cannot be = 'maybe'"),
        ("id>5", "id is text, which > does not compare"),
        ("kinds=red", "'kinds': did you mean kind\\? the fields are kind, open, tags, year"),
    ],
)
def test_what_makes_no_sense_is_an_error_that_says_why(collection, where, message):
    with pytest.raises(UsageError, match=message.replace("|", "[|]")):
        mask_of(collection, Filter.read(where))


# Dates


FILED = {
    "a": {"Filing Date": "25/03/2015", "when": "2019-06-01T23:30:00-02:00", "Tag": 1},
    "b": {"Filing Date": "04/03/2015", "when": "2019-06", "tag": 2},
    "c": {"Filing Date": "31/12/2014", "when": 2018},
    "d": {"Filing Date": ["01/01/2013", "01/01/2016"], "long": "x" * 300, "title": "own"},
    "e": {"Filing Date": "pending", "when": "June 2019"},
}


@pytest.fixture(scope="module")
def filed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filed") / "c.lw"
    made = [Document(doc_id, text="x", fields=fields) for doc_id, fields in FILED.items()]
    build(folder, made[:4])
    with Writer(folder) as writer:
        writer.add(made[4:])
    return open_snapshot(folder)


def meeting(snapshot, *where):
    masks = mask_of(snapshot, Filter.read(where)).segments
    return "".join(snapshot.doc_ids(np.flatnonzero(np.concatenate(masks))))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("Filing Date>=2015", "abd"),
        ("filing date>=2015", "abd"),
        ("Filing Date>2015", "d"),
        ("Filing Date<2015", "cd"),
        ("Filing Date<=2015", "abcd"),
        ("Filing Date=2015", "ab"),
        ("Filing Date=2015-03", "ab"),
        ("Filing Date=2015-03-04", "b"),
        ("Filing Date=04/03/2015", "b"),
        ("Filing Date=4 March 2015|2016", "bd"),
        ("Filing Date<2015-03-25", "bcd"),
        ("Filing Date<=2015-03-25", "abcd"),
        ("Filing Date!=2015", "cde"),
        ("Filing Date=pending", "e"),
        ("Filing Date=*", "abcde"),
        ("when>=2019", "abe"),
        ("when=2019-06-02", "a"),
        ("when=2019-06-02T01:30", "a"),
        ("when>2019-06-02T01:30:00Z", ""),
        ("when!=*", "d"),
        ("Tag=1", "a"),
        ("title=own", "d"),
        ("long=*", "d"),
    ],
)
def test_dates(filed, where, expected):
    assert meeting(filed, where) == expected


def test_all_filters_must_hold(filed):
    assert meeting(filed, "when>=2019", "Filing Date<2015-03-05") == "b"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("when>=abc", "when is a date, such as 2018-01-01, and 'abc' is none: write when>=2018, "),
        ("when=abc", "'abc' is none"),
        ("when>=01/02/2015", "'01/02/2015' is none"),
        ("when~6", "when is a date, which has no beginnings and parts"),
        ("when=2019*", "no beginnings and parts .*: write when=2018 or when>=2018; to make it"),
        ("TAG=1", "'TAG' could be Tag or tag"),
        ("long~x", "long holds long texts or vectors, .* long=\\*"),
    ],
)
def test_dates_that_make_no_sense(filed, where, message):
    with pytest.raises(UsageError, match=message):
        mask_of(filed, Filter.read(where))


def test_dates_that_could_be_two_say_how_to_tell(tmp_path):
    build(tmp_path / "c.lw", [Document("a", fields={"filed": "04/03/2015"})])
    with pytest.raises(UsageError, match=r"such as '04/03/2015', .*'date-dmy'}\)") as caught:
        mask_of(open_snapshot(tmp_path / "c.lw"), Filter.read("filed>=2015"))
    assert caught.value.in_shell.endswith("--type filed=date-dmy (or date-mdy)")


def test_codes_are_texts_and_numbers_among_texts_are_found(tmp_path):
    values = ["02139", 10001, "2139", 1.5, True]
    made = [Document("abcde"[i], fields={"zip": value}) for i, value in enumerate(values)]
    build(tmp_path / "c.lw", made)
    snapshot = open_snapshot(tmp_path / "c.lw")
    asked = {"02139": "a", "2139": "c", "10001": "b", "1.50": "d", "true": "e", "1*": "bd"}
    assert {value: meeting(snapshot, f"zip={value}") for value in asked} == asked


# How they are written


@pytest.mark.parametrize("text", ["", "year", "=3", "year>1|2", "year~", "year~a|", "year>=1*"])
def test_what_is_no_condition_is_an_error(text):
    with pytest.raises(UsageError, match="filter"):
        Condition.read(text)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a=b", ("a", "=", (("b", False),))),
        (r"a\=b=c=d", ("a=b", "=", (("c=d", False),))),
        (r"a\\=b=c", ("a\\", "=", (("b=c", False),))),
        (r"a\=b\~=c", ("a=b~", "=", (("c", False),))),
        (r"a=b\|c|d*", ("a", "=", (("b|c", False), ("d", True)))),
        (r"a=b\*", ("a", "=", (("b*", False),))),
        (r"a=b*c", ("a", "=", (("b*c", False),))),
        (r"a=*", ("a", "=", (("", True),))),
        (r"a=\ b\ ", ("a", "=", ((" b ", False),))),
        (r"path=C:\data", ("path", "=", (("C:\\data", False),))),
        ("a==b", ("a", "=", (("b", False),))),
        ("a!~b", ("a", "!~", (("b", False),))),
        ("wow! = b", ("wow!", "=", (("b", False),))),
    ],
)
def test_conditions_as_they_are_written(text, condition):
    assert Condition.read(text) == condition


WRITTEN = st.text(st.characters(blacklist_categories=["Cs"])) | st.sampled_from(
    ["a & b", "a or b", "x &", "& x", "or", " ", "\\", "a\\", "*", "a*", "=", "~x", "|", "\\ "]
)


CONDITION = st.builds(
    Condition,
    WRITTEN.filter(str.strip),
    st.sampled_from(["=", "!="]),
    st.lists(st.builds(Value, WRITTEN, st.booleans()), min_size=1, max_size=3).map(tuple),
)


@given(CONDITION)
def test_what_prints_reads_back(condition):
    assert Condition.read(str(condition)) == condition


@given(st.lists(st.lists(CONDITION, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2))
def test_a_filter_that_prints_reads_back(any_of):
    assert Filter.parse(str(Filter(tuple(any_of)))) == Filter(tuple(any_of))


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


def test_titles_are_compared_as_they_are_whatever_json_makes_of_them(tmp_path):
    titles = ['Say "yes"', "Back\\slash", 'x"],["y', "Tab\there", "Ünï", ""]
    documents = [Document(f"{i}", title, "x") for i, title in enumerate(titles)]
    build(tmp_path / "c.lw", documents)
    snapshot = open_snapshot(tmp_path / "c.lw")
    for i, title in enumerate(titles[:5]):
        condition = Condition("title", "=", (Value(title),))
        mask = mask_of(snapshot, Filter(((condition,),)))
        assert mask.segments[0].tolist() == [j == i for j in range(len(titles))]

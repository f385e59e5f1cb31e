import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import SourceError, UsageError
from likewise.evaluate.queries import read_queries
from likewise.records import Query

TOPICS = """<?xml version="1.0"?>
<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate in international criminal
activity, where a < b &amp; AT&T.

<narr> Narrative:
A relevant document must as a minimum identify the organization.

</top>

<top>
<num>Number: 302 </num>
<title>Topic: Poliomyelitis and Post-Polio</title>
<desc>Description: Is the disease of Poliomyelitis (polio) under control?</desc>
</top>
"""


@pytest.fixture(scope="module")
def file_with(tmp_path_factory):
    path = tmp_path_factory.mktemp("queries") / "queries"

    def made(content):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return made


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(texts.filter(bool), texts), st.booleans())
def test_json_queries_come_back_as_written(file_with, queries, ascii_only):
    lines = [json.dumps({"id": i, "text": t}, ensure_ascii=ascii_only) for i, t in queries.items()]
    assert read_queries(file_with("\n".join(lines))) == [Query(i, t) for i, t in queries.items()]


plain = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@given(st.dictionaries(plain.filter(lambda qid: qid[0] not in "{<"), plain))
def test_tab_separated_queries_come_back_as_written(file_with, queries):
    content = "".join(f"{qid}\t{text}\n" for qid, text in queries.items())
    assert read_queries(file_with(content)) == [Query(i, t) for i, t in queries.items()]


@given(
    st.dictionaries(plain, plain).filter(
        lambda q: not any(c in "<>&:" for pair in q.items() for text in pair for c in text)
    )
)
def test_topics_come_back_as_written(file_with, queries):
    content = "".join(
        f"<top>\n<num> Number: {qid}\n<title> {text}\n</top>\n" for qid, text in queries.items()
    )
    assert read_queries(file_with(content)) == [Query(i, t) for i, t in queries.items()]


@pytest.mark.parametrize("id_key", ["id", "qid", "_id", "query_id"])
@pytest.mark.parametrize("text_key", ["text", "query", "title"])
def test_the_keys_of_json_queries(file_with, id_key, text_key):
    path = file_with(json.dumps({"more": [1], id_key: 7, text_key: "what"}))
    assert read_queries(path) == [Query("7", "what")]


def test_a_text_wins_over_a_title(file_with):
    assert read_queries(file_with('{"_id": "1", "title": "t", "text": "x"}')) == [Query("1", "x")]


def test_tabs_after_the_first_belong_to_the_text(file_with):
    assert read_queries(file_with("1\ta\tb\r\n\n2\t \n")) == [Query("1", "a\tb"), Query("2", "")]


def test_topics_by_title(file_with):
    assert read_queries(file_with(TOPICS)) == [
        Query("301", "International Organized Crime"),
        Query("302", "Poliomyelitis and Post-Polio"),
    ]


def test_topics_by_other_sections(file_with):
    first, second = read_queries(
        file_with(gzip.compress(TOPICS.encode())), fields=("title", "desc")
    )
    assert first.text == (
        "International Organized Crime Identify organizations that participate in international "
        "criminal activity, where a < b & AT&T."
    )
    assert second.text.startswith("Poliomyelitis and Post-Polio Is the disease")
    assert read_queries(file_with("<top><num>1<note>x"), fields="note") == [Query("1", "x")]


def test_a_topic_without_the_section_says_what_it_has(file_with):
    path = file_with(TOPICS)
    with pytest.raises(
        SourceError, match=r"topic 302 has no text in <narr>; it has <num>, <title>"
    ):
        read_queries(path, fields=("narr",))


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ('{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}', 2, "already given by .*:1"),
        ("1\ta\n2\tb\n1\tc\n", 3, "already given by .*:1"),
        ("<top><num>1<title>a</top>\n<top><num>1<title>b</top>", 2, "already given"),
        ('\n{"id": 1}', 2, "one of the keys text, query, title is needed; found: 'id'"),
        ('{"text": "a"}', 1, "one of the keys id, qid, _id, query_id"),
        ('{"id": "", "text": "a"}', 1, "not empty"),
        ('{"id": true, "text": "a"}', 1, "not True"),
        ('{"id": 1.5, "text": "a"}', 1, "not 1.5"),
        ('{"id": 1, "text": null}', 1, "JSON string, not None"),
        ('{"id": 1, "text": "a"}\n[1]', 2, "JSON object is expected"),
        ('{"id": 1, "text": "a"', 1, "not a line of JSON"),
        ('{"id": 1, "text": "\\ud800"}', 1, "not a line of JSON"),
        ("1 what is it", 1, "a query id, a tab and a text are expected"),
        ("\twhat", 1, "a query id, a tab"),
        (b"1\ta\n2\t\xe9\n", 2, "byte 0xe9 is not UTF-8"),
        (b"<top><num>1\n<title>\xe9", 2, "byte 0xe9 is not UTF-8"),
        ("<topics>", 1, "no <top>"),
        ("\n<top>\n<title>a</top>", 2, "no number"),
    ],
)
def test_malformed_queries_are_named(file_with, content, line, reason):
    path = file_with(content)
    with pytest.raises(SourceError, match=reason) as caught:
        read_queries(path)
    assert caught.value.place == f"{path}:{line}"


@pytest.mark.parametrize("fields", [(), ("",), ("a b",), (1,), ("a|.*",)])
def test_fields_that_are_no_names(file_with, fields):
    with pytest.raises(UsageError, match="topic sections"):
        read_queries(file_with(""), fields=fields)


pieces = ["<top>", "</top>", "<num>", "<title>", "</title>", "<", "1", "\n", "{", '"id":', "\t"]


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from(pieces), max_size=20).map(lambda parts: "".join(parts).encode())
    | st.binary(max_size=20).map(lambda data: b'{"id":1,"text":"' + data)
)
def test_any_bytes_give_queries_or_an_error_with_a_place(file_with, data):
    path = file_with(data)
    queries, place = [], str(path)
    try:
        queries = read_queries(path)
    except SourceError as error:
        place = error.place
    assert place.startswith(str(path))
    assert all(isinstance(query, Query) and query.qid for query in queries)
    assert len({query.qid for query in queries}) == len(queries)

"""Queries from a file (JSON lines, `qid<TAB>text`, TREC topics) or from ir_datasets."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from likewise.errors import SourceError, UsageError
from likewise.evaluate.lines import FilePath, catalogued, decoded, numbered_lines, read_bytes, shown
from likewise.records import Query

_ID_KEYS = ("id", "qid", "_id", "query_id")
_TEXT_KEYS = ("text", "query", "title")

# The sections of TREC topics from 1992 on, with the label that opens their text. Only these end a
# section, as its text may hold a "<".
_LABELS = {
    "num": "Number",
    "title": "Topic",
    "desc": "Description",
    "narr": "Narrative",
    "dom": "Domain",
    "smry": "Summary",
    "con": "Concept(s)",
    "fac": "Factor(s)",
    "def": "Definition(s)",
    "nat": "Nationality",
    "time": "Time",
    "head": "Tipster Topic Description",
}
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});", re.IGNORECASE)
_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def read_queries(path: FilePath, *, fields: Sequence[str] = ("title",)) -> list[Query]:
    """Read queries in the order of the file; the form is known by its first character.

    `{` starts JSON lines (`id`, `qid`, `_id` or `query_id`; `text`, `query` or `title`), `<` TREC
    topics, of which the sections named by `fields` are joined; anything else is `qid<TAB>text`.
    `-` is standard input; gzip is known by its magic. `ir:ID` gives those of ir_datasets.
    """
    fields = _checked(fields)
    queries = []
    places: dict[str, str] = {}
    for place, query in _found(path, fields):
        if query.qid in places:
            raise SourceError(
                place, f"query id {query.qid!r} was already given by {places[query.qid]}"
            )
        places[query.qid] = place
        queries.append(query)
    return queries


def _found(path: FilePath, fields: tuple[str, ...]) -> Iterator[tuple[str, Query]]:
    dataset = catalogued(path)
    if dataset is not None:
        return ((dataset.name, query) for query in dataset.queries())
    data = read_bytes(path)
    opening = data.lstrip()[:1]
    if opening == b"<":
        return _topics(data, name=shown(path), fields=fields)
    lines = numbered_lines(path, data=data)
    return (_json_query if opening == b"{" else _tsv_query)(lines)


def _checked(fields: Sequence[str]) -> tuple[str, ...]:
    given = (fields,) if isinstance(fields, str) else tuple(fields)
    if not given or not all(isinstance(f, str) and _FIELD_NAME.fullmatch(f) for f in given):
        raise UsageError(
            f"fields are names of topic sections such as 'title', 'desc' or 'narr', not {given!r}"
        )
    return tuple(field.lower() for field in given)


def _json_query(lines: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, Query]]:
    import orjson

    for place, line in lines:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise SourceError(place, f"not a line of JSON: {error}") from None
        if not isinstance(record, dict):
            raise SourceError(place, f"a JSON object is expected, not {_brief(line)}")
        qid = _value(place, record, keys=_ID_KEYS)
        text = _value(place, record, keys=_TEXT_KEYS)
        if isinstance(qid, int) and not isinstance(qid, bool):
            qid = str(qid)
        if not isinstance(qid, str) or not qid:
            raise SourceError(place, f"a query id is a text that is not empty, not {qid!r}")
        if not isinstance(text, str):
            raise SourceError(place, f"the text of a query is a JSON string, not {text!r}")
        yield place, Query(qid, text)


def _value(place: str, record: Mapping[str, Any], *, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if key in record:
            return record[key]
    found = ", ".join(map(repr, record)) or "none"
    raise SourceError(place, f"one of the keys {', '.join(keys)} is needed; found: {found[:200]}")


def _tsv_query(lines: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, Query]]:
    for place, line in lines:
        qid, tab, text = decoded(place, line).partition("\t")
        if not tab or not qid.strip():
            raise SourceError(
                place,
                "JSON lines, TREC topics (<top>) or a query id, a tab and a text are expected, "
                f"not {_brief(line)}",
            )
        yield place, Query(qid.strip(), text.strip())


def _topics(data: bytes, *, name: str, fields: tuple[str, ...]) -> Iterator[tuple[str, Query]]:
    text = _decoded_topics(data, name=name)
    names = "|".join(map(re.escape, dict.fromkeys((*_LABELS, *fields))))
    tags = re.compile(rf"<(/?)({names}|top)\s*>", re.IGNORECASE)
    topic: dict[str, str] | None = None
    line, at, start = 1, 0, 0
    section = ""

    def close(end: int) -> Iterator[tuple[str, Query]]:
        if topic is not None:
            if section:
                topic.setdefault(section, text[start:end])
            place = f"{name}:{line}"
            yield place, _topic_query(place, topic, fields=fields)

    found = False
    for match in tags.finditer(text):
        closing, tag = bool(match[1]), match[2].lower()
        if tag == "top":
            yield from close(match.start())
            found = found or not closing
            topic, section = (None if closing else {}), ""
            line += text.count("\n", at, match.start())
            at = match.start()
        elif topic is not None:
            if section:
                topic.setdefault(section, text[start : match.start()])
            section = "" if closing else tag
        start = match.end()
    yield from close(len(text))
    if not found:
        raise SourceError(f"{name}:1", "TREC topics are expected after '<', but there is no <top>")


def _decoded_topics(data: bytes, *, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return decoded(f"{name}:{line}", data[error.start : error.start + 1])


def _topic_query(place: str, topic: Mapping[str, str], *, fields: tuple[str, ...]) -> Query:
    qid = _section_text(topic, "num")
    if not qid:
        raise SourceError(place, "the topic has no number (<num> Number: 301)")
    text = " ".join(filter(None, (_section_text(topic, field) for field in fields)))
    if not text:
        there = ", ".join(f"<{section}>" for section in topic)
        wanted = " or ".join(f"<{field}>" for field in fields)
        raise SourceError(place, f"topic {qid} has no text in {wanted}; it has {there}")
    return Query(qid, text)


def _section_text(topic: Mapping[str, str], section: str) -> str:
    text = " ".join(
        _ENTITY.sub(lambda entity: html.unescape(entity[0]), topic.get(section, "")).split()
    )
    before, colon, after = text.partition(":")
    is_label = colon and before.strip().lower() == _LABELS.get(section, "").lower()
    return after.strip() if is_label else text


def _brief(line: bytes) -> str:
    shown_line = line.strip().decode("utf-8", "backslashreplace")
    return repr(shown_line if len(shown_line) <= 60 else shown_line[:60] + "…")

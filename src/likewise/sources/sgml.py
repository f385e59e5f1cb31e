"""TREC SGML: <DOC> … </DOC> with a <DOCNO> and a <TEXT>, many to a file."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from likewise.errors import Remedy, SourceError
from likewise.records import Document
from likewise.sources.columns import NO_ID, Columns, OnBad, Origin
from likewise.sources.fields import as_number

_CHUNK = 1 << 18
# No tag is longer than this, so that one cut by a chunk's end is found again.
_LONGEST_TAG = 1024
_DOC = re.compile(rb"<(/?)DOC(\s[^<>]{0,1000})?>", re.IGNORECASE)
_ID_ATTRIBUTE = re.compile(r"""\sid\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
# Nothing here reaches past the next < or >, so that no file takes quadratic time.
_TAG = re.compile(r"<[!?][^<>]*>|<(/?)([A-Za-z][\w.:-]*)(?:\s[^<>]*)?/?>")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});")
_TITLES = ("title", "headline", "ttl", "head")


class _Element(NamedTuple):
    name: str
    start: int
    inner_start: int
    inner_end: int
    end: int
    outer: _Element | None


def read_sgml(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad
) -> Iterator[Document]:
    """Documents of a TREC file, each as soon as its </DOC> is read.

    Of `columns` only `auto_id` counts. The text is what stands in <TEXT>, with the other
    elements as fields; where there is no <TEXT> it is everything but the number and the title.
    """
    for line, attributes, body in _bodies(stream, origin, on_bad):
        try:
            document = _document(attributes, body, origin, columns, line)
        except SourceError as error:
            on_bad(error)
            continue
        yield document


def _bodies(stream: BinaryIO, origin: Origin, on_bad: OnBad) -> Iterator[tuple[int, bytes, bytes]]:
    """The line, attributes and content of each <DOC>."""
    buffer = bytearray()
    scan = 0
    line = 1
    opened: tuple[int, bytes] | None = None
    seen, blank = False, True
    while True:
        match = _DOC.search(buffer, scan)
        if match is None:
            cut = buffer.rfind(b"<", max(scan, len(buffer) - _LONGEST_TAG))
            scan = cut if cut >= 0 else len(buffer)
            if opened is None:
                blank = blank and not buffer[:scan].strip()
                line += buffer.count(b"\n", 0, scan)
                del buffer[:scan]
                scan = 0
            chunk = stream.read(_CHUNK)
            if not chunk:
                break
            buffer += chunk
            continue
        body = bytes(buffer[: match.start()])
        closing, attributes, end = match.group(1), match.group(2) or b"", match.end()
        head = bytes(buffer[match.start() : end])
        del buffer[:end]
        scan = 0
        if opened is not None and closing:
            yield opened[0], opened[1], body
        elif opened is not None:
            on_bad(
                SourceError(f"{origin.name}:{opened[0]}", "<DOC> without </DOC> before the next")
            )
        line += body.count(b"\n")
        opened = None if closing else (line, bytes(attributes))
        line += head.count(b"\n")
        seen = True
    if opened is not None:
        on_bad(
            SourceError(f"{origin.name}:{opened[0]}", "<DOC> without </DOC>: the file ends before")
        )
    elif not seen and not (blank and not buffer.strip()):
        raise SourceError(
            origin.name,
            "no <DOC> in it, so it is not TREC SGML",
            remedy=Remedy("name its format with format=", "name its format with --format"),
        )


def _document(
    attributes: bytes, body: bytes, origin: Origin, columns: Columns, line: int
) -> Document:
    place = f"{origin.name}:{line}"
    try:
        text, attribute_text = body.decode(), attributes.decode()
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-8: byte {error.object[error.start]:#04x}"
        raise SourceError(place, f"{reason}; convert the file with iconv") from None
    every, outer = _elements(text)
    texts = [element for element in outer if element.name == "text"]
    heading = [e for e in every if e.outer is None or e.outer.name != "text"]
    number = next((e for e in heading if e.name == "docno"), None)
    titles: list[_Element] = []
    for name in _TITLES:
        titles = titles or [e for e in heading if e.name == name and e is not number]
    apart = [*([number] if number else []), *titles]

    found = _plain(text, number) if number else ""
    if not found and (attribute := _ID_ATTRIBUTE.search(attribute_text)):
        found = _decoded(attribute.group(1))
    doc_id = found or _automatic_id(columns, origin, line)
    title = " ".join(filter(None, (" ".join(_plain(text, e).split()) for e in titles)))
    if not texts:
        return Document(doc_id, title, _without(text, apart), {}, place)
    joined = "\n\n".join(filter(None, (_plain(text, e) for e in texts)))
    taken = {(e.outer or e).start for e in (*apart, *texts)}
    others = [e for e in outer if e.start not in taken]
    return Document(doc_id, title, joined, _fields(text, others), place)


def _automatic_id(columns: Columns, origin: Origin, line: int) -> str:
    if columns.auto_id:
        return f"{origin.stem}:{line}"
    raise SourceError(
        f"{origin.name}:{line}", "the document has no <DOCNO>, or an empty one", remedy=NO_ID
    )


def _elements(text: str) -> tuple[list[_Element], list[_Element]]:
    """Every element up to its first closing tag, and those that stand in no other."""
    tags = [match for match in _TAG.finditer(text) if match.group(2)]
    closings: defaultdict[str, list[int]] = defaultdict(list)
    for i, tag in enumerate(tags):
        if tag.group(1):
            closings[tag.group(2).lower()].append(i)
    every: list[_Element] = []
    outer: list[_Element] = []
    for i, tag in enumerate(tags):
        name = tag.group(2).lower()
        ends = closings.get(name, ())
        at = bisect_right(ends, i)
        if tag.group(1) or at == len(ends):
            continue
        close = tags[ends[at]]
        around = outer[-1] if outer and tag.start() < outer[-1].end else None
        element = _Element(name, tag.start(), tag.end(), close.start(), close.end(), around)
        every.append(element)
        if around is None:
            outer.append(element)
    return every, outer


def _fields(text: str, elements: list[_Element]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for element in elements:
        value = as_number(" ".join(_plain(text, element).split()))
        if value is None:
            continue
        before = fields.get(element.name)
        if before is None:
            fields[element.name] = value
        elif isinstance(before, list):
            before.append(value)
        else:
            fields[element.name] = [before, value]
    return fields


def _plain(text: str, element: _Element) -> str:
    return _untagged(text[element.inner_start : element.inner_end])


def _without(text: str, elements: list[_Element]) -> str:
    parts, at = [], 0
    for element in sorted(elements, key=lambda e: e.start):
        parts.append(text[at : max(at, element.start)])
        at = max(at, element.end)
    return _untagged(" ".join((*parts, text[at:])))


def _untagged(text: str) -> str:
    return _decoded(_TAG.sub(" ", text)).strip()


def _decoded(text: str) -> str:
    # Only with the semicolon: HTML would also turn the "&not" of "AT&notable" into a sign.
    return _ENTITY.sub(lambda match: html.unescape(match.group()), text)

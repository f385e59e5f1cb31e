"""HTML pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from likewise.formats.encoding import UTF8, check_encoding, decode, sniff
from likewise.formats.markup import strip_page
from likewise.formats.parsed import NO_TEXT, Parsed, Refused

_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^<>]*(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.I)
_HEAD = 1 << 13


def parse(data: bytes, encoding: str) -> Iterator[Parsed]:
    """One document: the page's title and what it shows."""
    page = strip_page(decode(data, encoding or _declared(data)))
    if not page.text and not page.title:
        raise Refused(NO_TEXT, "the page shows no text")
    yield Parsed(page.title, page.text, {})


def _declared(data: bytes) -> str:
    """The encoding that a page names, where its bytes are neither UTF-8 nor UTF-16."""
    found = _CHARSET.search(data[:_HEAD])
    if found is None or (sniff(data, whole=True) or UTF8).startswith("utf-16"):
        return ""
    try:
        data.decode()
    except UnicodeDecodeError:
        pass
    else:
        return ""
    try:
        return check_encoding(found[1].decode())
    except ValueError:
        return ""

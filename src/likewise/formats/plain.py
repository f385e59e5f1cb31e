"""Plain text: its encoding is sniffed, its first line is the title if it looks like one."""

from __future__ import annotations

from collections.abc import Iterator

from likewise.formats.encoding import decode
from likewise.formats.parsed import Parsed
from likewise.formats.titles import split_title


def parse(data: bytes, encoding: str) -> Iterator[Parsed]:
    """One document."""
    text = decode(data, encoding).removeprefix("\ufeff")
    title, text = split_title(text.replace("\r\n", "\n") if "\r\n" in text else text)
    yield Parsed(title, text, {})

"""Markdown: its text without the marks, its title the first heading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt

from likewise.formats.encoding import decode
from likewise.formats.markup import strip_markup
from likewise.formats.parsed import Parsed
from likewise.formats.titles import LONGEST, one_line, split_title, without_title

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE)


def parse(data: bytes, encoding: str) -> Iterator[Parsed]:
    """One document; a title in front matter comes before that of a heading."""
    source = decode(data, encoding).removeprefix("\ufeff").replace("\r\n", "\n")
    title = ""
    if front := _FRONT.match(source):
        source = source[front.end() :]
        if found := _FRONT_TITLE.search(front[1]):
            title = found[1].strip().strip("\"'")
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    text = _tidy("".join(_blocks(tokens)))
    title = one_line(title or _heading(tokens))
    if not title or len(title) > LONGEST:
        title, text = split_title(text)
    yield Parsed(title, without_title(title, text), {})


def _heading(tokens: Sequence[Any]) -> str:
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            return "".join(_inlines(inline.children or ()))
    return ""


def _blocks(tokens: Sequence[Any]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield from _inlines(token.children or ())
            yield " " if token.level and token.map is None else "\n"
        elif token.type in ("fence", "code_block"):
            yield f"{token.content}\n"
        elif token.type == "html_block":
            yield f"{strip_markup(token.content)}\n"
        elif token.type in ("paragraph_close", "heading_close", "tr_close") and not token.hidden:
            yield "\n"


def _inlines(tokens: Sequence[Any]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline", "image"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n"


def _tidy(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).strip()

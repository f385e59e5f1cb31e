"""Which formats there are, by the names and extensions of files, and who parses them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from likewise.formats.parsed import Parsed

_COMPRESSED = (".gz", ".zst")

TABLE = "table"
MANY = "many"
ONE = "one"


class Kind(NamedTuple):
    """A format: what a file of it holds (a table, many documents, one), and how it is parsed.

    `parser` is a module of this room, for formats that are one document; `apart` says that it
    runs in a process of its own, `needs` which optional package it uses.
    """

    holds: str
    extensions: tuple[str, ...]
    parser: str = ""
    apart: bool = False
    needs: str = ""


KINDS = {
    "jsonl": Kind(TABLE, (".jsonl", ".ndjson")),
    "json": Kind(TABLE, (".json",)),
    "csv": Kind(TABLE, (".csv",)),
    "tsv": Kind(TABLE, (".tsv", ".tab")),
    "xlsx": Kind(TABLE, (".xlsx", ".xlsm")),
    "parquet": Kind(TABLE, (".parquet",)),
    "sgml": Kind(MANY, (".sgml", ".trec")),
    "mbox": Kind(MANY, (".mbox",)),
    "text": Kind(ONE, (".txt", ".text"), "plain"),
    "html": Kind(ONE, (".html", ".htm", ".xhtml"), "page"),
    "markdown": Kind(ONE, (".md", ".markdown"), "markdown", apart=True),
    "pdf": Kind(ONE, (".pdf",), "pdf", apart=True, needs="pypdfium2"),
    "docx": Kind(ONE, (".docx", ".docm"), "docx", apart=True),
    "eml": Kind(ONE, (".eml",), "mail", apart=True),
}
EXTENSIONS = {extension: name for name, kind in KINDS.items() for extension in kind.extensions}


def named(format: str) -> str | None:
    """The format that a user named, by its name or an extension."""
    format = format.lower()
    return format if format in KINDS else EXTENSIONS.get(f".{format}")


def by_name(path: str) -> str | None:
    """The format that a file's name tells."""
    name = os.path.basename(path).lower()
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return EXTENSIONS.get(os.path.splitext(name)[1])


def by_content(head: bytes) -> str | None:
    """The format that a file's first bytes tell, of those that begin with a sign of their own."""
    start = head[:1024].lstrip()
    if start.startswith(b"%PDF-"):
        return "pdf"
    if start.startswith(b"PK\x03\x04"):
        return "docx" if b"word/" in head else "xlsx" if b"xl/" in head else None
    lower = start[:64].lower()
    return "html" if lower.startswith((b"<!doctype html", b"<html")) else None


def is_installed(kind: Kind) -> bool:
    """Tell whether the optional package of a format is there."""
    return not kind.needs or find_spec(kind.needs) is not None


def parser_of(kind: Kind) -> str:
    """The function that parses a format, as a process is told."""
    return f"likewise.formats.{kind.parser}:parse"


def parse_here(kind: Kind, data: bytes, encoding: str) -> Iterator[Parsed]:
    """Parse a format that needs no process of its own."""
    parse: Callable[[bytes, str], Iterator[Parsed]]
    parse = import_module(f"likewise.formats.{kind.parser}").parse
    return parse(data, encoding)

"""Which columns of a record are the id, the title and the text; the others are metadata."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from likewise.errors import Remedy, SourceError, UsageError, WrongType
from likewise.formats.markup import has_markup, strip_markup
from likewise.formats.parsed import NO_TEXT
from likewise.records import Document
from likewise.sources.fields import check_unicode, clean, flatten, scalar

MakeDocument = Callable[[dict[str, Any], int], Document]
OnBad = Callable[[SourceError], None]
MARKUP = ("auto", "strip", "keep")
_PLAIN = frozenset((str, int, float, bool))
ENCODING = Remedy("name its encoding with encoding=", "name its encoding with --encoding")
NO_ID = Remedy(
    "name another column with id=, or take places as ids with columns=Columns(auto_id=True)",
    "name another column with --id, or take places as ids with --auto-id",
)
_NO_COLUMN = Remedy("name another with title= or text=", "name another with --title or --text")
_NO_TEXT = Remedy("name another column with text=", "name another column with --text")

_log = logging.getLogger(__name__)


class Origin(NamedTuple):
    """A file as errors name it, and the shorter `stem` that automatic ids begin with."""

    name: str
    stem: str


@dataclass(frozen=True)
class Columns:
    """The columns that make a document; a dotted name (`a.b`) reaches into nested records.

    Several text columns are joined with a blank line; a column named both as title and as text
    counts once, as title. `auto_id` gives a document without an id its place, as file name:line.
    `markup` says what becomes of HTML in titles and texts: it is stripped where it occurs ("auto"),
    from all of them ("strip"), or kept ("keep"). `named` are columns that the caller chose,
    which a table has to have.
    """

    id: str = "id"
    title: str = "title"
    text: tuple[str, ...] = ("text",)
    auto_id: bool = False
    markup: str = "auto"
    named: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.text, str):
            object.__setattr__(self, "text", (self.text,))
        elif isinstance(self.text, Iterable):
            object.__setattr__(self, "text", tuple(self.text))
        else:
            raise WrongType.of(self.text, "text= takes the name of a column, or a list of names")
        for name in (self.id, self.title, *self.text):
            if not isinstance(name, str):
                raise WrongType.of(name, "column names are text")
        if self.markup not in MARKUP:
            raise UsageError(f"markup is {', '.join(MARKUP)}, received {self.markup!r}")

    def choose(self, *, id: str = "", title: str = "", text: str | Iterable[str] = ()) -> Columns:
        """Give the same with other columns, where any are named."""
        given: dict[str, Any] = {"id": id, "title": title, "text": text}
        chosen = {key: value for key, value in given.items() if not _is_unnamed(value)}
        made = replace(self, **chosen)
        columns = {"id": (made.id,), "title": (made.title,), "text": made.text}
        named = (name for key in chosen for name in columns[key])
        return replace(made, named=self.named.union(named))

    @property
    def chosen(self) -> frozenset[str]:
        """The columns that are not the usual ones, or were named though they are."""
        return (self.named | (self.used - Columns().used)) - {""}

    @property
    def names_text(self) -> bool:
        """Whether the text was chosen, so that a title alone is no document."""
        return not self.chosen.isdisjoint(self.text)

    @property
    def used(self) -> frozenset[str]:
        """The columns that do not appear again among the fields."""
        return frozenset((self.id, self.title, *self.text))


def chosen_columns(columns: object, *, id: str, title: str, text: str | Iterable[str]) -> Columns:
    """Give columns as a call names them, all at once or one by one."""
    if not isinstance(columns, Columns):
        raise WrongType.of(columns, "columns are Columns, as in Columns(id='key', text='body')")
    return columns.choose(id=id, title=title, text=text)


def document_maker(columns: Columns, origin: Origin, *, parsed: bool = False) -> MakeDocument:
    """A function from a record and its number within the origin to its Document.

    `parsed` says that the record comes from a text parser, so that a flat one needs no cleaning.
    """
    used = columns.used
    nested = any("." in name for name in used)
    texts = tuple(name for name in columns.text if name != columns.title)
    id_column, title_column = columns.id, columns.title
    first_text, other_texts = (texts[0], texts[1:]) if texts else ("", ())
    keep, always = columns.markup == "keep", columns.markup == "strip"
    # A title stands in for the text only where that was not named.
    needed = columns.text if columns.names_text else (*columns.text, columns.title)

    def make(record: dict[str, Any], number: int) -> Document:
        place = f"{origin.name}:{number}"
        if nested:
            record = flatten(record, place)
        doc_id = record.get(id_column)
        if type(doc_id) is not str or not doc_id:
            doc_id = document_id(doc_id, columns, f"{origin.stem}:{number}", place, record)
        title = record.get(title_column, "")
        if type(title) is not str:
            title = as_text(title, title_column, place)
        text = record.get(first_text, "") if texts else ""
        if type(text) is not str:
            text = as_text(text, first_text, place)
        if other_texts:
            parts = [text, *(as_text(record.get(name), name, place) for name in other_texts)]
            text = "\n\n".join(part for part in parts if part)
        if not text and not any(_has(record, name) for name in needed):
            raise SourceError(place, _no_text(needed, record), remedy=_NO_TEXT, kind=NO_TEXT)
        if not keep:
            # Most texts have no tag: to look for one is all that it costs them.
            if always or ("<" in title and has_markup(title)):
                title = strip_markup(title)
            if always or ("<" in text and has_markup(text)):
                text = strip_markup(text)
        fields = {key: value for key, value in record.items() if key not in used}
        if not parsed:
            check_unicode((doc_id, title, text), place)
            fields = clean(fields, place)
        elif not all(map(_is_plain, fields.values())):
            fields = clean(fields, place)
        return Document(doc_id, title, text, fields, place)

    return make


def document_id(
    value: Any,
    columns: Columns,
    auto_id: str,
    place: str,
    record: dict[str, Any],
) -> str:
    """The id as text, or the automatic one; SourceError where there is none or it is no id."""
    try:
        found = scalar(value)
    except TypeError:
        found = False
    if isinstance(found, str) and found:
        return found
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if columns.auto_id and (value is None or found is None or found == ""):
        return auto_id
    if columns.id not in record:
        reason = f"no id: there is no column {columns.id!r} among {_listed(record)}"
    elif found is None or found == "":
        reason = f"the id in column {columns.id!r} is empty"
    else:
        reason = f"the id {_shown(value)} is neither text nor an integer"
    raise SourceError(place, reason, remedy=NO_ID)


def as_text(value: Any, column: str, place: str) -> str:
    """A cell as running text: numbers spelled out, lists one item a line, nothing for null."""
    if type(value) is str:
        return value
    try:
        if isinstance(value, list | tuple):
            parts = [scalar(item) for item in value]
            return "\n".join(str(part) for part in parts if part is not None)
        if not isinstance(value, bytes | bytearray | memoryview):
            found = scalar(value)
            return "" if found is None else str(found)
    except TypeError:
        pass
    if isinstance(value, dict) and value:
        inner = ", ".join(f"{column}.{key}" for key in list(value)[:20])
        reason = f"column {column!r} holds a nested record, not text; name what is in it: {inner}"
        raise SourceError(place, reason)
    raise SourceError(place, f"column {column!r} holds {_shown(value)}, not text", remedy=_NO_TEXT)


def _is_unnamed(value: object) -> bool:
    return value is None or (isinstance(value, str | tuple | list) and not value)


def check_header(names: list[str], columns: Columns, place: str) -> None:
    """Refuse a table in which two columns have one name, or a title or text that was named is not.

    Without an id a row says so itself, or has an automatic one.
    """
    check_names(names, place)
    for name in (columns.title, *columns.text):
        if name in columns.chosen and not _has(names, name):
            reason = f"there is no column {name!r} among {_listed(names)}"
            raise SourceError(place, reason, remedy=_NO_COLUMN)


class Expected:
    """Titles and texts that were named, and the columns that records of a file have by now.

    One record may leave a column out; what none of them has may be mistyped.
    """

    def __init__(self, columns: Columns) -> None:
        self._missing = [name for name in (columns.title, *columns.text) if name in columns.chosen]
        self._seen: dict[str, None] = {}

    def see(self, names: Iterable[str]) -> None:
        """Note the columns of a document."""
        if self._missing:
            self._seen.update(dict.fromkeys(names))
            self._missing = [name for name in self._missing if not _has(self._seen, name)]

    def warn(self, place: str) -> None:
        """Warn of columns that no document had, where there was one."""
        if self._seen:
            for name in self._missing:
                _log.warning("%s: no record has %r among %s", place, name, _listed(self._seen))


def check_names(names: list[str], place: str) -> None:
    """Refuse a table in which two columns have one name."""
    seen = set()
    for name in names:
        if name in seen:
            raise SourceError(place, f"two columns are called {name!r}; rename one")
        seen.add(name)


def _is_plain(value: Any) -> bool:
    """Whether a parsed value is stored as it is."""
    kind = type(value)
    return kind in _PLAIN or (kind is list and _PLAIN.issuperset(map(type, value)))


def _has(record: Container[str], name: str) -> bool:
    """Whether there is such a column; a dotted name may reach into one that is null here."""
    return name in record or name.partition(".")[0] in record


def _no_text(needed: Iterable[str], record: dict[str, Any]) -> str:
    wanted = " or ".join(repr(name) for name in dict.fromkeys(needed))
    return f"no text: there is no column {wanted} among {_listed(record)}"


def _listed(record: Iterable[str]) -> str:
    names = [repr(name) for name in record]
    more = f" and {len(names) - 50} more" if len(names) > 50 else ""
    return (", ".join(names[:50]) + more) or "no columns at all"


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"

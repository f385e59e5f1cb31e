"""Which documents of a segment meet a condition, by the type of its field?

What cannot be meant is an error: the order of texts, parts of numbers, a date that is none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likewise.collection.dates import possible_orders, read_date, write_date
from likewise.collection.fields import containing
from likewise.collection.schema import (
    FieldType,
    is_code,
    no_such_field,
    read_boolean,
    read_number,
    retyping,
    spell,
)
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Ints
from likewise.errors import UsageError
from likewise.records import Condition, Value
from likewise.text.analysis import encode
from likewise.text.languages import NONE, known_language
from likewise.text.table import Strings

Matcher = Callable[[Segment], Bools]

_BUILT_IN = ("id", "title", "language")
_LONG_EXAMPLE = 40


def matcher_of(condition: Condition, snapshot: Snapshot) -> Matcher:
    """Give what marks the documents of a segment that meet a condition; raise if it makes no sense.

    `id`, `title` and `language` are fields of every document, unless metadata has one so called.
    """
    name = _find_field(condition.field, snapshot)
    if name in snapshot.field_types:
        kind = snapshot.field_types[name]
        asked = _Asked(name, kind, condition, snapshot)
        matchers = [asked.matcher(value) for value in condition.values]
    elif name == "language":
        matchers = [_language_matcher(condition, value, snapshot) for value in condition.values]
    else:
        _check_text(condition, name, snapshot)
        build = _id_matcher if name == "id" else _title_matcher
        matchers = [build(condition.operator, value) for value in condition.values]
    negated = condition.operator.startswith("!")

    def match(segment: Segment) -> Bools:
        met = np.logical_or.reduce([one(segment) for one in matchers])
        return np.asarray(~met if negated else met, np.bool_)

    return match


def _find_field(name: str, snapshot: Snapshot) -> str:
    """Find a field by its name, or by it in other letters where only one is so called."""
    for known in (snapshot.field_types, _BUILT_IN):
        if name in known:
            return name
        found = [one for one in known if one.lower() == name.lower()]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"field {name!r} could be {' or '.join(found)}: write it as one is")
    raise UsageError(no_such_field(name, snapshot.field_types))


class _Asked:
    """A condition on a field of the metadata."""

    def __init__(
        self, name: str, kind: FieldType, condition: Condition, snapshot: Snapshot
    ) -> None:
        self._name = name
        self._kind = kind
        self._operator = condition.operator
        self._snapshot = snapshot

    def matcher(self, value: Value) -> Matcher:
        """Give what marks documents that meet it with one of its values."""
        name = self._name
        if value == Value("", prefix=True):
            return lambda segment: segment.fields.present(name)
        if self._kind is FieldType.TEXT:
            return self._text(value)
        if value.prefix or "~" in self._operator:
            raise self._no_text()
        if self._operator in ("=", "!=") and self._is_kept(value.text):
            return lambda segment: segment.fields.with_text(name, value.text)
        if self._kind.is_date:
            return self._date(value.text)
        return self._number(value.text)

    def _is_kept(self, text: str) -> bool:
        """Tell whether a document has this as a text that does not fit the type."""
        return any(s.fields.with_text(self._name, text).any() for s in self._snapshot.segments)

    # By type

    def _text(self, value: Value) -> Matcher:
        name, text = self._name, value.text
        if self._operator[0] in "<>":
            raise self._no_order()
        self._check_seen()
        if "~" in self._operator:
            return lambda segment: segment.fields.with_part(name, text)
        if value.prefix:
            return lambda segment: segment.fields.with_text(name, text, prefix=True)
        number = None if is_code(text) else read_number(text)
        if number is None:
            return lambda segment: segment.fields.with_text(name, text)
        # A number among texts is spelled in one way, and was kept apart where there were no types.
        return lambda segment: (
            segment.fields.with_text(name, text)
            | segment.fields.with_text(name, spell(number))
            | segment.fields.with_number(name, number, number)
        )

    def _number(self, text: str) -> Matcher:
        name, operator = self._name, self._operator
        is_number = self._kind is FieldType.NUMBER
        number = read_number(text) if is_number else read_boolean(text)
        if number is None or (operator[0] in "<>" and not is_number):
            raise self._no_value(text)
        low = number if operator[0] not in "<" else -np.inf
        high = number if operator[0] not in ">" else np.inf
        closed = "=" in operator
        return lambda segment: segment.fields.with_number(name, low, high, closed=(closed, closed))

    def _date(self, text: str) -> Matcher:
        name, found = self._name, read_date(text, self._kind.order)
        if found is None:
            raise self._no_value(text)
        start, stop = {
            ">=": (found.start, None),
            ">": (found.stop, None),
            "<": (None, found.start),
            "<=": (None, found.stop),
        }.get(self._operator, (found.start, found.stop))
        return lambda segment: segment.fields.with_date(name, start, stop)

    # What makes no sense

    def _no_value(self, text: str) -> UsageError:
        name, shown = self._name, self._example()
        if self._kind is FieldType.BOOLEAN:
            return UsageError(
                f"{name} is true or false, and cannot be {self._operator} {text!r}: write "
                f"{name}=true or {name}=false"
            )
        what = f"{name} is {self._kind.phrase}, such as {shown}, and {text!r} is none"
        if not self._kind.is_date:
            return UsageError(f"{what}: write {name}>={shown}, {name}={shown} or {name}=*")
        year = shown[:4]
        return UsageError(f"{what}: write {name}>={year}, {name}={year}-03 or {name}<{shown}")

    def _no_text(self) -> UsageError:
        name, shown = self._name, self._example()
        shown = shown[:4] if self._kind.is_date else shown
        compared = f"{name}={shown}"
        if self._kind is not FieldType.BOOLEAN:
            compared += f" or {name}>={shown}"
        return UsageError(
            f"{name} is {self._kind.phrase}, which has no beginnings and parts (* and ~): write "
            f"{compared}",
            remedy=retyping(self._snapshot.folder, name, "text").within("to make it text: "),
        )

    def _no_order(self) -> UsageError:
        name, shown = self._name, self._example()
        what = f"{name} is text, such as {shown!r}, which {self._operator} does not compare: write "
        ways = f"{name}={shown}, {name}={shown[:2]}* (begins so) or {name}~{shown[:4]} (contains)"
        folder = self._snapshot.folder
        if len(possible_orders(shown)) > 1:
            days = retyping(folder, name, "date-dmy")
            return UsageError(
                what.removesuffix(": write "),
                remedy=days.within("say whether it is day/month: ", " (or date-mdy)"),
            )
        numbers = retyping(folder, name, "number")
        return UsageError(
            f"{what}{ways}", remedy=numbers.within("if it holds numbers or dates: ", " (or date)")
        )

    def _check_seen(self) -> None:
        segments = [segment.fields for segment in self._snapshot.segments]
        if any(len(one.unseen(self._name)) for one in segments) and not any(
            len(one.texts(self._name)[1]) for one in segments
        ):
            raise UsageError(
                f"{self._name} holds long texts or vectors, of which a filter can only ask "
                f"whether they are there: {self._name}=*"
            )

    def _example(self) -> str:
        """Give a value of the field, as it would be written in a filter."""
        for segment in self._snapshot.segments:
            fields = segment.fields
            if self._kind is FieldType.TEXT and len(fields.texts(self._name)[1]):
                texts = fields.texts(self._name)[0]
                shown = [texts.at(i).decode() for i in range(min(texts.size, 8))]
                return next((one for one in shown if one.strip()), "")[:_LONG_EXAMPLE]
            if self._kind.is_date and len(fields.dates(self._name)[0]):
                return write_date(int(fields.dates(self._name)[0][0]))
            if self._kind is FieldType.NUMBER and len(fields.numbers(self._name)[0]):
                return spell(float(fields.numbers(self._name)[0][0]))
        if self._kind is FieldType.BOOLEAN:
            return "true"
        return "2015-03-04" if self._kind.is_date else "5"


# Every document's own


def _check_text(condition: Condition, name: str, snapshot: Snapshot) -> None:
    if condition.operator[0] in "<>":
        raise UsageError(
            f"{name} is text, which {condition.operator} does not compare: write {name}=…, "
            f"{name}=ab* (begins so) or {name}~word (contains)"
        )


def _id_matcher(operator: str, value: Value) -> Matcher:
    def match(segment: Segment) -> Bools:
        if "~" in operator or value.prefix:
            return _marked(segment.n_docs, _matching(segment.ids, operator, value))
        found = segment.find_docs(Strings.of([encode(value.text)]))
        return _marked(segment.n_docs, found[found >= 0])

    return match


def _title_matcher(operator: str, value: Value) -> Matcher:
    def match(segment: Segment) -> Bools:
        placed = [*segment.cards.titles(value.text)]
        titles = [title for _, title in placed]
        found = _matching(Strings.of(titles), operator, value)
        return _marked(segment.n_docs, [placed[i][0] for i in found])

    return match


def _language_matcher(condition: Condition, value: Value, snapshot: Snapshot) -> Matcher:
    """Compare the language that a document was found to be in, given by name or code."""
    if condition.operator not in ("=", "!="):
        raise UsageError(
            f"filter {condition}: a language is compared by = and !=, such as language=fr"
        )
    any_at_all = value == Value("", prefix=True)
    wanted = "" if any_at_all else _language(condition, value.text, snapshot)

    def match(segment: Segment) -> Bools:
        main = (snapshot.analysis.language,), np.zeros(segment.n_docs, np.uint8)
        names, codes = segment.languages or main
        return np.array([any_at_all or name == wanted for name in names], np.bool_)[codes]

    return match


def _language(condition: Condition, text: str, snapshot: Snapshot) -> str:
    """Read a language that documents may be in; raise with those that they are in."""
    folded = text.strip().casefold()
    found = known_language(text)
    if found is not None or folded == NONE:
        return found.name if found is not None else NONE
    there = snapshot.language_counts() or {snapshot.analysis.language: snapshot.n_docs}
    listed = ", ".join(f"{name} ({count:,})" for name, count in there.items())
    raise UsageError(
        f"filter {condition}: unknown language {text!r}; it is a name or an ISO 639 code, and the "
        f"documents are in {listed}"
    )


def _matching(texts: Strings, operator: str, value: Value) -> list[int]:
    if "~" in operator:
        return containing(texts, value.text)
    key = value.text.encode("utf-8", "replace")
    if not value.prefix:
        return [i for i, text in enumerate(texts.all()) if text == key]
    # Nothing begins with nothing: a title that is empty is none.
    return [i for i, text in enumerate(texts.all()) if text and text.startswith(key)]


def _marked(n_docs: int, docs: Ints | list[int]) -> Bools:
    mask = np.zeros(n_docs, np.bool_)
    mask[np.asarray(docs, np.int64)] = True
    return mask

"""Of what type is a field? Decided by the values of the first segment that has it, or said.

Nine values in ten must fit, so that a few slips do not make a column of numbers a text; those that
do not fit are kept as text. The values of a list count one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from itertools import islice
from shlex import quote
from typing import NamedTuple

from likewise.arguments import check_texts
from likewise.collection.dates import Order, possible_orders, read_date
from likewise.errors import Remedy, UsageError, WrongType

# So many different texts are looked at.
_LOOKED_AT = 10_000
_SHARE = 0.9
_SHOWN = 12
_NUMBER = re.compile(
    r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:e[+-]?\d{1,5})?", re.I | re.A
)
# Codes, not numbers: zip codes, and what a double would not hold exactly.
_CODE = re.compile(r"[+-]?(?:0\d+|\d{16,})", re.A)
_BOOLEANS = {"true": 1.0, "false": 0.0}
# What stands for no value in tables says nothing about a type.
_MISSING = frozenset(
    ["", "-", "--", "?", "n/a", "na", "n.a.", "nan", "nd", "n.d.", "nil", "none", "null", "unknown"]
)


class FieldType(StrEnum):
    """The types of fields, as they are stored in the manifest and said by a user."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DAY_FIRST = "date-dmy"
    MONTH_FIRST = "date-mdy"

    @property
    def is_date(self) -> bool:
        """Whether values are dates, in whatever order."""
        return self.value.startswith("date")

    @property
    def order(self) -> Order:
        """What comes first in 04/03/2015."""
        return Order(self.value.partition("-")[2])

    @property
    def phrase(self) -> str:
        """What a field of it is said to be."""
        return _PHRASES[self]


_PHRASES = {
    FieldType.TEXT: "text",
    FieldType.NUMBER: "a number",
    FieldType.BOOLEAN: "true or false",
    FieldType.DATE: "a date",
    FieldType.DAY_FIRST: "a date (day/month/year)",
    FieldType.MONTH_FIRST: "a date (month/day/year)",
}
Types = Mapping[str, FieldType]


def read_types(given: Mapping[str, str] | Iterable[str]) -> dict[str, FieldType]:
    """Read types as they are said: a mapping, or texts such as `filed=date`."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise WrongType.of(given, "types are a dict of fields and types, as in {'filed': 'date'}")
    pairs = given.items() if isinstance(given, Mapping) else [_pair(one) for one in given]
    types: dict[str, FieldType] = {}
    for name, value in pairs:
        try:
            said = FieldType(value)
        except ValueError:
            known = ", ".join(FieldType)
            raise UsageError(f"type of {name!r}: {value!r} is none of {known}") from None
        if types.setdefault(name, said) != said:
            raise UsageError(f"type of {name!r}: both {types[name]} and {said}; say one")
    return types


def _pair(text: str) -> tuple[str, str]:
    check_texts(type=text)
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise UsageError(f"type {text!r} is not written as field=type, such as filed=date")
    return name.strip(), value.strip()


def known_types(stored: Mapping[str, str]) -> dict[str, FieldType]:
    """Give the types that a manifest has; one of a later version is text here."""
    known = {one.value for one in FieldType}
    return {
        name: FieldType(value) if value in known else FieldType.TEXT
        for name, value in stored.items()
    }


def check_known(said: Types, names: Iterable[str]) -> None:
    """Raise at a type of a field that no document has."""
    known = set(names)
    for name in said:
        if name not in known:
            raise UsageError(no_such_field(name, known))


def no_such_field(name: str, names: Iterable[str]) -> str:
    """Say that no document has a field, and which there are."""
    known = sorted(names)
    near = get_close_matches(name.lower(), [one.lower() for one in known], 3)
    meant = [one for one in known if one.lower() in near]
    hint = f": did you mean {' or '.join(meant)}?" if meant else ";"
    shown = ", ".join(known[:20]) or "none"
    more = ", …" if len(known) > 20 else ""
    return f"no document has a field {name!r}{hint} the fields are {shown}{more}"


def merge_types(known: Types, said: Types, folder: object) -> dict[str, FieldType]:
    """Add what a user said to the types that are known; raise where it is another."""
    for name in known.keys() & said.keys():
        if known[name] != said[name]:
            raise UsageError(
                f"{name} is {known[name].phrase} in {folder}, not {said[name]}",
                remedy=retyping(folder, name, said[name]).within("to change that: "),
            )
    return {**known, **said}


class FieldNote(NamedTuple):
    """What is said of a field at indexing: its type, and how many values did not fit.

    `ambiguous` is a value that is a date in two ways, where that kept the field from being one.
    """

    name: str
    type: FieldType
    n_misfits: int = 0
    misfit: str = ""
    ambiguous: str = ""

    def joined(self, other: FieldNote) -> FieldNote:
        """Give the note of two segments."""
        return self._replace(
            n_misfits=self.n_misfits + other.n_misfits,
            misfit=self.misfit or other.misfit,
            ambiguous=self.ambiguous or other.ambiguous,
        )


def notes_said(notes: Sequence[FieldNote], folder: object, *, new: Iterable[str]) -> list[str]:
    """Say of what type new fields are, and which values did not fit, with what can be typed."""
    fresh = set(new)
    types = [(note.name, note.type.phrase) for note in notes if note.name in fresh]
    said = []
    if types:
        listed = [f"{name} {phrase}" for name, phrase in types[:_SHOWN]]
        listed[0] = " is ".join(types[0])
        more = f", … ({len(types):,} in all)" if len(types) > _SHOWN else ""
        said.append(f"fields: {', '.join(listed)}{more}")
    for note in notes:
        if note.ambiguous:
            said.append(
                f"{note.name}: {note.ambiguous} and the like could be day/month or month/day and "
                f"are kept as text; say which: {retyping(folder, note.name, 'date-dmy').shell} "
                "(or date-mdy)"
            )
        elif note.n_misfits:
            one = note.n_misfits == 1
            values = f"{note.n_misfits:,} value" + "s" * (not one)
            said.append(
                f"{note.name} is {note.type.phrase}: {values} such as {note.misfit!r} did not fit "
                f"and {'was' if one else 'were'} kept as text; to change the type: "
                f"{retyping(folder, note.name, 'text').shell}"
            )
    return said


def retyping(folder: object, name: str, type: str) -> Remedy:
    """Give the call and the command that change a field's type."""
    return Remedy(
        f"likewise.open({str(folder)!r}).merge(types={{{name!r}: {str(type)!r}}})",
        f"likewise merge {quote(str(folder))} --type {quote(f'{name}={type}')}",
    )


def decide(
    texts: Iterable[tuple[str, int]], numbers: Sequence[float], n_booleans: int
) -> tuple[FieldType | None, str]:
    """Decide on a type by distinct texts with their counts, and by numbers.

    None where there is no value to go by. The second is a date that can be read in two ways, where
    that is all that keeps the field from being one.
    """
    fits = _Fits()
    for text, count in islice(texts, _LOOKED_AT):
        fits.add(text, count)
    total = fits.n_texts + len(numbers) + n_booleans
    if not total:
        return None, ""
    # True among numbers is 1.
    n_numbers = 0 if fits.n_codes else fits.n_numbers + len(numbers) + n_booleans
    n_booleans += fits.n_booleans
    n_dates, order = fits.dates
    if n_dates or fits.ambiguous:
        looked_at = numbers[:_LOOKED_AT]
        share = sum(read_date(spell(one)) is not None for one in looked_at) / (len(looked_at) or 1)
        n_dates += round(share * len(numbers))
    best = max(n_numbers, n_booleans, n_dates)
    if best < _SHARE * total:
        either = n_dates + fits.n_either >= _SHARE * total
        return FieldType.TEXT, fits.ambiguous if either else ""
    if best == n_booleans:
        return FieldType.BOOLEAN, ""
    if best == n_numbers:
        return FieldType.NUMBER, ""
    return FieldType(f"date-{order}" if order else "date"), ""


class _Fits:
    """How many values fit each type."""

    def __init__(self) -> None:
        self.n_texts = self.n_numbers = self.n_codes = self.n_booleans = self.n_either = 0
        self.ambiguous = ""
        # Dates that are written otherwise than by digits alone, and those that are not.
        self._n_dates = [0, 0]
        self._n_by_order = {Order.DAY: 0, Order.MONTH: 0}

    def add(self, text: str, count: int) -> None:
        text = text.strip()
        if is_missing(text):
            return
        self.n_texts += count
        if is_code(text):
            self.n_codes += count
        elif read_number(text) is not None:
            self.n_numbers += count
        elif text.lower() in _BOOLEANS:
            self.n_booleans += count
            return
        orders = possible_orders(text)
        if len(orders) > 1:
            self.n_either += count
            self.ambiguous = self.ambiguous or text
        elif orders:
            self._n_by_order[orders.pop()] += count
        elif read_date(text):
            self._n_dates[text.isdigit()] += count

    @property
    def dates(self) -> tuple[int, Order]:
        """How many are dates in the order that the values show, and which that is."""
        n_day, n_month = self._n_by_order.values()
        n_plain, n_digits = self._n_dates
        # Whether 2015 and 20150304 are dates, others must tell.
        n_plain += n_digits if n_plain or n_day or n_month or self.n_either else 0
        if n_day == n_month:
            return n_plain + n_day + n_month, Order.UNKNOWN
        order = Order.DAY if n_day > n_month else Order.MONTH
        return n_plain + max(n_day, n_month) + self.n_either, order


def spell(number: float) -> str:
    """Write a number as text has it: 2015, not 2015.0."""
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def read_number(text: str) -> float | None:
    """Read a number; None for anything else."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if abs(number) < float("inf") else None


def is_missing(text: str) -> bool:
    """Tell whether a text stands for no value."""
    return text.strip().lower() in _MISSING


def is_code(text: str) -> bool:
    """Tell whether digits are no quantity: 007, or more of them than a number holds exactly."""
    return _CODE.fullmatch(text.strip()) is not None


def read_boolean(text: str) -> float | None:
    """Read true and false, however capitalised, and 1 and 0."""
    text = text.strip().lower()
    return _BOOLEANS.get(text, {"1": 1.0, "0": 0.0}.get(text))

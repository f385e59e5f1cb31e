"""Dates as people write them, as intervals of microseconds since 1970 (UTC).

2015, 2015-03, 2015-03-04, 2015/03/04, 20150304, 04/03/2015, 04.03.2015, 4 March 2015, Mar 4, 2015,
March 2015, each day also with a time and an offset: `T10:11:12Z`, ` 10:11 pm`, ` 10:11:12 +0100`.
What has no offset is UTC. Months and days of the week are English.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_EPOCH = date(1970, 1, 1).toordinal()
_MOST_DIGITS = 6
_HALF_DAY = 12


class Order(StrEnum):
    """What comes first in 04/03/2015; unknown: only what can be read in one way is a date."""

    UNKNOWN = ""
    DAY = "dmy"
    MONTH = "mdy"


class Interval(NamedTuple):
    """What a date means: from `start` on, before `stop`."""

    start: int
    stop: int


_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name: i for i, name in enumerate(_MONTHS.split(), 1)}
_MONTH |= {name[:3]: i for name, i in _MONTH.items()} | {"sept": 9}
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_ZONES = {"z": 0, "utc": 0, "gmt": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5}
_ZONES |= {"mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
_TIME = (
    r"(?:(?:t|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})"
    r"(?:[.,](?P<part>\d{1,12}))?)?\s?(?P<half>[ap]m)?"
    rf"\s*(?P<zone>{'|'.join(_ZONES)}|[+-]\d{{2}}(?::?\d{{2}})?)?(?:\s+\([a-z]+\))?)?"
)
_NAME = r"(?P<month>[a-z]{3,9})\.?"
_DAY_NUMBER = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


_ISO = _form(rf"{_YEAR}([-/.])(?P<month>\d{{1,2}})\2(?P<day>\d{{1,2}}){_TIME}")
_COMPACT = _form(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})")
_PARTIAL = _form(rf"{_YEAR}(?:[-/](?P<month>\d{{2}}))?")
_NUMERIC = _form(rf"(?P<a>\d{{1,2}})(?P<by>[-/.])(?P<b>\d{{1,2}})(?P=by){_YEAR}{_TIME}")
_DAY_FIRST = _form(rf"{_WEEKDAY}{_DAY_NUMBER}[\s-]+(?:of\s+)?{_NAME},?[\s-]+{_YEAR}{_TIME}")
_MONTH_FIRST = _form(rf"{_WEEKDAY}{_NAME}\s+{_DAY_NUMBER},?\s+{_YEAR}{_TIME}")
_MONTH_ONLY = _form(rf"{_NAME},?[\s-]+{_YEAR}")
_LONGEST = 64


def read_date(text: str, order: Order = Order.UNKNOWN) -> Interval | None:
    """Read a date; None for what is none, or could be two."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    forms = _BY_DIGIT if text[:1].isdigit() else _BY_NAME
    for form in forms:
        match = form.fullmatch(text)
        if match is not None:
            try:
                return _interval(match, order)
            except (ValueError, KeyError):
                return None
    return None


def possible_orders(text: str) -> set[Order]:
    """Give the orders in which a text of two numbers and a year is a date: none, one or both.

    A date that is the same in either, or is written otherwise, tells nothing: none.
    """
    match = _NUMERIC.fullmatch(text.strip())
    if match is None or match["by"] == "." or int(match["a"]) == int(match["b"]):
        return set()
    return {order for order in (Order.DAY, Order.MONTH) if read_date(text, order) is not None}


def write_date(moment: int) -> str:
    """Write microseconds since 1970 in ISO form, without a time where it is midnight."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment)
    if moment % _DAY == 0:
        return at.date().isoformat()
    return at.replace(tzinfo=None).isoformat() + "Z"


def _interval(match: re.Match[str], order: Order) -> Interval:
    found = match.groupdict()
    year = int(found["year"])
    if "a" in found:
        month, day = _month_and_day(match, order)
    elif not found.get("month"):
        return Interval(_midnight(year, 1, 1), _midnight(year, 12, 31) + _DAY)
    else:
        month = int(found["month"]) if found["month"].isdigit() else _MONTH[found["month"].lower()]
        if not found.get("day"):
            # ValueError, where there is no such month.
            first, last = _midnight(year, month, 1), monthrange(year, month)[1]
            return Interval(first, first + last * _DAY)
        day = int(found["day"])
    midnight = _midnight(year, month, day)
    if not found.get("hour"):
        return Interval(midnight, midnight + _DAY)
    time, length = _time(match)
    start = midnight + time - _offset(found["zone"])
    if not _midnight(1, 1, 1) <= start < _midnight(9999, 12, 31) + _DAY:
        raise ValueError
    return Interval(start, start + length)


def _month_and_day(match: re.Match[str], order: Order) -> tuple[int, int]:
    a, b = int(match["a"]), int(match["b"])
    if match["by"] == ".":
        return b, a
    if order is Order.UNKNOWN:
        # 25/03/2015 can be read in one way only, and 03/03/2015 is the same in both.
        if a == b or a > _HALF_DAY >= b:
            return b, a
        if b > _HALF_DAY >= a:
            return a, b
        raise ValueError
    return (b, a) if order is Order.DAY else (a, b)


def _midnight(year: int, month: int, day: int) -> int:
    return (date(year, month, day).toordinal() - _EPOCH) * _DAY


def _time(match: re.Match[str]) -> tuple[int, int]:
    """Give the time of day, and how long what was written of it lasts."""
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if match["half"]:
        if not 1 <= hour <= _HALF_DAY:
            raise ValueError
        hour = hour % _HALF_DAY + _HALF_DAY * (match["half"].lower() == "pm")
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError
    part = (match["part"] or "").ljust(_MOST_DIGITS, "0")[:_MOST_DIGITS]
    length = 1 if match["part"] else _SECOND if match["second"] else 60 * _SECOND
    return ((hour * 60 + minute) * 60 + second) * _SECOND + int(part), length


def _offset(zone: str | None) -> int:
    if not zone:
        return 0
    hours = _ZONES.get(zone.lower())
    if hours is not None:
        return hours * 3600 * _SECOND
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hour, minute = int(digits[:2]), int(digits[2:])
    if hour > 23 or minute > 59:
        raise ValueError
    return (1 if zone[0] == "+" else -1) * (hour * 60 + minute) * 60 * _SECOND


_BY_DIGIT: tuple[re.Pattern[str], ...] = (_ISO, _PARTIAL, _NUMERIC, _DAY_FIRST, _COMPACT)
_BY_NAME: tuple[re.Pattern[str], ...] = (_MONTH_FIRST, _MONTH_ONLY, _DAY_FIRST)

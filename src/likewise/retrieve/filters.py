"""Which documents may be answers? Conditions on metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.collection.fields import Fields, as_number
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools
from likewise.errors import UsageError

_CONDITION = re.compile(r"(.+?)(!=|>=|<=|=|>|<)(.*)", re.DOTALL)
_ALTERNATIVE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Filter:
    r"""A condition on one field, written `field=value`.

    The operators are = != < <= > >=. `a|b` is either value (`\|` is a plain bar), `*` any value
    at all. Numbers compare as numbers, other values as text by code points; a document whose
    field holds a list meets `=` with any member, and `!=` with none.
    """

    field: str
    operator: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Filter:
        """Read a condition as it is written."""
        match = _CONDITION.fullmatch(text)
        if match is None or not match[1].strip():
            raise UsageError(
                f"filter {text!r} is not written as field=value; the operators are = != < <= > >="
            )
        field, operator, value = match[1].strip(), match[2], match[3].strip()
        values = tuple(part.replace(r"\|", "|") for part in _ALTERNATIVE.split(value))
        if operator not in ("=", "!=") and len(values) > 1:
            raise UsageError(f"filter {text!r}: {operator} takes one value, not alternatives")
        return cls(field, operator, values)

    def __str__(self) -> str:
        values = "|".join(value.replace("|", r"\|") for value in self.values)
        return f"{self.field}{self.operator}{values}"

    def mask(self, fields: Fields) -> Bools:
        """Mark the documents of a segment that meet the condition."""
        if self.operator in ("=", "!="):
            equal = np.any([self._equal(fields, value) for value in self.values], axis=0)
            return np.asarray(~equal if self.operator == "!=" else equal, np.bool_)
        value = self.values[0]
        number = as_number(value)
        if number is None:
            return fields.texts_from(self.field, self.operator, value)
        closed = "=" in self.operator
        if self.operator.startswith(">"):
            return fields.between(self.field, number, np.inf, closed=(closed, True))
        return fields.between(self.field, -np.inf, number, closed=(True, closed))

    def _equal(self, fields: Fields, value: str) -> Bools:
        return fields.present(self.field) if value == "*" else fields.equal(self.field, value)


def allowed_docs(collection: Snapshot, filters: Sequence[Filter | str]) -> list[Bools] | None:
    """Mark, for each segment, the documents that meet all conditions; None where there are none."""
    if not filters:
        return None
    conditions = [Filter.read(f) if isinstance(f, str) else f for f in filters]
    known = set(collection.field_names())
    for condition in conditions:
        if condition.field not in known:
            shown = ", ".join(sorted(known)[:20]) or "none"
            raise UsageError(
                f"no document has a field {condition.field!r}; the fields are {shown}"
                + (", …" if len(known) > 20 else "")
            )
    return [
        np.logical_and.reduce([condition.mask(segment.fields) for condition in conditions])
        for segment in collection.segments
    ]

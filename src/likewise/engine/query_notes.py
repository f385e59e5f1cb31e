"""What is there to say of a query as it was typed?"""

from __future__ import annotations

from typing import Any, NamedTuple


class QueryNotes(NamedTuple):
    """What there is to say of a query as it was typed.

    `notes` say what was not understood, `unknown` are words that no document has, `suggestion` is
    what may have been meant; where it was `applied`, the answers are those to it.
    """

    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    suggestion: str = ""
    applied: bool = False

    def lines(self, query: str) -> list[str]:
        """Say it, a line each."""
        lines = [*self.notes]
        if self.applied:
            return [*lines, f"nothing for {query}; showing {self.suggestion}"]
        lines += [f"no document has: {', '.join(self.unknown)}"] if self.unknown else []
        return lines + ([f"did you mean: {self.suggestion}"] if self.suggestion else [])

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return {
            "notes": list(self.notes),
            "unknown": list(self.unknown),
            "suggestion": self.suggestion or None,
            "applied": self.applied,
        }

"""What a reading left out: how many by reason, with the first names."""

from __future__ import annotations

from collections import Counter

from likewise.errors import SourceError

EMPTY = "empty"
HIDDEN = "hidden"
TABLES = "tables"
COLLECTIONS = "likewise collections"
LINKS = "links that lead out of the folder"
SPECIAL = "pipes or devices"
NOT_TEXT = "neither text nor a known format"
_HINTS = {TABLES: "index them by name"}
_ONE = {
    TABLES: "table",
    COLLECTIONS: "likewise collection",
    LINKS: "link that leads out of the folder",
    SPECIAL: "pipe or device",
}
_NAMED = 3


class Skipped:
    """Files and documents that were left out, counted by reason."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._names: dict[str, list[str]] = {}

    def add(self, reason: str, name: str) -> None:
        """Count one more."""
        self.counts[reason] += 1
        names = self._names.setdefault(reason, [])
        if len(names) < _NAMED:
            names.append(name)

    def add_error(self, error: SourceError) -> None:
        """Count what could not be read."""
        self.add(error.kind, error.place)

    def update(self, other: Skipped) -> None:
        """Count what another reading left out as well."""
        self.counts.update(other.counts)
        for reason, names in other._names.items():
            mine = self._names.setdefault(reason, [])
            mine.extend(names[: _NAMED - len(mine)])

    def __len__(self) -> int:
        return self.counts.total()

    def __str__(self) -> str:
        return ", ".join(map(self._told, self.counts))

    def _told(self, reason: str) -> str:
        count = self.counts[reason]
        if reason == HIDDEN:
            return f"{count:,} {reason}"
        names = self._names[reason]
        more = "" if count == len(names) else ", …"
        hint = f"; {_HINTS[reason]}" if reason in _HINTS else ""
        what = _ONE.get(reason, reason) if count == 1 else reason
        return f"{count:,} {what} ({', '.join(names)}{more}{hint})"

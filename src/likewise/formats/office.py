"""What all office files keep beside their content: title, author and date."""

from __future__ import annotations

from typing import Any

from likewise.formats.archive import Archive
from likewise.formats.titles import given_title

_PROPERTIES = "docProps/core.xml"
_NAMES = {"title": "title", "creator": "author", "created": "date"}


def properties(archive: Archive) -> dict[str, Any]:
    """Title, author and date, as far as they are given."""
    found: dict[str, Any] = {}
    inside: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        inside.append(name)

    def end(name: str) -> None:
        inside.pop()

    def characters(text: str) -> None:
        if inside and (name := _NAMES.get(inside[-1])):
            found[name] = found.get(name, "") + text

    if _PROPERTIES in archive:
        archive.parse(_PROPERTIES, start=start, end=end, characters=characters)
    found["title"] = given_title(found.get("title", ""))
    return {name: value.strip() for name, value in found.items() if value.strip()}

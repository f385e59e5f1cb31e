"""Which language is each document in? A number for each, where a collection is in several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.collection.arrays import Output
from likewise.collection.files import REMEDY
from likewise.collection.pack import Pack
from likewise.compiled import Bools, Bytes
from likewise.errors import DamagedError

_ARRAY = "language"


class Languages(NamedTuple):
    """Document i is in `names[codes[i]]`."""

    names: tuple[str, ...]
    codes: Bytes


class LanguagesWriter:
    """Gathers the languages of a segment's documents."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._codes = bytearray()

    def add(self, languages: Sequence[str]) -> None:
        """Append the languages of documents."""
        numbers = self._numbers
        self._codes += bytes(numbers.setdefault(one, len(numbers)) for one in languages)

    def write(self, out: Output, n_docs: int) -> None:
        """Write them, where there are any."""
        if self._codes:
            assert len(self._codes) == n_docs
            out.put(_ARRAY, np.frombuffer(self._codes, np.uint8))
            out.note(languages=list(self._numbers))


def read_languages(pack: Pack, n_docs: int) -> Languages | None:
    """Read the languages of a segment's documents; None where it has none of its own."""
    if _ARRAY not in pack:
        return None
    names, codes = tuple(pack.meta.get("languages", ())), pack[_ARRAY]
    if len(codes) != n_docs or codes.max(initial=0) >= max(len(names), 1):
        raise DamagedError(f"{pack.path}: languages that are not its documents'; {REMEDY}")
    return Languages(names, codes)


def count_languages(languages: Languages | None, live: Bools, main: str) -> dict[str, int]:
    """Count the live documents of a segment in each language."""
    if languages is None:
        return {main: int(np.count_nonzero(live))}
    counts = np.bincount(languages.codes[live], minlength=len(languages.names)).tolist()
    return {name: n for name, n in zip(languages.names, counts, strict=True) if n}

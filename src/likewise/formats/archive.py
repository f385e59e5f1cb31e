"""Office files are zip archives of XML: read within limits, and without document types.

What an archive says of its sizes is not believed: members are read in pieces, and counted.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from xml.parsers import expat

from likewise.formats.parsed import DAMAGED, ENCRYPTED, REFUSED, TOO_LARGE, Refused

_MOST_MEMBERS = 10_000
_MOST_BYTES = 512 << 20
_PIECE = 1 << 16
# Office packs a file that has a password, and the files of before 2007, in this.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]
Characters = Callable[[str], None]


class Archive:
    """The members of an office file."""

    def __init__(self, data: bytes) -> None:
        if data.startswith(_COMPOUND):
            raise Refused(
                ENCRYPTED, "encrypted, or of before 2007; save it anew, without a password"
            )
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._names = {info.filename.lstrip("/"): info for info in self._zip.infolist()}
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
            raise Refused(DAMAGED, f"not a whole zip archive: {error}") from None
        if len(self._names) > _MOST_MEMBERS:
            raise Refused(REFUSED, f"it holds {len(self._names):,} files, more than any document")
        self._read = 0

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def parse(
        self, name: str, *, start: Start, end: End, characters: Characters | None = None
    ) -> None:
        """Go over an XML member; names of elements and attributes come without namespaces."""
        for _ in self.steps(name, start=start, end=end, characters=characters):
            pass

    def steps(
        self, name: str, *, start: Start, end: End, characters: Characters | None = None
    ) -> Iterator[None]:
        """Go over an XML member piece by piece."""
        parser = _parser(start, end, characters)
        try:
            with self._zip.open(self._names[name]) as member:
                while piece := member.read(_PIECE):
                    self._read += len(piece)
                    if self._read > _MOST_BYTES:
                        reason = f"it unpacks to more than {_MOST_BYTES >> 20} MB"
                        raise Refused(TOO_LARGE, reason)
                    parser.Parse(piece, False)
                    yield
                parser.Parse(b"", True)
        except RuntimeError as error:
            status = ENCRYPTED if "encrypt" in str(error) else DAMAGED
            raise Refused(status, f"{name}: {error}") from None
        except expat.ExpatError as error:
            raise Refused(DAMAGED, f"{name} is not whole XML: {error}") from None
        except (
            zipfile.BadZipFile,
            zlib.error,
            NotImplementedError,
            EOFError,
            ValueError,
            OSError,
        ) as error:
            raise Refused(DAMAGED, f"{name} cannot be unpacked: {error}") from None


class _Local(dict[str, str]):
    """Names without their namespaces, worked out once each."""

    def __missing__(self, name: str) -> str:
        self[name] = name.rpartition(" ")[2]
        return self[name]


def _parser(start: Start, end: End, characters: Characters | None) -> Any:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        raise Refused(REFUSED, "its XML declares a document type, which no office file does")

    local = _Local()

    def begin(name: str, attributes: dict[str, str]) -> None:
        start(local[name], {local[key]: attributes[key] for key in attributes})

    # Entities, and with them what grows without end or reaches other files, need a document type.
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda name: end(local[name])
    parser.CharacterDataHandler = characters
    return parser

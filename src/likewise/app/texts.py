"""How are a user's own files read and written?"""

from __future__ import annotations

import sys
from pathlib import Path

from likewise.errors import SourceError, StorageError, UsageError


def read_text(file: str) -> str:
    """Read a text file; - is standard input."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = "standard input" if file == "-" else file
        raise SourceError(
            place,
            f"byte {error.object[error.start]:#04x} at {error.start} is not UTF-8; "
            "give plain text, converted to UTF-8",
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(file, f"cannot be read ({reason})") from None


def read_document(file: str) -> str:
    """Read a document of any format that is indexed, title first; - is plain text."""
    from likewise.collection.build import content
    from likewise.formats.kinds import EXTENSIONS, by_name
    from likewise.formats.parsed import ENCODING
    from likewise.sources import Columns, open_source

    if file != "-" and not Path(file).is_file():
        # The message of a text that is not there says what is read at all.
        return read_text(file)
    format = None if file != "-" and (by_name(file) or _by_sign(file)) else "text"
    documents = iter(open_source(file, format=format, columns=Columns(auto_id=True)))
    try:
        document = next(documents, None)
    except SourceError as error:
        if error.kind != ENCODING:
            raise
        reason = f"neither text in a known encoding nor one of {' '.join(EXTENSIONS)}"
        raise SourceError("standard input" if file == "-" else file, reason) from None
    if document is None:
        raise UsageError(f"{file} is empty: it holds no document to ask with")
    if next(documents, None) is not None:
        raise UsageError(f"{file} holds several documents; `likewise run --like` asks with each")
    return content(document)


def _by_sign(file: str) -> str | None:
    from likewise.formats.kinds import by_content

    with open(file, "rb") as opened:
        return by_content(opened.read(1 << 16))


def write_text(path: Path, text: str) -> None:
    """Write a text file, or say why that cannot be."""
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{path}: cannot be written ({reason})") from None

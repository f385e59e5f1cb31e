"""How are a user's own files read and written?"""

from __future__ import annotations

import sys
from pathlib import Path

from likewise.errors import SourceError, StorageError


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


def write_text(path: Path, text: str) -> None:
    """Write a text file, or say why that cannot be."""
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{path}: cannot be written ({reason})") from None

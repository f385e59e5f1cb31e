"""What a parser gives, and how it refuses: a status for each way to fail."""

from __future__ import annotations

from typing import Any, NamedTuple

# How files fail, as they are counted.
ENCRYPTED = "encrypted"
NO_TEXT = "without text"
DAMAGED = "damaged"
ENCODING = "of unknown encoding"
REFUSED = "refused"
TOO_LARGE = "too large"
MEMORY = "took too much memory"
TIME = "took too long"
CRASH = "crashed the parser"
STATUSES = (ENCRYPTED, NO_TEXT, DAMAGED, ENCODING, REFUSED, TOO_LARGE, MEMORY, TIME, CRASH)

# No more text than this is taken from one file.
MOST_TEXT = 64 << 20


class Parsed(NamedTuple):
    """A document as its file has it."""

    title: str
    text: str
    fields: dict[str, Any]


class Refused(Exception):
    """A file cannot be read; `status` is one of STATUSES, `reason` says it to people."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def check_length(text: str) -> str:
    """Give the text back, or refuse more than a document has."""
    if len(text) > MOST_TEXT:
        raise Refused(TOO_LARGE, f"it holds more than {MOST_TEXT >> 20} million characters")
    return text

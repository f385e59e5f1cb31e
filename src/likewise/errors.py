"""Everything that likewise raises on purpose.

LikewiseError
├── UsageError          what is asked for does not exist or does not fit (a ValueError; exit code 2)
│   ├── WrongType       another type was expected (a TypeError as well)
│   ├── UnknownDocument no document has that id (a KeyError as well)
│   └── UnknownModel    no model is called that (a KeyError as well)
├── DeadlineExceeded    a search took longer than it was given
├── MissingExtra        an optional package is needed; the message is the install command
├── SourceError         a document could not be read; carries its place (file:line)
│   └── DuplicateId     one id at two places
└── CollectionError     the stored collection
    ├── NotACollection  nothing there, or something else
    ├── FormatError     written by another version
    ├── DamagedError    a file is missing, truncated or altered
    ├── LockedError     another process is writing
    └── StorageError    the disk is full, read-only, or refuses

A message ends with what to do about it. Where that is not said alike in Python and in a shell, it
is a `Remedy`, which has both: the message is Python's, and the command line prints `in_shell`.
"""

from __future__ import annotations

from typing import NamedTuple, Self

_LONGEST_SHOWN = 60


class Remedy(NamedTuple):
    """What to do about an error: as it is written in Python, and as it is typed in a shell."""

    python: str
    shell: str

    def within(self, before: str, after: str = "") -> Remedy:
        """Give the same with words around it."""
        return Remedy(f"{before}{self.python}{after}", f"{before}{self.shell}{after}")


class LikewiseError(Exception):
    """Anything that likewise raises on purpose."""

    def __init__(self, message: str = "", *, remedy: Remedy | None = None) -> None:
        super().__init__(f"{message}; {remedy.python}" if remedy else message)
        self.message = message
        self.remedy = remedy

    @property
    def in_shell(self) -> str:
        """The message for whoever typed a command."""
        return f"{self.message}; {self.remedy.shell}" if self.remedy else str(self)


class UsageError(LikewiseError, ValueError):
    """What was asked for does not exist or does not fit."""


class WrongType(UsageError, TypeError):
    """Another type was expected."""

    @classmethod
    def of(cls, received: object, expected: str) -> Self:
        """Say what is expected, as in "k is a whole number", and what was received."""
        return cls(f"{expected}, not {_shown(received)}")


class UnknownDocument(UsageError, KeyError):
    """No document of a collection has that id."""

    # A key error shows its message in quotes.
    __str__ = Exception.__str__


class UnknownModel(UsageError, KeyError):
    """No model of a collection is called that."""

    __str__ = Exception.__str__


class DeadlineExceeded(LikewiseError):
    """A search took longer than it was given."""


class MissingExtra(LikewiseError):
    """An optional package is needed."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: pip install 'likewise[{extra}]'")


class SourceError(LikewiseError):
    """A document could not be read; `place` is where it stands, as file:line.

    `kind` is what documents that are skipped are counted by.
    """

    def __init__(
        self,
        place: str,
        reason: str,
        *,
        remedy: Remedy | None = None,
        kind: str = "not readable",
    ) -> None:
        super().__init__(f"{place}: {reason}", remedy=remedy)
        self.place = place
        self.reason = reason
        self.kind = kind


class DuplicateId(SourceError):
    """One id stands at two places."""

    def __init__(self, place: str, doc_id: str, first: str) -> None:
        super().__init__(
            place,
            f"id {doc_id!r} was already given by {first}",
            remedy=Remedy(
                "name a column of other ids with id=, or let the last one win with replace=True",
                "name a column of other ids with --id, or let the last one win with --replace",
            ),
        )
        self.doc_id = doc_id
        self.first = first


class CollectionError(LikewiseError):
    """Something is wrong with the stored collection."""


class NotACollection(CollectionError):
    """There is nothing here, or something that is not a collection."""


class FormatError(CollectionError):
    """The collection was written by another version of likewise."""


class DamagedError(CollectionError):
    """A file of the collection is missing, truncated or altered."""


class LockedError(CollectionError):
    """Another process is writing to the collection."""


class StorageError(CollectionError):
    """The disk is full, read-only, or refuses."""


def with_article(name: str) -> str:
    """Give a name with its article: an int, a list."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _shown(value: object) -> str:
    """Write a value that was not expected, with its type, in a line."""
    if value is None:
        return "None"
    kind = type(value).__name__
    try:
        shown = repr(value)
    except Exception:
        return with_article(kind)
    if "\n" in shown or len(shown) > _LONGEST_SHOWN:
        return with_article(kind)
    return f"{shown} ({kind})"

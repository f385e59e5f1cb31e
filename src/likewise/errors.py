"""Everything that likewise raises on purpose.

LikewiseError
├── UsageError          what was asked for does not exist or does not fit (exit code 2)
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
"""

from __future__ import annotations


class LikewiseError(Exception):
    """Anything that likewise raises on purpose."""


class UsageError(LikewiseError):
    """What was asked for does not exist or does not fit."""


class UnknownModel(UsageError, KeyError):
    """No model of a collection is called that."""

    # A key error shows its message in quotes.
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

    def __init__(self, place: str, reason: str, *, kind: str = "not readable") -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason
        self.kind = kind


class DuplicateId(SourceError):
    """One id stands at two places."""

    def __init__(self, place: str, doc_id: str, first: str) -> None:
        super().__init__(
            place,
            f"id {doc_id!r} was already given by {first} (use --replace to let the last one win)",
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

"""An opened collection: what it holds, and how its documents are shown."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import tidy
from likewise.derived.store import carry_over
from likewise.records import Document

Path_ = str | os.PathLike[str]
P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound="Opened")


def of_one_state(method: Callable[Concatenate[H, P], R]) -> Callable[Concatenate[H, P], R]:
    """Let a method see one state from beginning to end, whatever other threads refresh."""

    @wraps(method)
    def ask(self: H, /, *args: P.args, **options: P.kwargs) -> R:
        return method(self._held(), *args, **options)

    return ask


class _Shown:
    """A state that is shown; it is let go of when nobody shows it or asks it any more."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def __del__(self) -> None:
        # What was made of the snapshot refers to it, and would keep its lease until the next
        # collection of garbage.
        self.snapshot.forget()


class Opened:
    """A collection as of the last change made through it, or the last `refresh`.

    Threads may ask and refresh it at the same time: whoever asks keeps the state it began with.
    """

    # Of one that is held for a question: the one that was asked.
    _asked: Self | None = None

    def __init__(self, folder: Path_) -> None:
        self.folder = Path(folder)
        self._refreshing = threading.Lock()
        self._shown = _Shown(open_snapshot(self.folder))

    def refresh(self) -> None:
        """See what other processes have changed."""
        if self._asked is not None:
            self._asked.refresh()
            self._shown = self._asked._shown
            return
        with self._refreshing:
            before = self._snapshot
            after = open_snapshot(self.folder, before)
            carry_over(before, after)
            self._shown = _Shown(after)

    def _changed(self) -> None:
        """See what was published; files that this collection alone still held are removed."""
        self.refresh()
        tidy(self.folder)

    def _held(self) -> Self:
        """Give the collection as it is now, which only a refresh of its own changes."""
        if self._asked is not None:
            return self
        held = type(self)._showing(self._shown)
        held._asked = self
        return held

    @property
    def _snapshot(self) -> Snapshot:
        return self._shown.snapshot

    def close(self) -> None:
        """Let go of the generation that is shown: what it names may then be removed."""
        self._snapshot.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._reopened, (self._snapshot,)

    @classmethod
    def _reopened(cls, snapshot: Snapshot) -> Self:
        return cls._showing(_Shown(snapshot))

    @classmethod
    def _showing(cls, shown: _Shown) -> Self:
        made = cls.__new__(cls)
        made.folder = shown.snapshot.folder
        made._refreshing = threading.Lock()
        made._shown = shown
        return made

    @property
    def snapshot(self) -> Snapshot:
        """The state that is being shown: terms, counts and statistics."""
        return self._snapshot

    def __len__(self) -> int:
        return self._snapshot.n_docs

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and bool(self._snapshot.find_docs([doc_id])[0] >= 0)

    def __iter__(self) -> Iterator[Document]:
        for _, document in self._snapshot.documents():
            yield document

    def __getitem__(self, doc_id: str) -> Document:
        s = self._snapshot
        return s.document(s.find_doc(doc_id))

    def __repr__(self) -> str:
        return f"<Collection {str(self.folder)!r}: {len(self):,} documents>"

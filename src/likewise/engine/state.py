"""The state of a collection that is shown: what a collection and its parts have in common."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from likewise.collection.cleaning import tidy
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.derived.store import carry_over
from likewise.errors import UsageError, WrongType
from likewise.forking import Lock

Path_ = str | os.PathLike[str]
P = ParamSpec("P")
R = TypeVar("R")


def folder_of(path: Path_) -> Path:
    """Give the folder of a collection, which may not be there yet."""
    if not isinstance(path, str | os.PathLike):
        raise WrongType.of(path, "a collection is a folder, named by a text or a path")
    return Path(os.fsdecode(path))


class _Shown:
    """A snapshot that is shown; it is let go of when nobody shows it or asks it any more."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def __del__(self) -> None:
        # What was made of the snapshot refers to it, and would keep its lease until the next
        # collection of garbage.
        self.snapshot.forget()


class State:
    """The state as of the last change that was made through it, or the last `refresh`.

    Threads may ask and refresh at the same time: whoever asks keeps what it began with.
    """

    def __init__(self, shown: Snapshot | _Shown, origin: State | None = None) -> None:
        # Of one that is held for a question: the one that was asked.
        self._origin = origin
        self._refreshing: Lock = origin._refreshing if origin is not None else Lock()
        self._shown = shown if isinstance(shown, _Shown) else _Shown(shown)

    @property
    def snapshot(self) -> Snapshot:
        """What is shown."""
        shown = self._shown.snapshot
        if shown.closed:
            place = str(shown.folder)
            raise UsageError(f"{place} was closed: open it again with open({place!r})")
        return shown

    @property
    def closed(self) -> bool:
        """Whether it was let go of."""
        return self._shown.snapshot.closed

    @property
    def folder(self) -> Path:
        """Where the collection is."""
        return self._shown.snapshot.folder

    def refresh(self) -> bool:
        """See what others have changed; tell whether there was anything."""
        before = self.snapshot
        if self._origin is not None:
            self._origin.refresh()
            self._shown = self._origin._shown
        else:
            with self._refreshing:
                after = open_snapshot(self.folder, self.snapshot)
                carry_over(self.snapshot, after)
                self._shown = _Shown(after)
        return self.snapshot.manifest.generation != before.manifest.generation

    def changed(self) -> None:
        """See what was published; files that this state alone still held are removed."""
        self.refresh()
        tidy(self.folder)

    def held(self) -> Self:
        """Give the state as it is now, which only a refresh of its own changes."""
        return self if self._origin is not None else type(self)(self._shown, self)

    def close(self) -> None:
        """Let go of the generation that is shown: what it names may then be removed."""
        self._shown.snapshot.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return State, (self.snapshot,)


class _Part(Protocol):
    """A collection, or a part of one."""

    _state: State

    def __init__(self, state: State) -> None: ...


H = TypeVar("H", bound=_Part)


def of_one_state(method: Callable[Concatenate[H, P], R]) -> Callable[Concatenate[H, P], R]:
    """Let a method see one state from beginning to end, whatever other threads refresh."""

    @wraps(method)
    def ask(self: H, /, *args: P.args, **options: P.kwargs) -> R:
        held = self._state.held()
        return method(self if held is self._state else type(self)(held), *args, **options)

    return ask

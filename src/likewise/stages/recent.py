"""What was worked out lately, by what was asked: a bounded table that threads share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from likewise.forking import Lock

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by what they are made of, those asked for last.

    They are made outside the lock: threads that ask for different ones do not wait for each other,
    and of two that ask for the same at once both may make it. What makes them is not kept: a table
    that a snapshot keeps must not keep the snapshot.
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    def of(self, key: Key, make: Callable[[Key], Value]) -> Value:
        """Give what is made of a key."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        value = make(key)
        with self._lock:
            # Where another thread was first, all have the same object.
            value = self._kept.setdefault(key, value)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return value

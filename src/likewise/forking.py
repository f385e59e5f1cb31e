"""Locks between threads that a forked child can take, whoever held them in its parent.

Of all threads of a process only the one that forks lives on in the child: what another held would
be held there for good. This is the one place that is told of forks.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any


class Lock:
    """A lock that its thread can take more than once, for use by `with`.

    `reset` is a method that is called in a child whose parent's other thread held the lock: what
    it guards may be half-changed. It is referred to weakly.
    """

    def __init__(self, reset: Callable[[], None] | None = None) -> None:
        self._held = threading.RLock()
        self._reset = weakref.WeakMethod(reset) if reset is not None else None
        _locks.add(self)

    def __enter__(self) -> None:
        self._held.acquire()

    def __exit__(self, *_: object) -> None:
        self._held.release()

    def is_taken(self) -> bool:
        """Tell whether another thread holds it."""
        return _is_taken(self._held)

    def renew(self) -> None:
        """Free the lock of a thread that is not there any more."""
        if self.is_taken():
            self._held = threading.RLock()
            reset = self._reset() if self._reset is not None else None
            if reset is not None:
                reset()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_told: list[Callable[[], None]] = []


def after_fork(function: Callable[[], None]) -> Callable[[], None]:
    """Have a function called in every forked child."""
    _told.append(function)
    return function


def _is_taken(lock: Any) -> bool:
    if not lock.acquire(blocking=False):
        return True
    lock.release()
    return False


def _renew() -> None:
    for lock in list(_locks):
        lock.renew()
    for owner in _classes() if sys.version_info < (3, 12) else ():
        for each in vars(owner).values():
            # Up to Python 3.11 each has a lock, one for all objects of its class.
            if isinstance(each, cached_property) and _is_taken(vars(each)["lock"]):
                vars(each)["lock"] = threading.RLock()
    for function in _told:
        function()


def _classes() -> set[type]:
    modules = [module for name, module in sys.modules.items() if name.startswith("likewise")]
    named = [value for module in modules for value in vars(module).values()]
    return {value for value in named if isinstance(value, type)}


os.register_at_fork(after_in_child=_renew)

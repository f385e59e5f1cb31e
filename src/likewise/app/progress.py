"""How far is it? Rate and remaining time on standard error, for what takes over a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Protocol, Self, TextIO, TypeVar

Item = TypeVar("Item")

# Where this variable of the environment is "none", no command shows progress, however slow it is.
VARIABLE = "LIKEWISE_PROGRESS"
_PATIENCE = 1.0
_ON_TERMINAL = 0.2
_IN_A_LOG = 10.0


class Measured(Protocol):
    """Something that knows how far it is."""

    @property
    def total(self) -> int | None:
        """The whole, where it is known."""
        ...

    @property
    def done(self) -> int:
        """The part that is behind."""
        ...


class Progress:
    """Reports on a stretch of work; silent where it is short or `quiet`."""

    def __init__(self, what: str, *, unit: str = "documents", quiet: bool = False) -> None:
        self.what = what
        self.unit = unit
        self.count = 0
        self._quiet = quiet or is_unwanted()
        self._stream: TextIO = sys.stderr
        self._terminal = self._stream.isatty()
        self._start = time.monotonic()
        self._next = self._start + _PATIENCE
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown and self._terminal:
            self._stream.write("\r\x1b[K")
        if self._shown and kind is None:
            seconds = self.elapsed
            rate = f", {self.count / seconds:,.0f}/s" if self.count else ""
            self._stream.write(
                f"{self.what}: {self.count:,} {self.unit} in {_span(seconds)}{rate}\n"
            )
        self._stream.flush()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def follow(self, items: Iterable[Item], *, measured: Measured | None = None) -> Iterator[Item]:
        """Pass items on, counting them; `measured` tells how far it is in all."""
        for item in items:
            self.count += 1
            if self.count & 63 == 0 or 1 < self.count < 64:
                self._show(measured)
            yield item

    def advance(self, count: int, *, measured: Measured | None = None) -> None:
        """Note that so many more are done."""
        self.count += count
        self._show(measured)

    def _show(self, measured: Measured | None) -> None:
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        self._next = now + (_ON_TERMINAL if self._terminal else _IN_A_LOG)
        parts = [f"{self.count:,} {self.unit}", f"{self.count / self.elapsed:,.0f}/s"]
        if measured is not None and measured.total:
            share = min(measured.done / measured.total, 1.0)
            parts.insert(0, f"{share:.0%}")
            if share > 0.005:
                parts.append(f"{_span(self.elapsed * (1 - share) / share)} left")
        self._write(" · ".join(parts))

    def _write(self, text: str) -> None:
        self._shown = True
        end = "" if self._terminal else "\n"
        start = "\r\x1b[K" if self._terminal else ""
        self._stream.write(f"{start}{self.what}: {text}{end}")
        self._stream.flush()


class OutOf:
    """How far a progress is, out of a total that it counts up to."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.total = total
        self._progress = progress

    @property
    def done(self) -> int:
        """What was counted so far."""
        return self._progress.count


def is_unwanted() -> bool:
    """Tell whether the environment asks for no progress."""
    return os.environ.get(VARIABLE, "") == "none"


def _span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"

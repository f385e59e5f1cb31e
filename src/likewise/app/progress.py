"""How far is it? Rate and remaining time on standard error, for what takes over a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, Self, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

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
    """Reports on a stretch of work; silent where it is short or `quiet`.

    On a terminal it is a bar, else a line now and then.
    """

    def __init__(
        self,
        what: str,
        *,
        unit: str = "documents",
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what = what
        self.unit = unit
        self.count = 0
        self._quiet = quiet or is_unwanted()
        self._stream: TextIO = sys.stderr
        self._terminal = self._stream.isatty()
        self._clock = clock
        self._start = clock()
        self._next = self._start + _PATIENCE
        self._shown = False
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
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
        return self._clock() - self._start

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
        now = self._clock()
        if self._quiet or now < self._next:
            return
        self._shown = True
        self._next = now + (_ON_TERMINAL if self._terminal else _IN_A_LOG)
        parts = [f"{self.count:,} {self.unit}", f"{self.count / self.elapsed:,.0f}/s"]
        share = None
        if measured is not None and measured.total:
            share = min(measured.done / measured.total, 1.0)
            parts.insert(0, f"{share:.0%}")
            if share > 0.005:
                parts.append(f"{_span(self.elapsed * (1 - share) / share)} left")
        text = " · ".join(parts)
        if self._terminal:
            self._draw(text, share)
        else:
            self._stream.write(f"{self.what}: {text}\n")
            self._stream.flush()

    def _draw(self, text: str, share: float | None) -> None:
        """Draw the bar; without a share it moves to and fro."""
        if self._bar is None:
            # Short work does not wait for it to be imported.
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}:", markup=False),
                BarColumn(20),
                TextColumn("{task.fields[text]}", markup=False),
                console=Console(file=self._stream),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                get_time=self._clock,
            )
            self._bar.add_task(self.what, total=None, text=text)
            self._bar.start()
        [task] = self._bar.task_ids
        total = None if share is None else 1.0
        self._bar.update(task, total=total, completed=share or 0.0, text=text)
        self._bar.refresh()


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

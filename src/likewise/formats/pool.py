"""A small pool of processes that parse untrusted files, and the watch over them."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from likewise.errors import LikewiseError
from likewise.formats.child import (
    DONE,
    EXIT_FRAME,
    EXIT_MEMORY,
    EXIT_TIME,
    PART,
    READY,
    REFUSED,
    request_of,
)
from likewise.formats.frames import FrameError, LateError, receive, send
from likewise.formats.parsed import CRASH, MEMORY, STATUSES, TIME, TOO_LARGE, Refused

_Task = TypeVar("_Task")
_CLOSED = "the reading of files was closed"


@dataclass(frozen=True)
class Limits:
    """What a process may take: for a file, and in all.

    `files` are parsed by a process before another takes its place; `restarts` are the processes
    that may be lost in a row, with no file read between them.
    """

    seconds: float = 60.0
    memory: int = 1 << 30
    file: int = 256 << 20
    reply: int = 256 << 20
    files: int = 500
    restarts: int = 100


class PoolError(LikewiseError):
    """Processes to parse files cannot be had."""


class Pool:
    """Parses files in processes of their own, several at a time; for use by `with`."""

    def __init__(self, limits: Limits = Limits(), *, size: int = 0) -> None:
        self.size = size or min(4, os.cpu_count() or 1)
        self.limits = limits
        self.n_started = 0
        self._lost = 0
        self._closed = False
        self._lock = threading.Lock()
        self._children: set[_Child] = set()
        self._free: queue.LifoQueue[_Child] = queue.LifoQueue()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, whatever they are at."""
        with self._lock:
            self._closed = True
            children, self._children = self._children, set()
        for child in children:
            child.end()

    def parse(self, parser: str, data: bytes, *, encoding: str = "") -> Iterator[Any]:
        """What a parser (`module:function`) gives of a file, part by part; Refused if it cannot."""
        if len(data) > self.limits.file:
            raise Refused(TOO_LARGE, f"it is larger than {self.limits.file >> 20} MB")
        child = self._take()
        fit = False
        try:
            yield from child.parse(parser, encoding, data)
            fit = True
        except Refused as refused:
            # A parser that refused a file is as good as before.
            fit = child.is_alive()
            if not fit:
                self._count_loss(refused)
            raise
        finally:
            if fit:
                self._lost = 0
            self._give_back(child, fit=fit and child.n_files < self.limits.files)

    def map(
        self, tasks: Iterable[_Task], work: Callable[[_Task], Any]
    ) -> Iterator[tuple[_Task, Future[Any]]]:
        """Do work for tasks on a few threads, and give the outcomes in the order of the tasks."""
        ahead: deque[tuple[_Task, Future[Any]]] = deque()
        executor = ThreadPoolExecutor(self.size, thread_name_prefix="likewise-files")
        try:
            for task in tasks:
                ahead.append((task, executor.submit(work, task)))
                if len(ahead) >= 2 * self.size:
                    yield ahead.popleft()
            while ahead:
                yield ahead.popleft()
        finally:
            # Whoever stops reading does not wait for what is under way.
            if ahead:
                self.close()
            executor.shutdown(cancel_futures=True)

    def _take(self) -> _Child:
        if self._closed:
            # What is free has been ended as well.
            raise PoolError(_CLOSED)
        try:
            return self._free.get_nowait()
        except queue.Empty:
            pass
        child = _Child(self.limits)
        with self._lock:
            closed = self._closed
            self.n_started += 1
            self._children.add(child)
        if closed:
            child.end()
            raise PoolError(_CLOSED)
        child.greet()
        return child

    def _give_back(self, child: _Child, *, fit: bool) -> None:
        if fit:
            self._free.put(child)
            return
        with self._lock:
            self._children.discard(child)
        child.end()

    def _count_loss(self, refused: Refused) -> None:
        with self._lock:
            self._lost += 1
            lost = self._lost
        if lost > self.limits.restarts:
            raise PoolError(
                f"{lost} processes that parse files were lost in a row ({refused.reason}); "
                "leave such files out"
            ) from None


class _Child:
    """One process."""

    def __init__(self, limits: Limits) -> None:
        self.n_files = 0
        self._limits = limits
        numbers = (limits.memory, limits.seconds, limits.file)
        # Where modules are looked for is the parent's, never the folder that it happens to be in.
        path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "likewise.formats.child", *map(str, numbers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise PoolError(f"no process to parse files can be started: {error}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self._requests = self._process.stdin
        self._replies = self._process.stdout

    def greet(self) -> None:
        """Wait until it is ready."""
        try:
            kind, _ = receive(self._replies.fileno(), limit=0, seconds=self._limits.seconds + 60)
        except (EOFError, OSError, ValueError, FrameError, LateError):
            kind = b""
        if kind != READY:
            code = self.end()
            raise PoolError(f"a process to parse files did not start (it ended with {code})")

    def is_alive(self) -> bool:
        """Tell whether it is ready for another file."""
        return self._process.poll() is None

    def parse(self, parser: str, encoding: str, data: bytes) -> Iterator[Any]:
        """Have a file parsed."""
        self.n_files += 1
        # It ends itself in time; this is for a process that cannot even do that.
        seconds = self._limits.seconds + 5
        left = self._limits.reply
        try:
            request = request_of(parser, encoding, data)
            send(self._requests.fileno(), b"?", request, seconds=seconds)
            while True:
                kind, payload = receive(self._replies.fileno(), limit=left, seconds=seconds)
                if kind == DONE:
                    return
                content = json.loads(payload)
                if kind == PART:
                    left -= len(payload)
                    yield content
                    continue
                if kind != REFUSED:
                    raise FrameError
                status, reason = content
                raise Refused(status if status in STATUSES else CRASH, str(reason))
        except LateError:
            self.end()
            raise Refused(TIME, self._too_long) from None
        except FrameError as error:
            self.end()
            raise Refused(TOO_LARGE, f"it gave {error}") from None
        except (EOFError, OSError, ValueError, TypeError):
            raise self._loss() from None

    def end(self) -> int:
        """End it, if it has not ended; give its exit status."""
        if self._process.poll() is None:
            self._process.kill()
        code = self._process.wait()
        self._requests.close()
        self._replies.close()
        return code

    @property
    def _too_long(self) -> str:
        return f"its parser took longer than {self._limits.seconds:g} seconds"

    def _loss(self) -> Refused:
        """Say why the process is gone."""
        code = self._ended()
        if code == EXIT_TIME:
            return Refused(TIME, self._too_long)
        if code == EXIT_MEMORY:
            return Refused(MEMORY, f"its parser took more than {self._limits.memory >> 20} MB")
        if code == EXIT_FRAME:
            return Refused(CRASH, "its parser lost its place")
        named = signal.Signals(-code).name if -code in {*signal.Signals} else f"status {code}"
        return Refused(CRASH, f"its parser ended with {named}")

    def _ended(self) -> int:
        try:
            return self._process.wait(5)
        except subprocess.TimeoutExpired:
            return self.end()

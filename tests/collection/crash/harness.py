"""Cuts changes off at every call that alters a file, and judges what they leave behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from crash.change import Change
from crash.replay import Call, Disk, Image, lay

HERE = Path(__file__).parent


class Mode(IntEnum):
    """What the shim does at a call, by the numbers of shim.c."""

    COUNT = 0
    KILL = 1
    HALVE = 2
    FAIL = 3
    FAIL_FROM = 4
    NO_LOCKS = 5


class Outcome(NamedTuple):
    """How a change ended: killed by a signal, with an error (ours or another's), or well."""

    signal: int = 0
    error: str = ""
    is_ours: bool = True
    n_calls: int = 0

    @property
    def is_done(self) -> bool:
        """Whether it has said that it succeeded."""
        return not (self.signal or self.error)


def compile_shim(compiler: str, to: Path) -> Path:
    """Compile the shim into a folder."""
    library = to / "shim.so"
    command = [compiler, "-O1", "-Wall", "-shared", "-fPIC", "-pthread", "-o", library]
    subprocess.run([*command, HERE / "shim.c"], check=True)
    return library


class Server:
    """The process that makes the changes of a module; `under` is a command that it is run by."""

    def __init__(self, shim: Path, module: str, room: Path, *, under: Sequence[str] = ()) -> None:
        paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        more = {"LD_PRELOAD": str(shim), "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(room)}
        self._process = subprocess.Popen(
            [*under, sys.executable, "-m", "crash.server", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | more,
        )

    def __enter__(self):
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate(timeout=60)

    def make(
        self,
        change: str,
        folder: Path,
        mode: Mode,
        *,
        below: Path,
        at: int = 0,
        errno: int = 0,
        log: Path | None = None,
    ) -> Outcome:
        """Make a change to a folder; calls are counted below another, which holds it."""
        request = {"change": change, "folder": str(folder), "below": str(below), "mode": mode}
        request |= {"at": at, "errno": errno, "log": str(log or "")}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the server has ended; it has printed why"
        return Outcome(**json.loads(answer))


def read_log(log: Path, below: Path) -> list[Call]:
    """Read the calls that the shim has logged, with paths relative to the folder."""
    calls = []
    with log.open("rb") as file:
        while line := file.readline():
            name, result, inode, number, size, *paths = line.decode().rstrip("\n").split("\t")
            path, to = (os.path.relpath(path, below) if path else "" for path in paths)
            data = file.read(int(size))
            calls.append(Call(name, result == "0", int(inode), int(number), path, to, data))
    return calls


class Trial:
    """A change that is made over and over to the same folder, and cut off each time.

    The methods that cut it off list the faults that they find, each with the call at which. Calls
    are numbered from 1.
    """

    def __init__(self, server: Server, name: str, change: Change, room: Path) -> None:
        self.name = name
        self._server = server
        self._change = change
        # The same trial may be set up again, where tests are taken over from another worker.
        room = Path(tempfile.mkdtemp(dir=room))
        # The folder lies in one of its own, so that its own entry is watched as well.
        self.below = room / name
        self.folder = self.below / "kept"
        self.below.mkdir()
        change.begin(self.folder)
        self.before = change.look(self.folder)
        self.disk = Disk(self.below)
        self._original = self.disk.now()
        log = room / f"{name}-log"
        outcome = server.make(name, self.folder, Mode.COUNT, below=self.below, log=log)
        assert outcome.is_done, outcome
        self.calls = read_log(log, self.below)
        assert len(self.calls) == outcome.n_calls
        self.after = change.look(self.folder)

    def points(self, step: int) -> list[int]:
        """Choose every so many calls, and those about renames, where the state may change."""
        renames = [k for k, call in enumerate(self.calls, 1) if call.name == "rename"]
        chosen = {*range(1, len(self.calls) + 1, step), *renames, *(k + 1 for k in renames)}
        return sorted(k for k in chosen if k <= len(self.calls))

    def make(self, mode: Mode, **options: Any) -> Outcome:
        """Make the change to the folder as it was in the beginning."""
        self._lay(self._original)
        return self._server.make(self.name, self.folder, mode, below=self.below, **options)

    def left_over(self) -> list[str]:
        """Make it to its end, and list what it leaves that the next change would have to remove."""
        assert self.make(Mode.COUNT).is_done
        return self._change.strays(self.folder)

    def killed(self, points: Iterable[int]) -> list[str]:
        """Kill it before calls."""
        return self._cut_off(points, Mode.KILL)

    def killed_half_way(self, points: Iterable[int]) -> list[str]:
        """Kill it half-way through those calls that write more than a byte."""
        writes = [k for k in points if len(self.calls[k - 1].data) > 1]
        return self._cut_off(writes, Mode.HALVE)

    def refused(self, points: Iterable[int], errno: int, mode: Mode = Mode.FAIL) -> list[str]:
        """Let calls fail, or with `FAIL_FROM` also all that follow."""
        return self._cut_off(points, mode, errno)

    def without_power(
        self, points: Iterable[int], lose: Callable[[Disk], Iterator[Image]]
    ) -> list[str]:
        """Cut the power after calls, and look at every disk that may be left."""
        faults = []
        disk = deepcopy(self.disk)
        seen = set()
        points = {0, len(self.calls), *points}
        for k in range(len(self.calls) + 1):
            if k:
                disk.apply(self.calls[k - 1])
            is_end = k == len(self.calls)
            for image in lose(disk) if k in points else ():
                # Most calls leave the same disks as the one before.
                key = hash((is_end, frozenset(image.items())))
                if key in seen:
                    continue
                seen.add(key)
                self._lay(image)
                state, found = self.judge()
                if is_end and state == "before":
                    found.append("lost, although it was said to be done")
                faults += [f"after {self._call(k)}: {fault}" for fault in found]
        return faults

    def judge(self) -> tuple[str, list[str]]:
        """Tell in which state the folder is ("before", "after" or "both"), and what is wrong.

        Where the two states cannot be told apart, it is in both.
        """
        state = ""
        faults = []
        try:
            found = self._change.look(self.folder)
            if found == self.before:
                state = "both" if self.before == self.after else "before"
            elif found == self.after:
                state = "after"
            else:
                faults.append("neither the state before nor that after")
            self._change.go_on(self.folder)
            faults += [f"left over: {name}" for name in self._change.strays(self.folder)]
        except Exception as error:
            faults.append(f"{type(error).__name__}: {error}")
        return state, faults

    def _cut_off(self, points: Iterable[int], mode: Mode, errno: int = 0) -> list[str]:
        faults = []
        was_after = False
        expected = signal.SIGKILL if mode in (Mode.KILL, Mode.HALVE) else 0
        for k in points:
            outcome = self.make(mode, at=k, errno=errno)
            state, found = self.judge()
            if outcome.signal != expected or not outcome.is_ours:
                found.append(f"ended by signal {outcome.signal}, {outcome.error or 'no error'}")
            if state == "before" and outcome.is_done:
                found.append("not done, and no error was raised")
            if state == "before" and was_after:
                found.append("undone again")
            # One that succeeds in spite of an error is done, wherever that came.
            was_after = was_after or (state == "after" and not outcome.is_done)
            faults += [f"at {self._call(k)}: {fault}" for fault in found]
        return faults

    def _call(self, k: int) -> str:
        return f"call {k} of {len(self.calls)} ({self.calls[k - 1] if k else 'none'})"

    def _lay(self, image: Image) -> None:
        shutil.rmtree(self.below)
        self.below.mkdir()
        lay(image, self.below)

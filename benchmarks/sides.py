"""Two trees that do the same tasks in turns: a commit checked out aside, and this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
# System calls that change files, for those who count them.
MUTATING = "fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir"
WRITING = "write,pwrite64,writev,copy_file_range,sendfile,ftruncate,link,linkat,openat"


class Side:
    """One of the two: a tree, its folder, and a process that stays for what is to be warm.

    `tasks` is a script that reads tasks from its input, a JSON list a line, and answers each with a
    line of JSON; it runs on one thread with the package of the tree.
    """

    def __init__(self, name: str, tree: Path, work: Path, tasks: Path) -> None:
        self.name, self.tree, self.work, self.tasks = name, tree, work, tasks
        work.mkdir(parents=True, exist_ok=True)
        self._environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(tree / "src")}
        self._process: subprocess.Popen[str] | None = None

    def run(self, *task: object, trace: Path | None = None) -> Any:
        """Do a task in a process of its own."""
        command = [sys.executable, str(self.tasks)]
        if trace is not None:
            calls = f"trace={MUTATING},{WRITING}"
            command = ["strace", "-f", "-y", "-qq", "-e", calls, "-o", str(trace), *command]
        line = json.dumps(task, default=str)
        done = subprocess.run(
            command, env=self._environment, input=line, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{self.name}: {task[0]}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def ask(self, *task: object) -> Any:
        """Do a task in the process that stays."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, str(self.tasks)],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(task, default=str), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"{self.name}: {task[0]} failed")
        return json.loads(line)

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None


AnySide = TypeVar("AnySide", bound=Side)


def in_turns(
    sides: Sequence[AnySide], task: Callable[[AnySide], Any], rounds: int
) -> list[list[Any]]:
    """What a task gives of each side, round by round; the side that begins changes."""
    out: list[list[Any]] = [[] for _ in sides]
    for i in range(rounds):
        for j in (0, 1) if i % 2 else (1, 0):
            out[j].append(task(sides[j]))
    return out

"""The first use from source: a second process compiles beside `index`.

What the first commands call is in `first_kernels.txt`, which `make kernels` records by a tour: a
line a kernel, in the order in which the second process compiles. First comes what `index` itself
needs: what takes longest, then from its end, so that the two meet. Then what `search` needs, which
the first process compiles from its end once it has indexed. Then, after an empty line, what `like`
and explanations need, for which nobody waits. The list saves time only: what is not in it, or has
changed, is compiled when it is used.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from likewise import kernel_folders
from likewise.app.progress import is_unwanted

if TYPE_CHECKING:
    from likewise.compiled import Kernel, Recorded

FILE = Path(__file__).with_name("first_kernels.txt")
# Processor time to compile a line of the list on average: benchmarks/start.py --list.
SECONDS_EACH = 0.8


class Line(NamedTuple):
    """A kernel, the types of its arguments and the named tuples among them: see signatures.py."""

    name: str
    arguments: str
    classes: str

    def kernel(self) -> Kernel | None:
        """Import it; None where it is gone."""
        module, _, name = self.name.rpartition(".")
        try:
            found: Kernel = getattr(import_module(module), name)
        except (ImportError, AttributeError):
            return None
        return found


def lines() -> tuple[list[Line], list[Line]]:
    """Read the list: what is waited for, and the rest."""
    waited_for, _, rest = FILE.read_text("utf-8").partition("\n\n")
    first, second = (
        [Line(*row.split("\t")) for row in part.splitlines()] for part in (waited_for, rest)
    )
    return first, second


@contextmanager
def compiled_beside(*, quiet: bool) -> Iterator[None]:
    """Say that something is compiled, where it is, and have a second process help."""
    listed, _ = lines()
    # Where nothing can be kept a second process would compile for nobody.
    needed = not is_unwanted() and bool(listed) and _is_needed(listed)
    if not needed or kernel_folders.room() is None:
        yield
        return
    n_cores = min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    if not quiet:
        seconds = len(listed) * SECONDS_EACH / n_cores
        print(f"likewise: compiling once, about {seconds:.0f} s", file=sys.stderr, flush=True)
    if n_cores < 2:
        yield
        return
    try:
        # -P: nothing is imported from the working directory, whose files may be anybody's.
        helper = subprocess.Popen(
            [sys.executable, "-P", "-m", "likewise.app.first_use"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        yield
        return
    from likewise.jit import is_kept

    try:
        yield
        for line in reversed(listed):
            kernel = line.kernel()
            if kernel is not None and not is_kept(kernel):
                _compile(line)
    except BaseException:
        helper.terminate()
        raise
    # Else the next command would compile what is being compiled. The rest it may do on its own.
    assert helper.stdout is not None
    helper.stdout.readline()


def _is_needed(listed: list[Line]) -> bool:
    """Tell whether the first and the last of the list have yet to be compiled; one look each."""
    from likewise import ahead, jit

    if ahead.libraries():
        return False
    for line in (listed[0], listed[-1]):
        kernel = line.kernel()
        if kernel is not None and jit.is_kept(kernel):
            return False
    return True


def compile_listed() -> None:
    """Compile what the list names, as the second process does."""
    waited_for, rest = lines()
    for line in waited_for:
        _compile(line)
    with suppress(OSError):
        print(flush=True)
    for line in rest:
        _compile(line)


def _compile(line: Line) -> None:
    from likewise.ahead import classes_of
    from likewise.signatures import types_of

    # What is wrong here is told where it is used.
    with suppress(Exception):
        kernel, classes = line.kernel(), classes_of(line.classes)
        if kernel is not None and classes is not None:
            kernel.dispatcher.compile(types_of(line.arguments, classes))


def record() -> None:
    """Write the list anew, of what the first steps of the tour call."""
    from likewise.app import tour
    from likewise.compiled import recording

    with tempfile.TemporaryDirectory() as folder, recording() as recorded:
        # What was called after each step.
        steps = []
        for line in tour.first_steps(Path(folder)):
            tour.run_command(line, Path(folder))
            steps.append(_written(recorded))
    index, search, *_, whole = steps
    searching = [line for line in search if line not in index]
    rest = [line for line in whole if line not in search]
    # What calls most others takes longest: begun later, the other process would wait for it.
    longest = max(index, key=lambda line: len(kernel.reached()) if (kernel := line.kernel()) else 0)
    shared = [longest, *(line for line in reversed(index) if line != longest)]
    first, second = (
        "".join("\t".join(line) + "\n" for line in part) for part in ((*shared, *searching), rest)
    )
    FILE.write_text(f"{first}\n{second}", "utf-8")


def _written(recorded: Recorded) -> list[Line]:
    from likewise.ahead import described
    from likewise.signatures import digit, program_of

    found = []
    for kernel, signatures in recorded.items():
        for types in signatures:
            classes: list[type] = []
            program = "".join(program_of(kind, classes) for kind in types)
            told = " ".join(map(described, classes))
            found.append(Line(kernel.name, digit(len(types)) + program, told))
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        record()
    else:
        compile_listed()

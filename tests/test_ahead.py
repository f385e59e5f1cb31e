"""Kernels compiled ahead: the same bits, arguments checked, never stale, numba not imported."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import likewise
from likewise import ahead, kernel_folders

SOURCE = Path(likewise.__file__).parent
CALLS = Path(__file__).with_name("kernel_calls.py")
HERE = Path(__file__).parent


def run(*arguments, path=SOURCE.parent, **variables):
    """Run Python in a child process, and give what it printed."""
    environment = os.environ | {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("NUMBA_CACHE_DIR", ahead.VARIABLE):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment | {name: str(value) for name, value in variables.items()},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done


# The same bits


@pytest.mark.parametrize("which", ["some", pytest.param("all", marks=pytest.mark.long)])
def test_the_same_bits_compiled_ahead_and_when_used(tmp_path, which):
    names = ["neighbours.kernels.score_pairs", "models.subspace.project", "models.topics.infer"]
    if which == "all":
        names = [*runpy.run_path(str(CALLS))["CALLS"]]
    made = json.loads(run(CALLS, "link", tmp_path / "made", *names).stdout)
    assert made["left_out"] == {}
    used = json.loads(run(CALLS, *names, NUMBA_CACHE_DIR=tmp_path / "made").stdout)
    assert used["bits"] == made["bits"]
    assert not used["numba"]
    assert made["numba"]


# Arguments, results

PACKAGE = {
    "__init__": "",
    "errors": "class LikewiseError(Exception):\n    pass\n",
    "sizes": "STEP = 2\n",
    "inner": (
        "from likewise.compiled import kernel\n"
        "from likewise.sizes import STEP\n\n\n"
        "@kernel\ndef add(x):\n    return x + STEP\n"
    ),
    "outer": (
        "import numpy as np\n"
        "from typing import NamedTuple\n"
        "from likewise.compiled import kernel\n"
        "from likewise.inner import add\n\n\n"
        "class Pair(NamedTuple):\n    first: object\n    second: object\n\n\n"
        "@kernel\ndef twice(x):\n    return 2 * add(x)\n\n\n"
        "@kernel\ndef mean(x, y):\n    return Pair(x.sum(), y), x.size > 2, (x[1:], y * x)\n\n\n"
        "@kernel\ndef swap(pair, of):\n    return pair.second[of[0]], pair.first - of[1]\n\n\n"
        "@kernel\ndef fill(x, y):\n    x[:] = y\n\n\n"
        "@kernel\ndef check(x):\n"
        "    if x < 0:\n        raise ValueError('below nothing')\n    return x\n\n\n"
        "@kernel\ndef listed(n):\n"
        "    found = [np.int64(1)]\n"
        "    for i in range(n):\n        found.append(i * i)\n"
        "    return np.array(found).reshape(-1, 2)\n\n\n"
        "@kernel\ndef room(n):\n    return np.empty(n)\n"
    ),
}
# What is compiled: each kernel for the arguments that it is called with here.
LINK = """
import sys
from pathlib import Path
import numpy as np
from likewise import linking
from likewise.compiled import recording
from likewise.outer import *
with recording() as recorded:
    twice(1); twice(1.5)
    mean(np.arange(3.0), np.float32(2))
    swap(Pair(7, np.arange(4, dtype=np.int32)), (1, 3))
    fill(np.zeros((2, 3), np.uint8), True)
    check(1)
    listed(3)
    room(2)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    mean(frozen, np.float32(2))
made = linking.link(recorded, to=Path(sys.argv[1]) / "likewise")
assert not made.left_out, made.left_out
print(*made.names)
"""
BEGIN = "import sys; import numpy as np; from likewise.outer import *\n"
END = "\nprint('numba' in sys.modules)"


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    """A package of kernels, and the folder of what they were compiled to ahead."""
    folder = tmp_path_factory.mktemp("linked")
    package = folder / "package" / "likewise"
    package.mkdir(parents=True)
    for name, text in PACKAGE.items():
        (package / f"{name}.py").write_text(text)
    for name in ("compiled", "forking", "ahead", "jit", "kernel_folders", "linking", "signatures"):
        shutil.copy(SOURCE / f"{name}.py", package)
    for name in ("ahead.c", "ahead.h"):
        shutil.copy(SOURCE / name, package)
    names = run("-c", LINK, folder / "made", path=package.parent).stdout.split()
    # Where an array is only read, code for one that may not be written to serves all.
    named = [name.rpartition(".")[2] for name in names]
    assert named == [*("check", "fill", "listed", "mean", "room", "swap", "twice", "twice")]
    # What was compiled to link it is no help to what is tried here.
    shutil.rmtree(package / "__pycache__" / "kernels")
    return SimpleNamespace(package=package, made=folder / "made")


AHEAD = [
    "print(twice(1), twice(np.int64(4)), twice(1.5), twice(np.float64(2)))",
    "print(mean(np.arange(4.0), np.float32(2)))",
    "print(type(mean(np.arange(4.0), np.float32(2))[0]), mean(np.arange(1.0), np.float32(2)))",
    "print(swap(Pair(7, np.arange(4, dtype=np.int32)), (1, 3)))",
    "x = np.zeros((2, 3), np.uint8); print(fill(x, True), x.tolist(), fill(x, np.False_), x)",
    "print(listed(3).tolist(), listed(101).sum())",
    "print(room(0).shape, room(3).shape, room(3).flags.writeable)",
    # Neither the array that is a part of an argument nor the one that is new goes too early.
    "part, new = mean(np.arange(10_000.0), np.float32(2))[2]\n"
    "for i in range(50): np.full(10_000, 7.0)\n"
    "print(part.sum(), new.sum())",
    "for arguments in ((-1,), (2,)):\n"
    "    try: print(check(*arguments))\n"
    "    except ValueError as error: print(error)",
    "try: room(1 << 59)\nexcept MemoryError as error: print(error)",
]
OTHERWISE = [
    "print(twice(np.float32(1.5)))",
    "print(twice(np.int32(1)))",
    "print(twice(True))",
    "print(twice(1 << 63))",
    "print(mean(np.arange(4, dtype=np.float32), np.float32(2)))",
    "print(mean(np.arange(8.0)[::2], np.float32(2)))",
    "print(mean(np.arange(4.0), 2.0))",
    "x = np.zeros((3, 2), np.uint8); fill(x.T, True); print(x)",
    "x = np.zeros(3, np.uint8); fill(x, True); print(x)",
    "x = np.zeros((2, 3), np.uint8); fill(x, 1); print(x)",
    "print(swap(Pair(7, np.arange(4, dtype=np.int64)), (1, 3)))",
    "print(swap(Pair(7, np.arange(4, dtype=np.int32)), (1, 3.5)))",
    # A named tuple is told from another with other fields.
    "print(swap(namedtuple('Pair', 'second first')(np.arange(4, dtype=np.int32), 7), (1, 3)))",
    "x = np.zeros((2, 3), np.uint8); x.flags.writeable = False\n"
    "try: fill(x, True)\nexcept Exception as error: print(type(error), x.sum())",
    "try: twice()\nexcept TypeError as error: print('TypeError')",
    "try: twice('a')\nexcept Exception as error: print(type(error))",
]
# Print what each says, and whether numba was asked.
TRY = """
import json, sys
from collections import namedtuple
from contextlib import redirect_stdout
from io import StringIO
import numpy as np
from likewise.compiled import Kernel
from likewise.outer import *
def compile_and_run(self, *arguments):
    asked.append(self)
    return self.dispatcher(*arguments)
Kernel.compile_and_run = compile_and_run
for code in sys.argv[1:]:
    asked = []
    with redirect_stdout(StringIO()) as said:
        exec(code)
    print(json.dumps([said.getvalue(), bool(asked)]))
print(json.dumps('numba' in sys.modules))
"""


def test_what_was_compiled_ahead_is_called_without_numba(linked, tmp_path):
    for codes, is_ahead in ((AHEAD, True), (OTHERWISE, False)):
        place = {"path": linked.package.parent, "NUMBA_CACHE_DIR": linked.made}
        *said, numba = map(json.loads, run("-c", TRY, *codes, **place).stdout.splitlines())
        place["NUMBA_CACHE_DIR"] = tmp_path
        *plain, _ = map(json.loads, run("-c", TRY, *codes, **place).stdout.splitlines())
        assert [text for text, _ in said] == [text for text, _ in plain]
        assert all(text for text, _ in said)
        assert {asked for _, asked in said} == {not is_ahead}
        assert {asked for _, asked in plain} == {True}
        assert numba is not is_ahead


# Never stale, never for another processor


@pytest.mark.parametrize(
    ("file", "old", "new", "answer", "numba"),
    [
        ("sizes", "2", "3", "8", True),
        ("inner", "x + STEP", "x - STEP", "-2", True),
        ("inner", "@kernel", "# Words only.\n@kernel", "6", False),
        ("outer", "x - STEP", "x", "6", False),
    ],
)
def test_a_kernel_that_has_changed_is_compiled_again(
    linked, tmp_path, file, old, new, answer, numba
):
    shutil.copytree(linked.package, tmp_path / "likewise")
    path = tmp_path / "likewise" / f"{file}.py"
    path.write_text(path.read_text().replace(old, new))
    done = run("-c", f"{BEGIN}print(twice(1)){END}", path=tmp_path, NUMBA_CACHE_DIR=linked.made)
    assert done.stdout.split() == [answer, str(numba)]


def test_a_named_tuple_that_has_changed_is_compiled_for_again(linked, tmp_path):
    shutil.copytree(linked.package, tmp_path / "likewise")
    path = tmp_path / "likewise" / "outer.py"
    text = path.read_text()
    fields = "    first: object\n    second: object\n"
    assert fields in text
    path.write_text(text.replace(fields, "    second: object\n    first: object\n"))
    code = "print(swap(Pair(np.arange(4, dtype=np.int32), 7), (1, 3)))"
    done = run("-c", f"{BEGIN}{code}{END}", path=tmp_path, NUMBA_CACHE_DIR=linked.made)
    assert done.stdout.split("\n")[:2] == ["(1, 4)", "True"]


@pytest.fixture
def fresh():
    """No library loaded yet, and none after."""
    for function in (ahead.libraries, kernel_folders.places):
        function.cache_clear()
    yield
    for function in (ahead.libraries, kernel_folders.places):
        function.cache_clear()


def test_code_for_another_processor_is_not_used(linked, fresh, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(linked.made))
    monkeypatch.delenv(ahead.VARIABLE, raising=False)
    [library] = ahead.libraries()
    numba_target = import_module("likewise.jit").target()
    assert library.module.target == numba_target[0]
    ahead.libraries.cache_clear()
    other = SimpleNamespace(supported=False)
    monkeypatch.setattr(ahead, "Library", lambda path: SimpleNamespace(module=other))
    assert ahead.libraries() == []


def test_who_chooses_a_processor_gets_its_code(linked, tmp_path):
    code = f"{BEGIN}print(twice(1)){END}"
    for variables in ({"NUMBA_CPU_NAME": "x86-64"}, {ahead.VARIABLE: "0"}):
        done = run("-c", code, path=linked.package.parent, NUMBA_CACHE_DIR=linked.made, **variables)
        assert done.stdout.split() == ["6", "True"]


def test_a_file_that_is_damaged_or_cannot_be_loaded_is_passed_over(linked, tmp_path):
    (tmp_path / "likewise").mkdir()
    [library] = (linked.made / "likewise").glob("_ahead-*")
    cut_off = tmp_path / "likewise" / library.name
    cut_off.write_bytes(library.read_bytes()[:5000])
    other = tmp_path / "other"
    other.write_bytes(b"no library")
    other.rename(tmp_path / "likewise" / ahead.name_of(ahead.digest_of(other)))
    code = f"{BEGIN}print(twice(1)){END}"
    done = run("-c", code, path=linked.package.parent, NUMBA_CACHE_DIR=tmp_path)
    assert done.stdout.split() == ["6", "True"]
    assert done.stderr.count("make it anew: likewise compile") == 2
    assert f"{cut_off} is damaged" in done.stderr
    assert "cannot be loaded" in done.stderr


# The command


def test_a_machine_without_a_compiler_is_told(tmp_path):
    code = "from likewise import linking; linking.find_compiler()"
    done = subprocess.run(
        [sys.executable, "-c", f"import sysconfig; sysconfig._CONFIG_VARS = {{}}; {code}"],
        env={"PYTHONPATH": str(SOURCE.parent), "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "no C compiler was found; install one" in done.stderr

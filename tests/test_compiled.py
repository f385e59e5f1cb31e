"""Kernels: the same bits compiled or loaded, never stale, kept where there is room, lazy."""

import ast
import gc
import inspect
import json
import logging
import os
import pkgutil
import runpy
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import likewise
import likewise_papers
from likewise import jit, kernel_folders
from likewise.compiled import Kernel, content_of, fast_kernel, kernel, one_blas_thread

SOURCE = Path(likewise.__file__).parent
CALLS = Path(__file__).with_name("kernel_calls.py")


def run(*arguments, path=SOURCE.parent, launcher=(), **variables):
    """Run Python in a child process, and give what it printed."""
    environment = os.environ | {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        environment.pop(name, None)
    # What this tree compiled ahead is left alone.
    environment["LIKEWISE_AHEAD"] = "0"
    environment |= {name: str(value) for name, value in variables.items()}
    # The limit only ends a child that hangs.
    done = subprocess.run(
        [*launcher, sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done


# The same bits


def all_kernels():
    found = {}
    for package in (likewise, likewise_papers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                for value in vars(import_module(module.name)).values():
                    if isinstance(value, Kernel):
                        name = f"{value.py_func.__module__}.{value.py_func.__name__}"
                        found[name.removeprefix("likewise.")] = value
    return found


def test_the_calls_are_of_all_kernels_around_reordered_sums():
    kernels = all_kernels()
    needed = set()
    for name, each in kernels.items():
        if any(called.fast for called in each.reached()):
            needed.add(name)
        if each.fast:
            needed |= {n for n, called in kernels.items() if called in each.reached()}
    assert len([each for each in kernels.values() if each.fast]) >= 30
    assert set(runpy.run_path(str(CALLS))["CALLS"]) == needed


# Callers of kernels, as different as they come; all others are tried by make test-long.
CALLERS = {"neighbours.kernels.score_pairs", "models.subspace.project", "models.topics.infer"}


@pytest.mark.parametrize("which", ["some", pytest.param("all", marks=pytest.mark.long)])
def test_the_same_bits_compiled_and_loaded(tmp_path, which):
    calls = runpy.run_path(str(CALLS))
    kernels = {name: calls["kernel_of"](name) for name in calls["CALLS"]}
    if which == "some":
        reached = [each for name in CALLERS for each in kernels[name].reached()]
        kernels = {name: each for name, each in kernels.items() if each in reached}
    within = {
        name: [n for n in kernels if kernels[n] in each.reached()[1:]]
        for name, each in kernels.items()
    }
    callees = {callee for called in within.values() for callee in called}
    callers_first = sorted(kernels, key=lambda name: -len(within[name]))
    callees_first = callers_first[::-1]

    def bits(cache, order, *options):
        said = json.loads(run(CALLS, *options, *order, NUMBA_CACHE_DIR=cache).stdout)
        assert said.get("copies", {}) == {}
        return said["bits"]

    def without(names):
        cache = tmp_path / "some"
        shutil.copytree(tmp_path / "all", cache, dirs_exist_ok=True)
        for path in (cache / "likewise").iterdir():
            if kernel_in(path) in names:
                path.unlink()
        return cache

    def kernel_in(path):
        return path.name.partition(".cpython")[0].removeprefix("likewise.")

    cold = bits(tmp_path / "all", callers_first, "copies")
    kept = [kernel_in(path) for path in (tmp_path / "all" / "likewise").iterdir()]
    assert {*kept} >= kernels.keys()
    # Some are compiled for several types.
    assert which == "some" or len(kept) > len(kernels)
    assert bits(tmp_path / "all", callers_first) == cold
    assert len(list((tmp_path / "all" / "likewise").iterdir())) == len(kept)
    # Callers are loaded, and what they call is compiled on its own before; and the other way.
    assert bits(without(callees), callees_first) == cold
    assert bits(without(CALLERS), callees_first) == cold


WRITING = {
    # Too many branches for the compiler to take several at once.
    "models.weighting.weigh",
}


def test_reordered_sums_are_taken_where_nothing_is_written():
    """Else where arrays happen to stand in memory decides how they are added up.

    Such a loop is compiled twice: the copy that adds one by one is run where what is written
    stands within a few vectors' reach of what is read.
    """
    found = set()
    for name, each in all_kernels().items():
        if each.fast:
            tree = ast.parse(textwrap.dedent(inspect.getsource(each.py_func)))
            found |= {name for loop in innermost_loops(tree) if adds_up_and_writes(loop)}
    assert found == WRITING


def innermost_loops(tree):
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    return [
        loop
        for loop in loops
        if not any(isinstance(node, ast.For | ast.While) for b in loop.body for node in ast.walk(b))
    ]


def adds_up_and_writes(loop):
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    adds = [n for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
    written = [target for n in nodes if isinstance(n, ast.Assign) for target in n.targets]
    written += [n.target for n in nodes if isinstance(n, ast.AugAssign)]
    return bool(adds) and any(isinstance(target, ast.Subscript) for target in written)


# Never stale

PACKAGE = {
    "__init__": "",
    "sizes": "STEP = 2\n",
    "unrelated": "STEP = 5\n",
    "inner": (
        "from likewise.compiled import kernel\n"
        "from likewise.sizes import STEP\n\n\n"
        "@kernel\ndef add(x):\n    return x + STEP\n"
    ),
    "outer": (
        "from likewise.compiled import kernel\n"
        "from likewise.inner import add\n"
        "from likewise.unrelated import STEP as OTHER\n\n\n"
        "@kernel\ndef twice(x):\n    return 2 * add(x)\n"
    ),
}
# The answer, and how many kernels were compiled for it.
CALL = (
    "from likewise.inner import add; from likewise.outer import twice; {0}; add(1);"
    "print(twice(1), sum(sum(k.dispatcher.stats.cache_misses.values()) for k in (add, twice)))"
)


@pytest.fixture
def package(tmp_path):
    """A package of two kernels in two files."""
    folder = tmp_path / "package" / "likewise"
    folder.mkdir(parents=True)
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(text)
    for name in ("compiled.py", "forking.py", "ahead.py", "jit.py", "kernel_folders.py"):
        shutil.copy(SOURCE / name, folder)
    return folder


def call(package, before="pass", **options):
    done = run("-c", CALL.format(before), path=package.parent, **options)
    answer, n_compiled = map(int, done.stdout.split())
    return answer, n_compiled, done.stderr


def test_a_kernel_is_compiled_again_when_what_it_calls_has_changed(package):
    assert call(package) == (6, 2, "")
    kept = sorted(path.name for path in (package / "__pycache__" / "kernels").iterdir())
    assert len(kept) == 2
    for name, old, new in (
        ("unrelated", "5", "6"),
        ("inner", "@kernel", "# Words only.\n@kernel"),
        ("compiled", '"""Run it."""', '"""Run."""'),
    ):
        path = package / f"{name}.py"
        path.write_text(path.read_text().replace(old, new))
    assert call(package) == (6, 0, "")
    # While a process is under way, which has what it imported.
    change = f"open({str(package / 'sizes.py')!r}, 'w').write('STEP = 30')"
    removal = (
        f"import os; [os.unlink(e) for e in os.scandir({str(package)!r} + '/__pycache__/kernels')]"
    )
    assert call(package, f"{removal}; {change}") == (6, 2, "")
    assert call(package) == (62, 2, "")
    # Only what is of use is kept beside the sources.
    left = sorted(path.name for path in (package / "__pycache__" / "kernels").iterdir())
    assert len(left) == 2
    assert not set(left) & set(kept)


Pair = namedtuple("Pair", "first second")


def drawn(source, **constants):
    """Make a kernel of a function's source, with constants and other kernels as its globals."""
    scope = {"__name__": "likewise.drawn", "np": np} | constants
    exec(f"def function(x):\n    return {source}", scope)
    return Kernel(scope["function"])


def around(y):
    return Kernel(lambda x: x + y)


def test_the_content_of_a_kernel_is_told_from_others():
    inner = drawn("x + 1")
    alike = {
        "plain": drawn("x + 1"),
        "fast": fast_kernel(drawn("x + 1").py_func),
        "constant in the code": drawn("x + 2"),
        "number of another type": drawn("x + 1.0"),
        "sign of zero": drawn("x + 0.0"),
        "the other zero": drawn("x + -0.0"),
        "other name": drawn("x + y", y=1),
        "constant": drawn("x + y", y=2),
        "small constant": drawn("x + y", y=np.uint8(2)),
        "double": drawn("x + y", y=np.float64(2)),
        "float": drawn("x + y", y=2.0),
        "array": drawn("x + y", y=np.arange(3)),
        "longer array": drawn("x + y", y=np.arange(4)),
        "narrower array": drawn("x + y", y=np.arange(3, dtype=np.int32)),
        "tuple": drawn("x + y", y=(1, 2)),
        "attribute": drawn("np.sqrt(x)"),
        "other attribute": drawn("np.log(x)"),
        "callee": drawn("y(x)", y=inner),
        "fast callee": drawn("y(x)", y=fast_kernel(inner.py_func)),
        "other callee": drawn("y(x)", y=drawn("x + 2")),
        "callee of a callee": drawn("y(x)", y=drawn("z(x)", z=inner)),
        "other callee of a callee": drawn("y(x)", y=drawn("z(x)", z=drawn("x + 2"))),
        "inside a comprehension": drawn("[y(i) for i in x]", y=inner),
        "other inside a comprehension": drawn("[y(i) for i in x]", y=drawn("x + 2")),
        "members": drawn("x in {'one', 'two'}"),
        "other members": drawn("x in {'one', 'three'}"),
        "named tuple": drawn("y(x, x)", y=Pair),
        "other fields": drawn("y(x, x)", y=namedtuple("Pair", "second first", module=__name__)),
    }
    for step in (1, 2):
        alike[f"default {step}"] = Kernel(lambda x, by=step: x + by)
        alike[f"variable around it {step}"] = around(step)
        alike[f"kernel around it {step}"] = around(drawn(f"x + {step}"))
    contents = {name: content_of(each) for name, each in alike.items()}
    assert len(set(contents.values())) == len(contents)
    assert contents["plain"] == content_of(drawn("x + 1  # said otherwise", unrelated=3))
    with pytest.raises(TypeError, match="may refer to numbers"):
        content_of(drawn("x + y.z", y=jit))


def test_the_content_of_all_kernels_is_known_and_the_same_in_every_process():
    contents = {name: content_of(each) for name, each in all_kernels().items()}
    assert len(set(contents.values())) == len(contents)
    code = (
        "import sys, json, runpy; from likewise.compiled import content_of;"
        "kernel_of = runpy.run_path(sys.argv[1])['kernel_of'];"
        "print(json.dumps({name: content_of(kernel_of(name)) for name in sys.argv[2:]}))"
    )
    done = run("-c", code, CALLS, *contents, PYTHONHASHSEED=1)
    assert json.loads(done.stdout) == contents


def test_a_named_tuple_is_told_by_its_fields():
    numba = import_module("numba")
    swapped = namedtuple("Pair", "second first", module=__name__)
    types = [numba.typeof(each(1, 2.0)) for each in (Pair, swapped)]
    types.append(numba.typeof((1, 2.0)))
    assert len({repr(jit._described(kind)) for kind in types}) == 3


def test_a_damaged_file_is_compiled_again(package):
    assert call(package) == (6, 2, "")
    for path in (package / "__pycache__" / "kernels").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert call(package) == (6, 2, "")


# A machine that cannot be written to


@pytest.fixture
def fresh():
    """No folder chosen yet, and none after."""
    functions = (kernel_folders.places, kernel_folders.room, jit._say_not_kept)
    for function in functions:
        function.cache_clear()
    yield
    for function in functions:
        function.cache_clear()


def test_code_is_kept_in_a_private_folder_where_no_other_can_be_written_to(package, tmp_path):
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "kernels").touch()
    (tmp_path / "temporary").mkdir()
    places = {"HOME": "/proc/nowhere", "TMPDIR": tmp_path / "temporary"}
    answer, n_compiled, said = call(package, **places)
    assert (answer, n_compiled) == (6, 2)
    assert said.count("compiled code is not kept for good") == 1
    private = tmp_path / "temporary" / f"likewise-kernels-{os.getuid()}"
    assert str(private) in said
    assert private.stat().st_mode & 0o777 == 0o700
    assert len(list(private.iterdir())) == 2
    # Loaded from there, which is worth no words.
    assert call(package, **places) == (6, 0, "")
    private.chmod(0o755)
    answer, n_compiled, said = call(package, **places)
    assert (answer, n_compiled) == (6, 2)
    assert said.count("compiled code is not kept for good") == 1
    assert str(private) not in said


def test_a_private_folder_of_anybody_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"likewise-kernels-{os.getuid()}"
    assert kernel_folders.private_folder() == folder
    assert kernel_folders.private_folder() == folder
    for mode in (0o701, 0o710, 0o720, 0o777):
        folder.chmod(mode)
        assert kernel_folders.private_folder() is None
    folder.chmod(0o700)
    target = folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(target)
    assert kernel_folders.private_folder() is None
    folder.unlink()
    folder.touch(mode=0o600)
    assert kernel_folders.private_folder() is None
    folder.unlink()
    folder = target.rename(tmp_path / f"likewise-kernels-{os.getuid() + 1}")
    monkeypatch.setattr(os, "getuid", lambda own=os.getuid(): own + 1)
    assert kernel_folders.private_folder() is None


def test_nothing_is_kept_where_there_is_no_temporary_folder(monkeypatch, fresh, caplog):
    def missing():
        raise FileNotFoundError

    monkeypatch.setattr(tempfile, "gettempdir", missing)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert kernel_folders.room() is None
    for step in range(2):
        assert drawn("x + step", step=step)(1) == 1 + step
    assert [record.name for record in caplog.records] == ["likewise.jit"]
    assert "not kept for good" in caplog.text


def test_a_folder_that_cannot_be_saved_to_costs_no_answer(tmp_path, monkeypatch, fresh, caplog):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kernel_folders.room() == tmp_path / "likewise"
    # Taken away after it was chosen.
    (tmp_path / "likewise").rmdir()
    for step in range(2):
        assert drawn("x - step", step=step)(1) == 1 - step
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_what_another_process_compiles_is_waited_for(tmp_path, monkeypatch, fresh):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    there = drawn("x * 7")
    assert there(1) == 7
    [kept] = (tmp_path / "likewise").iterdir()
    aside = kept.rename(tmp_path / "aside")
    turn = jit.take_turn(kept.with_name(f"{kept.name}.turn"), lambda: False)

    def compiled_there(_):
        aside.rename(kept)
        os.close(turn)

    monkeypatch.setattr(jit, "sleep", compiled_there)
    here = drawn("x * 7")
    assert here(1) == 7
    assert sum(here.dispatcher.stats.cache_hits.values()) == 1
    assert [*kept.parent.iterdir()] == [kept]
    # Who waits too long, for a process that hangs, compiles.
    kept.unlink()
    turn = jit.take_turn(kept.with_name(f"{kept.name}.turn"), lambda: False)
    monkeypatch.setattr(jit, "sleep", lambda _: None)
    assert drawn("x * 7")(1) == 7
    assert kept.exists()
    os.close(turn)


def test_threads_that_compile_the_same_end_one_turn(tmp_path, monkeypatch, fresh):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    ended = []
    end_turn = jit._Kept.end_turn
    monkeypatch.setattr(
        jit._Kept, "end_turn", lambda kept: ended.append(kept._turn is not None) or end_turn(kept)
    )
    made, ready = drawn("x * 11"), threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: (ready.wait(), made(i))[1], range(8)))
    assert answers == [11 * i for i in range(8)]
    assert sum(ended) == 1
    assert not [*tmp_path.rglob("*.turn")]


def test_nothing_is_looked_for_in_the_working_folder(monkeypatch, fresh):
    for home in ("", "here", "~nobody-of-that-name"):
        monkeypatch.setenv("XDG_CACHE_HOME", home)
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
        assert kernel_folders.of_user() == []


def can_mount():
    try:
        command = ["unshare", "--map-root-user", "--mount", "true"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not can_mount(), reason="file systems cannot be made read-only here")
def test_a_machine_that_is_read_only(package, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = tmp_path / "read_only"
    mounts = " && ".join(
        f"mount --bind {place} {place} && mount -o remount,ro,bind {place}"
        for place in (temporary, package)
    )
    # The folders that temporary files may be in; the test's own is among them, and opened first.
    others = " ".join({"/tmp", "/var/tmp", "/usr/tmp"})
    script.write_text(
        f"set -e\n{mounts}\ncd /proc\nexec 2>&1\n"
        f"for place in {others}; do\n"
        '  test ! -d "$place" || { mount --bind "$place" "$place"'
        ' && mount -o remount,ro,bind "$place"; }\ndone\nexec "$@"\n'
    )
    launcher = ("unshare", "--map-root-user", "--mount", "sh", str(script))
    places = {"launcher": launcher, "HOME": "/proc/nowhere", "TMPDIR": temporary}
    done = run("-c", CALL.format("pass"), path=package.parent, **places)
    assert done.stdout.count("compiled code is not kept for good") == 1
    assert done.stdout.split()[-2:] == ["6", "2"]
    # Filled when the machine was set up, it is read.
    assert call(package) == (6, 2, "")
    done = run("-c", CALL.format("pass"), path=package.parent, **places)
    assert done.stdout.split() == ["6", "0"]


# Lazy


def test_no_module_imports_numba():
    code = (
        "import pkgutil, sys, likewise, likewise_papers; from importlib import import_module;"
        "names = [m.name for package in (likewise, likewise_papers)"
        " for m in pkgutil.walk_packages(package.__path__, package.__name__ + '.')];"
        "[import_module(name) for name in names if not name.endswith('__main__')];"
        "sys.exit('numba' in sys.modules)"
    )
    run("-c", code)


def test_kernels_are_first_called_by_several_threads(package):
    code = (
        "import threading; from concurrent.futures import ThreadPoolExecutor;"
        "from likewise.inner import add; from likewise.outer import twice;"
        "ready = threading.Barrier(8); pool = ThreadPoolExecutor(8);"
        "ask = lambda i: (ready.wait(), (add, twice)[i % 2](i // 4 * 1.0 if i % 4 > 1 else i))[1];"
        "print(*pool.map(ask, range(8)));"
        "print(*(len(k.dispatcher.signatures) for k in (add, twice)))"
    )
    for _ in range(2):
        done = run("-c", code, path=package.parent)
        assert done.stdout.splitlines() == ["2 6 2.0 4.0 6 14 3.0 6.0", "2 2"]


def test_a_child_compiles_what_calls_code_of_its_parent(package):
    code = (
        "import os; from likewise.inner import add; from likewise.outer import twice;"
        "print(add(1), twice(1), flush=True); child = os.fork();"
        # In one piece, whatever the other process prints.
        "os.write(1, f'{add(1.0)} {twice(1.0)} {twice(1)}\\n'.encode());"
        "child and os.waitpid(child, 0)[1] and print('failed')"
    )
    done = run("-W", "ignore", "-c", code, path=package.parent)
    assert done.stdout.splitlines() == ["3 6", *2 * ["3.0 6.0 6"]]


def test_what_a_kernel_says_and_raises_in_what_it_calls(package):
    (package / "spoken.py").write_text(
        "from likewise.compiled import kernel\n\n\n"
        "@kernel\ndef told(x):\n    print('told', x)\n"
        "    if x > 3:\n        raise ValueError('too large', x)\n    return x\n\n\n"
        "@kernel\ndef after(x):\n    return told(x) + 1\n"
    )
    code = (
        "from likewise.spoken import after, told\nprint(after(1), flush=True)\n"
        "for each in (after, told):\n"
        "    try:\n        each(4)\n"
        "    except ValueError as error:\n        print(error.args, flush=True)"
    )
    for _ in range(2):
        lines = run("-c", code, path=package.parent).stdout.splitlines()
        assert lines == ["told 1", "2", *2 * ["told 4", "('too large', 4)"]]


@pytest.mark.parametrize("known", [True, False])
def test_another_numba_compiles_in_its_own_way(package, known):
    numba = pytest.importorskip("numba")
    if known and not jit._is_known(numba):
        pytest.skip("not known of this numba")
    before = "pass" if known else "from likewise import jit; jit._KNOWN = (0, 1), (0, 2)"
    assert call(package, before) == (6, 2, "")
    assert call(package, before) == (6, 0, "")
    kinds = "; print(*{type(o.library).__name__ for o in add.dispatcher.overloads.values()})"
    done = run("-c", CALL.format(before) + kinds, path=package.parent)
    assert done.stdout.split()[-1] == ("Library" if known else "JITCodeLibrary")


def test_garbage_is_looked_for_as_before_once_compiled():
    before = gc.get_threshold()
    assert drawn("x * 13")(1) == 13
    with pytest.raises(Exception, match="No implementation of function"):
        drawn("x * 17")(None)
    assert gc.get_threshold() == before
    try:
        gc.set_threshold(0)
        assert drawn("x * 19")(1) == 19
        assert gc.get_threshold()[0] == 0
        gc.set_threshold(*before)
        with jit._seldom_collected():
            gc.set_threshold(5, 5, 5)
        assert gc.get_threshold() == (5, 5, 5)
    finally:
        gc.set_threshold(*before)


def test_flags_compare_as_those_of_numba():
    plain = import_module("numba.core.compiler").Flags
    made = drawn("x * 23").dispatcher._compiler._customize_flags
    sets = [{}, {"nrt": True}, {"nrt": False}, {"nrt": True, "error_model": "numpy"}]
    found = []
    for chosen in sets:
        flags = plain()
        for name, value in chosen.items():
            setattr(flags, name, value)
        found.append((flags, made(flags)))
    assert type(found[0][1].copy()) is made
    for a, quick_a in found:
        for b, quick_b in found:
            assert (quick_a == quick_b) is (quick_a == b) is (a == quick_b) is (a == b)
            assert hash(quick_a) == hash(a) == hash(b)


def test_a_kernel_looks_like_its_function():
    @kernel
    def half(x):
        """Halve it."""
        return x / 2

    assert (half.__name__, half.__doc__, half(3)) == ("half", "Halve it.", 1.5)
    assert half.__wrapped__ is half.py_func


# Threads of BLAS


def blas():
    """What NumPy and SciPy have: one pool of threads for the process."""
    return ThreadpoolController().select(threading_layer="pthreads")


def blas_threads():
    return {library["num_threads"] for library in blas().info()}


@pytest.fixture
def two_threads():
    """BLAS set to two threads, whatever the machine has."""
    with blas().limit(limits=2):
        assert blas_threads() == {2}
        yield


class Trouble(Exception):
    pass


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("order", sorted(set(permutations("aabb"))), ids="".join)
def test_overlapping_limits_of_blas_are_lifted_by_the_last(order, fails, two_threads):
    trouble = (Trouble, Trouble(), None) if fails else (None, None, None)
    inside = {}
    with ThreadPoolExecutor(1) as a, ThreadPoolExecutor(1) as b:
        threads = {"a": a, "b": b}
        for name in order:
            if name not in inside:
                inside[name] = one_blas_thread()
                threads[name].submit(inside[name].__enter__).result()
            else:
                leaving = threads[name].submit(inside[name].__exit__, *trouble)
                assert not leaving.result()
                inside[name] = None
            expected = 1 if any(inside.values()) else 2
            assert blas_threads() == {expected}


def test_an_exception_passes_and_lifts_the_limit_of_blas(two_threads):
    with pytest.raises(Trouble), one_blas_thread(), one_blas_thread():
        raise Trouble
    assert blas_threads() == {2}


def test_blas_that_was_loaded_meanwhile_is_limited_too(two_threads):
    first, second = one_blas_thread(), one_blas_thread()
    with first:
        # As a library is when it has just been loaded.
        blas().limit(limits=2)
        with second:
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}

"""The first use from source: the list of kernels is current, and a second process compiles it."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from likewise.app import first_use
from likewise.app.first_use import Line, compile_listed, compiled_beside, lines
from likewise.app.progress import VARIABLE
from likewise.signatures import types_of


def test_the_list_is_of_what_the_first_commands_call(tmp_path, monkeypatch):
    """Else `make kernels` records it anew."""
    code = (
        "import sys; from pathlib import Path; from likewise.app import first_use;"
        "first_use.FILE = Path(sys.argv[1]); first_use.FILE.touch(); first_use.record()"
    )
    environment = os.environ | {"LIKEWISE_AHEAD": "0"}
    subprocess.run([sys.executable, "-c", code, tmp_path / "list"], env=environment, check=True)
    known = lines()
    monkeypatch.setattr(first_use, "FILE", tmp_path / "list")
    # Threads call some in another order.
    assert [sorted(part) for part in lines()] == [sorted(part) for part in known]


def test_what_is_listed_is_compiled_and_the_rest_passed_over(monkeypatch, capsys):
    found = next(line for line in lines()[0] if "text.chunks._hash_all" in line.name)
    gone = [
        Line("likewise.text.nowhere.gone", "1Si8", ""),
        Line("likewise.text.chunks.gone", "1Si8", ""),
        # Types that it cannot be compiled for, and named tuples that are others now.
        found._replace(arguments="1Sf8"),
        found._replace(classes="likewise.records:Query:nothing"),
    ]
    monkeypatch.setattr(first_use, "lines", lambda: (gone, [found]))
    kernel = found.kernel()
    compile_listed()
    # Nobody waits for the rest.
    assert capsys.readouterr().out == "\n"
    assert types_of(found.arguments, ()) in kernel.dispatcher.signatures
    assert all(line.kernel() is None for line in gone[:2])


@pytest.fixture
def helpers(monkeypatch):
    """A first use on two cores, and the processes that it starts, which do nothing."""
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(first_use, "_is_needed", lambda listed: True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    started = []

    def start(command, **_):
        done = []
        helper = SimpleNamespace(
            command=command,
            done=done,
            stdout=SimpleNamespace(readline=lambda: done.append("waited for")),
            terminate=lambda: done.append("terminated"),
        )
        started.append(helper)
        return helper

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


def test_a_second_process_is_started_and_waited_for(helpers, capsys):
    with compiled_beside(quiet=False):
        [helper] = helpers
        assert helper.command == [sys.executable, "-P", "-m", "likewise.app.first_use"]
        assert helper.done == []
    assert helper.done == ["waited for"]
    said = capsys.readouterr().err
    assert said.startswith("likewise: compiling once, about ")
    assert said.count("\n") == 1


def test_a_second_process_ends_with_an_error(helpers, capsys):
    with pytest.raises(KeyboardInterrupt), compiled_beside(quiet=True):
        raise KeyboardInterrupt
    assert helpers[0].done == ["terminated"]
    assert capsys.readouterr().err == ""


def test_none_is_started_where_it_would_not_help(helpers, capsys, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
    with compiled_beside(quiet=False):
        pass
    assert "compiling once" in capsys.readouterr().err
    monkeypatch.setattr(first_use, "_is_needed", lambda listed: False)
    with compiled_beside(quiet=False):
        pass
    monkeypatch.undo()
    assert os.environ[VARIABLE] == "none"
    with compiled_beside(quiet=False):
        pass
    assert helpers == []
    assert capsys.readouterr().err == ""


def test_what_is_kept_is_not_compiled_again(tmp_path):
    [line] = [line for line in lines()[0] if "text.chunks._hash_all" in line.name]
    code = (
        "import sys; from likewise.app import first_use;"
        "line = first_use.Line(*sys.argv[1:]); print(first_use._is_needed([line]));"
        "first_use.lines = lambda: ([line], []); first_use.compile_listed();"
        "print(first_use._is_needed([line]))"
    )

    def run():
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code, *line],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert run() == ["True", "False"]
    assert run() == ["False", "False"]

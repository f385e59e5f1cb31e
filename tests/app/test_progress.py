import io
import re
import subprocess
import sys

import pytest

from likewise.app import progress as module
from likewise.app.progress import Progress


class Measured:
    total = 200
    done = 50


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.delenv(module.VARIABLE)
    return Clock()


def on_a_terminal(monkeypatch):
    """Give a stream that takes the place of standard error; a fixture would be too early."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def work(progress, clock, seconds_each, n, measured=Measured):
    for _ in progress.follow(range(n), measured=measured and measured()):
        clock.now += seconds_each


def test_short_work_says_nothing(clock, capsys):
    with Progress("index", clock=clock) as progress:
        work(progress, clock, 0.001, 100)
    assert capsys.readouterr().err == ""
    assert progress.count == 100


def test_long_work_tells_share_rate_and_remaining_time(clock, capsys):
    with Progress("index", clock=clock) as progress:
        work(progress, clock, 0.5, 60)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "index: 25% · 3 documents · 3/s · 3.0 s left"
    assert lines[-1] == "index: 60 documents in 30 s, 2/s"


def test_a_terminal_has_a_bar_that_goes_when_work_is_done(clock, monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with Progress("index", clock=clock) as progress:
        work(progress, clock, 0.5, 60)
        drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
        assert re.search("index: ━+.* 25% · 3 documents · 3/s · 3.0 s left", drawn)
    *_, last = terminal.getvalue().rpartition("\x1b[2K")
    assert last == "index: 60 documents in 30 s, 2/s\n"
    assert "\x1b[?25h" in terminal.getvalue()


def test_a_bar_without_a_total_has_a_count(clock, monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with Progress("fit [bold]", clock=clock) as progress:
        work(progress, clock, 0.5, 60, measured=None)
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert re.search(r"fit \[bold\]: ━+ +3 documents · 3/s", drawn)
    assert "%" not in drawn


def test_a_failure_on_a_terminal_leaves_no_bar(clock, monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError), Progress("index", clock=clock) as progress:
        [work(progress, clock, 0.5, 60), 1 / 0]
    assert terminal.getvalue().endswith("\x1b[2K")


def test_short_work_on_a_terminal_imports_no_bar():
    code = (
        "import sys; sys.stderr.isatty = lambda: True; from likewise.app.progress import Progress\n"
        "with Progress('index', clock=lambda: 0.0) as progress: list(progress.follow(range(999)))\n"
        "sys.exit('rich' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_quiet_is_quiet_and_a_failure_claims_no_success(clock, capsys):
    with Progress("index", quiet=True, clock=clock) as progress:
        work(progress, clock, 0.5, 60)
    assert capsys.readouterr().err == ""
    with pytest.raises(ZeroDivisionError), Progress("index", clock=clock) as progress:
        [work(progress, clock, 0.5, 60), 1 / 0]
    assert "60 documents in" not in capsys.readouterr().err


def test_the_environment_may_ask_for_none(clock, capsys, monkeypatch):
    monkeypatch.setenv(module.VARIABLE, "none")
    with Progress("index", clock=clock) as progress:
        work(progress, clock, 0.5, 60)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "0.2 s"), (12.4, "12 s"), (75, "1 min 15 s"), (7300, "2 h 01 min")]
)
def test_spans_read_well(seconds, text):
    assert module._span(seconds) == text

import pytest

from likewise.app import progress as module
from likewise.app.progress import Progress


class Measured:
    total = 200
    done = 50


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.delenv(module.VARIABLE)
    monkeypatch.setattr(module.time, "monotonic", clock.monotonic)
    return clock


def work(progress, clock, seconds_each, n):
    for _ in progress.follow(range(n), measured=Measured()):
        clock.now += seconds_each


def test_short_work_says_nothing(clock, capsys):
    with Progress("index") as progress:
        work(progress, clock, 0.001, 100)
    assert capsys.readouterr().err == ""
    assert progress.count == 100


def test_long_work_tells_share_rate_and_remaining_time(clock, capsys):
    with Progress("index") as progress:
        work(progress, clock, 0.5, 60)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "index: 25% · 3 documents · 3/s · 3.0 s left"
    assert lines[-1] == "index: 60 documents in 30 s, 2/s"


def test_quiet_is_quiet_and_a_failure_claims_no_success(clock, capsys):
    with Progress("index", quiet=True) as progress:
        work(progress, clock, 0.5, 60)
    assert capsys.readouterr().err == ""
    with pytest.raises(ZeroDivisionError), Progress("index") as progress:
        [work(progress, clock, 0.5, 60), 1 / 0]
    assert "60 documents in" not in capsys.readouterr().err


def test_the_environment_may_ask_for_none(clock, capsys, monkeypatch):
    monkeypatch.setenv(module.VARIABLE, "none")
    with Progress("index") as progress:
        work(progress, clock, 0.5, 60)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "0.2 s"), (12.4, "12 s"), (75, "1 min 15 s"), (7300, "2 h 01 min")]
)
def test_spans_read_well(seconds, text):
    assert module._span(seconds) == text

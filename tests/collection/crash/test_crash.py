"""Every change of a collection, cut off at every call that alters a file."""

from __future__ import annotations

import errno

import pytest
from crash.changes import CHANGES, SHORT
from crash.harness import Mode, Server, Trial
from crash.replay import Disk

# Every so many calls.
FEW, SOME, ALL = 14, 7, 1
LONG = pytest.mark.long
STEPS = [pytest.param(SOME, id="some"), pytest.param(ALL, id="all", marks=LONG)]
LOSSES = [
    pytest.param(Disk.without_data, id="data"),
    pytest.param(Disk.without_entries, id="entries"),
]
REFUSALS = {
    "full": (errno.ENOSPC, Mode.FAIL_FROM),
    "fails": (errno.EIO, Mode.FAIL),
    "full-once": (errno.ENOSPC, Mode.FAIL),
    "fails-for-good": (errno.EIO, Mode.FAIL_FROM),
}
REFUSED = [
    *(pytest.param(FEW, *REFUSALS[name], id=f"few-{name}") for name in ("full", "fails")),
    *(pytest.param(ALL, *REFUSALS[name], id=f"all-{name}", marks=LONG) for name in REFUSALS),
]


@pytest.fixture(scope="module")
def server(shim, room):
    with Server(shim, "crash.changes", room) as server:
        yield server


@pytest.fixture(
    scope="module",
    params=[
        name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in CHANGES
    ],
)
def trial(server, room, request):
    return Trial(server, request.param, CHANGES[request.param], room)


def test_nothing_is_left_over(trial):
    assert trial.left_over() == []


@pytest.mark.parametrize("step", STEPS)
def test_killed(trial, step):
    assert trial.killed(trial.points(step)) == []


@pytest.mark.parametrize("step", STEPS)
def test_killed_half_way_through_a_write(trial, step):
    assert trial.killed_half_way(trial.points(step)) == []


@pytest.mark.parametrize(("step", "error", "mode"), REFUSED)
def test_the_disk_refuses(trial, step, error, mode):
    assert trial.refused(trial.points(step), error, mode) == []


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("step", STEPS)
def test_power_loss(trial, step, lose):
    assert trial.without_power(trial.points(step), lose) == []


def test_without_locks_nothing_changes(trial):
    if trial.name == "copy":
        pytest.skip("a copy locks nothing: nobody else knows of it before it is whole")
    outcome = trial.make(Mode.NO_LOCKS)
    state, faults = trial.judge()
    assert outcome.is_ours
    assert outcome.error
    assert state != "after"
    assert faults == []


def test_a_file_system_without_locks_is_named(trial):
    if trial.name == "copy":
        pytest.skip("a copy locks nothing: nobody else knows of it before it is whole")
    assert "cannot lock files" in trial.make(Mode.NO_LOCKS).error

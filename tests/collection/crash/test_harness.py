"""The harness finds what is wrong, and sees every call."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from copy import deepcopy

import pytest
from crash import careless, changes
from crash.harness import Mode, Server, Trial
from crash.replay import Disk

# The calls that the shim counts, where the machine has them.
TRACED = (
    "trace=?open,?openat,?openat2,?creat,?write,?pwrite64,?writev,?pwritev,?pwritev2,"
    "?copy_file_range,?sendfile,?truncate,?ftruncate,?fallocate,?fsync,?fdatasync,?rename,"
    "?renameat,?renameat2,?link,?linkat,?symlink,?symlinkat,?unlink,?unlinkat,?mkdir,?mkdirat,"
    "?rmdir"
)
ONLY_OPENS = re.compile(r"open(?!.*\bO_(CREAT|TRUNC|TMPFILE)\b)")


@pytest.fixture(scope="module")
def trials(shim, room):
    with Server(shim, "crash.careless", room) as server:
        yield {name: Trial(server, name, c, room) for name, c in careless.CHANGES.items()}


def every(trial):
    return range(1, len(trial.calls) + 1)


def killed(trial):
    return trial.killed(every(trial))


def killed_half_way(trial):
    return trial.killed_half_way(every(trial))


def refused(trial):
    return trial.refused(every(trial), errno.EIO)


def refused_from_there_on(trial):
    return trial.refused(every(trial), errno.ENOSPC, Mode.FAIL_FROM)


def without_data(trial):
    return trial.without_power(every(trial), Disk.without_data)


def without_entries(trial):
    return trial.without_power(every(trial), Disk.without_entries)


CUTS = [
    killed,
    killed_half_way,
    refused,
    refused_from_there_on,
    without_data,
    without_entries,
]


@pytest.mark.parametrize("cut", CUTS)
def test_a_careful_change_has_no_faults(trials, cut):
    assert cut(trials["careful"]) == []


@pytest.mark.parametrize(
    ("name", "cut", "fault"),
    [
        ("write_in_place", killed, "neither the state before nor that after"),
        ("write_in_place", killed_half_way, "neither the state before nor that after"),
        ("leave_files", killed, "left over: "),
        ("undo_for_a_moment", killed, "undone again"),
        ("let_errors_through", refused, "OSError: [Errno 5]"),
        ("let_errors_through", refused_from_there_on, "OSError: [Errno 28]"),
        ("hide_errors", refused, "not done, and no error was raised"),
        ("do_not_sync_the_file", without_data, "neither the state before nor that after"),
        ("do_not_sync_the_folder", without_entries, "lost, although it was said to be done"),
    ],
)
def test_a_careless_change_is_found_out(trials, name, cut, fault):
    assert fault in "\n".join(cut(trials[name]))


def test_every_call_is_seen_and_can_be_replayed(trials):
    trial = trials["make_every_call"]
    named = (
        "mkdir open write write write write extend sync open write write write truncate sync "
        "truncate link link rename rename rename mkdir rmdir unlink unlink open open write link"
    )
    assert [call.name for call in trial.calls] == named.split()
    disk = deepcopy(trial.disk)
    for call in trial.calls:
        disk.apply(call)
    trial.make(Mode.COUNT)
    assert disk.now() == Disk(trial.below).now()


def test_every_kind_of_write_can_be_done_by_half(trials):
    trial = trials["make_every_call"]
    disk = deepcopy(trial.disk)
    for k, call in enumerate(trial.calls, 1):
        if call.name == "write":
            halved = deepcopy(disk)
            halved.apply(call._replace(data=call.data[: len(call.data) // 2]))
            trial.make(Mode.HALVE, at=k)
            assert halved.now() == Disk(trial.below).now(), call
        disk.apply(call)


def test_a_call_that_cannot_be_replayed_is_told(trials):
    trial = trials["careful"]
    with pytest.raises(NotImplementedError, match="symlink kept/a"):
        deepcopy(trial.disk).apply(trial.calls[0]._replace(name="symlink", path="kept/a"))


@pytest.mark.parametrize("module", [careless, changes])
def test_the_count_is_that_of_strace(shim, room, tmp_path, module):
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    tried = subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("strace is not permitted to trace processes")
    under = [strace, "-ff", "-y", "-s", "0", "-e", TRACED, "-o", str(tmp_path / "process")]
    room = room / module.__name__
    room.mkdir()
    with Server(shim, module.__name__, room, under=under) as server:
        trials = [Trial(server, name, change, room) for name, change in module.CHANGES.items()]
    lines = [line for log in tmp_path.iterdir() for line in log.read_text().splitlines()]
    for trial in trials:
        below = [line for line in lines if f"{trial.below}/" in line]
        seen = [line for line in below if not ONLY_OPENS.match(line)]
        assert len(seen) == len(trial.calls), trial.name

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from likewise.collection import job as module
from likewise.collection.creating import create
from likewise.collection.generations import unfinished_jobs
from likewise.collection.job import Job
from likewise.collection.layout import PLAN
from likewise.collection.locks import hold
from likewise.collection.writer import Writer
from likewise.errors import LockedError


@pytest.fixture
def made(folder):
    create(folder)
    return folder


def inside(folder):
    return sorted(path.name for path in (folder / "work").iterdir())


def test_a_folder_that_goes_with_the_job(made):
    with Job(made) as job:
        assert inside(made) == [job.name, f"{job.name}.lock"]
        out = job.new_pack("vectors")
        out.put("x", np.arange(3))
        assert out.close().file.startswith("vectors-")
        names = {job.new_file("a", "b").name for _ in range(100)}
        assert len(names) == 100
        assert all(name.startswith("a-") and name.endswith(".b") for name in names)
    assert inside(made) == []
    job.close()


def test_jobs_are_beside_each_other(made):
    with Job(made) as one, Job(made) as two:
        assert one.path != two.path
        with Writer(made):
            assert one.path.exists()
            assert two.path.exists()


def test_the_work_folder_is_made_where_it_is_not(made):
    (made / "work").rmdir()
    Job(made).close()
    assert inside(made) == []


def test_a_job_that_is_let_go_is_swept(made):
    job = Job(made)
    job.let_go()
    assert inside(made) == [job.name, f"{job.name}.lock"]
    with Writer(made):
        assert inside(made) == []


def test_a_job_that_is_forgotten_is_swept(made):
    job = Job(made)
    del job
    gc.collect()
    with Writer(made):
        assert inside(made) == []


def test_a_plan_keeps_the_folder_of_a_job_that_is_over(made):
    job = Job(made)
    (job.path / PLAN).write_text("{}")
    (job.path / "part").write_text("x")
    assert unfinished_jobs(made) == []
    job.let_go()
    assert unfinished_jobs(made) == [job.name]
    with Writer(made) as writer:
        writer.job.new_pack("x").abandon()
        assert (job.path / "part").read_text() == "x"
    with Job(made, job.name) as again:
        assert (again.path / "part").read_text() == "x"
        assert unfinished_jobs(made) == []
        with Writer(made):
            assert again.path.exists()
    assert inside(made) == []


def test_a_job_that_another_process_runs_is_not_begun(made, monkeypatch):
    monkeypatch.setattr(module, "_PAUSE", 0)
    with (
        Job(made) as job,
        pytest.raises(LockedError, match=f"job {job.name} is being run by another process"),
    ):
        Job(made, job.name)


def test_a_sweep_that_holds_a_new_job_is_waited_for(made, monkeypatch):
    name = "0123456789ab"
    lock = made / "work" / f"{name}.lock"
    handle = hold(lock, shared=False, create=True)

    def pause(seconds):
        if lock.exists():
            lock.unlink()
            os.close(handle)

    monkeypatch.setattr(module.time, "sleep", pause)
    with Job(made, name) as job:
        assert job.path.exists()


def test_a_folder_that_cannot_be_made_leaves_nothing(made, monkeypatch):
    before = os.listdir("/dev/fd")

    def full(self, *arguments, **options):
        if self.parent.name == "work":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.Path, "mkdir", full)
    with pytest.raises(OSError, match="No space left"):
        Job(made)
    assert inside(made) == []
    assert os.listdir("/dev/fd") == before


def test_a_file_system_without_locks(made, monkeypatch):
    def refuse(handle, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with Job(made) as job:
        assert job.path.exists()
    assert inside(made) == []


KILLED = """
import os, sys
from pathlib import Path
from likewise.collection.job import Job
job = Job(Path(sys.argv[1]))
(job.path / "part").write_text("x")
print(job.name, flush=True)
os._exit(9)
"""


def test_the_folder_of_a_killed_job_is_swept(made):
    command = [sys.executable, "-c", KILLED, str(made)]
    name = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    assert inside(made) == [name, f"{name}.lock"]
    with Writer(made):
        assert inside(made) == []


def test_what_somebody_keeps_in_the_work_folder_stays(made):
    (made / "work" / "mine").mkdir()
    (made / "work" / "mine" / "notes.txt").write_text("mine")
    (made / "work" / "other.lock").touch()
    Job(made).let_go()
    with Writer(made):
        assert inside(made) == ["mine", "other.lock"]
    assert (made / "work" / "mine" / "notes.txt").read_text() == "mine"


def test_a_child_that_was_forked_meanwhile_does_not_keep_a_job(made):
    job = Job(made)
    (job.path / "plan.json").touch()
    ours, its = os.pipe()
    child = os.fork()
    if not child:
        os.close(its)
        os.read(ours, 1)
        os._exit(0)
    os.close(ours)
    try:
        assert unfinished_jobs(made) == []
        job.let_go()
        assert unfinished_jobs(made) == [job.name]
    finally:
        os.close(its)
        os.waitpid(child, 0)

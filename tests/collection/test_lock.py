from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from likewise.collection.lock import NAME, WriteLock
from likewise.errors import LockedError

HOLD = """
import sys, time
from pathlib import Path
from likewise.collection.lock import WriteLock
lock = WriteLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def test_one_writer_at_a_time(tmp_path):
    lock = WriteLock(tmp_path)
    with pytest.raises(LockedError, match=f"another process \\(pid {os.getpid()}\\); wait"):
        WriteLock(tmp_path)
    lock.release()
    WriteLock(tmp_path).release()
    assert (tmp_path / NAME).exists()


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match=f"pid {holder.pid}"):
            WriteLock(tmp_path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    WriteLock(tmp_path).release()

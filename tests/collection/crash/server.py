"""A process that makes changes in children, which the shim kills, hinders or logs.

It is started with the shim preloaded and the name of a module whose `CHANGES` it makes. It loads
and compiles everything once; then each line of its input is a request, answered by a line.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path

from likewise.errors import LikewiseError

# No change takes a tenth of this; one that waits for ever must not stop the tests.
LONGEST_SECONDS = 60


def make_armed(change, request):
    """Make a change under the shim, in this process; tell how it ended."""
    shim = ctypes.CDLL(None)
    below, log = request["below"].encode(), request["log"].encode()
    at = ctypes.c_long(request["at"])
    error = ""
    is_ours = True
    try:
        if shim.crash_arm(below, request["mode"], at, request["errno"], log):
            raise OSError(f"{request['log']} cannot be written")
        change.make(Path(request["folder"]))
    except LikewiseError as raised:
        error = str(raised)
    except BaseException:
        error, is_ours = traceback.format_exc(), False
    return {"error": error, "is_ours": is_ours, "n_calls": shim.crash_disarm()}


def make_in_child(change, request):
    """Make a change in a child; tell how that ended, or which signal killed it."""
    mine, its = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(LONGEST_SECONDS)
        os.write(its, json.dumps(make_armed(change, request)).encode())
        os._exit(0)
    os.close(its)
    with open(mine, "rb") as told:
        outcome = json.loads(told.read() or "{}")
    _, status = os.waitpid(child, 0)
    return outcome | {"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}


def main():
    """Serve until the input ends."""
    changes = import_module(sys.argv[1]).CHANGES
    with tempfile.TemporaryDirectory() as name:
        for i, change in enumerate(changes.values()):
            folder = Path(name) / str(i)
            change.begin(folder)
            change.make(folder)
    # Else every child copies the memory of all objects when it collects garbage.
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(make_in_child(changes[request["change"]], request)), flush=True)


if __name__ == "__main__":
    main()

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from crash.harness import compile_shim


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The compiled shim."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the shim is written for Linux")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler (cc)")
    return compile_shim(compiler, tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="module")
def room():
    """A folder for many short-lived files, in memory where that can be had."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)

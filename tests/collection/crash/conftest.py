from __future__ import annotations

import shutil
import sys

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

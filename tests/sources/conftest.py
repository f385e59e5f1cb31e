from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
import zstandard

from likewise.sources import Columns, open_source

# The tests share strategies, and pytest's importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def write(tmp_path):
    """Write bytes or text under a name and give the path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def read():
    """All documents of a source as a list, with the column options as keywords."""

    def read(source, *, format=None, on_bad=None, **columns):
        return list(open_source(source, format=format, on_bad=on_bad, columns=Columns(**columns)))

    return read


@pytest.fixture(params=["plain", "gz", "zst"])
def compressed(request):
    """A compression: its suffix and the function that does it."""
    return {
        "plain": ("", bytes),
        "gz": (".gz", gzip.compress),
        "zst": (".zst", zstandard.ZstdCompressor().compress),
    }[request.param]

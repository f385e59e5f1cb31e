from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

# The tests share a plain model, and pytest's importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def folder(tmp_path):
    """Where a collection may be made."""
    return tmp_path / "collection"


@pytest.fixture
def unsynced(monkeypatch):
    """Leave out waiting for the disk, where a test makes hundreds of changes."""
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.fixture
def small_blocks(monkeypatch):
    """Make batches and compressed blocks so small that a few documents fill several."""
    monkeypatch.setattr("likewise.collection.build._BATCH_DOCS", 3)
    monkeypatch.setattr("likewise.collection.documents._BLOCK_BYTES", 300)


@pytest.fixture(scope="module")
def room():
    """A folder for many short-lived files, in memory where that can be had."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)

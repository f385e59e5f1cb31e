"""Folders that compiled code is kept in: which are looked at, and which is written to."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path


def beside() -> Path:
    """Give the folder beside the sources."""
    return Path(__file__).parent / "__pycache__" / "kernels"


@cache
def places() -> list[Path]:
    """Give the folders to look for compiled code in: numba's, or beside the sources and the user's.

    One that was filled when a machine was set up need not be writable.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return [Path(chosen) / "likewise"] if chosen else [beside(), *of_user()]


def of_user() -> list[Path]:
    """Give the user's own folder, where there is one."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    # Without a home it would be a folder of whoever owns the working directory: its files are run.
    return [home / "likewise" / "kernels"] if home.is_absolute() else []


@cache
def room() -> Path | None:
    """Choose the folder to keep compiled code in: the first that can be written to."""
    folders = [*places(), *of_user()]
    return next(filter(_is_writable, folders), None) or private_folder()


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def private_folder() -> Path | None:
    """Make a temporary folder that nobody else can write to: what is kept there is run."""
    try:
        folder = Path(tempfile.gettempdir()) / f"likewise-kernels-{os.getuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        there = folder.lstat()
    except OSError:
        return None
    own = stat.S_ISDIR(there.st_mode) and there.st_uid == os.getuid()
    return folder if own and not there.st_mode & 0o077 and _is_writable(folder) else None

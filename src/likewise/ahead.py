"""Kernels that were compiled ahead, in a wheel or by `likewise compile`: found, never stale.

Such a library says for which processors it is, and of each kernel what it was compiled from. Where
either is not so here, or a kernel is called with other kinds of arguments, numba compiles it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from likewise import kernel_folders

VARIABLE = "LIKEWISE_AHEAD"
# In a wheel; elsewhere the name also has a hash of what is in the file.
FILE_NAME = f"_ahead{EXTENSION_SUFFIXES[0]}"
_DIGEST = 16

_log = logging.getLogger(__name__)


class Library:
    """A file of compiled kernels."""

    def __init__(self, path: Path) -> None:
        # Python keeps one module for a name and a file.
        spec = spec_from_file_location("likewise._ahead", path)
        assert spec is not None
        assert isinstance(spec.loader, ExtensionFileLoader)
        self.module: Any = module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self._entries: dict[str, list[int]] = {}
        for i, (name, _, _) in enumerate(self.module.table):
            self._entries.setdefault(name, []).append(i)

    def find(
        self, name: str, content: Callable[[], str], otherwise: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """Give a kernel of that name and content; None where it is not there, or another."""
        numbers = self._entries.get(name, [])
        if not numbers or self.module.table[numbers[0]][1] != content():
            return None
        found = [(i, classes_of(self.module.table[i][2])) for i in numbers]
        known = [(i, classes) for i, classes in found if classes is not None]
        made: Callable[..., Any] = self.module.compiled(known, otherwise)
        return made


def find(
    name: str, content: Callable[[], str], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """Give what runs a kernel: what was compiled ahead, and `otherwise` for what was not."""
    for library in libraries():
        found = library.find(name, content, otherwise)
        if found is not None:
            return found
    return otherwise


@cache
def libraries() -> list[Library]:
    """Load the libraries that this processor can run."""
    # Who chooses a processor for numba means kernels too.
    if os.environ.get(VARIABLE) == "0" or "NUMBA_CPU_NAME" in os.environ:
        return []
    found = []
    for path in _files():
        try:
            library = Library(path)
        except ImportError as error:
            _log.warning("%s cannot be loaded (%s): make it anew: likewise compile", path, error)
            continue
        if library.module.supported:
            found.append(library)
    return found


def _files() -> Iterator[Path]:
    """Give the file of a wheel, and those of `likewise compile` that are whole."""
    wheel = Path(__file__).parent / FILE_NAME
    if wheel.exists():
        yield wheel
    for folder in kernel_folders.places():
        for path in sorted(folder.glob(name_of("*"))):
            try:
                digest = digest_of(path)
            except OSError as error:
                _log.warning("%s cannot be read (%s): make it anew: likewise compile", path, error)
                continue
            if path.name == name_of(digest):
                yield path
            else:
                _log.warning("%s is damaged: make it anew: likewise compile", path)


def name_of(digest: str) -> str:
    """Give the name of a library outside of a wheel, by its content."""
    return f"_ahead-{digest}{EXTENSION_SUFFIXES[0]}"


def digest_of(path: Path) -> str:
    """Hash a file: one that was cut off would end the process that loads it."""
    return blake2b(path.read_bytes(), digest_size=_DIGEST).hexdigest()


def described(kind: type) -> str:
    """Write a class of named tuples with its fields, which became places in compiled code."""
    return f"{kind.__module__}:{kind.__qualname__}:{','.join(getattr(kind, '_fields', ()))}"


def classes_of(told: str) -> tuple[type, ...] | None:
    """Find classes by their description; None where one has changed."""
    found = []
    for one in told.split():
        module, name, _ = one.split(":")
        try:
            kind = getattr(import_module(module), name, None)
        except ImportError:
            return None
        if not isinstance(kind, type) or described(kind) != one:
            return None
        found.append(kind)
    return tuple(found)

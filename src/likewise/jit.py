"""How numba compiles kernels: for which processor, and kept for the next process."""

from __future__ import annotations

import logging
import os
import pickle
import sys
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from likewise import kernel_folders
from likewise.compiled import Kernel, content_of, told

_log = logging.getLogger(__name__)


def dispatcher_of(kernel: Kernel) -> Any:
    """Give a kernel as numba has it."""
    options = kernel.options | {"nopython": True, "boundscheck": None}
    made = _dispatcher()(py_func=kernel.py_func, targetoptions=options)
    made._cache = _Kept(kernel)
    return made


def is_kept(kernel: Kernel) -> bool:
    """Tell whether a kernel was compiled before, for any types of arguments."""
    name = f"{kernel.name}.{sys.implementation.cache_tag}-{content_of(kernel)}-*"
    room = kernel_folders.room()
    places = {*kernel_folders.places(), *([room] if room else [])}
    return any(next(place.glob(name), None) for place in places)


# The processor

# What a processor of x86-64-v3 has, as LLVM names it.
_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")


@cache
def target() -> tuple[str, str]:
    """Give the processor that is compiled for, and what else it has, as LLVM names them.

    Not the machine's own: sums that may be reordered are, by what a processor has, so that the
    same code compiled ahead, or on another machine, would give other bits.
    """
    config: Any = import_module("numba").config
    llvm: Any = import_module("llvmlite.binding")
    if config.CPU_NAME is not None:
        return config.CPU_NAME, config.CPU_FEATURES or ""
    if not llvm.get_process_triple().startswith("x86_64"):
        return "generic", ""
    has = llvm.get_host_cpu_features()
    return "x86-64-v3" if all(has.get(name) for name in _V3) else "x86-64", ""


@cache
def _dispatcher() -> Any:
    """Make the class of what numba compiles for that processor; others' code is left alone."""
    registry: Any = import_module("numba.core.registry")
    codegen: Any = import_module("numba.core.codegen")
    name, features = target()

    class Codegen(codegen.JITCPUCodegen):  # type: ignore[misc]
        def _get_host_cpu_name(self) -> str:
            return name

        def _get_host_cpu_features(self) -> str:
            return features

    around = registry.cpu_target.target_context.subtarget(_internal_codegen=Codegen("likewise"))

    class Target(registry.CPUTarget):  # type: ignore[misc]
        target_context = around
        typing_context = registry.cpu_target.typing_context

    class Dispatcher(registry.CPUDispatcher):  # type: ignore[misc]
        targetdescr = Target("cpu")

    return Dispatcher


# Kept for the next process


class _Kept:
    """What a kernel compiled to, a file for each signature; numba calls it as its own cache.

    numba's goes by the date of the kernel's own file: code with a kernel from another file in it
    would stay as it is when that one changes. And of two processes that save at once, one may
    name in the index what the other has written.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._name = f"{kernel.name}.{sys.implementation.cache_tag}-"
        self._content = content_of(kernel)

    @property
    def cache_path(self) -> str:
        """Where it is kept; numba shows it."""
        return str(kernel_folders.room())

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load what was compiled for a signature, None where there is nothing."""
        target.refresh()
        name = self._file_name(signature, target.codegen())
        for place in kernel_folders.places():
            found = _read(place / name)
            if found is not None:
                break
        else:
            room = kernel_folders.room()
            found = None if room is None or room in kernel_folders.places() else _read(room / name)
        if found is None:
            return None
        result: Any = import_module("numba.core.compiler").CompileResult
        return result._rebuild(target, *pickle.loads(found))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Save what was compiled for a signature."""
        room = kernel_folders.room()
        if room not in (*kernel_folders.places(), *kernel_folders.of_user()):
            _say_not_kept(
                f"no folder can be written to: {', '.join(map(str, kernel_folders.places()))}", room
            )
        if room is None or compiled.library.has_dynamic_globals:
            return
        serialize: Any = import_module("numba.core.serialize")
        name = self._file_name(signature, compiled.codegen)
        try:
            _write(room / name, serialize.dumps(compiled._reduce()))
        except OSError as error:
            # A full disk costs time, not the answer.
            _say_not_kept(f"{room}: {os.strerror(error.errno or 0)}", None)
            return
        if room == kernel_folders.beside():
            for path in room.glob(f"{self._name}*"):
                if not path.name.startswith(self._name + self._content):
                    path.unlink(missing_ok=True)

    def _file_name(self, signature: Any, codegen: Any) -> str:
        numba: Any = import_module("numba")
        arguments, _ = import_module("numba.core.sigutils").normalize_signature(signature)
        target = (numba.__version__, codegen.magic_tuple(), list(map(_described, arguments)))
        hashed = blake2b(repr(target).encode(), digest_size=8).hexdigest()
        return f"{self._name}{self._content}-{hashed}.kernel"


def _described(kind: Any) -> Any:
    """Describe a type; of a named tuple with its fields, which become places in compiled code."""
    if not isinstance(kind, import_module("numba").types.BaseTuple):
        return repr(kind)
    given = getattr(kind, "instance_class", tuple)
    return told(given), [_described(part) for part in kind]


_DIGEST = 16


def _read(path: Path) -> bytes | None:
    """Read what was written to a file; None where it is not there or not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    whole = blake2b(data[_DIGEST:], digest_size=_DIGEST).digest() == data[:_DIGEST]
    return data[_DIGEST:] if whole else None


def _write(path: Path, data: bytes) -> None:
    aside = path.with_name(f"{path.name}.{uuid4().hex}")
    try:
        aside.write_bytes(blake2b(data, digest_size=_DIGEST).digest() + data)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@cache
def _say_not_kept(reason: str, instead: Path | None) -> None:
    _log.warning(
        "compiled code is not kept for good (%s%s): it is compiled again, about a minute; "
        "name a folder that can be written to by NUMBA_CACHE_DIR",
        reason,
        f"; for now it is in {instead}" if instead else "",
    )

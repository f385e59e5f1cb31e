"""How numba compiles kernels: for which processor, and kept for the next process."""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import Any
from uuid import uuid4

from likewise import kernel_folders
from likewise.compiled import Kernel, content_of, told

_log = logging.getLogger(__name__)

# How many objects are made before Python looks for garbage among them, and among older ones.
_THRESHOLDS = 10_000, 20, 10


def dispatcher_of(kernel: Kernel) -> Any:
    """Give a kernel as numba has it."""
    made = _made(kernel, called_from_python=True)
    made._cache = _Kept(kernel)
    return made


def inner_dispatcher_of(kernel: Kernel) -> Any:
    """Give a kernel as other kernels call it: it is compiled with them, and not kept."""
    return _made(kernel, called_from_python=False)


def _made(kernel: Kernel, *, called_from_python: bool) -> Any:
    options = kernel.options | {"nopython": True, "boundscheck": None}
    options |= {"no_cpython_wrapper": not called_from_python, "no_cfunc_wrapper": True}
    return _dispatcher()(py_func=kernel.py_func, targetoptions=options)


def is_kept(kernel: Kernel) -> bool:
    """Tell whether a kernel was compiled before, for any types of arguments."""
    name = f"{kernel.name}.{sys.implementation.cache_tag}-{content_of(kernel)}-*.kernel"
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
    extension: Any = import_module("numba.core.target_extension")
    registry: Any = import_module("numba.core.registry")
    codegen: Any = import_module("numba.core.codegen")
    numba: Any = import_module("numba")
    compiling: Any = import_module("numba.core.compiler_lock").global_compiler_lock
    plain_flags: Any = import_module("numba.core.compiler").Flags
    cgutils: Any = import_module("numba.core.cgutils")
    llvm: Any = import_module("llvmlite.binding")
    name, features = target()
    known = _is_known(numba)

    class Library(codegen.JITCodeLibrary):  # type: ignore[misc]
        """The code of a function, and of what it calls once it is called from Python.

        numba optimises each function and all that it calls, and again with each of its callers,
        and makes machine code of it each time. Here what is called from Python is optimised, with
        all that it calls, once. Sums that may be reordered are optimised as numba does, function by
        function: in another order they would give other bits.
        """

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self._is_whole = self.reorders = False
            self._shared_module: Any = None

        def add_ir_module(self, ir_module: Any) -> None:
            self._raise_if_finalized()
            text = cgutils.normalize_ir_text(str(ir_module))
            self.reorders = self.reorders or " reassoc " in text
            module = llvm.parse_assembly(text)
            module.name = ir_module.name
            module.data_layout = self._codegen._data_layout
            self._final_module.link_in(module)

        def finalize(self) -> None:
            self._raise_if_finalized()
            for each in self._linking_libraries:
                self._reload_init.update(each._reload_init)
                self.reorders = self.reorders or getattr(each, "reorders", False)
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            if not self._is_whole:
                try:
                    self.get_function(name)
                except NameError:
                    return 0
                self._final_module = self._optimise()
                self._final_module.verify()
                self._finalize_final_module()
            return int(super().get_pointer_to_function(name))

        def _finalize_final_module(self) -> None:
            super()._finalize_final_module()
            self._is_whole = True
            for each in self._final_module.global_variables:
                if each.name in self._codegen.waiting:
                    self._codegen.set_env(each.name, self._codegen.waiting.pop(each.name))

        def _get_module_for_linking(self) -> Any:
            self._ensure_finalized()
            if self._shared_module is None:
                done = self._final_module if self._is_whole else self._optimise()
                self._shared_module = _shared(done)
            return self._shared_module

        def _optimise(self) -> Any:
            """Link what it calls to a copy of it, and optimise that."""
            own = self._final_module
            self._final_module = own.clone()
            self._final_module.name = own.name
            # What a function that reorders sums calls was optimised: not once more.
            if self.reorders:
                self._optimize_functions(self._final_module)
            called = dict.fromkeys(self._linking_libraries)
            for each in called if self.reorders else self._reached():
                as_it_is = isinstance(each, Library) and not self.reorders
                part = _shared(each._final_module) if as_it_is else each._get_module_for_linking()
                self._final_module.link_in(part, preserve=True)
            if not self.reorders:
                self._optimize_functions(self._final_module)
            self._optimize_final_module()
            made, self._final_module = self._final_module, own
            return made

        def _reached(self) -> list[Any]:
            """Give all libraries that are called, each after those that call it.

            LLVM leaves out what nothing refers to when it is linked.
            """
            found: dict[Any, None] = {}

            def visit(library: Any) -> None:
                if isinstance(library, Library):
                    for each in library._linking_libraries:
                        if each not in found:
                            visit(each)
                found[library] = None

            visit(self)
            return [*reversed(found)][1:]

    class Codegen(codegen.JITCPUCodegen):  # type: ignore[misc]
        _library_class = Library if known else codegen.JITCodeLibrary

        def __init__(self, *arguments: Any) -> None:
            # What functions that only others call refer to of Python, by the names of the places.
            self.waiting: dict[str, Any] = {}
            super().__init__(*arguments)

        def set_env(self, env_name: str, env: Any) -> None:
            # Of a function that only others call there is no such place so far.
            if self._engine.is_symbol_defined(env_name):
                super().set_env(env_name, env)
            else:
                self.waiting[env_name] = env

        def _get_host_cpu_name(self) -> str:
            return name

        def _get_host_cpu_features(self) -> str:
            return features

    around = registry.cpu_target.target_context.subtarget(_internal_codegen=Codegen("likewise"))
    if known:
        around.get_abi_sizeof = _remembered(around.get_abi_sizeof)

    class Ours(extension.CPU):  # type: ignore[misc]
        """What numba's own functions are compiled for where kernels call them: as kernels are."""

    around.target = extension.target_registry["likewise"] = Ours
    around.target_name = "likewise"

    class Target(registry.CPUTarget):  # type: ignore[misc]
        target_context = around
        typing_context = registry.cpu_target.typing_context

    # numba takes it of the names of options alone.
    hash_of_flags = hash(plain_flags())

    class Flags(plain_flags):  # type: ignore[misc]
        """How a function is compiled; compared, which is often, without a look at each option."""

        __slots__ = ()

        def __hash__(self) -> int:
            return hash_of_flags

        def __eq__(self, other: object) -> bool:
            same = isinstance(other, Flags) and self._values == other._values
            return same or bool(super().__eq__(other))

    class Dispatcher(registry.CPUDispatcher):  # type: ignore[misc]
        targetdescr = Target("likewise")

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            if known:
                self._compiler._customize_flags = Flags

        def compile(self, signature: Any) -> Any:
            """Compile, or load what is kept; whether that works or not, others wait no longer."""
            # Threads of this process wait for each other here, so that a turn is one thread's.
            with compiling, _seldom_collected():
                try:
                    return super().compile(signature)
                finally:
                    if isinstance(self._cache, _Kept):
                        self._cache.end_turn()

    def jit(function: Any = None, **options: Any) -> Any:
        """Compile one of numba's own functions; only compiled code calls it."""
        if function is None:
            return partial(jit, **options)
        chosen = {"boundscheck": None, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return Dispatcher(py_func=function, targetoptions=options | chosen)

    extension.dispatcher_registry[Ours], extension.jit_registry[Ours] = Dispatcher, jit
    return Dispatcher


def _remembered(size_of: Callable[[Any], int]) -> Callable[[Any], int]:
    """Remember sizes of LLVM's types: for each question a module would be written and read."""
    sizes: dict[str, int] = {}

    def known_size_of(kind: Any) -> int:
        told = str(kind)
        if told not in sizes:
            sizes[told] = size_of(kind)
        return sizes[told]

    return known_size_of


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Have Python look for garbage less often: a fifth of the time to compile would go there."""
    before = gc.get_threshold()
    # Who has none looked for says so by nothing.
    gc.set_threshold(*(map(max, before, _THRESHOLDS) if before[0] else before))
    mine = gc.get_threshold()
    try:
        yield
    finally:
        # What another thread has set meanwhile stays.
        if gc.get_threshold() == mine:
            gc.set_threshold(*before)


# Of which numba it is known that `Library` works: it overrides what numba keeps to itself.
_KNOWN = (0, 63), (0, 68)


def _is_known(numba: Any) -> bool:
    """Tell whether functions are optimised with what they call, once; else it is numba's way."""
    first, last = _KNOWN
    return bool(first <= numba.version_info.short <= last)


def _shared(module: Any) -> Any:
    """Copy a module so that others may have what is in it too."""
    copied = module.clone()
    for each in copied.functions:
        if not each.is_declaration and each.linkage.name == "external":
            each.linkage = "linkonce_odr"
    return copied


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
        # The file that is locked while this process compiles.
        self._turn: tuple[int, Path] | None = None

    @property
    def cache_path(self) -> str:
        """Where it is kept; numba shows it."""
        return str(kernel_folders.room())

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load what was compiled for a signature, None where there is nothing.

        What another process is compiling is waited for.
        """
        target.refresh()
        name = self._file_name(signature, target.codegen())
        found, room = _find(name), kernel_folders.room()
        if found is None and room is not None:
            path = room / f"{name}.turn"
            turn = take_turn(path, lambda: _find(name) is not None)
            self._turn = None if turn is None else (turn, path)
            found = _find(name)
        if found is None:
            return None
        result: Any = import_module("numba.core.compiler").CompileResult
        return result._rebuild(target, *pickle.loads(found))

    def end_turn(self) -> None:
        """Let others compile, who then look first for what is kept."""
        if self._turn is not None:
            file, path = self._turn
            path.unlink(missing_ok=True)
            os.close(file)
            self._turn = None

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
# How often who waits looks, and how long: a minute, where a kernel takes a quarter of that.
_POLLS, _SECONDS = 1200, 0.05


def take_turn(path: Path, is_done: Callable[[], bool]) -> int | None:
    """Lock a file, after whoever has it; None where it is done, cannot be, or takes too long."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    for _ in range(_POLLS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if is_done():
                break
            sleep(_SECONDS)
        except OSError:
            break
        else:
            return file
    os.close(file)
    return None


def _find(name: str) -> bytes | None:
    """Read what is kept under a name."""
    room = kernel_folders.room()
    for place in dict.fromkeys([*kernel_folders.places(), *([room] if room else [])]):
        found = _read(place / name)
        if found is not None:
            return found
    return None


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

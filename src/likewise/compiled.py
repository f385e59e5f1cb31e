"""How hot loops are compiled: when first called, kept for the next process, the GIL released."""

from __future__ import annotations

import logging
import os
import pickle
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, lru_cache, update_wrapper
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeAlias, TypeVar, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from likewise.forking import Lock, after_fork

Int: TypeAlias = int | np.integer[Any]
Bytes: TypeAlias = NDArray[np.uint8]
Bools: TypeAlias = NDArray[np.bool_]
Shorts: TypeAlias = NDArray[np.uint16]
Offsets: TypeAlias = NDArray[np.uint32]
Longs: TypeAlias = NDArray[np.uint64]
Ids: TypeAlias = NDArray[np.int32]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]

Function = TypeVar("Function", bound=Callable[..., Any])

# A loop that adds up and writes at once is compiled twice: the copy that adds one by one is run
# where what is written stands within a few vectors' reach of what is read. Arrays of so many
# numbers are never as near. Of shorter ones the place in memory would change the sum: they are
# added up in a loop that writes nothing.
APART = 64

_log = logging.getLogger(__name__)
_REORDER = ("contract", "nsz", "reassoc")


def kernel(function: Function) -> Function:
    """Compile a function over flat arrays; division follows NumPy, so that loops vectorise.

    Offsets are uint32 on disk: a kernel turns them into int64 before it calculates, because
    mixing unsigned and signed integers gives floats.
    """
    return cast(Function, Kernel(function))


def fast_kernel(function: Function) -> Function:
    """Compile a kernel whose sums may be taken in another order, so that they vectorise.

    The order is fixed when it is compiled: the same machine gives the same bits.
    """
    return cast(Function, Kernel(function, fast=True))


class Kernel:
    """A function that is compiled when it is first called; numba is imported only then."""

    def __init__(self, function: Callable[..., Any], *, fast: bool = False) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.fast = fast
        self._lock = Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """The function as numba has it."""
        import numba

        with self._lock:
            made = vars(self).get("dispatcher")
            if made is None:
                made = numba.njit(**self.options)(self.py_func)
                made._cache = _Kept(self)
                vars(self)["dispatcher"] = made
        return made

    @property
    def options(self) -> dict[str, Any]:
        """How it is compiled.

        Each option is given: one that is not would be taken over from the kernel that happens to
        be compiled first of those that call it. What has reordered sums in it is inlined into
        every caller: else the process that compiles a caller binds it to the callee's own code,
        and one that loads the caller to a copy that was optimised, and so reordered, once more.
        """
        return {
            "nogil": True,
            "error_model": "numpy",
            "fastmath": set(_REORDER) if self.fast else False,
            "forceinline": any(each.fast for each in self.reached()),
        }

    def reached(self) -> list[Kernel]:
        """Give the kernel and all that it calls, at any remove."""
        found = [self]
        for each in found:
            called = _named_in(each.py_func).values()
            found += [k for k in called if isinstance(k, Kernel) and k not in found]
        return found

    @property
    def _numba_type_(self) -> Any:
        # By this compiled code calls kernels that it finds among its globals.
        import numba

        return numba.typeof(self.dispatcher)  # type: ignore[no-untyped-call]


# What compiled code depends on


def content_of(kernel: Kernel) -> str:
    """Give a hash of a kernel, of all kernels that it calls, and of the constants in them.

    It is taken of what this process has imported: the files may have changed since.
    """
    into = blake2b(digest_size=8)
    for each in kernel.reached():
        function = each.py_func
        parts = {name: _told(value) for name, value in _named_in(function).items()}
        options = {name: sorted(v) if isinstance(v, set) else v for name, v in each.options.items()}
        code = _told((function.__code__, function.__defaults__))
        into.update(repr((_told(each), code, parts, options)).encode())
    return into.hexdigest()


def _named_in(function: Any) -> dict[str, Any]:
    """Give what a function refers to by name: globals, and variables of a function around it."""
    codes = [function.__code__]
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    names = {name for code in codes for name in code.co_names}
    found = {n: function.__globals__[n] for n in sorted(names) if n in function.__globals__}
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    return found | dict(zip(function.__code__.co_freevars, cells, strict=True))


def _told(value: Any) -> Any:
    """Give what tells a value that is compiled into code from others, in parts that print alike."""
    match value:
        case np.generic() | np.ndarray():
            return value.dtype.str, value.shape, value.tobytes()
        case None | bool() | int() | float() | complex() | str() | bytes():
            return type(value).__name__, value
        case Kernel():
            return value.py_func.__module__, value.py_func.__qualname__
        case ModuleType() if not value.__name__.startswith("likewise"):
            return value.__name__
        case type():
            return value.__module__, value.__qualname__, getattr(value, "_fields", ())
        case tuple():
            return tuple(map(_told, value))
        case frozenset():
            return sorted(map(repr, map(_told, value)))
        case CodeType():
            names = (value.co_names, value.co_varnames, value.co_cellvars, value.co_freevars)
            jumps = (value.co_argcount, value.co_flags, value.co_exceptiontable)
            return value.co_code, names, jumps, _told(value.co_consts)
    raise TypeError(
        f"a kernel may refer to numbers, texts, arrays, types and kernels, not to {value!r}"
    )


# Kept for the next process


class _Kept:
    """What a kernel compiled to, a file for each signature; numba calls it as its own cache.

    numba's goes by the date of the kernel's own file: code with a kernel from another file in it
    would stay as it is when that one changes. And of two processes that save at once, one may
    name in the index what the other has written.
    """

    def __init__(self, kernel: Kernel) -> None:
        function = kernel.py_func
        version = sys.implementation.cache_tag
        self._name = f"{function.__module__}.{function.__qualname__}.{version}-"
        self._content = content_of(kernel)

    @property
    def cache_path(self) -> str:
        """Where it is kept; numba shows it."""
        return str(_room())

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load what was compiled for a signature, None where there is nothing."""
        target.refresh()
        name = self._file_name(signature, target.codegen())
        for place in _places():
            found = _read(place / name)
            if found is not None:
                break
        else:
            room = _room()
            found = None if room is None or room in _places() else _read(room / name)
        if found is None:
            return None
        result: Any = import_module("numba.core.compiler").CompileResult
        return result._rebuild(target, *pickle.loads(found))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Save what was compiled for a signature."""
        room = _room()
        if room not in (*_places(), *_of_user()):
            _say_not_kept(f"no folder can be written to: {', '.join(map(str, _places()))}", room)
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
        if room == _beside():
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
    return _told(given), [_described(part) for part in kind]


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


def _beside() -> Path:
    return Path(__file__).parent / "__pycache__" / "kernels"


@cache
def _places() -> list[Path]:
    """Give the folders to look for compiled code in: numba's, or beside the sources and the user's.

    One that was filled when a machine was set up need not be writable.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return [Path(chosen) / "likewise"] if chosen else [_beside(), *_of_user()]


def _of_user() -> list[Path]:
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    # Without a home it would be a folder of whoever owns the working directory: its files are run.
    return [home / "likewise" / "kernels"] if home.is_absolute() else []


@cache
def _room() -> Path | None:
    """Choose the folder to keep compiled code in: the first that can be written to."""
    places = [*_places(), *_of_user()]
    return next(filter(_is_writable, places), None) or _private_folder()


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _private_folder() -> Path | None:
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


@cache
def _say_not_kept(reason: str, instead: Path | None) -> None:
    _log.warning(
        "compiled code is not kept for good (%s%s): it is compiled again, about a minute; "
        "name a folder that can be written to by NUMBA_CACHE_DIR",
        reason,
        f"; for now it is in {instead}" if instead else "",
    )


# Threads of BLAS

_blas_lock = Lock()
# The threads that need it, each as often as it does.
_blas_users: list[int] = []
_blas_limits: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep products of matrices on one thread, where more would change the bits.

    The limit of OpenBLAS is the process's: it is set by the first of several that overlap, and
    lifted by the last. That of other libraries is a thread's own.
    """
    with _blas_lock:
        shared, own = _blas_libraries(len(sys.modules))
        # Also where another has set it: a library may have been loaded since.
        if any(library.num_threads != 1 for library in shared.lib_controllers):
            _let_any_thread_set()
            _blas_limits.append(shared.limit(limits=1))
        _blas_users.append(threading.get_ident())
    limit = own.limit(limits=1)
    try:
        yield
    finally:
        limit.restore_original_limits()
        with _blas_lock:
            _blas_users.remove(threading.get_ident())
            _lift_blas_limits()


def _lift_blas_limits() -> None:
    while _blas_limits and not _blas_users:
        _let_any_thread_set()
        _blas_limits.pop().restore_original_limits()
        _let_any_thread_set()


@after_fork
def _count_own_use() -> None:
    _blas_users[:] = [user for user in _blas_users if user == threading.get_ident()]
    _lift_blas_limits()


@lru_cache(maxsize=1)
def _blas_libraries(n_modules: int) -> tuple[Any, Any]:
    """Give the libraries with one pool of threads for the process, and those with one per thread.

    They come with modules, and finding them takes milliseconds: it is done again only when more
    modules were imported.
    """
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas")
    shared = [
        library.filepath
        for library in found.lib_controllers
        if library.internal_api == "openblas" and library.threading_layer != "openmp"
    ]
    others = [each.filepath for each in found.lib_controllers if each.filepath not in shared]
    return found.select(filepath=shared), found.select(filepath=others)


def _let_any_thread_set() -> None:
    # From 3.8 on the first thread to set OpenBLAS's threads is the only one that can, and others
    # are ignored without a word. Here the first to come and the last to leave may be two.
    controller = getattr(import_module("threadpoolctl"), "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)

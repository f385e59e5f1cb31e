"""How hot loops are compiled: ahead, or when first called, with the GIL released."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial, update_wrapper
from hashlib import blake2b
from importlib import import_module
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from likewise import ahead
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


def inlined_kernel(function: Function) -> Function:
    """Compile a kernel that each call in another has a copy of."""
    return cast(Function, Kernel(function, inlined=True))


class Kernel:
    """A function that was compiled ahead, or is when it is first called: numba is imported then."""

    def __init__(
        self, function: Callable[..., Any], *, fast: bool = False, inlined: bool = False
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.fast = fast
        self.inlined = inlined
        self._lock = Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        return self.run(*arguments)

    @cached_property
    def run(self) -> Callable[..., Any]:
        """What runs it: code that was compiled ahead, where there is any, or numba."""
        if _recorded is not None:
            return self._record_and_run
        return ahead.find(self.name, partial(content_of, self), self.compile_and_run)

    def compile_and_run(self, *arguments: Any) -> Any:
        """Run it as numba compiles it; where nothing was compiled ahead, later calls go there."""
        if vars(self).get("run") == self.compile_and_run:
            vars(self)["run"] = self.dispatcher
        return self.dispatcher(*arguments)

    def _record_and_run(self, *arguments: Any) -> Any:
        if _recorded is not None:
            typeof = import_module("numba").typeof
            _recorded.setdefault(self, {})[tuple(map(typeof, arguments))] = None
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """The function as numba has it."""
        from likewise import jit

        with self._lock:
            made = vars(self).get("dispatcher")
            if made is None:
                made = vars(self)["dispatcher"] = jit.dispatcher_of(self)
        return made

    @cached_property
    def inner_dispatcher(self) -> Any:
        """The function as compiled code calls it."""
        from likewise import jit

        with self._lock:
            made = vars(self).get("inner_dispatcher")
            if made is None:
                made = vars(self)["inner_dispatcher"] = jit.inner_dispatcher_of(self)
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
            "forceinline": self.inlined or any(each.fast for each in self.reached()),
            # Without it nothing counts who refers to an array.
            "_nrt": not self.inlined,
        }

    def reached(self) -> list[Kernel]:
        """Give the kernel and all that it calls, at any remove."""
        found = [self]
        for each in found:
            called = _named_in(each.py_func).values()
            found += [k for k in called if isinstance(k, Kernel) and k not in found]
        return found

    @cached_property
    def content(self) -> bytes:
        """What it is compiled from, without the kernels that it calls."""
        function = self.py_func
        parts = {name: told(value) for name, value in _named_in(function).items()}
        options = {name: sorted(v) if isinstance(v, set) else v for name, v in self.options.items()}
        code = told((function.__code__, function.__defaults__))
        return repr((told(self), code, parts, options)).encode()

    @property
    def _numba_type_(self) -> Any:
        # By this compiled code calls kernels that it finds among its globals.
        import numba

        return numba.typeof(self.inner_dispatcher)  # type: ignore[no-untyped-call]


class Instruction:
    """What only compiled code can do: told as numba's intrinsics are, by code that builds code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.function = function
        self._lock = Lock()

    def __call__(self, *_: Any) -> Any:
        """Refuse: there is no such thing in Python."""
        raise TypeError(f"only a kernel can call {self.function.__qualname__}")

    @cached_property
    def content(self) -> Any:
        """What it is made by: its function, and all that this refers to at any remove.

        Functions of other packages are told by their names.
        """
        found, parts = [self.function], []
        for function in found:
            parts.append(told((function.__code__, function.__defaults__)))
            for name, value in _named_in(function).items():
                # Within what is cached, or an instruction, there is a function.
                inner = unwrap(value)
                if not isinstance(inner, FunctionType):
                    parts.append((name, told(inner)))
                    continue
                parts.append((name, inner.__module__, inner.__qualname__))
                if inner.__module__.startswith("likewise") and inner not in found:
                    found.append(inner)
        return self.function.__qualname__, blake2b(repr(parts).encode()).hexdigest()

    @cached_property
    def _numba_type_(self) -> Any:
        # By this compiled code calls instructions that it finds among its globals.
        types: Any = import_module("numba").types
        templates: Any = import_module("numba.core.typing.templates")
        with self._lock:
            made = vars(self).get("_numba_type_")
            if made is None:
                name = self.function.__name__
                template = templates.make_intrinsic_template(self, self.function, name)
                made = vars(self)["_numba_type_"] = types.Function(template)
        return made


def instruction(function: Callable[..., Any]) -> Instruction:
    """Make an instruction of a function that gives its types and what builds its code."""
    return Instruction(function)


def kernels_are_ready() -> bool:
    """Tell whether a first call of a kernel takes no longer than its work: numba need not load."""
    return "numba" in sys.modules or bool(ahead.libraries())


# Of each kernel the types that it was called with; both in the order of first calls.
Recorded: TypeAlias = "dict[Kernel, dict[tuple[Any, ...], None]]"
_recorded: Recorded | None = None


@contextmanager
def recording() -> Iterator[Recorded]:
    """Note the types of arguments that each kernel is called with, of those not called before."""
    global _recorded  # noqa: PLW0603
    _recorded = {}
    try:
        yield _recorded
    finally:
        _recorded = None


# What compiled code depends on


def content_of(kernel: Kernel) -> str:
    """Give a hash of a kernel, of all kernels that it calls, and of the constants in them.

    It is taken of what this process has imported: the files may have changed since.
    """
    into = blake2b(digest_size=8)
    for each in kernel.reached():
        into.update(each.content)
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


def told(value: Any) -> Any:
    """Give what tells a value that is compiled into code from others, in parts that print alike."""
    match value:
        case np.generic() | np.ndarray():
            return value.dtype.str, value.shape, value.tobytes()
        case None | bool() | int() | float() | complex() | str() | bytes():
            return type(value).__name__, value
        case Kernel():
            return value.py_func.__module__, value.py_func.__qualname__
        case Instruction():
            return value.content
        case ModuleType() if not value.__name__.startswith("likewise"):
            return value.__name__
        case type():
            return value.__module__, value.__qualname__, getattr(value, "_fields", ())
        case tuple():
            return tuple(map(told, value))
        case frozenset():
            return sorted(map(repr, map(told, value)))
        case CodeType():
            names = (value.co_names, value.co_varnames, value.co_cellvars, value.co_freevars)
            jumps = (value.co_argcount, value.co_flags, value.co_exceptiontable)
            return value.co_code, names, jumps, told(value.co_consts)
    raise TypeError(
        f"a kernel may refer to numbers, texts, arrays, types and kernels, not to {value!r}"
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

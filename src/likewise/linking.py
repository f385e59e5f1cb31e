"""Make a library of kernels ahead of their use: what numba compiled, linked by a C compiler.

numba's own compiler for this is to be removed, takes none of a kernel's options, and optimises what
kernels call once more, which gives other bits. Here the code is the one that numba runs.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from likewise import ahead, jit
from likewise.compiled import Kernel, Recorded, content_of
from likewise.errors import LikewiseError
from likewise.signatures import Unsupported, digit, program_of

# As ahead.h has them.
_N_SLOTS = 256
_N_RESULT = 4096
# What ahead.c has of numba's runtime.
_RUNTIME = {
    "NRT_Allocate",
    "NRT_Free",
    "NRT_MemInfo_alloc",
    "NRT_MemInfo_alloc_aligned",
    "NRT_MemInfo_call_dtor",
    "NRT_MemInfo_new_varsize_dtor",
    "NRT_MemInfo_varsize_realloc",
    "numba_attempt_nocopy_reshape",
}


@dataclass
class Linked:
    """What a library has, and why it does not have the rest."""

    path: Path
    names: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def link(recorded: Recorded, *, to: Path) -> Linked:
    """Make a library of kernels in a folder, for the kinds of arguments that each was called with.

    It takes the place of one that is there.
    """
    done = Linked(to)
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(prefix="likewise-compile-") as name:
        folder = Path(name)
        rows: list[_Row] = []
        for kernel in sorted(recorded, key=lambda kernel: kernel.name):
            for types in _merged(recorded[kernel]):
                try:
                    row = _emit(kernel, types, number=len(rows))
                except Unsupported as error:
                    done.left_out[f"{kernel.name}{types}"] = str(error)
                    continue
                (folder / f"{len(rows)}.o").write_bytes(row.code)
                rows.append(row)
                done.names.append(row.name)
        (folder / "entries.c").write_text(_table(rows))
        made = folder / ahead.FILE_NAME
        _run_compiler(compiler, folder, len(rows), made)
        done.path = to / ahead.name_of(ahead.digest_of(made))
        to.mkdir(parents=True, exist_ok=True)
        aside = to / f".{uuid4().hex}"
        shutil.copy(made, aside)
        # Whoever may use the folder may use what is in it.
        aside.chmod(0o755)
        aside.replace(done.path)
    for older in to.glob(ahead.name_of("*")):
        if older != done.path:
            older.unlink(missing_ok=True)
    return done


def _merged(signatures: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Leave out what another covers: code that only reads an array takes any, written to or not."""
    found: dict[str, tuple[Any, ...]] = {}
    for types in sorted(signatures, key=str):
        classes: list[type] = []
        try:
            key = repr([program_of(kind, classes, readable=True) for kind in types])
        except Unsupported:
            key = str(types)
        key += " ".join(map(ahead.described, classes))
        found[key] = tuple(map(_lesser, found.get(key, types), types))
    return [*found.values()]


def _lesser(one: Any, other: Any) -> Any:
    """Of two types of an argument that differ in what may be written to, give what neither may."""
    types: Any = import_module("numba").types
    if isinstance(one, types.Array):
        return one if not one.mutable else other
    if isinstance(one, types.BaseTuple):
        return _tuple_of(one, list(map(_lesser, one, other)))
    return one


def _tuple_of(like: Any, members: list[Any]) -> Any:
    types: Any = import_module("numba").types
    if hasattr(like, "instance_class"):
        return types.BaseTuple.from_types(members, like.instance_class)
    return types.BaseTuple.from_types(members)


# Code


@dataclass
class _Row:
    """A kernel in the table: see ahead.h."""

    name: str
    content: str
    classes: str
    arguments: str
    result: str
    code: bytes


def _emit(kernel: Kernel, types: tuple[Any, ...], *, number: int) -> _Row:
    """Make an object file of a kernel as numba compiled it, and of what hands it its arguments."""
    llvm: Any = import_module("llvmlite.binding")
    classes: list[type] = []
    arguments = digit(len(types)) + "".join(program_of(kind, classes) for kind in types)
    kernel.dispatcher.compile(types)
    compiled = kernel.dispatcher.overloads[types]
    returned = compiled.signature.return_type
    result = "N" if str(returned) == "none" else program_of(returned, classes)
    if 192 * result.count("A") + 8 * result.count("S") > _N_RESULT:
        raise Unsupported(f"it returns {returned}")
    module = llvm.parse_bitcode(compiled.library._get_module_for_linking().as_bitcode())
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration:
            each.linkage = "internal"
    function = module.get_function(compiled.fndesc.llvm_func_name)
    module.link_in(llvm.parse_assembly(_caller(function, number)))
    _drop_unused(module, f"run_{number}")
    missing = [name for name in _declared(module) if not _is_there(name)]
    if missing:
        raise Unsupported(f"it calls {', '.join(missing)}")
    code = _machine().emit_object(module)
    told = " ".join(map(ahead.described, classes))
    return _Row(kernel.name, content_of(kernel), told, arguments, result, code)


def _caller(function: Any, number: int) -> str:
    """Write a function that takes a kernel's arguments from slots of 8 bytes."""
    function.linkage = "external"
    function.name = f"kernel_{number}"
    result, error, *rest = [str(one.type) for one in function.arguments]
    if len(rest) > _N_SLOTS:
        raise Unsupported(f"{len(rest)} numbers and addresses as arguments")
    lines = [
        f"declare i32 @kernel_{number}({', '.join([result, error, *rest])})",
        f"define hidden i32 @run_{number}({result} %result, {error} %error, ptr %slots) {{",
    ]
    for i, kind in enumerate(rest):
        lines.append(f"%p{i} = getelementptr i64, ptr %slots, i64 {i}")
        lines.append(f"%a{i} = load {kind}, ptr %p{i}")
    given = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(rest))
    lines.append(
        f"%status = call i32 @kernel_{number}({result} %result, {error} %error"
        f"{', ' if given else ''}{given})"
    )
    return "\n".join([*lines, "ret i32 %status", "}"])


def _drop_unused(module: Any, name: str) -> None:
    llvm: Any = import_module("llvmlite.binding")
    for each in module.functions:
        if not each.is_declaration and each.name != name:
            each.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=0)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(_machine(), options))


def _declared(module: Any) -> list[str]:
    names = [
        each.name for each in (*module.functions, *module.global_variables) if each.is_declaration
    ]
    return [name for name in names if not name.startswith("llvm.")]


def _is_there(name: str) -> bool:
    """Tell whether ahead.c, Python or the system's libraries have it."""
    return name in _RUNTIME or hasattr(ctypes.CDLL(None), name)


def _machine() -> Any:
    llvm: Any = import_module("llvmlite.binding")
    cpu, features = jit.target()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )


# Linking


def _table(rows: list[_Row]) -> str:
    lines = ['#include "ahead.h"', f'const char target[] = "{jit.target()[0]}";']
    lines += [
        f"extern int32_t run_{i}(void *, void **, const int64_t *);" for i in range(len(rows))
    ]
    lines.append("const Entry entries[] = {")
    for i, row in enumerate(rows):
        texts = (row.name, row.content, row.classes, row.arguments, row.result)
        lines.append(f"{{{', '.join(map(_quoted, texts))}, run_{i}}},")
    return "\n".join([*lines, "};", f"const int n_entries = {len(rows)};", ""])


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\{ord(c):03o}" if c in '"\\?' else c for c in text) + '"'


def find_compiler() -> list[str]:
    """Find a C compiler: $CC, the one that Python was compiled by, or one that is installed."""
    for command in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang"):
        parts = shlex.split(command or "")
        if parts and shutil.which(parts[0]):
            return parts
    raise LikewiseError(
        "no C compiler was found; install one (gcc or clang), or name one by the variable CC; "
        "without, kernels are compiled when they are first used"
    )


def _run_compiler(compiler: list[str], folder: Path, n: int, made: Path) -> None:
    here = Path(__file__).parent
    includes = [sysconfig.get_path("include"), np.get_include(), str(here)]
    shared = (
        ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    )
    command = [*compiler, *shared, "-fPIC", "-O2", "-s", "-fvisibility=hidden"]
    command += [f"-I{include}" for include in includes]
    command += [str(here / "ahead.c"), "entries.c", *(f"{i}.o" for i in range(n))]
    done = subprocess.run(
        [*command, "-lm", "-o", str(made)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise LikewiseError(
            f"{compiler[0]} failed: {done.stderr.strip()[-600:]}; it needs Python's headers (on "
            "Debian: python3-dev)"
        )

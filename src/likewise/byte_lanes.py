"""Sixty-four bytes at once (SIMD): 4-bit codes, looked up in small tables and added up.

Only kernels can call these, as those of `lanes`; all are whole numbers, so that they are the same
everywhere. Processors that look up bytes in one instruction have them (`can_look_up`); a kernel
goes another way on others, for which nothing is built here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from likewise.compiled import instruction
from likewise.lanes import _ir, _pointer, _types, vector_type

BYTES = 64
# So many different codes there are.
CODES = 16
_HALF = BYTES // 2


@cache
def _bytes() -> Any:
    """Make numba's type of sixty-four bytes."""
    return vector_type("sixty-four", _bytes_of_llvm)


def _bytes_of_llvm() -> Any:
    return _vector(BYTES, 8)


def _vector(n: int, bits: int) -> Any:
    return _ir().VectorType(_ir().IntType(bits), n)


def _constant(kind: Any, value: int) -> Any:
    return _ir().Constant(kind, [value] * kind.count)


def _shuffled(builder: Any, one: Any, other: Any, lanes: range | list[int]) -> Any:
    return builder.shuffle_vector(one, other, _ir().Constant(_vector(len(lanes), 32), [*lanes]))


def _load(builder: Any, pointer: Any, kind: Any, align: int) -> Any:
    loaded = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    loaded.align = align
    return loaded


def _has_table_look_up() -> bool:
    jit: Any = import_module("likewise.jit")
    return bool(jit.target()[0] == "x86-64-v3")


@instruction
def can_look_up(context: Any) -> Any:
    """Tell whether the processor that is compiled for has what these are made of."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return context.get_constant(signature.return_type, _has_table_look_up())

    return _types().boolean(), build


@instruction
def no_bytes(context: Any) -> Any:
    """Give sixty-four bytes of 0."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _constant(_bytes_of_llvm(), 0)

    return _bytes()(), build


@instruction
def add_looked_up(context: Any, sums: Any, codes: Any, at: Any, tables: Any, table: Any) -> Any:
    """Add what a table has for sixty-four codes, which are two to a byte from `codes[at]` on.

    First those in the low bits, then those in the high ones. The table is the sixteen bytes from
    `tables[table]` on; sums are not to pass 255.
    """

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        half = _vector(_HALF, 8)
        if not _has_table_look_up():
            return given[0]
        source = _pointer(context, builder, signature.args[1], *given[1:3])
        both = _load(builder, source, half, 1)
        low = builder.and_(both, _constant(half, 15))
        high = builder.lshr(both, _constant(half, 4))
        place = _pointer(context, builder, signature.args[3], *given[3:5])
        values = _load(builder, place, _vector(CODES, 8), 1)
        twice = _shuffled(builder, values, values, [*range(CODES)] * 2)
        kind = _ir().FunctionType(half, [half, half])
        look_up = builder.module.declare_intrinsic("llvm.x86.avx2.pshuf.b", (), kind)
        found = [builder.call(look_up, [twice, each]) for each in (low, high)]
        return builder.add(given[0], _shuffled(builder, found[0], found[1], range(BYTES)))

    return _bytes()(_bytes(), codes, _types().uintp, tables, _types().uintp), build


@instruction
def add_multiplied(context: Any, sums: Any, at: Any, values: Any, unit: Any) -> Any:
    """Do `sums[at : at + 64] += values * unit`; `sums` are of 16 bits."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        wide = _vector(BYTES, 16)
        first = builder.insert_element(_constant(wide, 0), given[3], _ir().IntType(32)(0))
        units = _shuffled(builder, first, first, [0] * BYTES)
        target = _pointer(context, builder, signature.args[0], *given[:2])
        more = builder.mul(builder.zext(given[2], wide), units)
        total = builder.add(_load(builder, target, wide, 2), more)
        stored = builder.store(total, builder.bitcast(target, wide.as_pointer()))
        stored.align = 2
        return context.get_dummy_value()

    return _types().none(sums, _types().uintp, _bytes(), _types().uint16), build

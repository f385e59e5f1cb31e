"""Eight single-precision numbers at once (SIMD), in loops that are not vectorised otherwise.

Only kernels can call these: a kernel holds eight numbers as one value. Each works on them in one
order, whatever the processor, so that the bits are the same everywhere. Places (`at`) are np.uintp.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from likewise.compiled import instruction

LANES = 8


@cache
def _eight() -> Any:
    """Make numba's type of eight numbers."""
    return vector_type("eight", _floats)


def vector_type(name: str, kind: Callable[[], Any]) -> Any:
    """Make a type of numba's whose values are one vector of LLVM's."""
    numba: Any = import_module("numba")
    models: Any = import_module("numba.core.datamodel")

    class Vector(numba.types.Type):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(name)

    class Model(models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, of: Any) -> None:
            super().__init__(manager, of, kind())

    models.register_default(Vector)(Model)
    return Vector()


def _types() -> Any:
    return import_module("numba").types


def _ir() -> Any:
    return import_module("llvmlite.ir")


def _floats() -> Any:
    return _ir().VectorType(_ir().FloatType(), LANES)


def _whole() -> Any:
    return _ir().VectorType(_ir().IntType(32), LANES)


def _zero(kind: Any) -> Any:
    return _ir().Constant(kind, [0] * LANES)


def _shuffled(builder: Any, values: Any, lanes: tuple[int, ...]) -> Any:
    """Take numbers by their lanes; lane 8 is 0."""
    ir = _ir()
    order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(lanes))
    return builder.shuffle_vector(values, _zero(values.type), order)


def _spread(builder: Any, kind: Any, value: Any) -> Any:
    first = builder.insert_element(_zero(kind), value, _ir().IntType(32)(0))
    return _shuffled(builder, first, (0,) * LANES)


def _only(builder: Any, kind: Any, value: Any, lane: Any) -> Any:
    """Give eight numbers that are 0 but for one."""
    ir = _ir()
    lane = _spread(builder, _whole(), builder.trunc(lane, ir.IntType(32)))
    there = builder.icmp_unsigned("==", lane, ir.Constant(_whole(), list(range(LANES))))
    return builder.select(there, _spread(builder, kind, value), _zero(kind))


def _pointer(context: Any, builder: Any, kind: Any, values: Any, at: Any) -> Any:
    arrays: Any = import_module("numba.np.arrayobj")
    return builder.gep(arrays.make_array(kind)(context, builder, values).data, [at])


def _load(builder: Any, pointer: Any, kind: Any) -> Any:
    loaded = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    loaded.align = 4
    return loaded


def _store(builder: Any, pointer: Any, eight: Any) -> None:
    stored = builder.store(eight, builder.bitcast(pointer, eight.type.as_pointer()))
    stored.align = 4


@instruction
def load(context: Any, values: Any, at: Any) -> Any:
    """Give `values[at : at + 8]`."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *given)
        return _load(builder, pointer, _floats())

    return _eight()(values, _types().uintp), build


@instruction
def store(context: Any, values: Any, at: Any, eight: Any) -> Any:
    """Do `values[at : at + 8] = eight`."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        _store(builder, _pointer(context, builder, signature.args[0], *given[:2]), given[2])
        return context.get_dummy_value()

    return _types().none(values, _types().uintp, _eight()), build


@instruction
def spread(context: Any, value: Any) -> Any:
    """Give a number eight times."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _spread(builder, _floats(), given[0])

    return _eight()(_types().float32), build


@instruction
def add(context: Any, one: Any, other: Any) -> Any:
    """Add numbers, each to that of its lane."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fadd(*given)

    return _eight()(_eight(), _eight()), build


@instruction
def multiply(context: Any, one: Any, other: Any) -> Any:
    """Multiply numbers, each by that of its lane."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fmul(*given)

    return _eight()(_eight(), _eight()), build


@instruction
def cumulate(context: Any, eight: Any) -> Any:
    """Give the cumulative sums of eight numbers; where a number is 0 its sum is that before it."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        sums = given[0]
        for lanes in (
            (8, 0, 8, 2, 8, 4, 8, 6),
            (8, 8, 1, 1, 8, 8, 5, 5),
            (8, 8, 8, 8, 3, 3, 3, 3),
        ):
            sums = builder.fadd(sums, _shuffled(builder, sums, lanes))
        return sums

    return _eight()(_eight()), build


@instruction
def shift(context: Any, eight: Any) -> Any:
    """Move numbers one lane up; the first is 0."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _shuffled(builder, given[0], (8, 0, 1, 2, 3, 4, 5, 6))

    return _eight()(_eight()), build


@instruction
def take(context: Any, eight: Any, lane: Any) -> Any:
    """Give the number of a lane."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.extract_element(*given)

    return _types().float32(_eight(), _types().uintp), build


@instruction
def count_to(context: Any, eight: Any, limit: Any) -> Any:
    """Count the numbers up to a limit: `(eight <= limit).sum()`."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        ir = _ir()
        below = builder.fcmp_ordered("<=", given[0], _spread(builder, _floats(), given[1]))
        bits = builder.bitcast(below, ir.IntType(LANES))
        return builder.zext(builder.ctpop(bits), context.get_value_type(signature.return_type))

    return _types().uintp(_eight(), _types().float32), build


@instruction
def tally(context: Any, counts: Any, eight: Any, limit: Any) -> Any:
    """Count the numbers up to a limit lane by lane: `counts + (eight <= limit)`.

    Counts start as `spread(0)`; `taken` gives one.
    """

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        below = builder.fcmp_ordered("<=", given[1], _spread(builder, _floats(), given[2]))
        counts = builder.bitcast(given[0], _whole())
        return builder.bitcast(builder.sub(counts, builder.sext(below, _whole())), _floats())

    return _eight()(_eight(), _eight(), _types().float32), build


@instruction
def taken(context: Any, counts: Any, lane: Any) -> Any:
    """Give the count of a lane."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        count = builder.extract_element(builder.bitcast(given[0], _whole()), given[1])
        return builder.zext(count, context.get_value_type(signature.return_type))

    return _types().uintp(_eight(), _types().uintp), build


def _around(context: Any, builder: Any, signature: Any, given: Any) -> tuple[Any, Any]:
    """Give a pointer to the eight numbers that a place is one of, and its lane."""
    values, at = given[:2]
    first = builder.and_(at, at.type(-LANES))
    pointer = _pointer(context, builder, signature.args[0], values, first)
    return pointer, builder.and_(at, at.type(LANES - 1))


@instruction
def add_at(context: Any, values: Any, at: Any, change: Any) -> Any:
    """Do `values[at] += change`, storing the eight numbers around it.

    A processor that soon loads the eight need not wait then until what was stored is written.
    """

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        pointer, lane = _around(context, builder, signature, given)
        change = _only(builder, _floats(), given[2], lane)
        _store(builder, pointer, builder.fadd(_load(builder, pointer, _floats()), change))
        return context.get_dummy_value()

    return _types().none(values, _types().uintp, _types().float32), build


@instruction
def put_at(context: Any, values: Any, at: Any, value: Any) -> Any:
    """Do `values[at] = value`, storing the eight numbers around it, as `add_at` does."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        # What is added is the difference of the bits: eight of which some are chosen would be
        # stored in a way that is slow, and slow to load from.
        pointer, lane = _around(context, builder, signature, given)
        bits = _ir().IntType(32)
        place = _pointer(context, builder, signature.args[0], *given[:2])
        before = builder.load(builder.bitcast(place, bits.as_pointer()))
        change = builder.sub(builder.bitcast(given[2], bits), before)
        change = _only(builder, _whole(), change, lane)
        _store(builder, pointer, builder.add(_load(builder, pointer, _whole()), change))
        return context.get_dummy_value()

    return _types().none(values, _types().uintp, _types().float32), build


@instruction
def prefetch(context: Any, values: Any, at: Any) -> Any:
    """Have the cache line of `values[at]` fetched, without waiting for it."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        ir = _ir()
        number, address = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        pointer = _pointer(context, builder, signature.args[0], *given)
        # To be read, into the nearest cache, as data.
        builder.call(function, [builder.bitcast(pointer, address), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return _types().none(values, _types().uintp), build

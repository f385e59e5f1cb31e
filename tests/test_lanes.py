from functools import cache
from types import FunctionType

import numpy as np
import pytest

from likewise import lanes
from likewise.compiled import content_of, instruction, kernel
from likewise.lanes import (
    add,
    add_at,
    count_to,
    cumulate,
    load,
    multiply,
    prefetch,
    put_at,
    shift,
    spread,
    store,
    take,
    taken,
    tally,
)

WHOLE, HALF = np.uintp(8), np.uintp(4)


@kernel
def calculated(x, y, out):
    """A row of `out` for each instruction that gives eight numbers."""
    one, other = load(x, HALF), load(y, WHOLE)
    store(out, np.uintp(0), add(one, other))
    store(out, np.uintp(8), multiply(one, other))
    store(out, np.uintp(16), cumulate(one))
    store(out, np.uintp(24), shift(one))
    store(out, np.uintp(32), spread(x[0]))


@kernel
def counted(x, limit):
    counts = spread(np.float32(0))
    for k in range(np.uintp(0), np.uintp(len(x)), WHOLE):
        counts = tally(counts, load(x, k), limit)
    out = np.empty(8, np.int64)
    for lane in range(8):
        out[lane] = taken(counts, np.uintp(lane))
    return count_to(load(x, np.uintp(0)), limit), out


@kernel
def lane_of(x, lane):
    return take(load(x, np.uintp(0)), np.uintp(lane))


@kernel
def changed(x, at, change, value):
    prefetch(x, at)
    add_at(x, at, change)
    put_at(x, at ^ np.uintp(9), value)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_eight_numbers_are_calculated_with_at_once(rng):
    x, y, out = (rng.random(n, np.float32) for n in (12, 16, 40))
    calculated(x, y, out)
    one, other = x[4:], y[8:]
    expected = [one + other, one * other, np.cumsum(one), np.append(0, one[:-1]), np.full(8, x[0])]
    assert out == pytest.approx(np.concatenate(expected), rel=1e-6)


def test_a_sum_does_not_change_where_a_number_is_nothing(rng):
    for zeros in range(256):
        x = rng.lognormal(0, 5, 12).astype(np.float32)
        x[4:][[bool(zeros >> lane & 1) for lane in range(8)]] = 0
        out = np.empty(40, np.float32)
        calculated(x, np.zeros(16, np.float32), out)
        before = np.append(np.float32(0), out[16:23])
        assert (out[16:24] >= before).all()
        assert (out[16:24] == before)[x[4:] == 0].all()


def test_numbers_up_to_a_limit_are_counted(rng):
    x = rng.random(40, np.float32)
    for limit in (np.float32(0), x[3], np.float32(2)):
        within, by_lane = counted(x, limit)
        assert within == (x[:8] <= limit).sum()
        assert by_lane.tolist() == (x.reshape(-1, 8) <= limit).sum(axis=0).tolist()
    assert [lane_of(x, lane) for lane in range(8)] == x[:8].tolist()


def test_one_number_is_changed_and_those_around_it_are_not(rng):
    for at in range(16):
        x = rng.standard_normal(16).astype(np.float32)
        expected = x.copy()
        expected[at] += np.float32(0.3)
        expected[at ^ 9] = -1e30
        changed(x, np.uintp(at), np.float32(0.3), np.float32(-1e30))
        assert np.array_equal(x, expected)


def test_only_kernels_call_them_and_kernels_are_compiled_anew_with_them(monkeypatch):
    with pytest.raises(TypeError, match="only a kernel can call add"):
        add(1, 2)
    before = content_of(lane_of)
    vars(lane_of).pop("content", None)
    assert content_of(lane_of) == before

    def other(context, eight, lane):
        return None

    def with_one_more(function):
        """Its like, whose code has another constant."""
        code = function.__code__.replace(co_consts=(*function.__code__.co_consts, "more"))
        return FunctionType(code, function.__globals__)

    cached = cache(with_one_more(lanes._eight.__wrapped__))
    edits = {"_floats": other, "LANES": 4, "_eight": cached, "_types": with_one_more(lanes._types)}
    contents = {before}
    for name, edited in edits.items():
        with monkeypatch.context() as edit:
            edit.setattr(lanes, name, edited)
            edit.setitem(lane_of.py_func.__globals__, "take", instruction(take.function))
            vars(lane_of).pop("content", None)
            contents.add(content_of(lane_of))
    vars(lane_of).pop("content", None)
    assert len(contents) == 1 + len(edits)
    assert content_of(lane_of) == before

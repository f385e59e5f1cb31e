from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.text import table as module
from likewise.text.table import (
    Strings,
    StringTable,
    _find_plainly,
    find,
    find_all,
    hash_bytes,
    make_slots,
    probe,
)

KEYS = st.lists(st.binary(max_size=6), max_size=40)


@given(KEYS, st.data())
def test_strings_hold_what_they_were_given(keys, data):
    strings = Strings.of(keys)
    assert strings.size == len(keys)
    assert strings.all() == keys
    assert [strings.at(i) for i in range(len(keys))] == keys
    if keys:
        which = data.draw(st.lists(st.integers(0, len(keys) - 1), max_size=20))
        taken = strings.take(np.array(which, np.int64))
        assert taken.all() == [keys[i] for i in which]
        assert strings.some(np.array(which, np.int64)) == taken.all()
        assert taken.offsets[0] == 0


@given(KEYS)
def test_a_slice_of_strings_is_strings(keys):
    strings = Strings.of([b"before", *keys])
    assert Strings(strings.arena, strings.offsets[1:]).all() == keys


@given(st.lists(KEYS, max_size=6))
def test_lists_of_strings_are_joined(pieces):
    joined = Strings.joined([Strings.of(piece) for piece in pieces])
    assert joined.all() == [key for piece in pieces for key in piece]
    assert joined.offsets[0] == 0
    # Those that are part of a longer list keep their own.
    parts = [Strings.of([b"before", *piece]) for piece in pieces]
    assert Strings.joined([Strings(p.arena, p.offsets[1:]) for p in parts]).all() == joined.all()


@given(st.lists(KEYS, max_size=6), KEYS)
def test_table_equals_a_dict(batches, asked):
    table, model = StringTable(), {}
    for batch in batches:
        numbers = table.intern(Strings.of(batch))
        assert numbers.tolist() == [model.setdefault(key, len(model)) for key in batch]
        assert len(table) == len(model)
        assert table.strings.all() == list(model)
    found = table.find(Strings.of(asked))
    assert found.tolist() == [model.get(key, -1) for key in asked]


def test_table_grows_many_times():
    rng = np.random.default_rng(7)
    table, model = StringTable(), {}
    for _ in range(60):
        keys = [str(n).encode() * (n % 5) for n in rng.integers(0, 200_000, 3_000).tolist()]
        expected = [model.setdefault(key, len(model)) for key in keys]
        assert table.intern(Strings.of(keys)).tolist() == expected
    assert table.strings.all() == list(model)
    assert table.find(Strings.of(list(model))).tolist() == list(range(len(model)))
    assert table.find(Strings.of([b"unknown"])).tolist() == [-1]
    assert table.n_bytes > sum(map(len, model))


def test_one_batch_larger_than_any_growth_step():
    table = StringTable()
    keys = [b"%d" % n for n in range(100_000)]
    assert table.intern(Strings.of([b"first"])).tolist() == [0]
    assert table.intern(Strings.of(keys)).tolist() == list(range(1, 100_001))
    assert table.intern(Strings.of([b"x" * 1_000_000])).tolist() == [100_001]
    assert table.strings.at(100_001) == b"x" * 1_000_000


@given(st.lists(st.binary(max_size=4), max_size=30, unique=True), st.data())
def test_slots_leave_out_what_is_not_live(keys, data):
    live = data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
    strings = Strings.of(keys)
    slots = make_slots(strings, live=np.array(live, np.bool_))
    expected = [i if alive else -1 for i, alive in enumerate(live)]
    assert find(strings, strings, slots).tolist() == expected


@pytest.mark.parametrize("way", ["compiled", "plain"])
def test_only_what_is_not_found_yet_is_looked_up(way):
    ways = {"compiled": compiled, "plain": plain}
    keys, strings = Strings.of([b"a", b"b", b"c", b"d"]), Strings.of([b"b", b"d", b"a"])
    slots = make_slots(strings)
    found = ways[way](keys, strings, slots, first=100, before=[-1, 7, -1, -1])
    assert found == (True, [102, 7, -1, 101])
    for wrong in (-2, 3, 2**31 - 1):
        slots[:] = wrong
        assert ways[way](keys, strings, slots) == (False, [-1] * 4)


def test_slots_may_have_equal_strings_if_one_is_live():
    strings = Strings.of([b"same", b"same", b"other"])
    slots = make_slots(strings, live=np.array([False, True, True]))
    assert find(Strings.of([b"same"]), strings, slots).tolist() == [1]


@given(st.binary(max_size=40))
def test_hash_equals_its_definition(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    arena = np.frombuffer(b"??" + data, np.uint8).copy()
    assert int(hash_bytes(arena, 2, len(arena))) == h ^ (h >> 32)


@pytest.mark.parametrize("value", [0, 5, 2**31 - 1])
def test_probe_ends_on_damaged_slots(value):
    strings = Strings.of([b"a", b"b"])
    slots = np.full(16, value, np.int32)
    key = np.frombuffer(b"zz", np.uint8).copy()
    slot = probe(hash_bytes(key, 0, 2), key, 0, 2, *strings, slots)
    assert 0 <= slot < 16


def compiled(keys, strings, slots, *, first=0, before=None):
    out = np.array(before or [-1] * keys.size, np.int64)
    whole = find_all(*keys, *strings, slots, first, out)
    return whole, out.tolist()


def plain(keys, strings, slots, *, first=0, before=None):
    out = np.array(before or [-1] * keys.size, np.int64)
    whole = _find_plainly(keys, strings, slots, first, out)
    return whole, out.tolist()


@given(
    st.lists(st.binary(max_size=6), max_size=60, unique=True),
    st.lists(st.binary(max_size=6), max_size=20),
    st.data(),
)
def test_the_plain_look_up_equals_the_compiled_one(keys, asked, data):
    live = data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
    strings = Strings.of(keys)
    slots = make_slots(strings, live=np.array(live, np.bool_))
    asked = Strings.of([*asked, *keys])
    whole, found = plain(asked, strings, slots)
    assert (whole, found) == compiled(asked, strings, slots)
    model = {key: i for i, key in enumerate(keys) if live[i]}
    assert whole
    assert found == [model.get(key, -1) for key in asked.all()]


@given(
    st.lists(st.binary(max_size=3), max_size=8),
    st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 9), min_size=8, max_size=8),
    st.lists(st.integers(0, 40) | st.integers(0, 2**32 - 1), min_size=1, max_size=9),
    st.lists(st.binary(max_size=3), max_size=5),
)
def test_both_look_ups_end_alike_on_damaged_tables(keys, slots, offsets, asked):
    """Any slots and any offsets: the same numbers, and nothing is read outside."""
    strings = Strings(Strings.of(keys).arena, np.array(offsets, np.uint32))
    slots = np.array(slots, np.int32)
    keys = Strings.of(asked)
    whole, found = plain(keys, strings, slots)
    assert (whole, found) == compiled(keys, strings, slots)
    assert max(found, default=-1) < strings.size


@pytest.mark.parametrize("n", [0, 1, 16, 17, 100])
def test_few_keys_are_looked_up_without_compiled_code(monkeypatch, n):
    table = StringTable()
    keys = [b"%d" % i for i in range(200)]
    table.intern(Strings.of(keys))
    asked = Strings.of(keys[:n])
    expected = table.find(asked).tolist()
    used = []
    real = module.find_all
    monkeypatch.setattr(module, "find_all", lambda *arguments: used.append(1) or real(*arguments))
    monkeypatch.setattr(module, "kernels_are_ready", lambda: False)
    found = find(asked, table.strings, table._slots)
    assert found.tolist() == expected
    assert found.dtype == np.int64
    assert bool(used) == (n > 16)

"""Texts coded by symbols: what they stand for, whatever the bytes and the table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection import symbols as module
from likewise.collection.symbols import (
    TABLE,
    Symbols,
    choose_symbols,
    count_codes,
    decode_texts,
    encode_texts,
    joined,
)

ESCAPE = 255
TEXTS = st.lists(
    st.binary(max_size=30) | st.text("abcde ", max_size=60).map(str.encode), max_size=12
)


@pytest.fixture
def few(monkeypatch):
    """Let a few bytes be worth a table."""
    monkeypatch.setattr(module, "_FEW_BYTES", 1)


def names_of(symbols):
    pairs = zip(symbols.values.tolist(), symbols.sizes.tolist(), strict=True)
    return [value.to_bytes(size, "little") for value, size in pairs]


def codes_of(text, symbols):
    """What the codes of a text are, one by one: the longest symbol, or a byte (256 + byte)."""
    names, codes = names_of(symbols), []
    while text:
        fits = [i for i, name in enumerate(names) if name and text.startswith(name)]
        code = max(fits, key=lambda i: len(names[i]), default=TABLE + text[0])
        codes.append(code)
        text = text[len(names[code]) if code < TABLE else 1 :]
    return codes


def encoded(text, symbols):
    """Equals `encode_texts` of one text."""
    out = bytearray()
    for code in codes_of(text, symbols):
        out += bytes([code]) if code < TABLE else bytes([ESCAPE, code - TABLE])
    check = len(out)
    for byte in out:
        check = (check ^ byte) * 40503 % (1 << 16)
    return bytes(out) + check.to_bytes(2, "little")


def decoded(codes, ends, symbols, which, run=1 << 30):
    runs = np.arange(0, len(ends), run, dtype=np.uint32)
    offsets = np.concatenate([[0], ends]).astype(np.uint32)
    n = len(runs)
    coded = (codes, offsets, runs, np.tile(symbols.values, n), np.tile(symbols.sizes, n))
    return decode_texts(np.array(which, np.int64), *coded)


@pytest.mark.usefixtures("few")
@settings(max_examples=100)
@given(TEXTS, TEXTS)
def test_texts_are_what_their_codes_stand_for(sample, texts):
    symbols = choose_symbols(sample)
    codes, ends = encode_texts(*joined(texts), *symbols)
    pieces = [codes[a:b].tobytes() for a, b in pairwise([0, *ends.tolist()])]
    assert pieces == [encoded(text, symbols) for text in texts]
    for which in (range(len(texts)), [*range(len(texts))][::-2]):
        found, bounds = decoded(codes, ends, symbols, which, run=3)
        inside = b",".join(b"[" + texts[i] + b"]" for i in which)
        assert found.tobytes() == b"[" + inside + b"]" if len(which) else b"]"
        stops = [texts_end + 2 for texts_end in _ends([texts[i] for i in which])]
        assert bounds.tolist() == stops


def _ends(texts):
    ends, at = [], 0
    for text in texts:
        ends.append(at + len(text))
        at += len(text) + 3
    return ends


@pytest.mark.usefixtures("few")
@settings(max_examples=30)
@given(TEXTS, TEXTS)
def test_codes_are_counted_one_by_one_and_in_pairs(sample, texts):
    symbols = choose_symbols(sample)
    ones, twos = np.zeros(2 * TABLE, np.int64), np.zeros((2 * TABLE, 2 * TABLE), np.int32)
    count_codes(*joined(texts), *symbols, ones, twos)
    rows = [codes_of(text, symbols) for text in texts]
    expected = np.bincount([code for row in rows for code in row], minlength=2 * TABLE)
    assert ones.tolist() == expected.tolist()
    pairs = np.zeros_like(twos)
    for row in rows:
        for one, two in pairwise(row):
            pairs[one, two] += 1
    assert (twos == pairs).all()


@pytest.mark.usefixtures("few")
@settings(max_examples=50)
@given(TEXTS)
def test_a_table_is_in_order_and_has_no_symbol_twice(texts):
    symbols = choose_symbols(texts)
    names = [name for name in names_of(symbols) if name]
    assert names_of(symbols)[len(names) :] == [b""] * (TABLE - len(names))
    assert len({*names}) == len(names) < TABLE
    assert max(map(len, names), default=0) <= 8
    assert names == sorted(names, key=lambda name: (name[0], -len(name), name))
    assert [a.tolist() for a in symbols] == [a.tolist() for a in choose_symbols(texts)]


def test_a_few_bytes_stay_as_they_are():
    texts = [b"a few bytes", b"\xc3\xa9"]
    codes, _ = encode_texts(*joined(texts), *choose_symbols(texts))
    assert codes[:11].tobytes() == texts[0]


def test_what_is_frequent_becomes_short():
    texts = [b'"title %d","",{"category":"kind %d"},true' % (i, i % 7) for i in range(1000)]
    symbols = choose_symbols(texts)
    codes, _ = encode_texts(*joined(texts), *symbols)
    assert len(codes) < 0.4 * sum(map(len, texts))
    # Of a letter that was never seen, twice as much.
    codes, _ = encode_texts(*joined([b"\xd0\x96" * 100]), *symbols)
    assert len(codes) == 2 * 200 + 2


@pytest.mark.usefixtures("few")
@settings(max_examples=100)
@given(st.binary(max_size=20), st.lists(st.integers(0, 12), min_size=TABLE, max_size=TABLE))
def test_no_codes_and_no_table_lead_astray(codes, sizes):
    symbols = Symbols(np.arange(TABLE, dtype=np.uint64), np.array(sizes, np.uint8))
    check = len(codes)
    for byte in codes:
        check = (check ^ byte) * 40503 % (1 << 16)
    data = np.frombuffer(bytearray(codes + check.to_bytes(2, "little")), np.uint8)
    found, ends = decoded(data, np.array([len(data)]), symbols, [0])
    assert len(found) == (0 if not len(ends) else int(ends[0]) + 2)

"""Short texts compressed each by itself: frequent pieces become codes of one byte.

That is FSST (Boncz, Neumann, Leis: Fast Random Access String Compression, 2020). A run of texts has
a table of up to 255 *symbols*, pieces of one to eight bytes; a text is a row of codes, and code 255
is followed by a byte for which there is no symbol. Two bytes after it are a checksum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.compiled import Bytes, Ids, Int, Ints, Longs, Offsets, kernel

# Places of a table, a symbol each but for the last, which stands for what has none.
TABLE = 256
_ESCAPE = TABLE - 1
_LONGEST = 8
# Symbols are chosen by as many texts of a run, from their first so many bytes.
_SAMPLED, _SAMPLED_BYTES = 1024, 1024
# Symbols are joined from those before, so many times.
_ROUNDS = 9
# Of fewer bytes a table would be longer than what it saves.
_FEW_BYTES = 1 << 13
# Joined pairs that are looked at for a table.
_PAIRS = 600
_CHECK_BYTES = 2
_FACTOR, _CHECK_MASK = 40503, 0xFFFF
_OPEN, _CLOSE, _COMMA = b"[],"


class Symbols(NamedTuple):
    """A table: symbols as little-endian numbers, by their first byte, the longest first.

    The size of a place that has no symbol is 0.
    """

    values: Longs
    sizes: Bytes


class CodedTexts(NamedTuple):
    """Texts as they are stored: text i is `codes[offsets[i]:offsets[i + 1]]`.

    Run j begins with text `runs[j]`, and its table is at `TABLE * j`.
    """

    codes: Bytes
    offsets: Offsets
    runs: Offsets
    values: Longs
    sizes: Bytes


def choose_symbols(texts: Sequence[bytes]) -> Symbols:
    """Choose the symbols that shorten texts most; without many bytes, bytes as they are."""
    if sum(map(len, texts)) < _FEW_BYTES:
        return _laid([bytes([byte]) for byte in range(_ESCAPE)])
    sample = [text[:_SAMPLED_BYTES] for text in texts[:: -(-len(texts) // _SAMPLED)]]
    data, bounds = joined(sample)
    chosen: list[bytes] = []
    for _ in range(_ROUNDS):
        symbols = _laid(chosen)
        ones = np.zeros(2 * TABLE, np.int64)
        twos = np.zeros((2 * TABLE, 2 * TABLE), np.int32)
        count_codes(data, bounds, *symbols, ones, twos)
        chosen = _best(symbols, ones, twos)
    return _laid(chosen)


def joined(texts: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Lay texts end to end, and zeros after the last."""
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    return np.frombuffer(bytearray(b"".join([*texts, bytes(_LONGEST)])), np.uint8), bounds


def _laid(chosen: Sequence[bytes]) -> Symbols:
    """Lay symbols out as a table."""
    ordered = sorted(chosen, key=lambda symbol: (symbol[0], -len(symbol), symbol))
    values, sizes = np.zeros(TABLE, np.uint64), np.zeros(TABLE, np.uint8)
    values[: len(ordered)] = [int.from_bytes(symbol, "little") for symbol in ordered]
    sizes[: len(ordered)] = [len(symbol) for symbol in ordered]
    return Symbols(values, sizes)


def _best(symbols: Symbols, ones: Ints, twos: Ids) -> list[bytes]:
    """Choose from symbols, and from pairs of them, those that stand for most bytes of a sample."""
    names = [
        value.to_bytes(size, "little")
        for value, size in zip(symbols.values.tolist(), symbols.sizes.tolist(), strict=True)
    ]
    names += [bytes([byte]) for byte in range(TABLE)]
    gains: dict[bytes, int] = {}
    for code in np.flatnonzero(ones).tolist():
        gains[names[code]] = gains.get(names[code], 0) + int(ones[code]) * len(names[code])
    lengths = np.array([*map(len, names)])
    first, second = np.nonzero(twos > 1)
    size = lengths[first] + lengths[second]
    gain = np.where(size <= _LONGEST, twos[first, second] * size, 0)
    for i in np.argsort(-gain, kind="stable")[:_PAIRS].tolist():
        pair = names[first[i]] + names[second[i]]
        if gain[i] > 0:
            gains[pair] = gains.get(pair, 0) + int(gain[i])
    return sorted(gains, key=lambda name: (-gains[name], name))[:_ESCAPE]


@kernel
def _first_codes(values: Longs, sizes: Bytes) -> Ints:
    """Give where the symbols of each first byte begin."""
    out = np.zeros(TABLE + 1, np.int64)
    for code in range(_ESCAPE):
        if sizes[code]:
            out[np.int64(values[code] & np.uint64(255)) + 1] += 1
    for byte in range(TABLE):
        out[byte + 1] += out[byte]
    return out


@kernel
def _longest(data: Bytes, at: Int, stop: Int, values: Longs, sizes: Bytes, firsts: Ints) -> Int:
    """Give the code of the longest symbol that a text has here; -1 where there is none."""
    left = stop - at
    word = _eight_bytes(data[at : at + _LONGEST])
    for code in range(firsts[data[at]], firsts[np.int64(data[at]) + 1]):
        size = np.int64(sizes[code])
        if size <= left and (word ^ values[code]) << np.uint64(64 - 8 * size) == 0:
            return code
    return -1


@kernel
def _eight_bytes(data: Bytes) -> Any:
    """Read eight bytes as a little-endian number: written so that it becomes one instruction."""
    low = np.uint64(data[0]) | np.uint64(data[1]) << np.uint64(8)
    low |= np.uint64(data[2]) << np.uint64(16) | np.uint64(data[3]) << np.uint64(24)
    low |= np.uint64(data[4]) << np.uint64(32) | np.uint64(data[5]) << np.uint64(40)
    return low | np.uint64(data[6]) << np.uint64(48) | np.uint64(data[7]) << np.uint64(56)


@kernel
def _put_eight_bytes(value: Any, out: Bytes) -> None:
    """Write eight bytes: as `_eight_bytes` reads them."""
    out[0] = value & np.uint64(255)
    out[1] = (value >> np.uint64(8)) & np.uint64(255)
    out[2] = (value >> np.uint64(16)) & np.uint64(255)
    out[3] = (value >> np.uint64(24)) & np.uint64(255)
    out[4] = (value >> np.uint64(32)) & np.uint64(255)
    out[5] = (value >> np.uint64(40)) & np.uint64(255)
    out[6] = (value >> np.uint64(48)) & np.uint64(255)
    out[7] = value >> np.uint64(56)


@kernel
def count_codes(
    data: Bytes, bounds: Ints, values: Longs, sizes: Bytes, ones: Ints, twos: Ids
) -> None:
    """Count codes, and pairs of codes that follow one another; a byte without one is 256 + byte."""
    firsts = _first_codes(values, sizes)
    for i in range(len(bounds) - 1):
        at, stop = bounds[i], bounds[i + 1]
        before: Int = -1
        while at < stop:
            code = _longest(data, at, stop, values, sizes, firsts)
            if code < 0:
                code = TABLE + np.int64(data[at])
                at += 1
            else:
                at += np.int64(sizes[code])
            ones[code] += 1
            if before >= 0:
                twos[before, code] += 1
            before = code


@kernel
def encode_texts(data: Bytes, bounds: Ints, values: Longs, sizes: Bytes) -> tuple[Bytes, Ints]:
    """Write texts as codes: the bytes of all of them, and where each ends."""
    firsts = _first_codes(values, sizes)
    n = len(bounds) - 1
    out = np.empty(2 * len(data) + _CHECK_BYTES * n, np.uint8)
    ends = np.empty(n, np.int64)
    size = 0
    for i in range(n):
        at, stop, start = bounds[i], bounds[i + 1], size
        while at < stop:
            code = _longest(data, at, stop, values, sizes, firsts)
            if code < 0:
                out[size] = _ESCAPE
                out[size + 1] = data[at]
                size += 2
                at += 1
            else:
                out[size] = code
                size += 1
                at += np.int64(sizes[code])
        check = _check_of(out, start, size)
        out[size] = check & 255
        out[size + 1] = check >> 8
        size += _CHECK_BYTES
        ends[i] = size
    return out[:size].copy(), ends


@kernel
def _check_of(codes: Bytes, start: Int, stop: Int) -> Int:
    """Give a checksum of 16 bits, which no change of one byte leaves as it was."""
    check = np.int64(stop - start)
    for at in range(start, stop):
        check = ((check ^ np.int64(codes[at])) * _FACTOR) & _CHECK_MASK
    return check & _CHECK_MASK


@kernel
def decode_texts(
    texts: Ints, codes: Bytes, offsets: Offsets, runs: Offsets, values: Longs, sizes: Bytes
) -> tuple[Bytes, Ints]:
    """Give texts as lists within a list, `[[text],[text]]`, and where each ends in it.

    Nothing where one of them was altered.
    """
    room: Int = 2 + _LONGEST
    ends = np.empty(len(texts), np.int64)
    for text in texts:
        if not 0 <= text < len(offsets) - 1:
            return np.empty(0, np.uint8), ends[:0]
        start, stop = np.int64(offsets[text]), np.int64(offsets[text + 1])
        if not 0 <= start <= stop <= len(codes):
            return np.empty(0, np.uint8), ends[:0]
        room += 3 + _LONGEST * (stop - start)
    out = np.empty(room, np.uint8)
    out[0] = _OPEN
    at = 1
    for i in range(len(texts)):
        out[at] = _OPEN
        start, stop = np.int64(offsets[texts[i]]), np.int64(offsets[texts[i] + 1])
        table = TABLE * (np.searchsorted(runs, texts[i], side="right") - 1)
        end: Int = -1
        if 0 <= table <= min(len(values), len(sizes)) - TABLE:
            mine = values[table : table + TABLE], sizes[table : table + TABLE]
            end = _decode(codes[start:stop], *mine, out, at + 1)
        if end < 0:
            return np.empty(0, np.uint8), ends[:0]
        ends[i] = end
        out[end] = _CLOSE
        out[end + 1] = _COMMA
        at = end + 2
    out[at - 1] = _CLOSE
    return out[:at], ends


@kernel
def _decode(codes: Bytes, values: Longs, sizes: Bytes, out: Bytes, at: Int) -> Int:
    """Write a text at a place, and more behind it; give where it ends, or -1: it was altered."""
    n = len(codes) - _CHECK_BYTES
    if n < 0 or _check_of(codes, 0, n) != np.int64(codes[n]) | np.int64(codes[n + 1]) << 8:
        return -1
    i = 0
    while i < n:
        size = np.int64(sizes[codes[i]])
        if 1 <= size <= _LONGEST:
            _put_eight_bytes(values[codes[i]], out[at : at + _LONGEST])
        elif codes[i] == _ESCAPE and i + 1 < n:
            i += 1
            out[at] = codes[i]
            size = np.int64(1)
        else:
            return -1
        at += size
        i += 1
    return at

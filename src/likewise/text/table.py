"""Sets of byte strings, numbered in the order in which they came.

Three flat arrays (bytes, offsets, hash slots), so that a table can be written as it is,
memory-mapped, and looked up without being loaded.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.compiled import Bools, Bytes, Ids, Int, Ints, Offsets, kernel, kernels_are_ready

HASH_SEED = np.uint64(0xCBF29CE484222325)
HASH_PRIME = np.uint64(0x100000001B3)
_HALF = np.uint64(32)
_FEW, _MANY = 16, 2000


class Strings(NamedTuple):
    """Byte strings laid end to end: string i is `arena[offsets[i]:offsets[i + 1]]`."""

    arena: Bytes
    offsets: Offsets

    @property
    def size(self) -> int:
        """How many strings there are."""
        return len(self.offsets) - 1

    def at(self, i: int) -> bytes:
        """Give string i."""
        return bytes(self.arena[int(self.offsets[i]) : int(self.offsets[i + 1])])

    def some(self, which: Ints) -> list[bytes]:
        """Give some strings, each by itself: of a few that is sooner done than `take`."""
        starts, stops = self.offsets[which].tolist(), self.offsets[which + 1].tolist()
        data = self.arena.data
        return [data[a:b].tobytes() for a, b in zip(starts, stops, strict=True)]

    def all(self) -> list[bytes]:
        """Give every string."""
        start = int(self.offsets[0])
        data = self.arena[start : int(self.offsets[-1])].tobytes()
        ends = (self.offsets.astype(np.int64) - start).tolist()
        return [data[a:b] for a, b in itertools.pairwise(ends)]

    def take(self, which: Ints) -> Strings:
        """Give some of the strings, laid end to end anew."""
        if len(which) <= _MANY and not kernels_are_ready():
            return Strings.of([self.at(i) for i in which.tolist()])
        return Strings(*_take(*self, which))

    @classmethod
    def joined(cls, pieces: Sequence[Strings]) -> Strings:
        """Lay several lists of strings end to end."""
        ends, size = [np.zeros(1, np.int64)], 0
        for piece in pieces:
            start, stop = int(piece.offsets[0]), int(piece.offsets[-1])
            ends.append(piece.offsets[1:].astype(np.int64) - start + size)
            size += stop - start
        arenas = [piece.arena[int(piece.offsets[0]) : int(piece.offsets[-1])] for piece in pieces]
        return cls(
            np.concatenate([np.empty(0, np.uint8), *arenas]),
            np.concatenate(ends).astype(np.uint32),
        )

    @classmethod
    def of(cls, strings: Sequence[bytes]) -> Strings:
        """Lay byte strings end to end."""
        offsets = np.zeros(len(strings) + 1, np.uint32)
        np.cumsum([len(s) for s in strings], out=offsets[1:])
        # A copy, because kernels are compiled for writable arrays only.
        return cls(np.frombuffer(b"".join(strings), np.uint8).copy(), offsets)


class StringTable:
    """A growing set of byte strings: `intern` numbers them, `find` looks them up."""

    def __init__(self) -> None:
        self._arena = np.empty(1 << 12, np.uint8)
        self._offsets = np.zeros(1 << 8, np.uint32)
        self._slots = np.full(1 << 9, -1, np.int32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def n_bytes(self) -> int:
        """How much memory the table holds."""
        return self._arena.nbytes + self._offsets.nbytes + self._slots.nbytes

    @property
    def strings(self) -> Strings:
        """The strings, in the order of their numbers."""
        offsets = self._offsets[: self._size + 1]
        return Strings(self._arena[: int(offsets[-1])], offsets)

    def intern(self, keys: Strings) -> Ints:
        """Number the keys, adding those that are new."""
        self._reserve(keys.size, int(keys.offsets[-1]) - int(keys.offsets[0]))
        out = np.empty(keys.size, np.int64)
        self._size = int(_intern(*keys, self._arena, self._offsets, self._slots, self._size, out))
        return out

    def find(self, keys: Strings) -> Ints:
        """Look keys up: their numbers, -1 where unknown."""
        return find(keys, self.strings, self._slots)

    def _reserve(self, n_strings: int, n_bytes: int) -> None:
        n_bytes += int(self._offsets[self._size])
        if n_bytes > len(self._arena):
            self._arena = np.resize(self._arena, max(n_bytes, 2 * len(self._arena)))
        size = self._size + n_strings
        if size + 1 > len(self._offsets):
            self._offsets = np.resize(self._offsets, max(size + 1, 2 * len(self._offsets)))
        if 3 * size > 2 * len(self._slots):
            self._slots = make_slots(self.strings, size=size)


def make_slots(strings: Strings, *, size: int = 0, live: Bools | None = None) -> Ids:
    """Make the hash slots of strings, with room for at least `size` of them.

    The strings that are live must be distinct; the others are left out.
    """
    room = max(8, strings.size, size)
    slots = np.full(1 << (room + room // 2).bit_length(), -1, np.int32)
    _fill(*strings, np.ones(strings.size, np.bool_) if live is None else live, slots)
    return slots


def find(keys: Strings, strings: Strings, slots: Ids) -> Ints:
    """Look keys up in a table given as arrays: their numbers, -1 where unknown."""
    out = np.full(keys.size, -1, np.int64)
    find_into(out, keys, strings, slots)
    return out


def find_into(out: Ints, keys: Strings, strings: Strings, slots: Ids, *, first: int = 0) -> bool:
    """Look up the keys for which -1 was found so far; numbers begin with `first`.

    False where slots name strings that are not there: then some are not looked up.
    """
    if keys.size > _FEW or kernels_are_ready():
        return bool(find_all(*keys, *strings, slots, first, out))
    # Loading compiled code takes longer than looking up a few keys without it.
    return _find_plainly(keys, strings, slots, first, out)


def _find_plainly(keys: Strings, strings: Strings, slots: Ids, first: int, out: Ints) -> bool:
    """Look keys up. Equals `find_all`, in plain Python."""
    for i, key in enumerate(keys.all()):
        if out[i] < 0:
            found = _find_one(key, strings, slots)
            if found < -1 or found >= strings.size:
                return False
            if found >= 0:
                out[i] = found + first
    return True


def _find_one(key: bytes, strings: Strings, slots: Ids) -> int:
    """Look one key up. Equals `slots[probe(…)]`, in plain Python."""
    h = int(HASH_SEED)
    for byte in key:
        h = (h ^ byte) * int(HASH_PRIME) & (1 << 64) - 1
    mask = len(slots) - 1
    slot = (h ^ h >> 32) & mask
    for _ in range(len(slots)):
        i = int(slots[slot])
        if i < 0 or i >= strings.size:
            return i
        first, stop = int(strings.offsets[i]), int(strings.offsets[i + 1])
        if stop - first == len(key) and stop <= len(strings.arena) and strings.at(i) == key:
            return i
        slot = slot + 1 & mask
    return int(slots[slot])


@kernel
def hash_bytes(arena: Bytes, start: Int, stop: Int) -> np.uint64:
    """Hash bytes by FNV-1a.

    Equals `h = (h ^ byte) * 0x100000001b3` modulo 2**64 over the bytes, the halves then folded.
    """
    h = HASH_SEED
    for i in range(start, stop):
        h = (h ^ np.uint64(arena[i])) * HASH_PRIME
    return h ^ (h >> _HALF)


@kernel
def probe(
    h: np.uint64, key: Bytes, start: Int, stop: Int, arena: Bytes, offsets: Offsets, slots: Ids
) -> Int:
    """Find the slot of `key[start:stop]`: the one that holds it, else the free one for it."""
    mask = np.int64(len(slots) - 1)
    slot = np.int64(h & np.uint64(mask))
    length = stop - start
    # A damaged file must not hang the loop, hence the bound on the walk.
    for _ in range(len(slots)):
        i = slots[slot]
        if i < 0 or i >= len(offsets) - 1:
            return slot
        first = np.int64(offsets[i])
        if np.int64(offsets[i + 1]) - first == length and first + length <= len(arena):
            same = True
            for j in range(length):
                if arena[first + j] != key[start + j]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & mask
    return slot


@kernel
def _take(arena: Bytes, offsets: Offsets, which: Ints) -> tuple[Bytes, Offsets]:
    bounds = np.zeros(len(which) + 1, np.uint32)
    total = np.int64(0)
    for i in range(len(which)):
        total += np.int64(offsets[which[i] + 1]) - np.int64(offsets[which[i]])
        bounds[i + 1] = total
    out = np.empty(total, np.uint8)
    for i in range(len(which)):
        first, start = np.int64(offsets[which[i]]), np.int64(bounds[i])
        for j in range(np.int64(bounds[i + 1]) - start):
            out[start + j] = arena[first + j]
    return out, bounds


@kernel
def _fill(arena: Bytes, offsets: Offsets, live: Bools, slots: Ids) -> None:
    mask = np.uint64(len(slots) - 1)
    for i in range(len(offsets) - 1):
        if not live[i]:
            continue
        h = hash_bytes(arena, np.int64(offsets[i]), np.int64(offsets[i + 1]))
        slot = np.int64(h & mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & np.int64(mask)
        slots[slot] = i


@kernel
def find_all(
    keys: Bytes,
    bounds: Offsets,
    arena: Bytes,
    offsets: Offsets,
    slots: Ids,
    first: Int,
    out: Ints,
) -> bool:
    """Look up the keys for which -1 was found so far; see `find_into`."""
    for i in range(len(bounds) - 1):
        if out[i] >= 0:
            continue
        start, stop = np.int64(bounds[i]), np.int64(bounds[i + 1])
        slot = probe(hash_bytes(keys, start, stop), keys, start, stop, arena, offsets, slots)
        found = np.int64(slots[slot])
        if found < -1 or found >= len(offsets) - 1:
            return False
        if found >= 0:
            out[i] = found + first
    return True


@kernel
def _intern(
    keys: Bytes, bounds: Offsets, arena: Bytes, offsets: Offsets, slots: Ids, size: Int, out: Ints
) -> Int:
    for i in range(len(bounds) - 1):
        start, stop = np.int64(bounds[i]), np.int64(bounds[i + 1])
        slot = probe(hash_bytes(keys, start, stop), keys, start, stop, arena, offsets, slots)
        if slots[slot] < 0:
            first = np.int64(offsets[size])
            for j in range(stop - start):
                arena[first + j] = keys[start + j]
            offsets[size + 1] = first + stop - start
            slots[slot] = size
            size += 1
        out[i] = slots[slot]
    return size

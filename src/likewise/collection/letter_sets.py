"""Which characters does each term have? Bits that rule out nearly all terms unread."""

from __future__ import annotations

import numpy as np

from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, kernel

# Longer terms are not compared.
LONGEST = 64


@kernel
def letter_sets_of(arena: Bytes, offsets: Offsets) -> tuple[Ints, Ids]:
    """Give the characters of each string as bits, and how many there are (-1: too many).

    Equals `letter_set` of the characters of each string of up to `LONGEST`, and their number.
    """
    sets = np.empty(len(offsets) - 1, np.int64)
    sizes = np.empty(len(offsets) - 1, np.int32)
    word = np.empty(LONGEST, np.int32)
    for i in range(len(offsets) - 1):
        size = decode(arena, np.int64(offsets[i]), np.int64(offsets[i + 1]), word)
        sizes[i] = size
        sets[i] = letter_set(word[: max(size, 0)])
    return sets, sizes


@kernel
def letter_set(word: Ids) -> Int:
    """Give the characters of a word as bits, those that are alike by 63 as one.

    Equals `sum({1 << ord(char) % 63 for char in word})`.
    """
    found = np.int64(0)
    for char in word:
        found |= np.int64(1) << np.int64(char % 63)
    return found


@kernel
def decode(arena: Bytes, at: Int, stop: Int, out: Ids) -> Int:
    """Decode UTF-8 into characters and give their number; -1 where they are too many."""
    n = 0
    while at < stop:
        if n == len(out):
            return -1
        byte = np.int32(arena[at])
        more = 0 if byte < 128 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
        code = byte if more == 0 else byte & (0x3F >> more)
        for j in range(1, more + 1):
            if at + j < stop:
                code = code << 6 | (np.int32(arena[at + j]) & 0x3F)
        out[n] = code
        n += 1
        at += more + 1
    return n

"""Which terms of a collection hold this text, or are written nearly like this one?

Terms stand in the order in which they came, so each question is one pass over their bytes.
"""

from __future__ import annotations

import numpy as np

from likewise.collection.letter_sets import LONGEST, decode, letter_set
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, kernel
from likewise.text.analysis import encode


def terms_with(snapshot: Snapshot, text: str, *, prefix: bool = False) -> Ints:
    """Give the numbers of the terms that hold a text, or that begin with it, ascending."""
    key = np.frombuffer(encode(text), np.uint8).copy()
    found = [np.empty(0, np.int64)]
    for segment in snapshot.segments if len(key) else ():
        found.append(_find_with(*segment.terms, key, prefix) + segment.entry.first_term)
    return np.concatenate(found)


def terms_accented(snapshot: Snapshot, plain: str) -> Ints:
    """Give the numbers of the terms that may be this one with accents, and a few others."""
    key = np.frombuffer(encode(plain), np.uint8).copy()
    found = [np.empty(0, np.int64)]
    for segment in snapshot.segments if len(key) else ():
        found.append(_find_accented(*segment.terms, key) + segment.entry.first_term)
    return np.concatenate(found)


def terms_near(snapshot: Snapshot, term: str, *, edits: int = 2) -> tuple[Ints, Ints]:
    """Give the numbers of the terms that at most so many edits make of this one, and how many.

    An edit puts in, leaves out or changes a character, or swaps two neighbours.
    """
    key = np.array([ord(char) for char in term[: LONGEST + 1]], np.int32)
    numbers, distances = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for segment in snapshot.segments if 0 < len(key) <= LONGEST else ():
        found, far = _find_near(*segment.terms, *segment.letter_sets, key, edits)
        numbers.append(found + segment.entry.first_term)
        distances.append(far)
    return np.concatenate(numbers), np.concatenate(distances)


def count_edits(a: str, b: str, *, most: int = 8) -> int:
    """Count the edits that make one word of another, or give `most + 1` where they are more."""
    first, second = (np.array([ord(char) for char in word], np.int32) for word in (a, b))
    return int(_distance(first, second, np.empty((3, len(first) + 1), np.int64), most))


@kernel
def _find_with(arena: Bytes, offsets: Offsets, key: Bytes, prefix: bool) -> Ints:
    """Find the strings that hold a key, or begin with it.

    Equals `[i for i, s in enumerate(strings) if (s.startswith(key) if prefix else key in s)]`.
    """
    out = np.empty(len(offsets) - 1, np.int64)
    n = 0
    size = len(key)
    for i in range(len(offsets) - 1):
        first = np.int64(offsets[i])
        last = np.int64(offsets[i + 1]) - size
        if prefix:
            last = min(first, last)
        for at in range(first, last + 1):
            j = 0
            while j < size and arena[at + j] == key[j]:
                j += 1
            if j == size:
                out[n] = i
                n += 1
                break
    return out[:n].copy()


@kernel
def _find_accented(arena: Bytes, offsets: Offsets, key: Bytes) -> Ints:
    """Find the strings with other letters than ASCII's that begin and end as a key does.

    Equals those that are not ASCII, whose ASCII letters before the first other one begin the key,
    whose ASCII letters after the last one end it, and that are from 1 byte shorter than the key to
    three times as long.
    """
    out = np.empty(len(offsets) - 1, np.int64)
    n, size = 0, len(key)
    for i in range(len(offsets) - 1):
        first, stop = np.int64(offsets[i]), np.int64(offsets[i + 1])
        if not size - 1 <= stop - first <= 3 * size:
            continue
        at = first
        while at < stop and at - first < size and arena[at] == key[at - first]:
            at += 1
        if at == stop or arena[at] < 128:
            continue
        left, last = size, stop - 1
        while last > at and left > 0 and arena[last] == key[left - 1]:
            last -= 1
            left -= 1
        if arena[last] >= 128:
            out[n] = i
            n += 1
    return out[:n].copy()


@kernel
def _find_near(
    arena: Bytes, offsets: Offsets, sets: Ints, sizes: Ids, key: Ids, most: Int
) -> tuple[Ints, Ints]:
    """Find the strings within so many edits of a key, given as its characters.

    Equals the strings whose optimal string alignment distance (insertions, deletions,
    substitutions and swaps of neighbours, no part edited twice) is at most `most`.
    """
    found = np.empty(len(sizes), np.int64)
    far = np.empty(len(sizes), np.int64)
    n = 0
    word = np.empty(LONGEST, np.int32)
    rows = np.empty((3, len(key) + 1), np.int64)
    has = letter_set(key)
    for i in range(len(sizes)):
        if sizes[i] < 0 or abs(sizes[i] - len(key)) > most:
            continue
        # An edit takes one character away and brings one: at most two bits differ.
        differ = has ^ sets[i]
        n_bits = 0
        while differ and n_bits <= 2 * most:
            differ &= differ - np.int64(1)
            n_bits += 1
        if n_bits > 2 * most:
            continue
        size = decode(arena, np.int64(offsets[i]), np.int64(offsets[i + 1]), word)
        distance = _distance(key, word[:size], rows, most)
        if distance <= most:
            found[n] = i
            far[n] = distance
            n += 1
    return found[:n].copy(), far[:n].copy()


@kernel
def _distance(a: Ids, b: Ids, rows: Ints, most: Int) -> Int:
    """Count the edits between two words, or `most + 1` where they are more."""
    for j in range(len(a) + 1):
        rows[0, j] = j
    for i in range(1, len(b) + 1):
        above, row, two_above = (i - 1) % 3, i % 3, (i - 2) % 3
        rows[row, 0] = i
        least = i
        for j in range(1, len(a) + 1):
            same = a[j - 1] == b[i - 1]
            value = rows[above, j - 1] + (0 if same else 1)
            value = min(value, rows[above, j] + 1, rows[row, j - 1] + 1)
            if i > 1 and j > 1 and a[j - 1] == b[i - 2] and a[j - 2] == b[i - 1]:
                value = min(value, rows[two_above, j - 2] + 1)
            rows[row, j] = value
            least = min(least, value)
        if least > most:
            return most + 1
    found: Int = rows[len(b) % 3, len(a)]
    return min(found, most + 1)

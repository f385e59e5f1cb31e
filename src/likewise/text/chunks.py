"""Texts cut into chunks and sentences, as bytes, without a Python object per token.

A chunk is a run of ASCII letters and digits and of non-ASCII bytes, its ASCII letters in
lower case, or an acronym without its dots (U.S.A. and U.S.A are usa). That is a token wherever the
text is ASCII; the few chunks with other bytes are taken apart by Unicode's rules later, once for
each distinct chunk (see `analysis`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, kernel
from likewise.text.table import HASH_PRIME, HASH_SEED, Strings, hash_bytes, probe

_ABBREVIATIONS = """
    al approx assn ca capt cf co col corp dept dr ed eds eg eq eqs est etc ex fig figs gen gov
    ie inc jr lt ltd mr mrs ms mt no nos op pp prof ref refs resp rev sec sen sgt sr st univ viz
    vol vols vs
"""

# Byte -> 0 for a separator, else the byte in lower case.
_FOLD = np.zeros(256, np.uint8)
_FOLD[128:] = np.arange(128, 256)
for _byte in b"0123456789abcdefghijklmnopqrstuvwxyz":
    _FOLD[_byte] = _byte
    _FOLD[ord(chr(_byte).upper())] = _byte

# The same with letters as they are.
_KEEP = np.where(_FOLD > 0, np.arange(256), 0).astype(np.uint8)

_HALF = np.uint64(32)
_SPACE, _DOT, _NEWLINE, _PLUS, _HASH = 32, ord("."), ord("\n"), ord("+"), ord("#")
# An acronym has no more letters.
_MOST_LETTERS = 16
ACRONYM = re.compile(
    r"(?<![A-Za-z0-9])(?<![A-Za-z0-9]\.)[A-Za-z](?:\.[A-Za-z]){1,15}(?!\.?[A-Za-z0-9])"
)
# The longest word that a mark belongs to.
_MARKED = 16


class Chunks(NamedTuple):
    """A batch of texts as chunks.

    `tokens[token_bounds[i]:token_bounds[i + 1]]` are the numbers of text i's chunks in
    `distinct`; `sentences[sentence_bounds[i]:sentence_bounds[i + 1]]` are the lengths in bytes
    of its sentences, which cover the text; `token_sentences` has the sentence of each token,
    counted over the batch. The first `heads[i]` tokens of text i stand in its head.
    """

    tokens: Ids
    token_bounds: Ints
    token_sentences: Ids
    distinct: Strings
    sentences: Offsets
    sentence_bounds: Ints
    heads: Ints


def cut(
    texts: list[bytes],
    *,
    keep_case: bool = False,
    marks: bool = False,
    heads: Sequence[int] | None = None,
) -> Chunks:
    """Cut UTF-8 texts into chunks and sentences; letters of chunks may keep their case.

    With `marks` a word that a mark belongs to (`c++`, `f#`, `.net`) is a chunk as well, after the
    one of its letters (before it, where the mark is a dot). `heads` has how many bytes of each text
    are its head, such as a title.
    """
    laid = Strings.of(texts)
    sizes = np.zeros(len(texts), np.int64) if heads is None else np.array(heads, np.int64)
    tokens, token_bounds, owners, arena, offsets, sentences, sentence_bounds, firsts = _cut(
        *laid, _FOLD, _abbreviations(), sizes, marks
    )
    if keep_case:
        # Chunks are the same but for case; sentences are told by abbreviations in lower case.
        tokens, _, _, arena, offsets, _, _, _ = _cut(*laid, _KEEP, _abbreviations(), sizes, marks)
    distinct = Strings(arena, offsets)
    return Chunks(tokens, token_bounds, owners, distinct, sentences, sentence_bounds, firsts)


@cache
def _abbreviations() -> NDArray[np.uint64]:
    words = Strings.of([word.encode() for word in _ABBREVIATIONS.split()])
    return np.sort(_hash_all(*words))


@kernel
def _hash_all(arena: Bytes, offsets: Offsets) -> NDArray[np.uint64]:
    out = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(out)):
        out[i] = hash_bytes(arena, np.int64(offsets[i]), np.int64(offsets[i + 1]))
    return out


@kernel
def separator(buffer: Bytes, i: Int, stop: Int) -> tuple[Int, bool]:
    """Tell how long a common non-ASCII separator at i is (0: none), and if it ends a sentence."""
    a = buffer[i]
    b = buffer[i + 1] if i + 1 < stop else np.uint8(0)
    c = buffer[i + 2] if i + 2 < stop else np.uint8(0)
    if a == 0xC2 and (b == 0xA0 or b == 0xAB or b == 0xBB):
        return 2, False
    if a == 0xE2 and b == 0x80 and c >= 0x80 and c != 0x8C and c != 0x8D:
        return 3, False
    if a == 0xE3 and b == 0x80 and 0x80 <= c <= 0x82:
        return 3, c == 0x82
    if a == 0xEF and b == 0xBC and (c == 0x81 or c == 0x8C or c == 0x9F):
        return 3, c != 0x8C
    return 0, False


@kernel
def _sentence_end(
    buffer: Bytes, i: Int, stop: Int, last: tuple[Int, np.uint64], abbreviations: NDArray[np.uint64]
) -> Int:
    """Tell where the next sentence starts if one ends with the ASCII byte at i, else -1.

    `last` is the length of the chunk that ends at i (0: none does) and its hash.
    """
    c = buffer[i]
    if c == _NEWLINE:
        j = i + 1
        while j < stop and (buffer[j] == 32 or buffer[j] == 9 or buffer[j] == 13):
            j += 1
        if j == stop or buffer[j] != _NEWLINE:
            return -1
    else:
        j = i + 1
        while j < stop:
            d = buffer[j]
            if d == 34 or d == 39 or d == 41 or d == 93:
                j += 1
            elif d == 0xE2 and j + 2 < stop and buffer[j + 1] == 0x80 and buffer[j + 2] >= 0x98:
                j += 3
            else:
                break
        if j < stop and buffer[j] > _SPACE:
            return -1
    while j < stop and buffer[j] <= _SPACE:
        j += 1
    if c == _DOT and last[0] > 0:
        initial = last[0] == 1 and buffer[i - 1] > 57
        if initial or (j < stop and 97 <= buffer[j] <= 122):
            return -1
        k = np.searchsorted(abbreviations, last[1])
        if k < len(abbreviations) and abbreviations[k] == last[1]:
            return -1
    return j


@kernel
def acronym(buffer: Bytes, i: Int, first: Int, stop: Int) -> Int:
    """Tell how long an acronym that begins at i is, a dot at its end left out; 0: none does.

    The text is from `first` to `stop`, with no letter or digit before i. Of an ASCII text equals
    the length of what `ACRONYM` matches there. What follows other letters and a dot is a file name
    or a version; what goes on with more than a letter, as in J.S.Bach or B.The, is no acronym.
    """
    n, at = 1, np.int64(i)
    # No further: a text of nothing else would be looked through from each letter on.
    while (
        n <= _MOST_LETTERS
        and at + 2 < stop
        and buffer[at + 1] == _DOT
        and _is_letter(buffer[at])
        and _is_letter(buffer[at + 2])
    ):
        n += 1
        at += 2
    if n < 2 or n > _MOST_LETTERS or _is_inside(buffer, at + 1, stop):
        return 0
    if at + 1 < stop and buffer[at + 1] == _DOT and _is_inside(buffer, at + 2, stop):
        return 0
    if i - 2 >= first and buffer[i - 1] == _DOT and _is_inside(buffer, i - 2, stop):
        return 0
    return at + 1 - i


@kernel
def _is_inside(buffer: Bytes, i: Int, stop: Int) -> bool:
    """Tell whether a letter or digit stands at i."""
    if i >= stop:
        return False
    c = np.int64(buffer[i])
    if c >= 128:
        return bool(separator(buffer, i, stop)[0] == 0)
    return bool(_is_letter(c) or 48 <= c <= 57)


@kernel
def _is_letter(c: Int) -> bool:
    return bool(65 <= c <= 90 or 97 <= c <= 122)


@kernel
def _mark(buffer: Bytes, first: Int, i: Int, stop: Int, fold: Bytes) -> Int:
    """Tell how long a mark at i is that belongs to the word from `first` to i; 0: it does not.

    A dot belongs to the word after it: then less than 0, by its length and that of the word. Marks
    are two plus signs after a word, but not three; a number sign that ends a word; and a dot
    between a space, a line's end or a bracket and two letters or more.
    """
    c = buffer[i]
    b = buffer[i + 1] if i + 1 < stop else np.uint8(_SPACE)
    if c == _DOT:
        j = i + 1
        while j < stop and fold[buffer[j]] > 57 and buffer[j] < 128:
            j += 1
        ends = j == stop or fold[buffer[j]] == 0
        return i - j if ends and 2 < j - i <= _MARKED and first == i else 0
    if first == i or i - first > _MARKED - 2 or fold[buffer[first]] <= 57:
        return 0
    for j in range(first, i):
        if buffer[j] >= 128:
            return 0
    if c == _PLUS:
        return 2 if b == _PLUS and (i + 2 >= stop or buffer[i + 2] != _PLUS) else 0
    return 0 if b == _HASH or fold[b] > 0 else 1


@kernel
def _cut(
    buffer: Bytes,
    bounds: Offsets,
    fold: Bytes,
    abbreviations: NDArray[np.uint64],
    heads: Ints,
    marks: bool,
) -> tuple[Ids, Ints, Ids, Bytes, Offsets, Offsets, Ints, Ints]:
    """Cut each `buffer[bounds[i]:bounds[i + 1]]`.

    The chunks of an ASCII text equal `re.findall("[a-z0-9]+", text.lower())`, without marks, once
    what `ACRONYM` matches has lost its dots.
    """
    n_texts = len(bounds) - 1
    # Of a word with a mark there are two chunks.
    room = (len(buffer) if marks else len(buffer) // 2) + n_texts + 2
    tokens = np.empty(room, np.int32)
    owners = np.empty(room, np.int32)
    sentences = np.empty(room, np.uint32)
    token_bounds = np.zeros(n_texts + 1, np.int64)
    sentence_bounds = np.zeros(n_texts + 1, np.int64)
    head_tokens = np.zeros(n_texts, np.int64)
    arena = np.empty((2 if marks else 1) * len(buffer) + 1, np.uint8)
    offsets = np.empty(room, np.uint32)
    offsets[0] = 0
    slots = np.full(1 << 14, -1, np.int32)
    n_tokens = n_sentences = n_distinct = 0
    for text in range(n_texts):
        i: Int = np.int64(bounds[text])
        stop = np.int64(bounds[text + 1])
        head_stop, n_head = i + heads[text], n_tokens
        first, fresh = np.int64(i), True  # the sentence's start; true while it holds no chunk
        last_stop, last_hash, last_length = np.int64(-1), np.uint64(0), np.int64(0)
        while i < stop:
            c = fold[buffer[i]]
            mark = np.int64(0)
            if c >= 128:
                skip, ends = separator(buffer, i, stop)
                if skip > 0:
                    i += skip
                    if ends and not fresh:
                        sentences[n_sentences] = i - first
                        n_sentences += 1
                        first, fresh = np.int64(i), True
                    continue
            elif c == 0:
                d = buffer[i]
                if (d in (_DOT, _NEWLINE) or d == 33 or d == 63) and not fresh:
                    length = last_length if last_stop == i else np.int64(0)
                    j = _sentence_end(buffer, i, stop, (length, last_hash), abbreviations)
                    if j >= 0:
                        sentences[n_sentences] = j - first
                        n_sentences += 1
                        first, fresh, i = np.int64(j), True, j
                        continue
                if marks and d in (_DOT, _PLUS, _HASH):
                    before = i - last_length if last_stop == i else i
                    if d != _DOT or i == bounds[text] or buffer[i - 1] in (_SPACE, _NEWLINE, 40):
                        mark = np.int64(_mark(buffer, before, i, stop, fold))
                if mark == 0:
                    i += 1
                    continue
            # A chunk starts here: its folded bytes go straight to the end of the arena.
            h = HASH_SEED
            start = np.int64(offsets[n_distinct])
            end = start
            if i < head_stop:
                n_head = n_tokens + 1
            dotted = acronym(buffer, i, bounds[text], stop) if mark == 0 else np.int64(0)
            if dotted > 0:
                for k in range(i, i + dotted, 2):
                    c = fold[buffer[k]]
                    arena[end] = c
                    end += 1
                    h = (h ^ np.uint64(c)) * HASH_PRIME
                i += dotted
            elif mark == 0:
                while i < stop:
                    c = fold[buffer[i]]
                    if c == 0 or (c >= 128 and separator(buffer, i, stop)[0] > 0):
                        break
                    arena[end] = c
                    end += 1
                    h = (h ^ np.uint64(c)) * HASH_PRIME
                    i += 1
            else:
                a = i - last_length if mark > 0 else i
                for k in range(a, i + abs(mark)):
                    c = fold[buffer[k]] if fold[buffer[k]] > 0 else buffer[k]
                    arena[end] = c
                    end += 1
                    h = (h ^ np.uint64(c)) * HASH_PRIME
                i += mark if mark > 0 else np.int64(1)
            h = h ^ (h >> _HALF)
            slot = probe(h, arena, start, end, arena, offsets[: n_distinct + 1], slots)
            if slots[slot] < 0:
                slots[slot] = n_distinct
                n_distinct += 1
                offsets[n_distinct] = end
                if 3 * n_distinct > 2 * len(slots):
                    slots = np.full(4 * len(slots), -1, np.int32)
                    for k in range(n_distinct):
                        a, b = np.int64(offsets[k]), np.int64(offsets[k + 1])
                        where = probe(
                            hash_bytes(arena, a, b), arena, a, b, arena, offsets[: k + 1], slots
                        )
                        slots[where] = k
                    slot = probe(h, arena, start, end, arena, offsets[: n_distinct + 1], slots)
            tokens[n_tokens] = slots[slot]
            owners[n_tokens] = n_sentences
            n_tokens += 1
            # What ends a sentence is told by words without marks.
            if mark == 0:
                last_stop, last_hash, last_length = np.int64(i), h, end - start
                if dotted > 0:
                    # After U.S. as after an initial no sentence ends.
                    last_length = np.int64(1)
                fresh = False
        if first < stop:
            sentences[n_sentences] = stop - first
            n_sentences += 1
        head_tokens[text] = n_head - token_bounds[text]
        token_bounds[text + 1] = n_tokens
        sentence_bounds[text + 1] = n_sentences
    return (
        tokens[:n_tokens].copy(),
        token_bounds,
        owners[:n_tokens].copy(),
        arena[: np.int64(offsets[n_distinct])].copy(),
        offsets[: n_distinct + 1].copy(),
        sentences[:n_sentences].copy(),
        sentence_bounds,
        head_tokens,
    )

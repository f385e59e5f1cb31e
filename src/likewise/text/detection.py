"""Which language is this text in? By its script, and by letters that follow one another.

A letter's probability after up to three others of its word, in each language that is written in
the script that most letters are of. Numbers are whole, so that the answer is the same everywhere.
The model is made by `benchmarks/language_model.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, kernel
from likewise.text.table import Strings

MODEL = Path(__file__).with_name("languages.npz")
# Costs are in bits times this.
SCALE = 12
# What a Latin letter costs at most, on average, where a text is in a language at all: real text
# costs 2.8 to 4.2 bits, made-up words of syllables 4.4 and more.
DEAREST = 51
# Letters that are read of a text: some at its beginning, which may be a notice or a header in
# another language, the rest from its middle on.
FIRST_LETTERS, MOST_LETTERS = 100, 300
# A character of Chinese, Japanese or Korean says about as much as so many letters.
_CJK_WEIGHT = 3
# Of Japanese text at least this share, in percent, is not Chinese characters.
_LEAST_KANA = 5
# A character of each script.
_HAN, _KANA, _HANGUL = 0x4E00, 0x3042, 0xAC00
# The kind of marks that belong to the letter before.
MARK = 255
# One more than the largest other kind.
_KINDS = 32
# Bits from which on a language is certain; shorter texts have fewer.
CERTAIN = 20
# From this share on, and this many, documents in other languages make a collection mixed.
MIXED_SHARE, LEAST_OTHERS = 0.03, 1
_EMPTY = np.uint64(0)
_MIX = np.uint64(0x9E3779B97F4A7C15)


Keys = NDArray[np.uint64]
Codes = NDArray[np.uint16]


class Detected(NamedTuple):
    """The likeliest languages of texts, as numbers of `names()` (-1: no letters).

    `margins` are the bits by which each is likelier than the next, 0 where it is in none; a
    script that only one language has counts four bits a letter.
    """

    languages: Ints
    margins: Ints


def detect(texts: Sequence[bytes]) -> Detected:
    """Tell the likeliest language of each UTF-8 text, and how much likelier it is."""
    arena, offsets = Strings.of(list(texts))
    return Detected(*_detect(arena, offsets, _model()))


class Decision(NamedTuple):
    """The language of a collection, by a sample of its documents.

    `share` is that of the documents whose language is certain, of which there are `n_certain`;
    `others` are the languages of the rest, the most frequent first. `mixed`: so many are in
    others that each document is to be looked at.
    """

    language: str
    share: float
    n_certain: int
    n_docs: int
    others: tuple[str, ...] = ()

    @property
    def mixed(self) -> bool:
        """Whether the documents are in several languages."""
        n_others = round((1 - self.share) * self.n_certain)
        return n_others >= LEAST_OTHERS and 1 - self.share >= MIXED_SHARE


def decide(texts: Sequence[bytes]) -> Decision:
    """Decide the language of a collection by some of its texts: English where that is unclear."""
    found = detect(texts)
    # Texts that say little apart say enough together: each counts by its evidence.
    weights = np.zeros(len(names()))
    some = found.languages >= 0
    np.add.at(weights, found.languages[some], np.minimum(found.margins[some], CERTAIN))
    main = int(np.argmax(weights))
    certain = found.languages[found.margins >= CERTAIN]
    if not len(certain) and weights[main] < max(CERTAIN, weights.sum() / 2):
        return Decision("english", 0.0, 0, len(texts))
    counts = np.bincount(certain, minlength=len(names()))
    order = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i] and i != main]
    share = counts[main] / len(certain) if len(certain) else 1.0
    others = tuple(names()[i] for i in order)
    return Decision(names()[main], float(share), len(certain), len(texts), others)


class _Model(NamedTuple):
    kinds: Bytes
    lower: Codes
    keys: Keys
    starts: Ids
    costs: Bytes
    bounds: Ints
    priors: Codes


@cache
def names() -> tuple[str, ...]:
    """List the languages that can be told apart: those that share a script first."""
    about = _about()
    return (*(name for group in about["groups"] for name in group), *about["alone"])


@cache
def _arrays() -> dict[str, NDArray[Any]]:
    with np.load(MODEL, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


@cache
def _about() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(_arrays()["about"].tobytes())
    return read


@cache
def _model() -> _Model:
    arrays, sizes = _arrays(), [len(group) for group in _about()["groups"]]
    keys, starts = _hash(arrays["keys"], arrays["widths"])
    bounds = np.cumsum([0, *sizes])
    letters = arrays["kinds"], arrays["lower"]
    return _Model(*letters, keys, starts, arrays["costs"], bounds, arrays["priors"])


@kernel
def _hash(keys: Keys, widths: Bytes) -> tuple[Keys, Ids]:
    """Put n-grams into a table of open addresses, with where the costs of each begin."""
    size = 1 << 10
    while size < 3 * len(keys):
        size *= 2
    slots = np.zeros(size, np.uint64)
    starts = np.zeros(size, np.int32)
    start = 0
    for i in range(len(keys)):
        slot = _slot(keys[i], slots)
        slots[slot] = keys[i]
        starts[slot] = start
        start += widths[i]
    return slots, starts


@kernel
def _slot(key: np.uint64, slots: Keys) -> Int:
    """Find the slot of a key, or the empty one where it would be."""
    mask = np.uint64(len(slots) - 1)
    slot = ((key * _MIX) >> np.uint64(40)) & mask
    while slots[slot] != _EMPTY and slots[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@kernel
def _copy(numbers: Any, to: Any) -> None:
    """Copy numbers. Equals `to[:] = numbers`."""
    for i in range(len(to)):
        to[i] = numbers[i]


@kernel
def _detect(buffer: Bytes, offsets: Offsets, model: _Model) -> tuple[Ints, Ints]:
    """Tell the language of each `buffer[offsets[i]:offsets[i + 1]]`.

    A letter costs minus the logarithm of its probability after the longest run of letters before
    it, three at most, that the table has; the language in which all letters cost least is told.
    """
    kinds, lower, keys, starts, costs, bounds, priors = model
    n_texts, n_groups = len(offsets) - 1, len(bounds) - 1
    languages = np.full(n_texts, -1, np.int64)
    margins = np.zeros(n_texts, np.int64)
    totals = np.zeros(bounds[-1], np.int64)
    letters = np.zeros(_KINDS, np.int64)
    before, letters_before = totals.copy(), letters.copy()
    met = np.zeros(256, np.uint64)
    for text in range(n_texts):
        _copy(priors, totals)
        letters[:] = 0
        met[:] = _EMPTY
        word = _EMPTY
        history, last = np.uint64(0), np.int64(0)
        known = n_letters = 0
        at, stop = np.int64(offsets[text]), np.int64(offsets[text + 1])
        middle = (at + stop) // 2
        while at < stop and n_letters < MOST_LETTERS:
            if n_letters >= FIRST_LETTERS and at < middle:
                at, last = middle, np.int64(0)
                while at < stop and buffer[at] & 0xC0 == 0x80:
                    at += 1
                continue
            code = np.int64(buffer[at])
            more = 0 if code < 0xC0 else 1 if code < 0xE0 else 2 if code < 0xF0 else 3
            if more > 0:
                code &= 0x3F >> more
                for j in range(1, more + 1):
                    code = code << 6 | (np.int64(buffer[at + j]) & 0x3F if at + j < stop else 0)
            at += more + 1
            # Beyond the first plane there are rare Chinese characters.
            kind = np.int64(
                kinds[code] if code < 1 << 16 else kinds[_HAN] if code >= 1 << 17 else 0
            )
            if kind == MARK:
                continue
            if kind == 0 or kind != last:
                known = 0
                # A word that was met before says nothing more: what it cost is taken back.
                if word != _EMPTY and _met(word, met):
                    _copy(before, totals)
                    _copy(letters_before, letters)
                word = _EMPTY
                _copy(totals, before)
                _copy(letters, letters_before)
            last = kind
            if kind == 0:
                continue
            n_letters += 1
            letters[kind] += 1
            if kind > n_groups:
                continue
            word = (word ^ np.uint64(lower[code])) * _MIX
            history = history << np.uint64(16) | np.uint64(lower[code])
            known = min(known + 1, 4)
            for n in range(known, 0, -1):
                key = history & (np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 16 * n))
                slot = _slot(key, keys)
                if keys[slot] == key:
                    first, start = bounds[kind - 1], np.int64(starts[slot])
                    for j in range(bounds[kind] - first):
                        totals[first + j] += costs[start + j]
                    break
        if n_letters == 0:
            continue
        if word != _EMPTY and _met(word, met):
            _copy(before, totals)
            _copy(letters_before, letters)
        chosen = _script(letters, kinds)
        if chosen > n_groups:
            languages[text] = bounds[-1] + chosen - n_groups - 1
            margins[text] = 4 * letters[chosen]
            continue
        best, least, second = np.int64(-1), np.int64(1 << 62), np.int64(1 << 62)
        for j in range(bounds[chosen - 1], bounds[chosen]):
            if totals[j] < least:
                best, least, second = np.int64(j), totals[j], least
            elif totals[j] < second:
                second = totals[j]
        languages[text] = best
        if chosen > 1 or least - np.int64(priors[best]) <= letters[1] * DEAREST:
            margins[text] = (second - least) // SCALE
    return languages, margins


@kernel
def _met(word: np.uint64, met: Keys) -> bool:
    """Tell whether a word was met before, and note it; in a full place the later one is noted."""
    place = np.int64(word >> np.uint64(56))
    if met[place] == word:
        return True
    met[place] = word
    return False


@kernel
def _script(letters: Ints, kinds: Bytes) -> Int:
    """Tell what most letters are of; Chinese characters beside kana are Japanese."""
    han, kana, hangul = np.int64(kinds[_HAN]), np.int64(kinds[_KANA]), np.int64(kinds[_HANGUL])
    if 100 * letters[kana] >= _LEAST_KANA * (letters[han] + letters[kana]):
        letters[kana] += letters[han]
        letters[han] = 0
    for kind in (han, kana, hangul):
        letters[kind] *= _CJK_WEIGHT
    return np.int64(np.argmax(letters))

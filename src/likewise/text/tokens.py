"""The words of texts with their places in characters, and the sentences they stand in.

Found on bytes, as chunks are. The few chunks that are not ASCII are taken apart by Unicode's rules,
once for each distinct one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from likewise.compiled import Bytes, Ints, Offsets, kernel
from likewise.text.analysis import Analyzer, encode, is_short_ascii
from likewise.text.chunks import acronym, cut, separator
from likewise.text.table import Strings

_NOT_ASCII = 0x80
_ASCII_WORD = re.compile("[A-Za-z0-9]+")


class Tokens(NamedTuple):
    """The words of texts: text i has the tokens `bounds[i]:bounds[i + 1]`.

    Token j goes from character `starts[j]` of its text to `stops[j]`, and is an occurrence of the
    distinct word `spelled.at(words[j])`, whose analysis gives its terms. `ends` are the characters
    where sentences end; text i has `ends[sentence_bounds[i]:sentence_bounds[i + 1]]`.
    """

    bounds: Ints
    starts: Ints
    stops: Ints
    words: Ints
    spelled: Strings
    ends: Ints
    sentence_bounds: Ints


class Token(NamedTuple):
    """A word of a text, from `start` to `stop`, and the terms that the analysis makes of it."""

    start: int
    stop: int
    terms: tuple[str, ...]


def tokens_of(text: str, analyzer: Analyzer) -> Iterator[Token]:
    """Give the words of one text; their terms in order are the text's terms."""
    if is_short_ascii(text):
        words = [*_ASCII_WORD.finditer(text)]
        resolved = analyzer.terms_of([word[0].lower().encode() for word in words])
        for word, its in zip(words, resolved, strict=True):
            yield Token(*word.span(), tuple(its))
        return
    found = find_tokens([text], analyzer)
    terms = [tuple(its) for its in analyzer.terms_of(found.spelled.all())]
    for start, stop, word in zip(
        found.starts.tolist(), found.stops.tolist(), found.words.tolist(), strict=True
    ):
        yield Token(start, stop, terms[word])


def find_tokens(texts: Sequence[str], analyzer: Analyzer) -> Tokens:
    """Find the words and sentences of texts."""
    data = [encode(text) for text in texts]
    arena, offsets = Strings.of(data)
    chunks = cut(data)
    starts, stops = find_places(arena, offsets)
    ends = np.cumsum(chunks.sentences, dtype=np.int64)
    bounds, sentence_bounds = chunks.token_bounds, chunks.sentence_bounds
    firsts = offsets[:-1].astype(np.int64)
    if not all(map(bytes.isascii, data)):
        # Bytes that begin a character, before each byte.
        before = np.zeros(len(arena) + 1, np.int64)
        np.cumsum((arena & 0xC0) != 0x80, out=before[1:])
        starts, stops, ends, firsts = before[starts], before[stops], before[ends], before[firsts]
    owners = np.repeat(firsts, np.diff(bounds))
    starts, stops = starts - owners, stops - owners
    ends = ends - np.repeat(firsts, np.diff(sentence_bounds))
    spelled = chunks.distinct
    words = chunks.tokens.astype(np.int64)
    if (spelled.arena >= _NOT_ASCII).any():
        whole = spelled.all()
        # Each chunk is replaced by the words in it, which begin and end so many characters on.
        after = [
            [(0, len(one), one)] if one.isascii() else _words_in(one, analyzer) for one in whole
        ]
        sizes = np.fromiter(map(len, after), np.int64, len(after))
        spelled = Strings.of([word for found in after for _, _, word in found])
        on = np.array([place[:2] for found in after for place in found], np.int64).reshape(-1, 2)
        first_words = np.cumsum(sizes) - sizes
        repeats = sizes[words]
        new_bounds = np.concatenate([[0], np.cumsum(repeats)]).astype(np.int64)
        places = np.arange(new_bounds[-1]) - np.repeat(new_bounds[:-1], repeats)
        starts = np.repeat(starts, repeats)
        words = np.repeat(first_words[words], repeats) + places
        starts, stops = starts + on[words, 0], starts + on[words, 1]
        bounds = new_bounds[bounds]
    return Tokens(bounds, starts, stops, words, spelled, ends, sentence_bounds)


def _words_in(chunk: bytes, analyzer: Analyzer) -> list[tuple[int, int, bytes]]:
    """Find the words of a chunk: where each begins and ends, and what is analysed for it."""
    text = chunk.decode("utf-8", "replace")
    inside = [False, *map(_inside, text), False]
    edges = [i for i, (a, b) in enumerate(pairwise(inside)) if a != b]
    found: list[tuple[int, int, bytes]] = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        word = text[start:stop]
        pairs = [word[i : i + 2] for i in range(len(word) - 1)]
        normal = len(word) > 2 and unicodedata.is_normalized("NFKC", word)
        if normal and analyzer.terms(word) == pairs:
            # They overlap: each but the last is shown on its first character.
            found += [(start + i, start + i + 1, encode(pair)) for i, pair in enumerate(pairs)]
            found[-1] = (found[-1][0], stop, found[-1][2])
        else:
            found.append((start, stop, encode(word)))
    return found


def _inside(char: str) -> bool:
    if char.isascii():
        return char.isalnum()
    if unicodedata.category(char) == "Cf":
        # Invisible within a word, but for those among the general punctuation.
        return not "\u2000" <= char <= "\u203f" or char in "\u200c\u200d"
    folded = unicodedata.normalize("NFKC", char).casefold()
    return any(c.isalnum() or unicodedata.category(c)[0] == "M" for c in folded)


@kernel
def find_places(buffer: Bytes, bounds: Offsets) -> tuple[Ints, Ints]:
    """Find where the chunks of texts begin and end, in the order of `cut`, as places in the buffer.

    Of an ASCII text without acronyms equals the spans of `re.finditer("[A-Za-z0-9]+", text)`.
    """
    starts = np.empty(len(buffer) // 2 + len(bounds), np.int64)
    stops = np.empty(len(starts), np.int64)
    n = 0
    for text in range(len(bounds) - 1):
        i, stop = np.int64(bounds[text]), np.int64(bounds[text + 1])
        inside = False
        while i < stop:
            c = buffer[i]
            size = np.int64(1)
            if c >= 128:
                skip = separator(buffer, i, stop)[0]
                letter = skip == 0
                size = size if letter else np.int64(skip)
            else:
                letter = 48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122
            if letter and not inside:
                dotted = acronym(buffer, i, np.int64(bounds[text]), stop)
                if dotted > 0:
                    starts[n], stops[n] = i, i + dotted
                    n += 1
                    i += dotted
                    continue
            if letter != inside:
                if letter:
                    starts[n] = i
                else:
                    stops[n] = i
                    n += 1
                inside = letter
            i += size
        if inside:
            stops[n] = stop
            n += 1
    return starts[:n].copy(), stops[:n].copy()

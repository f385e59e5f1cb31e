"""Where does a text mention the names of a lexicon?

A name is one or more *units*: the terms that the collection's analysis makes of it, or its words
letter for letter. Texts are cut into chunks, each distinct chunk is turned into units once, and
names are found as the longest runs of units within a sentence. No Python code runs per token.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from likewise.compiled import Ids, Int, Ints, kernel
from likewise.forking import Lock
from likewise.text.analysis import Analyzer, encode, is_unspaced
from likewise.text.chunks import cut
from likewise.text.table import Strings, StringTable

# How many units each chunk has, and all of them in order.
Resolve = Callable[[Sequence[bytes]], tuple[list[int], list[str]]]

_CACHE_BYTES = 256 << 20
_ASCII_WORDS = re.compile("[A-Za-z0-9]+")


class Mentions(NamedTuple):
    """What texts mention: text i `nodes[bounds[i]:bounds[i + 1]]`, in order of the text.

    `sentences` has the sentence of each mention, counted within its text.
    """

    bounds: Ints
    nodes: Ids
    sentences: Ids


class Trie(NamedTuple):
    """Names as runs of units: `roots` of a first unit, then edges from state to state.

    The edges of state s are `units[bounds[s]:bounds[s + 1]]`, ascending, and lead to `states`;
    `names` has the node that ends in a state, else -1.
    """

    roots: Ids
    bounds: Ints
    units: Ids
    states: Ids
    names: Ids


@dataclass(frozen=True, eq=False)
class Matcher:
    """Finds names in texts; `exact` keeps the case of letters.

    `analyzer` is there where nodes are terms, and texts may be in several languages.
    """

    units: StringTable
    trie: Trie
    resolve: Resolve
    exact: bool
    analyzer: Analyzer | None = None

    def match(self, texts: list[bytes], known: Known | None = None) -> Mentions:
        """Find the mentions in texts; `known` remembers chunks from one call to the next."""
        chunks = cut(texts, keep_case=self.exact)
        languages = self.analyzer.languages_of(texts) if self.analyzer else None
        if self.analyzer is not None and languages is not None:
            chunks = self.analyzer.marked(chunks, languages)
        places, starts, numbers = (known or Known(self)).look_up(chunks.distinct)
        return Mentions(
            *_match(
                chunks.tokens,
                chunks.token_bounds,
                chunks.token_sentences,
                chunks.sentence_bounds,
                places,
                starts,
                numbers,
                *self.trie,
            )
        )


class Known:
    """The units of chunks that were met; safe to use from several threads."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._lock = Lock(reset=self._forget)
        self._forget()

    def look_up(self, distinct: Strings) -> tuple[Ints, Ints, Ids]:
        """Give places, starts and units: chunk i has `units[starts[p]:starts[p + 1]]`, p its place.

        What is no unit of any name is -1.
        """
        with self._lock:
            places = self._chunks.find(distinct)
            if (places < 0).any():
                places = self._learn(distinct, places)
            # These arrays are replaced, never changed, so that others may learn meanwhile.
            return places, self._starts, self._units

    def _forget(self) -> None:
        self._chunks = StringTable()
        self._starts = np.zeros(1, np.int64)
        self._units = np.empty(0, np.int32)

    def _learn(self, distinct: Strings, places: Ints) -> Ints:
        if self._chunks.n_bytes > _CACHE_BYTES:
            self._forget()
            places = np.full(distinct.size, -1, np.int64)
        new = distinct.take(np.flatnonzero(places < 0))
        sizes, found = self._matcher.resolve(new.all())
        units = self._matcher.units.find(Strings.of([encode(unit) for unit in found]))
        self._chunks.intern(new)
        ends = self._starts[-1] + np.cumsum(sizes, dtype=np.int64)
        self._starts = np.concatenate([self._starts, ends])
        self._units = np.concatenate([self._units, units.astype(np.int32)])
        return self._chunks.find(distinct)


def match_terms(analyzer: Analyzer, pieces: Iterable[list[str]]) -> Matcher:
    """Make a matcher of terms that are nodes in the order given, in pieces.

    Terms without a letter are those that no document has any more.
    """
    units = StringTable()
    numbers = [units.intern(Strings.of([encode(term) for term in piece])) for piece in pieces]
    of_nodes = np.concatenate([np.empty(0, np.int64), *numbers])
    names = np.empty(len(units), np.int32)
    names[of_nodes] = np.arange(len(of_nodes))
    every, nothing = np.arange(len(units), dtype=np.int32), np.empty(0, np.int32)
    trie = Trie(every, np.zeros(len(units) + 1, np.int64), nothing, nothing, names)
    return Matcher(units, trie, analyzer.resolve, exact=False, analyzer=analyzer)


def match_names(words: Sequence[Sequence[str]], resolve: Resolve, *, exact: bool) -> Matcher:
    """Make a matcher of names, each given by its units; no two have the same."""
    units = StringTable()
    sizes = [len(its) for its in words]
    flat = units.intern(Strings.of([encode(unit) for its in words for unit in its])).tolist()
    steps: dict[tuple[int, int], int] = {}  # (state, unit) -> state; -1 is before the first unit
    ends: dict[int, int] = {}
    at = 0
    for node, size in enumerate(sizes):
        state = -1
        for unit in flat[at : at + size]:
            state = steps.setdefault((state, unit), len(steps))
        ends[state] = node
        at += size
    roots = np.full(len(units), -1, np.int32)
    names = np.full(len(steps), -1, np.int32)
    names[[*ends]] = [*ends.values()]
    table = np.array([(*key, to) for key, to in steps.items()], np.int32).reshape(-1, 3)
    first = table[:, 0] < 0
    roots[table[first, 1]] = table[first, 2]
    table = table[~first]
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    bounds = np.searchsorted(table[:, 0], np.arange(len(steps) + 1)).astype(np.int64)
    trie = Trie(roots, bounds, table[:, 1].copy(), table[:, 2].copy(), names)
    return Matcher(units, trie, resolve, exact)


def resolve_exactly(chunks: Sequence[bytes]) -> tuple[list[int], list[str]]:
    """Give the words of chunks letter for letter: how many each has, and all of them in order."""
    sizes: list[int] = []
    words: list[str] = []
    for chunk in chunks:
        found = [chunk.decode()] if chunk.isascii() else exact_words(chunk.decode())
        sizes.append(len(found))
        words.extend(found)
    return sizes, words


def split_all(analyzer: Analyzer, texts: Sequence[str]) -> list[list[str]]:
    """List the terms of each text, as `analyzer.terms` does; distinct chunks are met once."""
    chunks = cut([encode(text) for text in texts])
    sizes, terms = analyzer.resolve(chunks.distinct.all())
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    each = [terms[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    tokens, bounds = chunks.tokens.tolist(), chunks.token_bounds.tolist()
    return [[term for token in tokens[a:b] for term in each[token]] for a, b in pairwise(bounds)]


def split_exactly(name: str) -> list[str]:
    """Split a name into its words letter for letter, as texts are when it is searched for."""
    if name.isascii():
        return _ASCII_WORDS.findall(name)
    chunks = cut([encode(name)], keep_case=True)
    each = [resolve_exactly([chunk])[1] for chunk in chunks.distinct.all()]
    return [word for token in chunks.tokens.tolist() for word in each[token]]


def exact_words(text: str) -> list[str]:
    """Split text into runs of letters, digits and marks, compatibility forms unified, case kept.

    Invisible characters do not count; a Chinese or Japanese character is a word by itself, so
    that a name is found wherever its characters stand.
    """
    words: list[str] = []
    word = ""
    for char in unicodedata.normalize("NFKC", text) + " ":
        category = unicodedata.category(char)
        if category == "Cf":
            continue
        inside = char.isalnum() or category[0] == "M"
        alone = inside and is_unspaced(ord(char))
        if word and (alone or not inside):
            words.append(word)
            word = ""
        if alone:
            words.append(char)
        elif inside:
            word += char
    return words


@kernel
def _step(state: Int, unit: Int, bounds: Ints, units: Ids, states: Ids) -> Int:
    """Follow the edge of a state by a unit, -1 where there is none."""
    low, high = bounds[state], bounds[state + 1]
    while low < high:
        middle = (low + high) // 2
        if units[middle] < unit:
            low = middle + 1
        else:
            high = middle
    if low < bounds[state + 1] and units[low] == unit:
        return np.int64(states[low])
    return np.int64(-1)


@kernel
def _match(
    tokens: Ids,
    token_bounds: Ints,
    token_sentences: Ids,
    sentence_bounds: Ints,
    places: Ints,
    starts: Ints,
    numbers: Ids,
    roots: Ids,
    bounds: Ints,
    units: Ids,
    states: Ids,
    names: Ids,
) -> tuple[Ints, Ids, Ids]:
    """Find the longest names from left to right; they do not overlap, nor leave their sentence.

    Equals, for each sentence as a list of units, the leftmost-longest matches of a regular
    expression of all names.
    """
    n_texts = len(token_bounds) - 1
    room = 0
    for j in range(len(tokens)):
        place = places[tokens[j]]
        room += starts[place + 1] - starts[place]
    line = np.empty(room, np.int32)
    owners = np.empty(room, np.int32)
    found = np.empty(room, np.int32)
    where = np.empty(room, np.int32)
    out = np.zeros(n_texts + 1, np.int64)
    n_found = 0
    for text in range(n_texts):
        n = 0
        for j in range(token_bounds[text], token_bounds[text + 1]):
            place = places[tokens[j]]
            for k in range(starts[place], starts[place + 1]):
                line[n] = numbers[k]
                owners[n] = token_sentences[j]
                n += 1
        i = 0
        while i < n:
            state: Int = np.int64(-1) if line[i] < 0 else np.int64(roots[line[i]])
            name, stop, j = np.int32(-1), i + 1, i + 1
            while state >= 0:
                if names[state] >= 0:
                    name, stop = names[state], j
                if j == n or owners[j] != owners[i] or line[j] < 0:
                    break
                state = _step(state, line[j], bounds, units, states)
                j += 1
            if name >= 0:
                found[n_found] = name
                where[n_found] = owners[i] - sentence_bounds[text]
                n_found += 1
            i = stop
        out[text + 1] = n_found
    return out, found[:n_found].copy(), where[:n_found].copy()

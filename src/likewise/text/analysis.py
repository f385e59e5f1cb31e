"""What are the terms of this text?"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

from likewise.arguments import check_kind, check_texts
from likewise.errors import UsageError
from likewise.text.arabic import light10
from likewise.text.chunks import Chunks, cut
from likewise.text.folding import fold
from likewise.text.languages import AUTO, MIXED, NONE, known_language, read_language
from likewise.text.stops import has_stop_words, stop_words

# Raised whenever the same settings come to other terms. What was indexed before there was one has
# letters of acronyms apart, English words stemmed with their accents, Arabic ones with articles.
REVISION = 1
_CACHE_LIMIT = 100_000
# Below so many characters a kernel takes longer to call than to run.
_SHORT = 400
_ASCII_CHUNK = re.compile(rb"[a-z0-9]+")
_DOTTED = re.compile(r"[A-Za-z0-9]\.[A-Za-z0-9]")
# Stemmers to which no letter has an accent.
_PLAIN_STEMMERS = ("porter", "english", "lovins")
# Scripts that put no space between words are indexed by pairs of characters.
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


_OUTSIDE, _INSIDE, _IN_PAIRS, _INVISIBLE = range(4)


@dataclass(frozen=True)
class Analysis:
    """How text becomes terms; stored with the collection and used for every query.

    `language` is a name or an ISO 639 code; "auto" is decided by the documents when a collection is
    made, and English by itself, and so is "mixed", in which each document has its own. `languages`
    are then those that were met, the most frequent first. `stemmer` and `stop` follow the language
    unless named ("none" for neither); `stop_list` replaces the language's list. Lengths are in
    characters, before stemming; a Chinese or Japanese character is never too short. A word of a
    title counts `title_weight` times: that raised the AP of BM25 on each of three collections with
    titles (.308 to .320, .225 to .229, .358 to .371). With `fold` terms lose their accents after
    stemming (in English before), and with `positions` it is stored where in a document each stands.
    The last four leave terms out of search and models by their document frequency (`max_df` is a
    share of the documents) and total frequency (0: no upper limit); they are looked at anew
    whenever the collection changes.
    """

    language: str = AUTO
    languages: tuple[str, ...] = ()
    stemmer: str = ""
    stop: str = ""
    stop_list: tuple[str, ...] = ()
    numbers: bool = True
    min_length: int = 2
    max_length: int = 64
    title_weight: int = 3
    fold: bool = True
    positions: bool = True
    min_df: int = 1
    max_df: float = 1.0
    min_count: int = 1
    max_count: int = 0

    def __post_init__(self) -> None:
        check_texts(language=self.language)
        # A stemmer can be named for a language that is not known.
        if known_language(self.language) or not self.stemmer:
            object.__setattr__(self, "language", read_language(self.language))
        _check(self)

    @property
    def stemmer_name(self) -> str:
        """The Snowball algorithm in use: Porter's for English, as in the published systems."""
        if self.stemmer:
            return self.stemmer
        if self.language in ("english", AUTO, MIXED):
            return "porter"
        return self.language if self.language in languages() else NONE

    @property
    def filters_terms(self) -> bool:
        """Whether any term is left out by its frequency."""
        return (self.min_df, self.max_df, self.min_count, self.max_count) != (1, 1.0, 1, 0)

    def to_json(self) -> dict[str, Any]:
        """Give the configuration as plain values."""
        lists = {"languages": list(self.languages), "stop_list": list(self.stop_list)}
        return dataclasses.asdict(self) | lists

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Analysis:
        """Read what `to_json` gave; what it did not give yet was otherwise than it is now."""
        known = {field.name for field in dataclasses.fields(cls)}
        before = {"title_weight": 1, "fold": False, "positions": False}
        kept = before | {k: v for k, v in values.items() if k in known}
        lists = {name: tuple(values.get(name, ())) for name in ("languages", "stop_list")}
        return cls(**kept | lists)


@cache
def languages() -> list[str]:
    """List the languages that have a stemmer."""
    import Stemmer

    return [name for name in Stemmer.algorithms() if name not in ("porter", "dutch_porter")]


def _check(analysis: Analysis) -> None:
    import Stemmer

    check_texts(stemmer=analysis.stemmer, stop=analysis.stop)
    counts = ("min_length", "max_length", "title_weight", "min_df", "min_count", "max_count")
    for name in counts:
        check_kind(getattr(analysis, name), Integral, f"{name} is a whole number")
    check_kind(analysis.max_df, Real, "max_df is a number")
    if analysis.stemmer not in ("", "none", *Stemmer.algorithms()):
        raise UsageError(
            f"unknown stemmer {analysis.stemmer!r}: it is none or one of "
            f"{', '.join(Stemmer.algorithms())}"
        )
    if not 1 <= analysis.min_length <= analysis.max_length:
        raise UsageError(
            f"token lengths {analysis.min_length} to {analysis.max_length}: "
            "the first must be at least 1 and not above the second"
        )
    if analysis.title_weight < 1:
        raise UsageError(f"a title counts at least once, not {analysis.title_weight} times")
    if analysis.min_df < 0 or analysis.min_count < 0 or analysis.max_count < 0:
        raise UsageError("frequency limits (min_df, min_count, max_count) must not be negative")
    if not 0 < analysis.max_df <= 1:
        raise UsageError(
            f"max_df is a share of the documents, above 0 and up to 1, not {analysis.max_df}"
        )
    if analysis.stop not in ("", "none"):
        stop_words(analysis.stop)


class Resolved(NamedTuple):
    """What distinct chunks come to, one after the other.

    Chunk i has `sizes[i]` terms and `widths[i]` words, dropped ones included; term j is the word
    `places[j]` of its chunk. `exact` has the words of each chunk, `exact_sizes[i]` of them, that
    are not terms as they are spelled: dropped, folded, or with a mark, as `c++`.
    """

    sizes: list[int]
    widths: list[int]
    terms: list[str]
    places: list[int]
    exact_sizes: list[int]
    exact: list[str]


class Analyzer:
    """Turns text into terms by an `Analysis`: each distinct chunk of text is worked out once."""

    def __init__(self, analysis: Analysis) -> None:
        import Stemmer

        self.analysis = analysis
        name = analysis.stemmer_name
        self._stem = None if name == "none" else Stemmer.Stemmer(name, 0).stemWords
        self._is_arabic = name == "arabic"
        # English knows no accents: with them a word of its would keep its ending, as résumé does.
        self._folds_first = analysis.fold and name in _PLAIN_STEMMERS
        self._stop = _stop_set(analysis)
        self._cache: dict[bytes, list[str]] = {}
        self._last: tuple[str, list[str]] = ("", [])

    def terms(self, text: str) -> list[str]:
        """List the terms of a text in their order."""
        # A query is looked at from several sides, one after the other.
        known, terms = self._last
        if text != known:
            if is_short_ascii(text):
                found = self.terms_of(_ascii_chunks(text))
            else:
                chunks, tokens = _cut_one(text)
                resolved = self.terms_of(chunks)
                found = [resolved[token] for token in tokens]
            terms = [term for its in found for term in its]
            self._last = (text, terms) if len(text) < _SHORT else self._last
        return [*terms]

    def placed(self, text: str) -> list[tuple[str, int]]:
        """List the terms of a text with their positions, at which dropped words count."""
        chunks, tokens = _cut_one(text)
        distinct = self.resolve_all(chunks)
        ends = list(accumulate(distinct.sizes))
        out: list[tuple[str, int]] = []
        at = 0
        for token in tokens:
            mine = slice(ends[token] - distinct.sizes[token], ends[token])
            places = (at + place for place in distinct.places[mine])
            out += zip(distinct.terms[mine], places, strict=True)
            at += distinct.widths[token]
        return out

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """List the words of texts as they are spelled, dropped ones too: one for each position."""
        chunks = cut([*map(encode, texts)])
        spelled = [*map(words_of_chunk, chunks.distinct.all())]
        tokens = chunks.tokens.tolist()
        return [
            [word for token in tokens[first:stop] for word in spelled[token]]
            for first, stop in pairwise(chunks.token_bounds.tolist())
        ]

    def folded(self, word: str) -> str:
        """Give a word as terms are folded: without accents, unless the analysis keeps them."""
        return fold(word) if self.analysis.fold and not word.isascii() else word

    @property
    def stems_accents(self) -> bool:
        """Whether a stem may depend on accents that are folded only after it."""
        return self.analysis.fold and self._stem is not None and not self._folds_first

    def dropped_like(self, word: str) -> set[str]:
        """Give a dropped word, and those of the stop list that differ from it by accents alone."""
        folded = self.folded(word)
        return {word, folded, *(one for one in self._stop if self.folded(one) == folded)}

    def of_text(self, text: str) -> Analyzer:
        """Give the analyzer of a text by itself: that of its language, where it is certain."""
        return self

    def readings(self, text: str) -> list[list[tuple[str, int]]]:
        """List the ways in which a text may be analysed: in each its terms with their positions."""
        return [self.placed(text)]

    def exact(self, text: str) -> list[str]:
        """List the words of a text that are not terms as they are spelled: see `Resolved`."""
        chunks = cut([encode(text)], marks=True)
        distinct = self.resolve_all(chunks.distinct.all())
        ends = list(accumulate(distinct.exact_sizes))
        return [
            word
            for token in chunks.tokens.tolist()
            for word in distinct.exact[ends[token] - distinct.exact_sizes[token] : ends[token]]
        ]

    def languages_of(self, texts: Sequence[bytes]) -> list[str] | None:
        """Give the language of each document; None where all are in the collection's."""
        return None

    def marked(self, chunks: Chunks, languages: Sequence[str]) -> Chunks:
        """Give the chunks of texts with the language of each, where they are in several."""
        return chunks

    def counts(self, text: str) -> dict[str, int]:
        """Count the terms of a text."""
        found: dict[str, int] = {}
        for term in self.terms(text):
            found[term] = found.get(term, 0) + 1
        return found

    def terms_of(self, chunks: Sequence[bytes]) -> list[list[str]]:
        """List the terms of each chunk; those met before are not worked out again."""
        known = self._cache
        new = [chunk for chunk in dict.fromkeys(chunks) if chunk not in known]
        if not new:
            return [known[chunk] for chunk in chunks]
        found = self._terms_of_new(new)
        if len(known) + len(found) <= _CACHE_LIMIT:
            known |= found
        else:
            # Another thread may be reading the table: it is replaced, not emptied.
            self._cache = {} if len(found) > _CACHE_LIMIT else dict(found)
        return [found[chunk] if chunk in found else known[chunk] for chunk in chunks]

    def _terms_of_new(self, chunks: Sequence[bytes]) -> dict[bytes, list[str]]:
        """Work out the terms of distinct chunks."""
        if not all(map(bytes.isalnum, chunks)):
            return self._resolved_terms(chunks)
        # All of them are words. The same as below, in a fraction of the time.
        found: dict[bytes, list[str]] = {chunk: [] for chunk in chunks}
        kept = [(chunk, word) for chunk in chunks if self._keeps(word := chunk.decode())]
        terms = self._stemmed([word for _, word in kept])
        for (chunk, _), term in zip(kept, terms, strict=True):
            found[chunk] = [term]
        return found

    def resolve(self, chunks: Sequence[bytes]) -> tuple[list[int], list[str]]:
        """Work out the terms of distinct chunks: how many each has, and all of them in order."""
        found = self.resolve_all(chunks)
        return found.sizes, found.terms

    def _resolved_terms(self, chunks: Sequence[bytes]) -> dict[bytes, list[str]]:
        sizes, terms = self.resolve(chunks)
        places = zip(chunks, sizes, accumulate(sizes), strict=True)
        return {chunk: terms[end - size : end] for chunk, size, end in places}

    def resolve_all(self, chunks: Sequence[bytes]) -> Resolved:
        """Work out the terms and exact forms of distinct chunks.

        An ASCII chunk is a word, or one with a mark; another one may hold none or several.
        """
        stop, keeps = self._stop, self._keeps
        shortest, longest = self.analysis.min_length, self.analysis.max_length
        numbers = self.analysis.numbers
        out = Resolved([], [], [], [], [], [])
        sizes, widths, words, places, exact_sizes, exact = out
        for chunk in chunks:
            n_words, n_exact = len(words), len(exact)
            width = 1
            if chunk.isalnum():
                word = chunk.decode()
                # As `keeps` tells of words that are ASCII.
                if (
                    word not in stop
                    and shortest <= len(word) <= longest
                    and (numbers or not word.isnumeric())
                ):
                    words.append(word)
                    places.append(0)
                elif len(word) <= longest:
                    exact.append(word)
            elif chunk.isascii():
                width = 0
                exact.append(chunk.decode())
            else:
                found = split_words(chunk.decode("utf-8", "replace"))
                width = len(found)
                for place, word in enumerate(found):
                    kept = keeps(word)
                    if kept:
                        words.append(word)
                        places.append(place)
                    if len(word) <= longest and not (kept and self.folded(word) == word):
                        exact.append(word)
            sizes.append(len(words) - n_words)
            widths.append(width)
            exact_sizes.append(len(exact) - n_exact)
        words[:] = self._stemmed(words)
        return out

    def _stemmed(self, words: list[str]) -> list[str]:
        """Give the terms that kept words become."""
        if self._folds_first:
            words = [word if word.isascii() else self.folded(word) for word in words]
        if self._is_arabic:
            words = [light10(word) for word in words]
        if self._stem is not None:
            stems = self._stem(words)
            if not all(stems):
                stems = [stem or word for stem, word in zip(stems, words, strict=True)]
            return [stem if stem.isascii() else self.folded(stem) for stem in stems]
        return [fold(word) for word in words] if self.analysis.fold else words

    def _keeps(self, word: str) -> bool:
        """Tell whether a word becomes a term."""
        analysis = self.analysis
        if word in self._stop or (not analysis.numbers and word.isnumeric()):
            return False
        if analysis.min_length <= len(word) <= analysis.max_length:
            return True
        return len(word) <= analysis.max_length and is_unspaced(ord(word[0]))


def is_short_ascii(text: str) -> bool:
    """Tell whether a text is cut sooner by a regular expression than by a kernel."""
    # Letters with a dot between them may be an acronym.
    dotted = "." in text and _DOTTED.search(text)
    return text.isascii() and len(text) < _SHORT and not dotted


def _ascii_chunks(text: str) -> list[bytes]:
    """Give the chunks of a short ASCII text, in order."""
    return _ASCII_CHUNK.findall(text.lower().encode())


def _cut_one(text: str) -> tuple[Sequence[bytes], Sequence[int]]:
    """Give the distinct chunks of a text, and the number of each that it has in order."""
    if is_short_ascii(text):
        found = _ascii_chunks(text)
        numbers = {chunk: i for i, chunk in enumerate(dict.fromkeys(found))}
        return [*numbers], [numbers[chunk] for chunk in found]
    chunks = cut([encode(text)])
    return chunks.distinct.all(), chunks.tokens.tolist()


def make_analyzer(analysis: Analysis) -> Analyzer:
    """Give the analyzer of a collection, in one language or several."""
    if not analysis.languages:
        return Analyzer(analysis)
    from likewise.text.mixed import MixedAnalyzer

    return MixedAnalyzer(analysis)


def encode(text: str) -> bytes:
    """Encode text as UTF-8; what cannot be (lone surrogates) becomes a question mark."""
    return text.encode("utf-8", "replace")


def words_of_chunk(chunk: bytes) -> list[str]:
    """List the words of a chunk, which is one where it is ASCII."""
    return [chunk.decode()] if chunk.isascii() else split_words(chunk.decode("utf-8", "replace"))


def split_words(text: str) -> list[str]:
    """Split text into words by Unicode: compatibility forms unified, case folded.

    A word is a run of letters, digits and marks, in which invisible characters (joiners, soft
    hyphens) do not count; runs of scripts without spaces (Chinese, Japanese, Thai, …) give their
    pairs of characters, each with its marks.
    """
    words: list[str] = []
    word = ""
    before = _OUTSIDE
    # The Turkish capital İ is folded to an i with a dot more.
    folded = unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")
    for char in folded + " ":
        kind = _kind(char)
        if kind == _INVISIBLE:
            continue
        if word and kind != before:
            words.extend(_pairs(word) if before == _IN_PAIRS else [word])
            word = ""
        if kind != _OUTSIDE:
            word += char
        before = kind
    return words


@lru_cache(maxsize=1 << 15)
def _kind(char: str) -> int:
    """Tell whether a character is inside a word, and of which kind."""
    category = unicodedata.category(char)
    if category == "Cf":
        return _INVISIBLE
    if not (char.isalnum() or category[0] == "M"):
        return _OUTSIDE
    return _IN_PAIRS if is_unspaced(ord(char)) else _INSIDE


def is_unspaced(code: int) -> bool:
    """Tell whether a character is of a script that puts no spaces between words."""
    return code >= 0x0E00 and any(first <= code <= last for first, last in _UNSPACED)


def _pairs(run: str) -> list[str]:
    characters: list[str] = []
    for char in run:
        if characters and unicodedata.category(char)[0] == "M":
            characters[-1] += char
        else:
            characters.append(char)
    return [a + b for a, b in pairwise(characters)] or characters


@lru_cache(maxsize=16)
def _stop_set(analysis: Analysis) -> frozenset[str]:
    if analysis.stop_list:
        entries: Iterable[str] = analysis.stop_list
    elif analysis.stop:
        entries = () if analysis.stop == "none" else stop_words(analysis.stop)
    else:
        language = "english" if analysis.language in (AUTO, MIXED) else analysis.language
        entries = stop_words(language) if has_stop_words(language) else ()
    # In the pieces that tokens come in: "don't" is don and t, "s.v." is sv.
    pieces = {piece for entry in entries for piece in (entry, entry.replace(".", ""))}
    words = {word for piece in pieces for word in split_words(piece)}
    # Who leaves out accents leaves them out of für as well.
    return frozenset(words | {fold(word) for word in words} if analysis.fold else words)

"""Which terms or names are the nodes of a graph?

Terms of the collection, chosen by their frequencies; a list of names; or what a function of the
user's finds in the documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Ids, Ints
from likewise.errors import UsageError
from likewise.terms.matching import (
    Matcher,
    match_names,
    match_terms,
    resolve_exactly,
    split_all,
    split_exactly,
)
from likewise.text.analysis import Analysis, Analyzer, encode, make_analyzer

TERMS, WORDS, EXACT = "terms", "words", "exact"
SENTENCE, DOCUMENT = "sentence", "document"

_TERMS_AT_ONCE = 1 << 18
_MANY, _SOME = 100, 20


@dataclass(frozen=True)
class Filters:
    """Which terms are nodes: by document frequency, and at most `size` of them (0: any number).

    `max_df` is a share of the documents; of terms beyond the size the most frequent stay.
    `numbers` admits terms of digits only.
    """

    min_df: int = 3
    max_df: float = 0.5
    size: int = 0
    numbers: bool = False
    notation: ClassVar[str] = "terms"

    def __post_init__(self) -> None:
        if not is_whole(self.min_df) or self.min_df < 1:
            raise UsageError(f"min_df is a number of documents, at least 1, not {self.min_df!r}")
        if not isinstance(self.max_df, Real) or not 0 < self.max_df <= 1:
            raise UsageError(
                f"max_df is a share of the documents, above 0 and up to 1, not {self.max_df!r}"
            )
        if not is_whole(self.size) or self.size < 0:
            raise UsageError(f"size is a number of terms (0: no limit), not {self.size!r}")
        # They are stored, which numbers of NumPy cannot be.
        for name, kind in (("min_df", int), ("max_df", float), ("size", int)):
            object.__setattr__(self, name, kind(getattr(self, name)))

    def __str__(self) -> str:
        return notation.write(self)


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number, of Python or NumPy; true and false are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def usual_filters(n_docs: int) -> Filters:
    """Give the filters that suit a collection of this size: of few documents all terms count."""
    if n_docs >= _MANY:
        return Filters()
    return Filters(min_df=2) if n_docs >= _SOME else Filters(min_df=1, max_df=1.0)


class Heard(NamedTuple):
    """What an extractor said of texts: the text with `keys[i]` mentions `nodes[bounds[i]:…]`.

    Keys are ascending, see `extracting.key_of`; `within` is what the extractor was given.
    """

    keys: NDArray[np.uint64]
    bounds: Ints
    nodes: Ids
    sentences: Ids
    within: str


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a graph, numbered from 0.

    Of kind "terms" they are the collection's terms of these `numbers`, for good. Else they are
    `texts`, names as the user wrote them: of kind "words" a name is found where all its words stand
    one after another in a sentence, in any case and with any ending that the collection's stemmer
    takes off; of kind "exact" where they do letter for letter. The longest name wins, and mentions
    do not overlap. A name's own punctuation does not count, but that of documents still ends
    sentences.

    `heard` is what an extractor said; texts that it was never given, such as documents added
    later, are searched for the names. `left_out` are names without a word, and `merged` names that
    come to the same words as one before, which stands for both.
    """

    kind: str
    numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    texts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    merged: tuple[tuple[str, str], ...] = ()
    heard: Heard | None = None

    def __len__(self) -> int:
        return len(self.numbers) if self.kind == TERMS else len(self.texts)

    def names(self, snapshot: Snapshot, numbers: Ints) -> list[str]:
        """Give the names of nodes: terms, or what the user wrote."""
        if self.kind == TERMS:
            return snapshot.terms(self.numbers[numbers])
        return [self.texts[i] for i in numbers.tolist()]

    def find(self, snapshot: Snapshot, text: str) -> Ints:
        """Give the nodes that a text mentions, each once, in the order of their first mention."""
        if self.kind == TERMS:
            found = self.nodes_of(snapshot.find_terms(snapshot.analyzer.terms(text)))
        else:
            found = self.matcher(snapshot).match([encode(text)]).nodes.astype(np.int64)
        return np.array([*dict.fromkeys(found[found >= 0].tolist())], np.int64)

    def term_numbers(self, snapshot: Snapshot) -> Ints:
        """Give the collection's number of each node that is a single term, -1 for others."""
        if self.kind == TERMS:
            return self.numbers
        # By all words: of "T cell" the collection's analysis may see the second alone.
        terms = split_all(Analyzer(_all_words(snapshot.analysis)), self.texts)
        single = [i for i, its in enumerate(terms) if len(its) == 1]
        out = np.full(len(self), -1, np.int64)
        out[single] = snapshot.find_terms([terms[i][0] for i in single])
        return out

    def nodes_of(self, terms: Ints) -> Ints:
        """Give the nodes of the collection's terms, -1 for those that are none."""
        order, ascending = self._ascending
        if len(order) == 0:
            return np.full(len(terms), -1, np.int64)
        places = np.minimum(np.searchsorted(ascending, terms), len(order) - 1)
        return np.where(ascending[places] == terms, order[places], -1)

    def matcher(self, snapshot: Snapshot) -> Matcher:
        """Give what finds the nodes in texts of a collection."""
        if self.kind == TERMS:
            # Of the snapshot alone: a term that no document has any more loses its letters.
            return snapshot.memo(("matcher", self), lambda: self._make_matcher(snapshot))
        made = self._matchers.get(snapshot.analysis)
        if made is None:
            self._matchers.clear()
            made = self._matchers[snapshot.analysis] = self._make_matcher(snapshot)
        return made

    @cached_property
    def _ascending(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.numbers)
        return order, self.numbers[order]

    @cached_property
    def _matchers(self) -> dict[Analysis, Matcher]:
        return {}

    def _make_matcher(self, snapshot: Snapshot) -> Matcher:
        # An analyzer of its own: several threads come to its stemmer one after the other.
        if self.kind == TERMS:
            analyzer = make_analyzer(snapshot.analysis)
            return match_terms(analyzer, map(snapshot.terms, _pieces(self.numbers)))
        analyzer = Analyzer(_all_words(snapshot.analysis))
        exact = self.kind == EXACT
        words = [*map(split_exactly, self.texts)] if exact else split_all(analyzer, self.texts)
        resolve = resolve_exactly if exact else analyzer.resolve
        return match_names(words, resolve, exact=exact)


def choose_nodes(snapshot: Snapshot, filters: Filters = Filters()) -> Nodes:
    """Choose terms by their frequencies in the live documents, the most frequent first.

    Terms of the same document frequency stand in the order of their numbers.
    """
    kept: list[tuple[Ints, Ints]] = []
    for terms in _pieces(np.arange(snapshot.n_terms)):
        doc_freqs, term_freqs = snapshot.frequencies(terms)
        admitted = snapshot.admitted(doc_freqs, term_freqs)
        admitted &= doc_freqs >= filters.min_df
        admitted &= doc_freqs <= filters.max_df * snapshot.n_docs
        terms, doc_freqs = terms[admitted], doc_freqs[admitted]
        if not filters.numbers:
            worded = _are_worded(snapshot.terms(terms))
            terms, doc_freqs = terms[worded], doc_freqs[worded]
        kept.append((terms, doc_freqs))
    numbers, freqs = (np.concatenate([np.empty(0, np.int64), *part]) for part in _columns(kept))
    if len(numbers) == 0:
        raise UsageError(
            f"no term of {snapshot.folder} stands in {filters.min_df} or more, and at most "
            f"{filters.max_df:.0%}, of its {snapshot.n_docs} documents; lower min_df or raise "
            "max_df"
        )
    order = np.lexsort((numbers, -freqs))[: filters.size or None]
    return Nodes(TERMS, numbers[order])


def read_names(snapshot: Snapshot, names: Iterable[str], *, exact: bool = False) -> Nodes:
    """Make nodes of names, in their order; names that come to the same words are one node.

    Punctuation is no part of a word, letter for letter or not: "C", "C++" and "C#" are one name.
    Names without a word are left out.
    """
    if isinstance(names, str):
        raise UsageError(f"names are a list of texts, not the text {names[:40]!r}")
    if not isinstance(names, Iterable):
        raise UsageError(f"names are a list of texts, not {names!r}")
    given: list[str] = []
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"a name is a text, not {name!r} ({type(name).__name__})")
        if name.strip():
            given.append(name.strip())
    analyzer = Analyzer(_all_words(snapshot.analysis))
    split = map(split_exactly, given) if exact else split_all(analyzer, given)
    spellings: dict[tuple[str, ...], str] = {}
    # As keys: each is said once, however often it was given.
    left_out: dict[str, None] = {}
    merged: dict[str, str] = {}
    for name, words in zip(given, split, strict=True):
        if not words:
            left_out[name] = None
            continue
        first = spellings.setdefault(tuple(words), name)
        if first != name:
            merged[name] = first
    if not spellings:
        raise UsageError(
            f"{len(given)} names, and words that can be searched for in none"
            if given
            else "no names were given; give one to a line"
        )
    kind = EXACT if exact else WORDS
    texts = tuple(spellings.values())
    return Nodes(kind, texts=texts, left_out=tuple(left_out), merged=tuple(merged.items()))


def _all_words(analysis: Analysis) -> Analysis:
    """Give an analysis that keeps every word: short ones and stop words tell names apart."""
    return replace(analysis, min_length=1, stop="none", stop_list=(), numbers=True)


def _pieces(numbers: Ints) -> Iterator[Ints]:
    for start in range(0, len(numbers), _TERMS_AT_ONCE):
        yield numbers[start : start + _TERMS_AT_ONCE]


def _columns(rows: list[tuple[Ints, Ints]]) -> tuple[list[Ints], list[Ints]]:
    return [row[0] for row in rows], [row[1] for row in rows]


def _are_worded(terms: list[str]) -> Bools:
    return np.array([not term.isdigit() for term in terms], np.bool_)

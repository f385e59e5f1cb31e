"""Which documents have these words? A `Match` as a mask of each segment's documents.

Words and prefixes are read off their postings. A phrase is looked for by the positions of its
words, in those documents only that have them all and that the rest of the tree leaves in question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.collection.build import content
from likewise.collection.postings import BLOCK_BITS, Postings, block_of, start_of
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.collection.vocabulary import terms_with
from likewise.collection.words import EXACT, MAIN, TITLE, find_rows
from likewise.compiled import Bools, Int, Ints, kernel
from likewise.records import Match
from likewise.text.analysis import is_unspaced
from likewise.text.folding import fold

_DOCS_AT_ONCE = 4096


class Leaf(NamedTuple):
    """A word, phrase or prefix: terms by number, and how far each stands from the first.

    A number of -1 is a term that no document ever had. `either`: any of the terms is enough.
    `exact`: these are words that the analysis drops, and `pattern` finds them in a text.
    """

    terms: Ints
    offsets: Ints
    either: bool = False
    exact: bool = False
    pattern: re.Pattern[str] | None = None


def match_masks(snapshot: Snapshot, match: Match) -> list[Bools]:
    """Mark the documents of each segment that match, deleted ones too."""
    leaves = {leaf: _resolve(snapshot, leaf) for leaf in leaves_of(match)}
    found = []
    for base, segment in zip(snapshot.bases.tolist(), snapshot.segments, strict=False):
        mask = _Matching(snapshot, segment, base, leaves).mask(match, None)
        found.append(np.ones(segment.n_docs, np.bool_) if mask is None else mask)
    return found


def leaves_of(match: Match) -> list[Match]:
    """List the words, phrases and prefixes of a tree, each once."""
    if not match.parts:
        return [match]
    return list(dict.fromkeys(leaf for part in match.parts for leaf in leaves_of(part)))


def prefix_terms(snapshot: Snapshot, text: str) -> Ints:
    """Give the terms that begin with a text, and the term that the text itself is analysed to.

    A stem may be shorter than what was typed of its word.
    """
    own = snapshot.find_terms(snapshot.analyzer.terms(text))
    folded = fold(text.casefold()) if snapshot.analysis.fold else text.casefold()
    begun = terms_with(snapshot, folded, prefix=True)
    return np.union1d(begun, own[own >= 0])


def exact_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Give what finds words one after the other in a text whose case is folded."""
    return re.compile(r"(?<!\w)" + r"\W+".join(map(re.escape, words)) + r"(?!\w)")


def _resolve(snapshot: Snapshot, leaf: Match) -> list[Leaf]:
    """Give the terms of a leaf, in several languages once for each of its analyses.

    There are none where it has no word that was indexed in any way.
    """
    if leaf.kind == "prefix":
        return [_either(prefix_terms(snapshot, leaf.text))]
    if len(leaf.text) == 1 and is_unspaced(ord(leaf.text)):
        # Such text is indexed by pairs of characters: any that holds this one.
        return [_either(terms_with(snapshot, leaf.text))]
    found, readings = [], snapshot.analyzer.readings(leaf.text)
    for placed in filter(None, readings):
        offsets = np.array([at for _, at in placed], np.int64)
        terms = snapshot.find_terms([term for term, _ in placed])
        found.append(Leaf(terms, offsets - offsets[0]))
    words = [] if all(readings) else snapshot.analyzer.exact(leaf.text)
    if words and snapshot.has_field(EXACT):
        pattern = exact_pattern(leaf.text.casefold().split())
        terms = snapshot.find_terms(words)
        found.append(Leaf(terms, np.arange(len(words)), exact=True, pattern=pattern))
    return found


def _either(terms: Ints) -> Leaf:
    return Leaf(terms, np.zeros(len(terms), np.int64), either=True)


class _Matching:
    """Evaluates a tree on one segment."""

    def __init__(
        self, snapshot: Snapshot, segment: Segment, base: int, leaves: dict[Match, list[Leaf]]
    ) -> None:
        self._snapshot, self._segment, self._base = snapshot, segment, base
        self._leaves = leaves

    def mask(self, match: Match, within: Bools | None) -> Bools | None:
        """Mark the documents that match; None: the part says nothing.

        Only those of `within` are asked for; others may be marked or not.
        """
        if match.kind == "not":
            inside = self.mask(match.parts[0], within)
            return None if inside is None else ~inside
        if match.kind == "any":
            parts = [self.mask(part, within) for part in match.parts]
            known = [part for part in parts if part is not None]
            return np.logical_or.reduce(known) if known else None
        if match.kind == "all":
            met: Bools | None = None
            # What takes no positions goes first and narrows down what does.
            for part in sorted(match.parts, key=_cost):
                inside = self.mask(part, within)
                if inside is not None:
                    met = inside if met is None else met & inside
                    within = met if within is None else within & met
            return met
        readings = [self._leaf(match, leaf, within) for leaf in self._leaves[match]]
        return np.logical_or.reduce(readings) if readings else None

    def _leaf(self, match: Match, leaf: Leaf, within: Bools | None) -> Bools:
        titles, has_titles = bool(match.field), TITLE in self._segment.word_fields
        field = EXACT if leaf.exact else TITLE if titles and has_titles else MAIN
        postings = self._segment.words(field).postings
        distinct = np.unique(leaf.terms)
        rows = find_rows(postings.terms, distinct)
        if leaf.either:
            having = self._marked(postings, rows[rows >= 0])
            certain = not titles or has_titles
        else:
            if (rows < 0).any():
                return np.zeros(self._segment.n_docs, np.bool_)
            marks = [self._marked(postings, rows[i : i + 1]) for i in range(len(rows))]
            having = np.logical_and.reduce(marks)
            certain = len(leaf.terms) == 1 and (not titles or field == TITLE)
        if certain:
            return having
        docs = np.flatnonzero(having if within is None else having & within)
        found = np.zeros(self._segment.n_docs, np.bool_)
        for first in range(0, len(docs), _DOCS_AT_ONCE):
            some = docs[first : first + _DOCS_AT_ONCE]
            found[some[self._look(match, leaf, some)]] = True
        return found

    def _look(self, match: Match, leaf: Leaf, docs: Ints) -> Bools:
        """Tell which documents have the words of a leaf where it wants them."""
        if match.field:
            titles = [card.title for card in self._segment.cards.take(docs.tolist())]
            return np.array([self._in_title(title, leaf) for title in titles], np.bool_)
        if leaf.pattern is not None:
            texts = (content(self._segment.documents[doc]) for doc in docs.tolist())
            has = [leaf.pattern.search(text.casefold()) is not None for text in texts]
            return np.array(has, np.bool_)
        distinct, columns = np.unique(leaf.terms, return_inverse=True)
        places = self._snapshot.positions(docs + self._base, distinct)
        return find_phrases(places.bounds, places.values, columns, leaf.offsets, len(distinct))

    def _in_title(self, title: str, leaf: Leaf) -> bool:
        if leaf.pattern is not None:
            return leaf.pattern.search(title.casefold()) is not None
        placed = self._snapshot.analyzer.placed(title)
        numbers = self._snapshot.find_terms([term for term, _ in placed]).tolist()
        if leaf.either:
            return not {*leaf.terms.tolist()}.isdisjoint(numbers)
        there = {(number, at) for number, (_, at) in zip(numbers, placed, strict=True)}
        wanted = [*zip(leaf.terms.tolist(), leaf.offsets.tolist(), strict=True)]
        return any(all((term, at + offset) in there for term, offset in wanted) for _, at in there)

    def _marked(self, postings: Postings, rows: Ints) -> Bools:
        """Mark the documents that any of some rows of postings have."""
        # As long as whole blocks, so that no posting, whatever it says, leads outside.
        out = np.zeros(len(self._segment.mask), np.bool_)
        mark_postings(postings, rows, out)
        return out[: self._segment.n_docs]


def _cost(match: Match) -> int:
    """Order parts: 1 where positions are read, else 0."""
    return int(any(" " in leaf.text for leaf in leaves_of(match)))


@kernel
def mark_postings(postings: Postings, rows: Ints, out: Bools) -> None:
    """Mark the documents of some rows of postings.

    Equals `out[docs] = True` for the documents of each.
    """
    entries, docs, heads = postings.entries, postings.docs, postings.heads
    for row in rows:
        for entry in range(np.int64(heads[row, 0]), np.int64(heads[row + 1, 0])):
            base = block_of(entries, entry) << BLOCK_BITS
            for at in range(start_of(entries, entry), start_of(entries, entry + 1)):
                doc = base + np.int64(docs[at])
                if doc < len(out):
                    out[doc] = True


@kernel
def find_phrases(bounds: Ints, values: Ints, columns: Ints, offsets: Ints, n_terms: Int) -> Bools:
    """Tell which documents have terms at given offsets from each other.

    `columns` are the terms' places among those that the positions are of. Equals for each document
    whether any p has `p + offsets[j]` among the positions of term `columns[j]` for all j.
    """
    n_docs = (len(bounds) - 1) // n_terms
    found = np.zeros(n_docs, np.bool_)
    for i in range(n_docs):
        first = i * n_terms
        for at in range(bounds[first + columns[0]], bounds[first + columns[0] + 1]):
            start = values[at] - offsets[0]
            j = 1
            while j < len(columns):
                low, high = bounds[first + columns[j]], bounds[first + columns[j] + 1]
                place = low + np.searchsorted(values[low:high], start + offsets[j])
                if place == high or values[place] != start + offsets[j]:
                    break
                j += 1
            if j == len(columns):
                found[i] = True
                break
    return found

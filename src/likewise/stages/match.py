"""Which documents have these words? A `Match` as a mask of each segment's documents.

Words and prefixes are read off their postings. A phrase is looked for by the positions of its
words, in those documents only that have them all and that the rest of the tree leaves in question.
Words of it that the analysis drops have no positions: they are looked for in the texts of what is
then left, where these are `MOST_READ` at most in the whole collection and of `MOST_WORDS` words; of
more it is enough that they have such words anywhere, and a note says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, islice, product
from math import prod
from typing import NamedTuple

import numpy as np

from likewise.collection.build import content
from likewise.collection.postings import BLOCK_BITS, Postings, block_of, start_of
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.collection.vocabulary import terms_with
from likewise.collection.words import EXACT, MAIN, TITLE, find_rows
from likewise.compiled import Bools, Ints, kernel
from likewise.records import Match
from likewise.stages.phrases import (
    Dropped,
    dropped_words,
    find_phrases,
    read_phrases,
    stands_in,
)
from likewise.stages.word_forms import accented_terms, terms_asked
from likewise.text.analysis import is_unspaced
from likewise.text.folding import fold

_DOCS_AT_ONCE = 4096
# Phrases that differ by accents.
MOST_SPELLINGS = 64
# Texts that are read for a phrase at most, and their words: about 0.3 s on a core.
MOST_READ, MOST_WORDS = 1000, 2_000_000


class Leaf(NamedTuple):
    """A word, phrase or prefix: terms by number, and how far each stands from the first.

    A number of -1 is a term that no document ever had. `either`: any of the terms is enough.
    `dropped` are words that the analysis drops, which documents have in `exact`: of each word any
    of these numbers. `pattern` finds a phrase of nothing else in a text. With other accents there
    are `spellings` of it.
    """

    terms: Ints
    offsets: Ints
    either: bool = False
    dropped: tuple[Dropped, ...] = ()
    exact: tuple[Ints, ...] = ()
    pattern: re.Pattern[str] | None = None
    spellings: int = 1


class Matched(NamedTuple):
    """The documents of each segment that match, and what was not looked at as it was typed."""

    masks: list[Bools]
    notes: tuple[str, ...] = ()


def match_masks(
    snapshot: Snapshot, match: Match, within: Sequence[Bools | None] | None = None
) -> Matched:
    """Mark the documents of each segment that match; only those of `within` are asked for."""
    leaves = {leaf: _resolve(snapshot, leaf) for leaf in leaves_of(match)}
    asked = within or [segment.live for segment in snapshot.segments]
    matching = [
        _Matching(snapshot, segment, base, leaves)
        for base, segment in zip(snapshot.bases.tolist(), snapshot.segments, strict=False)
    ]
    masks = [one.mask(match, mine) for one, mine in zip(matching, asked, strict=True)]
    notes = [
        _spellings_note(leaf.text)
        for leaf, readings in leaves.items()
        if any(one.spellings > MOST_SPELLINGS for one in readings)
    ]
    if any(one.unread for one in matching):
        # How many are in question is counted first, over all segments: one or twenty, the same.
        n_docs, n_words = Counter[Match](), Counter[Match]()
        for one in matching:
            n_docs.update({leaf: len(docs) for leaf, docs in one.unread.items()})
            n_words.update({leaf: one.n_words(docs) for leaf, docs in one.unread.items()})
        read = {leaf for leaf in n_docs if n_docs[leaf] <= MOST_READ}
        read = {leaf for leaf in read if n_words[leaf] <= MOST_WORDS}
        notes += [_unread_note(leaf.text) for leaf in leaves if leaf in n_docs and leaf not in read]
        masks = [one.mask(match, mine, read) for one, mine in zip(matching, asked, strict=True)]
    whole = [np.ones(segment.n_docs, np.bool_) for segment in snapshot.segments]
    found = [all_of if mask is None else mask for mask, all_of in zip(masks, whole, strict=True)]
    return Matched(found, tuple(notes))


def _unread_note(phrase: str) -> str:
    return (
        f"more than {MOST_READ:,} documents, or {MOST_WORDS:,} words of them, may have "
        f'"{phrase}": its common and short words were looked for anywhere in them, and after - it '
        "leaves none of them out"
    )


def _spellings_note(phrase: str) -> str:
    return (
        f'"{phrase}" may have other accents in more than {MOST_SPELLINGS} ways: only those that '
        "are most like it were looked for"
    )


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
    analyzer, phrase = snapshot.analyzer, " " in leaf.text
    found, readings = [], analyzer.readings(leaf.text)
    [words] = analyzer.words([leaf.text])
    nothing = np.empty(0, np.int64)
    for placed in filter(None, readings):
        places = [at for _, at in placed]
        offsets = np.array(places, np.int64) - places[0]
        # Of a word by itself, as king's or l'avion, what is dropped of it may be missing.
        dropped = dropped_words(leaf.text, places, analyzer) if phrase else ()
        exact = tuple(_exact_terms(word, snapshot) for word, _ in dropped)
        dropped = tuple((analyzer.folded(word), offset) for word, offset in dropped)
        if len(placed) == 1 and not dropped:
            # A word by itself matches what it finds: compounds, and what has other accents.
            found.append(_either(snapshot.find_terms([*terms_asked(leaf.text, snapshot)])))
            continue
        either = [(term, *accented_terms(words[at], snapshot)) for term, at in placed]
        made = Leaf(
            nothing, offsets, dropped=dropped, exact=exact, spellings=prod(map(len, either))
        )
        for terms in islice(spellings(either), MOST_SPELLINGS):
            found.append(made._replace(terms=snapshot.find_terms(terms)))
    spelled = [] if all(readings) else analyzer.exact(leaf.text)
    if spelled and snapshot.has_field(EXACT):
        pattern = exact_pattern(leaf.text.casefold().split())
        numbers = snapshot.find_terms(spelled)
        exact = tuple(numbers[i : i + 1] for i in range(len(spelled)))
        found.append(Leaf(nothing, nothing, exact=exact, pattern=pattern))
    return found


def spellings(either: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Give the ways to take one of each, the first of each first, then those of fewest others."""
    for n_others in range(len(either) + 1):
        for others in combinations(range(len(either)), n_others):
            yield from product(
                *(one[1:] if i in others else one[:1] for i, one in enumerate(either))
            )


def _exact_terms(word: str, snapshot: Snapshot) -> Ints:
    """Give the numbers of a dropped word, however it is accented."""
    return snapshot.find_terms(sorted(snapshot.analyzer.dropped_like(word)))


def _either(terms: Ints) -> Leaf:
    return Leaf(terms, np.zeros(len(terms), np.int64), either=True)


class _Matching:
    """Evaluates a tree on one segment."""

    def __init__(
        self, snapshot: Snapshot, segment: Segment, base: int, leaves: dict[Match, list[Leaf]]
    ) -> None:
        self._snapshot, self._segment, self._base = snapshot, segment, base
        self._leaves = leaves
        # Of phrases with dropped words, the documents that may have them; what was found in these.
        self.unread: dict[Match, Ints] = {}

    def n_words(self, docs: Ints) -> int:
        """Count the words of documents, as far as they were indexed in any way."""
        fields = (self._segment.words(field) for field in (MAIN, EXACT))
        return sum(int(words.lengths[docs].sum(dtype=np.int64)) for words in fields)

    def mask(
        self,
        match: Match,
        within: Bools | None,
        read: Collection[Match] | None = None,
        *,
        negated: bool = False,
    ) -> Bools | None:
        """Mark the documents that match; None: the part says nothing.

        Only those of `within` are asked for; others may be marked or not. Of the phrases in `read`
        the texts are read; None: it is noted how many would have to be. Of other phrases with
        dropped words every document that may have one matches, but where it is `negated` none
        does: nothing is left out that need not be.
        """
        if match.kind == "not":
            inside = self.mask(match.parts[0], within, read, negated=not negated)
            return None if inside is None else ~inside
        if match.kind == "any":
            parts = [self.mask(part, within, read, negated=negated) for part in match.parts]
            known = [part for part in parts if part is not None]
            return np.logical_or.reduce(known) if known else None
        if match.kind == "all":
            met: Bools | None = None
            # What takes no positions goes first and narrows down what does.
            for part in sorted(match.parts, key=_cost):
                inside = self.mask(part, within, read, negated=negated)
                if inside is not None:
                    met = inside if met is None else met & inside
                    within = met if within is None else within & met
            return met
        leaves = self._leaves[match]
        readings = [self._leaf(match, leaf, within, read, negated) for leaf in leaves]
        return np.logical_or.reduce(readings) if readings else None

    def _leaf(
        self,
        match: Match,
        leaf: Leaf,
        within: Bools | None,
        read: Collection[Match] | None,
        negated: bool,
    ) -> Bools:
        titles, has_titles = bool(match.field), TITLE in self._segment.word_fields
        field = TITLE if titles and has_titles else MAIN
        having = self._having(leaf, field)
        single = leaf.either or (len(leaf.terms) == 1 and not leaf.exact)
        single |= not titles and not len(leaf.terms) and len(leaf.exact) == 1
        if having is None or (single and (not titles or has_titles)):
            return np.zeros(self._segment.n_docs, np.bool_) if having is None else having
        docs = np.flatnonzero(having if within is None else having & within)
        in_texts = bool(leaf.exact) and not titles
        found = np.zeros(self._segment.n_docs, np.bool_)
        reads = in_texts and read is not None and match in read
        if in_texts and read is not None and not reads and negated:
            return found
        for first in range(0, len(docs), _DOCS_AT_ONCE):
            some = docs[first : first + _DOCS_AT_ONCE]
            found[some[self._look(match, leaf, some, reads)]] = True
        if in_texts and read is None:
            before = self.unread.get(match, docs[:0])
            self.unread[match] = np.union1d(before, np.flatnonzero(found))
        return found

    def _having(self, leaf: Leaf, field: str) -> Bools | None:
        """Mark the documents that have the words of a leaf somewhere; None: there is none."""
        postings = self._segment.words(field).postings
        rows = find_rows(postings.terms, np.unique(leaf.terms))
        if leaf.either:
            return self._marked(postings, rows[rows >= 0])
        if (rows < 0).any():
            return None
        marks = [self._marked(postings, rows[i : i + 1]) for i in range(len(rows))]
        if leaf.exact and EXACT in self._segment.word_fields:
            spelled = self._segment.words(EXACT).postings
            for numbers in leaf.exact:
                rows = find_rows(spelled.terms, np.unique(numbers))
                marks.append(self._marked(spelled, rows[rows >= 0]))
        return np.asarray(np.logical_and.reduce(marks), np.bool_)

    def _look(self, match: Match, leaf: Leaf, docs: Ints, read: bool) -> Bools:
        """Tell which documents have the words of a leaf where it wants them."""
        if match.field:
            titles = [card.title for card in self._segment.cards.take(docs)]
            return np.array([self._in_title(title, leaf) for title in titles], np.bool_)
        if leaf.pattern is not None:
            if not read:
                return np.ones(len(docs), np.bool_)
            texts = (content(self._segment.documents[doc]) for doc in docs.tolist())
            has = [leaf.pattern.search(text.casefold()) is not None for text in texts]
            return np.array(has, np.bool_)
        if len(leaf.terms) == 1 and not read:
            return np.ones(len(docs), np.bool_)
        distinct, columns = np.unique(leaf.terms, return_inverse=True)
        places = self._snapshot.positions(docs + self._base, distinct)
        rows, starts = find_phrases(
            places.bounds, places.values, columns, leaf.offsets, len(distinct)
        )
        found = np.zeros(len(docs), np.bool_)
        found[rows] = True
        if read and len(rows):
            there, firsts = np.unique(rows, return_index=True)
            pieces = np.split(starts, firsts[1:])
            analyzer = self._snapshot.analyzer
            found[there] = read_phrases(self._segment, docs[there], pieces, leaf.dropped, analyzer)
        return found

    def _in_title(self, title: str, leaf: Leaf) -> bool:
        if leaf.pattern is not None:
            return leaf.pattern.search(title.casefold()) is not None
        analyzer = self._snapshot.analyzer
        placed = analyzer.placed(title)
        numbers = self._snapshot.find_terms([term for term, _ in placed]).tolist()
        if leaf.either:
            return not {*leaf.terms.tolist()}.isdisjoint(numbers)
        there = {(number, at) for number, (_, at) in zip(numbers, placed, strict=True)}
        wanted = [*zip(leaf.terms.tolist(), leaf.offsets.tolist(), strict=True)]
        [words] = analyzer.words([title])
        return any(
            all((term, at + offset) in there for term, offset in wanted)
            and stands_in(words, at, leaf.dropped, analyzer)
            for _, at in there
        )

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

"""Which words and passages of texts give a score: sentences, by what their words carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Int, Ints, kernel
from likewise.records import Mark, Passage, WordShares
from likewise.text.analysis import Analyzer, encode, split_words
from likewise.text.tokens import find_tokens

PASSAGES = 3
# A longer sentence (a table, a list, code) is cut where a word begins.
_LONGEST = 320
_MOST_KNOWN = 100_000


class TermNumbers:
    """The numbers of the terms of words, as a collection has them; a word is looked up once.

    Terms that the collection never had are left out.
    """

    def __init__(self, analyzer: Analyzer, find_terms: Callable[[Sequence[str]], Ints]) -> None:
        self._analyzer = analyzer
        self._find_terms = find_terms
        self._known: dict[bytes, tuple[int, ...]] = {}

    @classmethod
    def of(cls, snapshot: Snapshot) -> TermNumbers:
        """Give those of a collection."""
        return snapshot.memo("term numbers", lambda: cls(snapshot.analyzer, snapshot.find_terms))

    def __call__(self, words: Sequence[bytes]) -> list[tuple[int, ...]]:
        """Give the numbers of the terms of each word."""
        known = self._known
        if len(known) > _MOST_KNOWN:
            # Another thread may be reading the table: it is replaced, not emptied.
            known = self._known = {}
        new = [word for word in words if word not in known]
        if new:
            terms = self._analyzer.terms_of(new)
            numbers = iter(self._find_terms([term for its in terms for term in its]).tolist())
            for word, its in zip(new, terms, strict=True):
                found = [next(numbers) for _ in its]
                known[word] = tuple(number for number in found if number >= 0)
        return [known[word] for word in words]


class TextWords:
    """The words of some texts, by the numbers of their terms."""

    def __init__(self, texts: Sequence[str], analyzer: Analyzer, numbers: TermNumbers) -> None:
        # What cannot be encoded is shown as it is read.
        self.texts = [text if text.isascii() else encode(text).decode() for text in texts]
        self._tokens = find_tokens(self.texts, analyzer)
        self._numbers = numbers(self._tokens.spelt)
        sizes = np.fromiter(map(len, self._numbers), np.int64, len(self._numbers))
        self._firsts = np.cumsum(sizes) - sizes
        self._sizes = sizes
        self._terms = np.fromiter(
            (number for its in self._numbers for number in its), np.int64, int(sizes.sum())
        )

    def _terms_in(self, tokens: Ints) -> tuple[Ints, Ints]:
        """Give the terms of tokens, and the token of each."""
        words = self._tokens.words[tokens]
        sizes = self._sizes[words]
        owners = np.repeat(np.arange(len(tokens)), sizes)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self._terms[self._firsts[words][owners] + within], owners

    # Surface forms

    @cached_property
    def _surfaces(self) -> tuple[Ints, Ints]:
        """The commonest word of each term in each text: keys of both, and the words' numbers."""
        n_words, n_terms = len(self._numbers), self._n_terms
        texts = np.repeat(np.arange(len(self.texts)), np.diff(self._tokens.bounds))
        pairs, amounts = np.unique(texts * n_words + self._tokens.words, return_counts=True)
        words = pairs % max(n_words, 1)
        sizes = self._sizes[words]
        owners = np.repeat(np.arange(len(pairs)), sizes)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        terms = self._terms[self._firsts[words][owners] + within]
        keys = (pairs // max(n_words, 1))[owners] * n_terms + terms
        ranks = np.empty(n_words, np.int64)
        ranks[sorted(range(n_words), key=self._tokens.spelt.__getitem__)] = np.arange(n_words)
        order = np.lexsort((ranks[words[owners]], -amounts[owners], keys))
        first = np.ones(len(order), np.bool_)
        first[1:] = np.diff(keys[order]) > 0
        best = order[first]
        return keys[best], words[owners[best]]

    @cached_property
    def _n_terms(self) -> int:
        return int(self._terms.max(initial=0)) + 1

    def surfaces(self, texts: Ints, terms: Ints) -> list[str]:
        """Give the commonest word of each text that stands for a term; "" where it has none."""
        keys, words = self._surfaces
        if not len(keys):
            return [""] * len(terms)
        wanted = np.where(terms < self._n_terms, texts * self._n_terms + terms, -1)
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = np.where(keys[places] == wanted, words[places], -1)
        return [
            self._form(word, term) if word >= 0 else ""
            for word, term in zip(found.tolist(), terms.tolist(), strict=True)
        ]

    def _form(self, word: int, term: int) -> str:
        spelt = self._tokens.spelt[word]
        if spelt.isascii():
            return spelt.decode()
        forms, numbers = split_words(spelt.decode()), self._numbers[word]
        return forms[numbers.index(term)] if len(forms) == len(numbers) else ""

    # Marks

    def marks(self, text: int, shares: WordShares) -> list[Mark]:
        """Find the words of a text that give something."""
        first, last = self._tokens.bounds[text : text + 2].tolist()
        return self._marks(np.arange(first, last), shares, 0, len(self.texts[text]))

    def _marks(self, tokens: Ints, shares: WordShares, start: int, stop: int) -> list[Mark]:
        terms, owners = self._terms_in(tokens)
        there, places = _find(terms, shares)
        owners = owners[there]
        starts = self._tokens.starts[tokens[owners]] - start
        stops = np.minimum(self._tokens.stops[tokens[owners]], stop) - start
        given = (shares.specific[places], shares.dense[places], shares.topics[places])
        found: list[Mark] = []
        last = -1
        for owner, *values in zip(
            owners.tolist(), *(each.tolist() for each in (starts, stops, *given)), strict=True
        ):
            mark = Mark(*values)
            if owner == last:
                # A word of several terms gives what they give, most by the strongest of them.
                before = found.pop()
                mark = mark._replace(
                    specific=before.specific + mark.specific,
                    dense=before.dense + mark.dense,
                    topic=max((before, mark), key=lambda one: abs(one.dense)).topic,
                )
            found.append(mark)
            last = owner
        return found

    # Passages

    def passages(
        self, text: int, shares: WordShares, *, n: int = PASSAGES, skip: int = 0
    ) -> tuple[Passage, ...]:
        """Choose at most n passages of a text, the one that gives most first.

        Each is chosen for the terms that those before it do not have, so that they do not say the
        same. Passages that begin before `skip` (a title, which is shown anyway) are left out if
        there are others.
        """
        whole, tokens = self.texts[text], self._tokens
        ends = tokens.ends[slice(*tokens.sentence_bounds[text : text + 2].tolist())]
        pieces = [*_pieces(whole, ends.tolist())]
        mine = slice(*tokens.bounds[text : text + 2].tolist())
        totals, chosen = choose_pieces(
            (tokens.starts[mine], tokens.words[mine]),
            (self._firsts, self._sizes, self._terms),
            (shares.terms, shares.specific + shares.dense),
            np.array([piece[0] for piece in pieces], np.int64),
            skip,
            n,
        )
        scores = totals.tolist()
        return tuple(
            Passage(
                pieces[i][0],
                whole[slice(*pieces[i])],
                scores[i],
                partial(self._marks_within, mine, shares, *pieces[i]),
            )
            for i in sorted(chosen.tolist(), key=lambda i: -scores[i])
        )

    def _marks_within(self, mine: slice, shares: WordShares, start: int, stop: int) -> list[Mark]:
        first, last = np.searchsorted(self._tokens.starts[mine], [start, stop]).tolist()
        return self._marks(mine.start + np.arange(first, last), shares, start, stop)


def _find(terms: Ints, shares: WordShares) -> tuple[Ints, Ints]:
    """Tell which terms give something, and where these are."""
    if not len(shares.terms):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    places = np.minimum(np.searchsorted(shares.terms, terms), len(shares.terms) - 1)
    there = np.flatnonzero(shares.terms[places] == terms)
    return there, places[there]


def _pieces(text: str, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Give the sentences of a text without space around them, those that are too long in pieces."""
    start = 0
    for stop in ends:
        while stop - start > _LONGEST:
            # A clause's end in the second half is better than a space farther on.
            middle, last = start + _LONGEST // 2, start + _LONGEST
            cuts = [1 + text.rfind(end, middle, last) for end in "\n;:,"]
            end = max(cuts) or 1 + text.rfind(" ", start + 1, last) or last
            yield _stripped(text, start, end)
            start = end
        yield _stripped(text, start, stop)
        start = stop


def _stripped(text: str, start: int, stop: int) -> tuple[int, int]:
    piece = text[start:stop]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, max(begin, start + len(piece.rstrip()))


@kernel
def choose_pieces(
    tokens: tuple[Ints, Ints],
    words: tuple[Ints, Ints, Ints],
    shares: tuple[Ints, Doubles],
    begins: Ints,
    skip: Int,
    n: Int,
) -> tuple[Doubles, Ints]:
    """Score the pieces of a text by their distinct terms, and choose some of them.

    `tokens` are where words begin, and their numbers; word w has the terms
    `terms[firsts[w]:firsts[w] + sizes[w]]`. A total equals the sum of the scores of a piece's
    distinct terms, as they come; the next that is chosen is `np.argmax` of the sums over those that
    the chosen ones do not have, while that is above nothing.
    """
    starts, numbers = tokens
    firsts, sizes, terms = words
    known, scores = shares
    n_pieces = len(begins)
    totals = np.zeros(n_pieces)
    chosen = np.empty(n, np.int64)
    room = np.int64(0)
    for word in numbers:
        room += sizes[word]
    pieces, places = np.empty(room, np.int64), np.empty(room, np.int64)
    last = np.full(len(known), -1, np.int64)
    piece = n_found = np.int64(0)
    for j in range(len(starts)):
        while piece + 1 < n_pieces and begins[piece + 1] <= starts[j]:
            piece += 1
        word = numbers[j]
        for t in range(firsts[word], firsts[word] + sizes[word]):
            place = np.searchsorted(known, terms[t])
            if place < len(known) and known[place] == terms[t] and last[place] != piece:
                last[place] = piece
                totals[piece] += scores[place]
                pieces[n_found], places[n_found] = piece, place
                n_found += 1
    left = totals > 0
    after = left & (begins >= skip)
    if after.any():
        left = after
    seen = np.zeros(len(known), np.bool_)
    n_chosen = 0
    while n_chosen < n:
        gains = np.zeros(n_pieces)
        for i in range(n_found):
            if not seen[places[i]]:
                gains[pieces[i]] += scores[places[i]]
        best = -1
        for i in range(n_pieces):
            if left[i] and gains[i] > 0 and (best < 0 or gains[i] > gains[best]):
                best = i
        if best < 0:
            break
        chosen[n_chosen] = best
        n_chosen += 1
        left[best] = False
        for i in range(n_found):
            if pieces[i] == best:
                seen[places[i]] = True
    return totals, chosen[:n_chosen]

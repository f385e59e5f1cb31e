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
        self._known_pieces: dict[int, tuple[list[tuple[int, int]], Ints]] = {}

    @property
    def _terms_of(self) -> tuple[Ints, Ints, Ints]:
        """The terms of words: where those of each begin, how many, and all of them."""
        return self._firsts, self._sizes, self._terms

    # Surface forms

    @cached_property
    def _ranks(self) -> Ints:
        """The places of words in the alphabet."""
        spelt = self._tokens.spelt
        ranks = np.empty(len(spelt), np.int64)
        ranks[sorted(range(len(spelt)), key=spelt.__getitem__)] = np.arange(len(spelt))
        return ranks

    @cached_property
    def _forms(self) -> list[str]:
        """Words as they are shown; those that may be several are told by their terms."""
        return [word.decode() if word.isascii() else "" for word in self._tokens.spelt]

    def surfaces(self, texts: Ints, terms: Ints) -> list[str]:
        """Give the commonest word of each text that stands for a term; "" where it has none."""
        if not len(terms):
            return []
        n_terms = int(terms.max()) + 1
        keys, places = np.unique(texts * n_terms + terms, return_inverse=True)
        bounds = np.searchsorted(keys, np.arange(len(self.texts) + 1) * n_terms)
        words = choose_words(
            (self._tokens.bounds, self._tokens.words),
            self._terms_of,
            self._ranks,
            (bounds, keys % n_terms),
        )
        forms = self._forms
        return [
            (forms[word] or self._form(word, term)) if word >= 0 else ""
            for word, term in zip(words[places].tolist(), terms.tolist(), strict=True)
        ]

    def _form(self, word: int, term: int) -> str:
        forms, numbers = split_words(self._tokens.spelt[word].decode()), self._numbers[word]
        return forms[numbers.index(term)] if len(forms) == len(numbers) else ""

    # Marks

    def marks(self, text: int, shares: WordShares) -> list[Mark]:
        """Find the words of a text that give something."""
        mine = slice(*self._tokens.bounds[text : text + 2].tolist())
        return self._marks_within(mine, shares, 0, len(self.texts[text]))

    def _marks_within(self, mine: slice, shares: WordShares, start: int, stop: int) -> list[Mark]:
        """Find those of a passage, given with the tokens of its text, by their places within it."""
        tokens = self._tokens
        first, last = (mine.start + np.searchsorted(tokens.starts[mine], [start, stop])).tolist()
        known = (shares.terms, shares.specific, shares.dense, shares.topics)
        found, given, topics = find_marks(tokens.words[first:last], self._terms_of, known)
        starts = tokens.starts[first:last][found] - start
        stops = np.minimum(tokens.stops[first:last][found], stop) - start
        columns = (starts, stops, given[:, 0], given[:, 1], topics)
        return [*map(Mark._make, zip(*(each.tolist() for each in columns), strict=True))]

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
        pieces, begins = self._pieces(text)
        mine = slice(*tokens.bounds[text : text + 2].tolist())
        totals, chosen = choose_pieces(
            (tokens.starts[mine], tokens.words[mine]),
            self._terms_of,
            (shares.terms, shares.specific + shares.dense),
            begins,
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

    def _pieces(self, text: int) -> tuple[list[tuple[int, int]], Ints]:
        """Give the sentences of a text, and where each begins."""
        if text not in self._known_pieces:
            tokens = self._tokens
            ends = tokens.ends[slice(*tokens.sentence_bounds[text : text + 2].tolist())]
            pieces = [*_pieces(self.texts[text], ends.tolist())]
            begins = np.array([piece[0] for piece in pieces], np.int64)
            self._known_pieces[text] = (pieces, begins)
        return self._known_pieces[text]


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
def choose_words(
    tokens: tuple[Ints, Ints],
    words: tuple[Ints, Ints, Ints],
    ranks: Ints,
    wanted: tuple[Ints, Ints],
) -> Ints:
    """Choose for terms of texts the word that each is there most often as; -1 where it is not.

    `tokens` are bounds of texts and the numbers of words, `words` as for `choose_pieces`, `wanted`
    bounds of texts and their terms, ascending. Equals for each term of a text the word w that has
    it of the largest `(count, -ranks[w])`.
    """
    bounds, numbers = tokens
    firsts, sizes, terms = words
    wanted_bounds, known = wanted
    chosen, most = np.full(len(known), -1, np.int64), np.zeros(len(known), np.int64)
    counts = np.zeros(len(sizes), np.int64)
    for text in range(len(bounds) - 1):
        first, last = wanted_bounds[text], wanted_bounds[text + 1]
        if first == last:
            continue
        for j in range(bounds[text], bounds[text + 1]):
            counts[numbers[j]] += 1
        for j in range(bounds[text], bounds[text + 1]):
            word = numbers[j]
            count = counts[word]
            counts[word] = 0
            if count == 0:
                continue
            for t in range(firsts[word], firsts[word] + sizes[word]):
                place = first + np.searchsorted(known[first:last], terms[t])
                if place == last or known[place] != terms[t]:
                    continue
                best = chosen[place]
                if count > most[place] or (count == most[place] and ranks[word] < ranks[best]):
                    chosen[place], most[place] = word, count
    return chosen


@kernel
def find_marks(
    numbers: Ints, words: tuple[Ints, Ints, Ints], shares: tuple[Ints, Doubles, Doubles, Ints]
) -> tuple[Ints, Doubles, Ints]:
    """Find the tokens that give something: their places, what they give, and their topics.

    `words` are as for `choose_pieces`. Of a token's terms that are among `shares` equals the sums,
    and the topic of the term that carries most.
    """
    firsts, sizes, terms = words
    known, specific, dense, topics = shares
    tokens, chosen = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    given = np.empty((len(numbers), 2))
    n = 0
    for j in range(len(numbers)):
        word = numbers[j]
        n_found = 0
        for t in range(firsts[word], firsts[word] + sizes[word]):
            place = np.searchsorted(known, terms[t])
            if place == len(known) or known[place] != terms[t]:
                continue
            if n_found == 0:
                tokens[n], chosen[n] = j, topics[place]
                given[n, 0], given[n, 1] = specific[place], dense[place]
            else:
                if abs(dense[place]) > abs(given[n, 1]):
                    chosen[n] = topics[place]
                given[n, 0] += specific[place]
                given[n, 1] += dense[place]
            n_found += 1
        if n_found:
            n += 1
    return tokens[:n].copy(), given[:n].copy(), chosen[:n].copy()


@kernel
def merge_shares(
    carried: tuple[Ints, Doubles, Ints], words: tuple[Ints, Doubles]
) -> tuple[Ints, Doubles, Doubles, Ints]:
    """Merge what terms carry of vectors with what they give as words: terms, both, and topics.

    Both come by term. Equals a sum by term, without those that give nothing; a term that carries
    nothing of vectors has the topic -1.
    """
    dense_terms, dense_scores, dense_topics = carried
    word_terms, word_scores = words
    room = len(dense_terms) + len(word_terms)
    terms, topics = np.empty(room, np.int64), np.empty(room, np.int64)
    specific, dense = np.empty(room), np.empty(room)
    i, j, n = 0, 0, 0
    while i < len(dense_terms) or j < len(word_terms):
        left = j == len(word_terms) or (i < len(dense_terms) and dense_terms[i] <= word_terms[j])
        right = i == len(dense_terms) or (j < len(word_terms) and word_terms[j] <= dense_terms[i])
        specific[n], dense[n], topics[n] = 0.0, 0.0, -1
        if left:
            terms[n], dense[n], topics[n] = dense_terms[i], dense_scores[i], dense_topics[i]
            i += 1
        if right:
            terms[n], specific[n] = word_terms[j], word_scores[j]
            j += 1
        if specific[n] != 0 or dense[n] != 0:
            n += 1
    return terms[:n].copy(), specific[:n].copy(), dense[:n].copy(), topics[:n].copy()


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

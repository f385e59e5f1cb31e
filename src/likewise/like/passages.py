"""Which words and passages of texts give a score: sentences, by what their words carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from functools import cache, partial
from itertools import count, pairwise
from typing import TypeAlias

import numpy as np

from likewise.compiled import Doubles, Int, Ints, kernel
from likewise.like.term_numbers import TermNumbers
from likewise.records import Mark, Passage, WordShares
from likewise.text.analysis import Analyzer, encode
from likewise.text.tokens import find_tokens

PASSAGES = 3
# `WordShares` end to end, and the bounds of each.
JoinedShares: TypeAlias = tuple[Ints, Ints, Doubles, Doubles, Ints]
# A longer sentence (a table, a list, code) is cut where a word begins.
_LONGEST = 320


class TextWords:
    """The words of some texts, by the numbers of their terms."""

    def __init__(self, texts: Sequence[str], analyzer: Analyzer, numbers: TermNumbers) -> None:
        # What cannot be encoded is shown as it is read.
        self.texts = [text if text.isascii() else encode(text).decode() for text in texts]
        tokens = find_tokens(self.texts, analyzer)
        words, self._known = numbers(tokens.spelled)
        self._tokens = tokens._replace(words=words[tokens.words])
        self._known_pieces: dict[int, list[tuple[int, int]]] = {}

    @property
    def _terms_of(self) -> tuple[Ints, Ints, Ints]:
        """The terms of words: where those of each begin, how many, and all of them."""
        return self._known.firsts, self._known.sizes, self._known.terms

    # Marks

    def marks(self, text: int, shares: WordShares) -> list[Mark]:
        """Find the words of a text that give something."""
        whole = np.array([[0, text, 0, len(self.texts[text])]])
        return self._marks_within(whole, joined([shares]))[0]

    def _marks_within(self, spans: Ints, shares: JoinedShares) -> list[list[Mark]]:
        """Find those of passages, by their places within each.

        A span is the place of its shares, its text, and where in that it starts and stops.
        """
        tokens = self._tokens
        bounds, places, given, topics = find_marks(
            (tokens.bounds, tokens.starts, tokens.stops, tokens.words),
            self._terms_of,
            shares,
            spans,
        )
        columns = (*places.T, *given.T, topics)
        found = [*map(Mark._make, zip(*(each.tolist() for each in columns), strict=True))]
        return [found[start:stop] for start, stop in pairwise(bounds.tolist())]

    # Passages

    def passages(
        self,
        texts: Sequence[int],
        shares: Sequence[WordShares],
        *,
        n: int = PASSAGES,
        skips: Sequence[int],
    ) -> list[tuple[Passage, ...]]:
        """Choose at most n passages of each text, the one that gives most first.

        Each is chosen for the terms that those before it do not have, so that they do not say the
        same. Passages that begin before a text's `skips` (a title, which is shown anyway) are left
        out if there are others. A text may come several times, with other shares.
        """
        if not texts:
            return []
        tokens, known = self._tokens, joined(shares)
        pieces = [self._pieces(text) for text in texts]
        begins = np.array([start for its in pieces for start, _ in its], np.int64)
        totals, chosen = choose_pieces(
            (tokens.bounds, tokens.starts, tokens.words),
            self._terms_of,
            known,
            (_bounds_of(pieces), begins),
            np.array([texts, skips]),
            n,
        )
        scores, all_pieces = totals.tolist(), [one for its in pieces for one in its]
        picked = [
            sorted([i for i in its if i >= 0], key=lambda i: -scores[i]) for its in chosen.tolist()
        ]
        spans = [
            (place, text, *all_pieces[i])
            for place, (text, its) in enumerate(zip(texts, picked, strict=True))
            for i in its
        ]
        # Marks of all are found when those of one are asked for.
        marks = cache(partial(self._marks_within, np.array(spans).reshape(-1, 4), known))
        numbers = count()
        return [
            tuple(
                Passage(
                    start := all_pieces[i][0],
                    self.texts[text][start : all_pieces[i][1]],
                    scores[i],
                    partial(_nth, marks, next(numbers)),
                )
                for i in its
            )
            for text, its in zip(texts, picked, strict=True)
        ]

    def _pieces(self, text: int) -> list[tuple[int, int]]:
        """Give the sentences of a text."""
        if text not in self._known_pieces:
            tokens = self._tokens
            ends = tokens.ends[slice(*tokens.sentence_bounds[text : text + 2].tolist())]
            self._known_pieces[text] = [*_pieces(self.texts[text], ends.tolist())]
        return self._known_pieces[text]


def joined(shares: Sequence[WordShares]) -> JoinedShares:
    """Lay what words give to several scores end to end."""
    terms, specific, dense, topics = map(np.concatenate, zip(*shares, strict=True))
    return _bounds_of([one.terms for one in shares]), terms, specific, dense, topics


def _bounds_of(pieces: Sequence[Sized]) -> Ints:
    bounds = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=bounds[1:])
    return bounds


def _nth(found: Callable[[], Sequence[Sequence[Mark]]], n: int) -> Sequence[Mark]:
    return found()[n]


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
def find_marks(
    tokens: tuple[Ints, Ints, Ints, Ints],
    words: tuple[Ints, Ints, Ints],
    shares: tuple[Ints, Ints, Doubles, Doubles, Ints],
    spans: Ints,
) -> tuple[Ints, Ints, Doubles, Ints]:
    """Find the tokens of spans that give something: their places, what they give, their topics.

    `tokens` are bounds of texts, where words begin and end, and their numbers; `words` and `spans`
    are as for `choose_pieces` and `_marks_within`. Those of span i are from `bounds[i]` to
    `bounds[i + 1]`. Of a token's terms that are among its shares equals the sums, and the topic of
    the term that carries most.
    """
    token_bounds, starts, stops, numbers = tokens
    firsts, sizes, terms = words
    share_bounds, every, specific, dense, topics = shares
    bounds = np.zeros(len(spans) + 1, np.int64)
    room = np.int64(0)
    ranges = np.empty((len(spans), 2), np.int64)
    for i in range(len(spans)):
        text = spans[i, 1]
        mine = starts[token_bounds[text] : token_bounds[text + 1]]
        ranges[i, 0] = token_bounds[text] + np.searchsorted(mine, spans[i, 2])
        ranges[i, 1] = token_bounds[text] + np.searchsorted(mine, spans[i, 3])
        room += ranges[i, 1] - ranges[i, 0]
    places, given = np.empty((room, 2), np.int64), np.empty((room, 2))
    chosen = np.empty(room, np.int64)
    n = 0
    for i in range(len(spans)):
        first = share_bounds[spans[i, 0]]
        known = every[first : share_bounds[spans[i, 0] + 1]]
        for j in range(ranges[i, 0], ranges[i, 1]):
            word = numbers[j]
            n_found = 0
            for t in range(firsts[word], firsts[word] + sizes[word]):
                place = np.searchsorted(known, terms[t])
                if place == len(known) or known[place] != terms[t]:
                    continue
                place += first
                if n_found == 0:
                    places[n, 0] = starts[j] - spans[i, 2]
                    places[n, 1] = min(stops[j], spans[i, 3]) - spans[i, 2]
                    given[n, 0], given[n, 1] = specific[place], dense[place]
                    chosen[n] = topics[place]
                else:
                    if abs(dense[place]) > abs(given[n, 1]):
                        chosen[n] = topics[place]
                    given[n, 0] += specific[place]
                    given[n, 1] += dense[place]
                n_found += 1
            if n_found:
                n += 1
        bounds[i + 1] = n
    return bounds, places[:n], given[:n], chosen[:n]


@kernel
def choose_pieces(
    tokens: tuple[Ints, Ints, Ints],
    words: tuple[Ints, Ints, Ints],
    shares: tuple[Ints, Ints, Doubles, Doubles, Ints],
    pieces: tuple[Ints, Ints],
    texts: Ints,
    n: Int,
) -> tuple[Doubles, Ints]:
    """Score the pieces of texts by their distinct terms, and choose some of each; -1 where fewer.

    `tokens` are bounds of texts, where words begin, and their numbers; word w has the terms
    `terms[firsts[w]:firsts[w] + sizes[w]]`. `texts` are their numbers and from where on pieces are
    preferred; `shares` and `pieces` (where they begin) have bounds for each of these. A total
    equals the sum of what a piece's distinct terms give, as they come; the next that is chosen is
    `np.argmax` of the sums over those that the chosen ones lack, while that is above nothing.
    """
    token_bounds, starts, numbers = tokens
    share_bounds, every, specific, dense, _ = shares
    bounds, begins = pieces
    totals = np.zeros(len(begins))
    chosen = np.full((texts.shape[1], n), -1, np.int64)
    for i in range(texts.shape[1]):
        text = texts[0, i]
        mine = slice(token_bounds[text], token_bounds[text + 1])
        its = slice(share_bounds[i], share_bounds[i + 1])
        own = slice(bounds[i], bounds[i + 1])
        _choose(
            (starts[mine], numbers[mine]),
            words,
            (every[its], specific[its] + dense[its]),
            begins[own],
            texts[1, i],
            (totals[own], chosen[i]),
        )
        for k in range(n):
            if chosen[i, k] >= 0:
                chosen[i, k] += bounds[i]
    return totals, chosen


@kernel
def _choose(
    tokens: tuple[Ints, Ints],
    words: tuple[Ints, Ints, Ints],
    shares: tuple[Ints, Doubles],
    begins: Ints,
    skip: Int,
    out: tuple[Doubles, Ints],
) -> None:
    """Score the pieces of one text, and choose some of them: see `choose_pieces`."""
    starts, numbers = tokens
    firsts, sizes, terms = words
    known, scores = shares
    totals, chosen = out
    n_pieces = len(begins)
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
    for n_chosen in range(len(chosen)):
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
        left[best] = False
        for i in range(n_found):
            if pieces[i] == best:
                seen[places[i]] = True

"""The terms of texts in several languages: each text is analysed in its own.

On its way into a collection a chunk carries the language of its text, as two bytes after it that
no UTF-8 text has; a chunk without is analysed in each of the main languages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import accumulate, groupby

import numpy as np

from likewise.compiled import Ints
from likewise.text.analysis import Analysis, Analyzer, Resolved, encode
from likewise.text.chunks import Chunks
from likewise.text.detection import CERTAIN, detect, names
from likewise.text.table import Strings

_MARK = 0xFF
# A text whose language is not certain is analysed in so many of the collection's.
MAIN_LANGUAGES = 4


class MixedAnalyzer(Analyzer):
    """Turns each text into terms by the analysis of its own language, where that is certain.

    Else, as most queries are too short to tell, by those of the main languages and the likeliest
    one: the terms of all of them.
    """

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(_of(analysis, analysis.language))
        self.mixed = analysis
        self._by_language: dict[str, Analyzer] = {}
        self._with: dict[str, MixedAnalyzer] = {}
        self._main = tuple(map(self._analyzer, analysis.languages[:MAIN_LANGUAGES]))

    def languages_of(self, texts: Sequence[bytes]) -> list[str]:
        """Give the language of each document: its own where that is certain, else the main one."""
        found = detect(texts)
        known, main = names(), self.mixed.language
        pairs = zip(found.languages.tolist(), found.margins.tolist(), strict=True)
        return [known[i] if margin >= CERTAIN else main for i, margin in pairs]

    def marked(self, chunks: Chunks, languages: Sequence[str]) -> Chunks:
        """Give the chunks of texts with the language of each."""
        numbers = np.array([_number(one) for one in languages], np.int64)
        return mark_languages(chunks, numbers)

    def terms(self, text: str) -> list[str]:
        """List the terms of a text in their order."""
        own = self._own(text)
        return own.terms(text) if own else super().terms(text)

    def placed(self, text: str) -> list[tuple[str, int]]:
        """List the terms of a text with their positions, at which dropped words count."""
        own = self._own(text)
        return own.placed(text) if own else super().placed(text)

    @property
    def stems_accents(self) -> bool:
        """Whether a stem may depend on accents that are folded only after it."""
        return any(one.stems_accents for one in self._main)

    def dropped_like(self, word: str) -> set[str]:
        """Give a dropped word, and those of stop lists that differ from it by accents alone."""
        return set[str]().union(*(one.dropped_like(word) for one in self._main))

    def of_text(self, text: str) -> Analyzer:
        """Give the analyzer of a text by itself: that of its language, or of the likeliest ones."""
        return self._own(text) or self

    def readings(self, text: str) -> list[list[tuple[str, int]]]:
        """List the ways in which a text may be analysed: in its language, or in each main one."""
        if own := self._own(text):
            return own.readings(text)
        found: list[list[tuple[str, int]]] = []
        for analyzer in self._main:
            placed = analyzer.placed(text)
            if placed not in found:
                found.append(placed)
        return found

    def exact(self, text: str) -> list[str]:
        """List the words of a text that are not terms as they are spelled."""
        own = self._own(text)
        return own.exact(text) if own else super().exact(text)

    def resolve_all(self, chunks: Sequence[bytes]) -> Resolved:
        """Work out the terms and exact forms of distinct chunks, each in its language."""
        out = Resolved([], [], [], [], [], [])
        for mark, run in groupby(chunks, _mark_of):
            mine = [chunk[:-2] if mark >= 0 else chunk for chunk in run]
            if mark >= 0:
                language = names()[mark] if mark < len(names()) else self.mixed.language
                found = self._analyzer(language).resolve_all(mine)
            else:
                found = _union([one.resolve_all(mine) for one in self._main])
            _extend(out, found)
        return out

    def _terms_of_new(self, chunks: Sequence[bytes]) -> dict[bytes, list[str]]:
        """Work out the terms of distinct chunks, in the main languages."""
        return self._resolved_terms(chunks)

    def _own(self, text: str) -> Analyzer | None:
        """Give the analyzer of a text's language, where that is certain.

        Else one with the likeliest of the collection's languages, where that is no main one.
        """
        [likeliest], [margin] = detect([encode(text)])
        if margin >= CERTAIN:
            return self._analyzer(names()[int(likeliest)])
        language, languages = names()[int(likeliest)], self.mixed.languages
        if likeliest < 0 or language not in languages[MAIN_LANGUAGES:]:
            return None
        if language not in self._with:
            some = (language, *languages[: MAIN_LANGUAGES - 1])
            self._with[language] = MixedAnalyzer(dataclasses.replace(self.mixed, languages=some))
        return self._with[language]

    def _analyzer(self, language: str) -> Analyzer:
        if language not in self._by_language:
            self._by_language[language] = Analyzer(_of(self.mixed, language))
        return self._by_language[language]


def mark_languages(chunks: Chunks, languages: Ints) -> Chunks:
    """Give chunks with the number of the language that each text is in."""
    n_distinct = max(chunks.distinct.size, 1)
    of_tokens = np.repeat(languages, np.diff(chunks.token_bounds))
    keys, tokens = np.unique(of_tokens * n_distinct + chunks.tokens, return_inverse=True)
    distinct = chunks.distinct.take(keys % n_distinct).all()
    marks = (keys // n_distinct).tolist()
    marked = [one + bytes((_MARK, mark)) for one, mark in zip(distinct, marks, strict=True)]
    return chunks._replace(tokens=tokens.astype(np.int32), distinct=Strings.of(marked))


def _mark_of(chunk: bytes) -> int:
    return chunk[-1] if len(chunk) > 1 and chunk[-2] == _MARK else -1


def _number(language: str) -> int:
    """Number a language; one that is never detected, as a main one may be, is past the last."""
    return names().index(language) if language in names() else len(names())


def _of(analysis: Analysis, language: str) -> Analysis:
    return dataclasses.replace(analysis, language=language, languages=())


def _union(several: Sequence[Resolved]) -> Resolved:
    """Join what chunks come to in several languages: each term of a word once."""
    out = Resolved([], several[0].widths, [], [], [], [])
    bounds = [(_bounds(one.sizes), _bounds(one.exact_sizes)) for one in several]
    for i in range(len(out.widths)):
        terms: dict[tuple[int, str], None] = {}
        exact: dict[str, None] = {}
        for one, (mine, spelled) in zip(several, bounds, strict=True):
            rows = range(mine[i], mine[i + 1])
            terms |= dict.fromkeys((one.places[j], one.terms[j]) for j in rows)
            exact |= dict.fromkeys(one.exact[spelled[i] : spelled[i + 1]])
        for place, term in terms:
            out.places.append(place)
            out.terms.append(term)
        out.sizes.append(len(terms))
        out.exact.extend(exact)
        out.exact_sizes.append(len(exact))
    return out


def _extend(whole: Resolved, more: Resolved) -> None:
    numbers = (whole.sizes, more.sizes), (whole.widths, more.widths), (whole.places, more.places)
    for mine, its in (*numbers, (whole.exact_sizes, more.exact_sizes)):
        mine += its
    whole.terms.extend(more.terms)
    whole.exact.extend(more.exact)


def _bounds(sizes: Sequence[int]) -> list[int]:
    return [0, *accumulate(sizes)]

"""Which longer terms have a word of a query as a part: compounds, and pairs of characters?

"Versicherung" is to find "Krankenversicherungsbeiträge", and a single Chinese character the pairs
that such text is indexed by. Such terms count for less than the word itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.collection.vocabulary import terms_with
from likewise.records import Part, in_order
from likewise.stages.recent import Recent
from likewise.text.analysis import is_unspaced

# Letters that join the parts of a compound, by language, the longest first.
LINKS: Mapping[str, tuple[str, ...]] = {
    "german": ("ens", "es", "en", "er", "s", "n", "e"),
    "dutch": ("en", "er", "s", "e"),
    "swedish": ("s", "e", "o", "u", "a"),
    "danish": ("s", "e"),
    "norwegian": ("s", "e"),
    "finnish": ("n",),
}
# A part has at least so many letters, and so has what is left of a compound, unless it is a term.
LEAST_PART, LEAST_REST = 5, 4
# Compounds of one word, the most frequent ones; pairs of one character.
MOST_COMPOUNDS, MOST_PAIRS = 50, 200
# What the word of a compound counts for beside the word itself.
WEIGHT = 0.5
_KEPT, _AT_ONCE = 1000, 256


def with_compounds(terms: Mapping[str, float], snapshot: Snapshot) -> Mapping[str, float]:
    """Give the terms of a typed query and, at less weight, those that they are parts of."""
    links = _links(snapshot.languages)
    asked = [term for term in terms if _is_part(term, links)]
    if not asked:
        return terms
    known = snapshot.memo("compounds", lambda: Compounds(snapshot, links))
    found: dict[str, float] = dict(terms)
    for term in asked:
        for longer, weight in known.of(term).items():
            if longer not in terms:
                found[longer] = max(found.get(longer, 0.0), terms[term] * weight)
    return found


def weights_beside(
    doc_freq: int, others: Mapping[str, int], n_docs: int, *, at_most: float
) -> dict[str, float]:
    """Weigh the terms that a word finds beside its own, given by their documents.

    A rarer one counts as if it were as frequent as the word, or as all of them where the word is
    not there: by the weights of BM25, by which nearly all is ranked.
    """

    def rarity(n: int) -> float:
        n = min(n, n_docs)
        return math.log1p((n_docs - n + 0.5) / (n + 0.5))

    own = rarity(doc_freq or sum(others.values()))
    return {term: at_most * min(own / rarity(n), 1.0) for term, n in others.items()}


def part_of(term: str, typed: Iterable[str], snapshot: Snapshot) -> str:
    """Give the word of a query that a term was taken in for; nothing where it was not."""
    links = _links(snapshot.languages)
    held = (word for word in typed if word in term and word != term and _is_part(word, links))
    return max(held, key=len, default="")


def sum_compounds(parts: Iterable[Part], typed: Sequence[str], snapshot: Snapshot) -> list[Part]:
    """Put what compounds give to a score under the words of a query that they were taken in for."""
    found: list[Part] = []
    under: dict[str, list[Part]] = {}
    for part in parts:
        term = part.name if part.kind == "word" else ""
        word = term if term in typed else part_of(term, typed, snapshot)
        if term and word:
            under.setdefault(word, []).append(part)
        else:
            found.append(part)
    for word, mine in under.items():
        alone = len(mine) == 1 and mine[0].name == word
        total = sum(part.score for part in mine)
        found.append(mine[0] if alone else Part("word", word, total, in_order(mine)))
    return found


@lru_cache(maxsize=16)
def _links(languages: tuple[str, ...]) -> tuple[str, ...]:
    """Give the letters that join parts in languages, the longest first; none: no compounds."""
    found = {link for language in languages for link in LINKS.get(language, ())}
    return tuple(sorted(found, key=lambda link: (-len(link), link)))


def _is_part(term: str, links: tuple[str, ...]) -> bool:
    if len(term) == 1:
        return is_unspaced(ord(term))
    return bool(links) and len(term) >= LEAST_PART and term.isalpha()


class Compounds:
    """The terms of a snapshot that hold a word, with their weights; those asked last are kept."""

    def __init__(self, snapshot: Snapshot, links: tuple[str, ...]) -> None:
        self._snapshot = snapshot
        self._links = links
        self._found: Recent[str, dict[str, float]] = Recent(most=_KEPT)

    def of(self, part: str) -> dict[str, float]:
        """Give the terms that hold a word as a part, the most frequent ones, and their weights."""
        return self._found.of(part, self._find)

    def _find(self, part: str) -> dict[str, float]:
        snapshot, single = self._snapshot, len(part) == 1
        numbers = terms_with(snapshot, part)
        doc_freqs, term_freqs = snapshot.frequencies(numbers)
        there = np.flatnonzero(snapshot.admitted(doc_freqs, term_freqs))
        # The most frequent first, of equals the one that came first.
        there = there[np.argsort(-doc_freqs[there], kind="stable")]
        most = MOST_PAIRS if single else MOST_COMPOUNDS
        found: dict[str, int] = {}
        for start in range(0, len(there), _AT_ONCE):
            rows = there[start : start + _AT_ONCE]
            names = snapshot.terms(numbers[rows])
            held = dict(zip(names, doc_freqs[rows].tolist(), strict=True))
            held.pop(part, None)
            found |= held if single else {name: held[name] for name in self._compounds(part, held)}
            if len(found) >= most:
                break
        kept = dict([*found.items()][:most])
        own = 0 if single else int(snapshot.frequencies(snapshot.find_terms([part]))[0][0])
        return weights_beside(own, kept, snapshot.n_docs, at_most=1.0 if single else WEIGHT)

    def _compounds(self, part: str, names: Iterable[str]) -> list[str]:
        """Keep the terms in which a part is a word of a compound, not a run of letters."""
        rests = {name: self._rests(part, name) for name in names}
        asked = sorted({rest for found in rests.values() for pair in found for rest in pair})
        doc_freqs, _ = self._snapshot.frequencies(self._snapshot.find_terms(asked))
        known = dict(zip(asked, (doc_freqs > 0).tolist(), strict=True))

        def is_word(rest: str) -> bool:
            return not rest or len(rest) >= LEAST_REST or known[rest]

        return [
            name
            for name, found in rests.items()
            if any(is_word(before) and is_word(after) for before, after in found)
        ]

    def _rests(self, part: str, term: str) -> list[tuple[str, str]]:
        """List what may stand before and after a part of a term, joining letters taken off.

        Within a term it is a part only after joining letters, at its end after any.
        """
        found = []
        at = term.find(part)
        while at >= 0:
            before, after = term[:at], term[at + len(part) :]
            joined = [before.removesuffix(link) for link in self._links if before.endswith(link)]
            if not before or not after:
                joined.append(before)
            found += [(one, after) for one in joined if one or not before]
            at = term.find(part, at + 1)
        return found

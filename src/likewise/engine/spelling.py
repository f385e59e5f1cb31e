"""Which word was meant? Words of the collection in place of those that it does not have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from likewise.collection.snapshot import Snapshot
from likewise.collection.vocabulary import count_edits, terms_near, terms_with
from likewise.collection.words import EXACT
from likewise.compiled import Ints
from likewise.models.surface_forms import readable_terms
from likewise.retrieve.models import BM25
from likewise.retrieve.words import retriever_of
from likewise.stages.match import prefix_terms
from likewise.stages.word_forms import accented_terms
from likewise.text.analysis import is_unspaced
from likewise.text.query_syntax import TypedQuery
from likewise.text.tokens import tokens_of

# Shorter words have too many others near them; longer ones may be two edits away.
LEAST_LENGTH, TWO_EDITS_FROM = 4, 6
# A word of so few documents may be a slip in them too: one that is so much commoner is offered.
RARE_DOCS, FAR_COMMONER, RARE_LENGTH = 2, 100, 5
# What an edit, and another first letter, take off the logarithm (base 2) of documents.
_EDIT, _FIRST_LETTER = 4.0, 2.0
# Of so many terms the words are looked up.
_COMPARED = 4
_BM25 = BM25()


class Spelling(NamedTuple):
    """Words of a query that no document has, and what may have been meant, word by word."""

    unknown: tuple[str, ...] = ()
    meant: Mapping[str, str] = {}

    def corrected(self, text: str, snapshot: Snapshot) -> str:
        """Give a text with what was meant in place of what was typed; "" where that is nothing."""
        if not self.meant:
            return ""
        pieces, at = [""], 0
        for start, stop, _ in tokens_of(text, snapshot.analyzer.of_text(text)):
            if text[start:stop].casefold() in self.meant:
                pieces += [text[at:start], self.meant[text[start:stop].casefold()]]
                at = stop
        return "".join([*pieces, text[at:]]) if at else ""


def check_spelling(typed: TypedQuery, snapshot: Snapshot) -> Spelling:
    """Look up the words of a query, and for unknown and very rare ones what may be meant."""
    every = [
        term
        for word in typed.words
        if not word.prefix
        for term in snapshot.analyzer.terms(word.text)
    ]
    counts = retriever_of(snapshot, _BM25).known(every)[1].tolist()
    doc_freqs = dict(zip(every, counts, strict=True))
    # Nearly always all is well: that takes a look at terms alone.
    rare = {term for term, n in doc_freqs.items() if n <= RARE_DOCS}
    if not rare and not any(word.prefix for word in typed.words):
        return Spelling()
    words: dict[str, str] = {}
    unknown: list[str] = []
    for text, _, prefix in typed.words:
        if prefix:
            if not snapshot.frequencies(prefix_terms(snapshot, text))[0].any():
                unknown.append(f"{text}*")
            continue
        for start, stop, terms in tokens_of(text, snapshot.analyzer.of_text(text)):
            if len(terms) == 1 and rare.issuperset(terms):
                words.setdefault(text[start:stop].casefold(), terms[0])
    meant: dict[str, str] = {}
    for word, term in words.items():
        if accented_terms(word, snapshot):
            continue
        if doc_freqs[term] == 0 and not _is_elsewhere(word, snapshot):
            unknown.append(word)
        near = _nearest(term, doc_freqs[term], snapshot)
        surfaces = readable_terms(snapshot, near, ()) if near else {}
        # Stems of unlike words may be alike: what was typed is compared with whole words.
        likely = sorted((count_edits(word, surfaces[one]), i) for i, one in enumerate(near))
        if likely:
            meant[word] = surfaces[near[likely[0][1]]]
    return Spelling(tuple(unknown), meant)


def _is_elsewhere(word: str, snapshot: Snapshot) -> bool:
    """Tell whether documents have a word that is no term: as it is spelled, or in a pair."""
    if len(word) == 1 and is_unspaced(ord(word)):
        return bool(snapshot.frequencies(terms_with(snapshot, word))[0].any())
    numbers = snapshot.find_terms([word])
    return snapshot.has_field(EXACT) and bool(snapshot.frequencies(numbers, EXACT)[0].any())


def _nearest(term: str, doc_freq: int, snapshot: Snapshot) -> list[str]:
    """Give the likeliest terms to be meant: near, common, and with the same first letter."""
    least = RARE_LENGTH if doc_freq else LEAST_LENGTH
    if len(term) < least or any(char.isdigit() for char in term):
        return []
    edits = 1 if doc_freq or len(term) < TWO_EDITS_FROM else 2
    numbers, distances = terms_near(snapshot, term, edits=edits)
    doc_freqs, term_freqs = snapshot.frequencies(numbers)
    common: Ints = doc_freqs * snapshot.admitted(doc_freqs, term_freqs)
    there = common > FAR_COMMONER * doc_freq
    found = zip(
        snapshot.terms(numbers[there]),
        common[there].tolist(),
        distances[there].tolist(),
        strict=True,
    )
    likely = sorted(
        (-(math.log2(n) - _EDIT * far - _FIRST_LETTER * (name[0] != term[0])), name)
        for name, n, far in found
        # Of a known word another ending is another form, not a slip.
        if not doc_freq or not (name.startswith(term) or term.startswith(name))
    )
    return [name for _, name in likely[:_COMPARED]]

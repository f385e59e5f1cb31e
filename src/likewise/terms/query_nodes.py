"""What does a text mention of a graph, in which words, and why is the rest not there?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Ints
from likewise.terms.catalogue import Stored
from likewise.terms.matching import exact_words, split_all, split_exactly
from likewise.terms.nodes import EXACT, TERMS
from likewise.terms.sets import TermSet
from likewise.text.analysis import Analysis, encode, is_unspaced, split_words
from likewise.text.chunks import cut

NOWHERE = "in no document"
RARE = "too rare"
FREQUENT = "too frequent"
NUMBER = "a number"
DROPPED = "a stop word or too short"
LONG = "too long"
NEW = "new since the graph was made"
NO_NAME = "not a name of the graph"


class Unknown(NamedTuple):
    """A word of a text, as it stands there, and why it is no node."""

    word: str
    reason: str


class Mentioned(NamedTuple):
    """What a text mentions of a graph: a set of nodes, and the words that it does not have.

    Of these the ones that the analysis drops come last: they are seldom what was asked for. Graphs
    of names do not speak of them.
    """

    members: TermSet
    unknown: tuple[Unknown, ...]


def spoken_words(text: str) -> dict[str, int]:
    """Count the words of a text letter for letter, in the order in which they first stand there.

    Chinese and Japanese are taken as pairs of characters, as terms are.
    """
    chunks = cut([encode(text)], keep_case=True)
    amounts = np.bincount(chunks.tokens, minlength=chunks.distinct.size).tolist()
    out: dict[str, int] = {}
    for chunk, amount in zip(chunks.distinct.all(), amounts, strict=True):
        for word in _words(chunk):
            out[word] = out.get(word, 0) + amount
    return out


def spellings(snapshot: Snapshot, text: str) -> dict[str, str]:
    """Map the terms of a text to the words that it says them by: the commonest, then the first."""
    return _read(snapshot, text)[0]


def find_unknown(stored: Stored, text: str, nodes: Ints) -> tuple[Unknown, ...]:
    """List the words of a text that are none of the nodes that it mentions, and say why."""
    if stored.nodes.kind != TERMS:
        return tuple(Unknown(word, NO_NAME) for word in _nameless(stored, text, nodes))
    snapshot = stored.collection
    said, dropped = _read(snapshot, text)
    known = {*stored.nodes.names(snapshot, nodes)}
    missing = [term for term in said if term not in known]
    reasons = _reasons(stored, missing)
    out = [Unknown(said[term], why) for term, why in zip(missing, reasons, strict=True)]
    return (*out, *(Unknown(word, _why_dropped(word, snapshot.analysis)) for word in dropped))


def _words(chunk: bytes) -> list[str]:
    text = chunk.decode("utf-8", "replace")
    if chunk.isascii():
        return [text]
    if any(is_unspaced(ord(char)) for char in text):
        return split_words(text)
    return exact_words(text)


def _read(snapshot: Snapshot, text: str) -> tuple[dict[str, str], list[str]]:
    """Give the words of a text by their terms, and those that have none."""
    amounts = spoken_words(text)
    said: dict[str, str] = {}
    dropped: dict[str, str] = {}
    for word, amount in amounts.items():
        terms = snapshot.analyzer.terms(word)
        if not terms:
            dropped.setdefault(word.casefold(), word)
        for term in terms:
            if amount > amounts.get(said.setdefault(term, word), 0):
                said[term] = word
    return said, [*dropped.values()]


def _nameless(stored: Stored, text: str, nodes: Ints) -> list[str]:
    """List the words that stand in none of the names mentioned."""
    snapshot = stored.collection
    names = stored.nodes.names(snapshot, nodes)
    if stored.nodes.kind == EXACT:
        covered = {word for name in names for word in split_exactly(name)}
        return [w for w in spoken_words(text) if w not in covered and snapshot.analyzer.terms(w)]
    covered = {term for its in split_all(snapshot.analyzer, names) for term in its}
    return [word for term, word in spellings(snapshot, text).items() if term not in covered]


def _reasons(stored: Stored, terms: list[str]) -> list[str]:
    """Say why terms are no nodes, as `nodes.choose_nodes` goes by the documents of today."""
    if not terms:
        return []
    snapshot, rule = stored.collection, stored.settings.filters
    numbers = snapshot.find_terms(terms)
    doc_freqs, term_freqs = snapshot.frequencies(np.maximum(numbers, 0))
    doc_freqs[numbers < 0] = 0
    analysis = snapshot.analysis
    least = max(rule.min_df, analysis.min_df)
    most = min(rule.max_df, analysis.max_df) * snapshot.n_docs
    is_full = 0 < rule.size <= len(stored.nodes)
    out = []
    for term, docs, count in zip(terms, doc_freqs.tolist(), term_freqs.tolist(), strict=True):
        if docs == 0:
            out.append(NOWHERE)
        elif term.isdigit() and not rule.numbers:
            out.append(NUMBER)
        elif docs < least or count < analysis.min_count:
            out.append(RARE)
        elif docs > most or 0 < analysis.max_count < count:
            out.append(FREQUENT)
        else:
            out.append(f"not among the most frequent {rule.size:,}" if is_full else NEW)
    return out


def _why_dropped(word: str, analysis: Analysis) -> str:
    folded = word.casefold()
    if len(folded) > analysis.max_length:
        return LONG
    return NUMBER if folded.isnumeric() and not analysis.numbers else DROPPED

"""What a person typed as a query: its terms with their weights, and what must match."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.records import Query
from likewise.retrieve.models import bm25_idf
from likewise.stages.match import prefix_terms
from likewise.stages.word_forms import terms_asked
from likewise.text.query_syntax import TypedQuery, TypedWord, parse_query

# Of a prefix so many terms are scored by, those of most documents; any of them matches.
PREFIX_TERMS = 50


def read_typed(query: Query, snapshot: Snapshot) -> tuple[Query, TypedQuery]:
    """Read the text of a query as it is typed; one that has terms or documents stays as it is."""
    if query.terms is not None or query.like or query.match is not None:
        return query, TypedQuery((TypedWord(query.text),))
    typed = parse_query(query.text, FIELDS)
    if typed.match is None and typed.words == (TypedWord(query.text),):
        return query, typed
    terms = _terms_of(typed, snapshot) if typed.weighted else None
    return query._replace(text=typed.text, terms=terms, match=typed.match), typed


def _terms_of(typed: TypedQuery, snapshot: Snapshot) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in typed.words:
        if word.prefix:
            counted: Mapping[str, float] = _group(word.text, snapshot)
        else:
            counted = terms_asked(word.text, snapshot)
        for term, count in counted.items():
            found[term] = found.get(term, 0.0) + count * word.weight
    return found


def _group(prefix: str, snapshot: Snapshot) -> dict[str, float]:
    """Give the terms of a prefix, weighted so that each counts as rare as all of them together."""
    terms = prefix_terms(snapshot, prefix)
    doc_freqs, term_freqs = snapshot.frequencies(terms)
    kept = np.flatnonzero(snapshot.admitted(doc_freqs, term_freqs))
    kept = kept[np.lexsort((terms[kept], -doc_freqs[kept]))[:PREFIX_TERMS]]
    together = np.minimum(doc_freqs[kept].sum(keepdims=True), snapshot.n_docs)
    weights = bm25_idf(snapshot.n_docs, together) / bm25_idf(snapshot.n_docs, doc_freqs[kept])
    return dict(zip(snapshot.terms(terms[kept]), weights.tolist(), strict=True))


# The fields that a word can be looked for in.
FIELDS = ("title",)

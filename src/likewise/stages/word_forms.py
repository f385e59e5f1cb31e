"""Which terms does a word of a query find? Its own, those of other accents, and its compounds.

A stem depends on accents: données comes to "don", donnees to "donne". What is typed without them,
or with others, finds what the collection has under other stems as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from likewise.collection.snapshot import Snapshot
from likewise.collection.vocabulary import terms_accented
from likewise.collection.words import EXACT
from likewise.stages.compounds import weights_beside, with_compounds
from likewise.stages.recent import Recent
from likewise.text.query_syntax import MOST_WORDS

# What a word with other accents counts for beside the word itself.
WEIGHT = 0.9
_KEPT = 1000


def terms_asked(text: str, snapshot: Snapshot) -> Mapping[str, float]:
    """Give the terms of a text with their counts, and at no more weight what else they find."""
    counts = snapshot.analyzer.counts(text)
    return with_compounds(_with_accents(text, counts, snapshot), snapshot)


def accented_terms(word: str, snapshot: Snapshot) -> Mapping[str, float]:
    """Give the terms of a word with other accents, and what each counts for beside its own."""
    if not snapshot.analyzer.stems_accents:
        return {}
    found: Recent[str, dict[str, float]]
    found = snapshot.memo("accented", lambda: Recent(most=_KEPT))
    return found.of(word, partial(_find_accented, snapshot))


def _with_accents(
    text: str, counts: Mapping[str, float], snapshot: Snapshot
) -> Mapping[str, float]:
    if not snapshot.analyzer.stems_accents:
        return counts
    [words] = snapshot.analyzer.words([text])
    if len(words) > MOST_WORDS:
        return counts
    found = dict(counts)
    for word in words:
        for term, weight in accented_terms(word, snapshot).items():
            found[term] = max(found.get(term, 0.0), weight)
    return found


def _find_accented(snapshot: Snapshot, word: str) -> dict[str, float]:
    """Give terms and weights; a rarer one counts as if it were as frequent as the word."""
    analyzer = snapshot.analyzer
    own, plain = analyzer.terms(word), analyzer.folded(word)
    if not own:
        return {}
    numbers = terms_accented(snapshot, plain)
    if len(numbers) and snapshot.has_field(EXACT):
        numbers = numbers[snapshot.frequencies(numbers, EXACT)[0] > 0]
    spelled = [one for one in snapshot.terms(numbers) if analyzer.folded(one) == plain]
    terms = dict.fromkeys(term for one in (plain, *spelled) for term in analyzer.terms(one))
    others = [term for term in terms if term not in own]
    known = snapshot.find_terms([*own, *others])
    doc_freqs = [int(n) for n in snapshot.frequencies(known.clip(0))[0] * (known >= 0)]
    mine = max(doc_freqs[: len(own)])
    found = {term: n for term, n in zip(others, doc_freqs[len(own) :], strict=True) if n > 0}
    return weights_beside(mine, found, snapshot.n_docs, at_most=WEIGHT)

"""Which word does a stem stand for? The commonest one that the documents have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from likewise.collection.build import content
from likewise.collection.postings import BLOCK, BLOCK_AT, BLOCK_MASK, START_BITS
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import find_rows
from likewise.compiled import Ints
from likewise.text.analysis import Analyzer, encode, split_words
from likewise.text.chunks import cut

_SAMPLED_BLOCKS = 128
_MOST_LOOKED_UP = 100_000
# The words of a snapshot's sample, and of terms that are not in it, while it is open.
_SAMPLED: WeakKeyDictionary[Snapshot, dict[str, str]] = WeakKeyDictionary()
_LOOKED_UP: WeakKeyDictionary[Snapshot, dict[str, str]] = WeakKeyDictionary()


def readable_terms(
    collection: Snapshot, terms: Iterable[str], texts: Iterable[str] | None = None
) -> dict[str, str]:
    """Map terms, which are stems, to the commonest word in the collection that each stands for.

    Words are counted in texts, or else in a sample of the documents; a term that is not in these
    is looked up in one document that holds it, and one that is nowhere stands for itself. So the
    word of a term does not depend on which others are asked for.
    """
    wanted = dict.fromkeys(terms)
    if texts is not None:
        found = surface_words(texts, collection.analyzer)
    else:
        if collection not in _SAMPLED:
            sample = _sampled_texts(collection)
            _SAMPLED[collection] = surface_words(sample, collection.analyzer)
        found = _SAMPLED[collection]
    missing = [term for term in wanted if term not in found]
    absent = _look_up(collection, missing) if missing else {}
    return {term: found[term] if term in found else absent[term] for term in wanted}


def _look_up(collection: Snapshot, terms: Sequence[str]) -> dict[str, str]:
    """Give the commonest word of each term in a document that holds it."""
    known = _LOOKED_UP.setdefault(collection, {})
    fresh = [term for term in terms if term not in known]
    held: dict[int, list[str]] = {}
    for term, doc in zip(fresh, _holders(collection, fresh), strict=True):
        held.setdefault(doc, []).append(term)
    found: dict[str, str] = {}
    for doc, its in sorted(held.items()):
        text = content(collection.document(doc)) if doc >= 0 else ""
        words = surface_words([text], collection.analyzer)
        found |= {term: words.get(term, term) for term in its}
    found |= {term: known[term] for term in terms if term not in found}
    if len(known) + len(fresh) > _MOST_LOOKED_UP:
        # Another thread may be reading the table: it is replaced, not emptied.
        known = _LOOKED_UP[collection] = {}
    known |= {term: found[term] for term in fresh[:_MOST_LOOKED_UP]}
    return found


def surface_words(
    texts: Iterable[str], analyzer: Analyzer, wanted: Container[str] | None = None
) -> dict[str, str]:
    """Map the terms of texts to the commonest word that gave each; ties by the alphabet.

    Only those that are wanted, if it is said which.
    """
    chunks = cut([encode(text) for text in texts])
    amounts = np.bincount(chunks.tokens, minlength=len(chunks.distinct.offsets) - 1).tolist()
    words = chunks.distinct.all()
    if not all(map(bytes.isascii, words)):
        counted: Counter[bytes] = Counter()
        for chunk, amount in zip(words, amounts, strict=True):
            inside = split_words(chunk.decode("utf-8", "replace"))
            for word in [chunk] if chunk.isascii() else map(encode, inside):
                counted[word] += amount
        words, amounts = [*counted], [*counted.values()]
    best: dict[str, bytes] = {}
    most: dict[str, int] = {}
    for word, terms, amount in zip(words, analyzer.terms_of(words), amounts, strict=True):
        # A word that is cut further is never a stem's only word.
        if len(terms) == 1 and (wanted is None or terms[0] in wanted):
            [term] = terms
            before = most.get(term, 0)
            if amount > before or (amount == before and word < best[term]):
                most[term], best[term] = amount, word
    return {term: word.decode() for term, word in best.items()}


def spaced(values: Ints, most: int) -> Ints:
    """Choose evenly spaced values, at most so many."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.int64)]


def _sampled_texts(collection: Snapshot) -> list[str]:
    blocks = [(s, b) for s in collection.segments for b in range(s.documents.n_blocks)]
    chosen = spaced(np.arange(len(blocks)), _SAMPLED_BLOCKS)
    texts = []
    for segment, block in (blocks[i] for i in chosen.tolist()):
        first, documents = segment.documents.block(block)
        live = segment.live[first : first + len(documents)].tolist()
        texts += [content(doc) for doc, alive in zip(documents, live, strict=True) if alive]
    return texts


def _holders(collection: Snapshot, terms: Sequence[str]) -> list[int]:
    """Give a document that holds each term, -1 where there is none."""
    numbers = collection.find_terms(terms)
    out = np.full(len(terms), -1, np.int64)
    for base, segment in zip(collection.bases.tolist(), collection.segments, strict=False):
        postings = segment.postings
        rows = find_rows(postings.terms, numbers)
        for i in np.flatnonzero((rows >= 0) & (out < 0)).tolist():
            entry = int(postings.entries[int(postings.heads[rows[i], 0])])
            local = (entry >> BLOCK_AT & BLOCK_MASK) * BLOCK
            local += int(postings.docs[entry >> START_BITS])
            out[i] = base + local if segment.live[local] else -1
    return [int(doc) for doc in out]

"""Which documents share buckets with this one? Random planes straight on TF-IDF vectors.

The paper's baseline of locality-sensitive hashing without a compact half. A bit of a code says on
which side of a random plane a vector lies (Charikar 2002); the entries of planes are 1 or -1, by a
hash of the seed and the term, so that a number a term is all that is stored of them.

Vectors of so many dimensions are nearly at right angles to each other, and two at right angles
share a bit with a probability of one half. On 20 Newsgroups 30 codes of 6 bits bring 39 in 100
documents into question, and to score those takes longer than a search. Of their ten best .66 are
of the same group, where a scan has .70; with 50 candidates (230 documents, as many share as many
codes) it is .40.

Weights are rounded to whole numbers, so that sums do not depend on the order of terms and codes
not on how a collection was built.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Bytes, Doubles, Ids, Int, Ints, Offsets, Shorts, kernel
from likewise.errors import UsageError
from likewise.records import Part
from likewise.retrieve.documents import ByExample, Whole, WordQuery, rank_examples
from likewise.retrieve.models import TFIDF, idf
from likewise.retrieve.question import Example
from likewise.retrieve.search import Retriever
from likewise.stages.stage import Context, Result, Stage
from likewise.text.table import hash_bytes

Hashes = NDArray[np.uint64]

_LONGEST = 16
_MOST_TABLES = 1024
_DOCS_AT_ONCE = 4096
# Weights are whole multiples of one over this.
_STEPS = 1024.0
_WORD = 64


@dataclass(frozen=True)
class Hashed(Stage):
    """Codes of `bits` bits in a number of `tables` (30 and 6 are the published ones).

    The documents that share the most codes with the query are scored by the exact cosine: at
    least `candidates`, and all that share as many as the last of them; 0: all that share one.
    """

    tables: int = 30
    bits: int = 6
    candidates: int = 50
    seed: int = 0
    notation: ClassVar[str] = "lsh-tfidf"
    log: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (1 <= self.tables <= _MOST_TABLES and 1 <= self.bits <= _LONGEST):
            raise UsageError(
                f"{self}: tables must be from 1 to {_MOST_TABLES}, bits from 1 to {_LONGEST}"
            )
        if self.candidates < 0 or self.seed < 0:
            raise UsageError(f"{self}: candidates must be 1 or more, or 0 for all; seed 0 or more")

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank for the documents of each query; earlier rankings are replaced."""
        made = context.snapshot.memo(
            ("like", self), lambda: HashedRanker(context.snapshot, self, threads=context.threads)
        )
        return rank_examples(self, made, batch, context)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0


class Buckets(NamedTuple):
    """Documents by table and code: those of code c of table t stand from `starts[t, c]` on."""

    starts: Ints
    docs: Ids


class Planes(NamedTuple):
    """What codes are made by: a hash and the idf of each term, the numbers of tables and bits."""

    hashes: Hashes
    idfs: Doubles
    tables: int
    bits: int


class HashedRanker(ByExample[WordQuery]):
    """Ranks the documents that share buckets with the one in hand by the cosine of TF-IDF."""

    def __init__(
        self, collection: Snapshot, config: Hashed = Hashed(), *, threads: int = 1
    ) -> None:
        self.collection = collection
        self.config = config
        self._whole = Whole(Retriever(collection, TFIDF()))
        self.planes = make_planes(collection, config)
        self.buckets = make_buckets(collection, self.planes, threads=threads)

    @property
    def n_bytes(self) -> int:
        """How much memory the buckets and the hashes of terms take."""
        arrays = (*self.buckets, self.planes.hashes, self.planes.idfs)
        return sum(array.nbytes for array in arrays)

    def take(self, example: Example) -> WordQuery:
        """Give the words with their counts."""
        return self._whole.take(example)

    def find(self, taken: WordQuery, n: int, allowed: Sequence[Bools | None] | None) -> Ints:
        """Find the documents that share the most codes."""
        _, terms, _, _, _ = self._whole.retriever.weigh([taken])
        if len(terms) == 0:
            return np.empty(0, np.int64)
        names = self.collection.terms(terms)
        counts = np.array([taken[name] for name in names], np.int32)
        bounds = np.array([0, len(terms)], np.int64)
        codes = codes_of(self.planes, TermCounts(bounds, terms.astype(np.int32), counts))[0]
        # Deleted documents are in no bucket.
        mask = np.empty(0, np.bool_)
        if allowed is not None:
            segments = zip(allowed, self.collection.segments, strict=True)
            mask = np.concatenate([s.live if open_ is None else open_ for open_, s in segments])
        depth = max(self.config.candidates, n) if self.config.candidates else 0
        return collect(codes, self.buckets, self.collection.n_slots, mask, depth)

    def score(self, taken: WordQuery, docs: Ints) -> Doubles:
        """Give cosines."""
        return self._whole.score(taken, docs)

    def split(self, taken: WordQuery, docs: Ints) -> list[list[Part]]:
        """Split cosines by words."""
        return self._whole.split(taken, docs)


def make_planes(collection: Snapshot, config: Hashed) -> Planes:
    """Hash the terms of a collection, by their text."""
    hashes = np.empty(collection.n_terms, np.uint64)
    for segment in collection.segments:
        first, strings = segment.entry.first_term, segment.terms
        hash_terms(*strings, config.seed, hashes[first : first + strings.size])
    doc_freqs, _ = collection.frequencies(np.arange(collection.n_terms))
    return Planes(hashes, idf(collection.n_docs, doc_freqs), config.tables, config.bits)


def make_buckets(collection: Snapshot, planes: Planes, *, threads: int = 1) -> Buckets:
    """Put the live documents that have words into the buckets of each table."""
    docs = collection.live_docs()
    codes = np.empty((len(docs), planes.tables), np.uint16)
    filled = np.empty(len(docs), np.bool_)

    def code(start: int) -> None:
        block = slice(start, start + _DOCS_AT_ONCE)
        counts = collection.term_counts(docs[block])
        codes[block], filled[block] = codes_of(planes, counts), np.diff(counts.bounds) > 0

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(code, range(0, len(docs), _DOCS_AT_ONCE)))
    starts = np.zeros((planes.tables, (1 << planes.bits) + 1), np.int64)
    rows = np.empty(planes.tables * int(filled.sum()), np.int32)
    fill_buckets(codes[filled], docs[filled].astype(np.int32), starts, rows)
    return Buckets(starts, rows)


def codes_of(planes: Planes, counts: TermCounts) -> Shorts:
    """Give the codes of documents, a row each."""
    codes = np.empty((len(counts.bounds) - 1, planes.tables), np.uint16)
    code_counts(counts, planes.hashes, planes.idfs, planes.bits, codes)
    return codes


@kernel
def mixed(z: Any) -> Any:
    """Spread the bits of a number (the last steps of splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def hash_terms(arena: Bytes, offsets: Offsets, seed: Int, out: Hashes) -> None:
    """Hash strings and a seed."""
    start = mixed(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15))
    for i in range(len(offsets) - 1):
        term = hash_bytes(arena, np.int64(offsets[i]), np.int64(offsets[i + 1]))
        out[i] = mixed(term ^ start)


@kernel
def code_counts(counted: TermCounts, hashes: Hashes, idfs: Doubles, bits: Int, out: Shorts) -> None:
    """Give the codes of documents, from their term counts.

    With `signs[term, p]` 1 or -1 by bit `p % 64` of `mixed(hashes[term] + (p // 64 + 1) γ)`, γ
    being 0x9E3779B97F4A7C15, bit b of the code of table t equals `(w @ signs[terms])[p] > 0`,
    where `p = t * bits + b` and `w = np.floor((1 + ln counts) * idfs[terms] * 1024 + 0.5)`.
    """
    bounds, terms, counts = counted
    n_tables = out.shape[1]
    n_planes = n_tables * bits
    n_words = (n_planes + _WORD - 1) // _WORD
    sums = np.empty(n_words * _WORD, np.int64)
    for i in range(len(bounds) - 1):
        sums[:] = 0
        total = np.int64(0)
        for j in range(bounds[i], bounds[i + 1]):
            size = (1.0 + np.log(np.float64(counts[j]))) * idfs[terms[j]]
            weight = np.int64(np.floor(size * _STEPS + 0.5))
            total += weight
            state = hashes[terms[j]]
            for word in range(n_words):
                state += np.uint64(0x9E3779B97F4A7C15)
                signs = mixed(state)
                for b in range(_WORD):
                    # Only the planes with a 1 are added up: the sum is twice that less all.
                    sums[word * _WORD + b] += weight * np.int64((signs >> np.uint64(b)) & 1)
        for t in range(n_tables):
            code: Int = 0
            for b in range(bits):
                code |= np.int64(2 * sums[t * bits + b] > total) << b
            out[i, t] = code


@kernel
def fill_buckets(codes: Shorts, docs: Ids, starts: Any, out: Ids) -> None:
    """Sort documents by their code in each table, by counting; equals a stable argsort of each."""
    n_docs, n_tables = codes.shape
    for t in range(n_tables):
        for i in range(n_docs):
            starts[t, np.int64(codes[i, t]) + 1] += 1
        starts[t, 0] = t * n_docs
        for c in range(starts.shape[1] - 1):
            starts[t, c + 1] += starts[t, c]
        at = starts[t].copy()
        for i in range(n_docs):
            code = np.int64(codes[i, t])
            out[at[code]] = docs[i]
            at[code] += 1


@kernel
def collect(codes: Shorts, buckets: Buckets, n_slots: Int, mask: Bools, depth: Int) -> Ints:
    """Find the documents that share the most codes: `depth`, and those that share as many.

    Where there is a mask, only what it allows; with depth 0 all that share a code. Ascending.
    """
    starts, docs = buckets
    n_tables = len(codes)
    shared = np.zeros(n_slots, np.uint16)
    for t in range(n_tables):
        code = np.int64(codes[t])
        for j in range(starts[t, code], starts[t, code + 1]):
            shared[docs[j]] += np.uint16(1)
    sizes = np.zeros(n_tables + 1, np.int64)
    for doc in range(n_slots):
        if len(mask) and not mask[doc]:
            shared[doc] = 0
        sizes[shared[doc]] += 1
    least, n = n_tables, sizes[n_tables]
    while least > 1 and (n < depth or depth == 0):
        least -= 1
        n += sizes[least]
    out = np.empty(n, np.int64)
    at = 0
    for doc in range(n_slots):
        if shared[doc] >= least:
            out[at] = doc
            at += 1
    return out

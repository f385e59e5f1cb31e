"""Models with axes: a document is its projection on them, and the words that they leave over.

A document is a vector t of length one, a weight for each of its words. With orthonormal axes V its
topical half is `z = Vᵀt`; what they leave over is `ε = t - Vz`, at right angles to them, so that
`‖z‖² + ‖ε‖² = 1` and `<t, u> = <z, z'> + <ε, ε'>`. A document's own words are those where ε is
largest by magnitude. A weight is signed: below zero the axes promise more of a word than there is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.pack import Arrays, require
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import find_rows
from likewise.compiled import Doubles, Floats, Ids, Int, Ints, fast_kernel
from likewise.errors import UsageError
from likewise.models.attribution import (
    Attribution,
    EncodedDocument,
    WordSum,
    add_up,
    or_one,
    owners_of,
    split_by_words,
    weights_by_place,
)
from likewise.models.bags import Vocabulary
from likewise.models.document_vectors import document_vectors, layout_of, to_arrays
from likewise.models.lanczos import Plan, Watch, Weighted, principal_axes
from likewise.models.model import LIKE, Model
from likewise.models.split_half import power_of_idf, unrecognised
from likewise.models.triple import OWN_WORDS, Triples, largest

if TYPE_CHECKING:
    from likewise.models.fitting import FitJob
    from likewise.models.topic_summary import Survey, TopicDescription

WEIGHTINGS = ("tfidf", "bm25")
K1, B = 1.2, 0.75
MEMORY = 1 << 30
_CHUNK = 512
_READ_CHUNK = 4096
_MIN_DF, _MANY_DOCS = 4, 10_000
_POWER_DOCS, _ROUGH = 6000, 12
# A residual below single precision's noise is none.
_LEAST_SHARE = 1e-6
_NO_WEIGHT = 1e-6


@dataclass(frozen=True)
class LSI:
    """Latent semantic indexing (Deerwester et al. 1990): the leading axes of the documents.

    `docs` is how many documents, drawn by the seed, the axes are made from (0: all). Weights are
    `(1 + ln f) idf^power` with idf `ln(N/n)`, or for `bm25` with that of Lucene
    `(k1 + 1) f / (f + k1 (1 - b + b length/average)) · idf^power`. Each of the `iterations` is
    one pass over the documents. `power` 0 is chosen by how well documents are recognised by half
    of them (`halving`), with the axes of a few thousand of them.
    """

    topics: int = 100
    docs: int = 50_000
    weighting: str = "tfidf"
    power: float = 0.0
    iterations: int = 22
    seed: int = 0
    notation: ClassVar[str] = "lsi"
    role: ClassVar[str] = LIKE

    def __post_init__(self) -> None:
        if min(self.topics, self.iterations) < 1 or min(self.docs, self.seed, self.power) < 0:
            raise UsageError(
                f"{self}: topics and iterations must be at least 1, docs, power and seed at least 0"
            )
        _check(self.weighting)

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> Subspace:
        """Fit axes to the documents."""
        job.refuse(self, "warm_start", "vectors", "gram")
        return fit_lsi(snapshot, self, threads=job.threads, watch=job.watch)


@dataclass(frozen=True, eq=False)
class Subspace(Model):
    """Orthonormal axes (the columns of `basis`, a row for each word) and their singular values.

    `average_length` is that of the documents it was fitted on, for weights as in BM25.
    """

    kind: ClassVar[str] = "subspace"
    name: str
    vocabulary: Vocabulary
    basis: NDArray[np.float32]
    values: Doubles
    weighting: str = "tfidf"
    average_length: float = 1.0
    power: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Mapping[str, float], ...] = ()

    @property
    def width(self) -> int:
        """How many axes there are."""
        return int(self.basis.shape[1])

    # Stored

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that it is stored as."""
        return self.vocabulary.arrays() | {
            "basis": np.ascontiguousarray(self.basis, np.float32),
            "values": np.asarray(self.values, np.float64),
        }

    def about(self) -> dict[str, Any]:
        """Give the plain values that it is stored with."""
        return {
            "n_docs": self.vocabulary.n_docs,
            "settings": dict(self.settings),
            "history": [dict(note) for note in self.history],
            "weighting": self.weighting,
            "average_length": self.average_length,
            "power": self.power,
        }

    @classmethod
    def load(cls, name: str, arrays: Arrays, about: Mapping[str, Any]) -> Subspace:
        """Give it as it was stored."""
        vocabulary = Vocabulary.load(arrays, about["n_docs"])
        require(arrays, name, basis=(len(vocabulary), -1))
        return cls(
            name,
            vocabulary,
            arrays["basis"],
            arrays["values"],
            about["weighting"],
            about["average_length"],
            about["power"],
            about["settings"],
            tuple(about["history"]),
        )

    @property
    def layout(self) -> dict[str, tuple[Any, int]]:
        """Name the arrays of `encode`."""
        return layout_of(self.width)

    def encode(
        self, collection: Snapshot, docs: Ints, *, words: int, threads: int = 1
    ) -> dict[str, NDArray[Any]]:
        """Give what is stored of documents to compare them: vectors, and so many own words."""
        triples = self.transform(collection.term_counts(docs), words=words, threads=threads)
        return to_arrays(document_vectors(triples, triples.topics))

    def coordinates(self, vectors: Floats, shares: Floats) -> Floats:
        """Give vectors as they are stored, with their shares, as projections."""
        return vectors * np.sqrt(shares[:, :1])

    @cached_property
    def scale(self) -> Scale:
        """How words are weighed."""
        return Scale(self.vocabulary, self.weighting, self.average_length, self.power)

    def weigh(self, counts: TermCounts) -> Weighted:
        """Give documents as weights of vocabulary rows, without the words that are unknown.

        A document has length one together with these.
        """
        return self.scale.weigh(counts)

    def transform(self, counts: TermCounts, *, words: int = OWN_WORDS, threads: int = 1) -> Triples:
        """Decompose documents; a term that the model does not know can only be a document's own.

        Topics are z, as long as the topical share's root; weights of own words are ε over its
        length before all but the largest are left out. The background has no share.
        """
        if words < 0:
            raise UsageError(f"a document cannot have {words} own words: 0 or more")
        n_docs = len(counts.bounds) - 1
        basis, scale = np.asarray(self.basis), self.scale
        topics = np.zeros((n_docs, self.width), np.float32)
        shares = np.zeros((n_docs, 3), np.float32)
        rest = np.zeros(len(counts.terms), np.float32)

        def part(first: int) -> tuple[Ints, Ints]:
            last = min(first + _CHUNK, n_docs)
            bounds = counts.bounds[first : last + 1]
            inside = (counts.terms, counts.counts)
            out = (topics[first:last], shares[first:last], rest)
            project(bounds, inside, (scale.rows, scale.factors), scale.norm, basis, out)
            magnitudes = np.abs(rest[bounds[0] : bounds[-1]])
            ends, places = largest(bounds - bounds[0], magnitudes, max(words, 1))
            kept = len(places) if words else 0
            return np.diff(ends) * bool(words), places[:kept] + bounds[0]

        found = in_parts(part, range(0, n_docs, _CHUNK), threads)
        sizes = np.concatenate([np.zeros(1, np.int64), *(sizes for sizes, _ in found)])
        places = np.concatenate([np.empty(0, np.int64), *(places for _, places in found)])
        return Triples(
            topics, np.cumsum(sizes), counts.terms[places].astype(np.int64), rest[places], shares
        )

    def compact(self, counts: TermCounts, triples: Triples) -> NDArray[np.float32]:
        """Give the projections."""
        return triples.topics

    # Meaning

    @property
    def word_weights(self) -> NDArray[np.float32]:
        """What words weigh on axes."""
        return self.basis

    def dimension_names(self, collection: Snapshot) -> list[str]:
        """Name axes by the words of their positive poles."""
        from likewise.models.topic_summary import named_by_words

        return named_by_words(self, collection, "axis")

    def describe(
        self, collection: Snapshot, seen: Survey, *, words: int, docs: int
    ) -> list[TopicDescription]:
        """Describe every axis."""
        from likewise.models.topic_summary import describe_axes

        return describe_axes(self, collection, seen, words=words, docs=docs)

    # What words carry

    def attribute(
        self, asked: Sequence[EncodedDocument], point: Doubles, counts: TermCounts, rows: Doubles
    ) -> list[Attribution]:
        """Split the dense scores of answers, given by their terms and stored rows, by words."""
        lengths = [np.array([np.linalg.norm(one.point)]) for one in asked]
        sums = [
            self.as_sums(one.counts, length) for one, length in zip(asked, lengths, strict=True)
        ]
        weighed = zip(sums, asked, strict=True)
        query = add_up([mine._replace(weights=mine.weights * one.weight) for mine, one in weighed])
        answers = self.as_sums(counts, np.linalg.norm(rows, axis=1))
        return split_by_words(query, answers, point, rows)

    def as_sums(self, counts: TermCounts, lengths: Doubles) -> WordSum:
        """Give the projections of documents, made so long, as sums over their words."""
        bounds, rows, weighed = self.weigh(counts)
        vectors = np.asarray(self.basis)[rows]
        terms = np.asarray(self.vocabulary.terms)[rows].astype(np.int64)
        made = WordSum(bounds, terms, weighed.astype(np.float64), vectors)
        factors = lengths / or_one(np.linalg.norm(made.totals, axis=1))
        return made._replace(weights=made.weights * factors[owners_of(bounds)])

    def telling_rows(
        self, collection: Snapshot, weights: Doubles, numbers: Ints, n: int
    ) -> list[Ints]:
        """Find the vocabulary rows of the n weightiest words of poles of axes."""
        from likewise.models.topic_summary import top_rows

        return [
            top_rows(self, np.array([k]), n=n, sign=-1 if weights[k] < 0 else 1)[0]
            for k in numbers.tolist()
        ]

    def routes(self, counts: TermCounts, triples: Triples) -> tuple[Doubles, Ints]:
        """Give for each word of documents how far it is topical, its own, background; its topic.

        A word's weight is projection and residual together, which are its topical and own parts;
        one without weight, as a word of every document is, is background. `triples` has all own
        words. A term unknown to the model is the document's own.
        """
        rows = find_rows(np.asarray(self.vocabulary.terms), counts.terms.astype(np.int64))
        docs = owners_of(counts.bounds)
        shares = triples.shares.astype(np.float64)[docs]
        by_topic = (
            np.asarray(self.basis)[np.maximum(rows, 0)] * triples.topics.astype(np.float64)[docs]
        )
        residual = np.sqrt(shares[:, 1]) * weights_by_place(counts, triples)
        whole = by_topic.sum(axis=1) + residual
        own = np.clip(residual / np.maximum(whole, _NO_WEIGHT), 0, 1)
        found = np.stack([1 - own, own, np.zeros(len(own))], axis=1)
        found[whole <= _NO_WEIGHT] = (0, 0, 1)
        found[rows < 0] = (0, 1, 0)
        return found, by_topic.argmax(axis=1) if self.width else np.zeros(len(rows), np.int64)


class Scale:
    """How words are weighed: the row and the factor of each term, and the norm of a length.

    `rows` goes by term number; the last of `factors` is for terms that are unknown, as if in one
    document. Where no term tells documents apart all of them have the factor one.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        weighting: str,
        average_length: float = 1.0,
        power: float = 1.0,
    ) -> None:
        _check(weighting)
        n_docs = vocabulary.n_docs
        doc_freqs = np.append(np.maximum(vocabulary.doc_freqs, 1), 1).astype(np.float64)
        self.norm = (np.float32(0), np.float32(0), np.float32(0))
        if weighting == "bm25":
            factors = np.log1p((n_docs - doc_freqs + 0.5) / (doc_freqs + 0.5))
            by_length = K1 * B / max(average_length, 1e-9)
            self.norm = (np.float32(K1 + 1), np.float32(K1 * (1 - B)), np.float32(by_length))
        else:
            factors = np.log(n_docs / doc_freqs)
        factors = factors**power
        if not factors[:-1].any():
            factors[:] = 1.0
        self.factors: Floats = factors.astype(np.float32)
        size = int(vocabulary.terms[-1]) + 1 if len(vocabulary) else 0
        self.rows: Ids = np.full(size, -1, np.int32)
        self.rows[vocabulary.terms] = np.arange(len(vocabulary), dtype=np.int32)

    def weigh(self, counts: TermCounts) -> Weighted:
        """Give documents as weights of rows, without the words that are unknown."""
        bounds = counts.bounds - counts.bounds[0]
        terms = counts.terms[counts.bounds[0] : counts.bounds[-1]]
        inside = (terms, counts.counts[counts.bounds[0] : counts.bounds[-1]])
        rows = np.empty(len(terms), np.int32)
        weights = np.empty(len(terms), np.float32)
        weigh(bounds, inside, (self.rows, self.factors), self.norm, (rows, weights))
        known = rows >= 0
        kept = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
        return Weighted(kept[bounds], rows[known], weights[known])


def fit_lsi(
    collection: Snapshot,
    config: LSI,
    *,
    threads: int = 0,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> Subspace:
    """Fit axes to a collection, reading documents as often as needed rather than keeping them.

    A collection with more terms than memory has room for keeps those in the most documents.
    """
    if config.power == 0:
        config = replace(config, power=_chosen_power(collection, config, threads, memory))
    docs = collection.live_docs()
    if config.docs and config.docs < len(docs):
        chosen = np.random.default_rng(config.seed).choice(len(docs), config.docs, replace=False)
        docs = docs[np.sort(chosen)]
    doc_freqs = np.zeros(collection.n_terms, np.int64)
    n_tokens = 0
    for counts in read_counts(collection, docs):
        doc_freqs += np.bincount(counts.terms, minlength=len(doc_freqs))
        n_tokens += int(counts.counts.sum(dtype=np.int64))
    if not n_tokens:
        raise UsageError(f"{collection.folder} has no words to fit a model on")
    per_term = Plan(1, config.topics, config.iterations).row_bytes
    vocabulary = choose_terms(
        collection, doc_freqs, len(docs), limit=max(memory * 3 // 4 // per_term, 1)
    )
    average_length = n_tokens / len(docs)
    scale = Scale(vocabulary, config.weighting, average_length, config.power)

    def stream() -> Iterator[Weighted]:
        return map(scale.weigh, read_counts(collection, docs))

    documents: Callable[[], Iterable[Weighted]] = stream
    if 8 * int(vocabulary.doc_freqs.sum()) <= memory // 4:
        documents = list(stream()).__iter__
    plan = Plan(len(vocabulary), config.topics, config.iterations, config.seed)
    basis, values = principal_axes(
        documents, plan, threads=threads or os.cpu_count() or 1, watch=watch
    )
    captured = float((values**2).sum()) / len(docs)
    return Subspace(
        name=config.notation,
        vocabulary=vocabulary,
        basis=basis,
        values=values,
        weighting=config.weighting,
        average_length=average_length,
        power=config.power,
        settings={"model": str(config)} | asdict(config),
        history=({"pass": config.iterations, "captured": captured},),
    )


def _chosen_power(collection: Snapshot, config: LSI, threads: int, memory: int) -> float:
    some = min(config.docs or _POWER_DOCS, _POWER_DOCS)
    rough = replace(config, power=1.0, docs=some, iterations=min(config.iterations, _ROUGH))
    model = fit_lsi(collection, rough, threads=threads, memory=memory)
    return round(power_of_idf(unrecognised(model, collection, seed=config.seed)), 3)


def _check(weighting: str) -> None:
    if weighting not in WEIGHTINGS:
        raise UsageError(f"weighting must be one of {', '.join(WEIGHTINGS)}, not {weighting!r}")


def read_counts(collection: Snapshot, docs: Ints) -> Iterator[TermCounts]:
    """Read the term counts of documents, some thousands at a time."""
    for first in range(0, len(docs), _READ_CHUNK):
        yield collection.term_counts(docs[first : first + _READ_CHUNK])


def choose_terms(collection: Snapshot, doc_freqs: Ints, n_docs: int, *, limit: int) -> Vocabulary:
    """Choose the terms that recur, frequent ones too: unknown to the model they would look rare."""
    least = min(_MIN_DF if n_docs >= _MANY_DOCS else 2, max(n_docs // 8, 1))
    terms = np.flatnonzero(doc_freqs >= least)
    if len(terms) == 0:
        terms = np.flatnonzero(doc_freqs)
    if len(terms) > limit:
        terms = np.sort(terms[np.argsort(-doc_freqs[terms], kind="stable")[:limit]])
    doc_freqs = doc_freqs[terms]
    if collection.analysis.filters_terms:
        # What the analysis does not admit says nothing, as if it were in every document.
        admitted = collection.admitted(*collection.frequencies(terms))
        doc_freqs = np.where(admitted, doc_freqs, n_docs)
    return Vocabulary(terms, doc_freqs, n_docs)


def in_parts(part: Callable[[int], Any], firsts: range, threads: int) -> list[Any]:
    """Do each part of a job, in several threads; give what they gave in order."""
    if threads == 1 or len(firsts) < 2:
        return [part(first) for first in firsts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(part, firsts))


@fast_kernel
def weight_of(count: Any, length: Any, factor: Any, norm: tuple[Any, Any, Any]) -> Any:
    """Give a word's weight before documents are brought to length one.

    Equals `(1 + np.log(count)) * factor`, or with `norm[0] > 0`
    `norm[0] * count / (count + norm[1] + norm[2] * length) * factor`.
    """
    if norm[0] > 0:
        return norm[0] * count / (count + norm[1] + norm[2] * length) * factor
    return factor if count == 1 else (np.float32(1) + np.log(count)) * factor


@fast_kernel
def weigh(
    bounds: Ints,
    words: tuple[Ids, Ids],
    scale: tuple[Ids, Floats],
    norm: tuple[Any, Any, Any],
    out: tuple[Ids, Floats],
) -> None:
    """Weigh the words of documents, and give their rows, -1 for those that are unknown.

    Equals `weight_of` of each word, over the root of the sum of their squares in the document.
    """
    terms, counts = words
    row_of, factors = scale
    rows, weights = out
    n_terms, unknown = len(row_of), len(factors) - 1
    for doc in range(len(bounds) - 1):
        start, stop = bounds[doc], bounds[doc + 1]
        length = np.float32(0)
        for j in range(start, stop):
            length += np.float32(counts[j])
        squares = np.float32(0)
        for j in range(start, stop):
            row = row_of[terms[j]] if 0 <= terms[j] < n_terms else -1
            factor = factors[row if row >= 0 else unknown]
            weight = weight_of(np.float32(counts[j]), length, factor, norm)
            squares += weight * weight
            rows[j] = row
            weights[j] = weight
        inverse = np.float32(1) / np.sqrt(squares) if squares > 0 else np.float32(0)
        for j in range(start, stop):
            weights[j] *= inverse


@fast_kernel
def project(
    bounds: Ints,
    words: tuple[Ids, Ids],
    scale: tuple[Ids, Floats],
    norm: tuple[Any, Any, Any],
    basis: NDArray[np.float32],
    out: tuple[NDArray[np.float32], NDArray[np.float32], Floats],
) -> None:
    """Project documents on axes; give what is left of each word over the length of all that is.

    Equals, for t the dense vector of weights, `z = basis.T @ t`, `rest = t - basis @ z`,
    `shares = z @ z, 1 - z @ z, 0` and `rest / np.sqrt(1 - z @ z)`.
    """
    terms, counts = words
    topics, shares, rest = out
    width: Int = basis.shape[1]
    first, last = bounds[0], bounds[-1]
    rows = np.empty(last - first, np.int32)
    own = rest[first:last]
    weigh(bounds - first, (terms[first:last], counts[first:last]), scale, norm, (rows, own))
    z = np.empty(width, np.float32)
    for doc in range(len(bounds) - 1):
        start, stop = bounds[doc] - first, bounds[doc + 1] - first
        z[:] = 0
        total = np.float32(0)
        for j in range(start, stop):
            total += own[j]
            if rows[j] >= 0:
                row, weight = rows[j], own[j]
                for k in range(width):
                    z[k] += weight * basis[row, k]
        if total == 0:
            continue
        share = np.float32(0)
        for k in range(width):
            share += z[k] * z[k]
        for k in range(width):
            topics[doc, k] = z[k]
        left = np.float32(1) - share
        if left < _LEAST_SHARE:
            shares[doc, 0] = 1
            own[start:stop] = 0
            continue
        shares[doc, 0], shares[doc, 1] = share, left
        inverse = np.float32(1) / np.sqrt(left)
        for j in range(start, stop):
            predicted = np.float32(0)
            if rows[j] >= 0:
                row = rows[j]
                for k in range(width):
                    predicted += z[k] * basis[row, k]
            own[j] = (own[j] - predicted) * inverse

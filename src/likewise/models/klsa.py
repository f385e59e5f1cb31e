"""Kernel LSA's documents: rows of U, by a truncated SVD of features (the paper's equation 2).

With features Φ of all documents, `Φ ≈ U Σ Vᵀ`, and `D = U Uᵀ` says how much each document stands
for each other. K = ΦΦᵀ is never formed: V and Σ are found by passes over the documents, and a
document, one that is added later too, has the row `u = φ V Σ⁻¹`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.arrays import Arrays, require
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Floats, Ids, Ints
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary, counts_in, draw_docs
from likewise.models.document_kernels import Corpus, DocumentKernel, Entries, read_kernel
from likewise.models.lanczos import Plan, Watch, Weighted, principal_axes
from likewise.models.model import DRIFT, SMOOTH, Model
from likewise.models.sampling import (
    MEMORY,
    choose_terms,
    count_terms,
    room_for_terms,
    weighed_documents,
)
from likewise.models.weighting import fold
from likewise.neighbours.int8 import encode

if TYPE_CHECKING:
    from likewise.models.fitting import FitJob

# One axis for so many documents, at least and at most so many: chosen by cross-validation.
_PER_AXIS, _FEWEST_AXES, _MOST_AXES = 14, 50, 300
# Up to here every term is kept, so that D is that of the formula; beyond, those that recur.
_ALL_TERMS = 50_000
# Relative to a document's features: what is below it single precision made up.
_NOISE = 1e-5
# Documents that have less than such a share of all rows do not need the whole basis.
_FEW_ROWS = 8


class NothingToFit(UsageError):
    """Documents that no kernel tells apart: one alone, or all without words."""


@dataclass(frozen=True)
class KLSA:
    """Kernel LSA (Park, Ramamohanarao 2009): the leading axes of documents under a kernel.

    `axes` 0 is one for 14 documents, 50 at least and 300 at most. `docs` is how many documents,
    drawn by the seed, the axes are made from (0: all).
    """

    kernel: str = "bm25"
    axes: int = 0
    docs: int = 50_000
    iterations: int = 22
    seed: int = 0
    notation: ClassVar[str] = "klsa"
    role: ClassVar[str] = SMOOTH

    def __post_init__(self) -> None:
        numbers = (self.axes, self.docs, self.iterations, self.seed)
        if not all(isinstance(one, Integral) and not isinstance(one, bool) for one in numbers):
            raise UsageError(f"{self}: axes, docs, iterations and seed are whole numbers")
        if not isinstance(self.kernel, str):
            raise UsageError(f"klsa needs the name of a kernel, not {self.kernel!r}")
        if self.iterations < 1 or min(self.axes, self.docs, self.seed) < 0:
            raise UsageError(
                f"{self}: iterations must be at least 1, axes, docs and seed at least 0"
            )
        read_kernel(self.kernel)

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> Model:
        """Fit axes by a kernel of words, by the user's features, or by the user's function."""
        job.refuse(self, "warm_start")
        self._check(job)
        if job.vectors is not None:
            from likewise.models.user_kernels import fit_features

            vectors = job.read_vectors(snapshot)
            return fit_features(
                snapshot, vectors, self, job.name, field=job.field, threads=job.threads
            )
        if job.gram is not None:
            from likewise.models.gram import fit_gram

            return fit_gram(snapshot, job.gram, self, job.name)
        return fit_space(snapshot, self, name=job.name, threads=job.threads, watch=job.watch)

    def _check(self, job: FitJob) -> None:
        """Raise unless the kernel is that of words, or given in one way."""
        if job.vectors is not None and job.gram is not None:
            raise UsageError("a kernel is given by vectors or by a function (gram), not by both")
        if job.ids is not None and (job.vectors is None or job.field):
            raise UsageError("ids name the documents of vectors that stand in no field")
        if job.gram is not None and not callable(job.gram):
            raise UsageError(f"gram is a function of two lists of texts, not {job.gram!r}")
        given = job.vectors is not None or job.gram is not None
        if given and self.kernel != type(self).kernel:
            raise UsageError(f"{self}: its kernel is of words; vectors and functions are their own")
        if set(job.name) & set(",()="):
            raise UsageError(f"{job.name!r}: a name has no commas, parentheses or = in it")


class KernelModel(Model):
    """A model that smooths rankings by rows of documents on the leading axes of a kernel."""

    role: ClassVar[str] = SMOOTH
    metric: ClassVar[str] = "inner"
    finder: ClassVar[str] = "tiles"
    basis: Floats
    values: Doubles

    @property
    def width(self) -> int:
        """How many axes there are."""
        return len(self.values)

    @property
    def layout(self) -> dict[str, tuple[Any, int]]:
        """Name the arrays of `encode`."""
        return {"codes": (np.int8, self.width), "scales": (np.float32, 0)}

    def encode(
        self, collection: Snapshot, docs: Ints, *, words: int = 0, threads: int = 1
    ) -> dict[str, NDArray[Any]]:
        """Give what is stored of documents: their rows."""
        return encode(self.document_rows(collection, docs))._asdict()

    @cached_property
    def _scaled(self) -> Floats:
        return np.ascontiguousarray(self.basis / self.values, np.float32)


@dataclass(frozen=True, eq=False)
class KernelRows(KernelModel):
    """Axes of the features of documents, and their singular values over all documents."""

    kind: ClassVar[str] = "klsa"
    derived: ClassVar[tuple[str, ...]] = (DRIFT,)
    name: str
    vocabulary: Vocabulary
    shares: Doubles
    average_length: float
    kernel: DocumentKernel
    basis: Floats
    values: Doubles
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Mapping[str, float], ...] = ()

    # Stored

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that it is stored as."""
        return self.vocabulary.arrays() | {
            "basis": np.ascontiguousarray(self.basis, np.float32),
            "values": np.asarray(self.values, np.float64),
            "shares": np.asarray(self.shares, np.float64),
        }

    def about(self) -> dict[str, Any]:
        """Give the plain values that it is stored with."""
        return {
            "n_docs": self.vocabulary.n_docs,
            **super().about(),
            "average_length": self.average_length,
            "kernel": str(self.kernel),
        }

    @classmethod
    def load(cls, name: str, arrays: Arrays, about: Mapping[str, Any]) -> KernelRows:
        """Give it as it was stored."""
        vocabulary, values = Vocabulary.load(arrays, about["n_docs"]), arrays["values"]
        n_terms = len(vocabulary)
        require(arrays, name, basis=(n_terms, len(values)), shares=(n_terms,))
        return cls(
            name,
            vocabulary,
            arrays["shares"],
            about["average_length"],
            read_kernel(about["kernel"]),
            arrays["basis"],
            values,
            about["settings"],
            tuple(about["history"]),
        )

    @cached_property
    def corpus(self) -> Corpus:
        """What features know of all documents."""
        v = self.vocabulary
        return Corpus(v.doc_freqs, self.shares, v.n_docs, self.average_length)

    def _scaled_rows(self, rows: Ids) -> tuple[Floats, Ids]:
        """Give a scaled basis, and where rows are in it: of few rows no others are read."""
        if "_scaled" in vars(self) or len(rows) > len(self.basis) // _FEW_ROWS:
            return self._scaled, rows
        needed, places = np.unique(rows, return_inverse=True)
        some = self.basis[needed] / self.values
        return np.ascontiguousarray(some, np.float32), places.astype(np.int32)

    def captured(self, counts: TermCounts) -> Doubles:
        """Give the share of each document's features that lies along the axes."""
        weighted = weigh(self.kernel, self.vocabulary, self.corpus, counts)
        along = np.zeros((len(weighted.bounds) - 1, self.width), np.float32)
        fold(weighted.bounds, weighted.rows, weighted.weights, np.asarray(self.basis), along)
        squares = np.concatenate([[0.0], np.cumsum(np.square(weighted.weights, dtype=np.float64))])
        whole = np.diff(squares[weighted.bounds])
        inside = np.square(along, dtype=np.float64).sum(axis=1)
        return np.asarray(inside / np.where(whole > 0, whole, 1.0))

    def rows(self, counts: TermCounts) -> Floats:
        """Give the rows of documents: `u = φ V Σ⁻¹`."""
        weighted = weigh(self.kernel, self.vocabulary, self.corpus, counts)
        out = np.zeros((len(weighted.bounds) - 1, self.width), np.float32)
        basis, rows = self._scaled_rows(weighted.rows)
        fold(weighted.bounds, rows, weighted.weights, basis, out)
        owners = np.repeat(np.arange(len(out)), np.diff(weighted.bounds))
        squares = np.bincount(owners, np.square(weighted.weights), len(out))
        return without_noise(out, self.values, np.sqrt(squares))

    def document_rows(self, collection: Snapshot, docs: Ints) -> Floats:
        """Give the rows of documents of a collection, by their words."""
        return self.rows(collection.term_counts(docs))


def without_noise(rows: Floats, values: Doubles, lengths: Doubles) -> Floats:
    """Clear rows, in place, of documents that the axes know nothing of; `lengths` are of features.

    What rounding leaves of them would be taken for likeness, since likeness is brought to scale.
    """
    seen = np.sqrt(np.square(rows.astype(np.float64) * values).sum(axis=1))
    rows[seen <= _NOISE * lengths] = 0
    return rows


def n_axes(config: KLSA, n_docs: int) -> int:
    """Give the number of axes that a configuration means for so many documents."""
    chosen = min(max(n_docs // _PER_AXIS, _FEWEST_AXES), _MOST_AXES)
    return max(min(config.axes or chosen, n_docs), 1)


def weigh(
    kernel: DocumentKernel, vocabulary: Vocabulary, corpus: Corpus, counts: TermCounts
) -> Weighted:
    """Give the features of documents, of the terms that a vocabulary has."""
    places = np.searchsorted(vocabulary.terms, counts.terms)
    places = np.minimum(places, max(len(vocabulary) - 1, 0))
    known = np.asarray(vocabulary.terms)[places] == counts.terms
    sizes = np.diff(counts.bounds)
    lengths = np.repeat(counts_in(counts), sizes)
    entries = Entries(places[known], counts.counts[known].astype(np.float64), lengths[known])
    weights = kernel.features(entries, corpus)
    kept = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
    bounds = kept[counts.bounds]
    if kernel.unit:
        owners = np.repeat(np.arange(len(sizes)), np.diff(bounds))
        squares = np.bincount(owners, weights * weights, len(sizes))
        weights = weights / np.sqrt(np.where(squares > 0, squares, 1))[owners]
    return Weighted(bounds, entries.rows.astype(np.int32), weights.astype(np.float32))


def fit_space(
    collection: Snapshot,
    config: KLSA = KLSA(),
    *,
    name: str = "",
    threads: int = 0,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> KernelRows:
    """Fit axes to a collection, reading documents as often as needed rather than keeping them.

    A collection with more terms than memory has room for keeps those in the most documents.
    """
    if collection.n_docs == 0:
        raise UsageError(f"{collection.folder} holds no documents to fit a model on")
    docs = draw_docs(collection, config.docs, config.seed)
    axes, kernel = n_axes(config, collection.n_docs), read_kernel(config.kernel)
    counted = count_terms(collection, docs)
    limit = room_for_terms(memory, Plan(1, axes, config.iterations).row_bytes)
    vocabulary = _choose_terms(collection, counted.doc_freqs, len(docs), limit)
    nothing = NothingToFit(
        f"{collection.folder} has no words that tell documents apart by {kernel}"
    )
    if len(vocabulary) == 0:
        raise nothing
    shares = counted.term_freqs[vocabulary.terms] / max(counted.n_tokens, 1)
    average = counted.n_tokens / len(docs)
    corpus = Corpus(vocabulary.doc_freqs, shares, len(docs), average)
    features = partial(weigh, kernel, vocabulary, corpus)
    documents = weighed_documents(collection, docs, features, vocabulary, memory)
    if not any(chunk.weights.any() for chunk in documents()):
        raise nothing
    plan = Plan(len(vocabulary), axes, config.iterations, config.seed)
    basis, values = principal_axes(
        documents, plan, threads=threads or os.cpu_count() or 1, watch=watch
    )
    # Over all documents: each that was drawn stands for several.
    values = values * np.sqrt(collection.n_docs / len(docs))
    return KernelRows(
        name=name or config.notation,
        vocabulary=vocabulary,
        shares=shares,
        average_length=average,
        kernel=kernel,
        basis=basis,
        values=values,
        settings={"model": str(config)} | asdict(config),
        history=({"pass": config.iterations, "axes": basis.shape[1]},),
    )


def _choose_terms(collection: Snapshot, doc_freqs: Ints, n_docs: int, limit: int) -> Vocabulary:
    """Choose all terms that are searched for, or in a large collection those that recur."""
    terms = np.flatnonzero(doc_freqs)
    if len(terms) > min(_ALL_TERMS, limit):
        terms = choose_terms(collection, doc_freqs, n_docs, limit=limit).terms
    if collection.analysis.filters_terms:
        terms = terms[collection.admitted(*collection.frequencies(terms))]
    return Vocabulary(terms, doc_freqs[terms], n_docs)

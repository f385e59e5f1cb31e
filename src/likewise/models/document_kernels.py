"""What makes two documents alike? Kernels by features: `k(m, n) = ⟨φ(m), φ(n)⟩`.

The paper pairs each with a kernel between query and document, which here is the ranking that is
smoothed, whatever made it: `bm25` goes with the search of that name, `ql` and `cosine` with `ql`
and `tfidf`, and `inner` is plain LSI.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from likewise import notation
from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.retrieve.models import bm25_idf

IDFS = ("lucene", "rsj")


class Corpus(NamedTuple):
    """What features know of all documents: of each term those that have it, and its share."""

    doc_freqs: Ints
    shares: Doubles
    n_docs: int
    average_length: float


class Entries(NamedTuple):
    """The words of documents, one after the other: row of the corpus, count, document's length."""

    rows: Ints
    counts: Doubles
    lengths: Doubles


class DocumentKernel(Protocol):
    """A kernel between documents: small, frozen, written as `notation` writes it.

    `unit`: features of a document are brought to length one.
    """

    notation: ClassVar[str]
    unit: ClassVar[bool]

    def features(self, entries: Entries, corpus: Corpus) -> Doubles:
        """Weigh the words of documents."""
        ...


@dataclass(frozen=True)
class BM25Kernel:
    """BM25 between documents: `Σ idf^2·power B_m B_n`, `B = (k1 + 1) f / (K + f)`.

    `K = k1 (1 - b + b length/average)`. The paper's has `k1=2,power=0.5,idf=rsj`, idf once, and
    as `ln((N - n + ½)/(n + ½))`, which is cut off at 0, else the kernel would not be positive.
    """

    k1: float = 1.2
    b: float = 0.75
    power: float = 1.0
    idf: str = "lucene"
    notation: ClassVar[str] = "bm25"
    unit: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (0 <= self.k1 < np.inf and 0 <= self.b <= 1 and 0 <= self.power < np.inf):
            raise UsageError(f"{self} needs k1 ≥ 0, b from 0 to 1 and power ≥ 0")
        if self.idf not in IDFS:
            raise UsageError(f"{self}: idf is one of {', '.join(IDFS)}, not {self.idf!r}")

    def __str__(self) -> str:
        return notation.write(self)

    def features(self, entries: Entries, corpus: Corpus) -> Doubles:
        """Weigh by count, length and rarity."""
        n, rarity = corpus.doc_freqs.astype(np.float64), bm25_idf(corpus.n_docs, corpus.doc_freqs)
        if self.idf == "rsj":
            rarity = np.maximum(np.log((corpus.n_docs - n + 0.5) / (n + 0.5)), 0.0)
        relative = entries.lengths / max(corpus.average_length, 1e-9)
        norms = self.k1 * (1 - self.b + self.b * relative)
        saturated = (self.k1 + 1) * entries.counts / (norms + entries.counts)
        return np.asarray(saturated * (rarity**self.power)[entries.rows])


@dataclass(frozen=True)
class Inner:
    """The inner product of counts, as they are or times `ln(N/n)^power`: plain LSI."""

    power: float = 0.0
    notation: ClassVar[str] = "inner"
    unit: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.power < np.inf:
            raise UsageError(f"{self} needs power ≥ 0")

    def __str__(self) -> str:
        return notation.write(self)

    def features(self, entries: Entries, corpus: Corpus) -> Doubles:
        """Weigh by count and rarity."""
        return np.asarray(entries.counts * (_log_idf(corpus) ** self.power)[entries.rows])


@dataclass(frozen=True)
class Cosine:
    """The cosine of TF-IDF vectors: `(1 + ln f) ln(N/n)^power`."""

    power: float = 1.0
    notation: ClassVar[str] = "cosine"
    unit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.power < np.inf:
            raise UsageError(f"{self} needs power ≥ 0")

    def __str__(self) -> str:
        return notation.write(self)

    def features(self, entries: Entries, corpus: Corpus) -> Doubles:
        """Weigh by the logarithm of the count, and rarity."""
        rarity = _log_idf(corpus) ** self.power
        return np.asarray((1 + np.log(entries.counts)) * rarity[entries.rows])


@dataclass(frozen=True)
class Likelihood:
    """Query likelihood between documents: features `ln(1 + f / (mu p))`, p the term's share.

    They are what a document gives to each term of a query under Dirichlet smoothing.
    """

    mu: float = 1000.0
    notation: ClassVar[str] = "ql"
    unit: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.mu < np.inf:
            raise UsageError(f"{self} needs mu > 0")

    def __str__(self) -> str:
        return notation.write(self)

    def features(self, entries: Entries, corpus: Corpus) -> Doubles:
        """Weigh by count over what was to be expected."""
        return np.log1p(entries.counts / (self.mu * corpus.shares[entries.rows]))


KERNELS: dict[str, type[DocumentKernel]] = {
    kind.notation: kind for kind in (BM25Kernel, Inner, Cosine, Likelihood)
}


def read_kernel(kernel: str | DocumentKernel) -> DocumentKernel:
    """Read a kernel as it is written: `bm25`, `bm25(k1=2,power=0.5)`."""
    if not isinstance(kernel, str):
        return kernel
    return notation.read(kernel, KERNELS, what="kernel")


def _log_idf(corpus: Corpus) -> Doubles:
    return np.log(corpus.n_docs / np.maximum(corpus.doc_freqs, 1).astype(np.float64))

"""Topics fitted by scikit-learn: online LDA and NMF; documents are then decomposed as by DDM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.errors import MissingExtra, UsageError
from likewise.models.bags import Bags, Vocabulary, gather
from likewise.models.categories import ALPHA, topic_model_of
from likewise.models.model import LIKE
from likewise.models.topics import TopicModel

if TYPE_CHECKING:
    from likewise.models.fitting import FitJob


@dataclass(frozen=True)
class OnlineLDA:
    """LDA by online variational Bayes (Hoffman, Blei, Bach 2010), as scikit-learn does it."""

    topics: int = 250
    passes: int = 5
    alpha: float = 0.2
    beta: float = 0.01
    seed: int = 0
    notation: ClassVar[str] = "lda-vb"
    role: ClassVar[str] = LIKE

    def __post_init__(self) -> None:
        if min(self.topics, self.passes) < 1 or not (0 < self.alpha <= 1 and 0 < self.beta <= 1):
            raise UsageError(
                f"{self}: topics and passes must be at least 1, alpha and beta above 0 and up to 1"
            )

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> TopicModel:
        """Fit topics by variational Bayes."""
        job.refuse(self, "warm_start", "vectors", "gram")
        return fit_online_lda(*gather(snapshot, job.sample), self)


@dataclass(frozen=True)
class NMF:
    """Non-negative factorisation of TF-IDF weights (Lee, Seung 1999), as scikit-learn does it."""

    topics: int = 250
    iterations: int = 200
    seed: int = 0
    notation: ClassVar[str] = "nmf"
    role: ClassVar[str] = LIKE

    def __post_init__(self) -> None:
        if min(self.topics, self.iterations) < 1:
            raise UsageError(f"{self}: topics and iterations must be at least 1")

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> TopicModel:
        """Fit topics by factorising weights."""
        job.refuse(self, "warm_start", "vectors", "gram")
        return fit_nmf(*gather(snapshot, job.sample), self)


def fit_online_lda(vocabulary: Vocabulary, bags: Bags, config: OnlineLDA) -> TopicModel:
    """Fit topics by variational Bayes."""
    decomposition = _scikit_learn("LDA by online variational Bayes")
    fitted = decomposition.LatentDirichletAllocation(
        config.topics,
        doc_topic_prior=config.alpha,
        topic_word_prior=config.beta,
        learning_method="online",
        batch_size=1024,
        learning_offset=64.0,
        max_iter=config.passes,
        total_samples=bags.n_docs,
        random_state=config.seed,
    ).fit(sparse(bags, len(vocabulary)))
    # scikit-learn's components are counts with the prior in them.
    counts = np.maximum(fitted.components_.T - config.beta, 0)
    alpha = np.full(config.topics, config.alpha)
    return topic_model_of(vocabulary, bags, counts, alpha=alpha, config=config)


def fit_nmf(vocabulary: Vocabulary, bags: Bags, config: NMF) -> TopicModel:
    """Fit topics by factorising TF-IDF weights."""
    decomposition = _scikit_learn("NMF")
    idf = vocabulary.idf
    values: NDArray[Any] = (1 + np.log(bags.counts)) * idf[bags.rows]
    matrix = sparse(bags, len(vocabulary), values=values)
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    matrix = matrix.multiply(1 / np.maximum(lengths, 1e-12)[:, None]).tocsr()
    if config.topics > min(matrix.shape):
        raise UsageError(f"{config}: at most {min(matrix.shape)} topics fit these documents")
    fitted = decomposition.NMF(
        config.topics, init="nndsvd", max_iter=config.iterations, random_state=config.seed, tol=1e-4
    )
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coordinates = fitted.fit_transform(matrix)
    # A topic's words as they would be counted: the idf taken out again, at the size of its use.
    parts = fitted.components_.T / np.maximum(idf, 1e-3)[:, None]
    sizes = parts.sum(axis=0)
    use = coordinates.sum(axis=0) * fitted.components_.sum(axis=1)
    use = np.maximum(use, 1e-9)
    counts = parts / np.maximum(sizes, 1e-12) * (bags.n_tokens * use / use.sum())
    alpha = np.full(config.topics, ALPHA)
    return topic_model_of(vocabulary, bags, counts, alpha=alpha, config=config)


def sparse(bags: Bags, n_rows: int, *, values: NDArray[Any] | None = None) -> Any:
    """Give bags as a SciPy matrix, documents by words; of counts, unless there are other values."""
    from scipy.sparse import csr_matrix

    data = bags.counts if values is None else values
    return csr_matrix((data, bags.rows, bags.bounds), shape=(bags.n_docs, n_rows))


def _scikit_learn(what: str) -> Any:
    try:
        from sklearn import decomposition
    except ImportError:
        raise MissingExtra(what, extra="models") from None
    return decomposition

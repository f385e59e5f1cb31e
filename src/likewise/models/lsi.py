"""Latent semantic indexing: the leading axes of a collection's documents, as a subspace."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.errors import UsageError
from likewise.models.bags import draw_docs
from likewise.models.crops import Trained, train_vectors
from likewise.models.ladder import ladder_of
from likewise.models.lanczos import Plan, Watch, principal_axes
from likewise.models.model import LIKE
from likewise.models.sampling import (
    MEMORY,
    choose_terms,
    count_terms,
    room_for_terms,
    weighed_documents,
)
from likewise.models.subspace import Subspace
from likewise.models.weighting import Scale, check_weighting

if TYPE_CHECKING:
    from likewise.models.fitting import FitJob

TRAININGS = ("", "crops")


@dataclass(frozen=True)
class LSI:
    """Latent semantic indexing (Deerwester et al. 1990): the leading axes of the documents.

    `docs` is how many documents, drawn by the seed, the axes are made from (0: all). Weights are
    `(1 + ln f) idf^power` with idf `ln(N/n)`, or for `bm25` with that of Lucene
    `(k1 + 1) f / (f + k1 (1 - b + b length/average)) · idf^power`. Each of the `iterations` is
    one pass over the documents. Documents are compared by nested axes (`ladder`): all, half of
    them, and so on, `rungs` widths; with one they are flat. With `train` "crops" word vectors are
    trained on these documents (`crops`), and take the place of axes where documents are compared.
    """

    topics: int = 200
    docs: int = 50_000
    weighting: str = "tfidf"
    power: float = 1.0
    rungs: int = 4
    iterations: int = 22
    seed: int = 0
    train: str = ""
    notation: ClassVar[str] = "lsi"
    role: ClassVar[str] = LIKE

    def __post_init__(self) -> None:
        above_zero = min(self.topics, self.rungs, self.iterations)
        if above_zero < 1 or min(self.docs, self.seed, self.power) < 0:
            raise UsageError(
                f"{self}: topics, rungs and iterations must be at least 1, docs, power and seed at "
                "least 0"
            )
        check_weighting(self.weighting)
        if self.train not in TRAININGS:
            raise UsageError(
                f"train must be crops, or nothing for axes as they are, not {self.train!r}"
            )

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> Subspace:
        """Fit axes to the documents."""
        job.refuse(self, "warm_start", "vectors", "gram")
        return fit_lsi(snapshot, self, threads=job.threads, watch=job.watch)


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
    docs = draw_docs(collection, config.docs, config.seed)
    counted = count_terms(collection, docs)
    if not counted.n_tokens:
        raise UsageError(f"{collection.folder} has no words to fit a model on")
    per_term = Plan(1, config.topics, config.iterations).row_bytes
    limit = room_for_terms(memory, per_term)
    vocabulary = choose_terms(collection, counted.doc_freqs, len(docs), limit=limit)
    average_length = counted.n_tokens / len(docs)
    scale = Scale(vocabulary, config.weighting, average_length, config.power)
    documents = weighed_documents(collection, docs, scale.weigh, vocabulary, memory)
    plan = Plan(len(vocabulary), config.topics, config.iterations, config.seed)
    basis, values = principal_axes(
        documents, plan, threads=threads or os.cpu_count() or 1, watch=watch
    )
    captured = float((values**2).sum()) / len(docs)
    ladder = ladder_of(basis.shape[1], config.rungs)
    trained = Trained(None, ())
    if config.train:
        trained = train_vectors(
            collection,
            docs,
            basis,
            scale,
            ladder=ladder,
            seed=config.seed,
            threads=threads,
            memory=memory,
            watch=watch,
        )
    return Subspace(
        name=config.notation,
        vocabulary=vocabulary,
        basis=basis,
        values=values,
        weighting=config.weighting,
        average_length=average_length,
        power=config.power,
        settings={"model": str(config)} | asdict(config),
        history=({"pass": config.iterations, "captured": captured}, *trained.history),
        ladder=ladder,
        vectors=trained.vectors,
    )

"""One door to every model: its configuration, what it is fitted on, and how far the fit is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.errors import UsageError
from likewise.models import ddm
from likewise.models.bags import Sample, gather
from likewise.models.ddm import DDM, LDA
from likewise.models.given import (
    NMF,
    Categories,
    OnlineLDA,
    fit_categories,
    fit_nmf,
    fit_online_lda,
)
from likewise.models.stored import AnyModel, load_model
from likewise.models.subspace import LSI, fit_lsi, span_of
from likewise.models.supplied import Supplied, fit_supplied
from likewise.models.topics import TopicModel
from likewise.models.vectors import Vectors, from_field

Watch = Callable[[dict[str, float]], None]


@dataclass(frozen=True)
class Span:
    """The space that a model's topics span, used as LSI's is: `span(of=ddm)`."""

    of: str = "ddm"
    notation: ClassVar[str] = "span"

    def __str__(self) -> str:
        return notation.write(self)


Config: TypeAlias = LSI | DDM | LDA | OnlineLDA | NMF | Categories | Span | Supplied

CONFIGS: dict[str, type[Config]] = {
    "lsi": LSI,
    "ddm": DDM,
    "lda": LDA,
    "lda-vb": OnlineLDA,
    "nmf": NMF,
    "categories": Categories,
    "span": Span,
    "vectors": Supplied,
}


def read_config(text: str) -> Config:
    """Read a model's configuration as it is written: `ddm`, `ddm(topics=100,sweeps=50)`."""
    config: Config = notation.read(text, CONFIGS, what="model")
    return config


def fit_model(
    collection: Snapshot,
    config: Config,
    *,
    sample: Sample = Sample(),
    threads: int = 0,
    origin: TopicModel | None = None,
    watch: Watch | None = None,
    vectors: Vectors | None = None,
) -> AnyModel:
    """Fit a model on a collection or a sample of it; DDM and LDA can go on from an `origin`.

    `vectors` are the user's, for `Supplied` whose vectors do not stand in a field.
    """
    if collection.n_docs == 0:
        raise UsageError(f"{collection.folder} holds no documents to fit a model on")
    if origin is not None and not isinstance(config, DDM):
        raise UsageError(f"{config} cannot go on from another model; ddm and lda can")
    if isinstance(config, LSI):
        return fit_lsi(collection, config, threads=threads, watch=watch)
    if isinstance(config, Categories):
        return fit_categories(collection, sample, config)
    if isinstance(config, Span):
        base = load_model(collection, config.of)
        if not isinstance(base, TopicModel):
            raise UsageError(f"model {config.of!r} has no topics to span a space")
        return span_of(base)
    if isinstance(config, Supplied):
        return _fit_supplied(collection, config, vectors, threads, watch)
    vocabulary, bags = gather(collection, sample)
    if isinstance(config, OnlineLDA):
        return fit_online_lda(vocabulary, bags, config)
    if isinstance(config, NMF):
        return fit_nmf(vocabulary, bags, config)
    return ddm.fit(vocabulary, bags, config, threads=threads, origin=origin, watch=watch)


def _fit_supplied(
    collection: Snapshot,
    config: Supplied,
    vectors: Vectors | None,
    threads: int,
    watch: Watch | None,
) -> AnyModel:
    if config.field:
        vectors = from_field(collection, config.field)
    if vectors is None:
        raise UsageError(
            f"{config}: whose vectors? name a field of the documents, as in "
            f"{replace(config, field='embedding')}, or a file: likewise fit --vectors FILE.npy"
        )
    model = fit_supplied(
        collection, vectors.docs, vectors.rows, config, threads=threads, watch=watch
    )
    [note] = model.history
    return replace(model, history=({**note, "without": vectors.without},))

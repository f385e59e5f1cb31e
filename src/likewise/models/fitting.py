"""One door to every model: its configuration, what it is fitted on, and how far the fit is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from likewise import notation, registry
from likewise.collection.snapshot import Snapshot
from likewise.errors import UsageError
from likewise.models.bags import Sample

if TYPE_CHECKING:
    from likewise.models.gram import Gram
    from likewise.models.model import Model
    from likewise.models.stored import AnyModel
    from likewise.models.vectors import Vectors

Watch = Callable[[dict[str, float]], None]

CONFIGS = registry.Table(registry.CONFIGS, groups=("likewise.models",))

_REFUSALS = {
    "start": "cannot be resumed; ddm and lda can",
    "vectors": "is not made of vectors: the model that is, is called vectors",
    "gram": "is not made of a function of texts; klsa can be",
}


class FitJob(NamedTuple):
    """What a model is fitted with, beside its configuration.

    `start` is a model to go on from; `vectors` are the user's (those that stand in a `field` of
    the documents are read there again for documents that come later), and `gram` is a function of
    two lists of texts. What a configuration has no use for it refuses. `name` is what the model
    will be called.
    """

    sample: Sample = Sample()
    start: Model | None = None
    vectors: Vectors | None = None
    field: str = ""
    gram: Gram | None = None
    name: str = ""
    threads: int = 0
    watch: Watch | None = None

    def refuse(self, config: Config, *unused: str) -> None:
        """Raise where there is something that a configuration has no use for."""
        for what in unused:
            if getattr(self, what) is not None:
                raise UsageError(f"{config} {_REFUSALS[what]}")


class Config(Protocol):
    """The configuration of a model: small, frozen, written as `notation` writes it."""

    notation: ClassVar[str]

    def fit(self, snapshot: Snapshot, job: FitJob) -> Any:
        """Fit a model to the documents."""
        ...


def read_config(text: str) -> Config:
    """Read a model's configuration as it is written: `ddm`, `ddm(topics=100,sweeps=50)`."""
    config: Config = notation.read(text, CONFIGS, what="model")
    return config


def fit_model(
    snapshot: Snapshot,
    config: Config,
    *,
    sample: Sample = Sample(),
    threads: int = 0,
    origin: Model | None = None,
    watch: Watch | None = None,
    vectors: Vectors | None = None,
) -> AnyModel:
    """Fit a model on a collection or a sample of it; DDM and LDA can go on from an `origin`.

    `vectors` are the user's, where they do not stand in a field.
    """
    if snapshot.n_docs == 0:
        raise UsageError(f"{snapshot.folder} holds no documents to fit a model on")
    job = FitJob(sample=sample, start=origin, vectors=vectors, threads=threads, watch=watch)
    model: AnyModel = config.fit(snapshot, job)
    return model

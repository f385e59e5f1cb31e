"""One door to every model: its configuration, what it is fitted on, and how far the fit is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from likewise import notation, registry
from likewise.collection.snapshot import Snapshot
from likewise.errors import UsageError, WrongType
from likewise.models.bags import Sample

if TYPE_CHECKING:
    from likewise.models.gram import Gram
    from likewise.models.model import Model
    from likewise.models.vector_sources import Names, Source, Vectors

Watch = Callable[[dict[str, float]], None]

CONFIGS = registry.Table(registry.CONFIGS, groups=("likewise.models",))

_REFUSALS = {
    "warm_start": "cannot be resumed; ddm and lda can",
    "vectors": "is not made of vectors: the model that is, is called vectors",
    "gram": "has no kernel that a function (gram) could give; klsa has",
}


class FitJob(NamedTuple):
    """What a model is fitted with, beside its configuration.

    `name` is what the model will be called; with `warm_start` it goes on from the one of that name.
    `vectors`, of the documents that `ids` names, and `gram`, a function of two lists of texts, are
    the user's. What a configuration has no use for it refuses.
    """

    name: str = ""
    sample: Sample = Sample()
    warm_start: bool = False
    vectors: Source | None = None
    ids: Names | None = None
    gram: Gram | None = None
    threads: int = 0
    watch: Watch | None = None

    def refuse(self, config: Config, *unused: str) -> None:
        """Raise where there is something that a configuration has no use for."""
        for what in unused:
            given = getattr(self, what)
            if given is not None and given is not False:
                raise UsageError(f"{config} {_REFUSALS[what]}")

    @property
    def field(self) -> str:
        """The field of the documents in which vectors stand; "" for those from elsewhere."""
        source = self.vectors
        return source if isinstance(source, str) and not source.endswith(".npy") else ""

    def read_vectors(self, snapshot: Snapshot) -> Vectors:
        """Read the user's vectors."""
        from likewise.models.vector_sources import read_vectors

        assert self.vectors is not None
        return read_vectors(snapshot, self.vectors, ids=self.ids)


class Config(Protocol):
    """The configuration of a model: small, frozen, written as `notation` writes it."""

    notation: ClassVar[str]
    role: ClassVar[str]

    def fit(self, snapshot: Snapshot, job: FitJob) -> Model:
        """Fit a model to the documents."""
        ...


def read_config(given: str | Config) -> Config:
    """Read a model's configuration as it is written: `ddm`, `ddm(topics=100,sweeps=50)`.

    One that is a configuration already stays as it is.
    """
    if isinstance(given, str):
        config: Config = notation.read(given, CONFIGS, what="model")
        return config
    if isinstance(given, type) or not hasattr(given, "role") or not hasattr(given, "fit"):
        raise WrongType.of(given, "a model is a text such as 'lsi(topics=50)', or a configuration")
    return given


def fit_model(snapshot: Snapshot, config: Config, job: FitJob = FitJob()) -> Model:
    """Fit a model to the documents of a snapshot."""
    if snapshot.n_docs == 0:
        raise UsageError(f"{snapshot.folder} holds no documents to fit a model on")
    return config.fit(snapshot, job)

"""A fit from the configuration to what is stored, with all that is worked out by the model."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeGuard

import numpy as np

from likewise.collection.cleaning import tidy
from likewise.collection.files import storage_errors
from likewise.collection.job import Job
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.models.bags import Sample
    from likewise.models.fitting import Config as ModelConfig
    from likewise.models.fitting import Watch
    from likewise.models.gram import Gram
    from likewise.models.kernel_rows import AnySpace
    from likewise.models.klsa import KLSA
    from likewise.models.model import Model
    from likewise.models.stored import AnyModel
    from likewise.models.vectors import Names, Source


def read_fitted(text: str) -> ModelConfig | KLSA:
    """Read what can be fitted as it is written: `ddm(topics=100)`, `klsa(kernel=cosine)`."""
    from likewise import notation
    from likewise.models.fitting import CONFIGS
    from likewise.models.klsa import KLSA

    kinds: dict[str, type[ModelConfig | KLSA]] = {**CONFIGS, KLSA.notation: KLSA}
    return notation.read(text, kinds, what="model")


def read_indexed(
    model: str | ModelConfig | None, smooth: str | KLSA | None
) -> tuple[ModelConfig | None, KLSA | None]:
    """Read what is fitted as part of indexing; smooth "auto" is `klsa` beside a model."""
    from likewise.models.klsa import KLSA

    config = _read(model)
    if isinstance(config, KLSA):
        raise UsageError(f"{config} goes beside a model of documents: it is for smooth, not model")
    kernel = _read(smooth) if smooth != "auto" else KLSA() if config else None
    if kernel is not None and not isinstance(kernel, KLSA):
        raise UsageError(f"{kernel} smooths no ranking; smooth is klsa, none or auto")
    return config, kernel


def _read(model: str | ModelConfig | KLSA | None) -> ModelConfig | KLSA | None:
    if isinstance(model, str):
        return None if model.strip().lower() == "none" else read_fitted(model)
    return model


def fit_where_possible(
    folder: Path,
    config: ModelConfig | KLSA,
    *,
    threads: int = 0,
    progress: Watch | None = None,
) -> None:
    """Fit a model as part of indexing; documents without words simply have none."""
    snapshot = open_snapshot(folder)
    possible = snapshot.n_tokens and (config.notation != "klsa" or _has_searched(snapshot))
    # Else it would hold what the fit replaces.
    snapshot.close()
    if possible:
        from likewise.models.klsa import NothingToFit

        with suppress(NothingToFit):
            fit_stored(folder, config, threads=threads, progress=progress)


def fit_stored(
    folder: Path,
    config: ModelConfig | KLSA,
    *,
    name: str = "",
    vectors: Source | None = None,
    ids: Names | None = None,
    gram: Gram | None = None,
    sample: Sample | None = None,
    warm_start: bool = False,
    default: bool = False,
    threads: int = 0,
    progress: Watch | None = None,
) -> AnyModel | AnySpace:
    """Fit a model on a collection and store it there, with the vectors of all documents by it.

    Options are those of `Models.fit`.
    """
    from likewise.models.klsa import KLSA

    if isinstance(config, KLSA):
        if warm_start:
            raise UsageError(f"{config} cannot be resumed; ddm and lda can")
        _check_kernel(config, name, vectors, ids, gram)
    else:
        if gram is not None:
            raise UsageError(f"{config} has no kernel that a function (gram) could give; klsa has")
        config = _of_field(config, vectors, ids)
    role = "smooth" if isinstance(config, KLSA) else "like"
    with _Fit(folder, name or config.notation, role, default=default) as fit:
        model: AnyModel | AnySpace
        if isinstance(config, KLSA):
            model = _fit_kernel(fit, config, vectors, ids, gram, threads, progress)
        else:
            model = _fit_model(fit, config, vectors, ids, sample, warm_start, threads, progress)
        fit.store(model, threads=threads)
    return model


def _fit_model(
    fit: _Fit,
    config: ModelConfig,
    vectors: Source | None,
    ids: Names | None,
    sample: Sample | None,
    warm_start: bool,
    threads: int,
    progress: Watch | None,
) -> AnyModel:
    from likewise.models.bags import Sample
    from likewise.models.fitting import fit_model
    from likewise.models.stored import load_model
    from likewise.models.topics import TopicModel
    from likewise.models.vectors import read_vectors

    given = None
    if vectors is not None and not getattr(config, "field", ""):
        given = read_vectors(fit.snapshot, vectors, ids=ids)
    origin = load_model(fit.snapshot, fit.name) if warm_start else None
    if origin is not None and not isinstance(origin, TopicModel):
        raise UsageError(f"{fit.name} cannot be resumed; ddm and lda can")
    return fit_model(
        fit.snapshot,
        config,
        sample=sample or Sample(),
        threads=threads,
        origin=origin,
        watch=progress,
        vectors=given,
    )


def _fit_kernel(
    fit: _Fit,
    config: KLSA,
    vectors: Source | None,
    ids: Names | None,
    gram: Gram | None,
    threads: int,
    progress: Watch | None,
) -> AnySpace:
    snapshot, name = fit.snapshot, fit.name
    if vectors is not None:
        from likewise.models.user_kernels import fit_features
        from likewise.models.vectors import read_vectors

        features = read_vectors(snapshot, vectors, ids=ids)
        field = vectors if _in_field(vectors) else ""
        return fit_features(snapshot, features, config, name, field=field, threads=threads)
    if gram is not None:
        from likewise.models.gram import fit_gram

        return fit_gram(snapshot, gram, config, name)
    from likewise.models.klsa import fit_space

    return fit_space(snapshot, config, name=name, threads=threads, watch=progress)


class _Fit:
    """A fit under way: it reads one generation, and others may write meanwhile."""

    def __init__(self, folder: Path, name: str, role: str, *, default: bool) -> None:
        from likewise.models.stored import check_name

        self.snapshot = open_snapshot(folder)
        self.name = name
        self._role = role
        self._default = default
        with storage_errors(folder):
            # Not after hours of fitting.
            check_name(self.snapshot.manifest, name, role)
            self._job = Job(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._job.close()
        folder = self.snapshot.folder
        self.snapshot.close()
        # What it held until now goes with the next writer, if that is another process.
        tidy(folder)

    def store(self, model: Any, *, threads: int) -> None:
        """Store a model, with the vectors of all documents by it."""
        from likewise.models.stored import store_model

        store_model(
            self.snapshot,
            model,
            name=self.name,
            job=self._job,
            noted=self._chosen(model),
            default=self._default,
            threads=threads or os.cpu_count() or 1,
        )

    def _chosen(self, model: Model) -> dict[str, Any]:
        """Give how documents are compared by a model, and how well it knows those of now."""
        from likewise.like.ageing import measure
        from likewise.models.model import DRIFT, WEIGHTS

        chosen: dict[str, Any] = {}
        if DRIFT in model.derived:
            fitness = measure(self.snapshot, model, self.snapshot.live_docs())
            chosen["fitness"] = asdict(fitness)
        if WEIGHTS in model.derived:
            chosen["weights"] = asdict(model.weights(self.snapshot))
        return chosen


def _has_searched(snapshot: Snapshot) -> bool:
    """Whether there is a term that is searched for: filters may leave none."""
    if not snapshot.analysis.filters_terms:
        return True
    terms = np.arange(snapshot.n_terms)
    return bool(snapshot.admitted(*snapshot.frequencies(terms)).any())


def _of_field(config: ModelConfig, vectors: Source | None, ids: Names | None) -> ModelConfig:
    """Note the field that vectors come from, so that documents added later are read there too."""
    from likewise.models.supplied import Supplied

    if vectors is None:
        return config
    if not isinstance(config, Supplied):
        raise UsageError(f"{config} is not made of vectors: the model that is, is called vectors")
    fielded = _in_field(vectors)
    if (config.field or fielded) and (not fielded or config.field not in ("", vectors)):
        raise UsageError(f"{config}: vectors stand in a field, or come from elsewhere, not both")
    if fielded and ids is not None:
        raise UsageError("vectors in a field need no ids: each stands with its document")
    return replace(config, field=vectors) if _in_field(vectors) else config


def _check_kernel(
    config: KLSA, name: str, vectors: Source | None, ids: Names | None, gram: Gram | None
) -> None:
    """Raise unless a kernel is that of words, or given in one way."""
    if vectors is not None and gram is not None:
        raise UsageError("a kernel is given by vectors or by a function (gram), not by both")
    if ids is not None and (vectors is None or _in_field(vectors)):
        raise UsageError("ids name the documents of vectors that stand in no field")
    if gram is not None and not callable(gram):
        raise UsageError(f"gram is a function of two lists of texts, not {gram!r}")
    if (vectors is not None or gram is not None) and config.kernel != type(config).kernel:
        raise UsageError(f"{config}: its kernel is of words; vectors and functions are their own")
    if set(name) & set(",()="):
        raise UsageError(f"{name!r}: a name has no commas, parentheses or = in it")


def _in_field(source: Source) -> TypeGuard[str]:
    return isinstance(source, str) and not source.endswith(".npy")

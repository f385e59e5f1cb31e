"""A fit from the configuration to what is stored, with all that is worked out by the model."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from likewise.collection.cleaning import tidy
from likewise.collection.files import storage_errors
from likewise.collection.job import Job
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.models.fitting import Config, FitJob, Watch
    from likewise.models.model import Model

# What smooths rankings beside a model of documents.
SMOOTHED = "klsa"


def read_indexed(
    model: str | Config | None, smooth: str | Config | None
) -> tuple[Config | None, Config | None]:
    """Read what is fitted as part of indexing; smooth "auto" is `klsa` beside a model."""
    from likewise.models.fitting import read_config
    from likewise.models.model import SMOOTH

    config = _read(model)
    if config is not None and config.role == SMOOTH:
        raise UsageError(f"{config} goes beside a model of documents: it is for smooth, not model")
    kernel = _read(smooth) if smooth != "auto" else read_config(SMOOTHED) if config else None
    if kernel is not None and kernel.role != SMOOTH:
        raise UsageError(f"{kernel} smooths no ranking; smooth is klsa, none or auto")
    return config, kernel


def _read(model: str | Config | None) -> Config | None:
    from likewise.models.fitting import read_config

    if model is None or (isinstance(model, str) and model.strip().lower() == "none"):
        return None
    return read_config(model)


def fit_where_possible(
    folder: Path,
    config: Config,
    *,
    threads: int = 0,
    progress: Watch | None = None,
) -> None:
    """Fit a model as part of indexing; documents without words simply have none."""
    from likewise.models.model import SMOOTH

    snapshot = open_snapshot(folder)
    possible = snapshot.n_tokens and (config.role != SMOOTH or _has_searched(snapshot))
    # Else it would hold what the fit replaces.
    snapshot.close()
    if possible:
        from likewise.models.fitting import FitJob
        from likewise.models.klsa import NothingToFit

        with suppress(NothingToFit):
            fit_stored(folder, config, FitJob(threads=threads, watch=progress))


def fit_stored(folder: Path, config: Config, job: FitJob, *, default: bool = False) -> Model:
    """Fit a model on a collection and store it there, with the vectors of all documents by it.

    With `default` it answers from now on where no model is named.
    """
    from likewise.models.fitting import fit_model

    job = job._replace(name=job.name or config.notation)
    with _Fit(folder, job.name, config.role, default=default) as fit:
        model = fit_model(fit.snapshot, config, job)
        fit.store(model, threads=job.threads)
    return model


class _Fit:
    """A fit under way: it reads one generation, and others may write meanwhile."""

    def __init__(self, folder: Path, name: str, role: str, *, default: bool) -> None:
        from likewise.models.kinds import check_name

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

    def store(self, model: Model, *, threads: int) -> None:
        """Store a model, with the vectors of all documents by it."""
        from likewise.models.kinds import store_model

        store_model(
            self.snapshot,
            model,
            name=self.name,
            job=self._job,
            note=partial(self._note, model),
            default=self._default,
            threads=threads or os.cpu_count() or 1,
        )

    def _note(self, model: Model, stored: Snapshot, name: str) -> dict[str, Any]:
        """Give what documents have in common by a model, and how well it knows those of now."""
        from likewise.like.components import Encoder
        from likewise.like.drift import measure
        from likewise.like.effort import measure_effort
        from likewise.like.typical import measure_typical
        from likewise.models.model import DRIFT, TYPICAL
        from likewise.models.stored_vectors import vectors_of

        noted: dict[str, Any] = {}
        if DRIFT in model.derived:
            fitness = measure(self.snapshot, model, self.snapshot.live_docs())
            noted["fitness"] = asdict(fitness)
        if TYPICAL in model.derived:
            encoder = Encoder(vectors_of(stored, name))
            typical = measure_typical(encoder)
            noted |= {"typical": asdict(typical), "effort": measure_effort(encoder, typical)}
        return noted


def _has_searched(snapshot: Snapshot) -> bool:
    """Whether there is a term that is searched for: filters may leave none."""
    if not snapshot.analysis.filters_terms:
        return True
    terms = np.arange(snapshot.n_terms)
    return bool(snapshot.admitted(*snapshot.frequencies(terms)).any())

"""How is a model fitted and stored, with all that is worked out by it?"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.like.halves import Watch as DocWatch
    from likewise.models.bags import Sample
    from likewise.models.fitting import Config as ModelConfig
    from likewise.models.fitting import Watch
    from likewise.models.store import AnyModel
    from likewise.models.vectors import Names, Source


def fit_where_possible(
    folder: Path,
    config: ModelConfig,
    *,
    threads: int = 0,
    watch: Watch | None = None,
    on_doc: DocWatch | None = None,
) -> None:
    """Fit a model as part of indexing; documents without words simply have none."""
    if open_snapshot(folder).n_tokens:
        fit_stored(folder, config, threads=threads, watch=watch, on_doc=on_doc)


def keep_up(writer: Writer, *, threads: int = 0, on_doc: DocWatch | None = None) -> None:
    """Bring what is stored of documents by every model up to date."""
    if writer.manifest.models:
        from likewise.like import store
        from likewise.terms.prepared import store_prepared
        from likewise.terms.store import keep_up_graphs

        threads = threads or os.cpu_count() or 1
        store.keep_up(writer, threads=threads, watch=on_doc)
        keep_up_graphs(writer, threads=threads)
        store_prepared(writer, threads=threads)


def fit_stored(
    folder: Path,
    config: ModelConfig,
    *,
    name: str = "",
    sample: Sample | None = None,
    threads: int = 0,
    go_on: bool = False,
    watch: Watch | None = None,
    on_doc: DocWatch | None = None,
    vectors: Source | None = None,
    vector_ids: Names | None = None,
) -> AnyModel:
    """Fit a model on a collection and store it there, with the halves of all documents.

    `vectors` and `vector_ids` are as in `Collection.fit_vectors`.
    """
    from likewise.like.ageing import store_fitness
    from likewise.like.store import choose_weights, store_halves
    from likewise.models.bags import Sample
    from likewise.models.fitting import fit_model
    from likewise.models.store import check_name, load_model, save_model
    from likewise.models.topics import TopicModel
    from likewise.models.vectors import read_vectors

    snapshot = open_snapshot(folder)
    config = _of_field(config, vectors, vector_ids)
    given = None
    if vectors is not None and not getattr(config, "field", ""):
        given = read_vectors(snapshot, vectors, ids=vector_ids)
    stored_as = name or config.notation
    origin = load_model(snapshot, stored_as) if go_on else None
    if origin is not None and not isinstance(origin, TopicModel):
        raise UsageError(f"{stored_as} cannot be gone on with; ddm and lda can")
    with Writer(folder) as writer:
        # Not after hours of fitting.
        check_name(writer.manifest, stored_as)
        model = fit_model(
            snapshot,
            config,
            sample=sample or Sample(),
            threads=threads,
            origin=origin,
            watch=watch,
            vectors=given,
        )
        save_model(writer, model, name=stored_as)
        store_fitness(writer, stored_as)
        choose_weights(writer, stored_as)
        store_halves(writer, name=stored_as, threads=threads or os.cpu_count() or 1, watch=on_doc)
    return model


def _of_field(config: ModelConfig, vectors: Source | None, ids: Names | None) -> ModelConfig:
    """Note the field that vectors come from, so that documents added later are read there too."""
    from likewise.models.supplied import Supplied

    if vectors is None:
        return config
    if not isinstance(config, Supplied):
        raise UsageError(f"{config} is not made of vectors: the model that is, is called vectors")
    in_field = isinstance(vectors, str) and not vectors.endswith(".npy")
    if (config.field or in_field) and (not in_field or config.field not in ("", vectors)):
        raise UsageError(f"{config}: vectors stand in a field, or come from elsewhere, not both")
    if in_field and ids is not None:
        raise UsageError("vectors in a field need no ids: each stands with its document")
    return replace(config, field=cast("str", vectors)) if in_field else config

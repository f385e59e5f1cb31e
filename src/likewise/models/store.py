"""How does a model stay with its collection? Arrays and a JSON file, memory-mapped, no pickle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from likewise.collection.files import check_content, check_size, map_array, write_array, write_bytes
from likewise.collection.manifest import GRAPH, KERNEL, Manifest, ModelEntry
from likewise.collection.snapshot import MODELS, Snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError, FormatError, UsageError
from likewise.models.bags import Vocabulary
from likewise.models.priors import Priors
from likewise.models.subspace import Subspace
from likewise.models.supplied import SuppliedModel
from likewise.models.topics import TopicModel
from likewise.models.vectors import Kept
from likewise.neighbours.coded import Coded

FORMAT = 1
_ABOUT = "model.json"
_CHECKED_AT_OPEN = 64 << 20
# Models that do not decompose documents stand aside, and are called so.
_CALLED = {GRAPH: "a graph of terms", KERNEL: "a kernel model"}

AnyModel = TopicModel | Subspace | SuppliedModel


def save_model(writer: Writer, model: AnyModel, *, name: str = "") -> None:
    """Store a model with the collection, under its own name or another."""
    name = name or model.name
    check_name(writer.manifest, name)
    writer.put_model(name, kind=model.kind, write=lambda folder: _write(model, folder))


def load_model(collection: Snapshot, name: str | None = None) -> AnyModel:
    """Load a model by name; without one, the model that was fitted last."""
    entry = find_model(collection, name)
    folder = collection.folder / MODELS / entry.folder
    for file, expected in entry.files.items():
        (check_content if expected.size <= _CHECKED_AT_OPEN else check_size)(
            folder / file, expected
        )
    about = _about(folder)
    vocabulary = Vocabulary(
        map_array(folder / "vocabulary.npy"),
        map_array(folder / "vocabulary-doc-freqs.npy"),
        about["n_docs"],
    )
    shared: dict[str, Any] = {
        "name": entry.name,
        "vocabulary": vocabulary,
        "settings": about["settings"],
        "history": tuple(about["history"]),
    }
    if entry.kind == TopicModel.kind:
        return TopicModel(
            **shared,
            word_topics=_rows(folder / "word-topics.npy", len(vocabulary)),
            background=map_array(folder / "background.npy"),
            priors=Priors(
                map_array(folder / "alpha.npy"), map_array(folder / "gamma.npy"), *about["betas"]
            ),
            switch=about["switch"],
            labels=tuple(about["labels"]),
        )
    if entry.kind in (Subspace.kind, SuppliedModel.kind):
        axes = Subspace(
            **shared,
            basis=_rows(folder / "basis.npy", len(vocabulary)),
            values=map_array(folder / "values.npy"),
            weighting=about["weighting"],
            average_length=about["average_length"],
            power=about.get("power", 1.0),
        )
        return axes if entry.kind == Subspace.kind else _supplied(folder, about, axes)
    raise FormatError(
        f"{folder}: a model of kind {entry.kind!r}, which this likewise does not know"
    )


def check_name(manifest: Manifest, name: str, *, kind: str = "") -> None:
    """Raise where a model cannot be called that; `kind` is one that stands aside, if it is."""
    for entry in manifest.models:
        aside = entry.kind if entry.kind in _CALLED else ""
        if entry.name == name and aside != kind:
            what = _CALLED.get(entry.kind, f"a model of kind {entry.kind}")
            raise UsageError(f"{name!r} is the name of {what}; give another name")


def document_models(manifest: Manifest) -> list[ModelEntry]:
    """List the models that decompose documents; graphs of terms and kernels do not."""
    return [entry for entry in manifest.models if entry.kind not in _CALLED]


def find_model(collection: Snapshot, name: str | None) -> ModelEntry:
    """Find the entry of a model, or raise."""
    models = document_models(collection.manifest)
    if not models:
        raise UsageError(
            f"{collection.folder} has no model; fit one with: likewise fit {collection.folder}"
        )
    if name is None:
        return models[-1]
    for entry in models:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in models)
    raise UsageError(f"no model {name!r} in {collection.folder}; there is {known}")


def _supplied(folder: Path, about: Mapping[str, Any], axes: Subspace) -> SuppliedModel:
    centre, keys = map_array(folder / "centre.npy"), map_array(folder / "vector-keys.npy")
    width = len(centre)
    scales = map_array(folder / "vector-scales.npy")
    if len(scales) != len(keys):
        raise DamagedError(f"{folder}: {len(scales)} scales of vectors for {len(keys)} documents")
    codes = _shaped(folder / "vector-codes.npy", len(keys), width)
    return SuppliedModel(
        name=axes.name,
        axes=axes,
        turn=_shaped(folder / "turn.npy", axes.n_topics, width),
        centre=centre,
        trust=about["trust"],
        spread=about["spread"],
        blend=about["blend"],
        fixed=about["weight"],
        kept=Kept(keys, Coded(codes, scales)),
        settings=axes.settings,
        history=axes.history,
    )


def _write(model: AnyModel, folder: Path) -> None:
    about: dict[str, Any] = {
        "format": FORMAT,
        "n_docs": model.vocabulary.n_docs,
        "settings": dict(model.settings),
        "history": [dict(note) for note in model.history],
    }
    write_array(folder / "vocabulary.npy", model.vocabulary.terms, np.int64)
    write_array(folder / "vocabulary-doc-freqs.npy", model.vocabulary.doc_freqs, np.int64)
    if isinstance(model, TopicModel):
        write_array(folder / "word-topics.npy", model.word_topics.ravel(), np.float32)
        write_array(folder / "background.npy", model.background, np.float32)
        write_array(folder / "alpha.npy", model.priors.alpha, np.float64)
        write_array(folder / "gamma.npy", model.priors.gamma, np.float64)
        about |= {
            "betas": list(model.priors[2:]),
            "switch": model.switch,
            "labels": list(model.labels),
        }
    else:
        axes = model.axes if isinstance(model, SuppliedModel) else model
        write_array(folder / "basis.npy", np.ascontiguousarray(axes.basis).ravel(), np.float32)
        write_array(folder / "values.npy", np.asarray(axes.values), np.float64)
        about |= {
            "weighting": axes.weighting,
            "average_length": axes.average_length,
            "power": axes.power,
        }
    if isinstance(model, SuppliedModel):
        write_array(folder / "turn.npy", np.ascontiguousarray(model.turn).ravel(), np.float32)
        write_array(folder / "centre.npy", model.centre, np.float32)
        write_array(folder / "vector-keys.npy", model.kept.keys, np.uint64)
        write_array(folder / "vector-codes.npy", model.kept.points.codes.ravel(), np.int8)
        write_array(folder / "vector-scales.npy", model.kept.points.scales, np.float32)
        about |= {
            "trust": model.trust,
            "spread": model.spread,
            "blend": model.blend,
            "weight": model.fixed,
        }
    write_bytes(folder / _ABOUT, orjson.dumps(about, option=orjson.OPT_SERIALIZE_NUMPY))


def _about(folder: Path) -> Mapping[str, Any]:
    about: dict[str, Any] = orjson.loads((folder / _ABOUT).read_bytes())
    if about["format"] != FORMAT:
        raise FormatError(f"{folder}: a model of format {about['format']}; fit it again")
    return about


def _rows(path: Path, n_rows: int) -> NDArray[np.float32]:
    flat = map_array(path)
    if n_rows == 0 or len(flat) % n_rows:
        raise DamagedError(f"{path}: {len(flat)} numbers do not make {n_rows} rows")
    rows: NDArray[np.float32] = flat.reshape(n_rows, -1)
    return rows


def _shaped(path: Path, n_rows: int, width: int) -> NDArray[Any]:
    flat = map_array(path)
    if len(flat) != n_rows * width:
        raise DamagedError(f"{path}: {len(flat)} numbers do not make {n_rows} rows of {width}")
    return flat.reshape(n_rows, width)

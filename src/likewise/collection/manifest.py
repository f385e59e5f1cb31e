"""What makes up the collection at this moment?

One JSON file, replaced atomically: whatever it does not name does not belong to the collection.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from likewise.collection.files import Seal, sync_folder, write_bytes
from likewise.errors import DamagedError, FormatError, NotACollection
from likewise.text.analysis import Analysis

NAME = "manifest.json"
FORMAT = "likewise collection"
VERSION = 1
# Kinds of models that do not decompose documents: of terms, and of rankings.
GRAPH, KERNEL = "graph", "kernel"


@dataclass(frozen=True)
class Tombstones:
    """The deleted documents of a segment."""

    name: str
    n_docs: int
    n_tokens: int
    files: Mapping[str, Seal]


@dataclass(frozen=True)
class SegmentEntry:
    """A segment: its size, the terms that it was the first to use, and its files."""

    name: str
    n_docs: int
    n_tokens: int
    first_term: int
    n_terms: int
    files: Mapping[str, Seal]
    deleted: Tombstones | None = None

    @property
    def n_live(self) -> int:
        """How many documents are not deleted."""
        return self.n_docs - (self.deleted.n_docs if self.deleted else 0)


@dataclass(frozen=True)
class ModelEntry:
    """A model that was fitted on the collection: the user's name for it, its folder and files."""

    name: str
    kind: str
    folder: str
    files: Mapping[str, Seal]


@dataclass(frozen=True)
class DerivedEntry:
    """What was worked out of segments by a model, and can be worked out again.

    `model` is that model's folder ("" where none was needed). When the model or one of the
    segments goes, so does what was derived from it.
    """

    kind: str
    model: str
    segments: tuple[str, ...]
    folder: str
    files: Mapping[str, Seal]


@dataclass(frozen=True)
class Manifest:
    """The state of a collection; the model fitted last is the last of `models`."""

    analysis: Analysis = field(default_factory=Analysis)
    generation: int = 0
    last_name: int = 0
    segments: tuple[SegmentEntry, ...] = ()
    models: tuple[ModelEntry, ...] = ()
    derived: tuple[DerivedEntry, ...] = ()

    @property
    def n_terms(self) -> int:
        """How many terms the collection has ever used."""
        return sum(segment.n_terms for segment in self.segments)


def read_manifest(folder: Path) -> Manifest:
    """Read the state of the collection in a folder."""
    path = folder / NAME
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        what = "is not a collection" if folder.exists() else "does not exist"
        raise NotACollection(
            f"{folder} {what}; make one with: likewise index SOURCE --to {folder}"
        ) from None
    except OSError as error:
        raise NotACollection(f"{path}: cannot be read ({os.strerror(error.errno or 0)})") from None
    try:
        outer = orjson.loads(data)
        body, crc = outer["collection"], outer["crc"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise DamagedError(f"{path}: not a manifest; restore it from a copy") from None
    if outer.get("format") != FORMAT:
        raise NotACollection(f"{path}: not a manifest of {FORMAT}")
    if outer.get("version") != VERSION:
        raise FormatError(
            f"{folder} has format {outer.get('version')}; this likewise reads format {VERSION}: "
            "use the likewise that wrote it, or index the sources again"
        )
    if zlib.crc32(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)) != crc:
        raise DamagedError(f"{path}: its content was altered (checksum); restore it from a copy")
    return _from_json(body)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make a state the collection's, all at once."""
    body = _to_json(manifest)
    outer = {
        "format": FORMAT,
        "version": VERSION,
        "crc": zlib.crc32(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)),
        "collection": body,
    }
    aside = folder / (NAME + ".new")
    write_bytes(aside, orjson.dumps(outer, option=orjson.OPT_INDENT_2))
    aside.replace(folder / NAME)
    sync_folder(folder)


def _to_json(manifest: Manifest) -> dict[str, Any]:
    return {
        "analysis": manifest.analysis.to_json(),
        "generation": manifest.generation,
        "last_name": manifest.last_name,
        "segments": [_entry_to_json(segment) for segment in manifest.segments],
        "models": [_entry_to_json(model) for model in manifest.models],
        "derived": [_entry_to_json(entry) for entry in manifest.derived],
    }


def _entry_to_json(entry: SegmentEntry | Tombstones | ModelEntry | DerivedEntry) -> dict[str, Any]:
    values = dict(vars(entry))
    values["files"] = {name: list(seal) for name, seal in entry.files.items()}
    if isinstance(entry, SegmentEntry) and entry.deleted is not None:
        values["deleted"] = _entry_to_json(entry.deleted)
    return values


def _from_json(body: Mapping[str, Any]) -> Manifest:
    segments = []
    for entry in body["segments"]:
        deleted = entry["deleted"]
        if deleted is not None:
            deleted = Tombstones(**deleted | {"files": _seals(deleted["files"])})
        segments.append(
            SegmentEntry(**entry | {"files": _seals(entry["files"]), "deleted": deleted})
        )
    return Manifest(
        analysis=Analysis.from_json(body["analysis"]),
        generation=body["generation"],
        last_name=body["last_name"],
        segments=tuple(segments),
        models=tuple(
            ModelEntry(**model | {"files": _seals(model["files"])})
            for model in body.get("models", ())
        ),
        derived=tuple(
            DerivedEntry(
                **entry | {"files": _seals(entry["files"]), "segments": tuple(entry["segments"])}
            )
            for entry in body.get("derived", ())
        ),
    )


def _seals(files: Mapping[str, Any]) -> dict[str, Seal]:
    return {name: Seal(*numbers) for name, numbers in files.items()}

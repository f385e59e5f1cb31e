"""What makes up a collection in one generation: immutable once written.

`manifests/<generation>.json` has a state, `manifest.json` points to the newest. Whatever no
manifest names does not belong to the collection.
"""

from __future__ import annotations

import os
import shlex
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from likewise.collection.layout import MANIFESTS, PLAN, POINTER, UPGRADE, WORK
from likewise.collection.pack import PackEntry
from likewise.errors import DamagedError, FormatError, NotACollection, Remedy, UsageError
from likewise.text.analysis import REVISION, Analysis

FORMAT = "likewise collection"
VERSION = 2


class FileEntry(NamedTuple):
    """A file of no arrays: its size, and the checksum of all of it."""

    file: str
    size: int
    crc: int


@dataclass(frozen=True)
class Deleted:
    """The deleted documents of a segment, and what they counted for."""

    id: str
    n_docs: int
    n_tokens: int
    pack: PackEntry


@dataclass(frozen=True)
class SegmentEntry:
    """A segment: its size, the terms that it was the first to use, and its files.

    `id` is the identity of its documents. Packs are a list: what a later version adds to a
    segment is one more.
    """

    id: str
    n_docs: int
    n_tokens: int
    first_term: int
    n_terms: int
    documents: FileEntry
    packs: tuple[PackEntry, ...]
    deleted: Deleted | None = None

    @property
    def n_live(self) -> int:
        """How many documents are not deleted."""
        return self.n_docs - (self.deleted.n_docs if self.deleted else 0)


@dataclass(frozen=True)
class Artifact:
    """Something derived from the documents: a model, vectors, a term graph, pairs of terms, …

    It is valid while the manifest names all of its `inputs`: ids of artifacts, of segments and of
    deletions. `about` has small plain values; where they are all there is, there is no pack.
    """

    id: str
    kind: str
    version: int
    name: str
    inputs: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    pack: PackEntry | None = None


@dataclass(frozen=True)
class Manifest:
    """The state of a collection.

    Term numbers mean something within one `lineage`, which is new when everything is replaced.
    `fields` has the types of metadata fields that have one, `defaults` the model that answers
    where none is named, by what is asked. `analysis_revision` is that of the code that analysed the
    first documents, 0 where it wrote none.
    """

    analysis: Analysis = field(default_factory=Analysis)
    generation: int = 0
    lineage: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    segments: tuple[SegmentEntry, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    analysis_revision: int = REVISION

    @property
    def outdated(self) -> bool:
        """Whether documents were analysed by earlier code, so that queries find less of them."""
        return self.analysis_revision < REVISION and any(one.n_live for one in self.segments)

    @property
    def n_terms(self) -> int:
        """How many terms the collection has ever used."""
        return sum(segment.n_terms for segment in self.segments)

    def files(self) -> Iterator[FileEntry | PackEntry]:
        """List the files that it names."""
        for segment in self.segments:
            yield segment.documents
            yield from segment.packs
            if segment.deleted:
                yield segment.deleted.pack
        for artifact in self.artifacts:
            if artifact.pack:
                yield artifact.pack

    def ids(self) -> set[str]:
        """Give what artifacts may be derived from: all ids that it names."""
        found = {artifact.id for artifact in self.artifacts}
        for segment in self.segments:
            found |= {segment.id, *([segment.deleted.id] if segment.deleted else [])}
        return found


class Pointer(NamedTuple):
    """The newest generation, and the checksum of its manifest."""

    generation: int
    crc: int


def _make_one(folder: Path) -> Remedy:
    """Say how to make a collection there, or of what is there and looks like a source."""
    source, to = "SOURCE", str(folder)
    if folder.exists() and folder.name and folder.suffix != ".lw":
        source, to = to, f"{folder.with_suffix('') if folder.is_file() else folder}.lw"
    python = "source" if source == "SOURCE" else repr(source)
    return Remedy(
        f"make one with likewise.index({python}, to={to!r})",
        f"make one with: likewise index {shlex.quote(source)} --to {shlex.quote(to)}",
    )


def read_pointer(folder: Path) -> Pointer:
    """Read which generation of a collection is the newest."""
    path = folder / POINTER
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        what = "is not a collection" if folder.exists() else "does not exist"
        raise NotACollection(f"{folder} {what}", remedy=_make_one(folder)) from None
    except OSError as error:
        raise NotACollection(f"{path}: cannot be read ({os.strerror(error.errno or 0)})") from None
    try:
        read = orjson.loads(data)
        known, version = read["format"] == FORMAT, read["version"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise DamagedError(f"{path}: not a manifest; restore it from a copy") from None
    if not known:
        raise NotACollection(f"{path}: not a manifest of {FORMAT}")
    if version != VERSION:
        said = f"{folder} has format {version}; this likewise reads format {VERSION}"
        if version == 1:
            raise FormatError(said, remedy=_upgrade(folder))
        raise FormatError(f"{said}: use the likewise that wrote it, or index the sources again")
    try:
        return Pointer(int(read["generation"]), int(read["crc"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        raise DamagedError(f"{path}: not a manifest; restore it from a copy") from None


def _upgrade(folder: Path) -> Remedy:
    """Say how a collection of format 1 is brought up to date."""
    begun = ""
    if (folder / WORK / UPGRADE / PLAN).exists():
        begun = (
            ", which was broken off and goes on where it was; "
            f"in a shell, likewise clean {folder} gives up what it has done"
        )
    return Remedy(
        f"bring it up to date with likewise.upgrade({str(folder)!r}){begun}",
        f"bring it up to date with: likewise upgrade {folder}{begun}",
    )


def write_pointer(pointer: Pointer) -> bytes:
    """Write what `manifest.json` holds.

    An empty `collection` is what makes the code of format 1 say that it cannot read this one.
    """
    outer = {"format": FORMAT, "version": VERSION, **pointer._asdict(), "collection": {}}
    return orjson.dumps(outer, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def manifest_path(folder: Path, generation: int) -> Path:
    """Give the file of a generation."""
    return folder / MANIFESTS / f"{generation:08d}.json"


def parse_manifest(data: bytes, path: Path, *, crc: int | None = None) -> Manifest:
    """Read a state; `crc` is what the pointer knows of it."""
    try:
        outer = orjson.loads(data)
        body, found = outer["collection"], outer["crc"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise DamagedError(f"{path}: not a manifest; restore it from a copy") from None
    if _crc(body) != found or crc not in (None, found):
        raise DamagedError(f"{path}: its content was altered (checksum); restore it from a copy")
    try:
        return _from_json(body)
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise FormatError(
            f"{path}: written by another version of likewise ({error}): use that one"
        ) from None


def format_manifest(manifest: Manifest) -> tuple[bytes, int]:
    """Write a state: the file's content, and the checksum that the pointer keeps."""
    body = _to_json(manifest)
    crc = _crc(body)
    outer = {"crc": crc, "collection": body}
    return orjson.dumps(outer, option=orjson.OPT_INDENT_2), crc


def _crc(body: Any) -> int:
    return zlib.crc32(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))


def _to_json(manifest: Manifest) -> dict[str, Any]:
    values = dict(vars(manifest))
    values["analysis"] = manifest.analysis.to_json()
    values["segments"] = [_plain(segment) for segment in manifest.segments]
    values["artifacts"] = [_plain(artifact) for artifact in manifest.artifacts]
    plain: dict[str, Any] = orjson.loads(orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY))
    return plain


def _plain(entry: SegmentEntry | Deleted | Artifact) -> dict[str, Any]:
    values = dict(vars(entry))
    for name, value in values.items():
        if isinstance(value, FileEntry | PackEntry):
            values[name] = value._asdict()
        elif isinstance(value, Deleted):
            values[name] = _plain(value)
        elif name == "packs":
            values[name] = [pack._asdict() for pack in value]
    return values


def _from_json(body: Mapping[str, Any]) -> Manifest:
    return Manifest(
        analysis=Analysis.from_json(body["analysis"]),
        generation=body["generation"],
        lineage=body["lineage"],
        fields=body["fields"],
        defaults=body["defaults"],
        segments=tuple(_segment(entry) for entry in body["segments"]),
        artifacts=tuple(
            Artifact(
                **_known(Artifact, entry)
                | {"inputs": tuple(entry["inputs"]), "pack": _pack(entry["pack"])}
            )
            for entry in body["artifacts"]
        ),
        analysis_revision=int(body.get("analysis_revision", 0)),
    )


def _segment(entry: Mapping[str, Any]) -> SegmentEntry:
    deleted = entry["deleted"]
    if deleted is not None:
        deleted = Deleted(**_known(Deleted, deleted) | {"pack": _pack(deleted["pack"])})
    packs = [_pack(pack) for pack in entry["packs"]]
    return SegmentEntry(
        **_known(SegmentEntry, entry)
        | {
            "documents": FileEntry(**_known(FileEntry, entry["documents"])),
            "packs": tuple(pack for pack in packs if pack),
            "deleted": deleted,
        }
    )


def _known(kind: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what a later version may have added."""
    names = kind._fields if issubclass(kind, tuple) else [one.name for one in fields(kind)]
    return {name: value for name, value in entry.items() if name in names}


def _pack(entry: Mapping[str, Any] | None) -> PackEntry | None:
    return PackEntry(**_known(PackEntry, entry) | {"toc": tuple(entry["toc"])}) if entry else None

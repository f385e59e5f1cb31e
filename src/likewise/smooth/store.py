"""How do rows of documents stay with their collection? A byte a coordinate, by segment, mapped.

What is missing (a segment that was added or merged and then the machine stopped) is worked out
when it is asked for, so that answers never depend on what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import orjson
from numpy.typing import NDArray

from likewise.collection.files import (
    ArrayWriter,
    check_content,
    check_size,
    map_array,
    write_array,
    write_bytes,
)
from likewise.collection.manifest import KERNEL, DerivedEntry, Manifest, ModelEntry
from likewise.collection.snapshot import DERIVED, MODELS, Snapshot, open_snapshot
from likewise.collection.writer import Writer
from likewise.compiled import Floats, Ints
from likewise.errors import (
    CollectionError,
    DamagedError,
    FormatError,
    StorageError,
    UsageError,
)
from likewise.models.bags import Vocabulary
from likewise.models.store import check_name
from likewise.models.vectors import Kept
from likewise.neighbours.coded import Coded, Codes, decode, encode
from likewise.smooth.finder import store_finder
from likewise.smooth.given import GivenSpace
from likewise.smooth.kernels import read_kernel
from likewise.smooth.space import KLSA, KernelSpace

FORMAT = 1
ROWS = "rows"
_ABOUT = "kernel.json"
_CHECKED_AT_OPEN = 64 << 20
_DOCS_AT_ONCE = 4096

AnySpace = KernelSpace | GivenSpace
Watch = Callable[[int], None]


class StoredRows:
    """The rows of all documents of a snapshot by one model, mapped where they are stored.

    `exact` keeps them in single precision, four times as large, and nothing of it on disk: what
    rounding costs can be measured against it.
    """

    def __init__(
        self,
        collection: Snapshot,
        space: AnySpace,
        entry: ModelEntry | None = None,
        *,
        exact: bool = False,
    ) -> None:
        self.collection = collection
        self.space = space
        self.entry = None if exact else entry
        self.exact = exact
        self._found: dict[str, DerivedEntry] = {}
        if self.entry is not None:
            for derived in collection.derived(ROWS, model=self.entry.folder):
                self._found[derived.segments[0]] = derived

    def missing(self) -> list[int]:
        """List the segments of which nothing is stored."""
        names = [segment.entry.name for segment in self.collection.segments]
        return [i for i, name in enumerate(names) if name not in self._found]

    @cached_property
    def segments(self) -> list[Coded]:
        """The rows of each segment, deleted documents included."""
        return [self._segment(i) for i in range(len(self.collection.segments))]

    def of(self, docs: Ints) -> Floats:
        """Give the rows of documents, as they are kept."""
        bases, out = self.collection.bases, np.empty((len(docs), self.space.n_axes), np.float32)
        owners = np.searchsorted(bases, docs, "right") - 1
        for i in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == i)
            codes, scales = self.segments[i]
            local = docs[mine] - bases[i]
            out[mine] = decode(Coded(codes[local], scales[local]))
        return out

    def coded(self, segment: int, watch: Watch | None = None) -> Iterator[Coded]:
        """Work out the rows of a segment's documents, some thousands at a time."""
        bases = self.collection.bases
        for first in range(int(bases[segment]), int(bases[segment + 1]), _DOCS_AT_ONCE):
            last = min(first + _DOCS_AT_ONCE, int(bases[segment + 1]))
            rows = self.space.document_rows(self.collection, np.arange(first, last))
            if self.exact:
                yield Coded(cast("Codes", rows), np.ones(len(rows), np.float32))
            else:
                yield encode(rows)
            if watch is not None:
                watch(last - first)

    def _segment(self, i: int) -> Coded:
        segment, width = self.collection.segments[i], self.space.n_axes
        derived = self._found.get(segment.entry.name)
        # A writer may have removed it after the collection was opened; the segment is mapped.
        if derived is None or not (self.collection.folder / DERIVED / derived.folder).exists():
            parts = list(self.coded(i)) or [encode(np.empty((0, width), np.float32))]
            return Coded(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        folder = self.collection.derived_folder(derived)
        codes, scales = map_array(folder / "codes.npy"), map_array(folder / "scales.npy")
        if len(scales) != segment.n_docs or len(codes) != segment.n_docs * width:
            raise DamagedError(f"{folder}: rows that do not fit their segment; fit the model again")
        return Coded(codes.reshape(segment.n_docs, width), scales)


def stored_kernels(manifest: Manifest) -> list[ModelEntry]:
    """List the kernel models of a collection."""
    return [entry for entry in manifest.models if entry.kind == KERNEL]


def find_kernel(collection: Snapshot, name: str = "") -> ModelEntry:
    """Find the entry of a kernel model, or raise.

    Without a name it is the one called "klsa", and where there is none the one fitted last.
    """
    entries = stored_kernels(collection.manifest)
    if not entries:
        raise UsageError(
            f"{collection.folder} has no kernel model; fit one with: likewise fit "
            f"{collection.folder} --model klsa"
        )
    named = [entry for entry in entries if entry.name == (name or KLSA.notation)]
    if named or not name:
        return (named or entries)[-1]
    known = ", ".join(entry.name for entry in entries)
    raise UsageError(f"no kernel model {name!r} in {collection.folder}; there is {known}")


def open_rows(collection: Snapshot, name: str = "") -> StoredRows:
    """Open the rows of documents by a kernel model (see `find_kernel`)."""
    entry = find_kernel(collection, name)
    return StoredRows(collection, load_space(collection, entry), entry)


def save_space(writer: Writer, space: AnySpace) -> None:
    """Store a kernel model with the collection, under its name."""
    check_name(writer.manifest, space.name, kind=KERNEL)
    writer.put_model(space.name, kind=KERNEL, write=lambda folder: _write(space, folder))


def store_rows(writer: Writer, name: str = "", *, watch: Watch | None = None) -> None:
    """Store what is missing of the rows by a kernel model, and an index where that pays.

    `watch` is told of documents. What finds no room is left to be worked out when asked for.
    """
    with suppress(OSError, StorageError):
        stored = open_rows(open_snapshot(writer.folder), name)
        assert stored.entry is not None
        for i in stored.missing():

            def write(folder: Path, i: int = i) -> None:
                with (
                    ArrayWriter(folder / "codes.npy", np.int8) as codes,
                    ArrayWriter(folder / "scales.npy", np.float32) as scales,
                ):
                    for part in stored.coded(i, watch):
                        codes.append(part.codes.ravel())
                        scales.append(part.scales)

            segment = stored.collection.segments[i].entry.name
            writer.put_derived(ROWS, model=stored.entry.folder, segments=[segment], write=write)
        store_finder(writer, open_rows(open_snapshot(writer.folder), name))


def keep_up_rows(writer: Writer, *, watch: Watch | None = None) -> None:
    """Store the rows, by every kernel model, of documents that are new, or were merged."""
    for entry in stored_kernels(writer.manifest):
        store_rows(writer, entry.name, watch=watch)


def _write(space: AnySpace, folder: Path) -> None:
    about: dict[str, Any] = {
        "format": FORMAT,
        "settings": dict(space.settings),
        "history": [dict(note) for note in space.history],
    }
    write_array(folder / "values.npy", space.values, np.float64)
    write_array(folder / "basis.npy", np.ascontiguousarray(space.basis).ravel(), np.float32)
    if isinstance(space, GivenSpace):
        write_array(folder / "keys.npy", space.kept.keys, np.uint64)
        write_array(folder / "codes.npy", space.kept.points.codes.ravel(), np.int8)
        write_array(folder / "scales.npy", space.kept.points.scales, np.float32)
        about |= {"kind": "given", "field": space.field}
    else:
        write_array(folder / "vocabulary.npy", space.vocabulary.terms, np.int64)
        write_array(folder / "vocabulary-doc-freqs.npy", space.vocabulary.doc_freqs, np.int64)
        write_array(folder / "shares.npy", space.shares, np.float64)
        about |= {
            "kind": "words",
            "n_docs": space.vocabulary.n_docs,
            "average_length": space.average_length,
            "kernel": str(space.kernel),
        }
    write_bytes(folder / _ABOUT, orjson.dumps(about, option=orjson.OPT_SERIALIZE_NUMPY))


def load_space(collection: Snapshot, entry: ModelEntry) -> AnySpace:
    """Load a kernel model, memory-mapped, after its files were seen to be whole."""
    folder = collection.folder / MODELS / entry.folder
    if not folder.exists():
        raise CollectionError(
            f"{collection.folder} has changed since it was opened: the model {entry.name!r} was "
            "replaced or dropped; open it again, or refresh()"
        )
    for file, expected in entry.files.items():
        check = check_content if expected.size <= _CHECKED_AT_OPEN else check_size
        check(folder / file, expected)
    about = orjson.loads((folder / _ABOUT).read_bytes())
    if about["format"] != FORMAT:
        raise FormatError(f"{folder}: a kernel model of format {about['format']}; fit it again")
    values = map_array(folder / "values.npy")
    shared: dict[str, Any] = {
        "name": entry.name,
        "values": values,
        "settings": about["settings"],
        "history": tuple(about["history"]),
    }
    if about["kind"] == "given":
        keys, scales = map_array(folder / "keys.npy"), map_array(folder / "scales.npy")
        codes = _rows(folder / "codes.npy", len(values))
        if not len(keys) == len(scales) == len(codes):
            raise DamagedError(f"{folder}: {len(codes)} rows of {len(keys)} documents")
        return GivenSpace(
            **shared,
            basis=_rows(folder / "basis.npy", len(values)),
            field=about["field"],
            kept=Kept(keys, Coded(codes, scales)),
        )
    vocabulary = Vocabulary(
        map_array(folder / "vocabulary.npy"),
        map_array(folder / "vocabulary-doc-freqs.npy"),
        about["n_docs"],
    )
    basis = _rows(folder / "basis.npy", len(values))
    if len(basis) != len(vocabulary):
        raise DamagedError(f"{folder}: {len(basis)} rows of {len(vocabulary)} terms")
    return KernelSpace(
        **shared,
        vocabulary=vocabulary,
        shares=map_array(folder / "shares.npy"),
        average_length=about["average_length"],
        kernel=read_kernel(about["kernel"]),
        basis=basis,
    )


def _rows(path: Path, width: int) -> NDArray[Any]:
    flat = map_array(path)
    if width == 0 or len(flat) % width:
        raise DamagedError(f"{path}: {len(flat)} numbers do not make rows of {width}")
    return flat.reshape(-1, width)

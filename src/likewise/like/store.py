"""How do halves stay with their collection? A folder for each segment, and one for the finder.

What is missing (a segment that was added or merged and then the machine stopped) is worked out
when it is asked for, so that answers never depend on what is stored.
"""

from __future__ import annotations

import importlib.util
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import orjson

from likewise.collection.files import write_bytes
from likewise.collection.manifest import DerivedEntry, ModelEntry
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import Writer
from likewise.compiled import Floats, Ints
from likewise.errors import StorageError
from likewise.like.halves import Halves, Watch, halve_all, map_halves, put_together, write_halves
from likewise.models.halving import unrecognised, weight_of_words
from likewise.models.store import AnyModel, document_models, find_model, load_model
from likewise.models.supplied import SuppliedModel
from likewise.neighbours.coded import Coded, CodedPoints, decode
from likewise.neighbours.finder import Finder
from likewise.neighbours.partitions import IVF

HALVES, FINDER, WEIGHTS = "halves", "finder", "weights"
# Of large collections fewer own words are kept: 5 million documents then take 1.5 GB.
STORED_WORDS, _FEWER_WORDS, _MANY_DOCS = 75, 30, 500_000
# Below this a scan of all compact halves takes about a millisecond.
_FEWEST_FOUND = 100_000
_FOUND_BY = IVF(refine=4)
# Documents that the finder does not have are scanned; beyond this share it is built anew.
_MOST_SCANNED = 0.2
_ABOUT = "about.json"


@dataclass(frozen=True)
class Weights:
    """How much each half counts, and how that was chosen."""

    points: float = 1.0
    words: float = 1.0
    chosen: str = "fixed"


class StoredHalves:
    """The halves of all documents of a snapshot by one model, mapped where they are stored."""

    def __init__(
        self, collection: Snapshot, model: AnyModel, entry: ModelEntry | None, words: int
    ) -> None:
        self.collection = collection
        self.model = model
        self.words = words
        self._entry = entry
        self._found: dict[str, DerivedEntry] = {}
        if entry is not None:
            for derived in collection.derived(HALVES, model=entry.folder):
                self._found[derived.segments[0]] = derived

    def missing(self) -> list[int]:
        """List the segments of which nothing is stored."""
        names = [segment.entry.name for segment in self.collection.segments]
        return [i for i, name in enumerate(names) if name not in self._found]

    @cached_property
    def segments(self) -> list[Halves]:
        """The halves of each segment, deleted documents included."""
        return [self._segment(i) for i in range(len(self.collection.segments))]

    @cached_property
    def finder(self) -> tuple[Finder, list[int]] | None:
        """An index of compact halves, and the segments that it has."""
        if self._entry is None:
            return None
        entries = self.collection.derived(FINDER, model=self._entry.folder)
        if not entries or not _has_faiss():
            return None
        names = [segment.entry.name for segment in self.collection.segments]
        covered = [names.index(name) for name in entries[0].segments]
        points = CodedPoints([self.segments[i].points for i in covered])
        folder = self.collection.derived_folder(entries[0])
        return _FOUND_BY.load(folder, points), covered

    @cached_property
    def weights(self) -> Weights | None:
        """How the halves are weighed, where that was stored."""
        if self._entry is None:
            return None
        for entry in self.collection.derived(WEIGHTS, model=self._entry.folder):
            folder = self.collection.derived_folder(entry)
            return Weights(**orjson.loads((folder / _ABOUT).read_bytes()))
        return None

    def docs_of(self, segment: int) -> Ints:
        """Give the numbers of a segment's documents."""
        bases = self.collection.bases
        return np.arange(bases[segment], bases[segment + 1])

    def point(self, doc: int) -> Floats:
        """Give the compact half of a document."""
        bases = self.collection.bases
        i = int(np.searchsorted(bases, doc, "right")) - 1
        row = slice(doc - int(bases[i]), doc - int(bases[i]) + 1)
        points = self.segments[i].points
        found: Floats = decode(Coded(points.codes[row], points.scales[row]))[0]
        return found

    def _segment(self, i: int) -> Halves:
        segment = self.collection.segments[i]
        derived = self._found.get(segment.entry.name)
        if derived is not None:
            folder = self.collection.derived_folder(derived)
            return map_halves(folder, segment.n_docs, self.model.n_topics)
        parts = halve_all(self.collection, self.model, self.docs_of(i), words=self.words)
        return put_together([*parts])


def open_halves(collection: Snapshot, name: str | None = None) -> StoredHalves:
    """Open the halves by a model of the collection; without a name, the model fitted last."""
    entry = find_model(collection, name)
    words = STORED_WORDS if collection.n_docs < _MANY_DOCS else _FEWER_WORDS
    return StoredHalves(collection, load_model(collection, entry.name), entry, words)


def make_halves(
    collection: Snapshot, model: AnyModel, *, words: int = STORED_WORDS
) -> StoredHalves:
    """Work out halves by a model that need not be stored, each segment when it is asked for."""
    return StoredHalves(collection, model, None, words)


def store_halves(
    writer: Writer, *, name: str | None = None, threads: int = 1, watch: Watch | None = None
) -> None:
    """Store what is missing of the halves by a model, and a finder where that pays.

    `watch` is told of documents. What finds no room is left to be worked out when asked for.
    """
    with suppress(OSError, StorageError):
        halves = open_halves(open_snapshot(writer.folder), name)
        entry = find_model(halves.collection, halves.model.name)
        for i in halves.missing():
            docs = halves.docs_of(i)

            def write(folder: Path, docs: Ints = docs) -> None:
                parts = halve_all(
                    halves.collection,
                    halves.model,
                    docs,
                    words=halves.words,
                    threads=threads,
                    watch=watch,
                )
                write_halves(folder, parts)

            segment = halves.collection.segments[i].entry.name
            writer.put_derived(HALVES, model=entry.folder, segments=[segment], write=write)
        _store_finder(writer, entry)


def keep_up(writer: Writer, *, threads: int = 1, watch: Watch | None = None) -> None:
    """Store the halves by every model of documents that are new, or were merged."""
    for entry in document_models(writer.manifest):
        store_halves(writer, name=entry.name, threads=threads, watch=watch)


def store_weights(writer: Writer, weights: Weights, *, name: str | None = None) -> None:
    """Store how the halves by a model are weighed."""
    entry = find_model(open_snapshot(writer.folder), name)
    writer.put_derived(
        WEIGHTS,
        model=entry.folder,
        segments=[],
        write=lambda folder: write_bytes(folder / _ABOUT, orjson.dumps(vars(weights))),
    )


def choose_weights(writer: Writer, name: str) -> None:
    """Choose how the halves by a model are weighed, without judgements, and store it."""
    collection = open_snapshot(writer.folder)
    model = load_model(collection, name)
    if isinstance(model, SuppliedModel):
        weights = Weights(model.weight, 1.0, "fixed" if model.fixed else "trust")
    else:
        words = round(weight_of_words(unrecognised(model, collection)), 3)
        weights = Weights(1.0, words, "halving")
    store_weights(writer, weights, name=name)


def _store_finder(writer: Writer, entry: ModelEntry) -> None:
    collection = open_snapshot(writer.folder)
    sizes = {segment.entry.name: segment.n_docs for segment in collection.segments}
    if sum(sizes.values()) < _FEWEST_FOUND or not _has_faiss():
        return
    there = collection.derived(FINDER, model=entry.folder)
    covered = sum(sizes[name] for name in there[0].segments) if there else 0
    if covered >= (1 - _MOST_SCANNED) * sum(sizes.values()):
        return
    halves = open_halves(collection, entry.name)
    points = CodedPoints([part.points for part in halves.segments])
    finder = _FOUND_BY.build(points)
    writer.put_derived(FINDER, model=entry.folder, segments=[*sizes], write=finder.save)


def _has_faiss() -> bool:
    return importlib.util.find_spec("faiss") is not None

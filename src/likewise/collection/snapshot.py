"""What does the collection hold, as of now? A fixed view that later writes do not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from likewise.collection.build import content
from likewise.collection.cards import Card
from likewise.collection.files import REMEDY
from likewise.collection.generations import Lease, take_lease
from likewise.collection.languages import count_languages
from likewise.collection.layout import DATA
from likewise.collection.manifest import Artifact, Manifest
from likewise.collection.pack import Pack, PackEntry
from likewise.collection.placing import place_again
from likewise.collection.positions import Occurrences, Positions, all_positions, find_positions
from likewise.collection.records import TermCounts
from likewise.collection.schema import FieldType, known_types
from likewise.collection.segment import Segment
from likewise.collection.words import MAIN
from likewise.compiled import Bools, Ids, Ints
from likewise.errors import DamagedError, UnknownDocument, WrongType
from likewise.forking import Lock
from likewise.records import Document
from likewise.text.analysis import Analyzer, encode, make_analyzer
from likewise.text.table import Strings

Value = TypeVar("Value")

_NOT_MADE: Any = object()


class Snapshot:
    """The documents, terms and statistics of a collection at one moment.

    `doc` numbers run over all segments in the order in which documents were added; those of
    deleted documents stay unused until a merge. Statistics are those of the live documents, as
    if the deleted ones had never been there.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        lease: Lease | None = None,
        *,
        work: Path | None = None,
        before: Snapshot | None = None,
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.analysis = manifest.analysis
        self.lease = lease or Lease()
        self.closed = False
        # A relative path leads elsewhere in a process that has another working directory.
        self._place = folder.absolute()
        self._work = work
        self._memo: dict[Hashable, Any] = {}
        self._making: dict[Hashable, Any] = {}
        self._lock = Lock()
        kept = {segment.entry.id: segment for segment in before.segments} if before else {}
        self.segments: list[Segment] = [
            kept[entry.id]
            if entry.id in kept and kept[entry.id].entry == entry
            else Segment(entry, self.path_of, kept.get(entry.id))
            for entry in manifest.segments
        ]
        sizes = [segment.n_docs for segment in self.segments]
        self.bases: Ints = np.cumsum([0, *sizes], dtype=np.int64)
        gone = [entry.deleted for entry in manifest.segments if entry.deleted]
        self.n_docs = int(self.bases[-1]) - sum(dead.n_docs for dead in gone)
        self.n_tokens = sum(entry.n_tokens for entry in manifest.segments) - sum(
            dead.n_tokens for dead in gone
        )
        self.n_terms = manifest.n_terms

    def close(self) -> None:
        """Let go of the generation: what it names may then be removed."""
        self.closed = True
        self.lease.release()
        self.forget()

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen, (self._place, self.manifest.generation)

    def path_of(self, file: str) -> Path:
        """Give the path of a file that the manifest names."""
        if self._work is not None and (self._work / file).exists():
            return self._work / file
        return self.folder / DATA / file

    def memo(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Give what was made of this snapshot before, else make it; it goes with the snapshot."""
        # Not looked up twice: another thread may forget it meanwhile.
        value: Value = self._memo.get(key, _NOT_MADE)
        if value is not _NOT_MADE:
            return value
        with self._lock:
            mine = self._making.setdefault(key, Lock())
        with mine:
            value = self._memo.get(key, _NOT_MADE)
            if value is _NOT_MADE:
                value = self._memo[key] = make()
        return value

    def made(self, key: Hashable) -> Any | None:
        """Give what was made of this snapshot before; None where nothing was."""
        return self._memo.get(key)

    def forget(self) -> None:
        """Let go of what was made of this snapshot, which may refer to it and keep its lease."""
        self._memo.clear()

    def pack(self, entry: PackEntry) -> Pack:
        """Open a pack that the manifest names, once."""
        return self.memo(entry.file, lambda: Pack(self.path_of(entry.file), entry))

    @cached_property
    def analyzer(self) -> Analyzer:
        """The analysis that every query goes through."""
        return make_analyzer(self.analysis)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of its documents, the most frequent first."""
        return (
            tuple(self.language_counts()) if self.analysis.languages else (self.analysis.language,)
        )

    def language_counts(self) -> dict[str, int]:
        """Count the documents in each language, the most frequent first."""
        counts: Counter[str] = Counter()
        for segment in self.segments:
            counts.update(count_languages(segment.languages, segment.live, self.analysis.language))
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def n_slots(self) -> int:
        """One more than the largest `doc`, deleted ones included."""
        return int(self.bases[-1])

    @property
    def average_length(self) -> float:
        """The mean number of terms of a document."""
        return self.n_tokens / self.n_docs if self.n_docs else 0.0

    # Fields of words

    def has_field(self, field: str) -> bool:
        """Tell whether all documents were indexed with a field of words."""
        return all(field in segment.word_fields for segment in self.segments)

    def n_tokens_of(self, field: str) -> int:
        """Count the words of a field."""
        if field == MAIN:
            return self.n_tokens
        return sum(segment.words(field).n_tokens for segment in self.segments)

    def average_length_of(self, field: str) -> float:
        """Give the mean number of words that documents have in a field."""
        return self.n_tokens_of(field) / self.n_docs if self.n_docs else 0.0

    # Terms

    def find_terms(self, terms: Sequence[str]) -> Ints:
        """Give the numbers of terms, -1 for those that no document ever had."""
        return self.find_encoded(Strings.of([encode(term) for term in terms]))

    def find_encoded(self, terms: Strings) -> Ints:
        """Give the numbers of terms that are laid out as bytes."""
        out = np.full(terms.size, -1, np.int64)
        for segment in self.segments:
            segment.find_terms(terms, out)
        return out

    def terms(self, numbers: Ints | Ids) -> list[str]:
        """Give the terms of numbers."""
        numbers = numbers.astype(np.int64)
        if len(numbers) and numbers.view(np.uint64).max() >= self.n_terms:
            raise IndexError(f"{self.folder}: terms are numbered from 0 to {self.n_terms - 1}")
        if len(self.segments) == 1:
            return [term.decode() for term in self.segments[0].terms.take(numbers).all()]
        firsts = np.array([segment.entry.first_term for segment in self.segments])
        owners = np.searchsorted(firsts, numbers, "right") - 1
        out = [""] * len(numbers)
        for owner in set(owners.tolist()):
            places = np.flatnonzero(owners == owner)
            its = self.segments[owner].terms.take(numbers[places] - firsts[owner])
            for place, term in zip(places.tolist(), its.all(), strict=True):
                out[place] = term.decode()
        return out

    def frequencies(self, terms: Ints, field: str = MAIN) -> tuple[Ints, Ints]:
        """Count the documents and the occurrences of terms in a field of words."""
        doc_freqs = np.zeros(len(terms), np.int64)
        term_freqs = np.zeros(len(terms), np.int64)
        for segment in self.segments:
            docs, occurrences = segment.frequencies(terms, field)
            doc_freqs += docs
            term_freqs += occurrences
        return doc_freqs, term_freqs

    def admitted(self, doc_freqs: Ints, term_freqs: Ints) -> Bools:
        """Tell which terms the analysis admits, by their frequencies."""
        rule = self.analysis
        admitted = (doc_freqs >= max(rule.min_df, 1)) & (term_freqs >= rule.min_count)
        if rule.max_df < 1:
            admitted &= doc_freqs <= rule.max_df * self.n_docs
        if rule.max_count:
            admitted &= term_freqs <= rule.max_count
        return admitted

    # Documents

    def find_docs(self, doc_ids: Sequence[str]) -> Ints:
        """Give the numbers of documents, -1 for ids that are not there."""
        keys = Strings.of([encode(doc_id) for doc_id in doc_ids])
        out = np.full(len(doc_ids), -1, np.int64)
        for base, segment in zip(self.bases.tolist(), self.segments, strict=False):
            found = segment.find_docs(keys)
            out = np.where(found >= 0, found + base, out)
        return out

    def find_doc(self, doc_id: str) -> int:
        """Give the number of one document, or raise."""
        if not isinstance(doc_id, str):
            raise WrongType.of(doc_id, "an id is a text")
        doc = int(self.find_docs([doc_id])[0])
        if doc < 0:
            raise UnknownDocument(f"no document {doc_id!r} in {self.folder}")
        return doc

    def doc_ids(self, docs: Ints) -> list[str]:
        """Give the ids of documents."""
        if len(self.segments) == 1:
            return self.segments[0].doc_ids(docs)
        out = [""] * len(docs)
        for i, places, rows in self.by_segment(docs):
            ids = self.segments[i].doc_ids(rows)
            for place, doc_id in zip(places.tolist(), ids, strict=True):
                out[place] = doc_id
        return out

    def cards(self, docs: Ints) -> list[Card]:
        """Give what answers show of documents, all of their fields included."""
        if len(self.segments) == 1:
            return self.segments[0].whole_cards(docs)
        out: list[Any] = [None] * len(docs)
        for i, places, rows in self.by_segment(docs):
            cards = self.segments[i].whole_cards(rows)
            for place, card in zip(places.tolist(), cards, strict=True):
                out[place] = card
        return out

    def document(self, doc: int) -> Document:
        """Give a document."""
        i, local = self.locate(doc)
        segment = self.segments[i]
        return segment.documents[local]

    def documents(self) -> Iterator[tuple[int, Document]]:
        """Go through the live documents in order."""
        for base, segment in zip(self.bases.tolist(), self.segments, strict=False):
            for block in range(segment.documents.n_blocks):
                first, documents = segment.documents.block(block)
                for local, document in enumerate(documents, first):
                    if segment.live[local]:
                        yield base + local, document

    def live_docs(self) -> Ints:
        """Give the numbers of the live documents."""
        return np.flatnonzero(
            np.concatenate([np.empty(0, np.bool_), *(s.live for s in self.segments)])
        )

    def lengths(self, docs: Ints, field: str = MAIN) -> Ints:
        """Give the numbers of words of documents in a field."""
        if len(self.segments) == 1:
            return self.segments[0].words(field).lengths[docs].astype(np.int64)
        out = np.empty(len(docs), np.int64)
        for i, places, rows in self.by_segment(docs):
            out[places] = self.segments[i].words(field).lengths[rows]
        return out

    def sentences(self, doc: int) -> list[str]:
        """Give the sentences of a document, which together are its title and text."""
        i, local = self.locate(doc)
        segment = self.segments[i]
        data = encode(content(segment.documents[local]))
        ends = np.cumsum(segment.records.sentences(local)).tolist()
        try:
            if (ends[-1] if ends else 0) != len(data):
                raise ValueError
            return [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
        except ValueError:
            raise DamagedError(
                f"{segment.name}: sentences that are not those of the text; {REMEDY}"
            ) from None

    def term_counts(self, docs: Ints, field: str = MAIN) -> TermCounts:
        """Give the term counts of documents in a field of words."""
        if len(self.segments) == 1:
            return self.segments[0].words(field).records.counts(docs)
        sizes = np.zeros(len(docs), np.int64)
        pieces: list[tuple[Ints, TermCounts]] = []
        for i, places, rows in self.by_segment(docs):
            piece = self.segments[i].words(field).records.counts(rows)
            sizes[places] = np.diff(piece.bounds)
            pieces.append((places, piece))
        if len(pieces) == 1:
            return pieces[0][1]
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        terms, counts = np.empty(bounds[-1], np.int32), np.empty(bounds[-1], np.int32)
        for places, (inner, its_terms, its_counts) in pieces:
            to = np.arange(inner[-1]) + np.repeat(bounds[places] - inner[:-1], np.diff(inner))
            terms[to], counts[to] = its_terms, its_counts
        return TermCounts(bounds, terms, counts)

    @property
    def has_positions(self) -> bool:
        """Whether positions are stored of all documents."""
        return all(segment.pack_of("positions.offsets") is not None for segment in self.segments)

    def positions(self, docs: Ints, terms: Ints) -> Positions:
        """Give the positions of terms, by number, in documents.

        Where they are not stored, texts are analysed again: the same answer, and slower.
        """
        pieces: list[tuple[Ints, Positions]] = []
        asked = terms.astype(np.int64)
        for i, places, rows in self.by_segment(docs):
            pieces.append((places, self._positions_in(self.segments[i], rows, asked)))
        if len(pieces) == 1:
            return pieces[0][1]
        return Positions.joined(len(docs), len(terms), pieces)

    def _positions_in(self, segment: Segment, rows: Ints, terms: Ints) -> Positions:
        placed = segment.placed(self.analysis.title_weight)
        if placed is None:
            documents = [segment.documents[row] for row in rows.tolist()]
            placed = place_again(documents, self.analyzer, self.find_encoded, self.n_terms)
            rows = np.arange(len(rows))
        found = find_positions(placed, rows, terms)
        return found if found is not None else _positions_damaged(segment)

    def occurrences(self, docs: Ints) -> Iterator[Occurrences]:
        """Give all positions of documents, ascending, by segment; only where they are stored."""
        for i, _, rows in self.by_segment(docs):
            placed = self.segments[i].placed(self.analysis.title_weight)
            assert placed is not None
            found = all_positions(placed, rows)
            yield found if found is not None else _positions_damaged(self.segments[i])

    # What was derived from documents

    def artifacts(self, kind: str, *, of: str = "") -> list[Artifact]:
        """List the artifacts of a kind, those derived from another only where it is named."""
        found = [artifact for artifact in self.manifest.artifacts if artifact.kind == kind]
        return [artifact for artifact in found if not of or of in artifact.inputs]

    # The whole

    def check(self) -> None:
        """Read every file and raise if one was altered."""
        derived = [self.pack(one.pack) for one in self.manifest.artifacts if one.pack is not None]
        for segment in self.segments:
            segment.check()
        for pack in derived:
            pack.check()
        for pack in (*derived, *(pack for segment in self.segments for pack in segment.all_packs)):
            pack.check_frame()

    @property
    def n_bytes(self) -> int:
        """How large the collection's files are."""
        return sum(entry.size for entry in self.manifest.files())

    def field_names(self) -> list[str]:
        """List the metadata fields that any document has."""
        return sorted({name for segment in self.segments for name in segment.fields.names})

    @cached_property
    def schema(self) -> dict[str, FieldType]:
        """The types of fields that are known, those that no document has any more included."""
        types = known_types(self.manifest.fields)
        for segment in self.segments:
            types = segment.fields.inferred_types | types
        return types

    @cached_property
    def field_types(self) -> dict[str, FieldType]:
        """The type of each field that any document has."""
        return {name: self.schema.get(name, FieldType.TEXT) for name in self.field_names()}

    def by_segment(self, docs: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """Give for each segment that has any of these documents their places and rows there."""
        if len(self.segments) == 1 and len(docs):
            yield 0, np.arange(len(docs)), docs
            return
        owners = np.searchsorted(self.bases, docs, "right") - 1
        for i in np.unique(owners).tolist():
            places = np.flatnonzero(owners == i)
            yield i, places, docs[places] - self.bases[i]

    def locate(self, doc: int) -> tuple[int, int]:
        """Give the segment of a document, and its row there."""
        i = int(np.searchsorted(self.bases, doc, "right")) - 1
        return i, doc - int(self.bases[i])


def _positions_damaged(segment: Segment) -> NoReturn:
    # Which of the two was altered a check tells.
    pack = segment.pack_of("positions")
    path = pack.path if pack else segment.documents_path
    raise DamagedError(f"{segment.name}: its terms are not those of {path}; {REMEDY}")


def open_snapshot(folder: Path, before: Snapshot | None = None) -> Snapshot:
    """Open the newest state of a collection; what is open of `before` is taken over."""
    return _opened(folder, None, before)


def reopen(folder: Path, generation: int) -> Snapshot:
    """Open a generation that is still there."""
    return _opened(folder, generation, None)


def _opened(folder: Path, generation: int | None, before: Snapshot | None) -> Snapshot:
    manifest, lease = take_lease(folder, generation)
    try:
        return Snapshot(folder, manifest, lease, before=before)
    except BaseException:
        lease.release()
        raise

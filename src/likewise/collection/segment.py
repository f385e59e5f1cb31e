"""What is in one segment? Immutable files, mapped; what is not asked for is not read."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from likewise.collection.cards import Card, Cards
from likewise.collection.documents import Documents
from likewise.collection.fields import Fields
from likewise.collection.files import REMEDY, Seal, check_content, check_size
from likewise.collection.framed_cards import AT_ONCE_BEFORE, NOTED, FramedCards
from likewise.collection.languages import Languages, read_languages
from likewise.collection.manifest import SegmentEntry
from likewise.collection.pack import Pack
from likewise.collection.positions import Placed
from likewise.collection.postings import BLOCK, Bounds, Postings
from likewise.collection.records import Records
from likewise.collection.symbols import CodedTexts
from likewise.collection.words import MAIN, TITLE, Words
from likewise.compiled import Bools, Ids, Ints, Offsets
from likewise.errors import DamagedError
from likewise.text.table import Strings, find_into

Locate = Callable[[str], Path]
# Of so many documents each id is read by itself.
_FEW = 20
_IS_COMPLETE = attrgetter("complete")


class Segment:
    """A segment and its deleted documents, as they were when it was opened.

    `before` is the same segment in another generation: what is open there is taken over.
    """

    def __init__(self, entry: SegmentEntry, locate: Locate, before: Segment | None = None) -> None:
        self.entry = entry
        self.n_docs = entry.n_docs
        self.documents_path = locate(entry.documents.file)
        self._more = [(locate(pack.file), pack) for pack in entry.packs[1:]]
        self._words: dict[str, Words] = {}
        same = before if before is not None and before.entry.packs == entry.packs else None
        if same is not None:
            shared = ("more_packs", "documents", "fields", "ids", "terms", "letter_sets", "cards")
            self.packs: list[Pack] = same.packs
            # By name: another thread may be opening more of the one before.
            vars(self).update({n: vars(same)[n] for n in shared if n in vars(same)})
        else:
            check_size(self.documents_path, self._documents_seal)
            self.packs = [Pack(locate(pack.file), pack) for pack in entry.packs[:1]]
            for path, pack in self._more:
                check_size(path, Seal(pack.size, 0))
        gone = entry.deleted.pack if entry.deleted else None
        self._deleted_pack = Pack(locate(gone.file), gone) if gone else None
        self._read_deleted()
        for field, words in list(same._words.items()) if same is not None else ():
            self._words[field] = self._open_words(field, words)

    # What it holds

    @property
    def all_packs(self) -> list[Pack]:
        """The files of its arrays, with that of deleted documents."""
        gone = [self._deleted_pack] if self._deleted_pack else []
        return [*self.packs, *self.more_packs, *gone]

    @cached_property
    def more_packs(self) -> list[Pack]:
        """What is beside the first, opened when it is asked for: of most searches it is not."""
        return [Pack(path, pack) for path, pack in self._more]

    @property
    def name(self) -> str:
        """The file of its arrays, for messages."""
        return str(self.packs[0].path)

    @property
    def _documents_seal(self) -> Seal:
        return Seal(self.entry.documents.size, self.entry.documents.crc)

    def pack_of(self, array: str) -> Pack | None:
        """Give the pack that has an array; None where the segment was written without it."""
        if array in self.packs[0]:
            return self.packs[0]
        return next((pack for pack in self.more_packs if array in pack), None)

    def __getitem__(self, array: str) -> Any:
        return (self.pack_of(array) or self.packs[0])[array]

    # Fields of words

    @property
    def word_fields(self) -> tuple[str, ...]:
        """The fields of words that it was written with."""
        return (MAIN, *self.packs[0].meta.get("words", ()))

    def words(self, field: str = MAIN) -> Words:
        """Give a field of words; where no document has any, an empty one."""
        found = self._words.get(field)
        if found is None:
            found = self._words.setdefault(field, self._open_words(field))
        return found

    def _open_words(self, field: str, before: Words | None = None) -> Words:
        size = self.n_docs, self.entry.first_term + self.entry.n_terms
        return Words(self.packs[0], field, size, (self.deleted, self._deleted_pack), before)

    @property
    def lengths(self) -> Offsets:
        """The number of terms of each document."""
        return self.words().lengths

    @property
    def records(self) -> Records:
        """The term counts and sentences of each document."""
        return self.words().records

    @property
    def postings(self) -> Postings:
        """The documents of each term."""
        return self.words().postings

    @property
    def bounds(self) -> Bounds:
        """What the impacts of long postings cannot exceed."""
        return self.words().bounds

    def frequencies(self, terms: Ints, field: str = MAIN) -> tuple[Ints, Ints]:
        """Count the documents and the occurrences of terms, deleted documents left out."""
        return self.words(field).frequencies(terms)

    def placed(self, weight: int) -> Placed | None:
        """Give what positions are decoded from; None where they are not stored.

        `weight` is how often a title's words count.
        """
        pack = self.pack_of("positions.offsets")
        if pack is None:
            return None
        records, titles = self.records, self.words(TITLE).records
        offsets = self._of_docs("positions.offsets", 1)
        stream = pack["positions"]
        if int(offsets[-1]) > len(stream):
            raise DamagedError(f"{pack.path}: positions end before their offsets; {REMEDY}")
        return Placed(records[:2], titles[:2], (stream, offsets), weight)

    # What else it holds

    @cached_property
    def ids(self) -> Strings:
        """The ids of documents."""
        return Strings(self["ids"], self._of_docs("ids.offsets", 1))

    @cached_property
    def terms(self) -> Strings:
        """The terms that it was the first to use."""
        return Strings(self["terms"], self["terms.offsets"])

    @cached_property
    def letter_sets(self) -> tuple[Ints, Ids]:
        """The characters of these terms as bits, and how many each has: 12 bytes a term."""
        # Imported where a word is looked for that may be misspelled.
        from likewise.collection.letter_sets import letter_sets_of

        return letter_sets_of(*self.terms)

    @cached_property
    def documents(self) -> Documents:
        """What the documents said."""
        return Documents(self.documents_path, self["documents.blocks"])

    @cached_property
    def cards(self) -> Cards | FramedCards:
        """What answers show of documents."""
        if "cards.symbols" in self.packs[0]:
            more = (self[f"cards.{name}"] for name in ("runs", "symbols", "sizes"))
            offsets = self._of_docs("cards.offsets", 1)
            return Cards(CodedTexts(self["cards"], offsets, *more), self.name)
        at_once = self.packs[0].meta.get(NOTED, AT_ONCE_BEFORE)
        if not isinstance(at_once, int) or at_once < 1:
            raise DamagedError(f"{self.name}: cards are {at_once!r} to a frame; {REMEDY}")
        return FramedCards(self["cards"], self["cards.offsets"], self.n_docs, self.name, at_once)

    @cached_property
    def fields(self) -> Fields:
        """The metadata."""
        return Fields(self.packs[0], self.n_docs)

    @cached_property
    def languages(self) -> Languages | None:
        """The languages of its documents; None where all are in the collection's."""
        return read_languages(self.packs[0], self.n_docs)

    # What is asked of it

    def doc_ids(self, rows: Ints) -> list[str]:
        """Give the ids of documents."""
        ids = self.ids.some(rows) if len(rows) <= _FEW else self.ids.take(rows).all()
        return [doc_id.decode() for doc_id in ids]

    def whole_cards(self, rows: Ints) -> list[Card]:
        """Give what answers show of documents, long fields included."""
        cards = self.cards.take(rows)
        if all(map(_IS_COMPLETE, cards)):
            return cards
        return [
            card if card.complete else card._replace(fields=self.documents[row].fields)
            for card, row in zip(cards, rows.tolist(), strict=True)
        ]

    def languages_of(self, rows: Ints) -> list[str] | None:
        """Name the languages of some documents; None where all are in the collection's."""
        if self.languages is None:
            return None
        names, codes = self.languages
        return [names[code] for code in codes[rows].tolist()]

    def find_terms(self, keys: Strings, out: Ints | None = None) -> Ints:
        """Look up terms that this segment was the first to use: their numbers, else -1.

        Where `out` has what other segments found, only the rest is looked up, and put there.
        """
        return self._find("terms", keys, out, self.entry.first_term)

    def first_terms(self) -> Ints:
        """Give the numbers of the terms that this segment was the first to use."""
        first = self.entry.first_term
        return np.arange(first, first + self.entry.n_terms)

    def find_docs(self, keys: Strings) -> Ints:
        """Look up live documents by id: their numbers in the segment, else -1."""
        found = self._find("ids", keys)
        return np.where((found >= 0) & self.live[found], found, -1) if self.n_docs else found

    def table(self, name: str) -> tuple[Strings, Ids]:
        """Give strings and the slots that they are looked up by.

        Unchecked, so that looking up reads a few pages only: the look-up guards itself.
        """
        pack = self.packs[0]
        strings = Strings(pack.probed(name), pack.probed(f"{name}.offsets"))
        return strings, pack.probed(f"{name}.slots")

    def damaged_table(self, name: str) -> DamagedError:
        """Give what is raised where slots name strings that are not there."""
        return DamagedError(f"{self.name}: {name}.slots was altered; {REMEDY}")

    def _find(self, name: str, keys: Strings, out: Ints | None = None, first: int = 0) -> Ints:
        out = np.full(keys.size, -1, np.int64) if out is None else out
        if not find_into(out, keys, *self.table(name), first=first):
            raise self.damaged_table(name)
        return out

    def check(self) -> None:
        """Read all that is stored and raise if something was altered."""
        check_content(self.documents_path, self._documents_seal)
        for pack in self.all_packs:
            pack.check()

    def _of_docs(self, array: str, more: int = 0) -> Any:
        """Give an array that has a number for each document."""
        values = self[array]
        if len(values) != self.n_docs + more:
            raise DamagedError(
                f"{self.name}: {array} has {len(values)} numbers of {self.n_docs} documents; "
                f"{REMEDY}"
            )
        return values

    def _read_deleted(self) -> None:
        # One for each document of a block, so that no posting, whatever it says, leads outside.
        self.mask: Bools = np.zeros(max(-(-self.n_docs // BLOCK), 1) * BLOCK, np.bool_)
        self.mask[: self.n_docs] = True
        self.deleted: Ints = np.empty(0, np.int64)
        pack = self._deleted_pack
        if pack is not None:
            self.deleted = pack["docs"].astype(np.int64)
            if self.deleted.max(initial=-1) >= self.n_docs:
                raise DamagedError(f"{pack.path}: deleted documents never there; {REMEDY}")
            self.mask[self.deleted] = False

    @property
    def live(self) -> Bools:
        """Which documents are not deleted."""
        return self.mask[: self.n_docs]

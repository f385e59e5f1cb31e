"""Which names does a function of the user's find in the documents?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from likewise.collection.build import content
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Ids, Ints
from likewise.errors import UsageError
from likewise.terms.matching import split_exactly
from likewise.terms.nodes import DOCUMENT, EXACT, SENTENCE, Heard, Nodes
from likewise.text.analysis import encode

# Gets a sentence, or a whole text, and gives the names in it.
Extractor = Callable[[str], Iterable[str]]


def extract_nodes(
    snapshot: Snapshot, extract: Extractor, *, within: str = SENTENCE, min_df: int = 1
) -> Nodes:
    """Make nodes of the names that a function finds in at least `min_df` documents.

    It is given each sentence (or each document's title and text) once, in order and in one
    thread; what it said is kept with the nodes. The most frequent names come first.
    """
    if within not in (SENTENCE, DOCUMENT):
        raise UsageError(f"names are extracted within a sentence or document, not {within!r}")
    listener = _Listener(extract)
    for doc_id, key, texts in _texts(snapshot, within):
        listener.listen(doc_id, key, texts)
    if listener.n_docs and not listener.spellings:
        raise UsageError(f"the extractor found no name in {listener.n_docs} documents")
    return listener.nodes(within, min_df)


def key_of(text: bytes) -> int:
    """Give the number by which a text is known again."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def without_texts(heard: Heard, texts: Iterable[bytes], snapshot: Snapshot) -> Heard | None:
    """Leave out what was said of texts, unless a document of a snapshot has them, deleted or not.

    None where nothing is left out. Of a text that is still there the mentions must stay: what a
    deleted document counted for is subtracted by them.
    """
    sizes = {key_of(text): len(text) for text in texts}
    keys = np.array([*sizes], np.uint64)
    lost = {key: sizes[key] for key in keys[np.isin(keys, heard.keys)].tolist()}
    for segment in snapshot.segments:
        # Most texts are of another size, which their records tell.
        likely = np.isin(segment.records.text_sizes(), [*lost.values()])
        for doc in np.flatnonzero(likely).tolist():
            lost.pop(key_of(encode(content(segment.documents[doc]))), None)
    if not lost:
        return None
    kept = np.flatnonzero(~np.isin(heard.keys, np.array([*lost], np.uint64)))
    bounds, places = _rows(heard.bounds, kept)
    return heard._replace(
        keys=heard.keys[kept],
        bounds=bounds,
        nodes=heard.nodes[places],
        sentences=heard.sentences[places],
    )


def _rows(bounds: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Give the bounds of some rows that follow each other, and the places that they come from."""
    sizes = np.diff(bounds)[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return starts, np.arange(starts[-1]) + np.repeat(bounds[rows] - starts[:-1], sizes)


class _Listener:
    """Puts down what an extractor says."""

    def __init__(self, extract: Extractor) -> None:
        self.n_docs = 0
        # As keys: each is said once, however often it was found.
        self.left_out: dict[str, None] = {}
        self.merged: dict[str, str] = {}
        self.spellings: dict[tuple[str, ...], str] = {}
        self._extract = extract
        self._numbers: dict[tuple[str, ...], int] = {}
        self._of_text: dict[str, int] = {}
        self._doc_freqs: list[int] = []
        self._keys: list[int] = []
        self._ends: list[int] = [0]
        self._names: list[Ids] = []
        self._sentences: list[Ids] = []

    def listen(self, doc_id: str, key: int, texts: list[str]) -> None:
        """Ask of the texts of a document."""
        names: list[int] = []
        sentences: list[int] = []
        for sentence, text in enumerate(texts):
            found = [self._number(name) for name in self._ask(doc_id, text)]
            found = [number for number in found if number >= 0]
            names += found
            sentences += [sentence] * len(found)
        for number in set(names):
            self._doc_freqs[number] += 1
        self.n_docs += 1
        self._keys.append(key)
        self._ends.append(self._ends[-1] + len(names))
        self._names.append(np.array(names, np.int32))
        self._sentences.append(np.array(sentences, np.int32))

    def nodes(self, within: str, min_df: int) -> Nodes:
        """Give the names that are frequent enough, with what was said of each text."""
        doc_freqs = np.array(self._doc_freqs, np.int64)
        order = np.argsort(-doc_freqs, kind="stable")
        order = order[doc_freqs[order] >= min_df]
        if len(order) == 0:
            raise UsageError(
                f"the extractor found no name in {min_df} documents or more; lower min_df"
                if self.n_docs
                else "there are no documents to extract names from"
            )
        node_of = np.full(len(doc_freqs), -1, np.int32)
        node_of[order] = np.arange(len(order))
        bounds = np.array(self._ends, np.int64)
        nodes = node_of[np.concatenate(self._names)]
        kept = np.concatenate([[0], np.cumsum(nodes >= 0)])[bounds]
        # Documents of the same text were told apart by nothing; one answer of each is kept.
        keys, rows = np.unique(np.array(self._keys, np.uint64), return_index=True)
        starts, places = _rows(kept, rows)
        its = np.flatnonzero(nodes >= 0)[places]
        texts = [*self.spellings.values()]
        heard = Heard(keys, starts, nodes[its], np.concatenate(self._sentences)[its], within)
        names = tuple(texts[i] for i in order.tolist())
        kept_names = {*names}
        return Nodes(
            EXACT,
            texts=names,
            left_out=tuple(self.left_out),
            merged=tuple(pair for pair in self.merged.items() if pair[1] in kept_names),
            heard=heard,
        )

    def _ask(self, doc_id: str, text: str) -> list[str]:
        try:
            found = self._extract(text)
            names = None if isinstance(found, str | bytes) else [*found]
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise UsageError(f"the extractor failed on document {doc_id!r}: {reason}") from error
        if names is None or not all(isinstance(name, str) for name in names):
            shown = repr(found if names is None else names)[:60]
            raise UsageError(
                f"the extractor gave {shown} for document {doc_id!r}; it gives a list of names, "
                "which are texts"
            )
        return names

    def _number(self, name: str) -> int:
        number = self._of_text.get(name)
        if number is None:
            words = tuple(split_exactly(name))
            number = self._numbers.setdefault(words, len(self._numbers)) if words else -1
            self._of_text[name] = number
            if words and number == len(self._doc_freqs):
                self.spellings[words] = name.strip()
                self._doc_freqs.append(0)
            elif words and name.strip() != self.spellings[words]:
                self.merged[name.strip()] = self.spellings[words]
            elif not words and name.strip():
                self.left_out[name.strip()] = None
        return number


def _texts(snapshot: Snapshot, within: str) -> Iterator[tuple[str, int, list[str]]]:
    for doc, document in snapshot.documents():
        text = content(document)
        texts = [text] if within == DOCUMENT else snapshot.sentences(doc)
        yield document.id, key_of(encode(text)), texts

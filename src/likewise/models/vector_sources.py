"""Where do the user's vectors come from, and how are they kept?

Kept are directions, at a byte a coordinate, by a hash of the document's id, so that they outlive
what merges do to the numbers of documents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.collection.arrays import Arrays, require
from likewise.collection.build import content
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Floats, Ints
from likewise.errors import UsageError
from likewise.neighbours.int8 import Coded, decode, encode
from likewise.text.analysis import encode as to_bytes

_CHUNK = 4096
_BATCH = 256


class Vectors(NamedTuple):
    """The user's vectors: row i is that of document `docs[i]`; `without` live documents have none.

    Rows may be mapped from a file. A row of zeros counts as none.
    """

    docs: Ints
    rows: NDArray[Any]
    without: int


Embed = Callable[[Sequence[str]], ArrayLike]
Source = str | os.PathLike[str] | Embed | Mapping[str, ArrayLike] | ArrayLike
Names = str | os.PathLike[str] | Sequence[str]


def read_vectors(
    collection: Snapshot,
    source: Source,
    *,
    ids: Names | None = None,
) -> Vectors:
    """Read vectors: a field's name, an `.npy` file, a function of texts, rows by id, or rows.

    `ids` names the documents of rows, or is a file of ids, one a line. Without them a file takes
    those beside it (`x.ids` beside `x.npy`), and rows are in the order of the collection.
    """
    if callable(source):
        return from_function(collection, source)
    if isinstance(source, Mapping):
        rows = _matrix(list(source.values()), what="the vectors")
        return from_rows(collection, rows, ids=list(source))
    if isinstance(source, str) and not source.endswith(".npy"):
        return from_field(collection, source)
    if isinstance(source, str | os.PathLike):
        return from_file(collection, source, ids=ids)
    return from_rows(collection, source, ids=ids)


def from_field(collection: Snapshot, name: str) -> Vectors:
    """Read vectors from a field of the documents, a list of numbers each."""
    docs, rows, width = [], [], 0
    for doc, document in collection.documents():
        value = document.fields.get(name)
        if value is None:
            continue
        what = f"field {name!r} of document {document.id!r}"
        row = _matrix([value], what=what)[0]
        width = width or len(row)
        if len(row) != width:
            raise UsageError(f"{what} has {len(row)} numbers where others have {width}")
        docs.append(doc)
        rows.append(row.astype(np.float32))
    if not docs:
        known = ", ".join(collection.field_names()) or "none"
        raise UsageError(f"no document has vectors in a field {name!r}; fields are: {known}")
    return _checked(collection, np.array(docs, np.int64), np.stack(rows), f"field {name!r}")


def from_file(
    collection: Snapshot,
    path: str | os.PathLike[str],
    *,
    ids: Names | None = None,
) -> Vectors:
    """Map vectors from an `.npy` file, by the ids beside it if there are any."""
    path = Path(path)
    rows = _load(path)
    beside = path.with_suffix(".ids")
    if ids is None and beside.is_file():
        ids = beside
    return from_rows(collection, rows, ids=ids, what=str(path))


def _load(path: Path) -> NDArray[Any]:
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"{path} is not a readable .npy file of numbers: {error}") from None
    if not isinstance(rows, np.ndarray):
        raise UsageError(f"{path} holds several arrays: save one, as .npy")
    return rows


def from_rows(
    collection: Snapshot,
    rows: ArrayLike,
    *,
    ids: Names | None = None,
    what: str = "the array",
) -> Vectors:
    """Take rows as vectors, of the documents with these ids, or else of all in their order."""
    matrix = _matrix(rows, what=what)
    if ids is None:
        if len(matrix) != collection.n_docs:
            raise UsageError(
                f"{what} has {len(matrix)} rows, and the collection {collection.n_docs} documents: "
                "give the ids of the rows, one a line"
            )
        return _checked(collection, collection.live_docs(), matrix, what)
    names = _read_ids(ids)
    if len(names) != len(matrix):
        raise UsageError(f"{what} has {len(matrix)} rows, and there are {len(names)} ids")
    docs = collection.find_docs(names)
    unknown = np.flatnonzero(docs < 0)
    if len(unknown):
        raise UsageError(
            f"{len(unknown)} ids of {what} are of no document in {collection.folder}, the first "
            f"is {names[unknown[0]]!r} (line {unknown[0] + 1}): leave them out"
        )
    firsts = np.unique(docs, return_index=True)[1]
    if len(firsts) < len(docs):
        again = int(np.setdiff1d(np.arange(len(docs)), firsts)[0])
        raise UsageError(f"id {names[again]!r} stands twice for {what} (line {again + 1})")
    return _checked(collection, docs, matrix, what)


def from_function(collection: Snapshot, function: Embed, *, batch: int = _BATCH) -> Vectors:
    """Ask a function for vectors, texts in and rows out; a document without text gets none."""
    docs: list[int] = []
    rows: list[Floats] = []
    texts: list[str] = []

    def ask() -> None:
        made = _matrix(function(texts), what="the function's answer")
        if len(made) != len(texts) or (rows and made.shape[1] != rows[0].shape[1]):
            width = rows[0].shape[1] if rows else "any"
            raise UsageError(
                f"the function gave an array of shape {made.shape} for {len(texts)} texts: "
                f"it must give a row for each text, of one width ({width})"
            )
        rows.append(made.astype(np.float32))
        texts.clear()

    for doc, document in collection.documents():
        text = content(document)
        if text.strip():
            docs.append(doc)
            texts.append(text)
        if len(texts) == batch:
            ask()
    if texts:
        ask()
    if not docs:
        raise UsageError(f"{collection.folder} has no texts to make vectors of")
    numbers = np.array(docs, np.int64)
    return _checked(collection, numbers, np.concatenate(rows), "the function's answer")


def _read_ids(ids: Names) -> list[str]:
    if not isinstance(ids, str | os.PathLike):
        return list(ids)
    try:
        return Path(ids).read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{ids} is not a readable file of ids, one a line: {error}") from None


def _matrix(rows: Any, *, what: str) -> NDArray[Any]:
    try:
        matrix: NDArray[Any] = np.asanyarray(rows)
    except ValueError:
        raise UsageError(f"{what}: rows are not all of one length") from None
    if matrix.dtype.kind not in "fiu" or matrix.ndim != 2 or matrix.shape[1] == 0:
        raise UsageError(
            f"{what}: an array of shape {matrix.shape} and type {matrix.dtype}, where it must be "
            "a row of numbers for each document"
        )
    return matrix


def _checked(collection: Snapshot, docs: Ints, rows: NDArray[Any], what: str) -> Vectors:
    """Read all rows once: numbers must be finite; rows of zeros are none."""
    there = 0
    for first in range(0, len(rows), _CHUNK):
        with np.errstate(over="ignore"):
            block = np.asarray(rows[first : first + _CHUNK], np.float32)
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(bad):
            named = collection.doc_ids(docs[first + bad[:1]])[0]
            raise UsageError(
                f"{what}: the vector of document {named!r} (row {first + int(bad[0]) + 1}) has "
                "numbers that are not finite; leave the document out, or give zeros"
            )
        there += int(np.count_nonzero(block.any(axis=1)))
    return Vectors(docs, rows, collection.n_docs - there)


def unit(rows: ArrayLike) -> Floats:
    """Bring rows to length one; zeros stay zeros."""
    wide = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    out: Floats = (wide / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return out


# What is kept of them


class Kept(NamedTuple):
    """Vectors by document: hashes of ids, ascending, with a point for each."""

    keys: NDArray[np.uint64]
    points: Coded

    def of(self, doc_ids: Sequence[str]) -> Floats:
        """Give the vectors of documents, zeros for those that have none."""
        out = np.zeros((len(doc_ids), self.points.codes.shape[1]), np.float32)
        if len(self.keys):
            wanted = hashes(doc_ids)
            places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
            there = np.flatnonzero(self.keys[places] == wanted)
            codes, scales = self.points
            out[there] = decode(Coded(codes[places[there]], scales[places[there]]))
        return out

    def without(self, doc_ids: Sequence[str]) -> Kept | None:
        """Leave documents out; None where none of them is there."""
        kept = ~np.isin(self.keys, hashes(doc_ids))
        if kept.all():
            return None
        codes, scales = self.points
        return Kept(self.keys[kept], Coded(codes[kept], scales[kept]))

    @classmethod
    def load(cls, arrays: Arrays, what: str, width: int) -> Kept:
        """Give vectors as they were stored."""
        keys = arrays["kept.keys"]
        if not len(keys):
            return none_kept(width)
        require(arrays, what, kept_codes=(len(keys), width), kept_scales=(len(keys),))
        return cls(keys, Coded(arrays["kept.codes"], arrays["kept.scales"]))


def keep(doc_ids: Sequence[str], rows: NDArray[Any], place: Callable[[ArrayLike], Floats]) -> Kept:
    """Keep vectors by the ids of their documents, each as `place` has it; zeros are left out."""
    codes = np.empty((len(doc_ids), rows.shape[1]), np.int8)
    scales = np.empty(len(doc_ids), np.float32)
    for first in range(0, len(doc_ids), _CHUNK):
        inside = slice(first, first + _CHUNK)
        codes[inside], scales[inside] = encode(place(rows[inside]))
    keys = hashes(doc_ids)
    order = np.argsort(keys, kind="stable")
    order = order[scales[order] > 0]
    return Kept(keys[order], Coded(codes[order], scales[order]))


def none_kept(width: int) -> Kept:
    """Keep no vectors."""
    return Kept(
        np.empty(0, np.uint64), Coded(np.empty((0, width), np.int8), np.empty(0, np.float32))
    )


def hashes(doc_ids: Sequence[str]) -> NDArray[np.uint64]:
    """Hash ids to 64 bits (BLAKE2b): of ten million, two meet once in 370,000 collections."""
    digests = (blake2b(to_bytes(doc_id), digest_size=8).digest() for doc_id in doc_ids)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def field_rows(collection: Snapshot, docs: Ints, name: str, width: int) -> Floats:
    """Give the vectors of documents from their field, zeros for what is no vector of this width.

    Documents that were there when the model was fitted were checked then (`from_field`).
    """
    out = np.zeros((len(docs), width), np.float32)
    for row, doc in zip(out, docs.tolist(), strict=True):
        value = collection.document(doc).fields.get(name)
        if isinstance(value, list) and len(value) == width:
            found = np.array(value)
            if found.dtype.kind in "fiu" and (np.abs(found) < np.finfo(np.float32).max).all():
                row[:] = found
    return out


# One vector


def read_vector(path: str | os.PathLike[str]) -> Floats:
    """Read the vector of one text from an `.npy` file."""
    return one_vector(_load(Path(path)), what=str(path))


def one_vector(value: ArrayLike, *, what: str = "the vector") -> Floats:
    """Take a row of numbers, or a matrix with one row, as the vector of a text."""
    try:
        found = np.asarray(value)
    except ValueError:
        raise UsageError(f"{what} is not a row of numbers") from None
    if found.ndim == 2 and len(found) == 1:
        found = found[0]
    if found.ndim != 1 or found.dtype.kind not in "fiu" or not len(found):
        raise UsageError(
            f"{what}: an array of shape {found.shape} and type {found.dtype}, where it must be "
            "the vector of one text, a row of numbers"
        )
    with np.errstate(over="ignore"):
        row: Floats = found.astype(np.float32)
    if not np.isfinite(row).all():
        raise UsageError(f"{what} has numbers that are not finite")
    return row

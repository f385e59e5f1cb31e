"""Kernels of the user's own: by rows of numbers (features), or by a function of texts (Gram).

Features Φ are taken as they are: `ΦᵀΦ = V Σ² Vᵀ`, and a document has the row `u = φ V Σ⁻¹`. A
kernel that is no inner product of known features goes by its matrix: `K = U Λ Uᵀ`, and a document
that the axes were not made from has `u = k(d, F) U Λ⁻¹` (Nyström). The function itself is not kept:
documents that are added later have no row, and their score is what it was, until the model is
fitted again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import field as filled
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Arrays, require
from likewise.collection.build import content
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Floats, Ints
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary
from likewise.models.klsa import KLSA, KernelModel, n_axes, without_noise
from likewise.models.lanczos import slabs
from likewise.models.vector_sources import Kept, Vectors, field_rows, hashes
from likewise.models.weighting import fold
from likewise.neighbours.int8 import Coded, encode
from likewise.records import Document
from likewise.text.analysis import encode as encode_text

_CHUNK = 4096
# Features wider than this are refused.
_WIDEST = 8192
# Relative to the largest eigenvalue: below it an axis is noise, and this far below zero it is not.
_LEAST_SHARE, NEGATIVE = 1e-6, 1e-4


@dataclass(frozen=True, eq=False)
class UserKernelRows(KernelModel):
    """Rows of documents by a kernel that the user gave.

    `kept` are rows by document id and text. Where features stand in a `field` of the documents,
    rows are worked out from it by the `basis` instead, which is V; else that has no rows.
    """

    kind: ClassVar[str] = "klsa-given"
    derived: ClassVar[tuple[str, ...]] = ()
    name: str
    basis: Floats
    values: Doubles
    kept: Kept
    field: str = ""
    settings: Mapping[str, Any] = filled(default_factory=dict)
    history: tuple[Mapping[str, float], ...] = ()

    @property
    def vocabulary(self) -> Vocabulary:
        """Refuse: rows are of what the user gave."""
        self._refuse("is by a kernel that the user gave, and knows no words")

    @property
    def n_terms(self) -> int:
        """None: rows are of what the user gave."""
        return 0

    # Stored

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that it is stored as."""
        return {
            "basis": np.ascontiguousarray(self.basis, np.float32),
            "values": np.asarray(self.values, np.float64),
            "kept.keys": self.kept.keys,
            "kept.codes": self.kept.points.codes,
            "kept.scales": self.kept.points.scales,
        }

    def about(self) -> dict[str, Any]:
        """Give the plain values that it is stored with."""
        return super().about() | {"field": self.field}

    @classmethod
    def load(cls, name: str, arrays: Arrays, about: Mapping[str, Any]) -> UserKernelRows:
        """Give it as it was stored."""
        values = arrays["values"]
        require(arrays, name, basis=(-1, len(values)))
        return cls(
            name,
            arrays["basis"],
            values,
            Kept.load(arrays, name, len(values)),
            about["field"],
            about["settings"],
            tuple(about["history"]),
        )

    def without(self, documents: Iterable[Document]) -> UserKernelRows | None:
        """Give the model without the rows that it keeps of documents; None where it has none."""
        left = self.kept.without([key_of(document) for document in documents])
        return None if left is None else replace(self, kept=left)

    def document_rows(self, collection: Snapshot, docs: Ints) -> Floats:
        """Give the rows of documents, zeros for those of which nothing is known."""
        if self.field:
            features = field_rows(collection, docs, self.field, len(self.basis))
            return _fold(features, self._scaled, self.values)
        return self.kept.of(keys_of(collection, docs))


# Features


def fit_features(
    collection: Snapshot,
    vectors: Vectors,
    config: KLSA = KLSA(),
    name: str = "",
    *,
    field: str = "",
    threads: int = 0,
) -> UserKernelRows:
    """Fit axes to the user's features, which count as long as they are.

    `field` is where in the documents they stand, if they do: then documents that are added later
    have rows too. `config.kernel` does not count.
    """
    n, width = vectors.rows.shape
    if width > _WIDEST:
        raise UsageError(
            f"features have {width} numbers, and at most {_WIDEST} are decomposed; give fewer, or "
            "the kernel as a function (gram)"
        )
    drawn = draw_docs(n, config)
    threads = threads or os.cpu_count() or 1
    with slabs(threads) as pool:

        def part(first: int) -> Doubles:
            rows = np.asarray(vectors.rows[drawn[first : first + _CHUNK]], np.float64)
            return np.asarray(rows.T @ rows)

        square = np.zeros((width, width))
        firsts = range(0, len(drawn), _CHUNK)
        # So many at once as there are threads, each as large as the sum.
        for at in range(0, len(firsts), threads):
            for product in pool.map(part, firsts[at : at + threads]):
                square += product
        squares, basis = leading_axes(square, min(n_axes(config, collection.n_docs), width))
    if not len(squares):
        raise UsageError("features are all zero: there is nothing that tells documents apart")
    values = np.sqrt(squares * (n / len(drawn)))
    axes = basis.astype(np.float32)
    scaled = np.ascontiguousarray(axes / values, np.float32)
    kept = keep_rows([], iter(()), len(values))
    if not field:
        rows = (_fold(vectors.rows[at : at + _CHUNK], scaled, values) for at in range(0, n, _CHUNK))
        kept = keep_rows(keys_of(collection, vectors.docs), rows, len(values))
    return UserKernelRows(
        name=name or config.notation,
        basis=axes,
        values=values,
        kept=kept,
        field=field,
        settings=settings_of(config, "features"),
        history=({"axes": len(values), "docs": len(drawn)},),
    )


def _fold(rows: NDArray[Any], scaled: Floats, values: Doubles) -> Floats:
    """Give `rows @ scaled`, added up in one order."""
    out = np.zeros((len(rows), scaled.shape[1]), np.float32)
    n, width = rows.shape
    places = np.tile(np.arange(width, dtype=np.int32), n)
    weights = np.ascontiguousarray(rows, np.float32).ravel()
    fold(np.arange(n + 1) * width, places, weights, scaled, out)
    return without_noise(out, values, np.linalg.norm(rows.astype(np.float64), axis=1))


# What features and functions share


def leading_axes(square: Doubles, n: int) -> tuple[Doubles, Doubles]:
    """Give the n leading eigenvalues, descending, and eigenvectors of a matrix, taken whole."""
    values, turns = np.linalg.eigh((square + square.T) / 2)
    return real_axes(values[::-1], turns[:, ::-1], n)


def real_axes(values: Doubles, turns: Doubles, n: int) -> tuple[Doubles, Doubles]:
    """Keep the n first axes, if they are more than noise; the last value must not be negative."""
    top = max(float(values[0]), 0.0)
    if float(values[-1]) < -NEGATIVE * top:
        raise UsageError(
            f"the function is no kernel: of the matrix that it gave one eigenvalue is "
            f"{values[-1]:.6g} (the largest is {top:.6g}), and none may be below 0"
        )
    n_real = int(np.count_nonzero(values[:n] > _LEAST_SHARE * top)) if top else 0
    values, turns = values[:n_real], turns[:, :n_real]
    largest = turns[np.argmax(np.abs(turns), axis=0), np.arange(n_real)]
    return values, np.ascontiguousarray(turns * np.where(largest < 0, -1.0, 1.0))


def keys_of(collection: Snapshot, docs: Ints) -> list[str]:
    """Give what rows are kept by: ids with texts, so that another text under an id has no row."""
    return [key_of(collection.document(doc)) for doc in docs.tolist()]


def key_of(document: Document) -> str:
    """Give what the row of a document is kept by."""
    digest = blake2b(encode_text(content(document)), digest_size=8)
    return f"{document.id}\0{digest.hexdigest()}"


def draw_docs(n: int, config: KLSA) -> Ints:
    """Draw the rows that axes are made from."""
    if not config.docs or config.docs >= n:
        return np.arange(n)
    chosen = np.random.default_rng(config.seed).choice(n, config.docs, replace=False)
    return np.sort(chosen)


def keep_rows(given_keys: Sequence[str], parts: Iterator[NDArray[Any]], width: int) -> Kept:
    """Keep rows by the keys of their documents, at a byte a coordinate; zeros are left out."""
    codes = np.empty((len(given_keys), width), np.int8)
    scales = np.empty(len(given_keys), np.float32)
    at = 0
    for part in parts:
        inside = slice(at, at + len(part))
        codes[inside], scales[inside] = encode(part.astype(np.float32))
        at += len(part)
    keys = hashes(given_keys)
    order = np.argsort(keys, kind="stable")
    order = order[scales[order] > 0]
    return Kept(keys[order], Coded(codes[order], scales[order]))


def settings_of(config: KLSA, kernel: str) -> dict[str, Any]:
    """Give the settings of a model by a kernel of the user's."""
    plain = replace(config, kernel=KLSA.kernel)
    options = str(plain).removeprefix(plain.notation).strip("()")
    written = ",".join(filter(None, [f"kernel={kernel}", options]))
    return asdict(config) | {"model": f"{plain.notation}({written})", "kernel": kernel}

"""Kernels of the user's own, by a function of two lists of texts (see `user_kernels`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from likewise.collection.build import content
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Ints, one_blas_thread
from likewise.errors import UsageError
from likewise.models.klsa import KLSA, n_axes
from likewise.models.user_kernels import (
    NEGATIVE,
    UserKernelRows,
    draw_docs,
    keep_rows,
    keys_of,
    leading_axes,
    real_axes,
    settings_of,
)

Gram = Callable[[Sequence[str], Sequence[str]], ArrayLike | sparse.sparray | sparse.spmatrix]

# Texts for which a function is asked at once, on either side.
_BLOCK = 256
# The kernel of so many texts is decomposed whole.
_WHOLE = 4096
# Relative to the largest number of a block: so far may two halves of a kernel be apart.
_ASYMMETRY = 1e-4
_MEMORY = 1 << 30
_ENTRY_BYTES = 12


def fit_gram(
    collection: Snapshot, function: Gram, config: KLSA = KLSA(), name: str = ""
) -> UserKernelRows:
    """Fit axes to a kernel that a function gives: `function(texts, texts)` is a matrix, or sparse.

    It is asked for some hundred texts at a time, for each pair of them once. Up to some thousand
    documents the matrix is decomposed whole; one of more has to be sparse. A document without text
    has no row. `config.kernel` does not count.
    """
    docs = np.array([doc for doc, text in _texts(collection) if text], np.int64)
    if not len(docs):
        raise UsageError(f"{collection.folder} has no texts to ask a function for")
    drawn = docs[draw_docs(len(docs), config)]
    texts = [content(collection.document(doc)) for doc in drawn.tolist()]
    with one_blas_thread():
        gram = _gram(function, texts)
        axes = min(n_axes(config, collection.n_docs), len(drawn))
        solve = leading_axes if len(texts) <= _WHOLE else _leading
        values, turns = solve(gram, axes)
        if not len(values):
            raise UsageError("the function gives zeros only: there is nothing to tell texts apart")
        scale = np.sqrt(len(drawn) / len(docs))
        others = np.setdiff1d(docs, drawn)
        rows = (
            _project(function, block, texts, turns / values) for block in _read(collection, others)
        )
        kept = keep_rows(
            keys_of(collection, np.concatenate([drawn, others])),
            (scale * part for part in _chain(turns, rows)),
            len(values),
        )
    return UserKernelRows(
        name=name or config.notation,
        basis=np.empty((0, len(values)), np.float32),
        values=np.sqrt(values) / scale,
        kept=kept,
        settings=settings_of(config, "gram"),
        history=({"axes": len(values), "docs": len(drawn)},),
    )


def _gram(function: Gram, texts: Sequence[str]) -> Any:
    """Ask a function for the kernel of texts with each other: an array, or if large sparse."""
    n, large = len(texts), len(texts) > _WHOLE
    whole = np.empty((0, 0)) if large else np.empty((n, n))
    pieces: list[Any] = []
    n_entries = 0
    for a in range(0, n, _BLOCK):
        for b in range(a, n, _BLOCK):
            rows, columns = texts[a : a + _BLOCK], texts[b : b + _BLOCK]
            block = _ask(function, rows, columns)
            if a == b or (a == 0 and b + _BLOCK >= n):
                _check_symmetric(block, block if a == b else _ask(function, columns, rows))
            if not large:
                whole[a : a + _BLOCK, b : b + _BLOCK] = block.toarray()
                whole[b : b + _BLOCK, a : a + _BLOCK] = block.toarray().T
                continue
            block = block.tocoo()
            pieces.append((block.row + a, block.col + b, block.data))
            n_entries += 2 * block.nnz
            if n_entries * _ENTRY_BYTES > _MEMORY:
                raise UsageError(
                    f"the kernel of {n} texts has too few zeros to be kept: fit on some of them, "
                    f"klsa(docs={_WHOLE}), or let the function give fewer numbers"
                )
    if not large:
        return whole
    row, column, data = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    upper = sparse.csr_array((data, (row, column)), shape=(n, n))
    # Blocks on the diagonal are there with both halves, the others with one.
    return upper + sparse.csr_array(_off_blocks(row, column, data, n)).T


def _off_blocks(row: Ints, column: Ints, data: Doubles, n: int) -> Any:
    off = row // _BLOCK != column // _BLOCK
    return sparse.csr_array((data[off], (row[off], column[off])), shape=(n, n))


def _ask(function: Gram, rows: Sequence[str], columns: Sequence[str]) -> Any:
    """Ask a function once; give what it says, sparse, after a look at it."""
    given: Any = function(rows, columns)
    try:
        found = given if sparse.issparse(given) else np.asarray(given)
    except ValueError:
        raise UsageError("the function gave rows that are not all of one length") from None
    if found.shape != (len(rows), len(columns)) or found.dtype.kind not in "fiub":
        raise UsageError(
            f"the function gave an array of shape {found.shape} and type {found.dtype} for "
            f"{len(rows)} and {len(columns)} texts: it must give a matrix of numbers, a row for "
            "each of the first and a column for each of the second"
        )
    block = sparse.csr_array(found.astype(np.float64))
    if not np.isfinite(block.data).all():
        raise UsageError("the function gave numbers that are not finite")
    return block


def _check_symmetric(block: Any, mirrored: Any) -> None:
    apart = abs(block - mirrored.T)
    largest = float(apart.max())
    if largest > _ASYMMETRY * float(abs(block).max()):
        i, j = np.unravel_index(int(apart.toarray().argmax()), apart.shape)
        one, other = float(block[i, j]), float(mirrored[j, i])
        raise UsageError(
            f"the function is not symmetric: it gave {one:.6g} for two texts, and {other:.6g} the "
            "other way round; a kernel gives the same"
        )


def _leading(square: Any, n: int) -> tuple[Doubles, Doubles]:
    """Give the n leading eigenvalues, descending, and eigenvectors of a sparse matrix."""
    size = square.shape[0]
    start = np.random.default_rng(0).standard_normal(size)
    try:
        values, turns = eigsh(square, min(n, size - 2), which="LA", v0=start, tol=1e-9, rng=0)
        top = float(values.max())

        def flipped(vector: Doubles) -> Doubles:
            return np.asarray(top * vector.ravel() - square @ vector.ravel())

        # Far from zero the least eigenvalue is quickly told, as exactly as it is needed.
        operator = LinearOperator((size, size), matvec=flipped, dtype=np.float64)
        [furthest] = eigsh(
            operator, 1, which="LA", v0=start, tol=NEGATIVE / 10, rng=0, return_eigenvectors=False
        )
    except ArpackNoConvergence:
        raise UsageError(
            f"the {n} leading axes of the function's kernel were not found; ask for fewer (axes)"
        ) from None
    order = np.argsort(-values, kind="stable")
    values, turns = values[order], turns[:, order]
    least = np.array([top - float(furthest)])
    kept, axes = real_axes(np.concatenate([values, least]), turns, n)
    return kept[: len(values)], axes


def _project(function: Gram, block: Sequence[str], texts: Sequence[str], turns: Doubles) -> Doubles:
    """Give the rows of texts by their kernel with those that the axes were made from."""
    out = np.zeros((len(block), turns.shape[1]))
    for first in range(0, len(texts), _BLOCK):
        part = _ask(function, block, texts[first : first + _BLOCK])
        out += part @ turns[first : first + _BLOCK]
    return out


def _chain(turns: Doubles, others: Iterator[Doubles]) -> Iterator[Doubles]:
    yield turns
    yield from others


def _texts(collection: Snapshot) -> Iterator[tuple[int, str]]:
    for doc, document in collection.documents():
        yield doc, content(document).strip()


def _read(collection: Snapshot, docs: Ints) -> Iterator[list[str]]:
    for first in range(0, len(docs), _BLOCK):
        block = docs[first : first + _BLOCK].tolist()
        yield [content(collection.document(doc)) for doc in block]

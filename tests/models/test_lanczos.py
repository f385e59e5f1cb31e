"""The truncated SVD against a dense one."""

import numpy as np
import pytest
from scipy import sparse

from likewise.models.lanczos import Plan, Weighted, add_gram, orthonormal, principal_axes, slabs


def as_weighted(matrix):
    rows = sparse.csr_matrix(matrix, dtype=np.float32)
    return Weighted(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)


def topical(n_docs, n_terms, *, seed=0, rank=30):
    """Sparse documents of a few clusters, so that the leading axes stand out."""
    random = np.random.default_rng(seed)
    centres = random.random((rank, n_terms)) ** 8 * np.linspace(2, 0.5, rank)[:, None]
    matrix = centres[random.integers(0, rank, n_docs)] * random.random((n_docs, n_terms))
    matrix[matrix < 0.05] = 0
    return matrix


def angles(a, b):
    """Cosines of the principal angles between two subspaces, ascending."""
    return np.sort(np.linalg.svd(a.T @ b, compute_uv=False))


def axes_of(matrix, n_axes, *, passes=18, threads=1, seed=0, chunks=1):
    pieces = [as_weighted(piece) for piece in np.array_split(matrix, chunks)]
    plan = Plan(matrix.shape[1], n_axes, passes, seed)
    return principal_axes(lambda: pieces, plan, threads=threads)


@pytest.mark.parametrize(("n_terms", "passes"), [(120, 18), (900, 18), (900, 6)])
def test_axes_are_those_of_a_dense_svd(n_terms, passes):
    matrix = topical(400, n_terms)
    assert Plan(n_terms, 20, passes).is_small == (n_terms == 120)
    _, exact, axes = np.linalg.svd(matrix)
    basis, values = axes_of(matrix, 20, passes=passes)
    assert basis.shape == (n_terms, 20)
    assert basis.dtype == np.float32
    assert basis.flags.c_contiguous
    np.testing.assert_allclose(values, exact[:20], rtol=1e-4)
    assert angles(basis, axes[:20].T)[0] > 0.9999
    np.testing.assert_allclose(basis.T @ basis, np.eye(20), atol=2e-6)
    cosines = np.abs((basis * axes[:20].T).sum(axis=0))
    assert cosines[:5].min() > 0.999
    assert (basis[np.abs(basis).argmax(axis=0), np.arange(20)] > 0).all()


def test_the_same_bits_on_any_number_of_threads_and_twice():
    matrix = topical(300, 9000)
    first = axes_of(matrix, 10, passes=3)
    for again in (axes_of(matrix, 10, passes=3, threads=2), axes_of(matrix, 10, passes=3)):
        assert first[0].tobytes() == again[0].tobytes()
        assert first[1].tobytes() == again[1].tobytes()


def test_another_seed_and_other_chunks_find_the_same_axes():
    matrix = topical(300, 800)
    first, _ = axes_of(matrix, 12)
    for other in (axes_of(matrix, 12, seed=7)[0], axes_of(matrix, 12, chunks=5)[0]):
        assert angles(first, other)[0] > 0.9999


def test_fewer_axes_where_the_rank_is_lower():
    basis, values = axes_of(np.repeat(topical(7, 700), 30, axis=0), 20)
    assert basis.shape == (700, 7)
    assert (values > 0).all()
    np.testing.assert_allclose(basis.T @ basis, np.eye(7), atol=2e-6)


def test_equal_singular_values_in_great_number_are_all_found():
    """A block narrower than an eigenspace runs dry, and is filled up again."""
    matrix = np.zeros((400, 800))
    matrix[np.arange(400), np.arange(400)] = 1
    basis, values = axes_of(matrix, 60)
    assert basis.shape == (800, 60)
    np.testing.assert_allclose(values, 1, atol=1e-4)


def test_a_matrix_of_zeros_has_no_axes():
    for n_terms in (10, 900):
        basis, values = axes_of(np.zeros((5, n_terms)), 4)
        assert basis.shape == (n_terms, 0)
        assert len(values) == 0


def test_add_gram_equals_its_formula():
    matrix = topical(50, 90)
    block = np.random.default_rng(1).standard_normal((90, 16)).astype(np.float32)
    out = np.ones_like(block)
    add_gram(*as_weighted(matrix), block, out)
    np.testing.assert_allclose(out, 1 + matrix.T @ (matrix @ block), rtol=1e-4, atol=1e-3)


def test_orthonormal_drops_what_is_not_independent():
    block = np.random.default_rng(1).standard_normal((6000, 8)).astype(np.float32)
    block[:, 5] = block[:, 1] + block[:, 2]
    block[:, 6] = 0
    with slabs(2) as pool:
        basis = orthonormal(block, pool)
    assert basis.shape == (6000, 6)
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-6)
    np.testing.assert_allclose(basis @ (basis.T @ block), block, atol=1e-4)


def test_progress_is_told():
    told = []
    weighted = as_weighted(topical(50, 900))
    principal_axes(lambda: [weighted], Plan(900, 5, 4), watch=told.append)
    assert told == [{"pass": n, "of": 4} for n in (1, 2, 3, 4)]

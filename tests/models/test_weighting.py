import numpy as np
import pytest
from plain_axes import counts_of, dense
from scipy import sparse

from likewise.models.bags import Vocabulary
from likewise.models.lanczos import Weighted
from likewise.models.subspace import Subspace
from likewise.models.weighting import fold


@pytest.mark.parametrize("weighting", ["tfidf", "bm25"])
def test_weights_equal_the_formulas(weighting):
    vocabulary = Vocabulary(np.array([2, 5]), np.array([1, 4]), 8)
    model = Subspace("lsi", vocabulary, np.zeros((2, 0), np.float32), np.ones(0), weighting, 3.0)
    counts = counts_of({2: 3, 5: 1, 9: 2}, {5: 4}, {7: 1})
    weighted = model.weigh(counts)
    expected = dense(model, counts)
    assert weighted.bounds.tolist() == [0, 2, 3, 3]
    assert weighted.rows.tolist() == [0, 1, 1]
    np.testing.assert_allclose(
        weighted.weights, [expected[0, 0], expected[0, 1], expected[1, 1]], rtol=1e-6
    )


def test_folding_adds_up_rows():
    random = np.random.default_rng(0)
    weights = sparse.random_array((20, 30), density=0.2, format="csr", rng=random)
    basis = random.standard_normal((30, 7)).astype(np.float32)
    weighted = Weighted(
        weights.indptr.astype(np.int64),
        weights.indices.astype(np.int32),
        weights.data.astype(np.float32),
    )
    out = np.zeros((20, 7), np.float32)
    fold(*weighted, basis, out)
    np.testing.assert_allclose(out, weights @ basis, atol=1e-5)

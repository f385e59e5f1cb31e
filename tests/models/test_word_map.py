import numpy as np

from likewise.models import word_map
from likewise.models.lanczos import slabs


def test_faint_axes_are_orthonormal_too():
    random = np.random.default_rng(0)
    left = np.linalg.qr(random.standard_normal((5000, 6)))[0]
    mapped = (left * np.geomspace(1, 3e-3, 6)) @ np.linalg.qr(random.standard_normal((6, 6)))[0]
    seen = random.standard_normal((400, 6)).astype(np.float32)
    with slabs(1) as pool:
        axes, turn, good = word_map._axes_of(mapped.astype(np.float32), seen, seen, pool)
    np.testing.assert_allclose(axes.T @ axes, np.eye(6), atol=1e-5)
    np.testing.assert_allclose(axes @ turn, mapped, atol=1e-6)
    np.testing.assert_allclose(good, np.eye(6), atol=1e-6)

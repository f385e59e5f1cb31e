"""The order of numbers: as NumPy's stable sort."""

import numpy as np
import pytest

from likewise.retrieve.order import order_of


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 63, 64, 65, 100, 1000])
@pytest.mark.parametrize("n_values", [1, 3, 20, 10**6])
def test_numbers_are_ordered_and_equal_ones_stay(n, n_values):
    values = np.random.default_rng(n).integers(-n_values, n_values, n).astype(np.float64)
    values[::7] = -0.0
    for given in (values, np.sort(values), -np.sort(values), values / 0.3):
        assert order_of(given).tolist() == np.argsort(given, kind="stable").tolist()

"""Are points of a byte a coordinate indexed as the points that they stand for?"""

import numpy as np
import pytest
from drawn import stored

from likewise.neighbours.int8 import CodedPoints, decode, encode
from likewise.neighbours.ivf import IVF
from likewise.neighbours.scan import nearest_rows

pytest.importorskip("faiss")


@pytest.fixture(scope="module")
def pieces():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(1500, 40)) * np.linspace(1, 0.1, 40)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return [encode(part.astype(np.float32)) for part in (rows[:900], rows[900:])]


def test_lists_of_coded_points_are_those_of_plain_ones(pieces, tmp_path):
    plain = np.concatenate([decode(piece) for piece in pieces])
    coded = CodedPoints(pieces)
    queries = plain[::150]
    ours, theirs = (IVF(refine=4).build(points, seed=0) for points in (coded, plain))
    assert ours.index.nprobe == theirs.index.nprobe
    expected = theirs.propose(queries, 10)
    for finder in (ours, _again(ours, coded, tmp_path)):
        found = finder.propose(queries, 10)
        assert np.array_equal(found.bounds, expected.bounds)
        assert np.array_equal(found.rows, expected.rows)
    near = nearest_rows(coded, queries, 10)
    assert near == nearest_rows(plain, queries, 10)
    found = [
        set(rows) & set(expected.rows[expected.bounds[i] : expected.bounds[i + 1]].tolist())
        for i, rows in enumerate(near)
    ]
    assert sum(map(len, found)) >= 0.95 * 10 * len(queries)


def _again(finder, points, folder):
    return IVF(refine=4).load(stored(finder, folder / "pack"), points)

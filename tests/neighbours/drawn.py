"""Vectors for tests, and what is near among them, worked out the long way."""

import mmap
from itertools import pairwise

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import rel_entr

from likewise.collection.pack import open_pack, write_pack

NAMES = ("hellinger", "js", "kl", "cosine", "inner", "euclidean")


def simplex(n, dimension=100, alpha=0.05, seed=0):
    """Draws from a symmetric Dirichlet distribution."""
    random = np.random.default_rng(seed)
    return random.dirichlet(np.full(dimension, alpha), n).astype(np.float32)


def families(n, dimension=60, seed=0):
    """Distributions over topics in families of ten, so that there are near ones."""
    random = np.random.default_rng(seed)
    themes = random.dirichlet(np.full(dimension, 0.05), -(-n // 10))
    own = random.dirichlet(np.full(dimension, 0.05), n)
    share = random.uniform(0.05, 0.6, (n, 1))
    mixed = (1 - share) * np.repeat(themes, 10, axis=0)[:n] + share * own
    return mixed.astype(np.float32)[random.permutation(n)]


def reference(metric, rows, queries):
    """Distances of each query (row) to each vector (column), in double precision."""
    p, q = np.asarray(rows, np.float64), np.asarray(queries, np.float64)
    if metric in ("hellinger", "js", "kl"):
        p, q = (x / np.where(x.any(axis=1), x.sum(axis=1), 1)[:, None] for x in (p, q))
    if metric == "hellinger":
        return cdist(np.sqrt(q), np.sqrt(p), "sqeuclidean")
    if metric == "js":
        return np.array([_js(one, p) for one in q]).reshape(len(q), len(p))
    if metric == "kl":
        return np.array([rel_entr(one, p).sum(axis=1) for one in q]).reshape(len(q), len(p))
    if metric == "cosine":
        return cdist(q, p, "cosine")
    if metric == "inner":
        return -(q @ p.T)
    return cdist(q, p, "sqeuclidean")


def _js(one, others):
    means = (one + others) / 2
    return (rel_entr(one, means) + rel_entr(others, means)).sum(axis=1) / 2


def nearest_of(distances, k):
    """The numbers of the k nearest, the nearest first, ties by number."""
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def recall(numbers, distances, *, slack=1e-5):
    """How many of the nearest were found: a share of those there are.

    By distance, so that of several as near as the last any may be found.
    """
    k = min(numbers.shape[1], distances.shape[1])
    last = np.sort(distances, axis=1)[:, k - 1]
    scale = max(1.0, float(np.abs(last).max()))
    padded = np.concatenate([distances, np.full((len(distances), 1), np.inf)], axis=1)
    found = np.take_along_axis(padded, numbers, axis=1)
    return float((found <= last[:, None] + slack * scale).sum() / (k * len(distances)))


def lists_of(answer):
    """What belongs to each query."""
    return [answer.numbers[a:b] for a, b in pairwise(answer.bounds.tolist())]


def rows_of(proposals):
    return [proposals.rows[a:b] for a, b in pairwise(proposals.bounds.tolist())]


def same(one, other):
    """Whether all arrays of two answers have the same bits."""
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def stored(finder, path):
    """What a finder put into a file, mapped."""
    with write_pack(path) as pack:
        finder.save(pack)
    return open_pack(path)


def n_stored(pack):
    """How many bytes the arrays of a pack have."""
    return sum(pack.n_bytes(name) for name in pack.names)


def altered(path, name, *, at=0.5, bits=0x55):
    """Flip bits of a byte of an array, its place given as a share of its size."""
    pack = open_pack(path)
    content = bytearray(path.read_bytes())
    content[pack._arrays[name][2] + int(at * (pack.n_bytes(name) - 1))] ^= bits
    path.write_bytes(content)


def is_mapped(array):
    """Whether an array's memory is that of a file."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return array is not None

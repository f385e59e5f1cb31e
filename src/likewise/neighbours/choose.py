"""Which index suits these vectors? The data choose."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from likewise.collection.arrays import Arrays
from likewise.compiled import Floats
from likewise.errors import UsageError
from likewise.neighbours.finder import Finder, Method
from likewise.neighbours.ivf import IVF
from likewise.neighbours.lists import Lists, suits
from likewise.neighbours.metrics import Metric
from likewise.neighbours.scan import Scan

# Below so many numbers a scan takes about a millisecond, and nothing has to be built.
_SCANNED = 16_000_000
_TRIED = 100_000
# Reading an entry of a list costs as much as so many multiplications of a scan, whose matrices
# go through the processor's widest units.
_READ_COST = 150


@dataclass(frozen=True)
class Auto:
    """Let the data choose, and find the share `recall` of the nearest if that can be had."""

    recall: float = 0.98
    notation: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise UsageError(f"auto: recall must be above 0 and at most 1, not {self.recall}")

    def build(self, points: Floats, *, seed: int = 0, origin: Finder | None = None) -> Finder:
        """Refuse: a method is chosen before anything is built."""
        raise UsageError("auto is no index: choose a method for the vectors first")

    def load(self, arrays: Arrays, points: Floats) -> Finder:
        """Refuse: nothing is saved under this name."""
        raise UsageError("auto is no index: nothing is stored under this name")


def choose(points: Floats, metric: Metric, auto: Auto = Auto(), *, seed: int = 0) -> Method:
    """Choose a method for points.

    A scan where that takes about a millisecond. Lists where a sample shows that few topics
    dominate, so that reading lists finds enough at a fraction of a scan's cost. Else partitions,
    if faiss is installed, else the scan. Costs are counted, not timed: the same points, the same
    choice.
    """
    if points.size <= _SCANNED or not metric.euclidean:
        return Scan()
    if suits(points):
        n = min(_TRIED, len(points))
        rows = np.sort(np.random.default_rng(seed).choice(len(points), n, replace=False))
        tried = Lists(recall=auto.recall).build(points[rows], seed=seed).tuned
        # The larger the collection, the nearer the neighbours and the less has to be read.
        if tried.reached >= auto.recall and tried.reads * _READ_COST * 4 < points.size:
            return Lists(recall=auto.recall, paired=tried.paired)
    return IVF(recall=auto.recall) if find_spec("faiss") else Scan()

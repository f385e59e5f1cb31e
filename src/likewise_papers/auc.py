"""How well does a ranking predict what a document says? AUC for each document.

A document labels each candidate: 1 where its body has the term, 0 where not. The AUC of a ranking
is the chance that a candidate of the first kind has a higher score than one of the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise.compiled import Bools, Doubles, kernel
from likewise.errors import UsageError
from likewise.evaluate.significance import (
    Changes,
    Interval,
    bootstrap_interval,
    changes,
    randomisation_test,
)


class Prediction(NamedTuple):
    """The mean AUC over documents, its confidence interval, and how many documents have one."""

    mean: float
    interval: Interval
    n_docs: int


class Difference(NamedTuple):
    """How much one ranking's mean AUC is above another's, document by document.

    `changes` counts the documents of which the AUC rose, fell and stayed; p is that of the paired
    randomisation test.
    """

    mean: float
    interval: Interval
    changes: Changes
    p: float


def auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Give the area under the ROC curve of one ranking, ties counting half.

    NaN where all labels are the same, which leaves nothing to tell apart. Time is O(n log n).
    """
    values, truths = np.asarray(scores, np.float64), np.asarray(labels)
    if values.ndim != 1 or values.shape != truths.shape:
        raise UsageError(
            f"a label is needed for each score, not {truths.shape} labels for {values.shape} scores"
        )
    # Infinite scores have their place (a path that does not exist); NaN has none.
    if np.isnan(values).any():
        raise UsageError(f"{int(np.isnan(values).sum())} scores are NaN, which has no rank")
    if truths.dtype != np.bool_:
        if not np.isin(truths, (0, 1)).all():
            raise UsageError("labels are 0 or 1 (or false and true), nothing else")
        truths = truths.astype(np.bool_)
    order = np.argsort(values)
    return float(area(values[order], truths[order]))


def predicted(
    scores: ArrayLike | Iterable[ArrayLike],
    labels: ArrayLike | Iterable[ArrayLike],
    *,
    among: ArrayLike | Iterable[ArrayLike] | None = None,
) -> Doubles:
    """Give the AUC of each document: scores and labels of the candidates, a row for each.

    Rows may come one at a time and be of different lengths. `among` masks the candidates of each
    document that count. A document whose labels are all the same has NaN.
    """
    given = (scores, labels) if among is None else (scores, labels, among)
    found: list[float] = []
    for i, parts in enumerate(zip_longest(*map(_rows, given))):
        its_scores, its_labels, *mask = map(np.asarray, parts)
        if any(part is None for part in parts):
            raise UsageError(f"scores, labels and masks are not of as many documents: {i} have all")
        if mask:
            if not its_scores.shape == its_labels.shape == mask[0].shape:
                raise UsageError(
                    f"document {i} has {its_scores.shape} scores, {its_labels.shape} labels and a "
                    f"mask of {mask[0].shape}: all must be of the same candidates"
                )
            kept = mask[0].astype(np.bool_)
            its_scores, its_labels = its_scores[kept], its_labels[kept]
        found.append(auc(its_scores, its_labels))
    return np.array(found, np.float64)


def summarise(aucs: ArrayLike, *, level: float = 0.95, seed: int = 0) -> Prediction:
    """Give the mean over the documents that have an AUC, and its bootstrap interval."""
    values = np.asarray(aucs, np.float64)
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if len(known) else float("nan")
    return Prediction(mean, bootstrap_interval(known, level=level, seed=seed), len(known))


def difference(
    aucs: ArrayLike, baseline: ArrayLike, *, level: float = 0.95, seed: int = 0
) -> Difference:
    """Compare two rankings of the same documents, those left out of which either has no AUC."""
    values, others = np.asarray(aucs, np.float64), np.asarray(baseline, np.float64)
    if values.shape != others.shape or values.ndim != 1:
        raise UsageError(
            f"rankings are compared on the same documents, not on {values.shape} and {others.shape}"
        )
    between = values - others
    between = between[~np.isnan(between)]
    mean = float(between.mean()) if len(between) else float("nan")
    return Difference(
        mean,
        bootstrap_interval(between, level=level, seed=seed),
        changes(between),
        randomisation_test(between, seed=seed),
    )


def _rows(given: ArrayLike | Iterable[ArrayLike]) -> Iterable[ArrayLike]:
    if isinstance(given, np.ndarray) and given.ndim != 2:
        raise UsageError(f"a row for each document is needed, not an array of {given.shape}")
    if not isinstance(given, Iterable):
        raise UsageError(f"a row for each document is needed, not {given!r}")
    rows: Iterable[ArrayLike] = given
    return rows


@kernel
def area(scores: Doubles, labels: Bools) -> float:
    """Give the AUC of scores in ascending order; NaN where all labels are the same.

    Equals, with p and q the scores with label true and false,
    `((p[:, None] > q).mean() + (p[:, None] >= q).mean()) / 2`.
    """
    n = len(scores)
    below, above = 0, 0
    wins = 0.0
    start = 0
    while start < n:
        stop = start
        same_below, same_above = 0, 0
        while stop < n and scores[stop] == scores[start]:
            if labels[stop]:
                same_above += 1
            else:
                same_below += 1
            stop += 1
        wins += same_above * (below + 0.5 * same_below)
        below += same_below
        above += same_above
        start = stop
    return wins / (np.float64(above) * below) if above > 0 and below > 0 else np.nan

"""Kernels on the graph of a lexicon, their parameters chosen on training abstracts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.terms.laplacian import Laplacian
from likewise.terms.nodes import DOCUMENT, SENTENCE
from likewise.terms.sets import SetMetric
from likewise.terms.spectrum import SpectralKernel, Spectrum, full_spectrum
from likewise.terms.transforms import Diffusion, Resistance, Transform
from likewise.terms.weights import weigh
from likewise_papers.bench import Bench
from likewise_papers.papers.term_graph.lexicon import Lexicon, Questions
from likewise_papers.terms.kernel_learning import learn_transform, learnt, line_search

# Bounds of the line search: the eigenvalues of one Laplacian are degrees, of the other below 2.
_BOUNDS = {
    ("combinatorial", "resistance"): (1e-3, 1e3),
    ("combinatorial", "diffusion"): (1e-3, 1e1),
    ("normalised", "resistance"): (1e-2, 1e2),
    ("normalised", "diffusion"): (5e-2, 5e1),
}
_FAMILIES: dict[str, Callable[[float], Transform]] = {
    "diffusion": Diffusion,
    "resistance": Resistance,
}


@dataclass(frozen=True)
class Setting:
    """What a kernel is of, and how terms are ranked by it."""

    name: str
    within: str
    laplacian: str
    sets: str
    by: str


PUBLISHED = Setting("as published", SENTENCE, "combinatorial", "nystrom", "distance")
SETTINGS = {
    one.name: one
    for one in (
        PUBLISHED,
        Setting("normalised, by sentence", SENTENCE, "normalised", "mean", "similarity"),
        Setting("normalised, by document", DOCUMENT, "normalised", "mean", "similarity"),
    )
}


class Kernels:
    """Kernels of a setting: of the training abstracts that are not held out, and of all."""

    def __init__(self, lexicon: Lexicon, setting: Setting, bench: Bench) -> None:
        self.lexicon, self.setting = lexicon, setting
        self._points, self._steps = bench["points"], bench["steps"]
        self.laplacians: list[Laplacian] = []
        self.spectra: list[Spectrum] = []
        for counted in (lexicon.rest[setting.within], lexicon.all[setting.within]):
            laplacian = Laplacian(weigh(counted, "counts"), setting.laplacian)
            self.laplacians.append(laplacian)
            self.spectra.append(full_spectrum(laplacian))

    @property
    def degrees(self) -> Doubles:
        """The degrees of the graph of all training abstracts."""
        return self.laplacians[1].graph.degrees

    def scores(self, transform: Transform, asked: Questions) -> Doubles:
        """Score all terms; for questions from training abstracts by the others only."""
        which = 0 if len(asked.hidden) else 1
        kernel = SpectralKernel(self.laplacians[which], transform, spectrum=self.spectra[which])
        metric = SetMetric(kernel, self.setting.sets)
        if self.setting.by == "distance":
            found: Doubles = -metric.distances_of(asked.sets)
            return found
        return metric.similarities_of(asked.sets)

    def fitted(self, family: str) -> tuple[Transform, str]:
        """Give a kernel of one parameter, chosen by what it predicts, and how it is written."""
        make = _FAMILIES[family]
        value = self._choose(make, *_BOUNDS[self.setting.laplacian, family])
        chosen = make(float(f"{value:.3g}"))
        return chosen, str(chosen)

    def learnt(self) -> tuple[Transform, str]:
        """Solve the paper's linear programme; its penalty b is chosen by what it predicts."""
        spectrum, pairs = self.spectra[0], self.lexicon.pairs
        # Knots ascend, and there are as many eigenvalues 0 as components.
        _, first = np.unique(spectrum.values, return_index=True)
        distinct = Spectrum(spectrum.values[first], spectrum.vectors[:, :0])

        def solve(b: float) -> Transform:
            return learnt(distinct, learn_transform(spectrum, pairs, b)[first])

        # What a pair adds by an eigenvector, over the eigenvalue: about the scale of b.
        scale = max(len(pairs), 1) / max(float(spectrum.values.sum()), 1e-300)
        b = self._choose(solve, 1e-3 * scale, 1e2 * scale)
        return solve(b), f"b={b:.3g}"

    def _choose(self, family: Callable[[float], Transform], low: float, high: float) -> float:
        train = self.lexicon.train
        found = line_search(
            lambda value: train.mean(self.scores(family(value), train)),
            low,
            high,
            points=self._points,
            steps=self._steps,
        )
        return found.parameter


def lifted(near: Doubles, degrees: Doubles, popular: Ints) -> Doubles:
    """Give log df + ½ log(K_st / √d_t): what is nowhere near stands as low as the least that is."""
    lift = near / np.sqrt(np.where(degrees > 0, degrees, np.inf))[:, None]
    least = np.where(lift > 0, lift, np.inf).min(axis=0)
    lift = np.maximum(lift, np.where(np.isfinite(least), least, 1.0))
    found: Doubles = np.log(np.maximum(popular, 1))[:, None] + 0.5 * np.log(lift)
    return found

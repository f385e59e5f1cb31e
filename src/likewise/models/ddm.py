"""The document decomposition model, and LDA as the same with the switch off."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import find_rows
from likewise.errors import UsageError
from likewise.models.bags import Bags, Vocabulary, gather
from likewise.models.gibbs import make_cells, resume, start, sweep
from likewise.models.heldout import perplexity, split
from likewise.models.kinds import load_model
from likewise.models.model import LIKE, Model
from likewise.models.priors import LEAST_PRIOR, MOST_PRIOR, Priors, learn_priors
from likewise.models.topics import TopicModel, distributions

if TYPE_CHECKING:
    from likewise.models.fitting import FitJob

Watch = Callable[[dict[str, float]], None]

GAMMA, BETA_OWN, BETA_BACKGROUND = 0.3, 1e-4, 0.01
_WARM_SWEEPS = 10
_BACKGROUND_SEED = 0.1
_SAMPLE_LAG = 5
_BURN_SWEEPS = 20


@dataclass(frozen=True)
class DDM:
    """A document is topics, words of its own, and background.

    `alpha` is a document's prior for each topic, `beta` a topic's for each word, from 1e-6 to 1e6;
    both are learnt every `learn` sweeps after the first 20 (0: never). Topics are the average of
    the last `samples` states, five sweeps apart. With `check` above 0 the perplexity of a held-out
    tenth of the documents is measured every so many sweeps; sampling ends when it has fallen by
    less than the share `stop` since the last time (0: never).
    """

    topics: int = 250
    sweeps: int = 200
    samples: int = 8
    alpha: float = 0.2
    beta: float = 0.01
    learn: int = 10
    check: int = 0
    stop: float = 0.0
    seed: int = 0
    notation: ClassVar[str] = "ddm"
    role: ClassVar[str] = LIKE
    switch: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if min(self.topics, self.sweeps, self.samples) < 1:
            raise UsageError(f"{self}: topics, sweeps and samples must be at least 1")
        if not all(LEAST_PRIOR <= prior <= MOST_PRIOR for prior in (self.alpha, self.beta)):
            raise UsageError(
                f"{self}: alpha and beta must be from {LEAST_PRIOR:g} to {MOST_PRIOR:g}"
            )
        if min(self.learn, self.check, self.stop, self.seed) < 0:
            raise UsageError(f"{self}: learn, check, stop and seed must be at least 0")

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> TopicModel:
        """Fit topics by sampling, from where another model stands if there is one to start from."""
        job.refuse(self, "vectors", "gram")
        origin = None
        if job.warm_start:
            there: Model = load_model(snapshot, job.name or self.notation)
            origin = there.topics("to go on from")
        vocabulary, bags = gather(snapshot, job.sample)
        return fit(vocabulary, bags, self, threads=job.threads, origin=origin, watch=job.watch)


@dataclass(frozen=True)
class LDA(DDM):
    """A document is topics only (Blei, Ng, Jordan 2003)."""

    notation: ClassVar[str] = "lda"
    switch: ClassVar[bool] = False

    def __str__(self) -> str:
        return notation.write(self)


class Sampler:
    """A chain under way: `run` goes on with it, `model` is what it has come to."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        bags: Bags,
        config: DDM,
        *,
        threads: int = 0,
        origin: TopicModel | None = None,
    ) -> None:
        self.config = config
        self.sweeps = 0
        self.history: list[dict[str, float]] = []
        self._vocabulary = vocabulary
        self._threads = threads or os.cpu_count() or 1
        self._heldout = _hold_out(bags, config) if config.check else None
        self._bags = self._heldout[0] if self._heldout else bags
        self._cells = make_cells(self._bags, len(vocabulary))
        self._warm = _WARM_SWEEPS if config.switch and origin is None else 0
        self._priors = _first_priors(config) if origin is None else origin.priors.bounded()
        self._state = start(
            self._cells,
            self._bags,
            len(vocabulary),
            n_topics=config.topics,
            seed=config.seed,
            background=_BACKGROUND_SEED if config.switch else 0.0,
        )
        if origin is not None:
            self._go_on_from(origin)
        self._word_topics = np.zeros((len(vocabulary), config.topics), np.float64)
        self._background = np.zeros(len(vocabulary), np.float64)
        self._n_samples = 0

    def _go_on_from(self, origin: TopicModel) -> None:
        if origin.width != self.config.topics or origin.switch != self.config.switch:
            raise UsageError(
                f"a {self.config.notation} of {self.config.topics} topics cannot go on from a "
                f"{origin.name} of {origin.width}"
            )
        rows = find_rows(origin.vocabulary.terms, self._vocabulary.terms)
        resume(
            self._cells,
            self._state,
            (rows, origin.word_topics, origin.background),
            (self._priors.alpha, self._priors.gamma),
            seed=self.config.seed,
            switch=self.config.switch,
        )

    def run(self, sweeps: int, *, watch: Watch | None = None) -> None:
        """Draw every token anew so many times; stop early where the configuration says so."""
        config = self.config
        last = self.sweeps + sweeps
        with ThreadPoolExecutor(self._threads) as pool:
            while self.sweeps < last:
                switch = config.switch and self.sweeps >= self._warm
                sweep(
                    self._cells,
                    self._state,
                    self._priors,
                    seed=config.seed,
                    number=self.sweeps,
                    switch=switch,
                    pool=pool,
                    threads=self._threads,
                )
                self.sweeps += 1
                if config.learn and self.sweeps > _BURN_SWEEPS and self.sweeps % config.learn == 0:
                    self._priors = learn_priors(self._state, self._priors, switch=switch)
                left = last - self.sweeps
                if left % _SAMPLE_LAG == 0 and left // _SAMPLE_LAG < config.samples:
                    self._take_sample()
                if self._report(watch):
                    break
        if not self._n_samples:
            self._take_sample()

    def model(self, *, latest: bool = False) -> TopicModel:
        """Give the topics of the samples so far, or of the latest state alone."""
        counts, background = self._word_topics, self._background
        if latest:
            counts = self._state.word_topics[:, : self.config.topics].astype(np.float64)
            background = self._state.background.astype(np.float64)
        n = 1 if latest else max(self._n_samples, 1)
        word_topics, behind = distributions(counts / n, background / n, self._priors)
        return TopicModel(
            name=self.config.notation,
            vocabulary=self._vocabulary,
            word_topics=word_topics,
            background=behind,
            priors=self._priors,
            switch=self.config.switch,
            settings={"model": str(self.config)} | asdict(self.config),
            history=tuple(self.history),
        )

    def _take_sample(self) -> None:
        self._word_topics += self._state.word_topics[:, : self.config.topics]
        self._background += self._state.background
        self._n_samples += 1

    def _report(self, watch: Watch | None) -> bool:
        """Note how it stands; tell whether it stands still."""
        note: dict[str, float] = {"sweep": self.sweeps}
        done = False
        if self._heldout and self.sweeps % self.config.check == 0 and self.sweeps > self._warm:
            _, seen, predicted = self._heldout
            note["perplexity"] = perplexity(
                self.model(latest=True), seen, predicted, threads=self._threads
            )
            before = [h["perplexity"] for h in self.history]
            fall = 1 - note["perplexity"] / before[-1] if before else 1.0
            done = self.config.stop > 0 and fall < self.config.stop
            self.history.append(note)
        if watch is not None:
            watch(note)
        return done


def fit(
    vocabulary: Vocabulary,
    bags: Bags,
    config: DDM,
    *,
    threads: int = 0,
    origin: TopicModel | None = None,
    watch: Watch | None = None,
) -> TopicModel:
    """Fit a model by sampling; with `origin`, from where that model stands."""
    if bags.n_tokens == 0:
        raise UsageError("no words to fit a model on")
    sampler = Sampler(vocabulary, bags, config, threads=threads, origin=origin)
    sampler.run(config.sweeps, watch=watch)
    return sampler.model()


def _first_priors(config: DDM) -> Priors:
    return Priors(
        alpha=np.full(config.topics, config.alpha),
        gamma=np.full(3, GAMMA),
        beta_topic=config.beta,
        beta_own=BETA_OWN,
        beta_background=BETA_BACKGROUND,
    )


def _hold_out(bags: Bags, config: DDM) -> tuple[Bags, Bags, Bags]:
    """Set a tenth of the documents aside: those to fit on, and two halves of the others."""
    order = np.random.default_rng(config.seed).permutation(bags.n_docs)
    n = min(max(bags.n_docs // 10, 1), 1000)
    if n >= bags.n_docs:
        raise UsageError("one document is too little to hold any out; leave check at 0")
    return bags.take(np.sort(order[n:])), *split(bags.take(np.sort(order[:n])), seed=config.seed)

"""Does a model still fit the documents that came after it?

What it knew of the documents that it was fitted among is stored with it; documents added since
are measured by the same yardsticks. They are the last by number, however segments were merged.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from likewise.collection.manifest import Artifact
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Ints
from likewise.derived.store import derived_of
from likewise.models.model import Model

_SAMPLE = 1000
# A model has aged when new documents have this many more unknown words (of all words), or are
# predicted this much worse.
_MORE_UNKNOWN = 0.05
_WORSE = 1.25


@dataclass(frozen=True)
class Fitness:
    """How well a model knows documents.

    `unknown` is the share of their words that it does not know. `surprise` is, of topics, the
    perplexity of half the words of a document given the others; of a space or a kernel model, one
    over the share of documents that lies along its axes: of both, less is better.
    """

    documents: int
    unknown: float
    surprise: float


@dataclass(frozen=True)
class Drift:
    """How a model knows new documents, beside how it knew those that it was fitted among.

    `config` is the model as it is written.
    """

    model: str
    config: str
    new_documents: int
    then: Fitness
    now: Fitness

    @property
    def aged(self) -> bool:
        """Whether it should be fitted again."""
        more = self.now.unknown - self.then.unknown
        return more > _MORE_UNKNOWN or self.now.surprise > _WORSE * self.then.surprise

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return asdict(self) | {"aged": self.aged}

    def __str__(self) -> str:
        return (
            f"model {self.model}: of {self.new_documents:,} documents added since it was fitted, "
            f"{self.now.unknown:.1%} of the words are unknown to it (then {self.then.unknown:.1%}),"
            f" surprise {self.now.surprise:,.4g} (then {self.then.surprise:,.4g})"
        )


def measure(collection: Snapshot, model: Model, docs: Ints, *, seed: int = 0) -> Fitness:
    """Measure how well a model knows documents, on a sample of them."""
    chosen = docs
    if len(docs) > _SAMPLE:
        chosen = np.sort(np.random.default_rng(seed).choice(docs, _SAMPLE, replace=False))
    counts = collection.term_counts(chosen)
    known = model.vocabulary.bags(counts)
    n_tokens = int(counts.counts.sum(dtype=np.int64))
    unknown = 1 - known.n_tokens / n_tokens if n_tokens else 0.0
    return Fitness(collection.n_docs, unknown, model.fit_error(counts, seed=seed))


def measure_drift(collection: Snapshot, artifact: Artifact) -> Drift | None:
    """Compare documents added since a model was fitted with those of then; None without any."""
    stored: dict[str, Any] = artifact.about.get("fitness", {})
    n_new = collection.n_docs - stored["documents"] if stored else 0
    if n_new <= 0:
        return None
    newest = collection.live_docs()[-n_new:]
    model = derived_of(collection).root(artifact.kind, artifact.name)
    config = str(model.settings.get("model", artifact.name))
    now = measure(collection, model, newest)
    return Drift(artifact.name, config, n_new, Fitness(**stored), now)

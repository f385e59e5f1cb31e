"""Topics that are counted: the user's categories, or any counts of words by topic.

The paper's "LDA + DS", "NMF + DS" and "ODP + DS": any set of distributions over words serves, with
DDM's inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.errors import UsageError
from likewise.models.bags import Bags, Sample, Vocabulary, gather
from likewise.models.ddm import BETA_BACKGROUND, BETA_OWN, GAMMA
from likewise.models.model import LIKE
from likewise.models.priors import Priors
from likewise.models.topics import TopicModel, distributions

if TYPE_CHECKING:
    from likewise.models.fitting import FitJob
    from likewise.models.sklearn_models import NMF, OnlineLDA

ALPHA = 0.2
_CATEGORY_SMOOTHING = 0.01
_TEXT_VALUES = 10_000


@dataclass(frozen=True)
class Categories:
    """A topic for each value of a metadata field: its documents' words, counted."""

    field: str = "category"
    least: int = 5
    notation: ClassVar[str] = "categories"
    role: ClassVar[str] = LIKE

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> TopicModel:
        """Count the words of each category."""
        job.refuse(self, "warm_start", "vectors", "gram")
        return fit_categories(snapshot, job.sample, self)


def fit_categories(collection: Snapshot, sample: Sample, config: Categories) -> TopicModel:
    """Count the words of the documents of each category; a document may be in several."""
    if config.field not in collection.field_names():
        known = ", ".join(collection.field_names()[:20]) or "none"
        raise UsageError(f"no document has a field {config.field!r}; the fields are {known}")
    labelled: dict[str, list[int]] = {}
    for doc, document in collection.documents():
        value = document.fields.get(config.field)
        for label in value if isinstance(value, list) else [] if value is None else [value]:
            labelled.setdefault(str(label), []).append(doc)
    labels = sorted(label for label, docs in labelled.items() if len(docs) >= config.least)
    if not labels or len(labels) > _TEXT_VALUES:
        raise UsageError(
            f"field {config.field!r} has {len(labels):,} values with at least {config.least} "
            f"documents; categories need 1 to {_TEXT_VALUES:,}"
        )
    vocabulary, bags = gather(collection, sample)
    counts = np.zeros((len(vocabulary), len(labels)), np.float64)
    for k, label in enumerate(labels):
        members = vocabulary.bags(collection.term_counts(np.array(labelled[label], np.int64)))
        counts[:, k] = np.bincount(members.rows, members.counts, len(vocabulary))
    sizes = np.array([len(labelled[label]) for label in labels], np.float64)
    alpha = ALPHA * sizes / sizes.mean()
    return topic_model_of(vocabulary, bags, counts, alpha=alpha, config=config, labels=labels)


def topic_model_of(
    vocabulary: Vocabulary,
    bags: Bags,
    counts: NDArray[Any],
    *,
    alpha: NDArray[np.float64],
    config: OnlineLDA | NMF | Categories,
    labels: Sequence[str] = (),
) -> TopicModel:
    """Make topics a model that decomposes as DDM does; the background is the whole corpus."""
    priors = Priors(alpha, np.full(3, GAMMA), _CATEGORY_SMOOTHING, BETA_OWN, BETA_BACKGROUND)
    corpus = np.bincount(bags.rows, bags.counts, len(vocabulary))
    word_topics, background = distributions(counts, corpus, priors)
    return TopicModel(
        name=config.notation,
        vocabulary=vocabulary,
        word_topics=word_topics,
        background=background,
        priors=priors,
        switch=True,
        labels=tuple(labels),
        settings={"model": str(config)} | asdict(config),
    )

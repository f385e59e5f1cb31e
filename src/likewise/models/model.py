"""A fitted model: what it makes of documents, what its numbers mean, and how it is stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Arrays
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Floats, Ints
from likewise.errors import Remedy, UsageError
from likewise.models.triple import OWN_WORDS, Triples
from likewise.records import Document

if TYPE_CHECKING:
    from likewise.models.attribution import Attribution, EncodedDocument
    from likewise.models.bags import Vocabulary
    from likewise.models.topic_summary import Survey, TopicDescription
    from likewise.models.topics import TopicModel

LIKE, SMOOTH = "like", "smooth"
TYPICAL, DRIFT = "typical", "drift"
# The middle of the dial of likeness.
BALANCED = 0.5
# A share of documents below this is none: fit errors stay finite.
_LEAST_CAPTURED = 1e-6


@dataclass(frozen=True)
class Weights:
    """How much each part counts when documents are compared.

    The parts are dense vectors, specific words, all words, and the words of titles.
    """

    dense: float = 1.0
    specific: float = 1.0
    words: float = 0.0
    titles: float = 0.0


@dataclass(frozen=True)
class Typical:
    """What the documents most like one have on average by each part of likeness.

    As it stands, that of collections at hand: for where nothing was measured. Of titles it is 0
    where most documents have none, or where it was measured before titles were a part.
    """

    dense: float = 0.7
    specific: float = 0.11
    words: float = 0.3
    titles: float = 0.0


class Model(ABC):
    """A fitted model, which answers for itself; subclasses are frozen dataclasses.

    It compares documents (`role` "like": it decomposes them, old or new) or smooths rankings
    ("smooth": it has a row for each). What a kind of model cannot do is refused here, once.
    """

    # The type that it is stored as.
    kind: ClassVar[str]
    role: ClassVar[str] = LIKE
    # What suits vectors as they are stored: the metric by which the nearest have the largest inner
    # products, and the index of large segments.
    metric: ClassVar[str] = "cosine"
    finder: ClassVar[str] = "cells"
    # What is noted of it when it is stored.
    derived: ClassVar[tuple[str, ...]] = (TYPICAL, DRIFT)
    # What a number of a vector is called.
    dimension: ClassVar[str] = "dimension"
    # Topics and specific words are distributions, which add up to one; else they are directions.
    distributions: ClassVar[bool] = False
    # Documents have vectors of their own, which their words do not tell.
    has_own_vectors: ClassVar[bool] = False

    if TYPE_CHECKING:
        # Fields of subclasses; at run time a property would be taken for a field's default.
        @property
        def name(self) -> str:
            """What it is called."""

        @property
        def vocabulary(self) -> Vocabulary:
            """The terms that it knows."""

        @property
        def settings(self) -> Mapping[str, Any]:
            """How it was fitted."""

        @property
        def history(self) -> tuple[Mapping[str, float], ...]:
            """What the fit reported."""

    # Stored

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that it is stored as."""

    def about(self) -> dict[str, Any]:
        """Give the plain values that it is stored with: how it was fitted, and more of its own."""
        return {
            "settings": dict(self.settings),
            "history": [dict(note) for note in self.history],
        }

    @classmethod
    @abstractmethod
    def load(cls, name: str, arrays: Arrays, about: Mapping[str, Any]) -> Model:
        """Give it as it was stored."""

    def without(self, documents: Iterable[Document]) -> Model | None:
        """Give the model without what it keeps of documents; None where that is nothing."""
        return None

    # Documents

    @property
    def dense_weight(self) -> float:
        """How much dense vectors count beside words, where 1 is as much as axes do."""
        return 1.0

    @property
    @abstractmethod
    def width(self) -> int:
        """How many topics, axes or dimensions there are: the width of a vector."""

    @property
    @abstractmethod
    def layout(self) -> dict[str, tuple[Any, int]]:
        """Name the arrays of `encode`: their types, and the widths of their rows."""

    @abstractmethod
    def encode(
        self, collection: Snapshot, docs: Ints, *, words: int, threads: int = 1
    ) -> dict[str, NDArray[Any]]:
        """Give what is stored of documents, each by itself: in any company the same bits."""

    def transform(self, counts: TermCounts, *, words: int = OWN_WORDS, threads: int = 1) -> Triples:
        """Decompose documents, each by itself, with up to so many specific words."""
        self._smooths("and decomposes no documents")

    def compact(self, counts: TermCounts, triples: Triples) -> Floats:
        """Give what is compared of documents beside specific words: directions, not lengths.

        Zeros for a document of which the model knows no word.
        """
        self._smooths("and compares no documents")

    def attribute(
        self, asked: Sequence[EncodedDocument], point: Doubles, counts: TermCounts, rows: Doubles
    ) -> list[Attribution]:
        """Split the dense scores of answers, given by their terms and stored rows.

        `asked` are the documents in hand, `point` what was compared in the end. Unless a model says
        otherwise no words make up its vectors.
        """
        from likewise.models.attribution import NOTHING

        return [NOTHING] * len(rows)

    def query_vector(self, counts: TermCounts, triples: Triples, vector: Floats | None) -> Floats:
        """Give what is compared of one document in hand, which may come with a vector."""
        if vector is not None:
            raise UsageError(
                f"model {self.name!r} has no use for a vector",
                remedy=Remedy(
                    "name a model of vectors, as in method='hybrid(model=vectors)'",
                    "name a model of vectors, as in --method 'hybrid(model=vectors)'",
                ),
            )
        row: Floats = self.compact(counts, triples)[0]
        return row

    def document_rows(self, collection: Snapshot, docs: Ints) -> Floats:
        """Give the rows of documents by a kernel, before they are rounded."""
        self._refuse("has no rows of a kernel")

    def coordinates(self, vectors: Floats, shares: Floats) -> Floats:
        """Give vectors as they are stored, with their shares, as the model has documents."""
        self._smooths("and has no space to find neighbours in")

    # Meaning

    @property
    def word_weights(self) -> NDArray[np.float32]:
        """What words weigh in topics, or on axes: a row for each word of the vocabulary."""
        self._refuse("has no topics")

    @property
    def n_terms(self) -> int:
        """How many terms it knows."""
        return len(self.vocabulary)

    @property
    def word_model(self) -> Model:
        """What says of words how far they are topical: itself, unless words do not make vectors."""
        return self

    def routes(self, counts: TermCounts, triples: Triples) -> tuple[Doubles, Ints]:
        """Give for each word of documents how far it is topical, its own, background; its topic."""
        self._refuse("says nothing of single words")

    def distinctive_rows(
        self, collection: Snapshot, weights: Doubles, numbers: Ints, n: int
    ) -> list[Ints]:
        """Find the vocabulary rows of the n words that tell most of topics, by their weights.

        The words of an axis are those of the pole on whose side the document stands.
        """
        self._refuse("has no topics")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of topics, where they have any."""
        return ()

    def topics(self, purpose: str) -> TopicModel:
        """Give it as topics, which are distributions over words; `purpose` is for the error."""
        raise UsageError(f"model {self.name!r} has no topics {purpose}")

    def dimension_names(self, collection: Snapshot) -> list[str]:
        """Name every topic, axis or dimension."""
        return [f"{self.dimension} {i}" for i in range(self.width)]

    def describe(
        self, collection: Snapshot, seen: Survey, *, words: int, docs: int
    ) -> list[TopicDescription]:
        """Describe every topic, or axis, by words and by documents of a survey."""
        self._refuse("has no topics to list")

    # Upkeep

    def captured(self, counts: TermCounts) -> Doubles:
        """Give the share of each document that lies along the axes."""
        return self.transform(counts, words=0).shares[:, 0].astype(np.float64)

    def fit_error(self, counts: TermCounts, *, seed: int = 0) -> float:
        """Tell how badly it knows documents: one over the share of them that it captures."""
        shares = self.captured(counts)
        captured = float(shares[shares > 0].mean()) if shares.any() else 0.0
        return 1 / max(captured, _LEAST_CAPTURED)

    # Refusals

    def _smooths(self, therefore: str) -> NoReturn:
        raise UsageError(
            f"model {self.name!r} smooths rankings {therefore}",
            remedy=Remedy("name another with model=", "name another with --model"),
        )

    def _refuse(self, why: str) -> NoReturn:
        raise UsageError(
            f"model {self.name!r} {why}",
            remedy=Remedy(
                "name another with model=, or fit one with models.fit",
                "name another with --model, or fit one: likewise fit",
            ),
        )

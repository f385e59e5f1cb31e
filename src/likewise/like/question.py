"""What is asked: documents in hand, of the collection or not, and documents to keep away from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Floats, Ints
from likewise.models.outside import counts_of
from likewise.records import Ranking
from likewise.retrieve.explain import Part

# How much likeness to what is to be kept away from takes off the score.
AGAINST = 0.5


class Example(NamedTuple):
    """A document in hand: its term counts, its number (-1 from outside) and its vector, if given.

    Terms that the collection never had are numbered from `n_terms` upward.
    """

    counts: TermCounts
    doc: int = -1
    vector: Floats | None = None


class Question(NamedTuple):
    """Documents that answers should be like, and others that they should not be like."""

    qid: str
    like: tuple[Example, ...]
    unlike: tuple[Example, ...] = ()

    @property
    def examples(self) -> tuple[Example, ...]:
        """All of them."""
        return self.like + self.unlike

    @property
    def docs(self) -> Ints:
        """The documents of the collection among them, which are no answers."""
        return np.unique([e.doc for e in self.examples if e.doc >= 0]).astype(np.int64)


class Ranker(Protocol):
    """Ranks documents by likeness; safe to use from several threads."""

    def rank(
        self,
        questions: Sequence[Question],
        *,
        k: int,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
    ) -> list[Ranking]:
        """Find the k best documents for each question, without its own documents.

        A score is the mean of those for each of `like`, less `AGAINST` times the mean of those
        for `unlike`.
        """
        ...

    def explain(
        self,
        question: Question,
        doc: int,
        *,
        k: int = 10,
        allowed: Sequence[Bools] | None = None,
    ) -> list[Part]:
        """Split the score of a document, ranked with these, into parts that add up to it."""
        ...


def of_text(
    collection: Snapshot, text: str, *, title: str = "", vector: Floats | None = None
) -> Example:
    """Take a text in hand, with the vector that the user has of it, where a model compares such.

    `title` is the part of the text that counts as a title.
    """
    return Example(counts_of(collection, text, title=title)[0], -1, vector)


def of_doc(collection: Snapshot, doc: int) -> Example:
    """Take a document of the collection in hand."""
    return Example(collection.term_counts(np.array([doc])), doc)

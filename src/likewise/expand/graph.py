"""What is said with the query's words? Expansion along the association graph of terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from likewise.compiled import Doubles
from likewise.expand.expansion import (
    NO_SHARE,
    Expander,
    ExpansionResult,
    Feedback,
    WordSearch,
    check_counts,
    check_share,
    join,
)
from likewise.retrieve.lookup import LARGEST_WEIGHT, LEAST_WEIGHT

if TYPE_CHECKING:
    from likewise.terms.nearness import Nearness
    from likewise.terms.related import TermGraph

# Graphs are imported when one is asked: other expanders do not wait for them.

# A term's nearness to a word of the query is told by what the nearest so many come to.
_NEAREST = 20
# How much a term keeps that is not near to a word of the query at all.
_ANYWAY = 0.1
# So many queries have the columns of their words worked out together, and kept while these take
# no more numbers than this.
_TOGETHER = 16
_CELLS = 1 << 24


class _Words(NamedTuple):
    """A query's terms that the collection has, and those of them that are nodes of the graph."""

    asked: dict[str, float]
    nodes: list[int]
    weights: list[float]


@dataclass(frozen=True)
class GraphExpander(Expander):
    """Expansion by the terms that are near to all words of a query on a graph of terms.

    The nearness of a term to a word is K over the mean of the word's 20 nearest; that to the query
    is the weighted geometric mean, with 0.1 added, over its words (by weight and idf), so that
    what is near to one word alone counts for little. Chosen are the `terms` with the largest
    nearness times √idf, which are their weights. `graph` names one of the collection's graphs
    (see `terms.catalogue.find_graph`), whose names of several words are left out; `kernel`,
    `weights` and `laplacian` are those of `terms.nearness.Nearness`.
    """

    terms: int = 50
    share: float = 0.2
    graph: str = ""
    kernel: str = "resistance"
    weights: str = "idf"
    laplacian: str = "normalised"
    notation: ClassVar[str] = "graph"

    def __post_init__(self) -> None:
        check_counts("graph", terms=self.terms)
        check_share("graph", self.share)
        _ = self.nearness

    @property
    def nearness(self) -> Nearness:
        """How nearness is measured."""
        from likewise.terms.nearness import Nearness

        return Nearness(kernel=self.kernel, weights=self.weights, laplacian=self.laplacian)

    @property
    def by_graph(self) -> bool:
        """Whether it asks a graph of terms: it does."""
        return True

    @property
    def feedback_docs(self) -> int:
        """How many documents of the first ranking it needs: it looks at none."""
        return 0

    def with_share(self, share: float) -> GraphExpander:
        """Give the same with another share of the expansion."""
        return replace(self, share=share)

    def expand(self, batch: Sequence[Feedback], search: WordSearch) -> list[ExpansionResult]:
        """Expand queries."""
        if self.share == 0:
            return [ExpansionResult({}, NO_SHARE)] * len(batch)
        from likewise.terms.graph_cache import open_graph

        collection = search.retriever.collection
        opened = open_graph(collection, self.graph, self.nearness, threads=search.threads)
        columns = _Columns(opened)
        return [
            self._expand(opened, words, columns)
            for start in range(0, len(batch), _TOGETHER)
            for words in columns.of(
                _read(batch[start : start + _TOGETHER], search, opened.stored.node_of)
            )
        ]

    def _expand(self, opened: TermGraph, words: _Words, columns: _Columns) -> ExpansionResult:
        if not words.nodes:
            return ExpansionResult({}, "no word of it is a term of the graph")
        numbers = opened.stored.term_numbers
        near = np.zeros(len(opened))
        weights = np.array(words.weights) * np.maximum(opened.rarity[words.nodes], 1e-3)
        for node, weight in zip(words.nodes, (weights / weights.sum()).tolist(), strict=True):
            near += weight * np.log(_ANYWAY + columns.nearness(node, words.nodes))
        gains = (np.exp(near) - _ANYWAY) * np.sqrt(opened.rarity)
        gains[words.nodes] = 0.0
        gains[numbers < 0] = 0.0
        best = np.lexsort((np.arange(len(gains)), -gains))[: self.terms]
        # What is near to nothing is left with rounding.
        best = best[gains[best] > 1e-9 * max(float(gains[best[0]]), 1.0)]
        names = opened.collection.terms(numbers[best])
        found = dict(zip(names, gains[best].tolist(), strict=True))
        return join(words.asked, found, self.share, norm="sum", where="the graph")


class _Columns:
    """Columns of the kernel, those of several queries worked out at a time."""

    def __init__(self, opened: TermGraph) -> None:
        self._opened = opened
        self._held: dict[int, Doubles] = {}
        self._wanted: list[int] = []

    def of(self, words: Sequence[_Words]) -> Iterator[_Words]:
        """Give queries one by one; the columns of their words are worked out together."""
        self._wanted = [*dict.fromkeys(node for one in words for node in one.nodes)]
        yield from words

    def _column(self, node: int) -> Doubles:
        if node not in self._held:
            # A query may be a whole document; and solving takes several times what it gives.
            room = max(_CELLS // len(self._opened), 1)
            coming = self._wanted[self._wanted.index(node) :]
            some = [one for one in coming if one not in self._held][: max(room // 8, 1)]
            if len(self._held) + len(some) > room:
                self._held.clear()
            placed = np.zeros((len(self._opened), len(some)))
            placed[some, np.arange(len(some))] = 1
            found = self._opened.kernel.columns(placed).T.copy()
            self._held.update(zip(some, found, strict=True))
        return self._held[node]

    def nearness(self, node: int, own: list[int]) -> Doubles:
        """Tell how near all terms are to a node, over what its nearest ones come to."""
        near = np.maximum(self._column(node), 0.0)
        near[own] = 0.0
        top = np.partition(near, -_NEAREST)[-_NEAREST:] if len(near) > _NEAREST else near
        mean = float(top.mean())
        return near / mean if mean > 0 else near


def _read(
    batch: Sequence[Feedback], search: WordSearch, node_of: Mapping[int, int]
) -> list[_Words]:
    out = []
    for one in batch:
        terms = [t for t, weight in one.terms.items() if LEAST_WEIGHT <= weight <= LARGEST_WEIGHT]
        numbers, _, _ = search.retriever.known(terms)
        known = [
            (t, number) for t, number in zip(terms, numbers.tolist(), strict=True) if number >= 0
        ]
        on_graph = [(node_of[number], one.terms[t]) for t, number in known if number in node_of]
        out.append(
            _Words(
                {t: one.terms[t] for t, _ in known},
                [node for node, _ in on_graph],
                [weight for _, weight in on_graph],
            )
        )
    return out

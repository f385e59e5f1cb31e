"""What is said with the query's words? Expansion along the association graph of terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from likewise import notation
from likewise.compiled import Doubles, Ints
from likewise.expand.expander import (
    NO_SHARE,
    Asked,
    Grown,
    Setting,
    check_counts,
    check_share,
    join,
)
from likewise.retrieve.search import LARGEST_WEIGHT, LEAST_WEIGHT

if TYPE_CHECKING:
    from likewise.terms.related import Nearness, TermGraph

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
class Associated:
    """Expansion by the terms that are near to all words of a query on a graph of terms.

    The nearness of a term to a word is K over the mean of the word's 20 nearest; that to the query
    is the weighted geometric mean, with 0.1 added, over its words (by weight and idf), so that
    what is near to one word alone counts for little. Chosen are the `terms` with the largest
    nearness times √idf, which are their weights. `graph` names one of the collection's graphs
    (the one made last), whose names of several words are left out; `kernel`, `weights` and
    `laplacian` are those of `terms.related.Nearness`.
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

    def __str__(self) -> str:
        return notation.write(self)

    @property
    def nearness(self) -> Nearness:
        """How nearness is measured."""
        from likewise.terms.related import Nearness

        return Nearness(kernel=self.kernel, weights=self.weights, laplacian=self.laplacian)

    @property
    def by_graph(self) -> bool:
        """Whether it asks a graph of terms: it does."""
        return True

    @property
    def depth(self) -> int:
        """How many documents of the first ranking it needs: it looks at none."""
        return 0

    def at(self, share: float) -> Associated:
        """Give the same with another share of the expansion."""
        return replace(self, share=share)

    def grow(self, batch: Sequence[Asked], setting: Setting) -> list[Grown]:
        """Expand queries."""
        if self.share == 0:
            return [Grown({}, NO_SHARE)] * len(batch)
        from likewise.terms.opening import open_graph

        collection = setting.retriever.collection
        opened = open_graph(collection, self.graph, self.nearness, threads=setting.threads)
        numbers = _spelt_once(opened.stored.nodes.term_numbers(collection))
        node_of = {number: node for node, number in enumerate(numbers.tolist()) if number >= 0}
        columns = _Columns(opened)
        return [
            self._grow(opened, numbers, words, columns)
            for start in range(0, len(batch), _TOGETHER)
            for words in columns.of(_read(batch[start : start + _TOGETHER], setting, node_of))
        ]

    def _grow(self, opened: TermGraph, numbers: Ints, words: _Words, columns: _Columns) -> Grown:
        if not words.nodes:
            return Grown({}, "no word of it is a term of the graph")
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

    def of(self, words: Sequence[_Words]) -> Iterator[_Words]:
        """Give queries one by one; the columns of their words are there."""
        n = len(self._opened)
        if len(self._held) * n > _CELLS:
            self._held.clear()
        wanted = sorted({node for one in words for node in one.nodes} - self._held.keys())
        placed = np.zeros((n, len(wanted)))
        placed[wanted, np.arange(len(wanted))] = 1
        if wanted:
            found = self._opened.kernel.columns(placed).T.copy()
            self._held.update(zip(wanted, found, strict=True))
        yield from words

    def nearness(self, node: int, own: list[int]) -> Doubles:
        """Tell how near all terms are to a node, over what its nearest ones come to."""
        near = np.maximum(self._held[node], 0.0)
        near[own] = 0.0
        top = np.partition(near, -_NEAREST)[-_NEAREST:] if len(near) > _NEAREST else near
        mean = float(top.mean())
        return near / mean if mean > 0 else near


def _spelt_once(numbers: Ints) -> Ints:
    """Leave each term to its first node: exact names may be several spellings of one."""
    _, first = np.unique(numbers, return_index=True)
    out = np.full(len(numbers), -1, np.int64)
    out[first] = numbers[first]
    return out


def _read(batch: Sequence[Asked], setting: Setting, node_of: Mapping[int, int]) -> list[_Words]:
    out = []
    for one in batch:
        terms = [t for t, weight in one.terms.items() if LEAST_WEIGHT <= weight <= LARGEST_WEIGHT]
        numbers, _, _ = setting.retriever.known(terms)
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

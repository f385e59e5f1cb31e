"""Which terms are near to these, how near, and by what?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Ids, Ints, one_blas_thread
from likewise.errors import UsageError
from likewise.terms.catalogue import Stored
from likewise.terms.graph import Graph
from likewise.terms.kernel import Kernel, make_kernel
from likewise.terms.kinds import PreparedGraph
from likewise.terms.laplacian import Laplacian
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import TERMS
from likewise.terms.query_nodes import Mentioned, find_unknown, spellings
from likewise.terms.sets import PLACEMENTS, SetMetric, TermSet, term_set
from likewise.terms.weights import rarity

_LONGEST_PATH = 6
# Values are equal that fall into the same of so many steps up to the largest.
_STEPS = 1e12
# A sketch is off by no more than so many of its standard errors; of how many terms beyond twice
# those asked for the distance is worked out because of it, and how many at once.
_SURE, _MOST_MORE, _AT_ONCE = 3.0, 128, 32


class Link(NamedTuple):
    """A term through which two others are near, and its part of their similarity."""

    node: int
    name: str
    part: float


class Related(NamedTuple):
    """A term, how near it is to those asked for, and by what.

    The distance is given where terms are ranked by it. `through` has the strongest parts of the
    similarity by the last step to the term: all of them add up to it. A part of a term asked for
    is what is said together directly. `path` leads from one of these by the strongest steps; it
    is empty where these lead elsewhere.
    """

    node: int
    name: str
    similarity: float
    distance: float | None = None
    through: tuple[Link, ...] = ()
    path: tuple[str, ...] = ()


class Between(NamedTuple):
    """How near two texts are, and through which terms.

    The cosine K_ab / √(K_aa K_bb), from -1 to 1, compares pairs of texts of any length, which the
    similarity does not: the more a text mentions, the less near it is even to itself. All parts
    add up to the similarity (nearly, by `nystrom`); a term that both mention is one of them.
    """

    similarity: float
    distance: float
    cosine: float
    a: Mentioned
    b: Mentioned
    through: tuple[Link, ...]


class Neighbourhood(NamedTuple):
    """Terms asked for, which come first, the nearest to them, and the links between all these.

    `scores` are what terms are ranked by, similarities to what was asked for or distances below
    zero; `strengths` are the entries of I - L.
    """

    names: list[str]
    asked: int
    scores: Doubles
    edges: Ints
    strengths: Doubles


class _Reason(NamedTuple):
    """The strongest links of a term and the path to it, as nodes."""

    links: list[tuple[int, float]]
    path: list[int]

    @property
    def nodes(self) -> list[int]:
        """All nodes that it speaks of."""
        return [*(node for node, _ in self.links), *self.path]


class TermGraph:
    """The association graph of a collection with a measure of nearness on it."""

    def __init__(
        self, stored: Stored, nearness: Nearness = Nearness(), *, threads: int = 1
    ) -> None:
        self.stored = stored
        self.nearness = nearness
        self.threads = threads

    def __repr__(self) -> str:
        return f"<TermGraph {self.stored.name!r}: {len(self):,} terms>"

    def __len__(self) -> int:
        return len(self.stored.nodes)

    @property
    def collection(self) -> Snapshot:
        """The documents that the graph was counted in."""
        return self.stored.collection

    @cached_property
    def graph(self) -> Graph:
        """The weighted graph."""
        if self._prepared is not None:
            return self._prepared.graph
        return self.stored.weighed(self.nearness.weights, self.nearness.least)

    @cached_property
    def _prepared(self) -> PreparedGraph | None:
        return self.stored.prepared() if self.nearness.has_usual_edges else None

    @cached_property
    def laplacian(self) -> Laplacian:
        """The Laplacian that the kernel is of."""
        n = self.nearness
        return Laplacian(self.graph, n.laplacian, n.damping, threads=self.threads)

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel on terms."""
        n = self.nearness
        route = "spectrum" if PLACEMENTS[n.sets].spectral else n.route
        return make_kernel(
            self.graph,
            n.transform,
            laplacian=n.laplacian,
            damping=n.damping,
            route=route,
            threads=self.threads,
            found=None if self._prepared is None else self._prepared.leading,
        )

    @cached_property
    def metric(self) -> SetMetric:
        """Similarities and distances of sets."""
        return SetMetric(self.kernel, self.nearness.sets)

    @cached_property
    def rarity(self) -> Doubles:
        """The idf of each node."""
        return rarity(self.stored.counted)

    def names(self, nodes: Ints | Sequence[int], *, said: str = "") -> list[str]:
        """Give the names of nodes: words that stand for the terms, or names as they were given.

        Terms of the text `said` have the surface forms that it has.
        """
        names = self.stored.nodes.names(self.collection, np.asarray(nodes, np.int64))
        if self.stored.nodes.kind != TERMS:
            return names
        from likewise.models.surface_forms import readable_terms

        words = spellings(self.collection, said)
        others = [name for name in names if name not in words]
        words |= readable_terms(self.collection, others)
        return [words[name] for name in names]

    def mentioned(self, text: str) -> Mentioned:
        """Read a text as a set of the terms that it mentions, weighed by idf; raise at none."""
        nodes = self.stored.nodes.find(self.collection, text)
        unknown = find_unknown(self.stored, text, nodes)
        if len(nodes) == 0:
            shown = text if len(text) <= 60 else f"{text[:59]}…"
            raise UsageError(
                f"the graph {self.stored.name!r} has no term of {shown!r}; it has "
                f"{len(self):,} that {self._chosen()}"
            )
        # Terms that are everywhere still count for something.
        weights = np.maximum(self.rarity[nodes], 1e-3)
        return Mentioned(term_set(TermSet(nodes, weights), len(self)), unknown)

    def nearest(self, text: str, k: int = 20, *, parts: int = 3) -> list[Related]:
        """Give the k terms nearest to those that a text mentions, and what brings them near.

        Terms that nothing connects to these are not among them.
        """
        if k < 0:
            raise UsageError(f"k must be 0 or more, not {k}")
        members = self.mentioned(text).members
        placed = self._placed(self.metric.leaning(members))
        reached = self.kernel.through(placed[:, None])
        if PLACEMENTS[self.nearness.sets].spectral:
            similarities = self.metric.similarities(members)
        else:
            # One step more is all that is left to do: K = g(c) I + M h(M).
            similarities = self.kernel.last_step(reached, placed[:, None])[:, 0]
        distances = None
        if self.nearness.by_distance:
            distances = self.metric.distances(members)
            if self.nearness.sets == "mean":
                self._sharpen(members, similarities, distances, k)
        found = self._best(members, 2 * k, similarities if distances is None else -distances)
        if not PLACEMENTS[self.nearness.sets].spectral:
            # Whole columns are nearly so; what is given is the sum of its parts.
            exact = self.laplacian.apply_at(found, reached)[:, 0]
            similarities[found] = exact + self._at_centre * placed[found]
        if distances is None:
            found = found[_best(similarities[found], found, k)]
        found = found[:k]
        reasons = [_Reason([], [])] * len(found)
        if parts:
            reasons = self._reasons(members, found, reached[:, 0], parts)
        forms = self._surface_forms(
            [*found.tolist(), *(node for reason in reasons for node in reason.nodes)], text
        )
        return [
            Related(
                node,
                forms[node],
                float(similarities[node]),
                None if distances is None else float(distances[node]),
                tuple(Link(other, forms[other], part) for other, part in reason.links),
                tuple(forms[other] for other in reason.path),
            )
            for node, reason in zip(found.tolist(), reasons, strict=True)
        ]

    def between(self, a: str, b: str, *, parts: int = 5) -> Between:
        """Tell how near two texts are, as sets of terms."""
        first, second = self.mentioned(a), self.mentioned(b)
        similarity = self.metric.similarity(first.members, second.members)
        distance = self.metric.distance(first.members, second.members)
        cosine = self.metric.cosine(first.members, second.members)
        placed, weights = map(self._placed, self.metric.pairing(first.members, second.members))
        reached = self.kernel.through(placed[:, None])[:, 0]
        total, own = np.zeros(len(self)), np.zeros(len(self))
        for node in np.flatnonzero(weights).tolist():
            columns, steps = self._steps(node, reached)
            total[columns] += weights[node] * steps
            if len(columns) == 0:
                own[node] = weights[node] * self._stayed(node, reached)
        if np.isin(first.members.nodes, second.members.nodes).any():
            # What both mention is near by itself: the part of K = g(c) I + M h(M) that is no step.
            total += self._at_centre * placed * weights + own
        elif own.any() and total.any():
            # A term without edges is reached by those that it is collapsed with.
            total *= 1 + own.sum() / total.sum()
        best = _strongest(np.arange(len(self)), total, parts)
        forms = self._surface_forms([node for node, _ in best], f"{a}\n{b}")
        through = tuple(Link(node, forms[node], part) for node, part in best)
        return Between(similarity, distance, cosine, first, second, through)

    def neighbourhood(self, text: str, k: int = 30) -> Neighbourhood:
        """Give the nearest terms with all links between them and those asked for."""
        asked = self.mentioned(text).members.nodes.tolist()
        near = self.nearest(text, k, parts=0)
        nodes = [*asked, *(one.node for one in near)]
        place = {node: i for i, node in enumerate(nodes)}
        edges, strengths = [], []
        for node in nodes:
            columns, values = self.laplacian.row(node)
            for other, strength in zip(columns.tolist(), values.tolist(), strict=True):
                if place.get(other, -1) > place[node]:
                    edges.append((place[node], place[other]))
                    strengths.append(strength)
        ranked = [one.similarity if one.distance is None else -one.distance for one in near]
        # Equals may be in the order of their numbers: none is to score more than the one before.
        scores = np.concatenate([np.zeros(len(asked)), np.minimum.accumulate([*ranked, 0.0])[:-1]])
        return Neighbourhood(
            self.names(nodes, said=text),
            len(asked),
            scores,
            np.array(edges, np.int64).reshape(-1, 2),
            np.array(strengths),
        )

    def similarities(self, text: str) -> Doubles:
        """Give the similarity of every term to those that a text mentions."""
        return self.metric.similarities(self.mentioned(text).members)

    def among(self, nodes: Ints) -> Doubles:
        """Give a kernel of some nodes alone: of walks that do not leave them.

        Degrees are those of the whole graph. It is positive definite, and takes no search.
        """
        square = np.diag(self.laplacian.own[nodes])
        for i, node in enumerate(nodes.tolist()):
            columns, entries = self.laplacian.row(node)
            if len(columns):
                places = np.minimum(np.searchsorted(columns, nodes), len(columns) - 1)
                square[i] -= np.where(columns[places] == nodes, entries[places], 0.0)
        with one_blas_thread():
            values, vectors = np.linalg.eigh(square)
            entries = (vectors * self.nearness.transform(np.maximum(values, 0.0))) @ vectors.T
        found: Doubles = (entries + entries.T) / 2
        return found

    def _sharpen(self, members: TermSet, similarities: Doubles, distances: Doubles, k: int) -> None:
        """Put exact distances in place of the best, which may go by a sketched diagonal.

        After them come terms in the order of how near the errors of the sketch let them be, until
        no other can be among the k nearest, or too many have been taken.
        """
        lowest = distances - _SURE * self.kernel.diagonal_errors()
        best = self._best(members, 2 * k, -distances)
        others = self._best(members, 2 * k + _MOST_MORE, -lowest)
        others = others[~np.isin(others, best)][:_MOST_MORE]
        pool = np.concatenate([best, others])
        own = float((members.weights * similarities[members.nodes]).sum())
        exact, more = np.empty(0), 2 * k
        while len(exact) < len(pool) and more:
            some = pool[len(exact) : len(exact) + more]
            found = own + self.kernel.diagonal_of(some) - 2 * similarities[some]
            exact = np.concatenate([exact, found])
            left = lowest[pool[len(exact) :]]
            more = _AT_ONCE if (left[:1] < np.sort(exact)[k - 1 : k]).any() else 0
        # What was left behind is no nearer than the best, whatever its sketch says.
        distances[:] = np.maximum(distances, exact.max(initial=0.0))
        distances[pool[: len(exact)]] = np.maximum(exact, 0.0)

    def _best(self, members: TermSet, k: int, ranked: Doubles) -> Ints:
        """Give the best terms that something connects to the members, which are not among them."""
        parts = self.graph.components
        reachable = np.isin(parts, parts[members.nodes])
        reachable[members.nodes] = False
        candidates = np.flatnonzero(reachable)
        return candidates[_best(ranked[candidates], candidates, k)]

    @cached_property
    def _at_centre(self) -> float:
        return float(self.nearness.transform(np.array([self.laplacian.centre]))[0])

    def _reasons(
        self, members: TermSet, found: Ints, reached: Doubles, parts: int
    ) -> list[_Reason]:
        asked = set(members.nodes.tolist())
        return [
            _Reason(
                _strongest(*self._steps(node, reached), parts), self._path(node, asked, reached)
            )
            for node in found.tolist()
        ]

    def _placed(self, members: TermSet) -> Doubles:
        """Give a set as a weight of every node."""
        placed = np.zeros(len(self))
        placed[members.nodes] = members.weights
        return placed

    def _steps(self, node: int, reached: Doubles) -> tuple[Ids, Doubles]:
        """Give the parts of a term's similarity by the term before the last step."""
        columns, values = self.laplacian.row(node)
        parts = values * reached[columns]
        # Those before it share what is no step.
        stayed = self._stayed(node, reached)
        total = float(parts.sum())
        if stayed and total > 0:
            parts *= 1 + stayed / total
        elif stayed and len(parts):
            parts += stayed * values / values.sum()
        return columns, parts

    def _stayed(self, node: int, reached: Doubles) -> float:
        """Give what M brings a term from itself: that of the combinatorial one stays as well."""
        laplacian = self.laplacian
        return float((laplacian.centre - laplacian.own[node]) * reached[node])

    def _surface_forms(self, nodes: Sequence[int], said: str) -> dict[int, str]:
        distinct = [*dict.fromkeys(nodes)]
        return dict(zip(distinct, self.names(distinct, said=said), strict=True))

    def _path(self, node: int, asked: set[int], reached: Doubles) -> list[int]:
        """Walk back to a term asked for by the strongest steps."""
        path = [node]
        while path[0] not in asked:
            columns, parts = self._steps(path[0], reached)
            fresh = ~np.isin(columns, path)
            columns, parts = columns[fresh], parts[fresh]
            if len(columns) == 0 or len(path) == _LONGEST_PATH:
                return []
            path.insert(0, int(columns[np.argmax(parts)]))
        return path

    def _chosen(self) -> str:
        settings = self.stored.settings
        if settings.names:
            return f"come from {settings.names}"
        rule = settings.filters
        return f"stand in {rule.min_df} documents or more and at most {rule.max_df:.0%} of them"


def _best(values: Doubles, nodes: Ints, k: int) -> Ints:
    """Give the places of the k largest; of equals but for the order of a sum, first nodes first."""
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    keys = np.rint(values * (_STEPS / scale))
    least = np.partition(keys, -k)[-k] if 0 < k < len(keys) else -np.inf
    some = np.flatnonzero(keys >= least)
    return some[np.lexsort((nodes[some], -keys[some]))][:k]


def _strongest(nodes: Ints | Ids, values: Doubles, parts: int) -> list[tuple[int, float]]:
    """Give the nodes of the largest values that are not 0, the largest first."""
    least = np.partition(values, -parts)[-parts] if 0 < parts < len(values) else -np.inf
    some = np.flatnonzero((values >= least) & (values != 0))
    order = some[np.lexsort((nodes[some], -values[some]))][:parts]
    return [*zip(nodes[order].tolist(), values[order].tolist(), strict=True)]

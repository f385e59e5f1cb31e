"""The collection as what knows its terms: which are related, how near, which to expect."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.app.liking import Liking
from likewise.collection.build import content
from likewise.collection.writer import Writer
from likewise.errors import LockedError, StorageError, UsageError

if TYPE_CHECKING:
    from likewise.terms.extracting import Extractor
    from likewise.terms.nearness import Nearness
    from likewise.terms.nodes import Filters
    from likewise.terms.related import Between, Related, TermGraph

Watch = Callable[[int], None]

# What finds the documents that vote: of those tried the best for term prediction.
_VOTING = "tfidf"


class Predicted(NamedTuple):
    """A term that a document can be expected to mention.

    `score` is its share of all votes; `documents` are the ids of those that count the most for it,
    with their parts of the score, and `stepped` is the part that came along the graph.
    """

    name: str
    score: float
    documents: tuple[tuple[str, float], ...]
    stepped: float


class Relating(Liking):
    """Answers with terms."""

    def refresh(self) -> None:
        """See what other processes have changed."""
        # Graphs are kept with their snapshot, and refer to it: as they are, neither would let go
        # of its files before the next full search for garbage.
        if "_snapshot" in vars(self):
            vars(self._snapshot).pop("_term_graphs", None)
        super().refresh()

    def make_term_graph(
        self,
        *,
        filters: Filters | None = None,
        names: Iterable[str] | None = None,
        exact: bool = False,
        extract: Extractor | None = None,
        within: str = "sentence",
        name: str = "",
        origin: str = "",
        threads: int = 0,
        watch: Watch | None = None,
    ) -> TermGraph:
        """Make a graph of terms that are said together, and store it with the collection.

        Its nodes are terms chosen by `filters` (in 3 documents or more and at most half of them;
        fewer in a small collection); or `names`, of one word or several, found by the
        collection's analysis or (`exact`) letter for letter; or what `extract`, a function of a
        text, finds. Pairs are counted `within` a sentence or document. `origin` says in messages
        where names come from; `watch` is told of documents.
        """
        from likewise.terms.extracting import extract_nodes
        from likewise.terms.nodes import choose_nodes, read_names, usual_filters
        from likewise.terms.opening import open_graph
        from likewise.terms.prepared import store_prepared
        from likewise.terms.store import GraphSettings, check_graph_name, store_graph

        if names is not None and extract is not None:
            raise UsageError("the nodes of a graph are names or what a function finds, not both")
        if filters is not None and names is not None:
            raise UsageError("filters choose terms of the collection; names are taken as they are")
        threads = threads or os.cpu_count() or 1
        name = name or "graph"
        with Writer(self.folder) as writer:
            check_graph_name(writer.manifest, name)
            # While nobody else writes: terms have other numbers in a collection made anew.
            self.refresh()
            rule = filters or usual_filters(self._snapshot.n_docs)
            if names is not None:
                nodes = read_names(self._snapshot, names, exact=exact)
                origin = origin or "a list"
            elif extract is not None:
                nodes = extract_nodes(self._snapshot, extract, within=within, min_df=rule.min_df)
                origin = origin or "a function"
            else:
                nodes, origin = choose_nodes(self._snapshot, rule), ""
            settings = GraphSettings(within, rule, origin)
            store_graph(writer, nodes, settings, name=name, threads=threads, watch=watch)
            store_prepared(writer, threads=threads)
        self.refresh()
        return open_graph(self._snapshot, name, threads=threads)

    def term_graph(
        self, name: str = "", nearness: Nearness | None = None, *, watch: Watch | None = None
    ) -> TermGraph:
        """Open a graph of terms; without a name the one made last.

        Where there is none yet, one of terms by sentences is made, and stored if that can be.
        """
        from likewise.terms.nearness import Nearness
        from likewise.terms.opening import has_graph, is_open, open_graph

        # A model of documents may be called so.
        taken = any(entry.name == "graph" for entry in self._snapshot.manifest.models)
        if not (name or taken or has_graph(self._snapshot) or is_open(self._snapshot)):
            # Another process may be writing, or the folder may be read-only: then it is not kept.
            with suppress(LockedError, StorageError):
                self.make_term_graph(watch=watch)
        threads = os.cpu_count() or 1
        return open_graph(self._snapshot, name, nearness or Nearness(), threads=threads)

    def related(self, text: str, k: int = 20, *, graph: str = "", **nearness: Any) -> list[Related]:
        """Give the terms nearest to those that a text mentions, and what brings them near.

        Options are those of `terms.related.Nearness`: `kernel="diffusion"`, `weights="counts"`, …
        """
        return self.term_graph(graph, _nearness(nearness)).nearest(text, k)

    def distance(self, a: str, b: str, *, graph: str = "", **nearness: Any) -> Between:
        """Tell how near two texts are by the terms that they mention; options as in `related`."""
        return self.term_graph(graph, _nearness(nearness)).between(a, b)

    def predict_terms(
        self,
        text: str = "",
        *,
        doc_id: str = "",
        k: int = 20,
        graph: str = "",
        known: bool = False,
        voters: int = 0,
    ) -> list[Predicted]:
        """Give the terms that a text, or a document of the collection, can be expected to mention.

        Those that it does mention are among them only if `known`. `voters` is how many documents
        like it are asked.
        """
        from likewise.terms.predict import VOTERS, predict

        if bool(text) == bool(doc_id):
            raise UsageError("give a text or the id of a document, one of them")
        if min(k, voters) < 0:
            raise UsageError(f"k and voters must be 0 or more, not {k} and {voters}")
        opened = self.term_graph(graph)
        snapshot = self._snapshot
        own = snapshot.find_doc(doc_id) if doc_id else -1
        text = content(snapshot.document(own)) if doc_id else text
        retriever = self.retriever(_VOTING)
        [ranking] = retriever.rank([snapshot.analyzer.counts(text)], k=(voters or VOTERS) + 1)
        others = np.flatnonzero(ranking.docs != own)[: voters or VOTERS]
        found = predict(opened, ranking.docs[others], ranking.scores[others].astype(np.float64))
        scores = found.scores.copy()
        if not known:
            scores[opened.stored.nodes.find(snapshot, text)] = 0.0
        best = np.lexsort((np.arange(len(scores)), -scores))[:k]
        best = best[scores[best] > 0]
        out = []
        for node, name in zip(best.tolist(), opened.names(best), strict=True):
            parts = found.voters(node)
            ids = snapshot.doc_ids(np.array([doc for doc, _ in parts], np.int64))
            by = tuple((doc_id, part) for doc_id, (_, part) in zip(ids, parts, strict=True))
            score = float(found.scores[node])
            out.append(Predicted(name, score, by, score - float(found.voted[node])))
        return out


def _nearness(options: dict[str, Any]) -> Nearness:
    from likewise.terms.nearness import Nearness

    known = [field.name for field in fields(Nearness)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise UsageError(
            f"no such option of nearness: {', '.join(unknown)}; there are {', '.join(known)}"
        )
    return Nearness(**options)

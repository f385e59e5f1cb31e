"""The terms of a collection: which are related, how near, which to expect, and their graphs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.arguments import check_counts, check_kind, check_texts
from likewise.collection.build import content
from likewise.engine.state import State, of_one_state
from likewise.errors import LockedError, StorageError, UsageError, WrongType
from likewise.records import EMPTY, Query
from likewise.retrieve.models import BM25, TFIDF, Model, read_model
from likewise.retrieve.words import retriever_of, terms_of
from likewise.stages.stage import Stage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from likewise.derived.kind import Progress
    from likewise.expand.perturb import Perturbed, Strategy
    from likewise.terms.extracting import Extractor
    from likewise.terms.kinds import GraphSettings
    from likewise.terms.nearness import Nearness
    from likewise.terms.nodes import Filters, Nodes
    from likewise.terms.related import Between, Related, TermGraph

# What graphs are called that were given no name: those of names do not replace those of words.
GRAPH, NAMES = "graph", "names"

# What finds the documents that vote: of those tried the best for term prediction.
_VOTING = TFIDF()


class Predicted(NamedTuple):
    """A term that a document can be expected to mention.

    `share` is its share p of all votes; `documents` are the ids of those that count the most for
    it, with their parts of the share, and `stepped` is the part that came along the graph. `score`
    is what terms are ranked by: the share (likely), or p log(p / q), q being the term's share of
    all document frequencies (distinctive).
    """

    name: str
    score: float
    share: float
    documents: tuple[tuple[str, float], ...]
    stepped: float


class Terms:
    """Answers with terms."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __repr__(self) -> str:
        return f"<Terms of {str(self._state.folder)!r}: graphs {', '.join(self.graphs) or 'none'}>"

    @of_one_state
    def make_graph(
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
        progress: Progress | None = None,
    ) -> TermGraph:
        """Make a graph of terms that are said together, and store it with the collection.

        Its nodes are terms chosen by `filters` (in 3 documents or more and at most half of them;
        fewer in a small collection); or `names`, of one word or several, found in any case and with
        any ending that the stemmer takes off or (`exact`) letter for letter; or what `extract`, a
        function of a text, finds (in `filters.min_df` documents, by default one). Pairs are
        counted `within` a sentence or document. Without a `name` it is "graph", or "names" where
        nodes are names, in place of one that is called so. `origin` says in messages where names
        come from; `progress` is told of documents. Others may write while it is counted, and are
        waited for at the end.
        """
        from likewise.terms.catalogue import check_graph_name
        from likewise.terms.extracting import extract_nodes
        from likewise.terms.kinds import GraphSettings
        from likewise.terms.nodes import Filters, choose_nodes, read_names, usual_filters

        if names is not None and extract is not None:
            raise UsageError("the nodes of a graph are names or what a function finds, not both")
        if filters is not None and names is not None:
            raise UsageError("filters choose terms of the collection; names are taken as they are")
        if filters is not None and not isinstance(filters, Filters):
            raise UsageError(f"filters are a terms.nodes.Filters, not {filters!r}")
        check_texts(name=name, within=within, origin=origin)
        check_counts(threads=threads)
        threads = threads or os.cpu_count() or 1
        name = name or (GRAPH if names is None and extract is None else NAMES)
        self._state.refresh()
        # Not after an extractor has read all texts.
        check_graph_name(self._state.snapshot.manifest, name)
        rule = filters or (
            usual_filters(self._state.snapshot.n_docs) if extract is None else Filters(1, 1.0)
        )
        if names is not None:
            nodes = read_names(self._state.snapshot, names, exact=exact)
            origin = origin or "a list"
        elif extract is not None:
            nodes = extract_nodes(self._state.snapshot, extract, within=within, min_df=rule.min_df)
            origin = origin or "a function"
        else:
            nodes, origin = choose_nodes(self._state.snapshot, rule), ""
        return self._store(nodes, GraphSettings(within, rule, origin), name, threads, progress)

    @of_one_state
    def graph(
        self, /, name: str = "", *, progress: Progress | None = None, **nearness: Any
    ) -> TermGraph:
        """Open a graph of terms; without a name the one called "graph", else the one made last.

        Where there is none yet, one of terms by sentences is made, and stored if that can be.
        Options are those of `terms.nearness.Nearness`: `kernel="diffusion"`, `weights="counts"`, …
        """
        from likewise.terms.graph_cache import has_graph, is_open, open_graph
        from likewise.terms.kinds import GraphSettings
        from likewise.terms.nodes import choose_nodes, usual_filters

        check_texts(name=name)
        asked = _nearness(nearness)
        threads = os.cpu_count() or 1
        # A model of documents may be called so.
        taken = any(one.name == GRAPH for one in self._state.snapshot.manifest.artifacts)
        if not (name or taken or has_graph(self._state.snapshot) or is_open(self._state.snapshot)):
            # Another process may be writing, or the folder may be read-only: then it is not kept.
            with suppress(LockedError, StorageError):
                self._state.refresh()
                usual = usual_filters(self._state.snapshot.n_docs)
                nodes = choose_nodes(self._state.snapshot, usual)
                settings = GraphSettings(filters=usual)
                self._store(nodes, settings, GRAPH, threads, progress, wait=False)
        return open_graph(self._state.snapshot, name, asked, threads=threads)

    def _store(
        self,
        nodes: Nodes,
        settings: GraphSettings,
        name: str,
        threads: int,
        progress: Progress | None,
        *,
        wait: bool = True,
    ) -> TermGraph:
        """Count the pairs of a graph and store it; without `wait` not while another writes."""
        from likewise.terms.catalogue import store_graph
        from likewise.terms.graph_cache import open_graph

        store_graph(
            self._state.snapshot,
            nodes,
            settings,
            name=name,
            threads=threads,
            progress=progress,
            wait=wait,
        )
        self._state.changed()
        return open_graph(self._state.snapshot, name, threads=threads)

    @property
    def graphs(self) -> list[str]:
        """The names of the graphs that are stored with the collection."""
        from likewise.terms.catalogue import stored_graphs

        return stored_graphs(self._state.snapshot.manifest)

    def drop_graph(self, name: str) -> None:
        """Remove a graph of terms from the collection."""
        from likewise.terms.catalogue import drop_graph

        check_texts(name=name)
        if not name:
            raise UsageError("which graph is to be removed? Give its name")
        drop_graph(self._state.folder, name)
        self._state.changed()

    def near(self, text: str, k: int = 20, *, graph: str = "", **nearness: Any) -> list[Related]:
        """Give the terms nearest to those that a text mentions, and what brings them near.

        Options are those of `graph`.
        """
        check_texts(text=text)
        check_counts(k=k)
        return self.graph(graph, **nearness).nearest(text, k)

    def distance(self, a: str, b: str, *, graph: str = "", **nearness: Any) -> Between:
        """Tell how near two texts are by the terms that they mention; options as in `graph`."""
        check_texts(a=a, b=b)
        return self.graph(graph, **nearness).between(a, b)

    @of_one_state
    def predict(
        self,
        text: str = "",
        *,
        id: str = "",
        k: int = 20,
        graph: str = "",
        known: bool = False,
        voters: int = 0,
        by: str = "",
    ) -> list[Predicted]:
        """Give the terms that a text, or a document of the collection, can be expected to mention.

        Those that it does mention are among them only if `known`. `voters` is how many documents
        like it are asked. `by` is what terms are ranked by, see `Predicted`: "likely", which
        frequent words are, or "distinctive", of which it says more than is usual; without a word,
        distinctive of terms and likely of names.
        """
        from likewise.terms.nodes import TERMS
        from likewise.terms.predict import BY, DISTINCTIVE, LIKELY, VOTERS, predict

        check_texts(text=text, id=id, by=by)
        if bool(text) == bool(id):
            raise UsageError("give a text or the id of a document, one of them")
        check_counts(k=k, voters=voters)
        if by not in ("", *BY):
            raise UsageError(f"terms are ranked by {' or '.join(BY)}, not {by!r}")
        opened = self.graph(graph)
        by = by or (DISTINCTIVE if opened.stored.nodes.kind == TERMS else LIKELY)
        snapshot = self._state.snapshot
        own = snapshot.find_doc(id) if id else -1
        text = content(snapshot.document(own)) if id else text
        retriever = retriever_of(snapshot, _VOTING)
        [ranking] = retriever.rank([snapshot.analyzer.counts(text)], k=(voters or VOTERS) + 1)
        others = np.flatnonzero(ranking.docs != own)[: voters or VOTERS]
        found = predict(opened, ranking.docs[others], ranking.scores[others].astype(np.float64))
        scores = (
            found.scores if by == LIKELY else found.distinctive(opened.stored.counted.doc_freqs)
        )
        eligible = scores > 0
        if not known:
            eligible[opened.stored.nodes.find(snapshot, text)] = False
        best = np.flatnonzero(eligible)
        best = best[np.lexsort((best, -scores[best]))][:k]
        out = []
        for node, name in zip(best.tolist(), opened.names(best), strict=True):
            parts = found.voters(node)
            ids = snapshot.doc_ids(np.array([doc for doc, _ in parts], np.int64))
            voted = tuple((doc_id, part) for doc_id, (_, part) in zip(ids, parts, strict=True))
            score, share = float(scores[node]), float(found.scores[node])
            out.append(Predicted(name, score, share, voted, share - float(found.voted[node])))
        return out

    @of_one_state
    def perturb(
        self,
        query: str | Query,
        strategy: str | Strategy | ArrayLike = "loo",
        *,
        docs: int = 50,
        method: str | Model = BM25(),
    ) -> Perturbed:
        """Ask a query again with its terms weighed otherwise: which words move together?"""
        from likewise.expand.expansion import Feedback, WordSearch
        from likewise.expand.perturb import perturb

        check_kind(query, str | Query, "a query is a text or a Query")
        check_counts(least=1, docs=docs)
        snapshot = self._state.snapshot
        model = read_model(method) if isinstance(method, str) else method
        check_kind(model, Stage, "method is a text such as bm25(k1=2.0), or such a model")
        terms = terms_of(Query("1", query) if isinstance(query, str) else query, snapshot)
        search = WordSearch(retriever_of(snapshot, model))
        [found] = perturb([Feedback(terms, EMPTY)], search, strategy, docs=docs)
        return found


def _nearness(options: dict[str, Any]) -> Nearness:
    from likewise.terms.nearness import Nearness

    known = [field.name for field in fields(Nearness)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise UsageError(
            f"no such option of nearness: {', '.join(unknown)}; there are {', '.join(known)}"
        )
    # By the default of each: the commands' own types are right.
    for field in fields(Nearness):
        value = options.get(field.name, field.default)
        if isinstance(field.default, str):
            check_texts(**{field.name: value})
        elif isinstance(field.default, int):
            check_counts(**{field.name: value})
        elif not isinstance(value, Real):
            raise WrongType.of(value, f"{field.name} is a number")
    return Nearness(**options)

"""How do Python programs reach it? The same jobs as the command line, with the same names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

import numpy as np

from likewise.app.answers import Answer, Answers, one_line
from likewise.collection.build import Resources
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import Added, Writer, build
from likewise.errors import SourceError, UsageError
from likewise.evaluate.trec import Run
from likewise.records import Document, Query, Ranking
from likewise.retrieve.explain import Part
from likewise.retrieve.filters import Filter, allowed_docs
from likewise.retrieve.models import BM25, Model, read_model
from likewise.retrieve.search import Retriever
from likewise.sources import Columns, open_source
from likewise.stages.retrieval import Retrieve
from likewise.stages.stage import Answered
from likewise.text.analysis import Analysis

if TYPE_CHECKING:
    from likewise.like.near import Near, RankNear
    from likewise.like.space import Space
    from likewise.like.space import Watch as VectorWatch
    from likewise.models.bags import Sample
    from likewise.models.colour import Decomposition
    from likewise.models.fitting import Config, Watch
    from likewise.models.store import AnyModel
    from likewise.models.triple import Triples

# Models are imported when they are first used: a search does not wait for them.

Path_ = str | os.PathLike[str]
Place = Path_ | Iterable[Document | Mapping[str, Any]]
OnBad = Callable[[SourceError], None]

Method: TypeAlias = "str | Model | Near"

_DEFAULT = BM25()
_UNTITLED = 160


class Collection:
    """A stored collection of documents.

    It shows its state as of the last change made through it, or the last `refresh`.
    """

    def __init__(self, folder: Path_) -> None:
        self.folder = Path(folder)
        self.refresh()

    def refresh(self) -> None:
        """See what other processes have changed."""
        self._snapshot = open_snapshot(self.folder)
        self._retrievers: dict[Model, Retriever] = {}
        self._spaces: dict[Near, Space] = {}

    @property
    def snapshot(self) -> Snapshot:
        """The state that is being shown: terms, counts and statistics."""
        return self._snapshot

    def __len__(self) -> int:
        return self._snapshot.n_docs

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and bool(self._snapshot.find_docs([doc_id])[0] >= 0)

    def __iter__(self) -> Iterator[Document]:
        for _, document in self._snapshot.documents():
            yield document

    def __getitem__(self, doc_id: str) -> Document:
        return self._snapshot.document(self._snapshot.find_doc(doc_id))

    def __repr__(self) -> str:
        return f"<Collection {str(self.folder)!r}: {len(self):,} documents>"

    def search(
        self,
        query: str | Query,
        *,
        k: int = 10,
        method: Method = _DEFAULT,
        where: str | Filter | Sequence[str | Filter] = (),
        explained: bool = False,
    ) -> Answers:
        """Find the k documents that best match a query, by words or (`near`) by topics."""
        query = Query("1", query) if isinstance(query, str) else query
        stage = self.retrieve(method, k=k, where=where)
        [answered] = stage([query])
        return self.answers(answered, method=method, stage=stage if explained else None)

    def retrieve(
        self,
        method: Method = _DEFAULT,
        *,
        k: int = 1000,
        where: str | Filter | Sequence[str | Filter] = (),
        threads: int = 1,
    ) -> Retrieve | RankNear:
        """Give a search as a stage, for pipelines: `c.retrieve("bm25") >> …`."""
        conditions = [where] if isinstance(where, str | Filter) else where
        allowed = allowed_docs(self._snapshot, conditions)
        if _is_near(method):
            from likewise.like.near import RankNear, read_near

            space, near = self.space(method, threads=threads), read_near(method)
            return RankNear(space, near, k=k, allowed=allowed, threads=threads)
        model = read_model(method) if isinstance(method, str) else cast("Model", method)
        if model not in self._retrievers:
            self._retrievers[model] = Retriever(self._snapshot, model)
        return Retrieve(self._retrievers[model], k=k, allowed=allowed, threads=threads)

    def space(
        self,
        near: str | Near = "near",
        *,
        threads: int = 1,
        watch: VectorWatch | None = None,
    ) -> Space:
        """Give all documents as vectors of a model, indexed: `near(model=lda,metric=js)`."""
        from likewise.like.near import read_near
        from likewise.like.space import build_space

        config = read_near(near)
        if config not in self._spaces:
            self._spaces[config] = build_space(
                self._snapshot,
                self.model(config.model or None),
                metric=config.metric,
                method=config.index,
                threads=threads,
                watch=watch,
            )
        return self._spaces[config]

    def neighbours(
        self,
        doc_id: str,
        *,
        k: int = 10,
        near: str | Near = "near",
        explained: bool = False,
        threads: int = 1,
    ) -> Answers:
        """Find the k documents nearest to one of the collection in a model's space."""
        doc = self._snapshot.find_doc(doc_id)
        space = self.space(near, threads=threads)
        ranking = space.rank_near_doc(doc, k)
        explain = (lambda other: space.explain_docs(doc, other)) if explained else None
        return self._found(ranking, explain, query=doc_id, method=str(near))

    def graph(
        self,
        to: Path_,
        *,
        k: int = 10,
        near: str | Near = "near",
        threads: int = 0,
        overwrite: bool = False,
        on_vector: VectorWatch | None = None,
        on_doc: VectorWatch | None = None,
    ) -> int:
        """Write the k nearest neighbours of every document (`.parquet`, `.jsonl`); count lines."""
        from likewise.like.graph import write_graph
        from likewise.like.near import read_near

        config = read_near(near)
        return write_graph(
            self._snapshot,
            self.model(config.model or None),
            to,
            k=k,
            near=config,
            threads=threads or os.cpu_count() or 1,
            overwrite=overwrite,
            on_vector=on_vector,
            on_doc=on_doc,
        )

    def run(
        self,
        queries: Iterable[Query],
        *,
        k: int = 1000,
        method: Method = _DEFAULT,
        where: str | Filter | Sequence[str | Filter] = (),
        name: str = "",
        threads: int = 0,
    ) -> Run:
        """Answer many queries, for evaluation or a TREC run file."""
        stage = self.retrieve(method, k=k, where=where, threads=threads or os.cpu_count() or 1)
        return self.as_run(stage(queries), name=name or repr(stage))

    def as_run(self, answered: Iterable[Answered], *, name: str) -> Run:
        """Turn what a pipeline of stages gave into a run."""
        run = Run(name)
        for query, ranking in answered:
            doc_ids = self._snapshot.doc_ids(ranking.docs)
            run.add(query.qid, zip(doc_ids, ranking.scores.tolist(), strict=True))
        return run

    def answers(
        self,
        answered: Answered,
        *,
        method: Method | str = "",
        stage: Retrieve | RankNear | None = None,
    ) -> Answers:
        """Turn what a pipeline gave for one query into answers; with a stage, explained by it."""
        query, ranking = answered
        explain = (lambda doc: stage.explain(query, doc)) if stage else None
        return self._found(ranking, explain, query=query.text, method=str(method))

    def _found(
        self,
        ranking: Ranking,
        explain: Callable[[int], list[Part]] | None,
        *,
        query: str,
        method: str,
    ) -> Answers:
        found = []
        for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
            document = self._snapshot.document(doc)
            parts = explain(doc) if explain else []
            title = document.title or one_line(document.text[:_UNTITLED])
            found.append(Answer(document.id, score, title, document.fields, tuple(parts)))
        return Answers(found, query=query, method=method)

    def add(
        self,
        *sources: Place,
        replace: bool = False,
        columns: Columns = Columns(),
        format: str | None = None,
        on_bad: OnBad | None = None,
        resources: Resources = Resources(),
    ) -> Added:
        """Add documents, all or none; `on_bad` is told of what cannot be read, else it raises."""
        documents = _documents(sources, columns, format, on_bad)
        with Writer(self.folder) as writer:
            added = writer.add(documents, replace=replace, resources=resources)
        self.refresh()
        return added

    def delete(self, doc_ids: str | Sequence[str], *, missing_ok: bool = False) -> int:
        """Delete documents by id, all or none; tell how many."""
        with Writer(self.folder) as writer:
            wanted = [doc_ids] if isinstance(doc_ids, str) else list(doc_ids)
            deleted = writer.delete(wanted, missing_ok=missing_ok)
        self.refresh()
        return deleted

    def merge(self, *, resources: Resources = Resources()) -> None:
        """Merge all segments into one and drop what was deleted."""
        with Writer(self.folder) as writer:
            writer.merge(resources=resources)
        self.refresh()

    def fit(
        self,
        model: str | Config = "ddm",
        *,
        name: str = "",
        sample: Sample | None = None,
        threads: int = 0,
        go_on: bool = False,
        watch: Watch | None = None,
    ) -> AnyModel:
        """Fit a model and store it with the collection; `go_on` from the one that is there."""
        from likewise.models.fitting import read_config

        fitted = fit_stored(
            self.folder,
            read_config(model) if isinstance(model, str) else model,
            name=name,
            sample=sample,
            threads=threads,
            go_on=go_on,
            watch=watch,
        )
        self.refresh()
        return fitted

    def model(self, name: str | None = None) -> AnyModel:
        """Give a fitted model by name; without one, the model that was fitted last."""
        from likewise.models.store import load_model

        return load_model(self._snapshot, name)

    def decompose(
        self, doc_ids: str | Sequence[str], *, model: str | None = None, words: int = 15
    ) -> Triples:
        """Decompose documents of the collection: topics, own words, shares."""
        wanted = [doc_ids] if isinstance(doc_ids, str) else doc_ids
        docs = np.array([self._snapshot.find_doc(doc_id) for doc_id in wanted], np.int64)
        return self.model(model).decompose(self._snapshot.term_counts(docs), words=words)

    def decompose_text(
        self, text: str, *, model: str | None = None, words: int = 15
    ) -> Decomposition:
        """Decompose a text from outside, word by word; words new to the collection are its own."""
        from likewise.models.colour import decompose_text

        return decompose_text(self.model(model), self._snapshot, text, words=words)

    def info(self) -> dict[str, Any]:
        """Describe the collection in plain values."""
        s = self._snapshot
        return {
            "folder": str(self.folder),
            "documents": s.n_docs,
            "deleted": s.n_slots - s.n_docs,
            "terms": s.n_terms,
            "tokens": s.n_tokens,
            "average_length": round(s.average_length, 2),
            "segments": len(s.segments),
            "bytes": s.n_bytes,
            "fields": s.field_names(),
            "models": [entry.name for entry in s.manifest.models],
            "analysis": s.analysis.to_json(),
        }


def open(folder: Path_) -> Collection:
    """Open a collection."""
    return Collection(folder)


def index(
    *sources: Place,
    to: Path_,
    analysis: Analysis = Analysis(),
    columns: Columns = Columns(),
    format: str | None = None,
    replace: bool = False,
    overwrite: bool = False,
    on_bad: OnBad | None = None,
    resources: Resources = Resources(),
    model: str | Config | None = "lsi",
) -> Collection:
    """Make a collection of documents, and fit a model on it."""
    if not sources:
        raise UsageError("nothing to index: name at least one source")
    from likewise.models.fitting import read_config

    config = read_config(model) if isinstance(model, str) else model
    documents = _documents(sources, columns, format, on_bad)
    build(
        Path(to),
        documents,
        analysis=analysis,
        overwrite=overwrite,
        replace=replace,
        resources=resources,
    )
    if config is not None:
        fit_where_possible(Path(to), config, threads=resources.threads)
    return Collection(to)


def fit_where_possible(
    folder: Path, config: Config, *, threads: int = 0, watch: Watch | None = None
) -> None:
    """Fit a model as part of indexing; documents without words simply have none."""
    if open_snapshot(folder).n_tokens:
        fit_stored(folder, config, threads=threads, watch=watch)


def fit_stored(
    folder: Path,
    config: Config,
    *,
    name: str = "",
    sample: Sample | None = None,
    threads: int = 0,
    go_on: bool = False,
    watch: Watch | None = None,
) -> AnyModel:
    """Fit a model on a collection and store it there."""
    from likewise.models.bags import Sample
    from likewise.models.fitting import fit_model
    from likewise.models.store import load_model, save_model
    from likewise.models.topics import TopicModel

    snapshot = open_snapshot(folder)
    stored_as = name or config.notation
    origin = load_model(snapshot, stored_as) if go_on else None
    if origin is not None and not isinstance(origin, TopicModel):
        raise UsageError(f"{stored_as} cannot be gone on with; ddm and lda can")
    with Writer(folder) as writer:
        model = fit_model(
            snapshot,
            config,
            sample=sample or Sample(),
            threads=threads,
            origin=origin,
            watch=watch,
        )
        save_model(writer, model, name=stored_as)
    return model


def _is_near(method: Method) -> TypeGuard[str | Near]:
    """Tell whether a method is by nearness, without importing what that needs."""
    written = method if isinstance(method, str) else method.notation
    return written.strip().partition("(")[0].rstrip() == "near"


def _documents(
    sources: Sequence[Place], columns: Columns, format: str | None, on_bad: OnBad | None
) -> Iterator[Document]:
    # All are opened before the first is read, so that a misspelt name stops at once.
    opened = [open_source(s, columns=columns, format=format, on_bad=on_bad) for s in sources]
    return chain.from_iterable(opened)

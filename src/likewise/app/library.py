"""How do Python programs reach it? The same jobs as the command line, with the same names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

import numpy as np

from likewise.app.answers import Answer, Answers, one_line
from likewise.app.fitting import fit_stored, fit_where_possible, keep_up
from likewise.collection.build import Resources
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import Added, Writer, build
from likewise.compiled import Bools
from likewise.errors import SourceError, UsageError
from likewise.evaluate.trec import Qrels, Run
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
    from numpy.typing import ArrayLike

    from likewise.evaluate.learn import Learnt
    from likewise.like.ageing import Ageing
    from likewise.like.halves import Watch as DocWatch
    from likewise.like.methods import Config, RankLike
    from likewise.like.near import Near, RankNear
    from likewise.like.question import Question, Ranker
    from likewise.like.space import Space
    from likewise.like.store import StoredHalves
    from likewise.models.bags import Sample
    from likewise.models.colour import Decomposition
    from likewise.models.fitting import Config as ModelConfig
    from likewise.models.fitting import Watch
    from likewise.models.store import AnyModel
    from likewise.models.supplied import Supplied, SuppliedModel
    from likewise.models.triple import Triples
    from likewise.models.vectors import Names, Source

# Models are imported when they are first used: a search does not wait for them.

Path_ = str | os.PathLike[str]
Place = Path_ | Iterable[Document | Mapping[str, Any]]
OnBad = Callable[[SourceError], None]

Method: TypeAlias = "str | Model | Near | Config"

_DEFAULT = BM25()
_BY_LIKENESS = {"halves", "eq4", "topics", "words", "topn", "topn-lda", "lsh-tfidf"}
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
        self._halves: dict[str, StoredHalves] = {}
        self._rankers: dict[str, Ranker] = {}

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
    ) -> Retrieve | RankNear | RankLike:
        """Give a search as a stage, for pipelines: `c.retrieve("bm25") >> …`."""
        allowed = self.allowed(where)
        if _named(method) in _BY_LIKENESS:
            from likewise.like.methods import RankLike

            ranker = self.ranker(cast("str | Config", method))
            return RankLike(
                self._snapshot, ranker, str(method), k=k, allowed=allowed, threads=threads
            )
        if _is_near(method):
            from likewise.like.near import RankNear, read_near

            space, near = self.space(method), read_near(method)
            return RankNear(space, near, k=k, allowed=allowed, threads=threads)
        model = read_model(method) if isinstance(method, str) else cast("Model", method)
        if model not in self._retrievers:
            self._retrievers[model] = Retriever(self._snapshot, model)
        return Retrieve(self._retrievers[model], k=k, allowed=allowed, threads=threads)

    def like(
        self,
        doc_ids: str | Sequence[str] = (),
        *,
        text: str | Sequence[str] = (),
        unlike: str | Sequence[str] = (),
        unlike_text: str | Sequence[str] = (),
        vector: ArrayLike | None = None,
        k: int = 10,
        method: str | Config = "halves",
        where: str | Filter | Sequence[str | Filter] = (),
        explained: bool = False,
    ) -> Answers:
        """Find the k documents most like some in hand: ids of the collection, or texts.

        A score is the mean of those for each document, less half the mean of those for `unlike`.
        `vector` is that of the one text, for a model of vectors (`fit_vectors`).
        """
        question = self.question(
            doc_ids, text=text, unlike=unlike, unlike_text=unlike_text, vector=vector, qid="1"
        )
        ranker = self.ranker(method)
        if vector is not None:
            _compares_vectors(ranker, str(method))
        [ranking] = ranker.rank([question], k=k, allowed=self.allowed(where))
        shown = ", ".join([*_listed(doc_ids), *map(one_line, _listed(text))])
        answers = self._found(ranking, None, query=shown[:_UNTITLED], method=str(method))
        if not explained:
            return answers
        from likewise.like.methods import HalvesRanker

        texts = _listed(text)
        if isinstance(ranker, HalvesRanker):
            only = texts[0] if len(texts) == 1 and not _listed(doc_ids) else ""
            found = ranker.reasons(
                question, ranking.docs.tolist(), k=k, allowed=self.allowed(where), text=only
            )
            return answers.explained([(tuple(one.parts), one) for one in found])
        parts = [tuple(ranker.explain(question, doc)) for doc in ranking.docs.tolist()]
        return answers.explained([(one, None) for one in parts])

    def question(
        self,
        doc_ids: str | Sequence[str] = (),
        *,
        text: str | Sequence[str] = (),
        unlike: str | Sequence[str] = (),
        unlike_text: str | Sequence[str] = (),
        vector: ArrayLike | None = None,
        qid: str = "1",
    ) -> Question:
        """Take documents in hand, by id or as texts; `vector` is that of the one text."""
        from likewise.like.question import Example, Question, of_doc, of_text

        s = self._snapshot

        def taken(ids: str | Sequence[str], texts: str | Sequence[str]) -> tuple[Example, ...]:
            known = [of_doc(s, s.find_doc(doc_id)) for doc_id in _listed(ids)]
            return (*known, *(of_text(s, one) for one in _listed(texts)))

        like = taken(doc_ids, text)
        if vector is not None:
            from likewise.models.vectors import one_vector

            # A vector may stand alone, as that of a text without words.
            like = like or taken((), "")
            if sum(example.doc < 0 for example in like) != 1:
                raise UsageError(
                    f"a vector goes with one text, and there are {len(_listed(text))}: documents "
                    "of the collection have their own"
                )
            like = (*like[:-1], like[-1]._replace(vector=one_vector(vector)))
        if not like:
            raise UsageError("like what? name documents by id, or give texts")
        return Question(qid, like, taken(unlike, unlike_text))

    def ranker(self, method: str | Config = "halves") -> Ranker:
        """Give a method of likeness, ready to rank: `halves`, `eq4`, `bm25`, `topn(words=20)`."""
        from likewise.like.methods import make_ranker, read_method

        config = read_method(method) if isinstance(method, str) else method
        if str(config) not in self._rankers:
            self._rankers[str(config)] = make_ranker(self._snapshot, config, self.halves)
        return self._rankers[str(config)]

    def allowed(self, where: str | Filter | Sequence[str | Filter]) -> list[Bools] | None:
        """Mark, for each segment, the documents that meet conditions; None where there are none."""
        conditions = [where] if isinstance(where, str | Filter) else where
        return allowed_docs(self._snapshot, conditions)

    def halves(self, model: str = "") -> StoredHalves:
        """Give what is stored of all documents by a model; "" is the model fitted last."""
        from likewise.like.store import open_halves

        if model not in self._halves:
            self._halves[model] = open_halves(self._snapshot, model or None)
        return self._halves[model]

    def space(self, near: str | Near = "near") -> Space:
        """Give all documents as vectors of a model, indexed: `near(model=lda,metric=js)`."""
        from likewise.like.near import read_near
        from likewise.like.space import build_space

        config = read_near(near)
        if config not in self._spaces:
            self._spaces[config] = build_space(
                self.halves(config.model), metric=config.metric, method=config.index
            )
        return self._spaces[config]

    def neighbours(
        self,
        doc_id: str,
        *,
        k: int = 10,
        near: str | Near = "near",
        explained: bool = False,
    ) -> Answers:
        """Find the k documents nearest to one of the collection in a model's space."""
        doc = self._snapshot.find_doc(doc_id)
        space = self.space(near)
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
        on_doc: DocWatch | None = None,
    ) -> int:
        """Write the k nearest neighbours of every document (`.parquet`, `.jsonl`); count lines."""
        from likewise.like.graph import write_graph
        from likewise.like.near import read_near

        config = read_near(near)
        return write_graph(
            self.halves(config.model),
            to,
            k=k,
            near=config,
            threads=threads or os.cpu_count() or 1,
            overwrite=overwrite,
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
        stage: Retrieve | RankNear | RankLike | None = None,
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
            keep_up(writer, threads=resources.threads)
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
            keep_up(writer, threads=resources.threads)
        self.refresh()

    def fit(
        self,
        model: str | ModelConfig = "ddm",
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

    def fit_vectors(
        self,
        source: Source,
        *,
        ids: Names | None = None,
        name: str = "vectors",
        config: Supplied | None = None,
        threads: int = 0,
        watch: Watch | None = None,
    ) -> SuppliedModel:
        """Fit a model on the user's own vectors of documents, and store both.

        `source` is a field of the documents, an `.npy` file, rows (of the documents that `ids`
        names), rows by id, or a function of texts; see `models.vectors.read_vectors`. Documents
        added later are given the vector in their field; from another source they have what their
        words foretell until the model is fitted again.
        """
        from likewise.models.supplied import Supplied, SuppliedModel

        fitted = fit_stored(
            self.folder,
            config or Supplied(),
            name=name,
            threads=threads,
            watch=watch,
            vectors=source,
            vector_ids=ids,
        )
        self.refresh()
        assert isinstance(fitted, SuppliedModel)
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

    def judgements(
        self, *, links: str = "", same: str = "", sample: int = 0, seed: int = 0
    ) -> Qrels:
        """Make judgements with documents as queries from a field: what it names, or shares."""
        from likewise.evaluate.links import qrels_from_labels, qrels_from_links

        values = {document.id: document.fields.get(links or same, []) for document in self}
        if links:
            qrels = qrels_from_links(values.items(), known=values)
            chosen = _sampled([*qrels], sample, seed)
            return Qrels({qid: qrels[qid] for qid in chosen})
        asking = [doc_id for doc_id, value in values.items() if value not in ([], "", None)]
        return qrels_from_labels(values, wanted=_sampled(asking, sample, seed))

    def tune(self, qrels: Qrels, *, model: str = "", store: bool = True) -> Learnt:
        """Learn how much own words count from judgements whose queries are documents by id."""
        from likewise.evaluate.learn import learn_weights
        from likewise.like.store import Weights, store_weights
        from likewise.like.view import View

        halves = self.halves(model)
        now = halves.weights or Weights()
        learnt = learn_weights(View(halves), now, qrels, threads=os.cpu_count() or 1)
        if store:
            with Writer(self.folder) as writer:
                weights = Weights(now.points, learnt.chosen, "learnt")
                store_weights(writer, weights, name=halves.model.name)
            self.refresh()
        return learnt

    def ageing(self) -> list[Ageing]:
        """Tell how models know the documents that were added after they were fitted."""
        if not self._snapshot.manifest.models:
            return []
        from likewise.like.ageing import ageing

        found = (ageing(self._snapshot, entry.name) for entry in self._snapshot.manifest.models)
        return [one for one in found if one is not None]

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
            "ageing": [one.to_json() for one in self.ageing()],
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
    model: str | ModelConfig | None = "lsi",
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


def _compares_vectors(ranker: Ranker, method: str) -> None:
    from likewise.like.methods import HalvesRanker

    if not isinstance(ranker, HalvesRanker):
        raise UsageError(
            f"method {method} has no use for a vector; halves, topics and eq4 compare them"
        )


def _is_near(method: Method) -> TypeGuard[str | Near]:
    return _named(method) == "near"


def _named(method: Method) -> str:
    """Give the name of a method, without importing what it needs."""
    written = method if isinstance(method, str) else method.notation
    return written.strip().partition("(")[0].rstrip()


def _sampled(ids: list[str], n: int, seed: int) -> list[str]:
    if not 0 < n < len(ids):
        return ids
    chosen = np.random.default_rng(seed).choice(len(ids), n, replace=False)
    return [ids[i] for i in np.sort(chosen).tolist()]


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else [*names]


def _documents(
    sources: Sequence[Place], columns: Columns, format: str | None, on_bad: OnBad | None
) -> Iterator[Document]:
    # All are opened before the first is read, so that a misspelt name stops at once.
    opened = [open_source(s, columns=columns, format=format, on_bad=on_bad) for s in sources]
    return chain.from_iterable(opened)

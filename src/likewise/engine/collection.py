"""A collection of documents: searched, compared, changed, measured; models and terms are parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from dataclasses import replace as changed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from likewise.arguments import check_counts, check_kind, check_path, check_texts, listed
from likewise.collection.adding import Added
from likewise.collection.build import Resources
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.engine.answers import Answers
from likewise.engine.models import Models
from likewise.engine.pipeline import (
    Expansion,
    Filters,
    Method,
    Pipeline,
    Smooth,
    check_searches,
    make_pipeline,
    named_pipelines,
    read_method,
)
from likewise.engine.queries import Queries, as_queries
from likewise.engine.query_documents import like_query
from likewise.engine.state import Path_, State, folder_of, of_one_state
from likewise.engine.terms import Terms
from likewise.errors import CollectionError, UsageError, WrongType
from likewise.evaluate.trec import Qrels, Run
from likewise.records import Document, Query
from likewise.retrieve.models import BM25
from likewise.show.text import counted
from likewise.sources import Columns, OnBad, Place, chosen_columns, documents_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from likewise.derived.kind import Progress
    from likewise.evaluate.learn import Learnt
    from likewise.evaluate.risk_table import RiskTable
    from likewise.expand.expansion import Expander
    from likewise.like.near import Near

# Models are imported when they are first used: a search does not wait for them.


class Collection:
    """A stored collection of documents, with its `models` and its `terms`.

    It shows its state as of the last change made through it, or the last `refresh`. Threads may
    ask and refresh it at the same time: whoever asks keeps the state it began with.
    """

    def __init__(self, folder: Path_ | State) -> None:
        given = folder if isinstance(folder, State) else State(open_snapshot(folder_of(folder)))
        self._state: State = given
        self.models = Models(self._state)
        self.terms = Terms(self._state)

    # Reading

    @property
    def folder(self) -> Path:
        """Where it is stored."""
        return self._state.folder

    @property
    def snapshot(self) -> Snapshot:
        """The state that is being shown: terms, counts and statistics."""
        return self._state.snapshot

    def refresh(self) -> bool:
        """See what other processes have changed; tell whether there was anything."""
        return self._state.refresh()

    def close(self) -> None:
        """Let go of the generation that is shown: what it names may then be removed."""
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.snapshot.n_docs

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and bool(self.snapshot.find_docs([doc_id])[0] >= 0)

    def __iter__(self) -> Iterator[Document]:
        for _, document in self.snapshot.documents():
            yield document

    def __getitem__(self, doc_id: str) -> Document:
        s = self.snapshot
        return s.document(s.find_doc(doc_id))

    def __repr__(self) -> str:
        said = "closed" if self._state.closed else counted(len(self), "document")
        return f"<Collection {str(self.folder)!r}: {said}>"

    @of_one_state
    def info(self, *, check: bool = False) -> dict[str, Any]:
        """Describe the collection in plain values; `check` reads every file and its checksum."""
        from likewise.engine.info import describe

        if check:
            self.snapshot.check()
        return describe(self.snapshot, self.models.drift()) | ({"checked": True} if check else {})

    # Searching

    def search(
        self,
        query: str | Query,
        *,
        k: int = 10,
        filter: Filters = "",
        method: Method = "",
        expand: Expansion = "",
        smooth: Smooth = "",
        explain: bool = False,
        syntax: bool = True,
    ) -> Answers:
        """Find the k documents that best match a query, by words or (`near`) by topics.

        Where none of method, expand and smooth is named, they are as in `pipeline`. With `syntax`
        a text is read as people type it: "phrases", +word, -word, title:word, word^2, neuro*, AND,
        OR, NOT and parentheses; and what may have been meant is suggested.
        """
        pipeline = check_searches(
            self.pipeline(method, k=k, expand=expand, smooth=smooth, filter=filter)
        )
        if syntax and isinstance(query, str):
            from likewise.engine.typed import answer_typed

            return answer_typed(pipeline, query, explain=explain)
        return pipeline.answers(query, explain=explain)

    def run(
        self,
        queries: Queries,
        *,
        k: int = 1000,
        filter: Filters = "",
        method: Method = "",
        expand: Expansion = "",
        smooth: Smooth = "",
        name: str = "",
        threads: int = 0,
        syntax: bool = False,
    ) -> Run:
        """Answer many queries, for evaluation or a TREC run file; methods as for `search`.

        Queries are texts, `Query` records, a dict of ids and texts, or a frame (`qid`, `query`).
        With `syntax` their texts are read as `search` reads what is typed.
        """
        pipeline = self.pipeline(
            method, k=k, expand=expand, smooth=smooth, filter=filter, threads=threads
        )
        if syntax:
            from likewise.retrieve.typed import read_typed

            asked = (result.query for result in as_queries(queries))
            queries = [read_typed(query, pipeline.snapshot)[0] for query in asked]
        return check_searches(pipeline).run(queries, name=name)

    def pipeline(
        self,
        method: Method = "",
        *,
        k: int = 1000,
        filter: Filters = "",
        expand: Expansion = "",
        smooth: Smooth = "",
        threads: int = 1,
    ) -> Pipeline:
        """Give what `search` and `run` do as a pipeline, which takes further stages by `>>`.

        Where nothing is named it is `bm25 >> proximity >> robust(adapt=10) >> bm25 >>
        klsa(adapt=0.5) >> proximity >> keep`, without `klsa` where the collection has no kernel
        model, and without `proximity` where it has no positions;
        else what is named, and `bm25` if that is no method. With an expander it is the method, the
        expander, and the method again; smoothing comes last.
        """
        named = str is type(method) is type(expand) is type(smooth) is type(filter)
        named = named and int is type(k) is type(threads)
        make = named_pipelines(self.snapshot) if named else partial(make_pipeline, self.snapshot)
        made = make(method, expand, smooth, filter, k, threads)
        if made.graphs:
            # The graphs that expanders ask are made where there are none.
            state = self._state.held()
            for graph in made.graphs:
                Terms(state).graph(graph)
            made = Pipeline(state.snapshot, made.stage, k=k, threads=threads)
        return made

    # Likeness

    def like(
        self,
        ids: str | Sequence[str] = (),
        *,
        text: str | Sequence[str] = (),
        unlike: str | Sequence[str] = (),
        unlike_text: str | Sequence[str] = (),
        vector: ArrayLike | None = None,
        k: int = 10,
        filter: Filters = "",
        method: Method = "hybrid",
        focus: str | float = "",
        explain: bool = False,
    ) -> Answers:
        """Find the k documents most like some in hand: ids of the collection, or texts.

        `focus` says in what: "subject" (documents on the same subject), "thing" (that say the same
        thing: duplicates, what is cited or linked), "balanced" between the two, or a number from 0
        to 1; "" is what `tune` learnt, else balanced.
        A score is the mean of those for each document, less half the mean of those for `unlike`.
        `vector` is that of the one text, for a model of vectors. `near` is a method as well: the
        documents nearest to one in a model's space, as in `near(metric=js)`.
        """
        query = like_query(ids, text, unlike, unlike_text, vector)
        stage = read_method(method)
        if not (isinstance(focus, str) and focus == ""):
            from likewise.like.hybrid import with_focus

            stage = with_focus(stage, focus)
        if vector is not None and not stage.compares_vectors:
            raise UsageError(f"method {stage} has no use for a vector; hybrid and eq4 compare them")
        pipeline = Pipeline(self.snapshot, read_method(stage, filter), k=k)
        return pipeline.answers(query, explain=explain)

    @of_one_state
    def write_neighbours(
        self,
        to: Path_,
        *,
        k: int = 10,
        method: str | Near = "near",
        threads: int = 0,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Write the k nearest neighbours of every document (`.parquet`, `.jsonl`); count lines."""
        from likewise.like.near import read_near
        from likewise.like.neighbour_graph import write_graph
        from likewise.models.stored_vectors import vectors_of

        check_counts(least=1, k=k)
        check_counts(threads=threads)
        check_path(to, "a file")
        near = read_near(method)
        return write_graph(
            vectors_of(self.snapshot, near.model),
            to,
            k=k,
            near=near,
            threads=threads or os.cpu_count() or 1,
            overwrite=overwrite,
            progress=progress,
        )

    # Maintenance

    def add(
        self,
        *sources: Place,
        replace: bool = False,
        id: str = "",
        title: str = "",
        text: str | Sequence[str] = (),
        columns: Columns = Columns(),
        format: str | None = None,
        encoding: str = "",
        delimiter: str = "",
        on_bad: OnBad | None = None,
        resources: Resources = Resources(),
        types: Mapping[str, str] | None = None,
    ) -> Added:
        """Add documents, all or none; `on_bad` is told of what cannot be read, else it raises.

        Sources and columns are as for `index`; `types` says what type new fields have.
        """
        if not sources:
            raise WrongType("nothing to add: name at least one source, as in add('more.jsonl')")
        check_kind(resources, Resources, "resources are Resources(memory, threads)")
        chosen = chosen_columns(columns, id=id, title=title, text=text)
        documents = documents_of(
            sources, chosen, format, on_bad, encoding=encoding, delimiter=delimiter
        )
        with Writer(self.folder, keep_up) as writer:
            added = writer.add(documents, replace=replace, resources=resources, types=types)
            self.refresh()
        return changed(added, skipped=dict(documents.skipped.counts))

    def delete(self, ids: str | Sequence[str], *, missing_ok: bool = False) -> int:
        """Delete documents by id, all or none; tell how many."""
        with Writer(self.folder) as writer:
            deleted = writer.delete(listed(ids, what="an id"), missing_ok=missing_ok)
            self.refresh()
        return deleted

    def merge(
        self,
        *,
        resources: Resources = Resources(),
        progress: Progress | None = None,
        types: Mapping[str, str] | None = None,
    ) -> int:
        """Merge all segments into one and drop what was deleted; tell how many there were.

        `types` gives fields another type.
        """
        check_kind(resources, Resources, "resources are Resources(memory, threads)")
        with Writer(self.folder, keep_up) as writer:
            merged = writer.merge(resources=resources, progress=progress, types=types)
            self.refresh()
        return merged

    def copy(self, to: Path_) -> Collection:
        """Copy the newest state into a new folder, checked, whoever writes meanwhile; open it."""
        from likewise.collection.copying import copy_collection

        folder = folder_of(to)
        copy_collection(self.folder, folder)
        return Collection(folder)

    # Evaluation

    def judgements(
        self, *, links: str = "", same: str = "", sample: int = 0, seed: int = 0
    ) -> Qrels:
        """Make judgements with documents as queries from a field: what it names, or shares."""
        from likewise.evaluate.links import qrels_from_labels, qrels_from_links

        check_texts(links=links, same=same)
        check_counts(sample=sample, seed=seed)
        values = {document.id: document.fields.get(links or same, []) for document in self}
        if links:
            qrels = qrels_from_links(values.items(), known=values)
            chosen = _sampled([*qrels], sample, seed)
            return Qrels({qid: qrels[qid] for qid in chosen})
        asking = [doc_id for doc_id, value in values.items() if value not in ([], "", None)]
        return qrels_from_labels(values, wanted=_sampled(asking, sample, seed))

    def tune(self, qrels: Qrels, *, model: str = "", store: bool = True) -> Learnt:
        """Learn the focus of likeness from judgements whose queries are documents by id."""
        from likewise.models.kinds import find_model

        check_kind(qrels, Qrels, "judgements are Qrels, as read_qrels gives them")
        learnt, typical, name, id = self._learn(qrels, model)
        if store:
            with Writer(self.folder, wait=True) as writer:
                artifact = find_model(writer.snapshot, name)
                if artifact.id != id:
                    raise CollectionError(f"{name} was fitted again in the meantime; tune it again")
                about = {**artifact.about, "focus": learnt.chosen, "typical": typical}
                # Weights from before there was a dial stay where they are better.
                if learnt.validated >= learnt.before or "typical" in artifact.about:
                    writer.put(changed(artifact, about=about))
            self._state.changed()
        return learnt

    @of_one_state
    def _learn(self, qrels: Qrels, model: str) -> tuple[Learnt, dict[str, float], str, str]:
        """Learn the focus; give also what is typical by the model, and which model it is.

        What holds the state is let go of before anything is stored, so that it can be removed.
        """
        from likewise.evaluate.learn import learn_focus
        from likewise.like.components import Encoder
        from likewise.like.typical import measure_typical
        from likewise.models.stored_vectors import vectors_of

        stored = vectors_of(self.snapshot, model)
        typical = asdict(measure_typical(Encoder(stored)))
        learnt = learn_focus(stored, qrels, threads=os.cpu_count() or 1)
        return learnt, typical, stored.model.name, stored.artifact.id if stored.artifact else ""

    @of_one_state
    def risk(
        self,
        queries: Queries,
        qrels: Qrels,
        expand: str | Expander | Sequence[str | Expander] = "robust",
        *,
        against: Sequence[tuple[str | Expander, str | Expander]] = (),
        method: Method = BM25(),
        k: int = 1000,
        shares: Sequence[float] | None = None,
        depths: Sequence[int] | None = None,
        measures: Any = None,
        seed: int = 0,
        threads: int = 0,
        progress: Progress | None = None,
    ) -> RiskTable:
        """Tell what expanders gain over the queries as they are, and what they put at risk.

        `against` are pairs of an expander and another that it is compared with directly.
        """
        from likewise.engine.risk import risk_of
        from likewise.evaluate.risk import MEASURES, SHARES

        check_counts(seed=seed, threads=threads)
        check_kind(qrels, Qrels, "judgements are Qrels, as read_qrels gives them")
        many = isinstance(expand, Sequence) and not isinstance(expand, str)
        return risk_of(
            self,
            [one.query for one in as_queries(queries)],
            qrels,
            cast("Sequence[str | Expander]", expand if many else [expand]),
            against=against,
            method=method,
            k=k,
            shares=SHARES if shares is None else shares,
            depths=depths,
            measures=MEASURES if measures is None else measures,
            seed=seed,
            threads=threads,
            progress=progress,
        )


def open(folder: Path_) -> Collection:
    """Open a collection."""
    return Collection(folder)


def _sampled(ids: list[str], n: int, seed: int) -> list[str]:
    if not 0 < n < len(ids):
        return ids
    chosen = np.random.default_rng(seed).choice(len(ids), n, replace=False)
    return [ids[i] for i in np.sort(chosen).tolist()]

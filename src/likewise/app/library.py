"""How do Python programs reach it? The same jobs as the command line, with the same names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from dataclasses import replace as changed
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.app.asking import Asking
from likewise.app.fitting import (
    fit_kernel_stored,
    fit_stored,
    fit_where_possible,
    read_fitted,
    read_indexed,
)
from likewise.app.opened import Path_, of_one_state
from likewise.collection.build import Resources
from likewise.collection.generations import older_generations, unfinished_jobs
from likewise.collection.locks import is_local
from likewise.collection.manifest import VERSION, Artifact
from likewise.collection.snapshot import Snapshot
from likewise.collection.writer import Added, Writer, build
from likewise.derived.keeping import keep_up
from likewise.derived.store import listed
from likewise.errors import CollectionError, SourceError, UsageError
from likewise.evaluate.trec import Qrels
from likewise.records import Document
from likewise.sources import Columns, open_source
from likewise.text.analysis import Analysis

if TYPE_CHECKING:
    from likewise.evaluate.learn import Learnt
    from likewise.like.ageing import Ageing
    from likewise.models.bags import Sample
    from likewise.models.colour import Decomposition
    from likewise.models.fitting import Config as ModelConfig
    from likewise.models.fitting import Watch
    from likewise.models.gram import Gram
    from likewise.models.kernel_rows import AnySpace
    from likewise.models.klsa import KLSA
    from likewise.models.stored import AnyModel
    from likewise.models.supplied import Supplied, SuppliedModel
    from likewise.models.triple import Triples
    from likewise.models.vectors import Names, Source

# Models are imported when they are first used: a search does not wait for them.

ROLES = ("like", "smooth")

Place = Path_ | Iterable[Document | Mapping[str, Any]]
OnBad = Callable[[SourceError], None]


class Collection(Asking):
    """A stored collection of documents.

    It shows its state as of the last change made through it, or the last `refresh`.
    """

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
        with Writer(self.folder, keep_up) as writer:
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
        with Writer(self.folder, keep_up) as writer:
            writer.merge(resources=resources)
            self.refresh()

    def fit(
        self,
        model: str | ModelConfig | KLSA = "",
        *,
        name: str = "",
        sample: Sample | None = None,
        threads: int = 0,
        go_on: bool = False,
        watch: Watch | None = None,
        default: bool = False,
    ) -> AnyModel | AnySpace:
        """Fit a model and store it with the collection; `go_on` from the one that is there.

        `klsa` is a kernel model, which smooths rankings; the others decompose documents. Without a
        model it is what `index` fits: lsi, and klsa beside it. With `default` it answers from now
        on where no model is named.
        """
        if not model:
            if name or go_on:
                raise UsageError("which model? Name it, as in fit('ddm')")
            self.fit("klsa", threads=threads, watch=watch, default=default)
            model = "lsi"
        fitted = fit_stored(
            self.folder,
            read_fitted(model) if isinstance(model, str) else model,
            name=name,
            sample=sample,
            threads=threads,
            go_on=go_on,
            watch=watch,
            default=default,
        )
        self._changed()
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
        default: bool = False,
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
            default=default,
        )
        self._changed()
        assert isinstance(fitted, SuppliedModel)
        return fitted

    def fit_kernel(
        self,
        kernel: str = "bm25",
        *,
        axes: int = 0,
        docs: int | None = None,
        features: Source | None = None,
        ids: Names | None = None,
        gram: Gram | None = None,
        name: str = "klsa",
        threads: int = 0,
        watch: Watch | None = None,
        default: bool = False,
    ) -> AnySpace:
        """Fit a kernel model, by which rankings are smoothed, and store it.

        `kernel` is one of words, such as `bm25(k1=2,power=0.5)`. In its place `features` may be
        vectors of the documents (as the source of `fit_vectors`, and `ids` as there), or `gram` a
        function of two lists of texts that gives the kernel between them. `axes` and `docs` are
        those of `KLSA`.
        """
        from likewise.models.klsa import KLSA

        docs = KLSA.docs if docs is None else docs
        if kernel != KLSA.kernel and (features is not None or gram is not None):
            raise UsageError(f"the kernel is {kernel}, or given by features or gram, not both")
        fitted = fit_kernel_stored(
            self.folder,
            KLSA(kernel, axes=axes, docs=docs),
            name=name,
            threads=threads,
            watch=watch,
            features=features,
            ids=ids,
            gram=gram,
            default=default,
        )
        self._changed()
        return fitted

    def drop_model(self, name: str) -> None:
        """Remove a model, with all that was worked out by it."""
        from likewise.models.stored import drop_model

        drop_model(self.folder, name)
        self._changed()

    def use_model(self, name: str) -> None:
        """Let a model answer where none is named: for likeness, or for smoothing."""
        from likewise.models.stored import use_model

        use_model(self.folder, name)
        self._changed()

    def model(self, name: str | None = None) -> AnyModel:
        """Give a fitted model of documents by name; without one, the collection's default."""
        from likewise.models.stored import load_model

        found: AnyModel = load_model(self._snapshot, name)
        return found

    @of_one_state
    def decompose(
        self, doc_ids: str | Sequence[str], *, model: str | None = None, words: int = 15
    ) -> Triples:
        """Decompose documents of the collection: topics, own words, shares."""
        wanted = [doc_ids] if isinstance(doc_ids, str) else doc_ids
        docs = np.array([self._snapshot.find_doc(doc_id) for doc_id in wanted], np.int64)
        return self.model(model).decompose(self._snapshot.term_counts(docs), words=words)

    @of_one_state
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
        from likewise.like.store import Weights
        from likewise.models.stored import find_model

        learnt, points, name, id = self._learn(qrels, model)
        if store:
            with Writer(self.folder) as writer:
                weights = asdict(Weights(points, learnt.chosen, "learnt"))
                artifact = find_model(writer.snapshot, name)
                if artifact.id != id:
                    raise CollectionError(f"{name} was fitted again in the meantime; tune it again")
                about = dict(artifact.about) | {"weights": weights}
                writer.put(changed(artifact, about=about))
            self._changed()
        return learnt

    @of_one_state
    def _learn(self, qrels: Qrels, model: str) -> tuple[Learnt, float, str, str]:
        """Learn the weight; give also that of points, and which model it is of.

        What holds the state is let go of before anything is stored, so that it can be removed.
        """
        from likewise.evaluate.learn import learn_weights
        from likewise.like.store import Weights, halves_of
        from likewise.like.view import View

        halves = halves_of(self._snapshot, model)
        now = halves.weights or Weights()
        learnt = learn_weights(View(halves), now, qrels, threads=os.cpu_count() or 1)
        return learnt, now.points, halves.model.name, halves.artifact.id if halves.artifact else ""

    @of_one_state
    def ageing(self) -> list[Ageing]:
        """Tell how models know the documents that were added after they were fitted."""
        found = [one for one in self._snapshot.manifest.artifacts if one.kind == "model"]
        models = sorted(found, key=lambda artifact: ROLES.index(artifact.about["role"]))
        if not models:
            return []
        from likewise.like.ageing import ageing

        measured = (ageing(self._snapshot, artifact) for artifact in models)
        return [one for one in measured if one is not None]

    @of_one_state
    def info(self) -> dict[str, Any]:
        """Describe the collection in plain values."""
        s = self._snapshot
        roots = [one for one in s.manifest.artifacts if not one.inputs]
        by_role = {role: [a.name for a in roots if a.about.get("role") == role] for role in ROLES}
        return {
            "folder": str(self.folder),
            "format": VERSION,
            "generation": s.manifest.generation,
            "documents": s.n_docs,
            "deleted": s.n_slots - s.n_docs,
            "terms": s.n_terms,
            "tokens": s.n_tokens,
            "average_length": round(s.average_length, 2),
            "segments": len(s.segments),
            "bytes": s.n_bytes,
            "bytes_by_kind": _bytes_by_kind(s),
            "derived": [row._asdict() for row in listed(s)],
            "fields": s.field_names(),
            "models": by_role["like"],
            "kernels": by_role["smooth"],
            "graphs": [one.name for one in roots if one.kind == "graph"],
            "defaults": dict(s.manifest.defaults),
            "keeps": _kept_of_documents(roots),
            "ageing": [one.to_json() for one in self.ageing()],
            "analysis": s.analysis.to_json(),
            "leases": s.lease.held or is_local(self.folder),
            "older_generations": [
                {"generation": generation, "readers": readers}
                for generation, readers in older_generations(self.folder)
            ],
            "unfinished": unfinished_jobs(self.folder),
        }


def _bytes_by_kind(snapshot: Snapshot) -> dict[str, int]:
    """Give how large the files of each kind are: texts, arrays for words, what was derived."""
    sizes: Counter[str] = Counter()
    for entry in snapshot.manifest.files():
        sizes[entry.file.partition("-")[0]] += entry.size
    return dict(sizes)


def _kept_of_documents(roots: Iterable[Artifact]) -> list[str]:
    """Say what of documents persists in models, whatever is deleted."""
    said = []
    for root in roots:
        if root.kind == "model":
            said.append(f"{root.name}: what it learnt of all documents that it was fitted on")
        elif root.kind == "graph":
            said.append(f"{root.name}: its nodes")
    return said


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
    smooth: str | KLSA | None = "auto",
) -> Collection:
    """Make a collection of documents, and fit a model on it, and a kernel model to smooth by.

    `smooth` "auto" is `klsa` beside a model, and nothing where that is None.
    """
    if not sources:
        raise UsageError("nothing to index: name at least one source")
    configs = read_indexed(model, smooth)
    documents = _documents(sources, columns, format, on_bad)
    build(
        Path(to),
        documents,
        analysis=analysis,
        overwrite=overwrite,
        replace=replace,
        resources=resources,
    )
    for config in configs:
        if config is not None:
            fit_where_possible(Path(to), config, threads=resources.threads)
    return Collection(to)


def _sampled(ids: list[str], n: int, seed: int) -> list[str]:
    if not 0 < n < len(ids):
        return ids
    chosen = np.random.default_rng(seed).choice(len(ids), n, replace=False)
    return [ids[i] for i in np.sort(chosen).tolist()]


def _documents(
    sources: Sequence[Place], columns: Columns, format: str | None, on_bad: OnBad | None
) -> Iterator[Document]:
    # All are opened before the first is read, so that a misspelt name stops at once.
    opened = [open_source(s, columns=columns, format=format, on_bad=on_bad) for s in sources]
    return chain.from_iterable(opened)

"""The models of a collection: fitted, listed, asked what documents are made of, dropped."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import registry
from likewise.arguments import check_counts, check_texts, listed
from likewise.engine.fitting import fit_stored
from likewise.engine.state import State, of_one_state
from likewise.errors import UnknownModel, UsageError

if TYPE_CHECKING:
    from likewise.like.drift import Drift
    from likewise.models.bags import Sample
    from likewise.models.fitting import Config, Watch
    from likewise.models.gram import Gram
    from likewise.models.token_labels import Decomposition
    from likewise.models.topic_summary import TopicDescription
    from likewise.models.triple import Triples
    from likewise.models.vector_sources import Names, Source

# Models are imported when they are first used: a search does not wait for them.

ROLES = ("like", "smooth")


class Models(Mapping[str, Any]):
    """The fitted models by name, in the order in which they were fitted."""

    def __init__(self, state: State) -> None:
        self._state = state

    @of_one_state
    def __getitem__(self, name: str) -> Any:
        from likewise.derived.store import derived_of

        if name not in self:
            there = ", ".join(self) or "none"
            raise UnknownModel(f"no model {name!r} in {self._state.folder}; there is {there}")
        return derived_of(self._state.snapshot).root("model", name)

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> list[str]:
        artifacts = self._state.snapshot.manifest.artifacts
        return [one.name for one in artifacts if one.kind == "model"]

    def __repr__(self) -> str:
        return f"<Models of {str(self._state.folder)!r}: {', '.join(self) or 'none'}>"

    def fit(
        self,
        model: str | Config = "",
        *,
        name: str = "",
        vectors: Source | None = None,
        ids: Names | None = None,
        gram: Gram | None = None,
        sample: Sample | None = None,
        warm_start: bool = False,
        default: bool = False,
        threads: int = 0,
        progress: Watch | None = None,
    ) -> Any:
        """Fit a model and store it with the collection, in place of one of the same name.

        Without a model it is what `index` fits: lsi, and klsa beside it. `klsa` is a kernel model,
        which smooths rankings; the others decompose documents.

        `vectors` are the user's own, for the model `vectors` or as features of `klsa`: a field of
        the documents, an `.npy` file, rows (of the documents that `ids` names), rows by id, or a
        function of texts; see `models.vector_sources.read_vectors`. Documents added later are given
        the vector in their field; from another source they have what their words predict until the
        model is fitted again. `gram`, for `klsa`, is a function of two lists of texts that gives
        the kernel between them.

        `warm_start` goes on from the model that is there. With `default` it answers from now on
        where no model is named. `progress` is told of every step of the fit.
        """
        from likewise.models.bags import Sample
        from likewise.models.fitting import FitJob, read_config

        check_texts(name=name)
        check_counts(threads=threads)
        if not model and (vectors is not None or gram is not None):
            model = "vectors" if gram is None else "klsa"
        if not model:
            if name or warm_start:
                raise UsageError("which model? Name it, as in fit('ddm')")
            self.fit("klsa", threads=threads, progress=progress, default=default)
            model = "lsi"
        job = FitJob(name, sample or Sample(), warm_start, vectors, ids, gram, threads, progress)
        fitted = fit_stored(self._state.folder, read_config(model), job, default=default)
        self._state.changed()
        return fitted

    def drop(self, name: str) -> None:
        """Remove a model, with all that was worked out by it."""
        from likewise.models.kinds import drop_model

        drop_model(self._state.folder, name)
        self._state.changed()

    def use(self, name: str) -> None:
        """Let a model answer where none is named: for likeness, or for smoothing."""
        from likewise.models.kinds import use_model

        use_model(self._state.folder, name)
        self._state.changed()

    def default(self, role: str = "like") -> str:
        """Name the model that answers where none is named: for `like`, or to `smooth`."""
        from likewise.models.kinds import find_model

        if role not in ROLES:
            raise UsageError(f"models are there to {' or '.join(ROLES)}, not {role!r}")
        return find_model(self._state.snapshot, role=role).name

    @of_one_state
    def topics(self, model: str = "", *, words: int = 10) -> list[TopicDescription]:
        """Describe the topics of a model, or its axes: their words, shares and documents."""
        from likewise.models.topic_summary import describe

        check_counts(words=words)
        found = self._decomposing(model)
        threads = os.cpu_count() or 1
        return describe(found, self._state.snapshot, words=words, threads=threads)

    @of_one_state
    def drift(self) -> list[Drift]:
        """Tell how models know the documents that were added after they were fitted."""
        snapshot = self._state.snapshot
        found = [one for one in snapshot.manifest.artifacts if one.kind == "model"]
        # A later likewise may know other roles and types: what has them is left alone.
        found = [one for one in found if one.about.get("type") in registry.MODELS]
        models = [one for role in ROLES for one in found if one.about.get("role") == role]
        if not models:
            return []
        from likewise.like.drift import measure_drift

        measured = (measure_drift(snapshot, artifact) for artifact in models)
        return [one for one in measured if one is not None]

    @of_one_state
    def decompose(
        self, id: str = "", *, text: str = "", model: str = "", words: int = 15
    ) -> Decomposition:
        """Decompose a document of the collection, or a text, word by word.

        Words of a text that are new to the collection are its own.
        """
        from likewise.collection.build import content
        from likewise.models.token_labels import decompose_text

        check_texts(id=id, text=text)
        check_counts(words=words)
        if id and text:
            raise UsageError("give the id of a document or a text, one of them")
        snapshot, title = self._state.snapshot, ""
        found = self._decomposing(model)
        if id:
            document = snapshot.document(snapshot.find_doc(id))
            text, title = content(document), document.title
        return decompose_text(found, snapshot, text, words=words, title=title)

    @of_one_state
    def transform(self, ids: str | Sequence[str], *, model: str = "", words: int = 15) -> Triples:
        """Give documents of the collection as arrays: topics, specific words, shares."""
        check_counts(words=words)
        snapshot = self._state.snapshot
        wanted = listed(ids, what="an id")
        docs = np.array([snapshot.find_doc(doc_id) for doc_id in wanted], np.int64)
        triples: Triples = self._decomposing(model).transform(
            snapshot.term_counts(docs), words=words
        )
        return triples

    def _decomposing(self, name: str) -> Any:
        """Give a model that decomposes documents; without a name, the default."""
        from likewise.models.kinds import load_model

        return load_model(self._state.snapshot, name)

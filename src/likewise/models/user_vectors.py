"""Dense vectors from elsewhere, and beside them the specific words that they leave over.

With t a document's words at length one, and y its vector at length one less the mean of all, a
ridge regression `min ‖TW - Y‖² + λ‖W‖²` says what vector the words predict, `Wᵀt`. The axes Q of
`W = QA` are the part of a text that a vector can know of; what they leave over, `ε = t - QQᵀt`,
are the words of its own. A text without a vector is given the one that its words predict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise import notation
from likewise.collection.arrays import Arrays, require
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Floats, Ints, fast_kernel
from likewise.errors import Remedy, UsageError
from likewise.models.bags import Vocabulary
from likewise.models.document_vectors import document_vectors, layout_of, to_arrays
from likewise.models.lanczos import Watch
from likewise.models.model import LIKE, Model
from likewise.models.ridge import Matrix
from likewise.models.sampling import MEMORY
from likewise.models.subspace import Subspace, in_parts
from likewise.models.triple import OWN_WORDS, Triples
from likewise.models.vector_sources import Kept, field_rows, from_field, keep, none_kept, unit
from likewise.models.word_map import Regression, map_words
from likewise.records import Document

if TYPE_CHECKING:
    from likewise.models.fitting import FitJob

_CHUNK = 4096


@dataclass(frozen=True)
class UserVectorsConfig:
    """Vectors that the user supplies, with residual words beside them.

    `field` is the documents' field that they stand in; "" means that they come from elsewhere.
    `docs` is how many of the documents that have a vector, drawn by the seed, the map is made from
    (0: all). `ridge` is λ: at 1 a document weighs as much as the belief that words predict
    nothing; 0 is the one of `RIDGES` that predicts held-out documents best. `blend` is how much
    of what its words predict is added to a document's own vector; 1 against 0 was tried on two
    collections only, with vectors of MiniLM (P@10 of 20 Newsgroups .674 to .703, of Python
    docstrings .216 to .223). `weight` is how much vectors count beside words, where 1 is as much
    as axes do; 0 is by trust (`UserVectors.trust`).
    """

    field: str = ""
    docs: int = 50_000
    ridge: float = 0.0
    blend: float = 1.0
    weight: float = 0.0
    seed: int = 0
    notation: ClassVar[str] = "vectors"
    role: ClassVar[str] = LIKE

    def __post_init__(self) -> None:
        numbers = (self.docs, self.ridge, self.blend, self.weight, self.seed)
        if not all(0 <= number < np.inf for number in numbers):
            raise UsageError(f"{self}: docs, ridge, blend, weight and seed must be at least 0")

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> UserVectors:
        """Fit a map from words to vectors, which stand in the field or are those of the job."""
        job.refuse(self, "warm_start", "gram")
        if job.vectors is not None:
            if self.field and self.field != job.field:
                raise UsageError(
                    f"{self}: vectors stand in a field, or come from elsewhere, not both"
                )
            if job.field and job.ids is not None:
                raise UsageError("vectors in a field need no ids: each stands with its document")
        elif not self.field:
            raise UsageError(
                f"{self}: whose vectors? name a field of the documents, as in "
                f"{replace(self, field='embedding')}",
                remedy=Remedy(
                    "or give them with vectors=, as an array, a file or a function of texts",
                    "or give a file: likewise fit --vectors FILE.npy",
                ),
            )
        config = replace(self, field=self.field or job.field)
        given = from_field(snapshot, config.field) if config.field else job.read_vectors(snapshot)
        model = fit_user_vectors(
            snapshot, given.docs, given.rows, config, threads=job.threads, watch=job.watch
        )
        [note] = model.history
        return replace(model, history=({**note, "without": given.without},))


@dataclass(frozen=True, eq=False)
class UserVectors(Model):
    """A map from words to the user's vectors: `Wᵀt = turnᵀ Qᵀt`, Q the basis of `axes`.

    `centre` is the mean vector. `trust` is how far words predict vectors, the cosine over
    held-out documents less two standard errors of it: zero for random vectors. `kept` are the
    vectors of documents as `place` has them, but for those that stand in a field of the documents,
    which `settings` names.
    """

    kind: ClassVar[str] = "vectors"
    has_own_vectors: ClassVar[bool] = True
    name: str
    axes: Subspace
    turn: Matrix
    centre: Floats
    trust: float
    blend: float = 1.0
    fixed: float = 0.0
    kept: Kept = field(default_factory=lambda: none_kept(0))
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Mapping[str, float], ...] = ()

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms that the map knows."""
        return self.axes.vocabulary

    @property
    def width(self) -> int:
        """How long a vector is."""
        return len(self.centre)

    # Stored

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that it is stored as."""
        return self.axes.arrays() | {
            "turn": np.ascontiguousarray(self.turn, np.float32),
            "centre": np.asarray(self.centre, np.float32),
            "kept.keys": self.kept.keys,
            "kept.codes": self.kept.points.codes,
            "kept.scales": self.kept.points.scales,
        }

    def about(self) -> dict[str, Any]:
        """Give the plain values that it is stored with."""
        return {
            **self.axes.about(),
            **super().about(),
            "trust": self.trust,
            "blend": self.blend,
            "weight": self.fixed,
        }

    @classmethod
    def load(cls, name: str, arrays: Arrays, about: Mapping[str, Any]) -> UserVectors:
        """Give it as it was stored."""
        axes = Subspace.load(name, arrays, about)
        width = len(arrays["centre"])
        require(arrays, name, turn=(axes.width, width))
        return cls(
            name,
            axes,
            arrays["turn"],
            arrays["centre"],
            about["trust"],
            about["blend"],
            about["weight"],
            Kept.load(arrays, name, width),
            axes.settings,
            axes.history,
        )

    @property
    def layout(self) -> dict[str, tuple[Any, int]]:
        """Name the arrays of `encode`."""
        return layout_of(self.width)

    def encode(
        self, collection: Snapshot, docs: Ints, *, words: int, threads: int = 1
    ) -> dict[str, NDArray[Any]]:
        """Give what is stored of documents to compare them: vectors, and so many specific words."""
        triples = self.transform(collection.term_counts(docs), words=words, threads=threads)
        return to_arrays(
            document_vectors(triples, self.blended(self.placed(collection, docs), triples))
        )

    def coordinates(self, vectors: Floats, shares: Floats) -> Floats:
        """Give vectors as they are stored: these are directions."""
        return vectors

    def without(self, documents: Iterable[Document]) -> UserVectors | None:
        """Give the model without the vectors that it keeps of documents; None where it has none."""
        left = self.kept.without([document.id for document in documents])
        return None if left is None else replace(self, kept=left)

    @property
    def dense_weight(self) -> float:
        """How much vectors count: one that words do not predict counts for nothing."""
        return self.fixed or self.trust

    def transform(self, counts: TermCounts, *, words: int = OWN_WORDS, threads: int = 1) -> Triples:
        """Decompose documents by their words alone, as if they had no vector.

        Topics are the vector that the words predict, as long as the topical share's root.
        """
        triples = self.axes.transform(counts, words=words, threads=threads)
        topics = np.zeros((len(triples.topics), self.width), np.float32)

        def part(first: int) -> None:
            inside = slice(first, first + _CHUNK)
            predict_vectors(triples.topics[inside], np.asarray(self.turn), topics[inside])

        in_parts(part, range(0, len(topics), _CHUNK), threads)
        return triples._replace(topics=topics)

    def compact(self, counts: TermCounts, triples: Triples) -> Matrix:
        """Give the vectors that words predict."""
        return triples.topics

    def query_vector(self, counts: TermCounts, triples: Triples, vector: Floats | None) -> Floats:
        """Give the vector of a text, blended; without one, what its words predict."""
        if vector is None:
            return super().query_vector(counts, triples, None)
        if vector.shape != (self.width,):
            raise UsageError(
                f"the vector has {len(vector)} numbers, and those of the model {self.name!r} have "
                f"{self.width}"
            )
        blended: Floats = self.with_vectors(vector[None, :], triples)[0]
        return blended

    @property
    def word_model(self) -> Model:
        """The axes that its words are decomposed by."""
        return self.axes

    @property
    def word_weights(self) -> NDArray[np.float32]:
        """Refuse: nobody named the axes of a map."""
        self._refuse("is of vectors from elsewhere, whose dimensions are no topics to list")

    def with_vectors(self, vectors: ArrayLike, triples: Triples) -> Floats:
        """Give the dense vectors of documents, at length one, from the user's vectors.

        A row of zeros stands for none: there, and where a vector is the mean, it is what the words
        predict.
        """
        rows = np.asarray(vectors)
        if rows.shape != triples.topics.shape:
            raise UsageError(
                f"vectors of shape {rows.shape} where the model has {triples.topics.shape}"
            )
        return self.blended(self.place(rows), triples)

    def blended(self, placed: Floats, triples: Triples) -> Floats:
        """Give the dense vectors of documents from vectors as `place` has them."""
        predicted = unit(triples.topics)
        blend = np.where(placed.any(axis=1), np.float32(self.blend), np.float32(1))
        return unit(placed + blend[:, None] * predicted)

    def placed(self, collection: Snapshot, docs: Ints) -> Floats:
        """Give the vectors of documents of the collection as `place` has them, zeros for none.

        In a field they are read as they stand there now. Others go by the id: a document that came
        later has none until the model is fitted again, and one that was replaced keeps its own.
        """
        if name := self.settings.get("field"):
            return self.place(field_rows(collection, docs, name, self.width))
        return self.rows(collection.doc_ids(docs))

    def rows(self, doc_ids: Sequence[str]) -> Floats:
        """Give the vectors that are kept by these ids as `place` has them, zeros for none."""
        if not len(self.kept.keys):
            return np.zeros((len(doc_ids), self.width), np.float32)
        return self.kept.of(doc_ids)

    def place(self, vectors: ArrayLike) -> Floats:
        """Give vectors at length one, then from their mean, at length one; zeros stay zeros."""
        rows = unit(vectors)
        there = rows.any(axis=1, keepdims=True)
        return unit((rows - self.centre) * there)


# Fitting


def fit_user_vectors(
    collection: Snapshot,
    docs: Ints,
    vectors: NDArray[Any],
    config: UserVectorsConfig = UserVectorsConfig(),
    *,
    threads: int = 0,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> UserVectors:
    """Fit a map from the words of documents to their vectors, row i that of `docs[i]`."""
    if vectors.ndim != 2 or len(vectors) != len(docs):
        raise UsageError(
            f"vectors of shape {vectors.shape} are not a row for {len(docs)} documents"
        )
    found = map_words(
        collection,
        docs,
        vectors,
        Regression(config.docs, config.ridge, config.seed),
        threads=threads,
        memory=memory,
        watch=watch,
    )
    axes = Subspace(
        name=config.notation,
        vocabulary=found.vocabulary,
        basis=found.basis,
        values=np.linalg.norm(found.turn.astype(np.float64), axis=1),
        average_length=found.average_length,
    )
    note = {
        "ridge": found.ridge,
        "axes": len(found.turn),
        "held_out": found.n_held_out,
        "trust": found.trust,
    }
    model = UserVectors(
        name=config.notation,
        axes=axes,
        turn=found.turn,
        centre=found.centre,
        trust=found.trust,
        blend=config.blend,
        fixed=config.weight,
        kept=none_kept(len(found.centre)),
        settings={"model": str(config)} | asdict(config),
    )
    model = replace(model, history=(note | {"weight": model.dense_weight},))
    if config.field:
        return model
    return replace(model, kept=keep(collection.doc_ids(docs), vectors, model.place))


@fast_kernel
def predict_vectors(topics: Matrix, turn: Matrix, out: Matrix) -> None:
    """Turn coordinates on the axes into vectors as long as they are.

    Equals `x = topics @ turn`, `out[:] = x * norm(topics) / norm(x)`, norms by row.
    """
    for doc in range(len(topics)):
        # In double precision: the square of a single number may be nothing in its own.
        length, squares = 0.0, 0.0
        for j in range(topics.shape[1]):
            z = topics[doc, j]
            length += np.float64(z) * z
            for k in range(turn.shape[1]):
                out[doc, k] += z * turn[j, k]
        for k in range(turn.shape[1]):
            squares += np.float64(out[doc, k]) * out[doc, k]
        factor = np.sqrt(length / squares) if squares > 0 else 0.0
        for k in range(turn.shape[1]):
            out[doc, k] *= factor

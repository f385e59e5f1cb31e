"""Models of a collection as artifacts: what was fitted, documents' vectors by it, and finders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from likewise import registry
from likewise.collection.arrays import Arrays, Output, Stream
from likewise.collection.files import storage_errors
from likewise.collection.job import Job
from likewise.collection.manifest import Artifact, Manifest
from likewise.collection.snapshot import Snapshot
from likewise.collection.writer import Writer
from likewise.compiled import Ints
from likewise.derived.keeping import derive, publish, put_root, with_artifacts
from likewise.derived.kind import Inputs, Kind, Progress, Scope
from likewise.derived.store import derived_of
from likewise.errors import FormatError, Remedy, UsageError
from likewise.models.document_vectors import (
    DocumentVectors,
    from_arrays,
    take,
    to_arrays,
)
from likewise.models.model import LIKE, SMOOTH, Model
from likewise.neighbours.vector_finders import FEWEST_FOUND, VectorFinder, read_vector_finder
from likewise.records import Document

if TYPE_CHECKING:
    pass

# How artifacts that a name may belong to are called.
_CALLED = {LIKE: "a model of documents", SMOOTH: "a kernel model", "graph": "a graph of terms"}
# Of large collections fewer specific words are kept: 5 million documents then take 1.5 GB.
STORED_WORDS, _FEWER_WORDS, _MANY_DOCS = 75, 24, 500_000

_DOCS_AT_ONCE = 4096


class ModelKind(Kind):
    """Fitted models; `about` has their type, their role, and how many specific words are stored."""

    name = "model"
    scope = Scope.ROOT

    def load(self, arrays: Arrays, about: Mapping[str, Any], inputs: Inputs) -> Any:
        """Load a model."""
        if about["type"] not in registry.MODELS:
            raise FormatError(
                f"{inputs.snapshot.folder}: model {inputs.name!r} is of the type "
                f"{about['type']!r}, which this likewise does not know"
            )
        return registry.look_up(registry.MODELS, about["type"]).load(inputs.name, arrays, about)

    def forget(self, root: Model, gone: Iterable[Document], inputs: Inputs) -> Model | None:
        """Leave out the vectors that the user gave for documents that are gone."""
        return root.without(gone)


class VectorsKind(Kind):
    """What a model says of each document: a byte a coordinate, for some models specific words."""

    name = "vectors"
    scope = Scope.SEGMENT
    root = "model"

    def compute(self, inputs: Inputs, out: Output) -> None:
        """Encode documents, some thousands at a time."""
        model: Model = inputs.derived.root("model", inputs.name)
        words = inputs.derived.find("model", inputs.name).about["words"]
        docs, threads = inputs.docs(), inputs.threads
        encode_documents(model, inputs.snapshot, docs, out, words, threads, inputs.progress)

    def load(self, arrays: Arrays, about: Mapping[str, Any], inputs: Inputs) -> DocumentVectors:
        """Give vectors and specific words, or vectors alone."""
        model: Model = inputs.derived.root("model", inputs.name)
        n_docs = inputs.snapshot.segments[inputs.segment].n_docs
        what = f"{inputs.snapshot.folder}: vectors of {inputs.name}"
        return from_arrays(arrays, n_docs, model.layout, what)

    def join(
        self, parts: Sequence[Arrays], rows: Sequence[Ints], inputs: Inputs, out: Output
    ) -> bool:
        """Take the rows that are left, one part after the other."""
        model: Model = inputs.derived.root("model", inputs.name)
        with _streams(model, out) as streams:
            for part, kept in zip(parts, rows, strict=True):
                taking = _taking(part, model)
                for start in range(0, len(kept), _DOCS_AT_ONCE):
                    for name, values in taking(kept[start : start + _DOCS_AT_ONCE]).items():
                        streams[name].append(values)
        return True


class FinderKind(Kind):
    """An index of the vectors of a large segment; smaller ones are scanned."""

    name = "finder"
    version = 2
    scope = Scope.SEGMENT
    root = "model"

    def compute(self, inputs: Inputs, out: Output) -> bool:
        """Build an index, if its kind takes such vectors."""
        method = read_vector_finder(inputs.derived.root("model", inputs.name).finder)
        finder = method.build(inputs.needed("vectors").dense)
        if finder is not None:
            finder.save(out)
        return finder is not None

    def load(self, arrays: Arrays, about: Mapping[str, Any], inputs: Inputs) -> VectorFinder | None:
        """Map an index; None where the package that it needs is not there."""
        method = read_vector_finder(inputs.derived.root("model", inputs.name).finder)
        return method.load(arrays, inputs.needed("vectors").dense)

    def due(self, inputs: Inputs, *, adding: bool) -> bool:
        """Tell whether a segment is large; an addition does not wait for an index."""
        n_docs = inputs.snapshot.segments[inputs.segment].n_docs
        return not adding and n_docs >= FEWEST_FOUND


MODEL, VECTORS, FINDER = ModelKind(), VectorsKind(), FinderKind()


def encode_documents(
    model: Model,
    collection: Snapshot,
    docs: Ints,
    out: Output,
    words: int,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Put what a model says of documents, some thousands at a time."""
    with _streams(model, out) as streams:
        # A segment of no documents has vectors of none.
        for start in range(0, max(len(docs), 1), _DOCS_AT_ONCE):
            some = docs[start : start + _DOCS_AT_ONCE]
            encoded = model.encode(collection, some, words=words, threads=threads)
            for name, values in encoded.items():
                streams[name].append(values)
            if progress is not None:
                progress(len(some))


@contextmanager
def _streams(model: Model, out: Output) -> Iterator[dict[str, Stream]]:
    """Begin the arrays of a model's vectors."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(out.stream(name, dtype, width))
            for name, (dtype, width) in model.layout.items()
        }


def _taking(part: Arrays, model: Model) -> Callable[[Ints], dict[str, NDArray[Any]]]:
    """Give what takes rows of stored vectors, as they are stored."""
    if "words.sizes" not in model.layout:
        return lambda rows: {name: part[name][rows] for name in model.layout}
    vectors = from_arrays(part, len(part["scales"]), model.layout, "a part")
    return lambda rows: to_arrays(take(vectors, rows))


def stored_words(n_docs: int) -> int:
    """Choose how many specific words are stored of each of so many documents."""
    return STORED_WORDS if n_docs < _MANY_DOCS else _FEWER_WORDS


def store_model(
    snapshot: Snapshot,
    model: Model,
    *,
    name: str = "",
    job: Job | None = None,
    note: Callable[[Snapshot, str], Mapping[str, Any]] | None = None,
    default: bool = False,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Store a model that was fitted on a snapshot, with the vectors of all documents by it.

    It takes the place of one of the same name. `note` gives more plain values about it, from the
    snapshot in which it and its vectors are, before anyone else sees them; with `default` it
    answers where no model is named, else only where there is no other.
    """
    name = name or model.name
    about = model.about()
    about |= {"type": model.kind, "role": model.role, "words": stored_words(snapshot.n_docs)}

    def check(writer: Writer) -> dict[str, str]:
        check_name(writer.manifest, name, model.role)
        return defaults_with(writer.manifest, name, model.role, chosen=default)

    with storage_errors(snapshot.folder), ExitStack() as stack:
        job = job or stack.enter_context(Job(snapshot.folder))
        root = put_root(job, MODEL.name, name, model.arrays(), about)
        private = with_artifacts(snapshot, [root], job)
        rest = derive(private, root, job, threads=threads, progress=progress)
        if note is not None:
            noted = note(with_artifacts(snapshot, [root, *rest], job), name)
            root = changed(root, about={**root.about, **noted})
        publish(snapshot, [root, *rest], job, check)


def drop_model(folder: Path, name: str) -> None:
    """Remove a model of documents or a kernel model, with all that was derived by it."""
    with Writer(folder) as writer:
        models = [one for one in writer.manifest.artifacts if one.kind == MODEL.name]
        if name not in [one.name for one in models]:
            known = ", ".join(one.name for one in models)
            there = f"there is {known}" if known else "there is none"
            raise UsageError(f"no model {name!r} in {folder}; {there}")
        drop = [one.id for one in models if one.name == name]
        writer.put(drop=drop, defaults=defaults_without(writer.manifest, name))


def use_model(folder: Path, name: str) -> None:
    """Make a model the one that answers where none is named."""
    with Writer(folder) as writer:
        for role in (LIKE, SMOOTH):
            if name in [one.name for one in models_for(writer.manifest, role)]:
                writer.put(defaults={**writer.manifest.defaults, role: name})
                return
        find_model(writer.snapshot, name)


# By name


def models_for(manifest: Manifest, role: str) -> list[Artifact]:
    """List the models that serve for likeness, or for smoothing."""
    models = (one for one in manifest.artifacts if one.kind == MODEL.name)
    return [one for one in models if one.about.get("role") == role]


def find_model(snapshot: Snapshot, name: str | None = None, role: str = LIKE) -> Artifact:
    """Find a model by name, or raise; without a name the collection's default."""
    models = models_for(snapshot.manifest, role)
    kernel = " kernel" if role == SMOOTH else ""
    if not models:
        config = "'klsa'" if kernel else ""
        raise UsageError(
            f"{snapshot.folder} has no{kernel} model",
            remedy=Remedy(
                f"fit one with models.fit({config})",
                f"fit one with: likewise fit {snapshot.folder}{' --model klsa' if kernel else ''}",
            ),
        )
    wanted = name or snapshot.manifest.defaults.get(role, models[-1].name)
    for artifact in models:
        if artifact.name == wanted:
            return artifact
    known = ", ".join(artifact.name for artifact in models)
    raise UsageError(f"no{kernel} model {name!r} in {snapshot.folder}; there is {known}")


def load_model(snapshot: Snapshot, name: str | None = None, role: str = LIKE) -> Any:
    """Load a model by name; without a name the collection's default."""
    return derived_of(snapshot).root(MODEL.name, find_model(snapshot, name, role).name)


def check_name(manifest: Manifest, name: str, role: str) -> None:
    """Raise where something that serves for `role` cannot be called that."""
    if not name.isprintable() or not name:
        raise UsageError(f"{name!r} cannot be the name of a model: give plain text")
    for artifact in manifest.artifacts:
        is_root = not artifact.inputs
        taken = artifact.about.get("role", artifact.kind)
        if is_root and artifact.name == name and taken != role:
            what = _CALLED.get(taken, f"something of the kind {taken}")
            raise UsageError(f"{name!r} is the name of {what}; give another name")


def defaults_with(manifest: Manifest, name: str, role: str, *, chosen: bool) -> dict[str, str]:
    """Give the defaults when a model is added: it becomes one if asked for, or if there is none."""
    names = {one.name for one in models_for(manifest, role)}
    if chosen or manifest.defaults.get(role) not in names:
        return {**manifest.defaults, role: name}
    return dict(manifest.defaults)


def defaults_without(manifest: Manifest, name: str) -> dict[str, str]:
    """Give the defaults when a model is dropped: the one fitted last takes its place."""
    defaults = dict(manifest.defaults)
    for role, default in manifest.defaults.items():
        if default == name:
            left = [one.name for one in models_for(manifest, role) if one.name != name]
            defaults.pop(role)
            defaults |= {role: left[-1]} if left else {}
    return defaults

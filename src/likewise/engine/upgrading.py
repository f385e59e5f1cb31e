"""How a collection of format 1 becomes one of this format: at once, and nothing is fitted again.

Documents are analysed anew in their order, with the old vocabulary: terms keep their numbers, so
that models and graphs of terms are carried over as arrays. Until the last step, one rename, the
old collection is untouched; what was done when a process is killed is taken up by the next.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from likewise.arguments import check_kind
from likewise.collection.build import PreparedBatch, Resources, SegmentBuilder, prepare
from likewise.collection.files import check_room, storage_errors, write_bytes
from likewise.collection.format1 import Fitted, Format1, note_replaced
from likewise.collection.generations import commit, new_id, sweep
from likewise.collection.job import Job
from likewise.collection.layout import DATA, MANIFESTS, PLAN, UPGRADE, WORK
from likewise.collection.locks import WriteLock
from likewise.collection.manifest import (
    Artifact,
    Manifest,
    SegmentEntry,
    format_manifest,
    parse_manifest,
)
from likewise.collection.schema import Types, known_types
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Ints
from likewise.derived.keeping import derive, put_root
from likewise.derived.kind import Progress
from likewise.engine.state import Path_, folder_of
from likewise.errors import CollectionError
from likewise.models.kinds import stored_words
from likewise.models.model import LIKE, SMOOTH
from likewise.text.analysis import Analyzer, encode
from likewise.text.lexicon import Lexicon
from likewise.text.table import Strings, StringTable

log = logging.getLogger("likewise.upgrade")

# New documents need about as much room as the old ones, and arrays are written twice.
_ROOM = 1.5


def upgrade(
    folder: Path_,
    *,
    resources: Resources = Resources(),
    keep: bool = False,
    progress: Progress | None = None,
) -> int:
    """Upgrade a collection; tell how many documents it has.

    With `keep` the old files stay in a folder beside the new ones. `progress` is told of documents.
    """
    folder = folder_of(folder)
    check_kind(resources, Resources, "resources are Resources(memory, threads)")
    old = Format1(folder)
    with storage_errors(folder):
        # What an earlier run has written is used, or makes room.
        there = sum(path.stat().st_size for path in (folder / WORK / UPGRADE).glob("*"))
        check_room(folder, int(_ROOM * old.n_bytes) - there, "an upgrade")
        lock = WriteLock(folder)
        try:
            old = Format1(folder)
            for name in (DATA, MANIFESTS):
                (folder / name).mkdir(exist_ok=True)
            job = _open_job(folder, old)
            try:
                _upgrade(old, job, resources, progress, keep=keep)
            except BaseException:
                job.let_go()
                raise
            job.close()
        finally:
            lock.release()
    return old.n_docs


def _upgrade(
    old: Format1, job: Job, resources: Resources, progress: Progress | None, *, keep: bool
) -> None:
    folder = old.folder
    segments, types = _build(old, job, resources, progress)
    # Terms stay those of old; where they stand is found as the texts are analysed again.
    analysis = changed(old.analysis, positions=True)
    manifest = Manifest(
        analysis,
        generation=old.generation,
        lineage=new_id(),
        fields=types,
        segments=tuple(segments),
        analysis_revision=0,
    )
    # A graph that was being made when its process was killed was none.
    whole = [fitted for fitted in old.fitted() if not fitted.name.endswith(" (being made)")]
    roots = [_root(old, fitted, job) for fitted in whole]
    manifest = changed(manifest, artifacts=tuple(roots), defaults=_defaults(roots))
    snapshot = Snapshot(folder, manifest, work=job.path)
    _check(old, snapshot)
    artifacts = list(roots)
    for root in roots:
        artifacts += derive(snapshot, root, job, threads=resources.n_threads)
    manifest = changed(manifest, artifacts=tuple(artifacts))
    note_replaced(folder, keep=keep)
    manifest = commit(folder, manifest, job.path)
    log.info("%s: upgraded to generation %d", folder, manifest.generation)
    sweep(folder, manifest)


# Documents


def _open_job(folder: Path, old: Format1) -> Job:
    """Take up a job that was broken off, if it was of the same state; else begin anew."""
    job = Job(folder, UPGRADE)
    if _read_plan(job, old) is None:
        shutil.rmtree(job.path, ignore_errors=True)
        job.path.mkdir()
        _write_plan(job, old, [], {})
    return job


def _read_plan(job: Job, old: Format1) -> tuple[list[SegmentEntry], Types] | None:
    try:
        plan = orjson.loads((job.path / PLAN).read_bytes())
        manifest = parse_manifest(orjson.dumps(plan["manifest"]), job.path / PLAN)
        if plan["of"] != old.crc:
            return None
        for entry in manifest.segments:
            Segment(entry, job.path.joinpath).check()
        return list(manifest.segments), known_types(manifest.fields)
    except (OSError, ValueError, KeyError, TypeError, CollectionError):
        return None


def _write_plan(job: Job, old: Format1, segments: list[SegmentEntry], types: Types) -> None:
    state, _ = format_manifest(Manifest(old.analysis, fields=types, segments=tuple(segments)))
    plan = {"job": "upgrade", "of": old.crc, "manifest": orjson.loads(state)}
    write_bytes(job.path / "plan.new", orjson.dumps(plan))
    (job.path / "plan.new").replace(job.path / PLAN)


def _build(
    old: Format1, job: Job, resources: Resources, progress: Progress | None
) -> tuple[list[SegmentEntry], Types]:
    """Analyse the documents, segment by segment; finished ones are noted in the plan."""
    segments, types = _read_plan(job, old) or ([], {})
    sealed = [Segment(entry, job.path.joinpath) for entry in segments]
    terms = StringTable()
    if not sealed:
        terms.intern(old.terms())
    n_taken = sum(entry.n_docs for entry in segments)
    first = sum(entry.n_terms for entry in segments)

    def known(keys: Strings) -> Ints:
        out = terms.find(keys)
        for segment in sealed:
            out = np.maximum(out, segment.find_terms(keys))
        return out

    n_old = len(terms)
    cached = resources.for_chunks
    lexicon = Lexicon(Analyzer(old.analysis), known, first + n_old, cached=cached)
    builder: SegmentBuilder | None = None

    def seal() -> None:
        nonlocal builder, terms, types
        assert builder is not None
        # The first segment has all terms of old, whoever used them first.
        mine = Strings.joined([terms.strings, lexicon.take_new()])
        segments.append(builder.seal(mine, resources))
        sealed.append(Segment(segments[-1], job.path.joinpath))
        terms, types, builder = StringTable(), builder.types, None
        _write_plan(job, old, segments, types)

    batches: Iterator[PreparedBatch] = prepare(old.documents(n_taken), resources, lexicon.analyzer)
    try:
        for batch in batches:
            if builder is not None and builder.is_full(lexicon.terms.strings):
                seal()
            if builder is None:
                start = sum(entry.n_terms for entry in segments)
                builder = SegmentBuilder(job, first_term=start, types=types)
            ids = Strings.of([encode(document.id) for document in batch.documents])
            builder.add(batch, ids, lexicon)
            if progress is not None:
                progress(ids.size)
        if builder is None and not segments:
            builder = SegmentBuilder(job, first_term=0)
        if builder is not None:
            seal()
    except BaseException:
        if builder is not None:
            builder.abandon()
        raise
    return segments, types


def _check(old: Format1, snapshot: Snapshot) -> None:
    """Raise unless the new documents are the old ones: ids in order, and numbers of terms."""
    live = np.arange(snapshot.n_slots)
    ids = (document.id for document in old.documents())
    same = all(a == b for a, b in zip(ids, snapshot.doc_ids(live), strict=True))
    if not same or not np.array_equal(old.lengths(), snapshot.lengths(live)):
        raise CollectionError(
            f"{old.folder}: the upgraded documents are not the old ones, which stay as they are"
        )


# What was fitted


def _root(old: Format1, fitted: Fitted, job: Job) -> Artifact:
    """Carry a model or a graph over as arrays."""
    arrays, about = _CARRIED[fitted.kind](fitted)
    kind = "graph" if fitted.kind == "graph" else "model"
    if kind == "model":
        about["words"] = stored_words(old.n_docs)
        for name in ("weights", "fitness"):
            noted = old.noted(name, fitted.folder)
            if noted is not None:
                about[name] = dict(noted)
    return put_root(job, kind, fitted.name, arrays, about)


def _defaults(roots: list[Artifact]) -> dict[str, str]:
    """Choose what answered before: the model fitted last, and of kernel models the one "klsa"."""
    like = [root.name for root in roots if root.about.get("role") == LIKE]
    smooth = [root.name for root in roots if root.about.get("role") == SMOOTH]
    defaults = {LIKE: like[-1]} if like else {}
    if smooth:
        defaults[SMOOTH] = "klsa" if "klsa" in smooth else smooth[-1]
    return defaults


Carried = tuple[dict[str, NDArray[Any]], dict[str, Any]]
_VOCABULARY = {"vocabulary": "vocabulary", "vocabulary.doc-freqs": "vocabulary-doc-freqs"}


def _topics(fitted: Fitted) -> Carried:
    found = fitted.arrays
    arrays = {new: found[name] for new, name in _VOCABULARY.items()}
    arrays |= {name: found[name] for name in ("background", "alpha", "gamma")}
    arrays["word-topics"] = found["word-topics"].reshape(len(found["vocabulary"]), -1)
    return arrays, _about(fitted, "topics", "n_docs", "betas", "switch", "labels")


def _subspace(fitted: Fitted) -> Carried:
    found = fitted.arrays
    arrays = {new: found[name] for new, name in _VOCABULARY.items()}
    arrays |= {"values": found["values"]}
    arrays["basis"] = found["basis"].reshape(len(found["vocabulary"]), -1)
    about = _about(fitted, "subspace", "n_docs", "weighting", "average_length")
    return arrays, about | {"power": fitted.about.get("power", 1.0)}


def _vectors(fitted: Fitted) -> Carried:
    arrays, about = _subspace(fitted)
    found, width = fitted.arrays, len(fitted.arrays["centre"])
    arrays |= {"centre": found["centre"], "turn": found["turn"].reshape(-1, width)}
    arrays |= {"kept.keys": found["vector-keys"], "kept.scales": found["vector-scales"]}
    arrays["kept.codes"] = found["vector-codes"].reshape(-1, width)
    more = _about(fitted, "vectors", "trust", "blend", "weight")
    return arrays, about | more


def _kernel(fitted: Fitted) -> Carried:
    found, width = fitted.arrays, len(fitted.arrays["values"])
    arrays = {"values": found["values"], "basis": found["basis"].reshape(-1, width)}
    if fitted.about["kind"] == "given":
        arrays |= {"kept.keys": found["keys"], "kept.scales": found["scales"]}
        arrays["kept.codes"] = found["codes"].reshape(-1, width)
        return arrays, _about(fitted, "klsa-given", "field", role=SMOOTH)
    arrays |= {new: found[name] for new, name in _VOCABULARY.items()}
    arrays["shares"] = found["shares"]
    names = ("n_docs", "average_length", "kernel")
    return arrays, _about(fitted, "klsa", *names, role=SMOOTH)


def _graph(fitted: Fitted) -> Carried:
    about = {name: value for name, value in fitted.about.items() if name != "format"}
    merged = [name for pair in about.pop("merged") for name in pair]
    arrays = {name.replace("-", ".", 1): values for name, values in fitted.arrays.items()}
    if "names" in arrays:
        for name, texts in (("left-out", about["left_out"]), ("merged", merged)):
            arrays[name], arrays[f"{name}.offsets"] = Strings.of([encode(text) for text in texts])
    del about["left_out"]
    return arrays, about


def _about(fitted: Fitted, kind: str, *names: str, role: str = LIKE) -> dict[str, Any]:
    about: dict[str, Any] = {name: fitted.about[name] for name in names}
    about |= {name: fitted.about[name] for name in ("settings", "history")}
    return about | {"type": kind, "role": role}


_CARRIED: Mapping[str, Callable[[Fitted], Carried]] = {
    "topics": _topics,
    "subspace": _subspace,
    "vectors": _vectors,
    "kernel": _kernel,
    "graph": _graph,
}

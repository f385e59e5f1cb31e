"""What a collection is, in plain values: sizes, fields, what was derived, who still reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from likewise.collection.generations import older_generations, unfinished_jobs
from likewise.collection.locks import is_local
from likewise.collection.manifest import VERSION, Artifact
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import EXACT, TITLE
from likewise.derived.store import listed
from likewise.engine.models import ROLES

if TYPE_CHECKING:
    from likewise.like.drift import Drift


def describe(s: Snapshot, drift: Sequence[Drift]) -> dict[str, Any]:
    """Describe a collection."""
    roots = [one for one in s.manifest.artifacts if not one.inputs]
    by_role = {role: [a.name for a in roots if a.about.get("role") == role] for role in ROLES}
    return {
        "folder": str(s.folder),
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
        "drift": [one.to_json() for one in drift],
        "analysis": s.analysis.to_json(),
        "leases": s.lease.held and is_local(s.folder),
        "older_generations": [
            {"generation": generation, "in_use": readers is not None, "readers": readers or []}
            for generation, readers in older_generations(s.folder)
        ],
        "unfinished": unfinished_jobs(s.folder),
    }


def _bytes_by_kind(snapshot: Snapshot) -> dict[str, int]:
    """Give how large the files of each kind are: texts, arrays for words, what was derived.

    Fields of words beside the main one are told apart.
    """
    sizes: Counter[str] = Counter()
    for entry in snapshot.manifest.files():
        sizes[entry.file.partition("-")[0]] += entry.size
    for pack in (segment.packs[0] for segment in snapshot.segments):
        for field, kind in ((TITLE, "titles"), (EXACT, "exact")):
            n_bytes = sum(pack.n_bytes(name) for name in pack.names if name.startswith(field))
            sizes["index"] -= n_bytes
            sizes[kind] += n_bytes
    return {kind: n_bytes for kind, n_bytes in sizes.items() if n_bytes}


def _kept_of_documents(roots: Iterable[Artifact]) -> list[str]:
    """Say what of documents persists in models, whatever is deleted."""
    said = []
    for root in roots:
        if root.kind == "model":
            said.append(f"{root.name}: what it learnt of all documents that it was fitted on")
        elif root.kind == "graph":
            said.append(f"{root.name}: the words or names of all documents that it was made of")
    return said

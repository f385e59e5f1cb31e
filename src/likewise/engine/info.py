"""What a collection is, in plain values: sizes, fields, what was derived, who still reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.dates import write_date
from likewise.collection.generations import older_generations, unfinished_jobs
from likewise.collection.locks import is_local
from likewise.collection.manifest import VERSION, Artifact
from likewise.collection.schema import FieldType
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
        "not_stored": not_stored(s),
        "analysis_revision": s.manifest.analysis_revision,
        "outdated": s.manifest.outdated,
        "derived": [row._asdict() for row in listed(s)],
        "languages": s.language_counts(),
        "fields": {name: _describe_field(s, name) for name in s.field_types},
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


def _describe_field(s: Snapshot, name: str) -> dict[str, Any]:
    """Describe a field of the live documents: its type, how many have it, its range or a value."""
    kind = s.field_types[name]
    n_docs = n_values = n_texts = 0
    ends: list[Any] = []
    common = (0, "")
    for segment in s.segments:
        fields, live = segment.fields, segment.live
        values, docs = fields.dates(name) if kind.is_date else fields.numbers(name)
        here, held = values[live[docs]], live[fields.texts(name)[1]]
        n_docs += int(np.count_nonzero(fields.present(name) & live))
        n_values += len(here) + int(np.count_nonzero(live[fields.unseen(name)]))
        n_texts += int(np.count_nonzero(held))
        ends += here[[0, -1]].tolist() if len(here) else []
        common = max(common, fields.common_text(name, live), key=lambda one: one[0])
    write = write_date if kind.is_date else bool if kind is FieldType.BOOLEAN else _number
    is_text = kind is FieldType.TEXT
    return {
        "type": str(kind),
        "documents": n_docs,
        "lists": n_values + n_texts > n_docs,
        "range": [write(end) for end in (min(ends), max(ends))] if ends and not is_text else [],
        "as_text": 0 if is_text else n_texts,
        "example": common[1],
    }


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value


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


def not_stored(s: Snapshot) -> list[str]:
    """Name what `index` stores of words by default and not all documents have: bytes by kind."""
    there = {
        "positions": s.has_positions,
        "titles": s.has_field(TITLE),
        "exact": s.has_field(EXACT),
    }
    return [kind for kind, has in there.items() if not has]


def _kept_of_documents(roots: Iterable[Artifact]) -> list[str]:
    """Say what of documents persists in models, whatever is deleted."""
    said = []
    for root in roots:
        if root.kind == "model":
            said.append(f"{root.name}: what it learnt of all documents that it was fitted on")
        elif root.kind == "graph":
            said.append(f"{root.name}: the words or names of all documents that it was made of")
    return said

"""What was derived from a snapshot: loaded once, and computed in memory where it is not stored."""

from __future__ import annotations

from typing import Any, NamedTuple

from likewise import registry
from likewise.collection.arrays import Arrays, Memory
from likewise.collection.manifest import Artifact
from likewise.collection.snapshot import Snapshot
from likewise.derived.kind import Inputs, Kind, Scope
from likewise.errors import FormatError, UsageError
from likewise.forking import Lock

Key = tuple[str, str, tuple[str, ...]]


class Row(NamedTuple):
    """What `info` tells of the artifacts of a kind and name."""

    kind: str
    name: str
    segments: int
    n_bytes: int
    known: bool


class Derived:
    """The artifacts of a snapshot; safe to use from several threads.

    `before` is that of another generation: what is the same there is not loaded again.
    """

    def __init__(self, snapshot: Snapshot, before: Derived | None = None) -> None:
        self.snapshot = snapshot
        self.artifacts: dict[Key, Artifact] = {}
        self._loaded: dict[Key, Any] = {}
        self._loading: dict[Key, Lock] = {}
        self._lock = Lock()
        for artifact in snapshot.manifest.artifacts:
            self.add(artifact)
        if before is not None:
            roots = {a.id for a in self.artifacts.values() if not a.inputs}
            segments = {segment.entry.id for segment in snapshot.segments}
            # A copy: another thread may be loading more of the one before.
            for (kind, name, inputs), value in [*before._loaded.items()]:
                mine = self.artifacts.get((kind, name, inputs))
                same = mine is not None and mine == before.artifacts.get((kind, name, inputs))
                computed = mine is None and inputs and {*inputs} <= roots | segments
                if same or computed:
                    self._loaded[kind, name, inputs] = value

    def add(self, artifact: Artifact) -> None:
        """Take note of an artifact; of one kind and inputs the last counts."""
        kind = kind_of(artifact.kind)
        if kind is not None and (artifact.version == kind.version or kind.scope is Scope.ROOT):
            self.artifacts[artifact.kind, artifact.name, artifact.inputs] = artifact

    def replace(self, artifact: Artifact) -> None:
        """Take note of another state of an artifact."""
        self.add(artifact)
        self._loaded.pop((artifact.kind, artifact.name, artifact.inputs), None)

    # Roots

    def roots(self, kind: str) -> list[Artifact]:
        """List the roots of a kind, in the order in which they were made."""
        return [a for a in self.snapshot.manifest.artifacts if a.kind == kind]

    def find(self, kind: str, name: str) -> Artifact:
        """Find a root by name, or raise."""
        for artifact in self.roots(kind):
            if artifact.name == name:
                return artifact
        known = ", ".join(artifact.name for artifact in self.roots(kind)) or "none"
        raise UsageError(f"no {kind} {name!r} in {self.snapshot.folder}; there is {known}")

    def root(self, kind: str, name: str) -> Any:
        """Load a root."""
        artifact = self.find(kind, name)
        known = _kind(kind)
        if artifact.version != known.version:
            raise FormatError(
                f"{self.snapshot.folder}: {kind} {name!r} was written by another version of "
                f"likewise; {known.remedy}"
            )
        return self._load((kind, name, artifact.inputs), Inputs(self, name))

    # What is computed

    def key(self, kind: str, name: str, segment: int = -1) -> Key:
        """Name what an artifact is computed from."""
        known = _kind(kind)
        inputs = [self.find(known.root, name).id]
        segments = self.snapshot.manifest.segments
        for entry in segments if known.scope is Scope.WHOLE else [segments[segment]]:
            inputs.append(entry.id)
            if known.sees_deletions and entry.deleted is not None:
                inputs.append(entry.deleted.id)
        return kind, name, tuple(inputs)

    def of_segment(self, kind: str, name: str, segment: int, *, threads: int = 1) -> Any:
        """Give what a kind has for a segment: stored, else computed now."""
        return self._load(self.key(kind, name, segment), Inputs(self, name, segment, threads))

    def stored(self, kind: str, name: str, segment: int = -1) -> Any | None:
        """Give what is stored of a kind, for a segment or the whole; None where nothing is."""
        key = self.key(kind, name, segment)
        if key not in self.artifacts:
            return None
        return self._load(key, Inputs(self, name, segment))

    def is_stored(self, kind: str, name: str, segment: int = -1) -> bool:
        """Tell whether it is stored."""
        return self.key(kind, name, segment) in self.artifacts

    def arrays(self, artifact: Artifact) -> Arrays:
        """Give the arrays of an artifact."""
        return Memory() if artifact.pack is None else self.snapshot.pack(artifact.pack)

    def _load(self, key: Key, inputs: Inputs) -> Any:
        if key in self._loaded:
            return self._loaded[key]
        with self._lock:
            mine = self._loading.setdefault(key, Lock())
        with mine:
            if key not in self._loaded:
                self._loaded[key] = self._make(key, inputs)
            return self._loaded[key]

    def _make(self, key: Key, inputs: Inputs) -> Any:
        kind, artifact = _kind(key[0]), self.artifacts.get(key)
        if artifact is not None:
            return kind.load(self.arrays(artifact), artifact.about, inputs)
        memory = Memory()
        kind.compute(inputs, memory)
        return kind.load(memory, {}, inputs)


def listed(snapshot: Snapshot) -> list[Row]:
    """List what was derived, by kind and name; kinds that are not known are told as such."""
    rows: dict[tuple[str, str], Row] = {}
    for artifact in snapshot.manifest.artifacts:
        key = artifact.kind, artifact.name
        row = rows.get(key, Row(*key, 0, 0, artifact.kind in registry.KINDS))
        size = artifact.pack.size if artifact.pack else 0
        rows[key] = row._replace(
            segments=row.segments + len(artifact.inputs[1:]), n_bytes=row.n_bytes + size
        )
    return list(rows.values())


def derived_of(snapshot: Snapshot) -> Derived:
    """Give what was derived from a snapshot."""
    return snapshot.memo("derived", lambda: Derived(snapshot))


def carry_over(before: Snapshot, after: Snapshot) -> None:
    """Let a new snapshot have what is loaded of the one before and is still valid."""
    known: Derived | None = before.made("derived")
    if known is not None:
        after.memo("derived", lambda: Derived(after, known))


def kind_of(name: str) -> Kind | None:
    """Give a kind by name; None for one of a later version, or of a package that is not there."""
    return registry.look_up(registry.KINDS, name) if name in registry.KINDS else None


def _kind(name: str) -> Kind:
    kind: Kind = registry.look_up(registry.KINDS, name)
    return kind


def kinds_of(root: str) -> list[Kind]:
    """List the kinds that are computed from a kind of root, in the order of their needs."""
    return [_kind(name) for name in registry.COMPUTED.get(root, ())]

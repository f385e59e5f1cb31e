"""What a kind of derived data has to say: what it is computed from, how it is kept, and joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Ints
from likewise.records import Document

if TYPE_CHECKING:
    from likewise.collection.snapshot import Snapshot
    from likewise.derived.store import Derived

Progress = Callable[[int], None]


class Scope(StrEnum):
    """What an artifact of a kind stands for."""

    ROOT = "root"  # fitted or given by the user: made on request, replaced and dropped by name
    SEGMENT = "segment"  # one for each segment
    WHOLE = "whole"  # one over all segments


@dataclass(frozen=True)
class Inputs:
    """What an artifact is computed from; nothing else may be looked at."""

    derived: Derived
    name: str
    segment: int = -1
    threads: int = 1
    progress: Progress | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The documents."""
        return self.derived.snapshot

    def docs(self) -> Ints:
        """The numbers of the segment's documents."""
        bases = self.snapshot.bases
        return np.arange(bases[self.segment], bases[self.segment + 1])

    def needed(self, kind: str) -> Any:
        """What another kind has for the same name and segment."""
        return self.derived.of_segment(kind, self.name, self.segment)


class Kind:
    """A kind of derived data; `compute` and `load` are pure.

    The same inputs give the same bits on any machine, with any number of threads, in any batch:
    what is joined or was stored equals what would be computed.
    """

    name: ClassVar[str]
    # Of another version an artifact counts as missing; a root has to be fitted again.
    version: ClassVar[int] = 1
    scope: ClassVar[Scope]
    # The kind of its root, whose name it bears; "" for roots.
    root: ClassVar[str] = ""
    # Its inputs include the deletions: it is no longer valid after one, and made again when
    # documents are added or merged.
    sees_deletions: ClassVar[bool] = False
    # A root keeps something of texts, not of ids: of a document that was replaced as well.
    keeps_texts: ClassVar[bool] = False
    # What to do about a root of another version.
    remedy: ClassVar[str] = "fit it again"

    def compute(self, inputs: Inputs, out: Output) -> bool | None:
        """Work it out; False where nothing came of it. Roots are written by whoever made them."""
        raise NotImplementedError

    def load(self, arrays: Arrays, about: Mapping[str, Any], inputs: Inputs) -> Any:
        """Give it as it is used, or raise DamagedError unless all fits."""
        raise NotImplementedError

    def due(self, inputs: Inputs, *, adding: bool) -> bool:
        """Whether it is stored where it is missing; else it is computed when asked for, or not."""
        return True

    def join(
        self, parts: Sequence[Arrays], rows: Sequence[Ints], inputs: Inputs, out: Output
    ) -> bool:
        """Make that of a merged segment of those it was made from; False where it is computed.

        `rows` are the documents of each that are left.
        """
        return False

    def forget(self, root: Any, gone: Iterable[Document], inputs: Inputs) -> Any | None:
        """Give a root without what it keeps of documents that are gone; None where nothing is.

        `inputs` has the documents that are there now.
        """
        return None

"""Short queries through one stage, long ones, which are documents themselves, through another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from likewise.collection.snapshot import Snapshot
from likewise.errors import UsageError
from likewise.records import Query
from likewise.stages.fusion import Fuse
from likewise.stages.stage import Chain, Context, Result, Stage


@dataclass(frozen=True)
class ByLength(Stage):
    """Answer queries of up to `least` distinct terms by `short`, of `most` or more by `long`.

    Between the two both answer, and their scores are fused: the share of `long` grows evenly from
    nothing to all, so that one word more changes little.
    """

    short: Stage
    long: Stage
    least: int = 20
    most: int = 60
    notation: ClassVar[str] = "by-length"

    def __post_init__(self) -> None:
        if not 0 <= self.least < self.most:
            raise UsageError(
                f"{self.notation}: least must be at least 0 and below most, not {self.least} and "
                f"{self.most}"
            )

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Answer the queries of each length by what serves for it."""
        by_share: dict[float, list[int]] = {}
        for i, result in enumerate(batch):
            # Documents in hand are as long as they come.
            n = self.most if result.query.like else n_terms(result.query, context.snapshot)
            share = self.share(n)
            by_share.setdefault(share, []).append(i)
        out = list[Result](batch)
        for share, places in by_share.items():
            stage = self.stage(share)
            found = Chain(stage.steps).run([batch[i] for i in places], context)
            for i, result in zip(places, found, strict=True):
                out[i] = result
        return out

    def depth(self, k: int, *, log: bool) -> int:
        """As deep as either of them reads."""
        return max(self.short.depth(k, log=log), self.long.depth(k, log=log))

    def share(self, n: int) -> float:
        """Give the share of `long` for a query of so many terms."""
        return min(max((n - self.least) / (self.most - self.least), 0.0), 1.0)

    def stage(self, share: float) -> Stage:
        """Give what answers queries where `long` has this share."""
        if share in (0.0, 1.0):
            return self.long if share else self.short
        return Fuse.of((self.short, self.long), weights=(1 - share, share))

    def __str__(self) -> str:
        return f"{self.notation}({self.short}, {self.long}, least={self.least}, most={self.most})"


def n_terms(query: Query, snapshot: Snapshot) -> int:
    """Count the distinct terms of a query."""
    if query.terms is not None:
        return len(query.terms)
    return len(set(snapshot.analyzer.terms(query.text)))

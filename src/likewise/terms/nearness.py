"""How is nearness measured on a graph of terms?"""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import ClassVar

from likewise import notation
from likewise.errors import UsageError
from likewise.terms.kernel import ROUTES
from likewise.terms.laplacian import KINDS
from likewise.terms.sets import PLACEMENTS
from likewise.terms.transforms import Transform, parse_transform
from likewise.terms.weights import WEIGHTINGS

_MOST_DAMPING = 1e6
_KINDS = {"str": (str, "a text"), "int": (Integral, "a whole number"), "float": (Real, "a number")}


@dataclass(frozen=True)
class Nearness:
    """How nearness is measured on a graph.

    `weights` of edges and the `least` count that makes one (see `weights.weigh`); the `laplacian`,
    to whose degrees a normalised one adds `damping` times their mean; the `kernel` on it (see
    `transforms`); how `sets` are taken (see `sets`). `by` is what terms are ranked by: the kernel
    itself (similarity), or the distance, in which frequent terms are near to everything and rare
    ones to nothing; without a word, similarity on the normalised Laplacian and distance on the
    other.
    """

    kernel: str = "resistance"
    laplacian: str = "normalised"
    damping: float = 1.0
    weights: str = "idf"
    least: int = 1
    sets: str = "mean"
    by: str = ""
    route: str = "auto"
    notation: ClassVar[str] = "nearness"

    def __post_init__(self) -> None:
        for each in fields(self):
            value, (kind, called) = getattr(self, each.name), _KINDS[str(each.type)]
            # True is a whole number to Python.
            if not isinstance(value, kind) or isinstance(value, bool):
                raise UsageError(
                    f"{each.name} is {called}, not {value!r} ({type(value).__name__}); without a "
                    f"word it is {each.default!r}"
                )
        self.transform.check(self.laplacian)
        for name, allowed in (
            ("laplacian", KINDS),
            ("weights", WEIGHTINGS),
            ("sets", PLACEMENTS),
            ("by", ("", "similarity", "distance")),
            ("route", ROUTES),
        ):
            if getattr(self, name) not in allowed:
                shown = ", ".join(filter(None, allowed))
                raise UsageError(f"{name} is one of {shown}, not {getattr(self, name)!r}")
        if not 0 <= self.damping <= _MOST_DAMPING:
            raise UsageError(f"damping is a number from 0 to {_MOST_DAMPING:g}, not {self.damping}")
        if self.least < 1:
            raise UsageError(f"least is a number of documents, at least 1, not {self.least}")

    def __str__(self) -> str:
        return notation.write(self)

    @property
    def transform(self) -> Transform:
        """The kernel's function of eigenvalues."""
        return parse_transform(self.kernel)

    @property
    def has_usual_edges(self) -> bool:
        """Whether edges and Laplacian are those that large graphs are kept ready for."""
        usual = Nearness()
        return (self.weights, self.least, self.laplacian, self.damping) == (
            usual.weights,
            usual.least,
            usual.laplacian,
            usual.damping,
        )

    @property
    def by_distance(self) -> bool:
        """Whether terms are ranked by distance."""
        return (self.by or ("similarity", "distance")[self.laplacian != KINDS[0]]) != ("similarity")

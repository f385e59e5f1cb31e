"""Which expander is meant?"""

from __future__ import annotations

from likewise import notation
from likewise.expand.expander import Expander
from likewise.expand.feedback import KL, RM1, RM3, Bo1, Rocchio
from likewise.expand.ranked import RankedRM
from likewise.expand.robust import Robust

EXPANDERS: dict[str, type[Expander]] = {
    "bo1": Bo1,
    "kl": KL,
    "rm1": RM1,
    "rm3": RM3,
    "robust": Robust,
    "rocchio": Rocchio,
    "rrm": RankedRM,
}


def read_expander(text: str) -> Expander:
    """Read an expander as it is written: `rm3`, `bo1(docs=5)`, `robust(similarity=jaccard)`."""
    how: Expander = notation.read(text, EXPANDERS, what="expander")
    return how

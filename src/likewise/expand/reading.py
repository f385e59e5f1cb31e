"""Which expander is meant?"""

from __future__ import annotations

from likewise import notation
from likewise.errors import UsageError
from likewise.expand.expander import Expander
from likewise.expand.feedback import KL, RM1, RM3, Bo1, Rocchio
from likewise.expand.graph import Associated
from likewise.expand.ranked import RankedRM
from likewise.expand.robust import Robust
from likewise.expand.similarity import SIMILARITIES

EXPANDERS: dict[str, type[Expander]] = {
    "bo1": Bo1,
    "graph": Associated,
    "kl": KL,
    "rm1": RM1,
    "rm3": RM3,
    "robust": Robust,
    "rocchio": Rocchio,
    "rrm": RankedRM,
}


def read_expander(how: str | Expander) -> Expander:
    """Read an expander as it is written: `rm3`, `bo1(docs=5)`, `robust(similarity=jaccard)`.

    One that is an expander already stays as it is.
    """
    if isinstance(how, str):
        named = how.strip().lower()
        if named in SIMILARITIES and named not in EXPANDERS:
            raise UsageError(f"{named} is a similarity of words: write robust(similarity={named})")
        read: Expander = notation.read(how, EXPANDERS, what="expander")
        return read
    if isinstance(how, type) or not all(hasattr(how, name) for name in ("depth", "at", "grow")):
        raise UsageError(
            f"{how!r} is no expander: give a name ({', '.join(EXPANDERS)}), or an object with "
            "depth, at and grow"
        )
    return how

"""Which expander is meant?"""

from __future__ import annotations

from likewise import notation, registry
from likewise.errors import UsageError, WrongType
from likewise.expand.expander import Expander
from likewise.expand.similarity import SIMILARITIES

EXPANDERS = registry.Table(registry.EXPANDERS, groups=("likewise.expand",))


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
    if not isinstance(how, Expander):
        raise WrongType(
            f"{how!r} is no expander: give a name ({', '.join(EXPANDERS)}), or a subclass of "
            "likewise.expand.Expander"
        )
    return how

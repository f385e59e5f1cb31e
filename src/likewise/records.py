"""The nouns that pass between the rooms: documents, queries, rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Document(NamedTuple):
    """What every source gives: `fields` is the metadata, `place` where it was read (file:line)."""

    id: str
    title: str = ""
    text: str = ""
    fields: Mapping[str, Any] = {}
    place: str = ""


class Expansion(NamedTuple):
    """What was made of a query: how, and from which terms.

    `left` says why a query was left alone, `note` what was done otherwise than asked for.
    """

    method: str
    before: Mapping[str, float]
    left: str = ""
    note: str = ""


class Ranking(NamedTuple):
    """The answer to a query: internal `docs`, best first, ties by `doc` ascending."""

    docs: NDArray[np.int64]
    scores: NDArray[np.float64]


class Query(NamedTuple):
    """A question: its text, or (where an earlier stage or the user chose them) weighted terms.

    `terms` are analysed terms, as the collection stores them; where given they replace the text.
    `expansion` tells where terms come from that the user did not give, and `ranked` is the ranking
    that was smoothed.
    """

    qid: str
    text: str = ""
    terms: Mapping[str, float] | None = None
    expansion: Expansion | None = None
    ranked: Ranking | None = None

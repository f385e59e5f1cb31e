"""What do results come to? Plain values, for a JSON file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import orjson

from likewise import __version__
from likewise_papers.experiment import SEVERAL, VERDICTS
from likewise_papers.running import Done

FORMAT = 2
_LISTS = ("claims", "tables", "drawings")


def summary(
    done: Sequence[Done],
    *,
    quick: bool,
    data: Mapping[str, str],
    left_out: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Give all results as plain values; `data` are collections' hashes by name.

    `left_out` are collections that nothing could be asked of, with the reason. Claims, tables and
    drawings are lists of their own, each with its paper and experiment.
    """
    values = [one.to_json() for one in done]
    out: dict[str, Any] = {
        "format": FORMAT,
        "likewise": __version__,
        "quick": quick,
        "data": dict(data),
        "left_out": dict(left_out or {}),
        "seconds": round(sum(one["seconds"] for one in values), 1),
        "verdicts": {
            whose: {
                verdict: sum(
                    claim["verdict"] == verdict and claim["ours"] is ours
                    for one in values
                    for claim in one["claims"]
                )
                for verdict in VERDICTS
            }
            for whose, ours in (("published", False), ("ours", True))
        },
        "papers": [
            {
                "name": paper.name,
                "title": paper.title,
                "source": paper.source,
                "about": paper.about,
                "experiments": [
                    {name: v for name, v in one.to_json().items() if name not in ("paper", *_LISTS)}
                    for one in some
                ],
            }
            for paper, some in groupby(done, key=lambda one: one.paper)
        ],
    }
    for name in _LISTS:
        out[name] = [
            {"paper": one["paper"], "experiment": one["experiment"], "where": one["where"], **item}
            for one in values
            for item in one[name]
        ]
    return out


def tallied(verdicts: Mapping[str, int]) -> str:
    """Say how many claims hold, do not, or cannot be tested."""
    return ", ".join(f"{n} {SEVERAL[verdict]}" for verdict, n in verdicts.items())


def to_bytes(values: Mapping[str, Any]) -> bytes:
    """Write a summary as the JSON of a file; what is not a number becomes null."""
    flags = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(values, option=flags)

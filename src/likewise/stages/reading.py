"""Which stage is meant? Stages as they are written: `fuse(bm25, ql, method=mnz) >> cut(100)`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from likewise import notation, registry
from likewise.errors import UsageError, WrongType
from likewise.records import Filter
from likewise.stages.by_length import ByLength
from likewise.stages.fusion import Fuse
from likewise.stages.stage import Chain, Cut, Stage, Where

STAGES = registry.Table(
    registry.SEARCHES,
    registry.EXPANDERS,
    registry.SMOOTHINGS,
    registry.PLACES,
    groups=("likewise.search", "likewise.expand", "likewise.smooth"),
)


def read_stage(text: str, *, what: str = "method") -> Stage:
    """Read a stage or a pipeline of stages; `what` names it in messages."""
    if not isinstance(text, str):
        raise WrongType.of(text, f"a {what} is a text such as 'bm25 >> rm3 >> bm25'")
    return _read(text, what)


@lru_cache(maxsize=256)
def _read(text: str, what: str) -> Stage:
    """Read what was not read lately: stages are values, and who searches names the same ones."""
    pieces = notation.split(text, ">>")
    if pieces is None:
        raise UsageError(f"{what} {text!r} has parentheses that do not match: each ( needs its )")
    stages = [_read_one(piece, what) for piece in pieces]
    return stages[0] if len(stages) == 1 else Chain(tuple(one for s in stages for one in s.steps))


def _read_one(text: str, what: str) -> Stage:
    written = notation.name_and_inside(text)
    if written is not None and written[0] in _SPECIAL:
        name, inside = written
        return _SPECIAL[name](inside, what)
    stage: Stage = notation.read(text, STAGES, what=what)
    return stage


def _cut(inside: str, what: str) -> Stage:
    return Cut(notation.convert(inside.strip(), like=0, what="cut"))


def _where(inside: str, what: str) -> Stage:
    return Where(Filter.parse(inside))


def _fuse(inside: str, what: str) -> Stage:
    stages: list[Stage] = []
    options: dict[str, Any] = {}
    for piece in filter(None, map(str.strip, notation.split(inside) or [])):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if equals and key == "weights":
            options[key] = [
                notation.convert(one, like=0.0, what="fuse: weights") for one in value.split("|")
            ]
        elif equals and key == "depth":
            options[key] = notation.convert(value, like=0, what="fuse: depth")
        elif equals and key in ("method", "normalise"):
            options[key] = value
        else:
            stages.append(read_stage(piece, what=what))
    return Fuse.of(stages, **options)


def _by_length(inside: str, what: str) -> Stage:
    stages: list[Stage] = []
    options: dict[str, int] = {}
    for piece in filter(None, map(str.strip, notation.split(inside) or [])):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if equals and key in ("least", "most"):
            options[key] = notation.convert(value, like=0, what=f"by-length: {key}")
        else:
            stages.append(read_stage(piece, what=what))
    if len(stages) != 2:
        raise UsageError(
            f"by-length takes a stage for short queries and one for long ones, not {len(stages)}"
        )
    short, long = stages
    return ByLength(short, long, **options)


_SPECIAL = {"by-length": _by_length, "cut": _cut, "where": _where, "fuse": _fuse}

# As it is called from outside: `likewise.stage("bm25 >> klsa")`.
stage = read_stage

"""The measures of a run, computed by ir_measures.

A document is relevant from grade 1 up (`AP(rel=2)` asks for more), and nDCG takes the grade as
gain; grades below 0 count as 0. Documents are ranked as the run has them, ties included, where
trec_eval would order equal scores by document id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.arguments import check_kind
from likewise.errors import UsageError, WrongType
from likewise.evaluate.trec import MAX_GRADE, Qrels, Run

if TYPE_CHECKING:
    from ir_measures import Measure

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "R@1000")

_ALLOWED = (
    "measures are written as by ir_measures: AP, nDCG@10, P@10, R@1000, RR, Rprec, Bpref, "
    "Success@10, Judged@10, or with parameters AP(rel=2), nDCG(dcg='exp-log2')@10"
)
_MEASURE = re.compile(r"(?P<name>\w+)(?:\((?P<params>[^()]*)\))?(?:@(?P<at>[0-9.]+))?")
_PARAM = re.compile(
    r"\s*(?P<key>\w+)\s*=\s*"
    r"(?P<value>'[\w-]*'|\"[\w-]*\"|\{[^{}]*\}|True|False|[0-9.]+)\s*(?:,|$)"
)
_GAIN = re.compile(r"\s*(-?[0-9]{1,4})\s*:\s*(-?[0-9]{1,4})\s*(?:,|$)")
_ONE_OF_SEVERAL = re.compile(r"[^\s,(]+(?:\([^)]*\)[^\s,]*)?")
_LONGEST = 200
_DEEPEST = 1_000_000


@dataclass(frozen=True, eq=False)
class Scores:
    """The values of a run: `values[i, j]` is measure `i` on query `j`.

    The queries are those with a document judged relevant, in the order of the judgements; those
    the run does not answer (`absent`) count as 0. `left_out` counts the run's other queries.
    """

    run: str
    measures: tuple[str, ...]
    qids: tuple[str, ...]
    values: NDArray[np.float64]
    absent: int
    left_out: int

    @property
    def means(self) -> dict[str, float]:
        """The mean of each measure over the queries."""
        return dict(zip(self.measures, self.values.mean(axis=1).tolist(), strict=True))

    def __getitem__(self, measure: str) -> NDArray[np.float64]:
        if measure not in self.measures:
            raise UsageError(f"{measure!r} was not measured; there is {', '.join(self.measures)}")
        row: NDArray[np.float64] = self.values[self.measures.index(measure)]
        return row

    def __str__(self) -> str:
        shown = ", ".join(f"{measure} {mean:.4f}" for measure, mean in self.means.items())
        return f"{self.run}: {shown} ({len(self.qids)} queries)"


def evaluate(
    run: Run,
    qrels: Qrels,
    *,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
) -> Scores:
    """Measure a run against judgements.

    Queries without a document judged relevant are left out; judged queries that the run does not
    answer count as 0.
    """
    check_kind(run, Run, "a run is a Run, as read_run or Collection.run gives it")
    check_kind(qrels, Qrels, "judgements are Qrels, as read_qrels gives them")
    parsed = parse_measures(measures)
    qids = tuple(qid for qid in qrels if qrels.relevant(qid))
    if not qids:
        raise UsageError("the judgements name no relevant document (grade 1 or higher)")
    answered = [qid for qid in qids if run.get(qid)]
    if run and run.keys().isdisjoint(qids):
        raise UsageError(
            f"run {run.name!r} answers none of the judged queries: it has {_some(run)}, "
            f"the judgements have {_some(qids)}"
        )
    judged, ranked = _numbered(run, qrels, qids=qids)
    values = np.zeros((len(parsed), len(qids)))
    row = {repr(measure): i for i, measure in enumerate(parsed)}
    for metric in _calculated(parsed, judged, ranked):
        if not math.isnan(metric.value):
            values[row[repr(metric.measure)], int(metric.query_id)] = metric.value
    return Scores(
        run=run.name,
        measures=tuple(row),
        qids=qids,
        values=values,
        absent=len(qids) - len(answered),
        left_out=len(run.keys() - set(qids)),
    )


def parse_measures(given: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """The measures named, each once; a text may name several, separated by space or comma."""
    from ir_measures import DefaultPipeline, Measure

    if isinstance(given, str):
        given = _ONE_OF_SEVERAL.findall(given)
    elif isinstance(given, Measure):
        given = [given]
    elif not isinstance(given, Iterable):
        raise WrongType.of(given, f"measures are texts or those of ir_measures; {_ALLOWED}")
    parsed: dict[str, Measure] = {}
    for item in given:
        measure = item if isinstance(item, Measure) else _parsed(item)
        _check_params(measure)
        parsed.setdefault(repr(measure), measure)
    if not parsed:
        raise UsageError(f"no measure was named; {_ALLOWED}")
    for name, measure in parsed.items():
        supported: bool = DefaultPipeline.supports(measure)  # type: ignore[no-untyped-call]
        if not supported:
            raise UsageError(f"measure {name} needs a package that is not installed; {_ALLOWED}")
    return list(parsed.values())


def _parsed(text: object) -> Measure:
    # Not ir_measures.parse_measure: it evaluates with parts of `ast` that Python 3.14 removed.
    from ir_measures import measures

    match = (
        _MEASURE.fullmatch(text.strip()) if isinstance(text, str) and len(text) < _LONGEST else None
    )
    if match is None or match["name"] not in measures.registry:
        shown = text[:_LONGEST] if isinstance(text, str) else text
        raise UsageError(f"{shown!r} is not a measure; {_ALLOWED}")
    family = measures.registry[match["name"]]
    params = {key: _value(text, raw) for key, raw in _pairs(text, match["params"])}
    if match["at"] is not None:
        params[family.AT_PARAM] = _value(text, match["at"])
    for key, value in params.items():
        info = family.SUPPORTED_PARAMS.get(key)
        if info is not None and info.dtype is float and type(value) is int:
            params[key] = float(value)
    measure: Measure = family(**params)
    return measure


def _pairs(text: object, params: str | None) -> list[tuple[str, str]]:
    pairs, at = [], 0
    while params and at < len(params):
        match = _PARAM.match(params, at)
        if match is None:
            raise UsageError(f"{text!r} has parameters that cannot be read; {_ALLOWED}")
        pairs.append((match["key"], match["value"]))
        at = match.end()
    return pairs


def _value(text: object, raw: str) -> Any:
    if raw in ("True", "False"):
        return raw == "True"
    if raw[0] in "'\"":
        return raw[1:-1]
    if raw[0] == "{":
        gains, at = {}, 0
        while at < len(raw) - 2:
            match = _GAIN.match(raw, at + 1, len(raw) - 1)
            if match is None:
                break
            gains[int(match[1])] = int(match[2])
            at = match.end() - 1
        else:
            return gains
    else:
        try:
            return float(raw) if "." in raw else int(raw)
        except ValueError:
            pass
    raise UsageError(f"{text!r} has a parameter {raw!r} that cannot be read; {_ALLOWED}")


def _check_params(measure: Measure) -> None:
    """Refuse what the providers do not survive: trec_eval ends the process on a cutoff of 0."""
    supported = measure.SUPPORTED_PARAMS
    for key in (*measure.params, *supported):
        info = supported.get(key)
        if info is None:
            known = ", ".join(supported) or "none"
            raise UsageError(f"{measure.NAME} has no parameter {key!r} (it has: {known})")
        if key not in measure.params:
            if info.required:
                raise UsageError(f"{measure.NAME} needs {key!r}, as in {measure.NAME}({key}=10)")
            continue
        value = measure.params[key]
        valid: bool = info.validate(value)  # type: ignore[no-untyped-call]
        fits = valid and not (info.dtype is int and isinstance(value, bool))
        if not fits or not _within(key, value):
            raise UsageError(f"{measure.NAME} cannot have {key}={value!r}; {_ALLOWED}")


def _within(key: str, value: object) -> bool:
    if isinstance(value, bool | str):
        return True
    if isinstance(value, int):
        return 1 <= value <= (_DEEPEST if key == "cutoff" else MAX_GRADE) or (
            key == "min_rel" and value == 0
        )
    if isinstance(value, float):
        return 0 <= value <= (1 if key in ("recall", "p", "alpha") else 100)
    if isinstance(value, Mapping):
        return all(
            type(grade) is int and abs(grade) <= MAX_GRADE
            for pair in value.items()
            for grade in pair
        )
    return False


def _numbered(
    run: Run, qrels: Qrels, *, qids: tuple[str, ...]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgements and run with numbers for ids and ranks for scores.

    Providers end an id at a NUL, order equal scores by id, and read scores as 32-bit floats.
    """
    judged: dict[str, dict[str, int]] = {}
    ranked: dict[str, dict[str, float]] = {}
    for number, qid in enumerate(qids):
        alias = {doc_id: str(i) for i, doc_id in enumerate(qrels[qid])}
        judged[str(number)] = {alias[doc_id]: grade for doc_id, grade in qrels[qid].items()}
        ranking = run.get(qid)
        if ranking:
            depth = len(ranking)
            ranked[str(number)] = {
                alias.get(doc_id) or f"unjudged{rank}": float(depth - rank)
                for rank, (doc_id, _) in enumerate(ranking)
            }
    return judged, ranked


def _calculated(
    measures: list[Measure],
    judged: dict[str, dict[str, int]],
    ranked: dict[str, dict[str, float]],
) -> list[Any]:
    import ir_measures

    # Asked together, an nDCG without gains may be computed with the gains of another measure.
    alone = [[measure] for measure in measures if "gains" in measure.params]
    together = [measure for measure in measures if "gains" not in measure.params]
    metrics: list[Any] = []
    for group in (together, *alone):
        if group and ranked:
            try:
                metrics.extend(ir_measures.iter_calc(group, judged, ranked))
            except Exception as error:
                names = ", ".join(map(repr, group))
                raise UsageError(f"{names} could not be computed: {error}") from error
    return metrics


def _some(qids: Iterable[str]) -> str:
    names = list(qids)
    return ", ".join(map(repr, names[:3])) + (" …" if len(names) > 3 else "")

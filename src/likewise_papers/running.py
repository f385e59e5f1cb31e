"""How are experiments run? One after the other, each result kept by all that it depends on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from likewise import __version__
from likewise.collection.files import write_whole
from likewise.errors import LikewiseError, LockedError, StorageError, UsageError
from likewise_papers.bench import Bench
from likewise_papers.data import Data, Watch, package_version
from likewise_papers.experiment import Experiment, Paper, Result, read_result, untestable

FORMAT = 2


@dataclass(frozen=True)
class Done:
    """An experiment with its result and the seconds that it took; `kept`: by an earlier run."""

    paper: Paper
    experiment: Experiment
    setting: dict[str, Any]
    collections: tuple[str, ...]
    result: Result
    seconds: float
    kept: bool = False

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        one = self.experiment
        return {
            "paper": self.paper.name,
            "experiment": one.name,
            "where": one.where,
            "title": one.title,
            "in_place_of": one.in_place_of,
            "tried": one.tried,
            "collections": list(self.collections),
            "setting": self.setting,
            "seed": one.seed,
            "seconds": round(self.seconds, 1),
            **self.result.to_json(),
        }


def run_papers(
    papers: Sequence[Paper],
    data: Data,
    *,
    kept: Path,
    quick: bool = False,
    threads: int = 0,
    watch: Watch | None = None,
) -> Iterator[Done]:
    """Run the experiments of papers, in order; results are kept in a folder and taken from it."""
    for paper in papers:
        for experiment in paper.experiments:
            yield run_one(
                paper, experiment, data, kept=kept, quick=quick, threads=threads, watch=watch
            )


def run_one(
    paper: Paper,
    experiment: Experiment,
    data: Data,
    *,
    kept: Path,
    quick: bool = False,
    threads: int = 0,
    watch: Watch | None = None,
) -> Done:
    """Run an experiment, or take its result from an earlier run of the same on the same data."""
    setting = {**experiment.setting, **(experiment.quick if quick else {})}
    sets = data.of(experiment.on)[: setting.get("sets") or None]
    beside = tuple(name for name in experiment.beside if data.has(name) and name not in sets)
    used = (*sets, *beside)
    key = _key(experiment, setting, used, data, quick=quick)
    path = kept / f"{paper.name}-{experiment.name}-{key}.json"
    earlier = _read(path)
    if earlier is not None:
        result, seconds = earlier
        return Done(paper, experiment, setting, used, result, seconds, kept=True)
    if watch is not None:
        watch(f"{paper.name}: {experiment.where}, {experiment.title}")
    bench = Bench(data, setting, sets=sets, beside=beside, seed=experiment.seed)
    bench = replace(bench, threads=threads or bench.threads, say=watch or bench.say)
    started = time.perf_counter()
    try:
        result = experiment.run(bench)
    except (StorageError, LockedError):
        # It is the disk that fails, or another run that is under way: neither is a finding.
        raise
    except LikewiseError as error:
        # Not kept: what is missing may be there next time.
        result = untestable(experiment.title, str(error), ours=experiment.ours)
        return Done(paper, experiment, setting, used, result, 0.0)
    seconds = round(time.perf_counter() - started, 3)
    written = orjson.dumps(
        {"format": FORMAT, "result": result.to_json(), "seconds": seconds},
        option=orjson.OPT_SERIALIZE_NUMPY,
    )
    write_whole(path, written)
    # As it will be read: a run that goes on from another is to give the same page.
    return Done(paper, experiment, setting, used, _result(written), seconds)


def choose(papers: Sequence[Paper], names: Sequence[str]) -> list[Paper]:
    """Choose papers by name; "all", or no name, is all of them."""
    if not names or "all" in names:
        return list(papers)
    known = {paper.name: paper for paper in papers}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"unknown paper {unknown[0]!r}: it is all or one of {', '.join(known)}")
    return [paper for paper in papers if paper.name in names]


def _key(
    experiment: Experiment, setting: dict[str, Any], used: Sequence[str], data: Data, *, quick: bool
) -> str:
    told = {
        "format": FORMAT,
        "likewise": __version__,
        "version": experiment.version,
        "setting": setting,
        "quick": quick,
        "seed": experiment.seed,
        "data": [data.hash_of(name) for name in used],
    }
    if experiment.packages:
        told["packages"] = [package_version(name) for name in experiment.packages]
    written = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
    return blake2b(written, digest_size=8).hexdigest()


def _read(path: Path) -> tuple[Result, float] | None:
    """Read a kept result; one that cannot be read is as if it were not there."""
    try:
        written = path.read_bytes()
        return _result(written), float(orjson.loads(written)["seconds"])
    except (OSError, ValueError, KeyError, TypeError, LikewiseError):
        return None


def _result(written: bytes) -> Result:
    return read_result(orjson.loads(written)["result"])

"""What `regressions.py` has each side do: what the other benchmarks measure, in small.

    python benchmarks/regression_tasks.py

Reads tasks from its input, one a line, `["name", argument, …]`, and answers each with the processor
time that it took. It runs with the pinned commit as well: where names differ, both are tried.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import likewise as lw

RESOURCES = {"memory": 1 << 29, "threads": 1}
_state: dict[str, Any] = {}


def prepare(source: str, n: int) -> float:
    """Index the first documents of a file with its models and a term graph; the rest is asked."""
    documents = []
    with Path(source).open(encoding="utf-8") as lines:
        for line, _ in zip(lines, range(n), strict=False):
            documents.append(json.loads(line))
    folder = Path(tempfile.mkdtemp())
    _state.update(folder=folder, documents=documents)
    c = _index(folder / "c.lw")
    _state["c"] = c
    for model in ("lsi", "klsa", "lda(topics=50,sweeps=20)"):
        _fit(c, model)
    if hasattr(c, "terms"):
        c.terms.make_graph()
    else:
        c.make_term_graph()
    texts = documents[:: max(len(documents) // 64, 1)][:64]
    _state["titles"] = [one["title"] for one in texts]
    _state["texts"] = [one["text"] for one in texts]
    _state["ids"] = [one["id"] for one in texts]
    generator = np.random.default_rng(0)
    points = generator.dirichlet(np.full(50, 0.05), 20_000).astype(np.float32)
    _state["points"], _state["asked"] = points, points[:200]
    return 0.0


def index() -> float:
    """Read, analyse and store."""
    return _timed(lambda: _index(_state["folder"] / "again.lw"))


def merge() -> float:
    """Three segments become one."""
    c, documents = _state["c"], _state["documents"]
    folder = _state["folder"] / "parts.lw"
    shutil.rmtree(folder, ignore_errors=True)
    third = len(documents) // 3
    c = lw.index(documents[:third], to=folder, model=None, smooth=None)
    for start in (third, 2 * third):
        c.add(documents[start : start + third])
    return _timed(c.merge)


def fit(model: str) -> float:
    """Fit a model."""
    kind = model.partition("(")[0]
    return _timed(lambda: _fit(_state["c"], model, name=f"again-{kind}"))


def search(options: dict[str, Any], k: int, of: str) -> float:
    """Queries one a call."""
    c = _state["c"]
    return _timed(lambda: [c.search(text, k=k, **options) for text in _state[of]])


def run(options: dict[str, Any], k: int, of: str) -> float:
    """Queries in one call."""
    c = _state["c"]
    return _timed(lambda: c.run(_state[of], k=k, threads=1, **options))


def like(method: str, explained: bool) -> float:
    """Documents as queries."""
    c = _state["c"]
    options = {"method": method} if method else {}
    if explained:
        options["explain" if hasattr(lw, "Result") else "explained"] = True
    return _timed(lambda: [c.like(one, **options).to_json() for one in _state["ids"]])


def decompose() -> float:
    """Documents taken apart by topics."""
    c = _state["c"]
    if hasattr(c, "models"):
        return _timed(lambda: c.models.transform(_state["ids"], model="lda"))
    return _timed(lambda: c.decompose(_state["ids"], model="lda"))


def neighbours(method: str) -> float:
    """Build an index of vectors and ask it."""

    def ask() -> None:
        index = lw.build_neighbours(_state["points"], metric="hellinger", method=method)
        index.nearest(_state["asked"], 10)

    return _timed(ask)


def graph() -> float:
    """Count the pairs of a term graph."""
    c = _state["c"]
    make = c.terms.make_graph if hasattr(c, "terms") else c.make_term_graph
    return _timed(lambda: make(name="graph-again"))


def terms() -> float:
    """The terms nearest to those of titles, with what brings them near."""
    c = _state["c"]
    near = c.terms.near if hasattr(c, "terms") else c.related
    return _timed(lambda: [near(text) for text in _state["titles"][:16]])


def _index(folder: Path) -> Any:
    from likewise.collection.build import Resources

    shutil.rmtree(folder, ignore_errors=True)
    resources = Resources(**RESOURCES)
    return lw.index(_state["documents"], to=folder, model=None, smooth=None, resources=resources)


def _fit(c: Any, model: str, **options: Any) -> None:
    (c.models.fit if hasattr(c, "models") else c.fit)(model, threads=1, **options)


def _timed(task: Callable[[], Any]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


TASKS: dict[str, Callable[..., float]] = {
    task.__name__: task
    for task in (
        prepare,
        index,
        merge,
        fit,
        search,
        run,
        like,
        decompose,
        neighbours,
        graph,
        terms,
    )
}


def main() -> None:
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            print(json.dumps(TASKS[name](*arguments)), flush=True)
        except lw.LikewiseError as error:
            print(json.dumps(str(error)), flush=True)
    if "folder" in _state:
        shutil.rmtree(_state["folder"], ignore_errors=True)


if __name__ == "__main__":
    main()

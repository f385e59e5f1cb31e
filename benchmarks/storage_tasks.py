"""What `storage.py` has each side do: tasks that run with either format, each told as a JSON line.

    python benchmarks/storage_tasks.py

Reads tasks from its input, one a line, `["name", argument, …]`, and answers each with a line.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import likewise as lw
import likewise.collection.writer as writing
from likewise.collection.build import Resources
from likewise.records import Ranking
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever

K = 10
ONE = Resources(threads=1)
_opened: dict[str, Any] = {}


def build(folder: str, parts: list[str], memory: int, threads: int, fitted: bool) -> dict:
    """Index the first file, add the others each as a segment, then fit what `index` fits."""
    resources = Resources(memory=memory, threads=threads)
    # Twenty of one size would be merged while they are added.
    writing.next_run = lambda segments: None
    before = _anonymous()
    start = _clocks()
    with _Peak() as peak:
        c = lw.index(parts[0], to=folder, model=None, smooth=None, resources=resources)
        for part in parts[1:]:
            c.add(part, resources=resources)
    built = _since(start)
    start = _clocks()
    if fitted:
        c.models.fit("lsi", threads=threads)
        c.models.fit("klsa", threads=threads)
    return {"built": built, "fitted": _since(start), "before": before, "peak": peak.most}


def open_it(folder: str) -> dict:
    """Open, with nothing asked; bytes by calls and descriptors are what that took."""
    gc.collect()
    files, read, start = _descriptors(), _io()["rchar"], _clocks()
    c = lw.open(folder)
    cpu, wall = _since(start)
    out = {"cpu": cpu, "wall": wall, "read": _io()["rchar"] - read}
    out["files"] = _descriptors() - files
    del c
    return out


def open_all(folder: str, text: str) -> dict:
    """Open with all derived data and the first answers of each kind; descriptors."""
    gc.collect()
    files = _descriptors()
    c = lw.open(folder)
    c.search(text)
    c.like(text=text)
    out = {"files": _descriptors() - files}
    del c
    return out


def open_evicted(folder: str) -> dict:
    """Open after the collection's files were dropped from the page cache."""
    # What is imported at the first is not part of it.
    lw.open(folder)
    gc.collect()
    evict(folder)
    before, start = _io()["read_bytes"], _clocks()
    c = lw.open(folder)
    cpu, wall = _since(start)
    del c
    return {"cpu": cpu, "wall": wall, "disk": _io()["read_bytes"] - before}


def add(folder: str, document: dict, evicted: bool) -> dict:
    """Add a document to a collection that is open."""
    writing.next_run = lambda segments: None
    c = lw.open(folder)
    if evicted:
        del c
        gc.collect()
        evict(folder)
        c = None
    before, read, start = _io()["read_bytes"], _io()["rchar"], _clocks()
    (c or lw.open(folder)).add([document], resources=ONE)
    cpu, wall = _since(start)
    now = _io()
    return {
        "cpu": cpu,
        "wall": wall,
        "disk": now["read_bytes"] - before,
        "read": now["rchar"] - read,
    }


def merge(folder: str) -> dict:
    """Merge all segments, and keep up with what is derived."""
    c = lw.open(folder)
    start = _clocks()
    c.merge(resources=ONE)
    cpu, wall = _since(start)
    return {"cpu": cpu, "wall": wall, "segments": len(c.snapshot.segments)}


def merge_bare(folder: str) -> dict:
    """Merge all segments, without what is derived."""
    start = _clocks()
    with writing.Writer(Path(folder)) as writer:
        writer.merge(resources=ONE)
    cpu, wall = _since(start)
    return {"cpu": cpu, "wall": wall}


def ten(folder: str, lots: list[list[int]]) -> float:
    """Ten answers with titles and fields, of any documents: processor time of one lot."""
    c = _open(folder)
    rankings = [Ranking(np.array(docs), np.ones(len(docs), np.float32)) for docs in lots]
    start = time.process_time()
    for ranking in rankings:
        [(a.title, dict(a.fields)) for a in c._found(ranking, None, query="", method="")]
    return (time.process_time() - start) / len(lots)


def fresh_words(folder: str, texts: list[str]) -> float:
    """BM25 for words that were never asked before, the collection opened anew for each query."""
    seconds = 0.0
    for text in texts:
        snapshot = lw.open(folder).snapshot
        retriever = Retriever(snapshot, BM25())
        terms = list(dict.fromkeys(snapshot.analyzer.terms(text)))
        # What is worked out once for a collection is not part of a query.
        retriever.rank([{"paper": 1.0}], k=K)
        start = time.process_time()
        retriever.rank([dict.fromkeys(terms, 1.0)], k=K)
        seconds += time.process_time() - start
    return seconds / len(texts)


def first(folder: str, how: str, what: str) -> float:
    """Open and the first answer of a process."""
    start = time.process_time()
    _ask(lw.open(folder), how, what)
    return time.process_time() - start


def warm(folder: str, how: str, whats: list[str]) -> float:
    """Answers in a process that has given some before: processor time of one."""
    c = _open(folder)
    start = time.process_time()
    for what in whats:
        _ask(c, how, what)
    return (time.process_time() - start) / len(whats)


def _ask(c: Any, how: str, what: str) -> None:
    if how == "like":
        c.like(what, k=K)
    elif how == "bm25":
        c.search(what, k=K, method="bm25")
    else:
        c.search(what, k=K)


def sizes(folder: str) -> dict:
    """Bytes of a collection by array, or by file where arrays are files."""
    out: dict[str, int] = {}
    for path in Path(folder).rglob("*"):
        if not path.is_file():
            continue
        kind = path.name.partition("-")[0]
        if path.suffix == ".npz":
            rest = path.stat().st_size
            with np.load(path) as arrays:
                for info in arrays.zip.infolist():
                    name = info.filename.removesuffix(".npy")
                    out[f"{kind}/{name}"] = out.get(f"{kind}/{name}", 0) + info.file_size
                    rest -= info.file_size
            out[f"{kind}/(zip)"] = out.get(f"{kind}/(zip)", 0) + rest
        else:
            kind = path.relative_to(folder).parts[0] + "/" + path.name
            out[kind] = out.get(kind, 0) + path.stat().st_size
    return out


def evict(folder: str) -> None:
    """Drop a collection's files from the page cache; what a process maps stays there."""
    for path in Path(folder).rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class _Peak:
    """The most anonymous memory that this process has meanwhile."""

    def __enter__(self) -> _Peak:
        self.most = _anonymous()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.most = max(self.most, _anonymous())


def _anonymous() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    raise OSError("the kernel does not tell of RssAnon")


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _io() -> dict[str, int]:
    lines = Path("/proc/self/io").read_text().splitlines()
    return {name: int(value) for name, _, value in (line.partition(": ") for line in lines)}


def _clocks() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, time.perf_counter()


def _since(start: tuple[float, float]) -> list[float]:
    return [now - then for now, then in zip(_clocks(), start, strict=True)]


def _open(folder: str) -> Any:
    if folder not in _opened:
        _opened[folder] = lw.open(folder)
    return _opened[folder]


TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (
        build,
        open_it,
        open_all,
        open_evicted,
        add,
        merge,
        merge_bare,
        ten,
        fresh_words,
        first,
        warm,
        sizes,
    )
}


def main() -> None:
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(TASKS[name](*arguments)), flush=True)


if __name__ == "__main__":
    main()

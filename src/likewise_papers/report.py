"""How is it all done at once? Papers in, a page and plain values out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from likewise.collection.files import write_whole
from likewise.errors import StorageError, UsageError
from likewise_papers import papers as published
from likewise_papers.data import Data, Given, Watch
from likewise_papers.page import page
from likewise_papers.running import Done, choose, run_papers
from likewise_papers.summary import summary, to_bytes


def reproduce(
    papers: Sequence[str] | str = (),
    *,
    data: Sequence[Given] | Given = (),
    out: str | Path = "reproduction",
    quick: bool = False,
    threads: int = 0,
    watch: Watch | None = None,
    finish: Callable[[Done], None] | None = None,
) -> dict[str, Any]:
    """Run the experiments of papers (none named: of all), and write what they gave.

    `data` are folders of collections, or ids of ir_datasets as `ir:cranfield`; without any there
    are docstrings. `out/index.html` is a page, `out/summary.json` what is returned. Results are
    kept in `out/kept`, so that what was interrupted goes on where it stopped. `watch` is told what
    is under way, and `finish` is given what is done.
    """
    chosen = choose(published.all_papers(), [papers] if isinstance(papers, str) else papers)
    to = _made(Path(out))
    given = [data] if isinstance(data, str | Path) else data
    collections = Data(given, to / "collections", watch=watch)
    done = []
    for one in run_papers(
        chosen, collections, kept=to / "kept", quick=quick, threads=threads, watch=watch
    ):
        done.append(one)
        if finish is not None:
            finish(one)
    used = sorted({name for one in done for name in one.collections})
    hashes = {name: collections.hash_of(name) for name in used}
    told: dict[str, Any] = {"quick": quick, "data": hashes, "left_out": collections.left_out}
    written = to_bytes(summary(done, **told))
    write_whole(to / "summary.json", written)
    write_whole(to / "index.html", page(done, **told).encode("utf-8"))
    values: dict[str, Any] = orjson.loads(written)
    return values


def _made(out: Path) -> Path:
    """Make the folder to write to, before anything takes long."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{out}: a file; name a folder to write to") from None
    except OSError as error:
        raise StorageError(f"{out}: cannot be made ({error.strerror})") from None
    if not os.access(out, os.W_OK):
        raise StorageError(f"{out}: cannot be written to")
    return out

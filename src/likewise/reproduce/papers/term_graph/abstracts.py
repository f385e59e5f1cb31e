"""Papers with bodies, and abstracts: what stands in for the paper's cancer articles."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from likewise.records import Document
from likewise.reproduce.bench import Bench
from likewise.reproduce.data import Ready

NAME = "elife"
_MORE = "more-abstracts.jsonl.gz"

Paper = dict[str, Any]


class Split(NamedTuple):
    """Abstracts to train on, indexed, and papers to tell the terms of."""

    training: Ready
    papers: list[Paper]


def all_abstracts(bench: Bench) -> Ready:
    """Index the abstracts of all papers, or the first so many (`abstracts`, 0: all)."""
    papers, more = _read(bench)
    kept = [*papers, *more][: bench["abstracts"] or None]
    return _indexed(bench, f"all-{bench['abstracts']}", kept)


def split_papers(bench: Bench) -> Split:
    """Set a fifth of the papers aside, and index the abstracts of the others and further ones.

    Where `abstracts` are fewer than all, the last of them are taken.
    """
    papers, more = _read(bench)
    order = np.random.default_rng(bench.seed).permutation(len(papers))
    n_test = len(papers) // 5
    training = [papers[i] for i in np.sort(order[n_test:])] + more
    training = training[-bench["abstracts"] :] if bench["abstracts"] else training
    tested = [papers[i] for i in np.sort(order[:n_test])][: bench["test"]]
    named = f"training-{bench.seed}-{bench['abstracts']}"
    return Split(_indexed(bench, named, training), tested)


def _read(bench: Bench) -> tuple[list[Paper], list[Paper]]:
    assert bench.data.folder is not None
    folder = bench.data.folder / NAME
    [corpus] = sorted(folder.glob("corpus.jsonl*"))
    more = folder / _MORE
    return _records(corpus), _records(more) if more.exists() else []


def _records(path: Path) -> list[Paper]:
    content = path.read_bytes()
    lines = gzip.decompress(content) if path.suffix == ".gz" else content
    return [orjson.loads(line) for line in lines.splitlines()]


def _indexed(bench: Bench, named: str, papers: Iterable[Paper]) -> Ready:
    documents = (Document(one["id"], one["title"], one["abstract"]) for one in papers)
    key = f"{NAME}-{bench.data.hash_of(NAME)}-{named}"
    snapshot = bench.data.indexed(key, lambda: documents, what="abstracts")
    return Ready(f"abstracts of {NAME}", None, snapshot)

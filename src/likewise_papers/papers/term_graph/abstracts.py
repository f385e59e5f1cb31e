"""Papers with bodies, and abstracts: what stands in for the paper's cancer articles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from likewise.records import Document
from likewise.sources import Columns, open_source
from likewise_papers.bench import Bench
from likewise_papers.data import Ready

_MORE = "more-abstracts.jsonl.gz"

Paper = dict[str, str]


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
    """Give papers, and records of further abstracts where the folder has these."""
    [name] = bench.sets
    corpus = bench.data.corpus_of(name)
    if corpus is None:
        return _parted(document for _, document in bench.open(name).snapshot.documents()), []
    more = corpus.with_name(_MORE)
    return _records(corpus), _records(more) if more.exists() else []


def _parted(documents: Iterable[Document]) -> list[Paper]:
    """Take the first paragraph of a text for its abstract, and what follows for its body."""
    found = []
    for one in documents:
        abstract, _, body = one.text.partition("\n\n")
        found.append({"id": one.id, "title": one.title, "abstract": abstract, "body": body})
    return found


def _records(path: Path) -> list[Paper]:
    columns = Columns(text=("abstract",))
    return [
        {"id": one.id, "title": one.title, "abstract": one.text, "body": _text(one, "body")}
        for one in open_source(path, columns=columns)
    ]


def _text(document: Document, field: str) -> str:
    value = document.fields.get(field, "")
    return value if isinstance(value, str) else ""


def _indexed(bench: Bench, named: str, papers: Iterable[Paper]) -> Ready:
    [name] = bench.sets
    documents = (Document(one["id"], one["title"], one["abstract"]) for one in papers)
    key = f"{name}-{bench.data.hash_of(name)}-{named}"
    snapshot = bench.data.indexed(key, lambda: documents, what="abstracts")
    return Ready(f"abstracts of {name}", snapshot)

"""What explanations cost: answers with reasons and passages over answers without.

    python benchmarks/explain.py COLLECTION [--queries 60] [--seed 0]

The collection is one that `likewise index` made, as of arXiv's abstracts. `like` is asked for
documents drawn from it, `search` for their titles; ten answers each. Processor time on one core,
with and without explanations in turns; the ratio is the median over queries. `tree` reads the
name and score of every part of every answer, `passages` the passages too, `JSON` is both with the
marks in passages, and `printed` the table as `likewise like --explain` prints it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

import likewise as lw
from likewise.records import Part

WARM = 3


def tree(answers: lw.Answers) -> list[object]:
    return [list(walk(answer.explanation.parts)) for answer in answers if answer.explanation]


def walk(parts: Sequence[Part]) -> Iterator[tuple[str, float]]:
    """Read every name and score of a tree."""
    for part in parts:
        yield part.name, part.score
        yield from walk(part.parts)


def passages(answers: lw.Answers) -> list[object]:
    return [*tree(answers), *(answer.passages for answer in answers)]


Read = Callable[[lw.Answers], object]
READ: dict[str, Read] = {
    "tree": tree,
    "passages": passages,
    "JSON": lw.Answers.to_json,
    "printed": str,
}


def ask(asked: Callable[..., lw.Answers], read: Read, query: str, explain: bool) -> object:
    return read(asked(query, explain=explain))


def measure(
    ask: Callable[[str, bool], object], queries: Sequence[str]
) -> tuple[float, float, float]:
    """Give the milliseconds without and with explanations, and the ratio."""
    for query in queries[:WARM]:
        ask(query, False), ask(query, True)
    spent: dict[bool, list[float]] = {False: [], True: []}
    for i, query in enumerate(queries):
        for explain in (i % 2 == 0, i % 2 == 1):
            start = time.process_time()
            ask(query, explain)
            spent[explain].append(time.process_time() - start)
    ratios = [b / a for a, b in zip(spent[False], spent[True], strict=True)]
    plain, explained = (1e3 * statistics.median(spent[explain]) for explain in (False, True))
    return plain, explained, statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    c = lw.open(options.collection)
    docs = np.random.default_rng(options.seed).permutation(c.snapshot.live_docs())
    ids = c.snapshot.doc_ids(docs[: options.queries])
    titles = [title for doc_id in ids if (title := c[doc_id].title)]
    print(f"{len(c):,} documents{'':14}{'plain ms':>10}{'explained':>11}{'ratio':>8}")
    for asked, queries in ((c.like, ids), (c.search, titles)):
        for name, read in READ.items():
            plain, explained, ratio = measure(partial(ask, asked, read), queries)
            label = f"{asked.__name__}, {name}"
            print(f"{label:32}{plain:10.2f}{explained:11.2f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()

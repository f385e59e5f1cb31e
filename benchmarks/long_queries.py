"""Whole documents typed into search: from which length on is likeness better than search?

    LIKEWISE_DATA=FOLDER[:FOLDER…] python benchmarks/long_queries.py [--queries 200]
        [--cache FOLDER] [--only 20newsgroups,…] [--words 10,20,40,80,200,0]

Documents of a collection (title and text) are query texts, cut to their first words (0: all of
them). The document itself is barred by a filter, so that expansion cannot learn from it. The same
texts are answered by BM25, by the default search of short queries, by `hybrid`, which is what
`like` does with a text, and by the default search, which goes over from the one to the other.

P@10: of 20newsgroups a document of the same group, of wikipedia-schools one with a category in
common, of docstrings one that See Also names. nDCG@10: of mdn and gitbugs2 by their judgements.
* where `hybrid`, ^ where the search of short queries is significantly the better of these two
(paired t-test, Holm over all cells, .05). Milliseconds are processor time of a query on one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_rel

import likewise as lw
from judged import CACHE, DOCSTRINGS, Row, cached, rows_of, versions
from likewise.compiled import Doubles
from likewise.engine.pipeline import DEFAULT
from likewise.records import Condition, Filter, Query, Value
from likewise.sources.docstrings import JUDGED_FIELD
from likewise_papers.folders import find_collection

NAMES = f"20newsgroups,wikipedia-schools,{DOCSTRINGS},mdn,gitbugs2"
BY_NDCG = ("mdn", "gitbugs2")
METHODS = {"bm25": "bm25", "short": " >> ".join(DEFAULT), "hybrid": "hybrid", "default": ""}
K, LEVEL = 10, 0.05

Grades = Callable[[], dict[str, float]]


class Asked(NamedTuple):
    """A document as a query: its id, its words, and the grades of what is relevant to it."""

    doc_id: str
    words: list[str]
    grades: Mapping[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--queries", type=int, default=200, help="of each collection")
    parser.add_argument("--only", default=NAMES)
    parser.add_argument("--words", default="10,20,40,80,200,0", help="lengths; 0: all words")
    options = parser.parse_args()
    lengths = [int(n) for n in options.words.split(",")]
    values: dict[tuple[str, int, str], Doubles] = {}
    spent: dict[tuple[str, int, str], float] = {}
    names = [
        name for name in options.only.split(",") if name == DOCSTRINGS or find_collection(name)
    ]
    for name in names:
        c = cached(name, options.cache)
        asked = asked_of(name, c, options.queries)
        sizes = np.array([len(one.words) for one in asked])
        print(f"{name}: {len(asked)} queries, {np.median(sizes):.0f} words in the median", end="")
        print(f"; {versions()}" if name == DOCSTRINGS else "", flush=True)
        for n in lengths:
            for label, method in METHODS.items():
                # What is loaded and compiled with the first queries is not theirs.
                answered(c, method, asked[:3], n, name in BY_NDCG)
                start = time.process_time()
                values[name, n, label] = answered(c, method, asked, n, name in BY_NDCG)
                spent[name, n, label] = (time.process_time() - start) / len(asked)
            cells = "  ".join(
                f"{label} {values[name, n, label].mean():.3f} "
                f"({1e3 * spent[name, n, label]:.1f} ms)"
                for label in METHODS
            )
            longer = int((sizes > n).sum()) if n else 0
            print(f"  {n or 'all':>5} words ({longer} are longer): {cells}", flush=True)
    report(names, lengths, values)


def asked_of(name: str, c: lw.Collection, most: int) -> list[Asked]:
    """Take documents evenly from all that have something relevant to them."""
    if name in BY_NDCG:
        found = judged_by(lw.read_qrels(str(find_collection(name) / "qrels.txt")))
    elif name == DOCSTRINGS:
        found = judged_by({one.id: dict.fromkeys(one.fields.get(JUDGED_FIELD, ()), 1) for one in c})
    else:
        found = grouped(rows_of(find_collection(name)))
    ids = [*found]
    ids = [ids[i] for i in np.linspace(0, len(ids) - 1, min(most, len(ids))).astype(int)]
    texts = {doc_id: f"{c[doc_id].title} {c[doc_id].text}".split() for doc_id in ids}
    return [Asked(doc_id, words, found[doc_id]()) for doc_id, words in texts.items() if words]


def judged_by(grades: Mapping[str, Mapping[str, float]]) -> dict[str, Grades]:
    """Give what judgements hold to be relevant to each document, but for itself."""
    kept = {
        doc_id: {doc: grade for doc, grade in mine.items() if grade > 0 and doc != doc_id}
        for doc_id, mine in grades.items()
    }
    return {doc_id: partial(dict, mine) for doc_id, mine in kept.items() if mine}


def grouped(rows: Iterable[Row]) -> dict[str, Grades]:
    """Give the documents that have a category in common with each."""
    labels = {row["id"]: row.get("categories") or [row["category"]] for row in rows}
    groups: dict[str, list[str]] = {}
    for doc_id, mine in labels.items():
        for label in mine:
            groups.setdefault(label, []).append(doc_id)

    def grades(doc_id: str) -> dict[str, float]:
        return {doc: 1.0 for label in labels[doc_id] for doc in groups[label] if doc != doc_id}

    return {doc_id: partial(grades, doc_id) for doc_id in labels}


def answered(c: lw.Collection, method: str, asked: list[Asked], n: int, ndcg: bool) -> Doubles:
    """Answer the first n words of each document; give the value of each query."""
    queries = [
        Query(one.doc_id, " ".join(one.words[: n or None]), filter=without(one.doc_id))
        for one in asked
    ]
    out = np.zeros(len(asked))
    discounts = 1 / np.log2(np.arange(2, K + 2))
    for i, result in enumerate(c.pipeline(method, k=K).results(queries)):
        grades = asked[i].grades
        ids = c.snapshot.doc_ids(result.ranking.docs)
        gains = np.zeros(K)
        gains[: len(ids)] = [grades.get(doc, 0.0) for doc in ids]
        best = np.sort([*grades.values()])[::-1][:K]
        out[i] = gains @ discounts / (best @ discounts[: len(best)]) if ndcg else (gains > 0).mean()
    return out


def without(doc_id: str) -> Filter:
    """Let all documents through but one."""
    return Filter(((Condition("id", "!=", (Value(doc_id),)),),))


def report(
    names: list[str], lengths: list[int], values: Mapping[tuple[str, int, str], Doubles]
) -> None:
    """Print a table by length, and in the mean what the others are against the short one."""
    marks = marked(names, lengths, values)
    print(f"\n{' / '.join(METHODS)}\nwords" + "".join(f"{name:>33}" for name in names), end="")
    print(f"{'bm25, hybrid, default over short':>38}")
    for n in lengths:
        cells, changes = "", []
        for name in names:
            means = [values[name, n, label].mean() for label in METHODS]
            cells += f"{' / '.join(f'{mean:.3f}' for mean in means)}{marks[name, n]}".rjust(33)
            bm25, short, hybrid, default = means
            changes.append((bm25 / short - 1, hybrid / short - 1, default / short - 1))
        over = "".join(f"{change:+10.1f}%" for change in 100 * np.mean(changes, axis=0))
        print(f"{n or 'all':>5}{cells}{over:>38}")


def marked(
    names: list[str], lengths: list[int], values: Mapping[tuple[str, int, str], Doubles]
) -> dict[tuple[str, int], str]:
    """Mark the cells in which hybrid and the short one differ significantly (Holm)."""
    cells = [(name, n) for name in names for n in lengths]
    tests = [ttest_rel(values[*cell, "hybrid"], values[*cell, "short"]) for cell in cells]
    chances = np.nan_to_num([test.pvalue for test in tests], nan=1.0)
    marks = dict.fromkeys(cells, " ")
    for left, i in enumerate(np.argsort(chances, kind="stable")):
        if chances[i] > LEVEL / (len(cells) - left):
            break
        marks[cells[i]] = "*" if tests[i].statistic > 0 else "^"
    return marks


if __name__ == "__main__":
    main()

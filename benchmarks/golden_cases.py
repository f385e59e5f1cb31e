"""This tree's answers to fixed questions, to be compared with those of another tree.

    python benchmarks/golden_cases.py --to FILE --data DIR [--work DIR] [--only PATTERN]

Writes {case: {question: [[id, score], …]}} as JSON, scores by `float.hex`. The names of cases stay
as they are when the engine's own names change.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from golden_collections import COLLECTIONS, NEWS_FILTER, NUMBER_FILTER, PACKAGE_FILTER
from golden_methods import (
    BY_VECTORS,
    BY_WORDS,
    EXPAND,
    FUSED,
    LIKE,
    NEARNESS,
    SEARCH,
    SMOOTH,
    hybrid,
    near_in,
)
from golden_questions import (
    N_DEEP,
    Ask,
    apart,
    certified,
    decomposed,
    decomposed_text,
    expanded,
    explained,
    fused_runs,
    indexed,
    like_explained,
    liked,
    liked_at_once,
    liked_text,
    liked_vector,
    near,
    near_all,
    perturbed,
    piped,
    predicted,
    related,
    searched,
    weighted,
    whole,
)

TERM_TEXTS = ("boundary layer", "heat transfer in laminar flow", "wing flutter at mach number 2")
CODE_TEXTS = ("eigenvalues", "sparse matrix", "parse command line options")
INDEXES = ("scan", "lists", "ivf", "hnsw", "lsh", "codes", "tree")


def cran_cases() -> Iterator[tuple[str, Ask]]:
    yield from default_cases()
    for word, method in SEARCH.items():
        yield f"search/{word}", searched(method=method)
        yield f"search/{word}, k=1000", searched(method=method, k=1000, n=N_DEEP)
        yield f"search/{word}, filter", searched(method=method, filter=NUMBER_FILTER)
    for word, method in BY_WORDS.items():
        yield f"search/{word}, whole documents", whole(method=method)
        yield f"search/{word}, weighted terms", weighted(method)
        yield f"search/{word}, 2 threads", searched(method=method, threads=2)
        yield f"explain/{word}", explained(method=method)
    for filter in ("hundred=h1|h3|h11", "hundred!=h2", "number<90", "vector=*"):
        yield f"search/bm25, {filter}", searched(method="bm25", filter=filter)
        yield f"search/default, {filter}", searched(filter=filter)
    for word, how in EXPAND.items():
        yield f"expand/{word}", searched(expand=how)
        yield f"expand/{word}, terms", expanded(how)
        yield f"expand/{word}, ql, k=1000", searched(method="ql", expand=how, k=1000, n=N_DEEP)
        yield f"expand/{word}, filter", searched(expand=how, filter=NUMBER_FILTER)
    for word, how in SMOOTH.items():
        yield f"smooth/{word}", searched(smooth=how)
        yield f"smooth/{word}, k=1000", searched(smooth=how, k=1000, n=N_DEEP)
        yield f"smooth/{word}, filter", searched(smooth=how, filter=NUMBER_FILTER)
    for method in ("ql", "ql-jm", "tfidf", "inner"):
        yield f"smooth/klsa, {method}", searched(method=method, smooth="klsa")
    for word in ("rm3", "rrm", "graph"):
        yield f"smooth/klsa, {word}", searched(expand=word, smooth="klsa")
    for word, make in FUSED.items():
        yield f"fuse/{word}", piped(make)
    yield "fuse/runs", fused_runs("bm25", "ql", "tfidf", method="mnz", weights=[1, 2, 0.5])
    for how in ("smooth", "expand"):
        named = {"smooth": "klsa", "expand": "rm3"}[how]
        yield f"explain/{named}", explained(**{how: named})
        yield f"explain/{named}, ql", explained(method="ql", **{how: named})
    for word in ("near lsi", "near lda js"):
        yield f"explain/{word}", explained(method=BY_VECTORS[word])
    for word, method in LIKE.items():
        yield f"like/{word}", liked(method)
        yield f"like/{word}, k=1000", liked(method, k=1000, n=2)
        yield f"like/{word}, 2 ids", liked(method, ids=2)
        yield f"like/{word}, unlike", liked(method, ids=2, unlike=1)
        yield f"like/{word}, filter", liked(method, filter=NUMBER_FILTER)
        yield f"like/{word}, text", liked_text(method)
        yield f"like/{word}, unlike text", liked_text(method, unlike=True)
        yield f"like/{word}, 2 threads", liked_at_once(method)
        yield f"explain like/{word}", like_explained(method)
        yield f"explain like/{word}, text", like_explained(method, text=True)
    for word in ("hybrid vectors", "dense vectors"):
        yield f"like/{word}, text and vector", liked_text(LIKE[word], vector=True)
        yield f"like/{word}, vector", liked_vector(LIKE[word])
    for word, how in BY_VECTORS.items():
        yield f"neighbours/{word}", near(how)
    for word in ("near lsi", "near lda", "near lda js", "near vectors"):
        yield f"explain neighbours/{word}", near(BY_VECTORS[word], explain=True)
    yield "neighbours/all, near lda", near_all(BY_VECTORS["near lda"])
    yield "neighbours/all, near lsi", near_all(BY_VECTORS["near lsi"])
    for model in ("lsi", "ddm", "lda", "vectors"):
        yield f"decompose/{model}", decomposed(model)
        yield f"decompose/{model}, text", decomposed_text(model)
    yield from term_cases(TERM_TEXTS)
    for word, how in NEARNESS.items():
        yield f"terms/related, names, {word}", related(TERM_TEXTS, graph="names", **how)
        yield f"terms/distance, names, {word}", apart(TERM_TEXTS, graph="names", **how)
    yield "terms/predict, names", predicted(texts=TERM_TEXTS, graph="names")
    yield "terms/predict, names, documents", predicted(graph="names", known=True)


def parts_cases() -> Iterator[tuple[str, Ask]]:
    yield from default_cases()
    for word in ("bm25", "bm25 k1=2 b=0.4", "ql", "ql-jm", "tfidf", "inner"):
        yield f"search/{word}", searched(method=BY_WORDS[word])
        yield f"search/{word}, k=1000", searched(method=BY_WORDS[word], k=1000, n=N_DEEP)
        yield f"search/{word}, filter", searched(method=BY_WORDS[word], filter=NUMBER_FILTER)
        yield f"search/{word}, whole documents", whole(method=BY_WORDS[word])
        yield f"explain/{word}", explained(method=BY_WORDS[word])
    for word in ("near lsi", "near ddm", "near vectors", "hybrid lsi", "hybrid ddm"):
        yield f"search/{word}", searched(method=SEARCH[word])
    for word in ("rm3", "bo1", "rocchio", "rrm", "robust jaccard", "graph"):
        yield f"expand/{word}", searched(expand=EXPAND[word])
    yield "smooth/klsa", searched(smooth="klsa")
    yield "smooth/klsa, filter", searched(smooth="klsa", filter=NUMBER_FILTER)
    for word in (
        *("hybrid lsi", "hybrid lsi all", "hybrid ddm", "hybrid vectors", "dense lsi"),
        *("specific ddm", "eq4 ddm", "topn", "lsh-tfidf", "bm25", "tfidf"),
    ):
        yield f"like/{word}", liked(LIKE[word])
        yield f"like/{word}, unlike", liked(LIKE[word], ids=2, unlike=1)
        yield f"like/{word}, filter", liked(LIKE[word], filter=NUMBER_FILTER)
        yield f"like/{word}, text", liked_text(LIKE[word])
        yield f"like/{word}, 2 threads", liked_at_once(LIKE[word])
        yield f"explain like/{word}", like_explained(LIKE[word])
    for word in ("near lsi", "near ddm", "near vectors"):
        yield f"neighbours/{word}", near(BY_VECTORS[word])
    for model in ("lsi", "ddm", "vectors"):
        yield f"decompose/{model}", decomposed(model)
    yield from term_cases(TERM_TEXTS, few=True)


def light_cases() -> Iterator[tuple[str, Ask]]:
    yield from default_cases(filtered=False)
    for word in ("bm25", "ql", "tfidf", "near lsi", "hybrid lsi"):
        yield f"search/{word}", searched(method=SEARCH[word])
        yield f"search/{word}, k=1000", searched(method=SEARCH[word], k=1000, n=2)
    for word in ("rm3", "bo1", "rrm", "robust"):
        yield f"expand/{word}", searched(expand=word)
    yield "smooth/klsa", searched(smooth="klsa")
    for word in ("hybrid lsi", "bm25", "tfidf", "dense lsi", "specific lsi"):
        yield f"like/{word}", liked(LIKE[word])
    yield "like/hybrid lsi, 2 threads", liked_at_once(LIKE["hybrid lsi"])
    yield "explain like/hybrid lsi", like_explained(LIKE["hybrid lsi"])
    yield "decompose/lsi", decomposed("lsi")


def cisi_cases() -> Iterator[tuple[str, Ask]]:
    yield from light_cases()
    for word in ("hybrid ddm", "hybrid vectors", "dense vectors"):
        yield f"like/{word}", liked(LIKE[word])
    yield "like/hybrid vectors, text and vector", liked_text(LIKE["hybrid vectors"], vector=True)
    yield "decompose/ddm", decomposed("ddm")


def cacm_cases() -> Iterator[tuple[str, Ask]]:
    yield from light_cases()
    yield "like/default", liked(hybrid())
    yield "neighbours/default", near(near_in())


def exact_cases() -> Iterator[tuple[str, Ask]]:
    for word, method in BY_WORDS.items():
        yield f"search/{word}", searched(method=method)
        yield f"search/{word}, whole documents", whole(method=method)
    yield "search/default", searched()
    yield "expand/rm3", searched(expand="rm3")
    yield "like/tfidf", liked("tfidf")
    yield "like/topn", liked("topn")


def med_cases() -> Iterator[tuple[str, Ask]]:
    yield from light_cases()
    for model in ("ddm", "ddm-more", "span", "nmf", "lda-vb", "categories"):
        yield f"like/hybrid {model}", liked(hybrid(model))
        yield f"neighbours/near {model}", near(near_in(model))
        yield f"decompose/{model}", decomposed(model)
        yield f"decompose/{model}, text", decomposed_text(model)


def newsgroups_cases() -> Iterator[tuple[str, Ask]]:
    yield from light_cases()
    yield "search/default, filter", searched(filter=NEWS_FILTER)
    for word in ("bm25", "tfidf"):
        yield f"search/{word}, filter", searched(method=word, filter=NEWS_FILTER)
        yield f"search/{word}, whole documents", whole(method=word)
        yield f"search/{word}, whole documents, k=1000", whole(method=word, k=1000, n=2)
    for word in ("hybrid ddm", "eq4 ddm", "topn", "hybrid lsi all"):
        yield f"like/{word}", liked(LIKE[word])
    for word in ("hybrid lsi", "hybrid ddm", "tfidf"):
        yield f"like/{word}, filter", liked(LIKE[word], filter=NEWS_FILTER)
        yield f"like/{word}, unlike", liked(LIKE[word], ids=2, unlike=1)
    yield "like/hybrid categories", liked(hybrid("categories"))
    for word in ("near lsi", "near ddm"):
        yield f"neighbours/{word}", near(BY_VECTORS[word])
    yield "neighbours/near ddm js", near(BY_VECTORS["near ddm js"])
    yield "decompose/ddm", decomposed("ddm")
    yield "decompose/categories", decomposed("categories")


def docstrings_cases() -> Iterator[tuple[str, Ask]]:
    yield from light_cases()
    yield "search/default, filter", searched(filter=PACKAGE_FILTER)
    yield "search/bm25, filter", searched(method="bm25", filter=PACKAGE_FILTER)
    yield "like/hybrid ddm", liked(LIKE["hybrid ddm"])
    yield "like/hybrid lsi, filter", liked(LIKE["hybrid lsi"], filter=PACKAGE_FILTER)
    yield "like/hybrid lsi, text", liked_text(LIKE["hybrid lsi"])
    yield "neighbours/near ddm", near(BY_VECTORS["near ddm"])
    yield "decompose/ddm, text", decomposed_text("ddm")
    yield "expand/graph", searched(expand="graph")
    yield from term_cases(CODE_TEXTS, few=True)


def vector_cases() -> Iterator[tuple[str, Ask]]:
    for method in INDEXES:
        for metric in ("hellinger", "cosine"):
            yield f"{method}/{metric}", indexed(method, metric)
    for metric in ("js", "kl", "inner", "euclidean"):
        yield f"scan/{metric}", indexed("scan", metric)
    for metric in ("js", "kl"):
        yield f"certified/{metric}", certified(metric)


def default_cases(*, filtered: bool = True) -> Iterator[tuple[str, Ask]]:
    yield "search/default", searched()
    yield "search/default, k=1000", searched(k=1000, n=N_DEEP)
    yield "search/default, 2 threads", searched(threads=2)
    yield "search/default, whole documents", whole()
    yield "explain/default", explained()
    if filtered:
        yield "search/default, filter", searched(filter=NUMBER_FILTER)


def term_cases(texts: tuple[str, ...], *, few: bool = False) -> Iterator[tuple[str, Ask]]:
    for word, how in NEARNESS.items():
        if not few or word in ("resistance", "diffusion"):
            yield f"terms/related, {word}", related(texts, **how)
            yield f"terms/distance, {word}", apart(texts, **how)
    for name, by in (("likely", "likely"), ("telling", "distinctive")):
        yield f"terms/predict, {name}", predicted(texts=texts, by=by)
        yield f"terms/predict, {name}, documents", predicted(by=by)
    for strategy in ("loo", "tat"):
        yield f"terms/perturb, {strategy}", perturbed(strategy)


CASES: dict[str, Callable[[], Iterator[tuple[str, Ask]]]] = {
    "cran": cran_cases,
    "cran-parts": parts_cases,
    "cran-merged": parts_cases,
    "cisi": cisi_cases,
    "cacm": cacm_cases,
    "cacm-exact": exact_cases,
    "med": med_cases,
    "20newsgroups": newsgroups_cases,
    "docstrings": docstrings_cases,
    "vectors": vector_cases,
}


def select(pattern: str) -> dict[str, dict[str, Ask]]:
    """The cases whose names match, by collection."""
    chosen: dict[str, dict[str, Ask]] = {}
    for collection, cases in CASES.items():
        for name, ask in cases():
            mine = chosen.setdefault(collection, {})
            full = f"{collection}/{name}"
            assert full not in mine, f"two cases are called {full}"
            if fnmatchcase(full, pattern):
                mine[full] = ask
    return {collection: cases for collection, cases in chosen.items() if cases}


def answer(chosen: dict[str, dict[str, Ask]], data: Path, work: Path) -> tuple[dict, int]:
    """The answers to all cases, and how many failed; what fails is told and left out."""
    answers: dict[str, dict[str, list]] = {}
    failed = 0
    for collection, cases in chosen.items():
        start = time.monotonic()
        make = COLLECTIONS.get(collection)
        try:
            built = make(data, work / f"{collection}.lw") if make else None
        except Exception:
            print(f"{collection} could not be made: {traceback.format_exc()}", file=sys.stderr)
            failed += len(cases)
            continue
        made = time.monotonic()
        for name, ask in cases.items():
            try:
                found = ask(built)
            except Exception:
                print(f"{name}: {traceback.format_exc()}", file=sys.stderr)
                failed += 1
            else:
                answers[name] = {
                    question: [[id, float(score).hex()] for id, score in pairs]
                    for question, pairs in found.items()
                }
        took = f"made in {made - start:.0f} s, asked in {time.monotonic() - made:.0f} s"
        print(f"{collection}: {len(cases)} cases, {took}", file=sys.stderr, flush=True)
    return answers, failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="where collections are made, and stay")
    parser.add_argument("--only", default="*", metavar="PATTERN")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        answers, failed = answer(select(options.only), options.data, work)
    options.to.write_text(json.dumps(answers, ensure_ascii=False), "utf-8")
    if failed:
        sys.exit(f"{failed} cases failed")


if __name__ == "__main__":
    main()

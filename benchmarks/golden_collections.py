"""The collections that golden answers are asked of, made with fixed seeds on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

import likewise as lw

ONE = lw.Resources(threads=1)
N_IDS = 12
# With 50 topics or fewer, kernels that were compiled to sum in different orders gave the same bits:
# so few topics, or dimensions, would hide it.
N_TOPICS, N_DIMENSIONS = 100, 96
# With that of replaced documents there are seven segments; eight of a size would be merged.
N_PARTS = 6
NUMBER_FILTER, NEWS_FILTER = "number>=700", "category=sci.space|sci.med"
PACKAGE_FILTER = "package=scipy"
NAMES = (
    "angle of attack",
    "blunt body",
    "boundary layer",
    "buckling",
    "cylindrical shell",
    "flat plate",
    "flutter",
    "heat transfer",
    "hypersonic flow",
    "laminar flow",
    "leading edge",
    "mach number",
    "pressure distribution",
    "shock wave",
    "skin friction",
    "slipstream",
    "stagnation point",
    "supersonic flow",
    "turbulent flow",
    "wing",
)


class Built(NamedTuple):
    """A collection, queries for it, and ids of some of its documents that have a text."""

    collection: lw.Collection
    queries: list[lw.Query]
    ids: list[str]


def every(items: Sequence, n: int) -> list:
    """So many of the items, evenly spaced."""
    return [items[i * len(items) // n] for i in range(n)] if len(items) > n else [*items]


def vectors_of(texts: Sequence[str]) -> np.ndarray:
    """Random projections of word counts: whole numbers, so that no sum is rounded."""
    return np.array([np.sum([_signs(word) for word in ("", *text.split())], 0) for text in texts])


def gram_of(left: Sequence[str], right: Sequence[str]) -> np.ndarray:
    """The inner products of these vectors."""
    return vectors_of(left) @ vectors_of(right).T


@cache
def _signs(word: str) -> np.ndarray:
    if not word:
        return np.zeros(N_DIMENSIONS)
    digest = blake2b(word.lower().encode(), digest_size=N_DIMENSIONS // 8).digest()
    return np.where(np.unpackbits(np.frombuffer(digest, np.uint8)), 1.0, -1.0)


def text_of(document: lw.Document) -> str:
    return f"{document.title}\n\n{document.text}"


def cran(data: Path, folder: Path) -> Built:
    """Every kind of model, kernel model and term graph."""
    collection = lw.index(_numbered(data / "cran", vector=True), to=folder, resources=ONE)
    for model in (f"ddm(topics={N_TOPICS},sweeps=30)", f"lda(topics={N_TOPICS},sweeps=30)"):
        # The model fitted last answers, which in the pinned commit it does unasked.
        collection.models.fit(model, threads=1, default=True)
    collection.models.fit(vectors="vector", threads=1, default=True)
    for kernel in ("cosine", "ql", "inner"):
        collection.models.fit(f"klsa(kernel={kernel})", name=kernel, threads=1)
    collection.models.fit("klsa", vectors="vector", name="features", threads=1)
    collection.models.fit("klsa", gram=gram_of, name="gram", threads=1)
    collection.terms.make_graph(threads=1)
    collection.terms.make_graph(names=NAMES, threads=1)
    return _asked(collection, data / "cran")


def cran_parts(data: Path, folder: Path, *, merged: bool = False) -> Built:
    """Segments with deleted and replaced documents; models are older than most of them."""
    documents = [*_numbered(data / "cran", vector=True)]
    bounds = [i * len(documents) // N_PARTS for i in range(N_PARTS + 1)]
    first, *others = (documents[start:stop] for start, stop in pairwise(bounds))
    collection = lw.index(first, to=folder, resources=ONE)
    for i, part in enumerate(others):
        collection.add(part, resources=ONE)
        if i == 0:
            collection.models.fit(f"ddm(topics={N_TOPICS},sweeps=30)", threads=1, default=True)
            collection.models.fit(vectors="vector", threads=1, default=True)
            collection.terms.make_graph(threads=1)
        collection.delete([document.id for document in part[3::7]])
    # Some of these come back, with the text of another document.
    swapped = zip(documents[::11], reversed(documents[::11]), strict=True)
    collection.add(
        [one._replace(title=other.title, text=other.text) for one, other in swapped],
        replace=True,
        resources=ONE,
    )
    if merged:
        collection.merge(resources=ONE)
    return _asked(collection, data / "cran")


def cisi(data: Path, folder: Path) -> Built:
    """Vectors by a function, and fits on two threads."""
    two = lw.Resources(threads=2)
    collection = lw.index(_numbered(data / "cisi"), to=folder, resources=two)
    collection.models.fit(
        f"ddm(topics={N_TOPICS},sweeps=30)", sample=lw.Sample(docs=1000), threads=2, default=True
    )
    collection.models.fit(vectors=vectors_of, threads=2, default=True)
    return _asked(collection, data / "cisi")


def cacm(data: Path, folder: Path) -> Built:
    """What `index` fits, and nothing else."""
    collection = lw.index(data / "cacm" / "corpus.jsonl", to=folder, resources=ONE)
    return _asked(collection, data / "cacm")


def cacm_exact(data: Path, folder: Path) -> Built:
    """Words as they are written, titles counted once, rare terms left out; no model."""
    analysis = lw.Analysis(language="none", title_weight=1, min_df=2, max_df=0.3)
    corpus = data / "cacm" / "corpus.jsonl"
    collection = lw.index(corpus, to=folder, analysis=analysis, model=None, resources=ONE)
    return _asked(collection, data / "cacm")


def med(data: Path, folder: Path) -> Built:
    """Models that are fitted by others or from others, a fit that went on, learnt weights."""
    collection = lw.index(_numbered(data / "med"), to=folder, resources=ONE)
    collection.tune(collection.judgements(same="hundred", sample=40))
    collection.models.fit("ddm(topics=10,sweeps=20)", threads=1, default=True)
    collection.models.fit("ddm(topics=10,sweeps=10)", name="ddm-more", threads=1, default=True)
    collection.models.fit(
        "ddm(topics=10,sweeps=10)", name="ddm-more", warm_start=True, threads=1, default=True
    )
    for model in ("span(of=ddm)", "nmf(topics=10)", "lda-vb(topics=10,passes=2)"):
        collection.models.fit(model, threads=1, default=True)
    collection.models.fit("categories(field=hundred)", threads=1, default=True)
    return _asked(collection, data / "med")


def newsgroups(data: Path, folder: Path) -> Built:
    """Ten times larger than the others; titles are queries."""
    corpus = data / "20newsgroups" / "corpus.jsonl.gz"
    collection = lw.index(corpus, to=folder, resources=ONE)
    collection.models.fit(f"ddm(topics={N_TOPICS},sweeps=10)", threads=1, default=True)
    collection.models.fit("categories(field=category)", threads=1, default=True)
    return _asked(collection)


def docstrings(data: Path, folder: Path) -> Built:
    """The corpus of `likewise demo`; titles are queries."""
    collection = lw.index("docstrings:", to=folder, resources=ONE)
    collection.models.fit(f"ddm(topics={N_TOPICS},sweeps=10)", threads=1, default=True)
    collection.terms.make_graph(threads=1)
    return _asked(collection)


COLLECTIONS: dict[str, Callable[[Path, Path], Built]] = {
    "cran": cran,
    "cran-parts": cran_parts,
    "cran-merged": partial(cran_parts, merged=True),
    "cisi": cisi,
    "cacm": cacm,
    "cacm-exact": cacm_exact,
    "med": med,
    "20newsgroups": newsgroups,
    "docstrings": docstrings,
}


def _numbered(folder: Path, *, vector: bool = False) -> Iterable[lw.Document]:
    """Documents with fields to filter by, and a vector in a field of most of them."""
    for number, document in enumerate(lw.open_source(folder / "corpus.jsonl")):
        fields = {**document.fields, "number": number, "hundred": f"h{number // 100}"}
        if vector and number % 10 and document.text:
            fields["vector"] = vectors_of([text_of(document)])[0].tolist()
        yield document._replace(fields=fields)


def _asked(collection: lw.Collection, folder: Path | None = None) -> Built:
    documents = [document for document in collection if len(document.text) > 200]
    chosen = every(documents, N_IDS)
    if folder is not None:
        queries = lw.read_queries(folder / "queries.jsonl")
    else:
        titled = every([document for document in documents if document.title], 60)
        queries = [lw.Query(document.id, document.title) for document in titled]
    return Built(collection, queries, [document.id for document in chosen])

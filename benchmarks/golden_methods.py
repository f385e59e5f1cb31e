"""What golden cases call methods and pipelines, and how this tree writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import likewise as lw
from golden_collections import NUMBER_FILTER
from likewise.stages import Cut

BY_WORDS = {
    "bm25": "bm25",
    "bm25 k1=2 b=0.4": "bm25(k1=2.0,b=0.4)",
    "bm25 k1=0.9 b=0": "bm25(k1=0.9,b=0)",
    "ql": "ql",
    "ql mu=300": "ql(mu=300)",
    "ql-jm": "ql-jm",
    "ql-jm lam=0.2": "ql-jm(lam=0.2)",
    "tfidf": "tfidf",
    "inner": "inner",
}
BY_VECTORS = {
    "near lsi": "near(model=lsi)",
    "near lsi inner": "near(model=lsi,metric=inner)",
    "near lsi euclidean": "near(model=lsi,metric=euclidean)",
    "near lda": "near(model=lda)",
    "near lda js": "near(model=lda,metric=js)",
    "near lda kl": "near(model=lda,metric=kl)",
    "near lda cosine": "near(model=lda,metric=cosine)",
    "near ddm": "near(model=ddm)",
    "near ddm js": "near(model=ddm,metric=js)",
    "near vectors": "near(model=vectors)",
}
BY_LIKENESS = {
    "hybrid lsi": "hybrid(model=lsi)",
    "hybrid lsi all": "hybrid(model=lsi,candidates=0)",
    "hybrid lsi no feedback": "hybrid(model=lsi,feedback=0)",
    "hybrid lsi thing": "hybrid(model=lsi,focus=thing)",
    "hybrid ddm": "hybrid(model=ddm)",
    "hybrid lda": "hybrid(model=lda)",
    "hybrid vectors": "hybrid(model=vectors)",
    "dense lsi": "hybrid(model=lsi,only=dense)",
    "dense ddm": "hybrid(model=ddm,only=dense)",
    "dense vectors": "hybrid(model=vectors,only=dense)",
    "specific lsi": "hybrid(model=lsi,only=specific)",
    "specific ddm": "hybrid(model=ddm,only=specific)",
    "eq4 lsi": "eq4(model=lsi)",
    "eq4 ddm": "eq4(model=ddm)",
    "topn": "topn",
    "topn words=30": "topn(words=30)",
    "topn-lda": "topn-lda(model=lda)",
    "lsh-tfidf": "lsh-tfidf",
    "lsh-tfidf all": "lsh-tfidf(tables=10,bits=8,candidates=0)",
}
LIKE = BY_LIKENESS | BY_WORDS
SEARCH = BY_WORDS | BY_VECTORS | BY_LIKENESS
EXPAND = {
    "rm1": "rm1",
    "rm3": "rm3",
    "rm3 docs=5 terms=30": "rm3(docs=5,terms=30,share=0.3)",
    "bo1": "bo1",
    "kl": "kl",
    "rocchio": "rocchio",
    "rocchio gamma=0.2": "rocchio(gamma=0.2)",
    "rrm": "rrm",
    "robust": "robust",
    "robust tat": "robust(similarity=tat)",
    "robust loo-near": "robust(similarity=loo-near)",
    "robust tat-near": "robust(similarity=tat-near)",
    "robust jaccard": "robust(similarity=jaccard)",
    "robust graph": "robust(similarity=graph)",
    "robust limits": "robust(context=40,coverage=0.1,keep=0.3,balance=0.5,budget=20)",
    "graph": "graph",
    "graph diffusion": "graph(kernel=diffusion,terms=20)",
    "graph names": "graph(graph=names)",
}
SMOOTH = {
    "klsa": "klsa",
    "klsa docs=10 share=0.5": "klsa(docs=10,share=0.5)",
    "klsa by score": "klsa(docs=5,by=score)",
    "klsa as published": "klsa(docs=1,share=0.9,by=score,scale=raw)",
    "klsa all docs": "klsa(docs=0,share=1)",
    "klsa cosine": "klsa(model=cosine)",
    "klsa ql": "klsa(model=ql)",
    "klsa inner": "klsa(model=inner)",
    "klsa features": "klsa(model=features)",
    "klsa gram": "klsa(model=gram)",
}
NEARNESS: dict[str, dict[str, Any]] = {
    "resistance": {},
    "diffusion": {"kernel": "diffusion"},
    "walk": {"kernel": "walk"},
    "combinatorial": {"laplacian": "combinatorial"},
    "distance": {"by": "distance"},
    "counts": {"weights": "counts"},
    "ppmi": {"weights": "ppmi", "least": 2},
    "collapse": {"sets": "collapse"},
    "nystrom": {"sets": "nystrom"},
    "solve": {"route": "solve"},
    "chebyshev": {"kernel": "diffusion", "route": "chebyshev"},
    "spectrum": {"route": "spectrum"},
}


def hybrid(model: str = "") -> str:
    """The default likeness, by a model."""
    return f"hybrid(model={model})" if model else "hybrid"


def near_in(model: str = "") -> str:
    """Nearness in the space of a model."""
    return f"near(model={model})" if model else "near"


def asked_again(answered: lw.Result) -> lw.Result:
    """A query with the first words of its text once more: a user's own stage."""
    words = answered.query.text.split()
    query = answered.query._replace(text=" ".join([*words, *words[:3]]))
    return lw.Result(query, answered.ranking)


def first_five(answered: lw.Result) -> lw.Result:
    """The first answers alone: what made them is not known any more."""
    return lw.Result(answered.query, answered.ranking.cut(5))


def twice(c: lw.Collection) -> Callable[[Iterable[lw.Query]], list[lw.Result]]:
    """All that was smoothed, smoothed once more."""
    return lambda queries: c.pipeline("klsa(model=cosine)", k=50)(
        c.pipeline("bm25 >> klsa", k=1000)(queries)
    )


# Lists of 1000 are fused, and all that is in any of them is an answer.
FUSED: dict[str, Callable[[lw.Collection], Callable[[Iterable[lw.Query]], list[lw.Result]]]] = {
    **{
        method: lambda c, method=method: c.pipeline(lw.fuse("bm25", "ql", method=method), k=2000)
        for method in ("min", "max", "sum", "anz", "mnz", "rrf")
    },
    "by rank, weighted": lambda c: c.pipeline(
        lw.fuse(
            "bm25",
            "near(model=lsi)",
            f"where({NUMBER_FILTER}) >> tfidf",
            normalise="rank",
            weights=[1, 0.5, 2],
        ),
        k=3000,
    ),
    "rm3, klsa, cut": lambda c: c.pipeline(
        lw.fuse("bm25 >> rm3(docs=5) >> bm25 >> klsa", "ql", method="mnz") >> Cut(50)
    ),
    "smoothed": lambda c: c.pipeline(lw.fuse("bm25", "ql") >> "klsa", k=50),
    "smoothed twice": twice,
    "cut before": lambda c: c.pipeline(lw.stage("bm25") >> first_five >> "klsa", k=20),
    "a function": lambda c: c.pipeline(lw.stage("bm25") >> asked_again >> "bm25", k=10),
}

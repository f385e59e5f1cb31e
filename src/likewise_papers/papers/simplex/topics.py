"""Documents as distributions over topics, and runs by their nearness."""

from __future__ import annotations

from likewise.compiled import Floats, Ints
from likewise.like.nearest import BuiltIndex
from likewise.like.space import Space
from likewise.models.ddm import LDA
from likewise.models.fitting import FitJob, fit_model
from likewise.models.stored_vectors import StoredVectors
from likewise.neighbours.index import build_neighbours
from likewise.stages.stage import Result as Found
from likewise_papers.bench import Bench
from likewise_papers.data import Ready


def fitted(bench: Bench, ready: Ready, topics: int) -> StoredVectors:
    """Fit LDA, or take what was fitted before: several tables are of the same topics."""
    config = LDA(topics=topics, sweeps=bench["sweeps"], seed=bench.seed)

    def fit() -> StoredVectors:
        bench.say(f"{ready.name}: {config}")
        model = fit_model(ready.snapshot, config, FitJob(threads=bench.threads))
        return StoredVectors(ready.snapshot, model, words=0)

    return ready.snapshot.memo(("topics of simplex", str(config)), fit)


def distributions(stored: StoredVectors) -> tuple[Ints, Floats]:
    """Give the documents that have topics, and these, a row of shares each.

    Others are no one's neighbours; an index that had to leave them out would score all of a small
    collection instead.
    """
    docs = stored.collection.live_docs()
    rows = stored.coordinates(docs)
    there = rows.any(axis=1)
    shares: Floats = rows[there] / rows[there].sum(axis=1, keepdims=True)
    return docs[there], shares


def near_queries(
    ready: Ready, stored: StoredVectors, metric: str, method: str, *, k: int
) -> list[Found]:
    """Rank the documents nearest to each query."""
    docs, shares = distributions(stored)
    neighbours = build_neighbours(shares, metric=metric, method=method)
    index = BuiltIndex(neighbours, docs, stored.collection.bases)
    space = Space(stored, neighbours.metric, index)
    vectors = space.text_vectors([query.text for query in ready.queries])
    ranked = space.rank(vectors, k)
    return [Found(query, one) for query, one in zip(ready.queries, ranked, strict=True)]

"""How golden answers are asked for: the calls of this tree, each kind of question a function."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import likewise as lw
from golden_collections import Built, every, text_of, vectors_of
from likewise.engine.answers import named

Pairs = Iterable[tuple[str, float]]
Found = Mapping[str, Pairs]
Ask = Callable[[Built], Found]

N_QUERIES, N_DEEP, N_EXPLAINED = 15, 5, 3
MEASURED = ("similarity", "distance", "cosine")


def searched(
    *, n: int = N_QUERIES, k: int = 10, filter: str = "", threads: int = 1, **how: str
) -> Ask:
    """Queries through a search: `method`, `expand` and `smooth` as they are written."""

    def ask(built: Built) -> Found:
        stage = built.collection.pipeline(k=k, filter=filter or (), threads=threads, **how)
        return ranked(built, stage(every(built.queries, n)))

    return ask


def whole(*, n: int = 5, k: int = 10, **how: str) -> Ask:
    """Whole documents as queries."""

    def ask(built: Built) -> Found:
        collection = built.collection
        queries = [lw.Query(doc_id, text_of(collection[doc_id])) for doc_id in built.ids[:n]]
        return ranked(built, collection.pipeline(k=k, **how)(queries))

    return ask


def weighted(method: str) -> Ask:
    """Queries of weighted terms, the last of which counts against a document."""

    def ask(built: Built) -> Found:
        queries = []
        for query in every(built.queries, N_QUERIES):
            terms = [*built.collection.snapshot.analyzer.counts(query.text)]
            weights = {term: 2.0 / (i + 1) for i, term in enumerate(terms)}
            queries.append(query._replace(terms=weights | {terms[-1]: -0.5}))
        return ranked(built, built.collection.pipeline(method, k=10)(queries))

    return ask


def piped(
    make: Callable[[lw.Collection], Callable[[Iterable[lw.Query]], list[lw.Result]]],
    *,
    n: int = N_QUERIES,
) -> Ask:
    """Queries through stages that are put together by hand."""
    return lambda built: ranked(built, make(built.collection)(every(built.queries, n)))


def fused_runs(*methods: str, **how: Any) -> Ask:
    """Runs, fused afterwards."""

    def ask(built: Built) -> Found:
        queries = every(built.queries, N_QUERIES)
        run = built.collection.run
        runs = [run(queries, k=50, method=method, name=method, threads=1) for method in methods]
        return lw.fuse_runs(runs, **how)

    return ask


def ranked(built: Built, answered: Iterable[lw.Result]) -> Found:
    return built.collection.pipeline("bm25").as_run(answered, name="golden")


def expanded(how: str) -> Ask:
    """The weighted terms of expanded queries."""

    def ask(built: Built) -> Found:
        stage = built.collection.pipeline("bm25", k=1, expand=how)
        queries = [answered.query for answered in stage(every(built.queries, N_QUERIES))]
        return {query.qid: heaviest(query.terms or {}) for query in queries}

    return ask


def explained(**how: str) -> Ask:
    """The parts of the first answers' scores."""

    def ask(built: Built) -> Found:
        found = {}
        for query in every(built.queries, N_EXPLAINED):
            answers = built.collection.search(query, k=3, explain=True, **how)
            found |= {f"{query.qid} {answer.doc_id}": parts(answer) for answer in answers}
        return found

    return ask


def parts(answer: lw.Answer) -> Pairs:
    found = []
    for part in answer.explanation.parts if answer.explanation else ():
        found += part.parts if part.kind == "group" else [part]
    found.sort(key=lambda part: (-abs(part.score), part.name))
    return [
        (f"like {part.name}" if part.kind == "document" else named(part), part.score)
        for part in found
    ]


def liked(
    method: str, *, n: int = 8, k: int = 10, ids: int = 1, unlike: int = 0, filter: str = ""
) -> Ask:
    """Documents in hand by id, one or some at a time, and others to keep away from."""

    def ask(built: Built) -> Found:
        found = {}
        for i in range(n):
            mine = [built.ids[(i + j) % len(built.ids)] for j in range(ids + unlike)]
            like, other = mine[:ids], mine[ids:]
            answers = built.collection.like(
                like, unlike=other, k=k, method=method, filter=filter or ()
            )
            found[" ".join(mine)] = scores(answers)
        return found

    return ask


def liked_at_once(method: str, *, k: int = 100) -> Ask:
    """All documents in hand in one call, on two threads."""

    def ask(built: Built) -> Found:
        queries = [lw.Query(doc_id, like=(lw.QueryDocument(doc_id),)) for doc_id in built.ids]
        return ranked(built, built.collection.pipeline(method, k=k, threads=2)(queries))

    return ask


def liked_text(method: str, *, vector: bool = False, unlike: bool = False, n: int = 5) -> Ask:
    """Texts from outside, with their vectors or without, and another text to keep away from."""

    def ask(built: Built) -> Found:
        found = {}
        texts = outside(built, n)
        for (question, text), other in zip(texts.items(), [*texts.values()][::-1], strict=True):
            answers = built.collection.like(
                text=text,
                unlike_text=other if unlike else (),
                vector=vectors_of([text])[0] if vector else None,
                method=method,
            )
            found[question] = scores(answers)
        return found

    return ask


def outside(built: Built, n: int) -> dict[str, str]:
    """Texts that the collection does not have: a query, and the beginning of a document."""
    return {
        f"{query.qid} {doc_id}": f"{query.text} {built.collection[doc_id].text[:500]}"
        for query, doc_id in zip(every(built.queries, n), every(built.ids, n), strict=True)
    }


def liked_vector(method: str) -> Ask:
    """Vectors alone."""

    def ask(built: Built) -> Found:
        queries = every(built.queries, 5)
        vectors = vectors_of([query.text for query in queries])
        like = built.collection.like
        return {
            query.qid: scores(like(vector=vector, method=method))
            for query, vector in zip(queries, vectors, strict=True)
        }

    return ask


def like_explained(method: str, *, text: bool = False) -> Ask:
    """The parts of likeness, and where there are any the passages that carry it."""

    def ask(built: Built) -> Found:
        found: dict[str, Pairs] = {}
        texts = outside(built, N_EXPLAINED)
        for one in texts if text else every(built.ids, N_EXPLAINED):
            given = {"text": texts[one]} if text else {"ids": one}
            answers = built.collection.like(**given, k=3, method=method, explain=True)
            for answer in answers:
                found[f"{one} {answer.doc_id}"] = parts(answer)
                if answer.passages:
                    found[f"{one} {answer.doc_id} passages"] = [
                        (passage.text, passage.score) for passage in answer.passages
                    ]
        return found

    return ask


def near(how: str, *, explain: bool = False) -> Ask:
    """Neighbours of documents in a model's space."""

    def ask(built: Built) -> Found:
        found = {}
        for doc_id in built.ids[: N_EXPLAINED if explain else N_QUERIES]:
            answers = built.collection.like(
                doc_id, k=3 if explain else 10, method=how, explain=explain
            )
            if explain:
                found |= {f"{doc_id} {answer.doc_id}": parts(answer) for answer in answers}
            else:
                found[doc_id] = scores(answers)
        return found

    return ask


def near_all(how: str) -> Ask:
    """The neighbours of every document, as a file of them."""

    def ask(built: Built) -> Found:
        found: dict[str, list[tuple[str, float]]] = {}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "near.jsonl"
            built.collection.write_neighbours(path, k=3, method=how, threads=2)
            for line in map(json.loads, path.read_text("utf-8").splitlines()):
                mine = found.setdefault(line["doc_id"], [])
                mine.append((line["neighbour_id"], line["distance"]))
        return found

    return ask


def scores(answers: lw.Answers) -> Pairs:
    return [(answer.doc_id, answer.score) for answer in answers]


def related(texts: Iterable[str], graph: str = "", **nearness: Any) -> Ask:
    """The nearest terms, and what brings them near."""

    def ask(built: Built) -> Found:
        found: dict[str, Pairs] = {}
        for text in texts:
            terms = built.collection.terms.near(text, 10, graph=graph, **nearness)
            found[text] = [(term.name, term.similarity) for term in terms]
            for term in terms[:3]:
                through = [(link.name, link.part) for link in term.through]
                found[f"{text}: {term.name}"] = [*through, *((step, 0.0) for step in term.path)]
        return found

    return ask


def apart(texts: tuple[str, ...], graph: str = "", **nearness: Any) -> Ask:
    """How near two texts are."""

    def ask(built: Built) -> Found:
        found = {}
        for a, b in pairwise(texts):
            between = built.collection.terms.distance(a, b, graph=graph, **nearness)
            measured = [(name, getattr(between, name)) for name in MEASURED]
            through = [(link.name, link.part) for link in between.through]
            found[f"{a} / {b}"] = [*measured, *through]
        return found

    return ask


def predicted(*, texts: Iterable[str] = (), **how: Any) -> Ask:
    """The terms that texts, or documents, can be expected to mention, and by which documents."""

    def ask(built: Built) -> Found:
        predict = built.collection.terms.predict
        asked = {text: {"text": text} for text in texts}
        asked = asked or {doc_id: {"id": doc_id} for doc_id in built.ids[:5]}
        found: dict[str, Pairs] = {}
        for name, given in asked.items():
            terms = predict(**given, k=10, **how)
            found[name] = [(term.name, term.score) for term in terms]
            found |= {f"{name}: {term.name}": term.documents for term in terms[:3]}
        return found

    return ask


def perturbed(strategy: str) -> Ask:
    """The strongest words of perturbed queries, and those that move with each."""

    def ask(built: Built) -> Found:
        found: dict[str, Pairs] = {}
        for query in every(built.queries, 5):
            moved = built.collection.terms.perturb(query, strategy)
            strongest = moved.strongest(10)
            names = moved.pool.names(strongest)
            found[query.qid] = [*zip(names, moved.models[0, strongest].tolist(), strict=True)]
            found |= {f"{query.qid} {name}": moved.nearest(name, 5) for name in names[:3]}
        return found

    return ask


def decomposed(model: str) -> Ask:
    """Topics, specific words and shares of documents."""

    def ask(built: Built) -> Found:
        collection, ids = built.collection, built.ids
        topics, bounds, terms, weights, shares = collection.models.transform(ids, model=model)
        words = collection.snapshot.terms(terms)
        found: dict[str, Pairs] = {}
        for i, doc_id in enumerate(ids):
            mine = slice(bounds[i], bounds[i + 1])
            found[f"{doc_id} topics"] = numbered(topics[i])
            found[f"{doc_id} words"] = [*zip(words[mine], weights[mine].tolist(), strict=True)]
            found[f"{doc_id} shares"] = numbered(shares[i])
        return found

    return ask


def decomposed_text(model: str) -> Ask:
    """The same of texts from outside, as they are shown."""

    def ask(built: Built) -> Found:
        found: dict[str, Pairs] = {}
        for query in every(built.queries, 5):
            made = built.collection.models.decompose(text=query.text, model=model)
            found[f"{query.qid} topics"] = [(topic.label, topic.share) for topic in made.topics]
            found[f"{query.qid} words"] = [(word.term, word.weight) for word in made.own]
            found[f"{query.qid} shares"] = numbered(made.shares)
        return found

    return ask


def indexed(method: str, metric: str) -> Ask:
    """Neighbours of drawn vectors, no collection's, by a kind of index."""

    def ask(built: Built | None) -> Found:
        vectors = drawn()
        neighbours = lw.build_neighbours(vectors, metric=metric, method=method)
        neighbours.add(vectors[:500] * 0.5 + vectors[500:1000] * 0.5)
        neighbours.delete(np.arange(0, len(vectors), 7))
        numbers, distances = neighbours.nearest(vectors[::500], 10)
        rows = zip(numbers.tolist(), distances.tolist(), strict=True)
        return {str(i): [*zip(map(str, n), d, strict=True)] for i, (n, d) in enumerate(rows)}

    return ask


def drawn() -> np.ndarray:
    rows = np.random.default_rng(0).dirichlet(np.full(100, 0.1), 10_000)
    return rows.astype(np.float32)


def certified(metric: str) -> Ask:
    """The nearest drawn vectors with a proof, and how many were looked at for it."""

    def ask(built: Built | None) -> Found:
        vectors = drawn()
        neighbours = lw.build_neighbours(vectors, metric=metric)
        found = neighbours.nearest(vectors[::500], 10, certified=True)
        rows = zip(
            *(a.tolist() for a in (found.numbers, found.distances, found.examined)), strict=True
        )
        return {
            str(i): [*zip(map(str, numbers), distances, strict=True), ("examined", n)]
            for i, (numbers, distances, n) in enumerate(rows)
        }

    return ask


def numbered(values: Iterable[float]) -> Pairs:
    return [(str(i), float(value)) for i, value in enumerate(values)]


def heaviest(terms: Mapping[str, float]) -> Pairs:
    return sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))

"""The nearest documents by stored vectors, against the formulas over all of them."""

from importlib.util import find_spec

import numpy as np
import pytest

import likewise as lw
from likewise.errors import DamagedError, UsageError
from likewise.like import nearest as nearest_docs
from likewise.like import space as spaces
from likewise.models import kinds
from likewise.models.stored_vectors import vectors_of
from likewise.neighbours import vectors as stored_vectors
from likewise.neighbours.metrics import METRICS
from likewise.records import Filter
from likewise.stages.masks import mask_of

from .conftest import documents, space_by

TOPICAL = [f"near(model=lda,metric={name})" for name in METRICS]
SPACES = ["near(model=lsi)", *(f"near(model=lsi,metric={name})" for name in ("inner", "euclidean"))]
SAME = "heat-4"
EVERY = [*TOPICAL, *SPACES, "near(model=own)"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Several segments, deletions, documents without words, and three that are the same."""
    folder = tmp_path_factory.mktemp("nearest") / "c.lw"
    every = list(documents(120))
    [same] = [one["text"] for one in every if one["id"] == SAME]
    c = lw.index(every[:50], to=folder, model="lsi(topics=5)")
    c.add([*every[50:80], {"id": "void", "text": "", "theme": "none"}])
    c.add([*every[80:], *({"id": f"same-{i}", "text": same, "theme": "flow"} for i in range(3))])
    c.models.fit("lda(topics=4,sweeps=30)")
    random = np.random.default_rng(0)
    c.models.fit(vectors=random.standard_normal((len(c), 7)), ids=[one.id for one in c], name="own")
    c.delete([every[3]["id"], every[60]["id"], every[61]["id"]])
    return c


def formula(metric, rows, query):
    """The similarity of each row with a query, in double precision."""
    if metric == "inner":
        return rows @ query
    if metric == "euclidean":
        return -((rows - query) ** 2).sum(axis=1)
    if metric == "cosine":
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
        return np.divide(rows @ query, lengths, out=np.zeros(len(rows)), where=lengths > 0)
    p = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
    q = query / query.sum()
    if metric == "hellinger":
        return np.sqrt(p * q).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if metric == "kl":
            return -np.where(q > 0, q * np.log(q / p), 0).sum(axis=1)
        m = (p + q) / 2
        sides = [np.where(one > 0, one * np.log(one / m), 0) for one in (p, q)]
        return 1 - (sides[0] + sides[1]).sum(axis=1) / (2 * np.log(2))


def expected(c, near, query, *, allowed=None, omit=-1):
    """All documents that can be answers, with their similarities, by the formula."""
    space = space_by(c, near)
    if space.metric.rootless and not query.any():
        return {}
    rows = space.stored.coordinates(np.arange(c.snapshot.n_slots)).astype(np.float64)
    scores = formula(space.metric.name, rows, query.astype(np.float64))
    open_ = np.zeros(len(rows), np.bool_)
    open_[c.snapshot.live_docs()] = True
    if space.metric.rootless:
        open_ &= rows.any(axis=1)
    if allowed is not None:
        open_ &= np.concatenate(allowed)
    open_ &= np.isfinite(scores)
    open_[omit if omit >= 0 else []] = False
    return {doc: scores[doc] for doc in np.flatnonzero(open_).tolist()}


def check(ranking, truth, k):
    assert len(ranking.docs) == min(k, len(truth))
    assert ranking.scores.tolist() == pytest.approx(
        sorted(truth.values(), reverse=True)[:k], abs=2e-6
    )
    assert ranking.scores.tolist() == pytest.approx(
        [truth[doc] for doc in ranking.docs.tolist()], abs=2e-6
    )
    order = np.lexsort((ranking.docs, -ranking.scores))
    assert order.tolist() == list(range(len(order)))


@pytest.mark.parametrize("near", EVERY)
@pytest.mark.parametrize("k", [1, 7, 5000])
def test_neighbours_are_those_of_the_formula(parts, near, k):
    space = space_by(parts, near)
    for doc in (0, 49, 50, 100, 121):
        [vector] = space.stored.coordinates(np.array([doc]))
        [ranking] = space.rank(vector[None, :], k, omit=np.array([doc]))
        check(ranking, expected(parts, near, vector, omit=doc), k)


@pytest.mark.parametrize("near", EVERY)
@pytest.mark.parametrize("where", [(), ("theme=heat",), ("theme=none",)])
def test_answers_are_those_of_the_formula_among_those_of_a_filter(parts, near, where):
    space = space_by(parts, near)
    allowed = mask_of(parts.snapshot, Filter.read(where)).segments if where else None
    texts = ["laminar flow on a plate", "wing flutter", "heat", "wing lift and heat transfer tail"]
    vectors = space.text_vectors(texts * 3)
    for k in (3, 5000):
        together = space.rank(vectors, k, allowed=allowed)
        for vector, ranking in zip(vectors, together, strict=True):
            check(ranking, expected(parts, near, vector, allowed=allowed), k)
            [alone] = space.rank(vector[None, :], k, allowed=allowed, threads=2)
            assert np.array_equal(alone.docs, ranking.docs)
            assert np.array_equal(alone.scores, ranking.scores)


@pytest.mark.parametrize("near", EVERY)
def test_bits_are_those_of_an_index_that_is_scanned(parts, near):
    built = space_by(parts, f"{near[:-1]},index=scan)")
    for k in (1, 4, 300):
        docs = parts.snapshot.live_docs()
        mine, other = space_by(parts, near).nearest_to(docs, k), built.nearest_to(docs, k)
        assert np.array_equal(mine.numbers, other.numbers)
        assert np.array_equal(mine.distances, other.distances)


@pytest.mark.parametrize("near", EVERY)
def test_explanations_of_stored_vectors_add_up(parts, near):
    for answer in parts.like("same-1", k=15, method=near, explain=True):
        total = sum(part.score for part in answer.explanation.parts)
        assert total == pytest.approx(answer.score, abs=1e-5)


@pytest.mark.parametrize("near", SPACES)
def test_what_is_the_same_is_ranked_by_document(parts, near):
    found = parts.like("same-1", k=100, method=near)
    same = [answer for answer in found if answer.doc_id in (SAME, "same-0", "same-2")]
    assert [answer.doc_id for answer in same] == [SAME, "same-0", "same-2"]
    assert len({answer.score for answer in same}) == 1


@pytest.mark.parametrize("near", EVERY)
def test_no_index_is_built(parts, near, monkeypatch, tmp_path):
    def build(*_, **__):
        raise AssertionError("an index is built")

    monkeypatch.setattr(spaces, "build_neighbours", build)
    c = lw.open(parts.folder)
    assert c.like("same-0", method=near)
    assert c.search("wing flutter", method=near) or "own" in near
    assert c.write_neighbours(tmp_path / "graph.jsonl", k=2, method=near) > 0
    with pytest.raises(AssertionError, match="an index is built"):
        c.like("same-0", method=f"{near[:-1]},index=scan)")


def test_an_index_that_is_named_is_built(parts):
    named = ["scan", "tree", "lsh", "codes", "lists", "auto(recall=0.9)"]
    named += ["ivf", "hnsw"] if find_spec("faiss") else []
    truth = parts.like("same-0", k=5, method="near(model=lda)")
    for index in named:
        near = f"near(model=lda,index={index})"
        assert isinstance(space_by(parts, near).finder, nearest_docs.BuiltIndex)
        found = parts.like("same-0", k=5, method=near)
        assert len(found) <= 5
        assert found[0].score == truth[0].score


@pytest.mark.parametrize("near", EVERY)
def test_memory_is_bounded_by_blocks(parts, near, monkeypatch):
    docs = parts.snapshot.live_docs()
    whole = space_by(parts, near).nearest_to(docs, 9)
    monkeypatch.setattr(nearest_docs, "_DOCS_AT_ONCE", 5)
    monkeypatch.setattr(stored_vectors, "_ROWS_AT_ONCE", 11)
    cut = space_by(lw.open(parts.folder), near).nearest_to(docs, 9)
    assert np.array_equal(whole.numbers, cut.numbers)
    assert np.array_equal(whole.distances, cut.distances)


@pytest.mark.parametrize("near", EVERY)
def test_a_collection_whose_documents_are_all_gone(tmp_path, near):
    c = lw.index([*documents(8)], to=tmp_path / "c.lw", model="lsi(topics=2)")
    c.models.fit("lda(topics=2,sweeps=5)")
    ids = [one.id for one in c]
    c.models.fit(
        vectors=np.random.default_rng(0).standard_normal((len(ids), 3)), ids=ids, name="own"
    )
    c.delete(ids[1:])
    assert len(c.like(ids[0], method=near)) == 0
    c.delete(ids[0])
    assert len(c.search("wing flutter", method=near)) == 0
    assert c.write_neighbours(tmp_path / "graph.jsonl", method=near) == 0


@pytest.mark.parametrize("model", ["lsi(topics=6)", "lda(topics=6,sweeps=20)"])
def test_finders_of_segments_propose(tmp_path, monkeypatch, model):
    monkeypatch.setattr(kinds, "FEWEST_FOUND", 500)
    c = lw.index([*documents(1500)], to=tmp_path / "c.lw", model=model)
    c.add([{**one, "id": f"new-{i}"} for i, one in enumerate(documents(60, seed=1))])
    space = space_by(c, "near")
    assert [one is not None for one in space.stored.finders] == [True, False]
    scanned = space_by(c, "near(index=scan)")
    docs = c.snapshot.live_docs()[::20]
    found, truth = space.nearest_to(docs, 10), scanned.nearest_to(docs, 10)
    shares = [np.isin(*pair).mean() for pair in zip(truth.distances, found.distances, strict=True)]
    assert np.mean(shares) > 0.97
    alone = [space.nearest_to(docs[i : i + 1], 10) for i in range(len(docs))]
    assert np.array_equal(found.numbers, np.concatenate([one.numbers for one in alone]))


def test_vectors_that_were_altered_are_told(parts, monkeypatch):
    c = lw.open(parts.folder)
    halves = vectors_of(c.snapshot, "lda")
    points = halves.segments[0].dense
    wrong = points._replace(scales=points.scales * np.float32(3))
    halves.segments[0] = halves.segments[0]._replace(dense=wrong)
    checked = []
    monkeypatch.setattr(type(c.snapshot), "check", lambda _: checked.append(1))
    with pytest.raises((UsageError, DamagedError)):
        c.like("same-0", method="near(model=lda)")
    assert checked

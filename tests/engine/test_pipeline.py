"""The default search: few answers are the first of many, and scores fall down a list."""

import numpy as np
import orjson
import pytest

import likewise as lw

THEMES = {
    "flow": "boundary layer flow laminar viscous plate transition speed",
    "wing": "wing flutter aileron span lift tail panel speed",
    "heat": "heat transfer temperature conduction thermal radiation plate layer",
}
METHODS = ["", "bm25 >> klsa", "bm25 >> klsa(adapt=2)", "ql >> klsa", "bm25 >> rm3 >> bm25 >> keep"]
QUERIES = ["wing flutter speed", "laminar plate", "heat", "viscous wing transfer layer", "unheard"]
KS = (1, 10, 200, 500, 999)
MANY = 1000


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """More documents than are ever scored for a few answers, of words of two themes each."""
    random = np.random.default_rng(0)
    names = sorted(THEMES)
    documents = []
    for i in range(2500):
        own, other = (THEMES[names[(i + j) % 3]].split() for j in range(2))
        words = [*random.choice(own, random.integers(3, 12)), *random.choice(other, 3)]
        documents.append({"id": str(i), "text": " ".join(words), "even": i % 2 == 0})
    folder = tmp_path_factory.mktemp("pipeline") / "toy.lw"
    return lw.index(documents, to=folder, model="none", smooth="klsa(axes=8)")


@pytest.fixture(scope="module")
def cran(real, tmp_path_factory):
    """Cranfield, and some of its queries."""
    folder = real("cran")
    [corpus] = folder.glob("corpus.jsonl*")
    lines = (folder / "queries.jsonl").read_bytes().splitlines()[::15]
    c = lw.index(
        str(corpus), to=tmp_path_factory.mktemp("pipeline") / "cran.lw", model="none", smooth="klsa"
    )
    return c, [orjson.loads(line)["text"] for line in lines]


def check(pipeline_of, queries):
    """Compare few answers with many; give how many there were."""
    many = [result.ranking for result in pipeline_of(MANY)(queries)]
    for k in KS:
        for few, ranking in zip(pipeline_of(k)(queries), many, strict=True):
            assert few.ranking.docs.tolist() == ranking.docs[:k].tolist()
            assert few.ranking.scores.tolist() == ranking.scores[:k].tolist()
    assert all((np.diff(ranking.scores) <= 0).all() for ranking in many)
    return max(len(ranking.docs) for ranking in many)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("filter", ["", "even=true", ["even=true", "id!=10"]])
def test_few_answers_are_the_first_of_many(toy, method, filter):
    n = check(lambda k: toy.pipeline(method, k=k, filter=filter), QUERIES)
    assert n > KS[-2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("filter", ["", "id!=1*"])
def test_so_they_are_of_real_documents(cran, method, filter):
    c, queries = cran
    assert check(lambda k: c.pipeline(method, k=k, filter=filter), queries) > KS[2]


def test_pipelines_that_are_named_by_texts_are_kept_with_their_state(tmp_path):
    c = lw.index([{"id": "1", "text": "wing"}], to=tmp_path / "c.lw", model="none", smooth=None)
    made = c.pipeline("bm25", k=10)
    assert c.pipeline("bm25", k=10) is made
    for name in ("k", "threads", "stage", "snapshot"):
        with pytest.raises(AttributeError):
            setattr(made, name, 3)
    assert [p.k for p in (c.pipeline("bm25", k=11), c.pipeline("bm25", k=10))] == [11, 10]
    assert str(c.pipeline("bm25", k=10, filter="id=1")) == "where(id=1) >> bm25"
    assert str(c.pipeline(lw.stage("ql"), k=10)) == "ql"
    for k in (10.0, "10"):
        with pytest.raises(lw.errors.UsageError):
            c.pipeline("bm25", k=k)
    c.add([{"id": "2", "text": "wing"}])
    assert c.pipeline("bm25", k=10).snapshot is c.snapshot is not made.snapshot
    assert [answer.doc_id for answer in c.search("wing", method="bm25")] == ["1", "2"]
    with pytest.raises(lw.errors.UsageError, match="works on a ranking"):
        c.search("wing", method="proximity")
    c.close()
    with pytest.raises(lw.errors.UsageError, match="was closed"):
        c.pipeline("bm25", k=10)

"""What was first by the words of a query stays first: places that are parts of scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.records import EMPTY, Query, Ranking
from likewise.retrieve.keep import KEPT_NAME, Keep
from likewise.stages.stage import Context, Each, Result

TEXTS = {
    "first": "wing wing flutter",
    "second": "wing flutter tail of a plane",
    **{f"d{i}": f"flutter tail panel span lift {'wing ' * (i % 2)}plane{i}" for i in range(12)},
}


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """Some texts, of which one is ahead by its words."""
    folder = tmp_path_factory.mktemp("keep") / "c.lw"
    documents = [
        {"id": name, "text": text, "even": name[-1] in "02468"} for name, text in TEXTS.items()
    ]
    return lw.index(documents, to=folder, model="none", smooth="none")


def reverse(result):
    """A stage that puts the last first."""
    docs, scores = result.ranking
    return result._replace(ranking=Ranking(docs[::-1].copy(), scores), first=result.ranking)


@pytest.mark.parametrize("k", [1, 2, 5, 100])
def test_what_was_first_is_first_again(c, k):
    found = c.pipeline("bm25", k=k) >> Each(reverse) >> Keep(docs=2, gap=0)
    [result] = found("wing flutter")
    [before] = c.pipeline("bm25", k=100)("wing flutter")
    assert result.ranking.docs[:2].tolist() == before.ranking.docs[: min(k, 2)].tolist()
    assert len(result.ranking.docs) == min(k, len(before.ranking.docs))
    assert (np.diff(result.ranking.scores) <= 0).all()


def test_a_place_is_a_part_of_the_score(c):
    method = "bm25 >> rm3(share=1,terms=3,docs=14) >> bm25 >> keep(gap=0)"
    given = []
    for query in ("wing", "wing plane", "wing span"):
        answers = c.search(query, method=method, explain=True)
        first = c.search(query, method="bm25")
        assert [answers[i].doc_id for i in (0, 1)] == [first[i].doc_id for i in (0, 1)]
        for i, answer in enumerate(answers):
            parts = answer.explanation.parts
            assert sum(p.score for p in parts) == pytest.approx(answer.score, abs=1e-6)
            kept = [p.score for p in parts if p.name == KEPT_NAME]
            assert not kept or i < 3
            given += kept
    assert given
    assert min(given) > 0


def test_few_answers_are_the_first_of_many(c):
    for query in ("wing flutter", "tail", "plane wing"):
        many = c.search(query, k=100)
        for k in (1, 2, 3, 10):
            assert [a.doc_id for a in c.search(query, k=k)] == [a.doc_id for a in many][:k]
            assert [a.score for a in c.search(query, k=k)] == [a.score for a in many][:k]


def test_a_later_filter_holds(c):
    stage = c.pipeline("bm25") >> Each(reverse) >> lw.stage("where(even=true)") >> Keep(2, 0)
    [result] = stage("wing flutter")
    ids = c.snapshot.doc_ids(result.ranking.docs)
    assert ids
    assert all(doc_id[-1] in "02468" for doc_id in ids)


def test_without_expansion_nothing_is_kept(c):
    plain, kept = (c.search("wing flutter", method=m) for m in ("bm25", "bm25 >> keep"))
    assert [(a.doc_id, a.score) for a in plain] == [(a.doc_id, a.score) for a in kept]


@given(
    st.lists(st.integers(-20, 20), max_size=6), st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.5])
)
def test_documents_are_kept_while_they_are_ahead(scores, n, gap):
    scores = np.array(sorted(scores, reverse=True), np.float64)
    first = Ranking(np.arange(len(scores)), scores)
    kept = Keep(n, gap).chosen(first).tolist()
    assert kept == [*range(len(kept))]
    from_floor = scores - min(scores.min(initial=0.0), 0.0)
    after = [*from_floor[1:], 0.0]
    ahead = [a - b >= gap * from_floor[0] for a, b in zip(from_floor, after, strict=False)]
    expected = next((i for i, one in enumerate(ahead[:n]) if not one), min(n, len(scores)))
    assert len(kept) == expected


def test_nothing_found_stays_nothing(c):
    [result] = Keep().run([Result(Query("q", "x"), EMPTY)], Context(c.snapshot))
    assert not len(result.ranking.docs)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"docs": 0}, "docs of at least 1"), ({"docs": 1.5}, "docs"), ({"gap": 2}, "gap from 0 to 1")],
)
def test_bad_options(options, message):
    with pytest.raises(UsageError, match=message):
        Keep(**options)


def test_how_far_scores_fall():
    ranking = Ranking(np.arange(12), np.arange(12, 0, -1.0))
    assert ranking.decline() == pytest.approx(1 - 3 / 12)
    assert ranking.cut(9).decline() == 1
    assert EMPTY.decline() == 0
    assert Ranking(np.arange(10), np.full(10, 2.0)).decline() == 0
    assert Ranking(np.arange(10), np.arange(0, -10, -1.0)).decline() == 1

"""Do long queries go over to likeness, step by step?"""

import numpy as np
import pytest

import likewise as lw
from likewise.errors import UsageError
from likewise.records import Query
from likewise.stages.by_length import ByLength, n_terms
from likewise.stages.fusion import Fuse

THEMES = ("wing flutter lift drag", "heat plate layer boundary", "shock jet nozzle thrust")
WRITTEN = "by-length(bm25, tfidf, least=2, most=4)"


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    random = np.random.default_rng(0)
    documents = [
        {"id": f"d{i}", "text": " ".join(random.choice([*THEMES[i % 3].split(), "the"], 9)), "n": i}
        for i in range(40)
    ]
    return lw.index(documents, to=tmp_path_factory.mktemp("lengths") / "c.lw")


def answers(c, method, query, **options):
    return [(one.doc_id, one.score) for one in c.search(query, method=method, k=12, **options)]


def test_it_is_written_as_it_is_read():
    stage = lw.stage(WRITTEN)
    assert isinstance(stage, ByLength)
    assert str(stage) == WRITTEN
    assert lw.stage(str(stage)) == stage


@pytest.mark.parametrize(("n", "share"), [(0, 0), (2, 0), (3, 0.5), (4, 1), (400, 1)], ids=str)
def test_the_share_of_the_long_one_grows(n, share):
    stage = lw.stage(WRITTEN)
    assert stage.share(n) == share
    assert isinstance(stage.stage(stage.share(3)), Fuse)


def test_each_length_is_answered_by_its_own(c):
    assert answers(c, WRITTEN, "wing heat") == answers(c, "bm25", "wing heat")
    long = "wing heat plate shock jet"
    assert answers(c, WRITTEN, long) == answers(c, "tfidf", long)
    between = "fuse(bm25, tfidf, weights=0.5|0.5)"
    assert answers(c, WRITTEN, "wing heat jet") == answers(c, between, "wing heat jet")
    # The same word again is no longer query.
    assert answers(c, WRITTEN, "wing wing wing heat") == answers(c, "bm25", "wing wing wing heat")


def test_queries_of_all_lengths_in_one_batch(c):
    queries = ["wing", "wing heat jet", "wing heat plate shock jet", "heat"]
    together = c.pipeline(WRITTEN, k=5)(queries)
    alone = [c.pipeline(WRITTEN, k=5)(query)[0] for query in queries]
    assert [a.ranking.docs.tolist() for a in together] == [b.ranking.docs.tolist() for b in alone]


@pytest.mark.parametrize("query", ["wing", "wing heat jet", "wing heat plate shock jet"])
def test_reasons_add_up_and_filters_hold(c, query):
    found = c.search(query, method=WRITTEN, k=12, explain=True, filter="n<20")
    assert len(found)
    for answer in found:
        assert int(answer.doc_id[1:]) < 20
        parts = sum(part.score for part in answer.explanation.parts)
        assert parts == pytest.approx(answer.score, abs=1e-6)
    scores = [answer.score for answer in found]
    assert scores == sorted(scores, reverse=True)


def test_the_default_goes_over_to_likeness(c):
    text = " ".join(f"word{i}" for i in range(80)) + " wing flutter lift drag"
    assert n_terms(Query("q", text), c.snapshot) == 84
    assert answers(c, "", text) == answers(c, "hybrid", text)
    assert "by-length" in str(c.pipeline(""))


def test_documents_in_hand_are_long(c):
    both = [
        [(one.doc_id, one.score) for one in c.like("d1", method=method, k=5)]
        for method in (WRITTEN, "tfidf")
    ]
    assert both[0] == both[1]


def test_weighted_terms_are_counted(c):
    assert n_terms(Query("q", "wing", terms={"a": 1.0, "b": 2.0}), c.snapshot) == 2


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("by-length(bm25, tfidf, least=4, most=4)", "least must be at least 0 and below most"),
        ("by-length(bm25)", "a stage for short queries and one for long ones"),
        ("by-length(bm25, tfidf, least=x)", "least"),
    ],
)
def test_what_cannot_be_meant_is_refused(written, message):
    with pytest.raises(UsageError, match=message):
        lw.stage(written)

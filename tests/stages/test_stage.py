import numpy as np
import pytest

import likewise as lw
from likewise.errors import UsageError
from likewise.stages.stage import Each


def test_stages_compose_in_order_and_print_as_written(papers):
    pipeline = papers.retrieve("bm25") >> lw.Cut(2) >> papers.retrieve("ql(mu=10.0)", k=3)
    assert repr(pipeline) == "bm25 >> Cut(2) >> ql(mu=10.0)"
    [answered] = pipeline("wing flutter")
    alone = papers.retrieve("ql(mu=10.0)", k=3)("wing flutter")[0]
    assert answered.ranking.docs.tolist() == alone.ranking.docs.tolist()


def test_cut_keeps_the_best(papers):
    [whole] = papers.retrieve("bm25")("wing flutter flow")
    [cut] = (papers.retrieve("bm25") >> lw.Cut(2))("wing flutter flow")
    assert len(whole.ranking.docs) > 2
    assert cut.ranking.docs.tolist() == whole.ranking.docs[:2].tolist()
    assert cut.ranking.scores.tolist() == whole.ranking.scores[:2].tolist()
    with pytest.raises(UsageError, match="at least 1"):
        lw.Cut(0)


def test_a_function_of_one_answer_is_a_stage_that_can_rewrite_queries(papers):
    def expand(answered):
        return lw.Answered(answered.query._replace(terms={"heat": 1.0}), answered.ranking)

    pipeline = papers.retrieve("bm25") >> expand >> papers.retrieve("bm25")
    assert "expand" in repr(pipeline)
    [answered] = pipeline([lw.Query("q7", "wing")])
    assert answered.query.qid == "q7"
    assert papers.snapshot.doc_ids(answered.ranking.docs) == ["2"]


def test_weighted_terms_replace_the_text(papers):
    query = lw.Query("1", "wing", {"heat": 2.0})
    once = papers.search(lw.Query("1", "", {"heat": 1.0}), method="bm25")
    twice = papers.search(query, method="bm25")
    assert [answer.doc_id for answer in twice] == ["2"]
    assert twice[0].score == pytest.approx(2 * once[0].score)


def test_queries_may_be_texts_records_or_answers(papers):
    stage = papers.retrieve("bm25")
    [by_text] = stage("wing")
    [by_record] = stage(lw.Query("1", "wing"))
    [by_answer] = stage([by_text])
    for answered in (by_record, by_answer):
        assert np.array_equal(answered.ranking.docs, by_text.ranking.docs)
    assert [answered.query.qid for answered in stage(["wing", "heat"])] == ["1", "2"]
    assert stage([]) == []


def test_a_stage_must_say_what_it_does():
    with pytest.raises(UsageError, match="apply"):
        lw.Stage()("wing")
    assert "lambda" in repr(Each(lambda answered: answered))


def test_a_search_scores_documents_whether_or_not_they_were_ranked(papers):
    stage = papers.retrieve("bm25", k=1)
    whole = papers.retrieve("bm25")
    for text in ("wing flutter flow", "heat", "unheard", ""):
        [everything] = whole(text)
        docs = np.array([4, 1, 0, 3, 2])
        scores = stage.score(everything.query, docs)
        known = dict(
            zip(everything.ranking.docs.tolist(), everything.ranking.scores.tolist(), strict=True)
        )
        assert scores.tolist() == [known.get(doc, -np.inf) for doc in docs.tolist()]
        assert stage.score(everything.query, docs[:0]).tolist() == []


def test_weighted_terms_are_scored_as_they_are_searched(papers):
    query = lw.Query("1", "wing", {"heat": 2.0})
    [found] = papers.retrieve("ql")(query)
    [doc] = found.ranking.docs
    others = np.setdiff1d(np.arange(5), [doc])
    stage = papers.retrieve("ql")
    assert stage.score(query, np.array([doc])).tolist() == found.ranking.scores.tolist()
    assert (stage.score(query, others) == -np.inf).all()


def test_deleted_documents_are_not_scored(papers):
    papers.delete(["1"])
    scores = papers.retrieve("bm25").score(lw.Query("1", "wing"), np.arange(3))
    assert scores[0] == -np.inf
    assert scores[2] > 0


def test_a_chain_scores_by_its_last_stage_if_it_can(papers):
    docs = np.array([0, 2])
    query = lw.Query("1", "wing")
    search = papers.retrieve("ql(mu=10.0)")
    chain = papers.retrieve("bm25") >> lw.Cut(2) >> search
    assert chain.score(query, docs).tolist() == search.score(query, docs).tolist()
    assert (search >> lw.Cut(2)).score(query, docs) is None
    assert (search >> (lambda answered: answered)).score(query, docs) is None

"""What stages are: values that compose, results that carry what made them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import likewise as lw
from likewise.engine.pipeline import Pipeline
from likewise.errors import DeadlineExceeded, UsageError
from likewise.records import ALL, Filter, Ranking
from likewise.stages import Cut
from likewise.stages.stage import Context, Each, Result, Stage, as_results

WRITTEN = [
    "bm25",
    "bm25(k1=2.0) >> rm3(docs=5) >> bm25(k1=2.0)",
    "bm25 >> robust >> bm25 >> klsa(docs=10)",
    "fuse(bm25, ql, method=mnz) >> cut(100)",
    "fuse(bm25 >> rm3 >> bm25, near(metric=js), method=sum, normalise=rank, weights=1|0.5)",
    "where(year>=1960 & theme=wing or id=3) >> ql-jm(lam=0.2)",
    "hybrid(candidates=0) >> cut(3)",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_what_prints_is_what_is_read_and_what_compares(text):
    stage = lw.stage(text)
    assert str(stage) == text
    assert lw.stage(str(stage)) == stage
    assert hash(lw.stage(text)) == hash(stage)


@pytest.mark.parametrize("text", ["", "bm25 >>", "cut(0)", "cut(x)", "fuse()", "bm25)", "where(x)"])
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(UsageError):
        lw.stage(text)


def test_stages_compose_in_order_and_print_as_written(papers):
    pipeline = papers.pipeline("bm25") >> Cut(2) >> papers.pipeline("ql(mu=10.0)", k=3)
    assert str(pipeline) == "bm25 >> cut(2) >> ql(mu=10.0)"
    [result] = pipeline("wing flutter")
    alone = papers.pipeline("ql(mu=10.0)", k=3)("wing flutter")[0]
    assert result.ranking.docs.tolist() == alone.ranking.docs.tolist()


def test_cut_keeps_the_best(papers):
    [whole] = papers.pipeline("bm25")("wing flutter flow")
    [cut] = (papers.pipeline("bm25") >> Cut(2))("wing flutter flow")
    assert len(whole.ranking.docs) > 2
    assert cut.ranking.docs.tolist() == whole.ranking.docs[:2].tolist()
    assert cut.ranking.scores.tolist() == whole.ranking.scores[:2].tolist()
    with pytest.raises(UsageError, match="at least 1"):
        Cut(0)


def test_a_function_of_one_result_is_a_stage_that_can_rewrite_queries(papers):
    def expand(result):
        return result._replace(query=result.query._replace(terms={"heat": 1.0}))

    pipeline = papers.pipeline("bm25") >> expand >> lw.stage("bm25")
    assert "expand" in repr(pipeline)
    [result] = pipeline([lw.Query("q7", "wing")])
    assert result.query.qid == "q7"
    assert papers.snapshot.doc_ids(result.ranking.docs) == ["2"]


def test_a_function_that_changes_a_ranking_loses_what_explains_it(papers):
    def reverse(result):
        docs, scores = result.ranking
        return result._replace(ranking=Ranking(docs[::-1], np.sort(scores)[::-1]))

    pipeline = papers.pipeline("bm25") >> reverse
    [result] = pipeline("wing flutter")
    assert result.scorer is None
    assert len(pipeline.answers("wing flutter")) == len(result.ranking.docs)
    with pytest.raises(UsageError, match="made of"):
        pipeline.answers("wing flutter", explain=True)
    with pytest.raises(UsageError, match="Result"):
        (papers.pipeline("bm25") >> (lambda result: result.query))("wing")


def test_weighted_terms_replace_the_text(papers):
    query = lw.Query("1", "wing", {"heat": 2.0})
    once = papers.search(lw.Query("1", "", {"heat": 1.0}), method="bm25")
    twice = papers.search(query, method="bm25")
    assert [answer.doc_id for answer in twice] == ["2"]
    assert twice[0].score == pytest.approx(2 * once[0].score)


def test_queries_may_be_texts_records_or_results(papers):
    stage = papers.pipeline("bm25")
    [by_text] = stage("wing")
    [by_record] = stage(lw.Query("1", "wing"))
    [by_result] = stage([by_text])
    for result in (by_record, by_result):
        assert np.array_equal(result.ranking.docs, by_text.ranking.docs)
    assert [result.query.qid for result in stage(["wing", "heat"])] == ["1", "2"]
    assert stage([]) == []
    with pytest.raises(UsageError, match=r"text, or a Query whose text is one, not 3 \(int\)"):
        stage([3])


def test_a_stage_must_say_what_it_does(papers):
    with pytest.raises(UsageError, match="define run"):
        Pipeline(papers.snapshot, Stage())("wing")
    assert "lambda" in str(Each(lambda result: result))
    with pytest.raises(UsageError, match=r"a stage is a text such as .*, not 3"):
        papers.pipeline("bm25") >> 3


def test_a_stage_gives_one_result_for_each_query(papers):
    @dataclass(frozen=True)
    class Lost(Stage):
        notation: ClassVar[str] = "lost"

        def run(self, batch, context):
            return [*batch][1:]

    with pytest.raises(UsageError, match="lost gave 1 results for 2 queries"):
        (papers.pipeline("bm25") >> Lost())(["wing", "heat"])


def test_no_stage_begins_after_the_deadline(papers, monkeypatch):
    now = iter([1.0, 2.0, 3.0])
    monkeypatch.setattr("likewise.stages.stage.monotonic", lambda: next(now))
    begun = []

    def second(result):
        begun.append(result)
        return result

    chain = lw.stage("bm25") >> second >> Cut(3)
    with pytest.raises(DeadlineExceeded):
        chain.run(as_results("wing"), Context(papers.snapshot, deadline=2.0))
    assert len(begun) == 1


def test_a_search_scores_documents_whether_or_not_they_were_ranked(papers):
    few, whole = papers.pipeline("bm25", k=1), papers.pipeline("bm25")
    for text in ("wing flutter flow", "heat", "unheard", ""):
        [result], [everything] = few(text), whole(text)
        docs = np.array([4, 1, 0, 3, 2])
        known = dict(
            zip(everything.ranking.docs.tolist(), everything.ranking.scores.tolist(), strict=True)
        )
        expected = [known.get(doc, -np.inf) for doc in docs.tolist()]
        assert result.scorer.score(docs).tolist() == expected
        assert result.scorer.score(docs[:0]).tolist() == []


def test_deleted_documents_are_not_scored(papers):
    papers.delete(["1"])
    [result] = papers.pipeline("bm25")("wing")
    scores = result.scorer.score(np.arange(3))
    assert scores[0] == -np.inf
    assert scores[2] > 0


def test_a_filter_goes_with_the_query(papers):
    filtered = papers.pipeline("bm25", filter="year>=1962")
    [result] = filtered("wing flutter")
    assert result.query.filter == Filter.read("year>=1962")
    [again] = papers.pipeline("ql")([result])
    [both] = papers.pipeline("ql", filter="year>=1962")("wing flutter")
    assert again.ranking.docs.tolist() == both.ranking.docs.tolist()
    [plain] = papers.pipeline("bm25")("wing flutter")
    assert plain.query.filter == ALL
    assert set(result.ranking.docs.tolist()) < set(plain.ranking.docs.tolist())


def test_what_a_filter_bars_is_dropped_whatever_a_stage_does(papers):
    everything = Ranking(np.arange(5), np.arange(5, 0, -1.0))

    def leak(result):
        return Result(result.query, everything)

    papers.delete(["2"])
    [result] = (papers.pipeline("bm25", filter="year>=1962") >> leak)("wing")
    years = {d.id: d.fields["year"] for d in papers}
    found = papers.snapshot.doc_ids(result.ranking.docs)
    assert sorted(found) == sorted(id for id, year in years.items() if year >= 1962)


def test_a_pipeline_without_a_search_is_refused(papers):
    for method in ("rm3", "klsa", "cut(3) >> bm25"):
        with pytest.raises(UsageError, match="put a search before it"):
            papers.search("wing", method=method)


@dataclass(frozen=True)
class Reads(Stage):
    """Reads a little of a search, and notes how its stage was run."""

    notation: ClassVar[str] = "reads"

    def run(self, batch, context):
        assert context.enough == 0
        return [*batch]

    def depth(self, k, *, log):
        return 40

    def enough(self, k):
        return 2 * k


def test_only_a_search_by_words_right_before_may_give_fewer(papers):
    [whole] = papers.pipeline("bm25", k=40)("wing flutter flow")
    assert len(whole.ranking.docs) > 2
    for stage, expected in (
        (lw.stage("bm25") >> Reads(), 2),
        (lw.stage("bm25 >> cut(1000)") >> Reads(), len(whole.ranking.docs)),
    ):
        [result] = Pipeline(papers.snapshot, stage, k=1)("wing flutter flow")
        assert len(result.ranking.docs) == expected
        assert result.scorer.find_left().docs.tolist() == whole.ranking.docs.tolist()

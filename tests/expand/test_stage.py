from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

import likewise as lw
from likewise.engine.pipeline import Pipeline
from likewise.expand import Expander, ExpansionResult
from likewise.expand.expansion import NO_SHARE
from likewise.expand.feedback import KL, NO_ANSWER, RM1, RM3, Bo1, Rocchio
from likewise.retrieve.models import BM25, QueryLikelihood

EXPANDERS = [RM3(), RM1(), Bo1(), KL(), Rocchio(), Rocchio(gamma=0.2)]


@pytest.fixture
def search(papers):
    return papers.pipeline("bm25", k=10)


def expanded(papers, how, **options):
    return papers.pipeline(BM25() >> how >> BM25(), k=10, **options)


@pytest.mark.parametrize("how", EXPANDERS, ids=str)
def test_a_search_an_expander_and_a_search(papers, search, how):
    pipeline = expanded(papers, how)
    assert repr(pipeline) == f"bm25 >> {how} >> bm25"
    [result] = pipeline([lw.Query("q7", "wing flutter")])
    assert (result.query.qid, result.query.text) == ("q7", "wing flutter")
    assert result.query.terms not in ({}, {"wing": 1, "flutter": 1})
    assert result.query.expansion == (str(how), {"wing": 1, "flutter": 1}, "", "")
    # The ranking is that of the new terms.
    [again] = search([lw.Query("1", terms=result.query.terms)])
    assert result.ranking.docs.tolist() == again.ranking.docs.tolist()
    assert result.ranking.scores.tolist() == again.ranking.scores.tolist()


def test_an_expanded_query_finds_what_its_words_do_not(papers, search):
    [words] = search("wing")
    [more] = expanded(papers, RM3())("wing")
    assert papers.snapshot.doc_ids(words.ranking.docs) == ["1", "3"]
    assert papers.snapshot.doc_ids(more.ranking.docs) == ["1", "3", "4"]


def test_expansion_itself_keeps_rankings_and_what_made_them(papers, search):
    [before] = search("wing flutter")
    [after] = Pipeline(papers.snapshot, RM3())([before])
    assert after.ranking is before.ranking
    assert after.scorer is before.scorer
    assert after.query.terms != before.query.terms
    assert before.query.terms is None


def test_an_expander_searches_as_the_ranking_was_made(papers):
    for model in (BM25(), BM25(k1=2.0), QueryLikelihood()):
        [result] = papers.pipeline(model)("wing flutter")
        for how in ("robust", "rm3"):
            [apart] = Pipeline(papers.snapshot, lw.stage(how))([result])
            [chained] = papers.pipeline(model >> lw.stage(how))("wing flutter")
            assert apart.query.terms == chained.query.terms


def test_a_batch_is_as_each_alone(papers):
    pipeline = papers.pipeline(BM25() >> RM3())
    texts = ["wing flutter", "nonsense", "heat", ""]
    together = pipeline(texts)
    for text, result in zip(texts, together, strict=True):
        [alone] = pipeline([lw.Query(result.query.qid, text)])
        assert alone.query == result.query
    left = [result.query.expansion.skipped_reason for result in together]
    assert left == ["", NO_ANSWER, "", NO_ANSWER]
    assert pipeline([]) == []


@pytest.mark.parametrize("how", EXPANDERS, ids=str)
def test_a_share_of_0_leaves_everything_as_it_was(papers, search, how):
    query = lw.Query("1", terms={"wing": 0.1, "flutter": 0.7, "zebra": 3.0})
    [before] = search([query])
    [after] = expanded(papers, how.with_share(0))([query])
    assert after.query.terms == query.terms
    assert after.query.expansion.skipped_reason == NO_SHARE
    assert after.ranking.docs.tolist() == before.ranking.docs.tolist()
    assert after.ranking.scores.tolist() == before.ranking.scores.tolist()


def test_an_expanded_query_can_be_expanded_again(papers):
    first = BM25() >> RM3(terms=3)
    [result] = papers.pipeline(first >> BM25() >> Bo1())("wing flutter")
    method, before, left, _ = result.query.expansion
    assert (method, left) == ("bo1", "")
    [once] = papers.pipeline(first)("wing flutter")
    assert before == once.query.terms


def test_a_filter_that_leaves_nothing(papers):
    [result] = expanded(papers, RM3(), filter="year=1900")("wing")
    assert result.query.terms == {"wing": 1}
    assert result.query.expansion.skipped_reason == NO_ANSWER
    assert len(result.ranking.docs) == 0


def test_only_documents_that_a_filter_allows_give_terms(papers):
    [result] = papers.pipeline(BM25() >> RM1(), filter="year>=1962")("wing flutter")
    assert {"boundari", "panel"} <= set(result.query.terms)
    [every] = papers.pipeline(BM25() >> RM1(docs=1))("flutter wing")
    assert set(every.query.terms) == {"wing", "flutter"}


@dataclass(frozen=True)
class Synonyms(Expander):
    """Add words that are known to mean the same."""

    weight: float = 0.5
    notation: ClassVar[str] = "synonyms"
    feedback_docs: ClassVar[int] = 1

    def with_share(self, share):
        return replace(self, weight=share)

    def expand(self, batch, search):
        assert str(search.retriever.model) == "bm25"
        known = {"airfoil": "wing"}
        return [
            ExpansionResult(
                {**asked.terms, **{known[t]: self.weight for t in asked.terms if t in known}}
            )
            for asked in batch
        ]


def test_an_expander_of_the_users_own(papers, search):
    pipeline = expanded(papers, Synonyms(0.25))
    assert repr(pipeline) == "bm25 >> synonyms(weight=0.25) >> bm25"
    [result] = pipeline("airfoil")
    assert result.query.terms == {"airfoil": 1, "wing": 0.25}
    assert result.query.expansion.method == "synonyms(weight=0.25)"
    [wing] = search([lw.Query("1", terms={"wing": 0.25})])
    assert result.ranking.docs.tolist() == wing.ranking.docs.tolist()
    answers = papers.search("airfoil", expand=Synonyms())
    assert answers.expanded.method == "synonyms"

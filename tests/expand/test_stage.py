from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import likewise as lw
from likewise.expand.expander import NO_SHARE, Grown
from likewise.expand.feedback import KL, NO_ANSWER, RM1, RM3, Bo1, Rocchio
from likewise.expand.stage import Expand
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever
from likewise.stages.retrieval import Retrieve

EXPANDERS = [RM3(), RM1(), Bo1(), KL(), Rocchio(), Rocchio(gamma=0.2)]


@pytest.fixture
def retriever(papers):
    return Retriever(papers.snapshot, BM25())


@pytest.fixture
def search(retriever):
    return Retrieve(retriever, k=10)


@pytest.mark.parametrize("how", EXPANDERS, ids=str)
def test_a_search_an_expander_and_a_search(retriever, search, how):
    pipeline = search >> Expand(retriever, how) >> search
    assert repr(pipeline) == f"bm25 >> {how} >> bm25"
    [answered] = pipeline([lw.Query("q7", "wing flutter")])
    assert (answered.query.qid, answered.query.text) == ("q7", "wing flutter")
    assert answered.query.terms not in ({}, {"wing": 1, "flutter": 1})
    assert answered.query.expansion == (str(how), {"wing": 1, "flutter": 1}, "", "")
    # The ranking is that of the new terms.
    [again] = search([lw.Query("1", terms=answered.query.terms)])
    assert answered.ranking.docs.tolist() == again.ranking.docs.tolist()
    assert answered.ranking.scores.tolist() == again.ranking.scores.tolist()


def test_an_expanded_query_finds_what_its_words_do_not(papers, retriever, search):
    [words] = search("wing")
    [more] = (search >> Expand(retriever, RM3()) >> search)("wing")
    assert papers.snapshot.doc_ids(words.ranking.docs) == ["1", "3"]
    assert papers.snapshot.doc_ids(more.ranking.docs) == ["1", "3", "4"]


def test_expansion_itself_keeps_rankings(retriever, search):
    [before] = search("wing flutter")
    [after] = Expand(retriever, RM3())([before])
    assert after.ranking is before.ranking
    assert after.query.terms != before.query.terms
    assert before.query.terms is None


def test_a_batch_is_as_each_alone(retriever, search):
    pipeline = search >> Expand(retriever, RM3())
    texts = ["wing flutter", "nonsense", "heat", ""]
    together = pipeline(texts)
    for text, answered in zip(texts, together, strict=True):
        [alone] = pipeline([lw.Query(answered.query.qid, text)])
        assert alone.query == answered.query
    assert [answered.query.expansion.left for answered in together] == [
        "",
        NO_ANSWER,
        "",
        NO_ANSWER,
    ]
    assert pipeline([]) == []


@pytest.mark.parametrize("how", EXPANDERS, ids=str)
def test_a_share_of_0_leaves_everything_as_it_was(retriever, search, how):
    query = lw.Query("1", terms={"wing": 0.1, "flutter": 0.7, "zebra": 3.0})
    [before] = search([query])
    [after] = (search >> Expand(retriever, how.at(0)) >> search)([query])
    assert after.query.terms == query.terms
    assert after.query.expansion.left == NO_SHARE
    assert after.ranking.docs.tolist() == before.ranking.docs.tolist()
    assert after.ranking.scores.tolist() == before.ranking.scores.tolist()


def test_an_expanded_query_can_be_expanded_again(retriever, search):
    pipeline = search >> Expand(retriever, RM3(terms=3)) >> search >> Expand(retriever, Bo1())
    [answered] = pipeline("wing flutter")
    method, before, left, _ = answered.query.expansion
    assert (method, left) == ("bo1", "")
    [once] = (search >> Expand(retriever, RM3(terms=3)))("wing flutter")
    assert before == once.query.terms


def test_a_filter_that_leaves_nothing(papers, retriever):
    nothing = [np.zeros(segment.n_docs, np.bool_) for segment in papers.snapshot.segments]
    search = Retrieve(retriever, k=10, allowed=nothing)
    [answered] = (search >> Expand(retriever, RM3(), allowed=nothing) >> search)("wing")
    assert answered.query.terms == {"wing": 1}
    assert answered.query.expansion.left == NO_ANSWER
    assert len(answered.ranking.docs) == 0


def test_only_documents_that_a_filter_allows_give_terms(papers, retriever):
    allowed = papers.allowed("year>=1962")
    search = Retrieve(retriever, k=10, allowed=allowed)
    [answered] = (search >> Expand(retriever, RM1(), allowed=allowed))("wing flutter")
    assert {"boundari", "panel"} <= set(answered.query.terms)
    [every] = (Retrieve(retriever, k=10) >> Expand(retriever, RM1(docs=1)))("flutter wing")
    assert set(every.query.terms) == {"wing", "flutter"}


def test_an_expander_of_the_users_own(retriever, search):
    @dataclass(frozen=True)
    class Synonyms:
        """Add words that are known to mean the same."""

        weight: float = 0.5
        depth: ClassVar[int] = 1
        notation: ClassVar[str] = "synonyms"

        def __str__(self):
            return f"synonyms(weight={self.weight})"

        def at(self, share):
            return Synonyms(share)

        def grow(self, batch, setting):
            assert setting.retriever is retriever
            known = {"airfoil": "wing"}
            return [
                Grown({**asked.terms, **{known[t]: self.weight for t in asked.terms if t in known}})
                for asked in batch
            ]

    pipeline = search >> Expand(retriever, Synonyms()) >> search
    assert repr(pipeline) == "bm25 >> synonyms(weight=0.5) >> bm25"
    [answered] = pipeline("airfoil")
    assert answered.query.terms == {"airfoil": 1, "wing": 0.5}
    assert answered.query.expansion.method == "synonyms(weight=0.5)"
    [wing] = search([lw.Query("1", terms={"wing": 0.5})])
    assert answered.ranking.docs.tolist() == wing.ranking.docs.tolist()

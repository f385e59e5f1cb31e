import pytest

import likewise as lw

METHODS = ["bm25", "bm25(k1=0.5,b=0.1)", "ql", "ql(mu=5)", "ql-jm", "tfidf", "inner"]


@pytest.mark.parametrize("method", METHODS)
def test_parts_add_up_to_the_score(papers, method):
    answers = papers.search("wing flutter in supersonic flow", method=method, explained=True)
    assert len(answers) == 3
    for answer in answers:
        assert sum(part.score for part in answer.explanation) == pytest.approx(
            answer.score, rel=1e-6, abs=1e-6
        )


def test_parts_are_the_terms_that_match_largest_first(papers):
    [first, *_] = papers.search("wing flutter unheard", method="bm25", explained=True)
    assert [part.term for part in first.explanation] == ["flutter", "wing"]
    sizes = [abs(part.score) for part in first.explanation]
    assert sizes == sorted(sizes, reverse=True)


def test_negative_weights_give_negative_parts(papers):
    [first, *rest] = papers.search(
        lw.Query("1", "", {"wing": 1.0, "flutter": -0.5}), method="bm25", explained=True
    )
    assert first.doc_id == "3"
    parts = {part.term: part.score for part in rest[0].explanation}
    assert parts["wing"] > 0 > parts["flutter"]


@pytest.mark.parametrize("method", METHODS)
def test_parts_add_up_on_a_real_collection(data, tmp_path, method):
    c = lw.index(data / "cran" / "corpus.jsonl", to=tmp_path / "cran.lw")
    for query in lw.read_queries(data / "cran" / "queries.jsonl")[:10]:
        for answer in c.search(query, method=method, explained=True):
            assert sum(part.score for part in answer.explanation) == pytest.approx(
                answer.score, rel=1e-5, abs=1e-5
            )

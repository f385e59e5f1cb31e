"""Search in fields of words: titles, exact forms."""

from __future__ import annotations

import random

import pytest

from likewise.collection.build import content
from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document
from likewise.retrieve.models import BM25, TFIDF, JelinekMercer, QueryLikelihood
from likewise.retrieve.search import Retriever
from likewise.retrieve.words import WordScorer
from likewise.text.analysis import Analysis, Analyzer

WORDS = ["alpha", "beta", "gamma", "the", "of", "café", "cafe", "C++", "a"]


def made(rng, n):
    """Documents with a title and a text, some of them empty."""
    shares = [9, 5, 3, 9, 7, 2, 2, 2, 1]

    def text(size):
        return " ".join(rng.choices(WORDS, shares, k=rng.randrange(size)))

    return [Document(f"d{i}", text(5), text(60)) for i in range(n)]


@pytest.mark.parametrize("field", ["title.", "exact."])
@pytest.mark.parametrize("model", [BM25(), QueryLikelihood(), JelinekMercer(), TFIDF()], ids=str)
def test_a_search_of_a_field_is_that_of_documents_of_its_words(tmp_path, field, model):
    """Pruned or not, with deleted documents and several segments: the same bits."""
    rng = random.Random(5)
    documents = made(rng, 150)
    analysis = Analysis(title_weight=1)
    build(tmp_path / "whole", documents[:90], analysis=analysis)
    with Writer(tmp_path / "whole") as writer:
        writer.add(documents[90:])
        writer.delete([f"d{i}" for i in range(0, 150, 7)])
    kept = [one for i, one in enumerate(documents) if i % 7]
    analyzer = Analyzer(analysis)
    plain = Analysis(language="none", stop="none", min_length=1, fold=False)
    # As a word that is a term by itself.
    mapped = {"c++": "cplusplus"}
    alone = []
    for one in kept:
        by_title = field == "title."
        words = analyzer.terms(one.title) if by_title else analyzer.exact(content(one))
        alone.append(Document(one.id, "", " ".join(mapped.get(word, word) for word in words)))
    build(tmp_path / "alone", alone, analysis=plain)
    whole, other = open_snapshot(tmp_path / "whole"), open_snapshot(tmp_path / "alone")
    searches = [Retriever(whole, model, field), Retriever(other, model)]
    asked = [{"alpha": 1.0, "gamma": 2.0}, {"the": 1.0, "café": 1.0, "c++": 0.5}, {"nothing": 1.0}]
    for query in asked:
        renamed = {mapped.get(word, word): weight for word, weight in query.items()}
        for k in (3, 200):
            [pruned] = searches[0].rank([query], k=k)
            [full] = searches[0].rank([query], k=k, prune=False)
            [expected] = searches[1].rank([renamed], k=k)
            assert pruned.docs.tolist() == full.docs.tolist()
            assert pruned.scores.tolist() == full.scores.tolist()
            assert whole.doc_ids(pruned.docs) == other.doc_ids(expected.docs)
            assert pruned.scores.tolist() == pytest.approx(expected.scores.tolist(), rel=1e-6)
            # Given documents have the scores of the search.
            scorer = WordScorer(searches[0], query)
            assert scorer.score(pruned.docs).tolist() == pruned.scores.tolist()
            parts = scorer.explain(pruned.docs[:2])
            assert [one.score for one in parts] == pruned.scores[:2].tolist()


def test_words_of_a_field_are_searched_for_whatever_the_limits_of_the_main_one(tmp_path):
    documents = [Document("a", "rare", "the common"), Document("b", "", "common")]
    build(tmp_path / "c", documents, analysis=Analysis(min_df=2))
    snapshot = open_snapshot(tmp_path / "c")
    assert not len(Retriever(snapshot, BM25()).rank([{"rare": 1.0}])[0].docs)
    assert Retriever(snapshot, BM25(), "title.").rank([{"rare": 1.0}])[0].docs.tolist() == [0]
    assert Retriever(snapshot, BM25(), "exact.").rank([{"the": 1.0}])[0].docs.tolist() == [0]


def test_rankings_are_the_same_with_fields_and_without(tmp_path, monkeypatch):
    """What is stored beside the main words changes nothing of it, to the last bit."""
    rng = random.Random(6)
    documents = made(rng, 120)
    plain = Analysis(fold=False, positions=False)
    build(tmp_path / "with", documents, analysis=Analysis(fold=False))
    monkeypatch.setattr("likewise.collection.adding.FIELDS", ())
    build(tmp_path / "without", documents, analysis=plain)
    snapshots = [open_snapshot(tmp_path / name) for name in ("with", "without")]
    assert [one.has_field("exact.") for one in snapshots] == [True, False]
    queries = [{"alpha": 1.0, "café": 2.0, "beta": 1.0}, {"cafe": 1.0}, {"gamma": 1.0, "the": 1.0}]
    for model in (BM25(), QueryLikelihood(), JelinekMercer(), TFIDF()):
        left, right = (Retriever(one, model).rank(queries, k=50) for one in snapshots)
        assert [one.docs.tolist() for one in left] == [one.docs.tolist() for one in right]
        assert [one.scores.tolist() for one in left] == [one.scores.tolist() for one in right]

import pytest

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.evaluate import read_queries
from likewise.records import Document
from likewise.retrieve.documents import OWN_PART
from likewise.retrieve.models import read_model
from likewise.retrieve.search import Retriever
from likewise.retrieve.words import WordScorer
from likewise.sources import open_source

METHODS = ["bm25", "bm25(k1=0.5,b=0.1)", "ql", "ql(mu=5)", "ql-jm", "tfidf", "inner"]
PAPERS = [
    Document("1", "Wing flutter", "Flutter of a wing. Wings do flutter."),
    Document("2", "Heat transfer", "Heat transfer to a blunt body."),
    Document("3", "Boundary layers", "The boundary layer on a wing."),
    Document("4", "Panel flutter", "Panels in supersonic flow."),
    Document("5"),
]


@pytest.fixture
def papers(tmp_path):
    """A collection of five small papers, in two segments."""
    build(tmp_path / "papers.lw", PAPERS[:3])
    with Writer(tmp_path / "papers.lw") as writer:
        writer.add(PAPERS[3:])
    return open_snapshot(tmp_path / "papers.lw")


def explained(collection, method, query):
    """The answers to a text or weighted terms, each with its parts."""
    retriever = Retriever(collection, read_model(method))
    counts = collection.analyzer.counts(query) if isinstance(query, str) else query
    [found] = retriever.rank([counts])
    scorer = WordScorer(retriever, counts)
    assert scorer.score(found.docs).tolist() == found.scores.tolist()
    told = scorer.explain(found.docs)
    assert [one.score for one in told] == found.scores.tolist()
    return [(doc, one.score, one.parts) for doc, one in zip(found.docs.tolist(), told, strict=True)]


@pytest.mark.parametrize("method", METHODS)
def test_parts_add_up_to_the_score(papers, method):
    answers = explained(papers, method, "wing flutter in supersonic flow")
    assert len(answers) == 3
    for _, score, parts in answers:
        assert sum(part.score for part in parts) == pytest.approx(score, rel=1e-6, abs=1e-6)
        own = OWN_PART in [part.name for part in parts]
        assert own == (method in ("ql", "ql(mu=5)"))


def test_parts_are_the_terms_that_match_largest_first(papers):
    [(_, _, parts), *_] = explained(papers, "bm25", "wing flutter unheard")
    assert [part.name for part in parts] == ["flutter", "wing"]
    sizes = [abs(part.score) for part in parts]
    assert sizes == sorted(sizes, reverse=True)


def test_negative_weights_give_negative_parts(papers):
    [(first, _, _), *rest] = explained(papers, "bm25", {"wing": 1.0, "flutter": -0.5})
    assert papers.doc_ids(papers.live_docs())[first] == "3"
    parts = {part.name: part.score for part in rest[0][2]}
    assert parts["wing"] > 0 > parts["flutter"]


@pytest.mark.parametrize("method", METHODS)
def test_parts_add_up_on_a_real_collection(real, tmp_path, method):
    build(tmp_path / "cran.lw", open_source(real("cran") / "corpus.jsonl"))
    collection = open_snapshot(tmp_path / "cran.lw")
    for query in read_queries(real("cran") / "queries.jsonl")[:10]:
        for _, score, parts in explained(collection, method, query.text):
            assert sum(part.score for part in parts) == pytest.approx(score, rel=1e-5, abs=1e-5)

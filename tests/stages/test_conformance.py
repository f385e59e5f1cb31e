"""What every stage keeps, over all names of the registry and the stages that compose others."""

import numpy as np
import pytest

import likewise as lw
from likewise import registry
from likewise.like import smooth as smoothing
from likewise.like.candidates import Candidates
from likewise.records import Filter, Match, Query, QueryDocument, match_any
from likewise.retrieve.search import Retriever
from likewise.stages.stage import Chain, Context, as_results

THEMES = {
    "flow": "boundary layer flow laminar viscous plate transition speed",
    "wing": "wing flutter aileron span lift tail panel speed",
    "heat": "heat transfer temperature conduction thermal radiation plate layer",
}
WORDS = ("bm25", "ql", "ql-jm", "tfidf", "inner")
# With those that the papers add.
SEARCHES = [*registry.Table(registry.SEARCHES, groups=("likewise.search",))]
LIKENESS = [name for name in SEARCHES if name not in WORDS]
PIPELINES = [
    *SEARCHES,
    *(f"bm25 >> {name} >> bm25" for name in registry.EXPANDERS),
    *(f"{first} >> {last}" for first in ("bm25", "ql", "near") for last in registry.SMOOTHINGS),
    "bm25 >> robust >> bm25 >> klsa",
    "bm25 >> robust(adapt=10) >> bm25 >> klsa(adapt=0.8) >> proximity >> keep",
    "ql >> rm3 >> ql >> klsa(adapt=2,terms=2) >> keep(docs=3,gap=0)",
    "bm25 >> klsa(adapt=1) >> keep",
    "bm25 >> proximity",
    "ql >> proximity(near=0.5,window=4)",
    "bm25 >> klsa >> proximity(candidates=5)",
    "ql >> klsa >> klsa(docs=3)",
    "near(index=lsh)",
    "bm25 >> cut(7)",
    "bm25 >> cut(7) >> klsa",
    "where(year>=1990) >> bm25",
    "bm25 >> where(year>=1990) >> klsa",
    "fuse(bm25, ql >> rm3 >> ql, near, method=mnz)",
    "fuse(bm25, near, method=min, normalise=rank, weights=1|0.5) >> klsa",
]
QUERIES = ["wing flutter speed", "laminar plate", "heat", "unheard", "viscous wing transfer layer"]
FILTER = "theme=heat|wing"

by_pipeline = pytest.mark.parametrize("written", PIPELINES)


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """Three segments of documents with fields, some of them deleted, two the same, one empty."""
    random = np.random.default_rng(0)
    names = sorted(THEMES)
    documents = [
        {
            "id": f"d{i}",
            "text": " ".join(
                [
                    *random.choice(THEMES[names[i % 3]].split(), random.integers(4, 25)),
                    *random.choice(THEMES[names[(i + 1) % 3]].split(), 5),
                ]
            ),
            "theme": names[i % 3],
            "year": 1960 + i % 60,
        }
        for i in range(180)
    ]
    documents += [{**documents[4], "id": "same"}, {"id": "void", "text": "", "theme": "none"}]
    folder = tmp_path_factory.mktemp("stages") / "c.lw"
    c = lw.index(documents[:80], to=folder, model="lsi(topics=6,rungs=1)", smooth="klsa(axes=6)")
    c.add(documents[80:130])
    c.add(documents[130:])
    c.terms.make_graph(threads=1)
    c.delete(["d3", "d90", "d91", "d150"])
    assert len(c.snapshot.segments) == 3
    return c


def asked(c, written):
    """Texts, and documents in hand for what compares them."""
    queries = [Query(f"q{i}", text) for i, text in enumerate(QUERIES)]
    if lw.stage(written).steps[0].notation in SEARCHES and "rm3" not in written:
        queries.append(Query("document", like=(QueryDocument("d10"),)))
    if written in LIKENESS and "near" not in written:
        like = (QueryDocument("d10"), QueryDocument(text="heat transfer to a wing"))
        queries.append(Query("several", like=like, unlike=(QueryDocument("d11"),)))
    return [one for one in queries if not one.like or not expands(written)]


def expands(written):
    return any(step.notation in registry.EXPANDERS for step in lw.stage(written).steps)


def same(left, right):
    return all(
        np.array_equal(a.ranking.docs, b.ranking.docs)
        and np.array_equal(a.ranking.scores, b.ranking.scores)
        for a, b in zip(left, right, strict=True)
    )


def run(c, stage, queries, k, **options):
    return Chain(stage.steps).run(as_results(queries), Context(c.snapshot, k, **options))


@by_pipeline
def test_it_is_read_as_it_is_written(written):
    assert lw.stage(str(lw.stage(written))) == lw.stage(written)


@by_pipeline
def test_there_is_a_result_for_each_query_in_order_and_ties_go_by_document(c, written):
    queries = asked(c, written)
    found = c.pipeline(written, k=20)(queries)
    assert [result.query.qid for result in found] == [query.qid for query in queries]
    assert any(len(result.ranking.docs) for result in found)
    for result in found:
        docs, scores = result.ranking
        assert len(docs) == len(scores) == len(np.unique(docs)) <= 20
        assert np.array_equal(np.lexsort((docs, -scores)), np.arange(len(docs)))
        assert np.isin(docs, c.snapshot.live_docs()).all()


@by_pipeline
def test_a_batch_is_its_queries_and_threads_change_no_bit(c, written):
    queries = asked(c, written)
    together = c.pipeline(written, k=20)(queries)
    alone = [c.pipeline(written, k=20)(query)[0] for query in queries]
    assert same(together, alone)
    assert same(together, c.pipeline(written, k=20, threads=3)(queries))
    assert same(together, c.pipeline(written, k=20)(queries))


@by_pipeline
@pytest.mark.parametrize("first", ["", "where(year>=1980) >> "])
def test_a_pipeline_is_its_stages_one_after_the_other(c, written, first):
    stage, queries = lw.stage(first + written), asked(c, written)
    whole = run(c, stage, queries, 10)
    for i in range(1, len(stage.steps)):
        a, b = Chain(stage.steps[:i]), Chain(stage.steps[i:])
        logs = [one.log for one in a.steps if one.log is not None]
        between = run(c, a, queries, b.depth(10, log=bool(logs and logs[-1])))
        after = b.run(between, Context(c.snapshot, 10))
        assert same(whole, after)
        assert [one.query.filter for one in whole] == [one.query.filter for one in after]


@by_pipeline
def test_scorers_give_the_bits_of_their_rankings(c, written):
    every = np.arange(c.snapshot.n_slots)
    gone = np.setdiff1d(every, c.snapshot.live_docs())
    for result in c.pipeline(written, k=20)(asked(c, written)):
        docs, scores = result.ranking
        if not len(docs):
            continue
        assert np.array_equal(result.scorer.score(docs), scores)
        assert np.array_equal(result.scorer.score(docs[::-1]), scores[::-1])
        of_all = result.scorer.score(every)
        assert np.array_equal(of_all[docs], scores)
        assert not np.isnan(of_all).any()
        if "klsa" not in written:
            assert (of_all[gone] == -np.inf).all()


@by_pipeline
def test_documents_in_hand_are_no_answers(c, written):
    for result in c.pipeline(written)(asked(c, written)):
        own = [one.doc_id for one in (*result.query.like, *result.query.unlike) if one.doc_id]
        assert not np.isin(c.snapshot.find_docs(own), result.ranking.docs).any()


def check_parts(score, parts):
    sizes = sum(abs(part.score) for part in parts)
    assert sum(part.score for part in parts) == pytest.approx(score, abs=1e-6 * max(sizes, 1))
    for part in parts:
        assert part.name
        if part.parts:
            check_parts(part.score, part.parts)


@by_pipeline
def test_parts_add_up_and_nothing_is_searched_for_again(c, written, monkeypatch):
    found = c.pipeline(written, k=10)(asked(c, written))
    searched = []
    rank = Retriever.rank
    monkeypatch.setattr(
        Retriever, "rank", lambda *args, **options: searched.append(1) or rank(*args, **options)
    )
    for result in found:
        if not len(result.ranking.docs):
            continue
        told = result.scorer.explain(result.ranking.docs)
        for one, score in zip(told, result.ranking.scores.tolist(), strict=True):
            assert one.score == pytest.approx(score, abs=1e-6)
            check_parts(score, one.parts)
    assert not searched


@by_pipeline
def test_a_filter_holds(c, written):
    fits = Filter.read(FILTER)
    queries = [query._replace(filter=fits) for query in asked(c, written)]
    for found in (c.pipeline(written, filter=FILTER)(queries), c.pipeline(written)(queries)):
        for result in found:
            themes = {c.snapshot.document(doc).fields["theme"] for doc in result.ranking.docs}
            assert themes <= {"heat", "wing"}
        assert any(len(result.ranking.docs) for result in found)


@by_pipeline
def test_what_must_match_holds(c, written):
    match = match_any([Match("words", "boundary layer"), Match("words", "wing")])
    queries = [query._replace(match=match) for query in asked(c, written)]
    found = c.pipeline(written)(queries)
    assert any(len(result.ranking.docs) for result in found)
    for result in found:
        texts = [c.snapshot.document(doc).text for doc in result.ranking.docs]
        assert all("boundary layer" in text or "wing" in text for text in texts)


NO_PREFIX = {
    "lsh-tfidf": "documents are scored that share the most buckets, more of them for a larger k",
}


def prefixed(written):
    reason = NO_PREFIX.get(written)
    return pytest.param(
        written, marks=[pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    )


@pytest.mark.parametrize("written", [prefixed(written) for written in PIPELINES])
def test_the_first_answers_do_not_depend_on_k(c, written):
    few, many = (c.pipeline(written, k=k)(asked(c, written)) for k in (10, 1000))
    for one, other in zip(few, many, strict=True):
        assert np.array_equal(one.ranking.docs, other.ranking.docs[:10])
        assert np.array_equal(one.ranking.scores, other.ranking.scores[:10])


def test_every_name_of_the_registry_is_here():
    names = {step.notation for written in PIPELINES for step in lw.stage(written).steps}
    # What goes by exact words only finds nothing for these queries: it has tests of its own.
    places = {*registry.PLACES} - {"exact"}
    assert names == {
        *SEARCHES, *registry.EXPANDERS, *registry.SMOOTHINGS, *places, "cut", "where", "fuse"
    }  # fmt: skip


# Faults that there were


def test_a_filter_does_not_leak_through_smoothing(c):
    for first in ("near", "bm25", "hybrid"):
        pipeline = c.pipeline(first, filter="year>=2005") >> "klsa"
        for result in pipeline(QUERIES):
            years = [c.snapshot.document(doc).fields["year"] for doc in result.ranking.docs]
            assert all(year >= 2005 for year in years)


@pytest.mark.parametrize("first", ["bm25", "ql", "near"])
def test_smoothing_of_results_is_smoothing_in_a_pipeline(c, first):
    results = c.pipeline(first, k=1000)(QUERIES)
    assert same(c.pipeline("klsa", k=50)(results), c.pipeline(f"{first} >> klsa", k=50)(QUERIES))


@pytest.mark.parametrize("first", ["near", "bm25 >> klsa"])
def test_smoothing_reads_so_many_of_what_it_is_given(c, first, monkeypatch):
    """Neither a deeper ranking nor a larger k moves where scores below zero count from."""
    monkeypatch.setattr(smoothing, "DEPTH", 20)
    monkeypatch.setattr(smoothing, "FLOOR_DEPTH", 20)
    c.snapshot.forget()
    again = "klsa(candidates=0)"
    given = c.pipeline(first, k=150)(QUERIES)
    assert any(result.ranking.scores[20:].min(initial=0) < 0 for result in given)
    cut = [result._replace(ranking=result.ranking.cut(20)) for result in given]
    few = c.pipeline(again, k=10)(given)
    assert same(few, c.pipeline(again, k=10)(cut))
    many = c.pipeline(again, k=150)(given)
    assert same(few, [result._replace(ranking=result.ranking.cut(10)) for result in many])
    c.snapshot.forget()


@pytest.mark.parametrize(
    "ask",
    [
        lambda c, explain: c.search("wing flutter speed", k=10, explain=explain),
        lambda c, explain: c.search("viscous plate", k=10, method="ql", explain=explain),
        lambda c, explain: c.like("d10", k=10, explain=explain),
        lambda c, explain: c.like("d10", unlike="d11", k=10, method="bm25", explain=explain),
    ],
    ids=["default", "ql", "like", "like by words"],
)
def test_explaining_searches_no_more_often(c, ask, monkeypatch):
    searched = []

    def counted(search):
        return lambda *args, **options: searched.append(1) or search(*args, **options)

    monkeypatch.setattr(Retriever, "rank", counted(Retriever.rank))
    monkeypatch.setattr(Candidates, "find", counted(Candidates.find))
    numbers = []
    for explain in (False, True):
        searched.clear()
        answers = ask(c, explain)
        numbers.append(len(searched))
    assert numbers[0] == numbers[1] > 0
    assert all(answer.explanation for answer in answers)

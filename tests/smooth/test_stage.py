"""Smoothing against its formula with dense matrices, and what it must never do."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.records import Document, Query, Ranking
from likewise.retrieve.models import BM25, TFIDF, InnerProduct, QueryLikelihood, read_model
from likewise.retrieve.search import Retriever
from likewise.smooth.search import RowSearch
from likewise.smooth.space import KLSA, fit_space
from likewise.smooth.stage import AS_RANKED, DEPTH, LOWEST, Smooth, Smoothing, read_smoothing
from likewise.smooth.store import StoredRows
from likewise.stages.retrieval import Retrieve
from likewise.stages.stage import Answered, Cut, Stage

KERNELS = [
    "bm25",
    "bm25(k1=2,power=0.5,idf=rsj)",
    "inner",
    "inner(power=1)",
    "cosine",
    "ql",
]
FIRST = [BM25(), QueryLikelihood(), QueryLikelihood(5), TFIDF(), InnerProduct()]
LETTERS = list("abcdefgh")
HOW = [
    Smoothing(docs=z, share=share, by=by, scale=scale)
    for z, by, scale, share in itertools.product(
        (1, 2, 5, 0), ("score", "rank"), ("raw", "max"), (0.4, 1.0)
    )
]


@st.composite
def corpora(draw):
    """Documents of a few words, some of them twice, of one word, or empty."""
    texts = draw(st.lists(st.lists(st.sampled_from(LETTERS), max_size=9), min_size=2, max_size=9))
    again = draw(st.lists(st.integers(0, len(texts) - 1), max_size=3))
    return [*texts, *(texts[i] for i in again), [], [draw(st.sampled_from(LETTERS))]]


def cuts(values):
    """How many axes leave no doubt which they are: where eigenvalues are clearly apart."""
    top = values[0]
    apart = [r for r in range(1, len(values)) if values[r - 1] - values[r] > 0.05 * top]
    real = values[values > 1e-9 * top]
    return apart + ([len(values)] if real[-1] > 1e-3 * top else [])


def smoothing(collection, model, how, *, config, exact=True, **options):
    space = fit_space(collection, config, threads=1)
    rows = RowSearch(StoredRows(collection, space, exact=exact))
    first = Retrieve(Retriever(collection, model), k=10_000)
    return first, first >> Smooth(rows, how, **({"k": 10_000, "deep": 0} | options))


@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_are_those_of_the_dense_formula(make, dense, kernel):
    texts = ["aabc", "bcd", "bcd", "cdef", "a", "", "gh", "ghhhab", "eeffg", "hhc"]
    values, vectors = dense(texts).spectrum(kernel)
    collection = make(texts, pieces=2)
    for r in cuts(values)[1:2]:
        config = KLSA(kernel=kernel, axes=r)
        check_formula(dense, collection, config, (values, vectors), FIRST, HOW, "ab")


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=10)
@given(data=st.data(), texts=corpora(), query=st.lists(st.sampled_from(LETTERS), min_size=1))
def test_scores_of_any_corpus_are_those_of_the_dense_formula(
    made_for_a_while, dense, kernel, data, texts, query
):
    values, vectors = dense(texts).spectrum(kernel)
    assume(values[0] > 1e-6)
    known = cuts(values)
    assume(known)
    config = KLSA(kernel=kernel, axes=data.draw(st.sampled_from(known)))
    models = data.draw(st.lists(st.sampled_from(FIRST), min_size=2, max_size=2))
    hows = data.draw(st.lists(st.sampled_from(HOW), min_size=4, max_size=4))
    with made_for_a_while(texts, pieces=data.draw(st.integers(1, 3))) as collection:
        check_formula(dense, collection, config, (values, vectors), models, hows, query)


def check_formula(dense, collection, config, spectrum, models, hows, query):
    """Compare with dense matrices, rows as they are and rows at a byte a coordinate."""
    values, vectors = spectrum
    n_real = int((values[: config.axes] > 1e-9 * values[0]).sum())
    u = vectors[:, :n_real]
    space = fit_space(collection, config, threads=1)
    np.testing.assert_allclose(space.values, np.sqrt(values[:n_real]), rtol=1e-4)
    searches = [RowSearch(StoredRows(collection, space, exact=exact)) for exact in (True, False)]
    rows = searches[0].stored.of(np.arange(len(u)))
    np.testing.assert_allclose(rows @ rows.T, u @ u.T, atol=1e-4)
    error = rounding(rows)
    query = " ".join(query)
    for model, how in itertools.product(models, hows):
        first = Retrieve(Retriever(collection, model), k=1000)
        [[_, ranking]] = first(query)
        if not len(ranking.docs):
            continue
        expected, spread, weights = dense.smoothed(ranking, u, how)
        if how.scale == "max" and spread.max() < 1e-3 * weights.sum():
            continue
        for search in searches:
            stage = first >> Smooth(search, how, k=1000, deep=0)
            [[asked, answer]] = stage(query)
            scores = np.zeros(len(u))
            scores[answer.docs] = answer.scores
            off = 1e-4 * np.abs(expected).max() + 1e-7 * weights.sum()
            if not search.stored.exact:
                scale = max(spread.max(), 1e-30) if how.scale == "max" else 1.0
                # Both a part and the largest part, by which it is divided, are rounded.
                off = off + how.share * (weights @ error + (weights @ error).max()) / scale * 1.5
            assert (np.abs(scores - expected) <= off).all()
            assert np.array_equal(answer.docs, answer.docs[in_order(answer)])
            assert set(ranking.docs.tolist()) <= set(answer.docs.tolist())
            for doc in answer.docs[[0, -1]].tolist():
                assert adds_up(stage.explain(asked, doc), scores[doc])


def adds_up(parts, score):
    """Parts add up, but for what single precision lost of their sizes."""
    sizes = sum(abs(part.score) for part in parts)
    return sum(part.score for part in parts) == pytest.approx(score, abs=1e-6 * max(sizes, 1))


def rounding(rows):
    """Bound the error of inner products of rows that are kept at a byte a coordinate."""
    lengths = np.linalg.norm(rows, axis=1)
    # Half a step of 127 for each coordinate, and as much again since lengths are kept.
    off = np.sqrt(rows.shape[1]) * np.abs(rows).max(axis=1, initial=0) / 127
    return np.outer(off, lengths) + np.outer(lengths, off) + np.outer(off, off)


def in_order(ranking):
    return np.lexsort((ranking.docs, -ranking.scores))


@pytest.fixture(scope="module")
def queries():
    random = np.random.default_rng(5)
    return [
        " ".join([f"k{i % 8}x{random.integers(1, 30)}", f"w{random.integers(1, 200)}", "w3"])
        for i in range(40)
    ]


@pytest.mark.parametrize("model", FIRST, ids=str)
@pytest.mark.parametrize("how", ["klsa", "klsa(docs=1,share=0.9,by=score,scale=raw)"])
def test_the_first_answers_are_those_of_scoring_all(kinds, queries, model, how):
    how = read_smoothing(how)
    first, all_scored = smoothing(kinds, model, how, config=KLSA(axes=20), exact=False)
    _, some = smoothing(kinds, model, how, config=KLSA(axes=20), exact=False, k=10, deep=50)
    deleted = [int(kinds.bases[1]) + 50, 3, 599]
    for one, other in zip(all_scored(queries), some(queries), strict=True):
        assert np.array_equal(one.ranking.docs[:10], other.ranking.docs)
        assert np.array_equal(one.ranking.scores[:10], other.ranking.scores)
        assert not np.isin(deleted, one.ranking.docs).any()
        assert len(np.unique(one.ranking.docs)) == len(one.ranking.docs) == 597
    for one, other in zip(first(queries), some(queries), strict=True):
        assert np.array_equal(other.query.ranked.docs, one.ranking.docs)
        assert np.array_equal(other.query.ranked.scores, one.ranking.scores)


def test_answers_have_the_same_bits_on_any_number_of_threads(kinds, queries):
    rows = RowSearch(StoredRows(kinds, fit_space(kinds, KLSA(axes=20), threads=1)))
    found = [
        (Retrieve(Retriever(kinds, BM25())) >> Smooth(rows, threads=n))(queries)
        for n in (0, 1, 2, 4)
    ]
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one.ranking.docs, other.ranking.docs)
            assert np.array_equal(one.ranking.scores, other.ranking.scores)


@pytest.mark.parametrize("model", ["bm25", "ql", "ql(mu=5)", "tfidf", "inner"])
@pytest.mark.parametrize("scale", ["raw", "max"])
def test_a_share_of_nothing_leaves_the_order(kinds, queries, model, scale):
    how = Smoothing(share=0, scale=scale)
    first, stage = smoothing(kinds, read_model(model), how, config=KLSA(axes=5), deep=200)
    for before, after in zip(first(queries), stage(queries), strict=True):
        assert np.array_equal(before.ranking.docs, after.ranking.docs)


def test_a_share_of_one_goes_by_likeness_alone(kinds, queries):
    _, stage = smoothing(kinds, BM25(), Smoothing(docs=1, share=1), config=KLSA(axes=20))
    [[query, ranking]] = stage(queries[0])
    own = query.ranked.docs[0]
    rows = stage.stages[-1].search.stored.of(np.arange(600)).astype(np.float64)
    like = rows @ rows[own]
    assert ranking.scores.max() == pytest.approx(1.0)
    np.testing.assert_allclose(ranking.scores, like[ranking.docs] / like.max(), atol=1e-6)


@pytest.mark.parametrize("model", [BM25(), QueryLikelihood()], ids=str)
def test_a_query_without_answers_stays_without(kinds, model):
    _, stage = smoothing(kinds, model, Smoothing(), config=KLSA(axes=5))
    for text in ("unheard", ""):
        [[query, ranking]] = stage(text)
        assert len(ranking.docs) == len(ranking.scores) == 0
        assert stage.explain(query, 0) == []
        assert stage.score(query, np.array([0])) is None


@pytest.mark.parametrize("scale", ["raw", "max"])
@pytest.mark.parametrize("by", ["score", "rank"])
def test_a_ranking_of_one_document_brings_those_that_are_like_it(make, by, scale):
    # The only answer that is allowed has less of the word than others: it is not likely.
    texts = ["b" + "cdefgh" * 9, "cdefgh", "cde", "xyz", "b" * 9, "b" * 8]
    collection = make(texts)
    allowed = [np.array([True, True, True, True, False, False])]
    space = fit_space(collection, KLSA(axes=6, kernel="inner"), threads=1)
    for model in (BM25(), QueryLikelihood(5)):
        first = Retrieve(Retriever(collection, model), allowed=allowed)
        [[_, ranked]] = first("b")
        assert ranked.docs.tolist() == [0]
        assert (ranked.scores[0] < 0) == (model != BM25())
        rows = RowSearch(StoredRows(collection, space, exact=True))
        stage = first >> Smooth(rows, Smoothing(by=by, scale=scale))
        [[query, ranking]] = stage("b")
        assert ranking.docs.tolist() == [0, 1, 2]
        assert (ranking.scores > 0).all()
        for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
            assert adds_up(stage.explain(query, doc), score)


def test_what_neither_part_knows_is_no_answer(make):
    # One axis knows the words of the first documents only: of the last nothing is known.
    texts = [["a", "b"] * 8, ["a", "b"] * 7, ["a"], ["y"], [], ["z", "z"]]
    collection = make(texts)
    how = Smoothing(share=0.4)
    _, stage = smoothing(collection, BM25(), how, config=KLSA(axes=1, kernel="inner"))
    stored = stage.stages[-1].search.stored
    assert not stored.of(np.array([3, 4, 5])).any()
    [[_, alone]] = stage("z")
    assert alone.docs.tolist() == [5]
    assert alone.scores.tolist() == pytest.approx([0.6])
    [[_, several]] = stage("a")
    assert sorted(several.docs.tolist()) == [0, 1, 2]


def test_what_is_not_allowed_neither_answers_nor_counts(kinds, queries):
    masks = [np.zeros(segment.n_docs, np.bool_) for segment in kinds.segments]
    for mask in masks:
        mask[::3] = True
    space = fit_space(kinds, KLSA(axes=20), threads=1)
    rows, retriever = RowSearch(StoredRows(kinds, space)), Retriever(kinds, BM25())
    open_docs = np.flatnonzero(np.concatenate(masks))
    filtered = Retrieve(retriever, allowed=masks)
    both = filtered >> Smooth(rows, allowed=masks)
    for stage in (Retrieve(retriever) >> Smooth(rows, allowed=masks), filtered >> Smooth(rows)):
        for one, other in zip(both(queries), stage(queries), strict=True):
            assert np.isin(one.ranking.docs, open_docs).all()
            assert np.array_equal(one.ranking.docs, other.ranking.docs)
            assert np.array_equal(one.ranking.scores, other.ranking.scores)
    nothing = [np.zeros_like(mask) for mask in masks]
    [[_, ranking]] = (Retrieve(retriever) >> Smooth(rows, allowed=nothing))(queries[0])
    assert len(ranking.docs) == 0


def test_deleted_documents_of_an_older_ranking_do_not_count(make):
    collection = make([list("aab"), list("ab"), list("b"), list("c")])
    [ranking] = Retriever(collection, BM25()).rank([{"a": 1.0}])
    with Writer(collection.folder) as writer:
        writer.delete(["d0"])
    now = open_snapshot(collection.folder)
    smooth = Smooth(RowSearch(StoredRows(now, fit_space(now, KLSA(axes=4), threads=1))))
    [[_, found]] = smooth.apply([Answered(Query("1", "a"), ranking)])
    assert 0 not in found.docs
    kept = Ranking(ranking.docs[ranking.docs != 0], ranking.scores[ranking.docs != 0])
    [[_, without]] = smooth.apply([Answered(Query("1", "a"), kept)])
    assert np.array_equal(found.docs, without.docs)
    assert np.array_equal(found.scores, without.scores)


@pytest.mark.parametrize("model", FIRST, ids=str)
@pytest.mark.parametrize("how", HOW[::3], ids=str)
def test_parts_add_up_to_the_score(kinds, queries, model, how):
    _, stage = smoothing(kinds, model, how, config=KLSA(axes=20), exact=False, k=300, deep=200)
    # A ranking that was cut leaves documents to be scored by the stage before.
    short = Retrieve(Retriever(kinds, model), k=7) >> stage.stages[-1]
    for made in (stage, short):
        for query, ranking in made(queries[:4]):
            told = made.score(query, ranking.docs)
            np.testing.assert_allclose(told, ranking.scores, rtol=1e-12)
            for at in (0, 1, 5, 30, 150, len(ranking.docs) - 1):
                parts = made.explain(query, int(ranking.docs[at]))
                assert adds_up(parts, ranking.scores[at])
                sizes = [abs(part.score) for part in parts]
                assert sizes == sorted(sizes, reverse=True)
                if not isinstance(model, QueryLikelihood):
                    assert LOWEST not in [part.term for part in parts]


def test_a_stage_that_cannot_score_or_explain_is_taken_at_its_word(kinds, queries):
    _, stage = smoothing(kinds, BM25(), Smoothing(), config=KLSA(axes=20), k=50)
    cut = Retrieve(Retriever(kinds, BM25())) >> Cut(3) >> stage.stages[-1]
    [[query, ranking]] = cut(queries[0])
    assert len(ranking.docs) == 50
    best, *_, last = ranking.docs.tolist()
    assert best in query.ranked.docs
    assert AS_RANKED in [part.term for part in cut.explain(query, best)]
    assert AS_RANKED not in [part.term for part in cut.explain(query, last)]
    for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
        assert adds_up(cut.explain(query, doc), score)


def test_what_was_smoothed_can_be_smoothed_again(kinds, queries):
    _, once = smoothing(kinds, BM25(), Smoothing(docs=5), config=KLSA(axes=20), k=40, deep=50)
    _, other = smoothing(kinds, BM25(), Smoothing(docs=2), config=KLSA(axes=10), k=60, deep=70)
    twice = once >> other.stages[-1]
    [[query, ranking]] = twice(queries[1])
    [[_, first]] = once(queries[1])
    assert np.array_equal(query.ranked.docs, first.docs)
    new = np.setdiff1d(ranking.docs, first.docs)
    assert len(new)
    for doc in [*ranking.docs[:5].tolist(), *new[:5].tolist()]:
        [score] = ranking.scores[ranking.docs == doc]
        assert adds_up(twice.explain(query, doc), score)
    np.testing.assert_allclose(twice.score(query, ranking.docs), ranking.scores, rtol=1e-12)


def test_documents_of_the_same_words_have_the_same_score(make, draw):
    texts = draw(30)
    collection = make([*texts, *texts[:10]])
    _, stage = smoothing(collection, BM25(), Smoothing(), config=KLSA(axes=10), exact=False)
    [[_, ranking]] = stage(" ".join(texts[3][:4]))
    scores = dict(zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True))
    for i in range(10):
        assert scores[i] == scores[30 + i]
        at = ranking.docs.tolist().index(i)
        assert ranking.docs[at + 1] == 30 + i


def test_documents_added_later_take_part(make, draw):
    texts = draw(60)
    collection = make(texts[:40])
    space = fit_space(collection, KLSA(axes=8), threads=1)
    with Writer(collection.folder) as writer:
        writer.add([Document(f"n{i}", "", " ".join(t)) for i, t in enumerate(texts[40:])])
    now = open_snapshot(collection.folder)
    rows = RowSearch(StoredRows(now, space))
    stage = Retrieve(Retriever(now, BM25())) >> Smooth(rows)
    [[_, ranking]] = stage(" ".join(texts[45]))
    assert ranking.docs[0] == 45
    assert len(ranking.docs) == 60


class Given(Stage):
    """A stage that gives what it was told to."""

    def __init__(self, docs, scores):
        self.ranking = Ranking(np.array(docs), np.array(scores, np.float64))

    def apply(self, batch):
        return [Answered(query, self.ranking) for query, _ in batch]


def test_scores_of_any_stage_are_smoothed_but_have_to_be_finite(kinds):
    rows = RowSearch(StoredRows(kinds, fit_space(kinds, KLSA(axes=5), threads=1)))
    for scores in ([0.0, 0.0, 0.0], [-2.0, -2.0, -2.0], [5.0, 5.0, 5.0]):
        stage = Given([4, 5, 6], scores) >> Smooth(rows, Smoothing(by="score"), k=20)
        [[query, ranking]] = stage("any")
        assert np.isfinite(ranking.scores).all()
        assert len(ranking.docs) == 20
        for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
            assert adds_up(stage.explain(query, doc), score)
    with pytest.raises(UsageError, match="finite"):
        (Given([4, 5], [1.0, -np.inf]) >> Smooth(rows))("any")


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"deep": -1}, {"threads": -1}], ids=["k", "deep", "threads"]
)
def test_what_makes_no_sense_is_refused(kinds, options):
    with pytest.raises(UsageError):
        Smooth(RowSearch(StoredRows(kinds, fit_space(kinds, KLSA(axes=2), threads=1))), **options)


@pytest.mark.parametrize(
    "text",
    [
        *("klsa(docs=-1)", "klsa(share=1.1)", "klsa(share=nan)", "klsa(by=chance)"),
        *("klsa(scale=sum)", "klsa(docs=x)", "rm3", "klsa(z=1)", ""),
    ],
)
def test_smoothings_that_make_no_sense_are_refused(text):
    with pytest.raises(UsageError):
        read_smoothing(text)


@pytest.mark.parametrize("text", ["klsa", "klsa(docs=1,share=0.9,by=score,scale=raw)"])
def test_smoothings_print_as_they_are_read(text):
    how = read_smoothing(text)
    assert str(how) == text
    assert read_smoothing(how) is how


def test_a_filter_holds_however_stages_are_put_together(tmp_path):
    documents = [
        {"id": f"{kind}{i}", "text": f"wing flutter {word} {word}", "kind": kind}
        for kind in "ab"
        for i, word in enumerate(["speed", "body", "mach", "panel", "shock", "lift"])
    ]
    c = lw.index(documents, to=tmp_path / "c.lw", model=None, smooth="klsa(axes=3)")
    bm25, ql = (c.retrieve(name, where="kind=a") for name in ("bm25", "ql"))
    last = c.smooth("klsa(share=0.9)")
    for stage in (bm25 >> Cut(2) >> last, bm25 >> (Cut(2) >> last), lw.fuse(bm25, ql) >> last):
        [answered] = stage("wing speed")
        ids = c.snapshot.doc_ids(answered.ranking.docs)
        assert len(ids) > 2
        assert {doc_id[0] for doc_id in ids} == {"a"}
    [answered] = (lw.fuse(bm25, c.retrieve("ql")) >> last)("wing speed")
    assert {doc_id[0] for doc_id in c.snapshot.doc_ids(answered.ranking.docs)} == {"a", "b"}


def test_the_first_answers_do_not_depend_on_how_many_are_asked_for(tmp_path):
    words = ["flutter", "wing", "speed", "mach", "body", "shock", "lift", "panel"]
    rng = np.random.default_rng(0)
    documents = [
        {"id": str(i), "text": " ".join(rng.choice(words, 12, p=np.arange(1, 9) / 36))}
        for i in range(DEPTH * 2)
    ]
    c = lw.index(documents, to=tmp_path / "c.lw", model=None, smooth="klsa(axes=4)")
    for method in ("bm25", "ql", "ql-jm", "tfidf"):
        few, many = (
            c.retrieve(method, k=k, smooth="klsa")("wing flutter mach")[0].ranking
            for k in (10, DEPTH * 2)
        )
        assert few.docs.tolist() == many.docs[:10].tolist()
        assert few.scores.tolist() == many.scores[:10].tolist()


@pytest.mark.parametrize(
    "bad", [{"docs": True}, {"docs": 1.5}, {"docs": -1}, {"share": "a"}, {"share": 2}, {"by": "x"}]
)
def test_options_of_the_wrong_kind_are_refused(bad):
    with pytest.raises(UsageError, match="klsa"):
        Smoothing(**bad)
    assert Smoothing(docs=np.int64(3)).docs == 3

"""Smoothing against its formula with dense matrices, and what it must never do."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.engine.pipeline import Pipeline
from likewise.errors import UsageError
from likewise.like import smooth
from likewise.like.smooth import AS_RANKED, DEPTH, LOWEST, Smoothing, SmoothWith, read_smoothing
from likewise.models.klsa import KLSA, fit_space
from likewise.models.stored_vectors import StoredVectors
from likewise.neighbours.vectors import VectorSearch
from likewise.records import Document, Filter, Query, QueryDocument, Ranking
from likewise.retrieve.models import BM25, TFIDF, InnerProduct, QueryLikelihood, read_model
from likewise.retrieve.words import WordScorer
from likewise.stages.stage import Cut, Result, Stage, Where

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


def smoothing(collection, model, how, *, config, exact=True, k=10_000, candidates=0):
    space = fit_space(collection, config, threads=1)
    rows = StoredVectors(collection, space, exact=exact)
    last = SmoothWith(rows, replace(how, candidates=candidates))
    return Pipeline(collection, model, k=10_000), Pipeline(collection, model >> last, k=k)


def explained(result, docs):
    """The parts of the scores of some documents."""
    return [one.parts for one in result.scorer.explain(np.array(docs))]


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
    searches = [StoredVectors(collection, space, exact=exact) for exact in (True, False)]
    rows = searches[0].rows(np.arange(len(u)))
    np.testing.assert_allclose(rows @ rows.T, u @ u.T, atol=1e-4)
    error = rounding(rows)
    query = " ".join(query)
    for model, how in itertools.product(models, hows):
        [[_, ranking, *_]] = Pipeline(collection, model)(query)
        if not len(ranking.docs):
            continue
        expected, spread, weights = dense.smoothed(ranking, u, how)
        if how.scale == "max" and spread.max() < 1e-3 * weights.sum():
            continue
        for search in searches:
            last = SmoothWith(search, replace(how, candidates=0))
            [result] = Pipeline(collection, model >> last)(query)
            answer = result.ranking
            scores = np.zeros(len(u))
            scores[answer.docs] = answer.scores
            off = 1e-4 * np.abs(expected).max() + 1e-7 * weights.sum()
            if not search.exact:
                scale = max(spread.max(), 1e-30) if how.scale == "max" else 1.0
                # Both a part and the largest part, by which it is divided, are rounded.
                off = off + how.share * (weights @ error + (weights @ error).max()) / scale * 1.5
            assert (np.abs(scores - expected) <= off).all()
            assert np.array_equal(answer.docs, answer.docs[in_order(answer)])
            assert set(ranking.docs.tolist()) <= set(answer.docs.tolist())
            ends = answer.docs[[0, -1]]
            for parts, score in zip(explained(result, ends), scores[ends], strict=True):
                assert adds_up(parts, score)


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
    _, some = smoothing(kinds, model, how, config=KLSA(axes=20), exact=False, k=10, candidates=50)
    last = some.stage.steps[-1]
    deleted = [int(kinds.bases[1]) + 50, 3, 599]
    for one, other in zip(all_scored(queries), some(queries), strict=True):
        assert np.array_equal(one.ranking.docs[:10], other.ranking.docs)
        assert np.array_equal(one.ranking.scores[:10], other.ranking.scores)
        assert not np.isin(deleted, one.ranking.docs).any()
        assert len(np.unique(one.ranking.docs)) == len(one.ranking.docs) == 597
    for one, other in zip(first(queries), some(queries), strict=True):
        before = other.scorer.ranking
        depth = last.depth(10, log=model.log)
        assert np.array_equal(before.docs, one.ranking.docs[:depth])
        assert np.array_equal(before.scores, one.ranking.scores[:depth])


def test_answers_have_the_same_bits_on_any_number_of_threads(kinds, queries):
    rows = StoredVectors(kinds, fit_space(kinds, KLSA(axes=20), threads=1))
    stage = BM25() >> SmoothWith(rows)
    found = [Pipeline(kinds, stage, threads=n)(queries) for n in (0, 1, 2, 4)]
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one.ranking.docs, other.ranking.docs)
            assert np.array_equal(one.ranking.scores, other.ranking.scores)


@pytest.mark.parametrize("model", ["bm25", "ql", "ql(mu=5)", "tfidf", "inner"])
@pytest.mark.parametrize("scale", ["raw", "max"])
def test_a_share_of_nothing_leaves_the_order(kinds, queries, model, scale):
    how = Smoothing(share=0, scale=scale)
    first, stage = smoothing(kinds, read_model(model), how, config=KLSA(axes=5), candidates=200)
    for before, after in zip(first(queries), stage(queries), strict=True):
        assert np.array_equal(before.ranking.docs, after.ranking.docs)


def test_a_share_of_one_goes_by_likeness_alone(kinds, queries):
    _, stage = smoothing(kinds, BM25(), Smoothing(docs=1, share=1), config=KLSA(axes=20))
    [[_, ranking, scorer, _]] = stage(queries[0])
    own = scorer.ranking.docs[0]
    rows = scorer.rows.rows(np.arange(600)).astype(np.float64)
    like = rows @ rows[own]
    assert ranking.scores.max() == pytest.approx(1.0)
    np.testing.assert_allclose(ranking.scores, like[ranking.docs] / like.max(), atol=1e-6)


@pytest.mark.parametrize("model", [BM25(), QueryLikelihood()], ids=str)
def test_a_query_without_answers_stays_without(kinds, model):
    _, stage = smoothing(kinds, model, Smoothing(), config=KLSA(axes=5))
    for text in ("unheard", ""):
        [[_, ranking, scorer, _]] = stage(text)
        assert len(ranking.docs) == len(ranking.scores) == 0
        assert scorer is None


@pytest.mark.parametrize("scale", ["raw", "max"])
@pytest.mark.parametrize("by", ["score", "rank"])
def test_a_ranking_of_one_document_brings_those_that_are_like_it(make, by, scale):
    # The only answer that is allowed has less of the word than others: it is not likely.
    texts = ["b" + "cdefgh" * 9, "cdefgh", "cde", "xyz", "b" * 9, "b" * 8]
    collection = make(texts, fields=[{"place": i} for i in range(6)])
    few = Where(Filter.read("place<4"))
    space = fit_space(collection, KLSA(axes=6, kernel="inner"), threads=1)
    for model in (BM25(), QueryLikelihood(5)):
        [[_, ranked, *_]] = Pipeline(collection, few >> model)("b")
        assert ranked.docs.tolist() == [0]
        assert (ranked.scores[0] < 0) == (model != BM25())
        rows = StoredVectors(collection, space, exact=True)
        last = SmoothWith(rows, Smoothing(by=by, scale=scale))
        [result] = Pipeline(collection, few >> model >> last)("b")
        ranking = result.ranking
        assert ranking.docs.tolist() == [0, 1, 2]
        assert (ranking.scores > 0).all()
        for parts, score in zip(explained(result, ranking.docs), ranking.scores, strict=True):
            assert adds_up(parts, score)


def test_what_neither_part_knows_is_no_answer(make):
    # One axis knows the words of the first documents only: of the last nothing is known.
    texts = [["a", "b"] * 8, ["a", "b"] * 7, ["a"], ["y"], [], ["z", "z"]]
    collection = make(texts)
    how = Smoothing(share=0.4)
    _, stage = smoothing(collection, BM25(), how, config=KLSA(axes=1, kernel="inner"))
    [[_, alone, scorer, _]] = stage("z")
    assert not scorer.rows.rows(np.array([3, 4, 5])).any()
    assert scorer.score(np.array([3, 4])).tolist() == [-np.inf, -np.inf]
    assert alone.docs.tolist() == [5]
    assert alone.scores.tolist() == pytest.approx([0.6])
    [[_, several, *_]] = stage("a")
    assert sorted(several.docs.tolist()) == [0, 1, 2]


def test_what_is_not_allowed_neither_answers_nor_counts(kinds, queries):
    space = fit_space(kinds, KLSA(axes=20), threads=1)
    last = SmoothWith(StoredVectors(kinds, space))
    few = Where(Filter.read("third=yes"))
    open_docs = np.flatnonzero(np.arange(600) % 200 % 3 == 0)
    both = Pipeline(kinds, few >> BM25() >> few >> last)
    for stage in (BM25() >> few >> last, few >> BM25() >> last):
        for one, other in zip(both(queries), Pipeline(kinds, stage)(queries), strict=True):
            assert np.isin(one.ranking.docs, open_docs).all()
            assert np.array_equal(one.ranking.docs, other.ranking.docs)
            assert np.array_equal(one.ranking.scores, other.ranking.scores)
    nothing = Where(Filter.read("third=neither"))
    [[_, ranking, *_]] = Pipeline(kinds, BM25() >> nothing >> last)(queries[0])
    assert len(ranking.docs) == 0


def test_deleted_documents_of_an_older_ranking_do_not_count(make):
    collection = make([list("aab"), list("ab"), list("b"), list("c")])
    [[_, ranking, *_]] = Pipeline(collection, BM25())("a")
    with Writer(collection.folder) as writer:
        writer.delete(["d0"])
    now = open_snapshot(collection.folder)
    rows = StoredVectors(now, fit_space(now, KLSA(axes=4), threads=1))
    smooth = Pipeline(now, SmoothWith(rows))
    [[_, found, *_]] = smooth(Result(Query("1", "a"), ranking))
    assert 0 not in found.docs
    kept = Ranking(ranking.docs[ranking.docs != 0], ranking.scores[ranking.docs != 0])
    [[_, without, *_]] = smooth(Result(Query("1", "a"), kept))
    assert np.array_equal(found.docs, without.docs)
    assert np.array_equal(found.scores, without.scores)


@pytest.mark.parametrize("model", FIRST, ids=str)
@pytest.mark.parametrize("how", HOW[::3], ids=str)
def test_parts_add_up_to_the_score(kinds, queries, model, how):
    _, stage = smoothing(
        kinds, model, how, config=KLSA(axes=20), exact=False, k=300, candidates=200
    )
    # A ranking that was cut leaves documents to be scored by the stage before.
    short = Pipeline(kinds, model >> Cut(7) >> stage.stage.steps[-1], k=300)
    for made in (stage, short):
        for result in made(queries[:4]):
            ranking = result.ranking
            assert np.array_equal(result.scorer.score(ranking.docs), ranking.scores)
            places = [0, 1, 5, 30, 150, len(ranking.docs) - 1]
            for at, parts in zip(places, explained(result, ranking.docs[places]), strict=True):
                assert adds_up(parts, ranking.scores[at])
                sizes = [abs(part.score) for part in parts]
                assert sizes == sorted(sizes, reverse=True)
                if not isinstance(model, QueryLikelihood):
                    assert LOWEST not in [part.name for part in parts]


def first_three(result):
    """A function of a result: nobody knows what it scores by."""
    return result._replace(ranking=result.ranking.cut(3))


def test_what_cannot_score_or_explain_is_taken_at_its_word(kinds, queries):
    _, stage = smoothing(kinds, BM25(), Smoothing(), config=KLSA(axes=20))
    cut = Pipeline(kinds, BM25() >> first_three >> stage.stage.steps[-1], k=50)
    [result] = cut(queries[0])
    ranking = result.ranking
    assert len(ranking.docs) == 50
    assert ranking.docs[0] in result.scorer.ranking.docs
    parts = explained(result, ranking.docs)
    assert AS_RANKED in [part.name for part in parts[0]]
    assert AS_RANKED not in [part.name for part in parts[-1]]
    for mine, score in zip(parts, ranking.scores, strict=True):
        assert adds_up(mine, score)


def test_what_was_smoothed_can_be_smoothed_again(kinds, queries):
    _, once = smoothing(kinds, BM25(), Smoothing(docs=5), config=KLSA(axes=20), candidates=50)
    _, other = smoothing(kinds, BM25(), Smoothing(docs=2), config=KLSA(axes=10), candidates=70)
    once = Pipeline(kinds, once.stage >> Cut(40))
    twice = Pipeline(kinds, once.stage >> other.stage.steps[-1], k=60)
    [result] = twice(queries[1])
    [[_, first, *_]] = once(queries[1])
    ranking = result.ranking
    assert np.array_equal(result.scorer.ranking.docs, first.docs)
    new = np.setdiff1d(ranking.docs, first.docs)
    assert len(new)
    docs = [*ranking.docs[:5].tolist(), *new[:5].tolist()]
    for doc, parts in zip(docs, explained(result, docs), strict=True):
        [score] = ranking.scores[ranking.docs == doc]
        assert adds_up(parts, score)
    assert np.array_equal(result.scorer.score(ranking.docs), ranking.scores)


def test_documents_of_the_same_words_have_the_same_score(make, draw):
    texts = draw(30)
    collection = make([*texts, *texts[:10]])
    _, stage = smoothing(collection, BM25(), Smoothing(), config=KLSA(axes=10), exact=False)
    [[_, ranking, *_]] = stage(" ".join(texts[3][:4]))
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
    rows = StoredVectors(now, space)
    [[_, ranking, *_]] = Pipeline(now, BM25() >> SmoothWith(rows))(" ".join(texts[45]))
    assert ranking.docs[0] == 45
    assert len(ranking.docs) == 60


def by_hand(ranking, n_terms, adapt, terms):
    """The share of likeness, by the scores of a ranking."""
    scores = ranking.scores.tolist()
    lowest = min(0.0, *scores)
    tenth = scores[9] - lowest if len(scores) > 9 else 0.0
    decline = 1 - tenth / (scores[0] - lowest)
    weight = adapt * decline**0.5 * min(1.0, terms / n_terms) ** 2
    return weight / (1 + weight)


@pytest.mark.parametrize("model", [BM25(), QueryLikelihood()], ids=str)
@pytest.mark.parametrize(("adapt", "terms"), [(0.5, 9), (2.0, 2), (0.3, 1), (10.0, 3)])
def test_the_share_follows_the_query(kinds, queries, model, adapt, terms):
    rows = StoredVectors(kinds, fit_space(kinds, KLSA(axes=20), threads=1))
    how = Smoothing(adapt=adapt, terms=terms)
    shares = set()
    for query in [*queries[:6], queries[0].split()[0], " ".join(queries[:4])]:
        n_terms = len({*kinds.analyzer.terms(query)})
        [first] = Pipeline(kinds, model, k=1000)(query)
        share = by_hand(first.ranking, n_terms, adapt, terms)
        fixed = replace(how, adapt=0.0, share=share)
        [found] = Pipeline(kinds, model >> SmoothWith(rows, how), k=20)(query)
        [expected] = Pipeline(kinds, model >> SmoothWith(rows, fixed), k=20)(query)
        assert found.ranking.docs.tolist() == expected.ranking.docs.tolist()
        assert found.ranking.scores == pytest.approx(expected.ranking.scores, rel=1e-9)
        shares.add(round(share, 6))
    assert len(shares) > 2


def test_after_expansion_the_first_by_the_words_typed_spread_their_scores(kinds, queries):
    rows = StoredVectors(kinds, fit_space(kinds, KLSA(axes=20), threads=1))
    differ = 0
    for query in queries[:8]:
        n_terms = len({*kinds.analyzer.terms(query)})
        expansion = lw.stage("bm25 >> rm3(share=0.9,terms=30) >> bm25")
        how = Smoothing(docs=3, adapt=2.0, candidates=0)
        [found] = Pipeline(kinds, expansion >> SmoothWith(rows, how), k=600)(query)
        [typed] = Pipeline(kinds, BM25(), k=1000)(query)
        [expanded] = Pipeline(kinds, expansion, k=1000)(query)
        assert found.scorer.first.tolist() == typed.ranking.docs[:3].tolist()
        differ += found.scorer.first.tolist() != expanded.ranking.docs[:3].tolist()
        # By dense products: who is like the first by words, against the scores after expansion.
        vectors = rows.rows(np.arange(kinds.n_slots)).astype(np.float64)
        like = vectors @ (vectors[typed.ranking.docs[:3]].T @ (1 / np.arange(1, 4)))
        share = by_hand(expanded.ranking, n_terms, 2.0, 9)
        before = np.zeros(kinds.n_slots)
        before[expanded.ranking.docs] = expanded.ranking.scores
        docs = found.ranking.docs
        scores = share * like / like[docs].max() + (1 - share) * before / before.max()
        assert found.ranking.scores == pytest.approx(scores[docs], abs=1e-5)
        # A fixed share takes the first as they are now.
        fixed = replace(how, adapt=0.0)
        [result] = Pipeline(kinds, expansion >> SmoothWith(rows, fixed), k=20)(query)
        assert result.scorer.first.tolist() == expanded.ranking.docs[:3].tolist()
    assert differ


@dataclass(frozen=True)
class Given(Stage):
    """A stage that gives what it was told to."""

    docs: tuple
    scores: tuple

    def run(self, batch, context):
        ranking = Ranking(np.array(self.docs), np.array(self.scores, np.float64))
        return [Result(result.query, ranking) for result in batch]


def test_scores_of_any_stage_are_smoothed_but_have_to_be_finite(kinds):
    rows = StoredVectors(kinds, fit_space(kinds, KLSA(axes=5), threads=1))
    last = SmoothWith(rows, Smoothing(by="score"))
    for scores in ((0.0, 0.0, 0.0), (-2.0, -2.0, -2.0), (5.0, 5.0, 5.0)):
        [result] = Pipeline(kinds, Given((4, 5, 6), scores) >> last, k=20)("any")
        ranking = result.ranking
        assert np.isfinite(ranking.scores).all()
        assert len(ranking.docs) == 20
        for parts, score in zip(explained(result, ranking.docs), ranking.scores, strict=True):
            assert adds_up(parts, score)
    with pytest.raises(UsageError, match="finite"):
        Pipeline(kinds, Given((4, 5), (1.0, -np.inf)) >> last)("any")


@pytest.mark.parametrize("options", [{"k": 0}, {"threads": -1}], ids=["k", "threads"])
def test_what_makes_no_sense_is_refused(kinds, options):
    with pytest.raises(UsageError):
        Pipeline(kinds, Smoothing(), **options)


@pytest.mark.parametrize(
    "text",
    [
        *("klsa(docs=-1)", "klsa(share=1.1)", "klsa(share=nan)", "klsa(by=chance)"),
        *("klsa(scale=sum)", "klsa(docs=x)", "rm3", "klsa(z=1)", ""),
        *("klsa(candidates=-1)", "klsa(adapt=-1)", "klsa(adapt=11)", "klsa(terms=0)"),
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
    bm25, ql = (lw.stage(f"where(kind=a) >> {name}") for name in ("bm25", "ql"))
    last = lw.stage("klsa(share=0.9)")
    for stage in (bm25 >> Cut(2) >> last, bm25 >> (Cut(2) >> last), lw.fuse(bm25, ql) >> last):
        [result] = c.pipeline(stage)("wing speed")
        ids = c.snapshot.doc_ids(result.ranking.docs)
        assert len(ids) > 2
        assert {doc_id[0] for doc_id in ids} == {"a"}
    [result] = c.pipeline(lw.fuse(bm25, "ql") >> last)("wing speed")
    assert {doc_id[0] for doc_id in c.snapshot.doc_ids(result.ranking.docs)} == {"a", "b"}


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
            c.pipeline(method, k=k, smooth="klsa")("wing flutter mach")[0].ranking
            for k in (10, DEPTH * 2)
        )
        assert few.docs.tolist() == many.docs[:10].tolist()
        assert few.scores.tolist() == many.scores[:10].tolist()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """More documents than a ranking is read deep, of eight words and eighty rarer ones."""
    words = ["flutter", "wing", "speed", "mach", "body", "shock", "lift", "panel"]
    words += [f"{word}{i}" for word in words for i in range(10)]
    shares = np.repeat([0.5 / 8, 0.5 / 80], [8, 80])
    rng = np.random.default_rng(1)
    documents = [
        {"id": str(i), "text": " ".join(rng.choice(words, rng.integers(5, 40), p=shares))}
        for i in range(DEPTH * 2)
    ]
    folder = tmp_path_factory.mktemp("many") / "c.lw"
    return lw.index(documents, to=folder, model=None, smooth="klsa(axes=16)")


SHARES = ("klsa", "klsa(share=0.05)", "klsa(share=0.95)", "klsa(share=0)", "klsa(adapt=0.5)")
SHARES += ("klsa(candidates=0)", "klsa(candidates=5)", "klsa(docs=200)", "klsa(scale=raw,by=score)")
TYPED = ("flutter", "wing3 speed shock1", "flutter wing speed mach body shock lift panel")


def equal_results(one, other):
    assert one.ranking.docs.tolist() == other.ranking.docs.tolist()
    assert one.ranking.scores.tolist() == other.ranking.scores.tolist()
    docs = one.ranking.docs
    assert one.scorer.score(docs).tolist() == other.scorer.score(docs).tolist()
    assert one.scorer.explain(docs[:3]) == other.scorer.explain(docs[:3])


def all_is_read(collection, monkeypatch):
    """Let smoothing read all of a search by words."""
    monkeypatch.setattr(Smoothing, "enough", lambda *_: 0)
    # Pipelines, and how deep they read, are kept with the snapshot.
    collection.snapshot.forget()


@pytest.mark.parametrize("how", SHARES)
@pytest.mark.parametrize("k", [1, 10, 300])
def test_what_is_left_out_cannot_be_among_the_answers(many, monkeypatch, how, k):
    some = many.pipeline("bm25", smooth=how, k=k)(TYPED)
    all_is_read(many, monkeypatch)
    monkeypatch.setattr(smooth, "_kth_largest", lambda *_: -np.inf)
    every = many.pipeline("bm25", smooth=how, k=k)(TYPED)
    many.snapshot.forget()
    for one, other in zip(some, every, strict=True):
        equal_results(one, other)


@pytest.mark.parametrize("words", [*TYPED, "wing flutter", "shock speed", "lift mach1 panel"])
def test_a_document_in_hand_does_not_shorten_what_is_read(many, monkeypatch, words):
    [found] = many.pipeline("bm25", k=3)(words)
    unlike = tuple(QueryDocument(one) for one in many.snapshot.doc_ids(found.ranking.docs))
    asked, how = Query("1", words, unlike=unlike), "klsa(share=0.9,candidates=32)"
    [some] = many.pipeline("bm25", smooth=how, k=30)(asked)
    all_is_read(many, monkeypatch)
    [every] = many.pipeline("bm25", smooth=how, k=30)(asked)
    many.snapshot.forget()
    assert not np.isin(found.ranking.docs, every.ranking.docs).any()
    equal_results(some, every)


def test_few_documents_are_scored_by_words(many, monkeypatch):
    scored = []
    score = WordScorer.score
    monkeypatch.setattr(
        WordScorer, "score", lambda self, docs: scored.append(len(docs)) or score(self, docs)
    )
    [result] = many.pipeline("bm25", smooth="klsa(share=0.05)", k=10)(TYPED[1])
    assert len(result.ranking.docs) == 10
    assert sum(scored) < 100


@pytest.mark.parametrize(
    ("how", "n_read"), [("klsa(share=0.05)", 0), ("klsa(share=0.95,candidates=5)", 2)]
)
def test_a_search_by_words_is_read_on_where_its_others_may_answer(many, monkeypatch, how, n_read):
    found = []
    find_left = WordScorer.find_left
    monkeypatch.setattr(
        WordScorer, "find_left", lambda self, n=0: found.append(find_left(self, n)) or found[-1]
    )
    [result] = many.pipeline("bm25", smooth=how, k=10)(TYPED[1])
    assert [len(one.docs) for one in found] == [384, DEPTH][:n_read]
    assert (len(result.scorer.ranking.docs) < 200) == (n_read == 0)


def test_what_is_like_the_first_is_read_on_where_it_may_answer(many, monkeypatch):
    asked = []
    nearest = VectorSearch.nearest

    def counted(self, point, n, masks=None, **how):
        asked.append((n, self._rough))
        return nearest(self, point, n, masks, **how)

    monkeypatch.setattr(VectorSearch, "nearest", counted)
    # Of what is most like the first the 64th may well be among a hundred answers.
    for k, wanted in ((10, [(128, True)]), (100, [(400, False), (DEPTH, False)])):
        asked.clear()
        many.pipeline("bm25", smooth="klsa(share=0.9)", k=k)(TYPED[1])
        assert asked == wanted


def test_only_scores_above_nothing_are_read_in_part(many):
    [[query, *_]] = many.pipeline("bm25")("wing3 speed")
    weighed = query._replace(terms={"speed": 1.0, "wing": -0.5})
    for method, asked in (("bm25", weighed), ("ql", query), ("bm25 >> proximity", query)):
        [result] = many.pipeline(method, smooth="klsa", k=10)(asked)
        assert len(result.scorer.ranking.docs) > 300
    [result] = many.pipeline("bm25", smooth="klsa", k=10)(query)
    assert len(result.scorer.ranking.docs) < 200


@pytest.mark.parametrize(
    "bad", [{"docs": True}, {"docs": 1.5}, {"docs": -1}, {"share": "a"}, {"share": 2}, {"by": "x"}]
)
def test_options_of_the_wrong_kind_are_refused(bad):
    with pytest.raises(UsageError, match="klsa"):
        Smoothing(**bad)
    assert Smoothing(docs=np.int64(3)).docs == 3

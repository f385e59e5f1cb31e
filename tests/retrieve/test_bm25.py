"""Is search by sums of bounds the same as scoring every document?"""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.postings import BLOCK, bm25_norms, stored_impact
from likewise.errors import DamagedError
from likewise.neighbours.largest import kth_largest, kth_of_few, strided_maxima
from likewise.retrieve.bm25 import scale_of
from likewise.retrieve.bm25_scores import (
    count_of,
    make_room,
    norm_of,
    only_count,
    record_score,
)
from likewise.retrieve.documents import score_records
from likewise.retrieve.lookup import LARGEST_WEIGHT, LEAST_WEIGHT, bm25_weight, joined
from likewise.retrieve.models import BM25, bm25_idf
from likewise.retrieve.search import Retriever
from likewise.retrieve.sums import (
    GROUP,
    MOST,
    TOGETHER,
    Scale,
    add_bounds,
    add_bounds_by,
    bar,
    bound_of,
    find_places,
    group_maxima,
    quantise,
)
from likewise.retrieve.term_slots import slots_of
from likewise.text.analysis import Analysis

PARAMETERS = [BM25(), BM25(1.3), BM25(1.2, 0.74), BM25(0.0, 0.5), BM25(3.0, 0.0), BM25(1.5, 0.6)]


def drawn_texts(generator, n_docs, n_words):
    """Documents of Zipf's words, some of them long, some with a word hundreds of times."""
    shares = 1 / (np.arange(n_words) + 2)
    words = np.array([f"w{i}" for i in range(n_words)])
    texts = []
    for _ in range(n_docs):
        size = generator.integers(0, 12 if generator.random() < 0.9 else 300)
        texts.append(generator.choice(words, size, p=shares / shares.sum()).tolist())
        if generator.random() < 0.02:
            texts[-1] += [f"w{generator.integers(n_words)}"] * int(generator.integers(250, 400))
    return texts


def drawn_query(generator, n_words, n_terms):
    chosen = generator.choice(n_words + 5, min(n_terms, n_words), replace=False)
    weights = np.where(generator.random(len(chosen)) < 0.7, 1.0, 3 * generator.random(len(chosen)))
    return {f"w{i}": float(w) for i, w in zip(chosen, weights, strict=True)}


def same(left, right):
    return all(
        a.docs.tolist() == b.docs.tolist() and a.scores.tolist() == b.scores.tolist()
        for a, b in zip(left, right, strict=True)
    )


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(1, 600),
    n_words=st.sampled_from([5, 60, 400]),
    model=st.sampled_from(PARAMETERS),
    k=st.sampled_from([1, 2, 10, 70, 130, 10**4]),
    pieces=st.integers(1, 4),
    barred=st.sampled_from([None, 0.05, 0.5, 0.95]),
    deleting=st.booleans(),
)
def test_the_best_are_those_of_scoring_every_document(
    made_for_a_while, seed, n_docs, n_words, model, k, pieces, barred, deleting
):
    """Other parameters, drifted averages, filters, deletions, segments; 1 to 300 terms."""
    generator = np.random.default_rng(seed)
    deleted = [i for i in range(n_docs) if deleting and generator.random() < 0.3]
    texts = drawn_texts(generator, n_docs, n_words)
    with made_for_a_while(texts, pieces=pieces, deleted=deleted) as collection:
        allowed = None
        if barred is not None:
            allowed = [generator.random(s.n_docs) >= barred for s in collection.segments]
        queries = [drawn_query(generator, n_words, n) for n in (1, 2, 5, 20, 300)]
        retriever = Retriever(collection, model)
        expected = retriever.rank(queries, k=k, allowed=allowed, prune=False)
        assert same(retriever.rank(queries, k=k, allowed=allowed), expected)
        # By sums of bounds also where parameters are so far off that search does without.
        found = retriever._bm25.rank(queries, k=min(k, max(collection.n_docs, 1)), allowed=allowed)
        assert same(found, expected)


@pytest.fixture(scope="module")
def many_texts():
    """Three blocks, of short documents and of many that are alike."""
    generator = np.random.default_rng(3)
    drawn = (400 * generator.random((2 * BLOCK + 5000, 5)) ** 3).astype(int).tolist()
    lengths = generator.integers(1, 6, len(drawn)).tolist()
    texts = [[f"w{w}" for w in row[:n]] for row, n in zip(drawn, lengths, strict=True)]
    texts[BLOCK + 17] += ["w399"] * 300
    return texts


def test_beyond_a_block(make, many_texts):
    generator = np.random.default_rng(4)
    cuts = [2 * BLOCK + 4000]
    collection = make(many_texts, deleted=range(0, len(many_texts), 7), cuts=cuts)
    queries = [drawn_query(generator, 400, n) for n in (1, 1, 2, 3, 7, 7, 20, 80, 300)]
    queries += [{"w399": 1.0}, {"w0": 1.0}, {"w0": 1.0, "w399": 0.01}]
    few = [generator.random(segment.n_docs) < 0.001 for segment in collection.segments]
    half = [generator.random(segment.n_docs) < 0.5 for segment in collection.segments]
    for model in (BM25(), BM25(1.3)):
        retriever = Retriever(collection, model)
        assert retriever._bm25.tells
        for k, allowed in ((1, None), (10, None), (10, few), (10, half), (100, None), (3000, None)):
            found = retriever.rank(queries, k=k, allowed=allowed)
            assert same(found, retriever.rank(queries, k=k, allowed=allowed, prune=False))


@pytest.fixture(scope="module")
def frequent_words():
    """More than a block of documents, of which each has many of fifty words, and some of others."""
    generator = np.random.default_rng(6)
    texts = []
    for doc in range(BLOCK + 30_000):
        words = np.flatnonzero(generator.random(50) < 0.2)
        texts.append([f"f{w}" for w in words] + [f"r{generator.integers(3000)}"])
        if doc % 17 == 0:
            texts[-1] += [f"f{doc % 50}"] * int(generator.integers(1, 12))
    texts[5] += ["f3"] * 300
    texts[BLOCK + 9] += ["f4"] * 255
    return texts


def test_frequent_words_are_added_by_columns(make, frequent_words):
    generator = np.random.default_rng(7)
    collection = make(frequent_words, deleted=range(3, len(frequent_words), 11))
    columns = collection.segments[0].words().columns
    # Of the first block; more than are added together at a time.
    assert len(columns.entries) == 50
    some = [f"f{w}" for w in range(50)]
    queries = [{f"f{w}": 1.0} for w in (3, 4)]
    queries += [{"f3": 1.0, "f9": 0.01, "r5": 2.0}, {"f4": 1e-20, "r7": 1e20}]
    for n in (2, 7, 15, 16, 17, 40, 50):
        chosen = generator.choice(some, n, replace=False).tolist()
        rare = [f"r{r}" for r in generator.integers(0, 3000, n // 2)]
        weights = generator.lognormal(0, 1, n + len(rare)).tolist()
        queries.append(dict(zip(chosen + rare, weights, strict=False)))
        queries.append(dict.fromkeys(chosen, 1.0))
    [n_docs] = [segment.n_docs for segment in collection.segments]
    few, half = ([generator.random(n_docs) < share] for share in (0.001, 0.5))
    for model in (BM25(), BM25(1.3), BM25(1.2, 0.74)):
        retriever = Retriever(collection, model)
        assert retriever._bm25.tells
        for k, allowed in ((1, None), (10, None), (10, few), (10, half), (100, None), (3000, None)):
            found = retriever.rank(queries, k=k, allowed=allowed)
            assert same(found, retriever.rank(queries, k=k, allowed=allowed, prune=False))


def test_more_terms_than_sums_have_room_for(make):
    generator = np.random.default_rng(5)
    texts = [[f"w{i}" for i in generator.choice(6000, 2000, replace=False)] for _ in range(20)]
    retriever = Retriever(make(texts), BM25())
    query = {f"w{i}": 1.0 for i in range(6000)}
    assert same(retriever.rank([query], k=5), retriever.rank([query], k=5, prune=False))


def test_what_is_searched_for_is_what_the_analysis_admits(make):
    texts = [["a", "b"], ["a", "c"], ["a", "b"], ["é", "b"]]
    options = Analysis(
        language="none", stemmer="none", stop="none", min_length=1, fold=False, max_df=0.6
    )
    retriever = Retriever(make(texts, analysis=options), BM25())
    numbers, doc_freqs, term_freqs = retriever.known(["a", "b", "c", "é", "", "none", "c"])
    assert (numbers >= 0).tolist() == [False, False, True, True, False, False, True]
    assert doc_freqs.tolist() == [3, 3, 1, 1, 0, 0, 1]
    assert term_freqs.tolist() == [3, 3, 1, 1, 0, 0, 1]
    assert retriever.known([])[0].tolist() == []


def test_an_altered_table_of_terms_is_told(make):
    for pieces in (1, 2):
        collection = make([["a"], ["b"]], pieces=pieces)
        for segment in collection.segments:
            segment.table("terms")[1][:] = 10**6
        with pytest.raises(DamagedError, match=r"terms\.slots was altered"):
            Retriever(collection, BM25()).rank([{"a": 1.0}])


def test_terms_as_bytes():
    assert bytes(joined(["ab", "é", "", "\ud800"])) == b"ab\xff\xc3\xa9\xff\xff?"


# Kernels


@given(
    weights=st.lists(st.floats(0.0009765625, 100, width=32), min_size=1, max_size=50),
    impacts=st.data(),
)
def test_sums_bound_scores_from_both_sides(weights, impacts):
    query = quantise(np.arange(len(weights)), np.array(weights, np.float32))
    values = impacts.draw(
        st.lists(st.floats(1e-4, 1), min_size=len(weights), max_size=len(weights))
    )
    stored = [math.ceil(255 * value) for value in values]
    total = sum(bound_of(*pair) for pair in zip(stored, query.integers, strict=True))
    score = float(np.dot(query.weights.astype(np.float64), values))
    error = sum(int(weight / 256) + 3 for weight in query.integers.tolist())
    assert sum(bound_of(255, weight) for weight in query.integers) <= MOST
    assert total - error <= score * query.scale <= total


def test_extreme_weights_are_quantised():
    query = quantise(np.arange(2), np.array([LARGEST_WEIGHT, LEAST_WEIGHT], np.float32))
    assert query.integers.tolist()[1] == 1
    assert query.integers.sum() <= MOST


@pytest.mark.parametrize("weight", [1, 700, 60000])
def test_adding_bounds_is_add_at(weight):
    generator = np.random.default_rng(weight)
    docs = np.sort(generator.choice(BLOCK, 5000, replace=False)).astype(np.uint16)
    impacts = generator.integers(0, 256, 5000).astype(np.uint8)
    table = np.sort(generator.integers(0, 256, 256)).astype(np.uint8)
    for by, kept in ((np.arange(256, dtype=np.uint8), add_bounds), (table, add_bounds_by)):
        sums, expected = np.zeros(BLOCK, np.uint16), np.zeros(BLOCK, np.uint16)
        kept(docs, impacts, *([] if kept is add_bounds else [table]), weight, sums)
        bounds = -(-by[impacts].astype(np.int64) * weight // 256)
        assert bounds.tolist() == [bound_of(one, weight) for one in by[impacts]]
        np.add.at(expected, docs, bounds.astype(np.uint16))
        np.testing.assert_array_equal(sums, expected)


def test_maxima_of_groups():
    sums = np.random.default_rng(0).integers(0, MOST + 1, BLOCK).astype(np.uint16)
    maxima, fine = np.empty(BLOCK // GROUP, np.uint16), np.empty(4096, np.uint16)
    group_maxima(sums, maxima)
    strided_maxima(sums, fine)
    np.testing.assert_array_equal(maxima, sums.reshape(-1, GROUP).max(axis=1))
    np.testing.assert_array_equal(fine, sums.reshape(-1, 4096).max(axis=0))
    open_here = np.random.default_rng(1).random(BLOCK) < 0.5
    expected = sums * open_here
    bar(sums, open_here)
    np.testing.assert_array_equal(sums, expected)


@given(values=st.lists(st.integers(-50, 50), min_size=1, max_size=80), data=st.data())
def test_kth_largest_is_that_of_sorting(values, data):
    k = data.draw(st.integers(1, len(values)))
    assert kth_largest(np.array(values), k) == sorted(values)[-k]
    least = data.draw(st.integers(-60, 60))
    assert kth_of_few(np.array(values), k, least) == max(sorted(values)[-k], least)


@given(n_docs=st.integers(1, 10**7), data=st.data(), given_=st.floats(1e-3, 100))
def test_weights_are_those_of_the_model(n_docs, data, given_):
    doc_freq = data.draw(st.integers(1, n_docs))
    expected = np.float32(given_ * bm25_idf(n_docs, np.array([doc_freq]))[0])
    assert bm25_weight(given_, n_docs, doc_freq) == pytest.approx(expected, rel=2e-7)


def test_norms_are_those_of_the_model():
    lengths = np.arange(0, 5000, 7, dtype=np.uint32)
    for k1, b in ((1.2, 0.75), (0.9, 0.4), (0.0, 1.0)):
        scale = Scale(k1, b, 123.4, 1.0, 0.0, True, k1, b, 123.4)
        norms = [norm_of(length, scale) for length in lengths.tolist()]
        assert norms == bm25_norms(lengths, 123.4, k1, b).tolist()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), model=st.sampled_from(PARAMETERS), pieces=st.integers(1, 2))
def test_stored_impacts_bound_those_of_now(made_for_a_while, seed, model, pieces):
    """From both sides, by the table and its error."""
    generator = np.random.default_rng(seed)
    texts = drawn_texts(generator, 150, 30)
    with made_for_a_while(texts, pieces=pieces, deleted=range(0, 150, 4)) as collection:
        retriever = Retriever(collection, model)
        average = retriever.statistics.average_length
        for segment in collection.segments:
            words = segment.words()
            table, scale = scale_of(model, words, average)
            norms = bm25_norms(words.lengths, average, model.k1, model.b)
            postings = words.postings
            counts = postings.counts.astype(np.float32)
            impacts = counts / (counts + norms[postings.docs])
            bounds = table[postings.impacts].astype(np.float64)
            ordinary = postings.counts < 255
            assert (bounds >= 255 * impacts.astype(np.float64))[ordinary].all()
            assert (bounds - scale.error <= 255 * impacts.astype(np.float64))[ordinary].all()
            error = max(scale.error, scale.large_error)
            assert (bounds - error <= 255 * impacts.astype(np.float64)).all()


def test_a_score_by_the_record_is_that_of_its_counts(make):
    generator = np.random.default_rng(9)
    texts = [[f"w{i}" for i in generator.integers(0, 40_000, 60)] for _ in range(200)]
    texts += [["w1"] * 700, ["w2"] * 100 + ["w3"] * 200, [], ["w5"]]
    collection = make(texts)
    retriever = Retriever(collection, BM25())
    words, scale = retriever._bm25.segment(0)
    query = {term: 1.0 for text in texts[::7] for term in text[:4]} | {"w1": 2.0, "w2": 1.0}
    _, numbers, weights, factors, _ = retriever.weigh([query])
    hashed = weights, *slots_of(numbers)
    room = make_room(len(weights))
    docs = np.arange(len(texts))
    spans = [(int(a), int(b)) for a, b in pairwise(words.offsets)]
    norms = [np.float32(norm_of(int(length), scale)) for length in words.lengths]
    found = [record_score(words.stream, spans[doc], norms[doc], hashed, room) for doc in docs]
    assert found == score_records(retriever, (numbers, weights, factors, 0.0), docs).tolist()
    assert any(found)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), pieces=st.integers(1, 2))
def test_counts_are_told_by_impacts(made_for_a_while, seed, pieces):
    """And by what is stored where the impact of several counts is one."""
    generator = np.random.default_rng(seed)
    texts = drawn_texts(generator, 100, 20)
    with made_for_a_while(texts, pieces=pieces, deleted=range(0, 100, 3)) as collection:
        for segment in collection.segments:
            words = segment.words()
            postings, (k1, b, average) = words.postings, words.impact_parameters
            norms = bm25_norms(words.lengths, average, k1, b)
            right = postings.counts.astype(np.int64)
            right[postings.large_at] = postings.large_counts
            held = [*zip(range(len(right)), postings.impacts, norms[postings.docs], strict=True)]
            told = [count_of(postings, *one) for one in held]
            assert told == right.tolist()
            few = np.array([[stored_impact(c, norm) for c in range(1, 6)] for *_, norm in held])
            one_by_one = [only_count(at, few, row) for row, (_, at, _) in enumerate(held)]
            assert all(count in (0, here) for count, here in zip(one_by_one, told, strict=True))
            assert np.mean(np.array(one_by_one)[right < 4] == right[right < 4]) > 0.8
            # Nearly none has to be looked up.
            blank = postings._replace(counts=np.zeros_like(postings.counts))
            told = [count_of(blank, *one) for one in held]
            assert np.mean(np.array(told)[right < 4] == right[right < 4]) > 0.8


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.sampled_from([1, 2, 15, 16, 17, 300, 5000, BLOCK]),
    n=st.integers(1, TOGETHER),
    skew=st.sampled_from([1, 6]),
)
def test_places_are_those_of_searchsorted(seed, n_docs, n, skew):
    """Also where documents do not stand evenly."""
    generator = np.random.default_rng(seed)
    drawn = (BLOCK * generator.random(n_docs) ** skew).astype(np.uint16)
    docs = np.unique(drawn) if n_docs < BLOCK else np.arange(BLOCK, dtype=np.uint16)
    impacts = generator.integers(0, 256, len(docs)).astype(np.uint8)
    asked = np.concatenate([generator.choice(docs, n), generator.integers(0, BLOCK, n)])
    found = generator.choice(asked, n).astype(np.uint16)
    places, there = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.uint8)
    find_places(docs, impacts, found, places, there)
    expected = np.maximum(np.searchsorted(docs, found, "right") - 1, 0)
    assert places[:n].tolist() == expected.tolist()
    assert there[:n].tolist() == impacts[expected].tolist()

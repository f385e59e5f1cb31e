"""Candidates: sums of words over postings, and what is found of what scoring everything finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.collection.records import encode
from likewise.collection.words import term_rows
from likewise.like.candidate_kernels import (
    add_word,
    add_words,
    choose_within,
    column_maxima,
    gather_rows,
    largest_scores,
    largest_sums,
    room_for_maxima,
)
from likewise.like.candidates import without
from likewise.like.components import Encoder, mix
from likewise.like.effort import EFFORTS, accurate, measure_effort
from likewise.like.hybrid import Likeness, weights_of
from likewise.like.kernels import TITLES, WORDS, place_of_record, terms_of
from likewise.like.rescoring import Rescorer, largest, ranked
from likewise.models import kinds
from likewise.models.model import Weights
from likewise.models.stored_vectors import vectors_of
from likewise.neighbours.cells import CellsFinder
from likewise.neighbours.largest import KEY_UNIT, room_for, rows_of
from likewise.records import Filter
from likewise.retrieve.question import of_doc, of_text
from likewise.stages.masks import mask_of

from .one_part import score_part


def documents(n):
    """Documents of thirty words, of one of twenty themes or of all."""
    random = np.random.default_rng(0)
    for i in range(n):
        theme = int(random.integers(20))
        own = random.geometric(0.03, 20) * 20 + theme
        words = [f"word{number}" for number in (*own, *random.geometric(0.003, 10))]
        text = " ".join(words)
        yield {"id": f"d{i}", "text": text, "theme": f"t{theme % 4}", "year": 1980 + i % 20}


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """Segments with cells and without, and deletions."""
    folder = tmp_path_factory.mktemp("candidates") / "c.lw"
    every = list(documents(1100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinds, "FEWEST_FOUND", 500)
        c = lw.index(every[:1000], to=folder, model="lsi(topics=8)")
    c.add(every[1000:])
    c.delete([every[5]["id"], every[1005]["id"]])
    return c


def likeness(c, focus="balanced"):
    stored = vectors_of(c.snapshot)
    return Likeness(Encoder(stored), weights_of(stored, focus))


@pytest.mark.parametrize("focus", ["subject", "balanced", "thing"])
@pytest.mark.parametrize("chosen", ["", "theme=t1", "theme=t1 & year=1990"])
def test_what_is_most_like_is_found(c, focus, chosen):
    mine, s = likeness(c, focus), c.snapshot
    assert [isinstance(one, CellsFinder) for one in vectors_of(s).finders] == [True, False]
    allowed = mask_of(s, Filter.parse(chosen)).segments if chosen else None
    shares = []
    for doc in range(0, 1100, 40):
        asked, omit = mine.encoder.encode(*of_doc(s, doc)), np.array([doc])
        options = {"k": 10, "feedback": 3, "allowed": allowed, "omit": omit}
        truth, _ = mine.rank(asked, candidates=0, **options)
        assert len(truth.docs) >= 3
        found, turned = mine.rank(asked, candidates=50, **options)
        assert np.isin(found.docs, s.live_docs()).all()
        both = np.isin(truth.docs, found.docs)
        shares.append(both.mean() if len(both) else 1.0)
        assert np.array_equal(found.scores, mine.score(turned, found.docs))
    assert np.mean(shares) >= 0.99


@pytest.mark.parametrize("weights", [None, Weights(1, 0, 0), Weights(0, 0, 1)])
@pytest.mark.parametrize("left", [10, 60])
def test_documents_in_hand_take_no_place_of_others(c, weights, left):
    """Nearly all documents of a theme in hand: they are the first of every list."""
    s = c.snapshot
    mine = Likeness(Encoder(vectors_of(s)), weights) if weights else likeness(c)
    theme = np.flatnonzero(np.concatenate(mask_of(s, Filter.parse("theme=t1")).segments))
    omit = theme[:-left]
    asked = mix([mine.encoder.encode(*of_doc(s, doc)) for doc in omit.tolist()], [], against=0.5)
    truth, _ = mine.rank(asked, k=10, candidates=0, omit=omit)
    found, _ = mine.rank(asked, k=10, candidates=10, omit=omit)
    assert len(found.docs) == 10
    assert len(np.intersect1d(found.docs, truth.docs)) >= 9


def test_what_is_below_nothing_is_found(c):
    """Away from a document, to nothing else: all that shares a word with it has less than 0."""
    mine, omit = Likeness(Encoder(vectors_of(c.snapshot)), Weights(0, 0, 1)), np.array([8])
    encode = mine.encoder.encode
    asked = mix(
        [encode(*of_text(c.snapshot, "unheard"))], [encode(*of_doc(c.snapshot, 8))], against=0.5
    )
    truth, _ = mine.rank(asked, k=10, candidates=0, omit=omit)
    found, _ = mine.rank(asked, k=10, candidates=50, omit=omit)
    assert len(truth.docs) == len(found.docs) == 10
    assert truth.scores.max() < 0
    assert found.scores.max() < 0


def test_a_few_documents_in_hand_change_no_list(c):
    mine = likeness(c)
    asked = mine.encoder.encode(*of_doc(c.snapshot, 0))
    every, omit = mine.candidates.find(asked, 20, [None, None]), np.arange(0, 1000, 100)
    some = mine.candidates.find(asked, 20, [None, None], omit)
    left = without(every.docs, omit)
    assert not left.all()
    assert np.array_equal(some.docs, every.docs[left])
    assert some.by_words.tobytes() == every.by_words[left].tobytes()


def test_all_that_a_filter_leaves_are_compared(c):
    mine, s = likeness(c), c.snapshot
    masks = [np.zeros(segment.n_docs, np.bool_) for segment in s.segments]
    masks[0][[3, 400, 800]] = masks[1][7] = True
    asked = mine.encoder.encode(*of_doc(s, 0))
    assert mine.candidates.find(asked, 10, masks).docs.tolist() == [3, 400, 800, 1007]
    omit = np.array([2, 400])
    assert mine.candidates.find(asked, 10, masks, omit).docs.tolist() == [3, 800, 1007]
    assert not len(mine.candidates.find(asked, 10, [~one & one for one in masks]).docs)


def test_effort_is_counted(c, monkeypatch):
    stored = vectors_of(c.snapshot)
    assert measure_effort(Encoder(stored), stored.typical) == EFFORTS[0]
    monkeypatch.setattr("likewise.like.effort._FOUND", 1.1)
    # More effort finds no more: the least is enough.
    assert measure_effort(Encoder(stored), stored.typical) == EFFORTS[0]
    monkeypatch.setattr("likewise.like.effort.EFFORTS", (0.001, *EFFORTS))
    monkeypatch.setattr("likewise.like.candidates._BY_HEADS", 1)
    monkeypatch.setattr("likewise.like.candidates._BY_WORDS", 1)
    assert measure_effort(Encoder(stored), stored.typical) == EFFORTS[0]
    stored.finders = [None, None]
    assert measure_effort(Encoder(stored), stored.typical) == 0.001


def test_what_scores_as_much_as_the_last_is_right(c):
    mine = likeness(c)
    asked = mine.encoder.encode(*of_doc(c.snapshot, 0))
    [best] = accurate([mine], asked, 0, feedback=3)
    ranking, turned = mine.rank(asked, k=20, candidates=0, feedback=3, omit=np.array([0]))
    assert best.docs.tolist() == ranking.docs[:10].tolist()
    assert best.least == ranking.scores[9]
    assert np.array_equal(best.query.point, turned.point)
    assert best.count_right(mine, ranking.docs[:10]) == 10
    assert best.count_right(mine, ranking.docs[2:12]) == 8
    # The last two share the last but one's place.
    alike = best._replace(least=float(ranking.scores[11]) * (1 + 5e-7))
    assert alike.count_right(mine, ranking.docs[2:12]) == 10


def test_more_effort_gives_more(c):
    mine = likeness(c)
    asked = mine.encoder.encode(*of_doc(c.snapshot, 0))
    masks = [None, None]
    few = mine.candidates.find(asked, 20, masks)
    mine.candidates.effort = 3.0
    many = mine.candidates.find(asked, 20, masks)
    assert (few.limit(), few.limit(0.4), few.limit(0.4, least=11)) == (20, 8, 11)
    assert many.limit() == 60
    assert len(few.docs) < len(many.docs)


def test_sums_of_words_are_those_of_postings(c):
    segment = c.snapshot.segments[0]
    postings = segment.words().postings
    terms = np.array([3, 10, 10**6, 40])
    rows, weights = term_rows(terms, postings.terms), np.array([900, -300, 50, 7000], np.int32)
    sums = np.ones(1 << 16, np.int16)
    maxima, mask = room_for_maxima(sums), np.zeros(0, np.bool_)
    none = postings, np.zeros(0, np.int64), np.zeros(0, np.int32)
    add_words((postings, rows, weights), none, mask, sums, maxima)
    expected = np.zeros(1 << 16, np.int16)
    for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
        if row >= 0:
            first, last = (int(postings.heads[i, 0]) for i in (row, row + 1))
            start, stop = (int(postings.entries[e]) >> 32 for e in (first, last))
            impacts = weight * postings.impacts[start:stop].astype(np.int64) >> 8
            np.add.at(expected, postings.docs[start:stop], impacts.astype(np.int16))
    assert np.array_equal(sums, expected)
    assert sums.any()
    assert np.array_equal(maxima, maxima_of(expected))
    # Of both fields, of what is allowed.
    both, mask = sums.copy(), np.arange(segment.n_docs) % 3 > 0
    add_words(
        (postings, rows[:2], weights[:2]), (postings, rows[2:], weights[2:]), mask, both, maxima
    )
    expected[: len(mask)] *= mask
    assert np.array_equal(both, expected)
    assert np.array_equal(maxima, maxima_of(expected))


def maxima_of(sums):
    return np.maximum(sums.reshape(-1, 32, 64).max(axis=1), 0)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), max_size=30), st.integers(0, 60))
def test_words_are_chosen_within_a_limit(words, limit):
    weights = np.array([weight for weight, _ in words], np.float64)
    sizes = np.array([size for _, size in words], np.int64)
    order = np.argsort(-np.abs(weights), kind="stable")
    expected, left = [], limit
    for place in order.tolist():
        if weights[place] and 0 < sizes[place] <= left:
            expected.append(place)
            left -= sizes[place]
    assert choose_within(order, weights, sizes, limit).tolist() == expected


@given(st.lists(st.integers(0, 50), unique=True).map(sorted), st.lists(st.integers(0, 50)))
def test_documents_are_left_out(docs, omit):
    docs, omit = np.array(docs, np.int64), np.array(omit, np.int64)
    assert np.array_equal(without(docs, omit), ~np.isin(docs, omit))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 9000))
@settings(max_examples=30)
def test_kernels_equal_numpy(seed, room, n):
    random = np.random.default_rng(seed)
    sums = np.zeros(-(-n // 4096) * 4096, np.int16)
    sums[:n] = random.integers(-50, 50, n)
    allowed = random.random(n) < 0.7
    for mask in (np.zeros(0, np.bool_), allowed):
        keys, left, maxima = room_for(room), sums.copy(), room_for_maxima(sums)
        if len(mask):
            left[:n] *= mask
        column_maxima(left, maxima)
        size = largest_sums(left, n, maxima, keys, room)
        rows = np.flatnonzero((sums[:n] > 0) & (allowed if len(mask) else True))
        best = rows[np.lexsort((rows, -sums[rows].astype(int)))[:room]]
        assert rows_of(keys[:size]).tolist() == sorted(best.tolist())
    rows = np.flatnonzero(allowed)
    scores = random.normal(size=len(rows)).astype(np.float32)
    keys = room_for(room)
    size = largest_scores(rows, scores, (sums, 0.01), keys, room)
    both = np.floor((scores.astype(np.float64) + sums[rows] * 0.01) * KEY_UNIT)
    best = rows[np.lexsort((rows, -both))[:room]]
    assert rows_of(keys[:size]).tolist() == sorted(best.tolist())
    docs, impacts = random.permutation(4096)[:50].astype(np.uint16), random.integers(0, 256, 50)
    one = np.zeros(4096, np.int16)
    add_word(docs, impacts.astype(np.uint8), np.int32(700), one)
    expected = np.zeros(4096, np.int16)
    expected[docs] = 700 * impacts >> 8
    assert np.array_equal(one, expected)


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.int8, np.float32]), st.integers(1, 150))
@settings(max_examples=30)
def test_rows_are_gathered(seed, kind, width):
    random = np.random.default_rng(seed)
    codes = random.integers(-127, 128, (60, width)).astype(kind)
    scales = random.random(60).astype(np.float32)
    rows, places = random.permutation(60)[:40], random.permutation(40)
    out, factors = np.zeros((40, width), kind), np.zeros(40, np.float32)
    gather_rows(rows, codes, scales, places, out, factors)
    assert np.array_equal(out[places], codes[rows])
    assert np.array_equal(factors[places], scales[rows])


def test_of_what_is_listed_the_best_are_scored(c):
    """Estimates are rough: what is scored has all that scoring each of them would find, nearly."""
    mine, omit = likeness(c), np.array([0])
    asked = mine.encoder.encode(*of_doc(c.snapshot, 0))
    listed = mine.candidates.find(asked, 80, [None, None], omit)
    scored = []
    words = mine._word_scores(asked)

    class Counted:
        def score(self, docs):
            scored.extend(docs.tolist())
            return words.score(docs)

    rescorer = Rescorer(listed, mine._dense, Counted())
    found = rescorer.best(asked, 10)
    every = ranked(listed.docs, mine.score(asked, listed.docs), 10)
    assert found.docs.tolist() == every.docs.tolist()
    assert found.scores.tobytes() == every.scores.tobytes()
    assert len(scored) == len(set(scored)) < len(listed.docs)
    assert 0 not in scored
    # Of so many all are scored, and none again.
    deep = rescorer.best(asked, 80)
    best = largest(listed.estimates(asked), listed.limit())
    assert set(listed.docs[best].tolist()) == set(scored)
    assert len(scored) == len(set(scored))
    assert np.array_equal(deep.docs[:10], found.docs)


@given(st.lists(st.integers(-9, 9), max_size=40), st.integers(1, 50))
def test_the_largest_estimates(scores, n):
    given_ = np.array(scores, np.float32)
    found = largest(given_, n)
    order = np.lexsort((np.arange(len(scores)), -given_))
    assert found.tolist() == order[: len(found)].tolist()
    assert len(found) >= min(n, len(scores))
    assert not len(found) > n or given_[found[-1]] == given_[found[n - 1]]


def test_scores_by_records_are_bm25(c):
    s = c.snapshot
    segment = s.segments[0]
    records, random = segment.words().records, np.random.default_rng(0)
    terms = np.sort(random.permutation(s.n_terms)[: s.n_terms // 2])
    weights, rows = random.normal(size=len(terms)), np.arange(0, 1000, 7)
    norms = random.random(len(rows)).astype(np.float32) + 1
    stream = records.stream, records.offsets
    out = score_part(WORDS, rows, stream, (terms, weights), norms=norms)
    bounds, theirs, counts = s.term_counts(rows)
    vector = np.zeros(s.n_terms)
    vector[terms] = weights
    impacts = counts / (counts + np.repeat(norms.astype(np.float64), np.diff(bounds)))
    expected = np.add.reduceat(vector[theirs] * impacts, bounds[:-1])
    assert out == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("focus", ["subject", "thing"])
def test_parts_by_words_add_up_to_the_score(c, focus):
    mine, every = likeness(c, focus), np.arange(c.snapshot.n_slots)
    asked = mine.encoder.encode(*of_text(c.snapshot, "word40 word21 word21 word1 unheard"))
    words = mine._word_scores(asked)
    terms, parts = words.split(every)
    assert (np.diff(terms) > 0).all()
    assert parts.sum(axis=(0, 2)) == pytest.approx(words.score(every), abs=1e-9)
    assert (parts[:2] != 0).any(axis=(1, 2)).all()


def test_long_records_are_scored_whole():
    terms = np.arange(0, 2100, 3, dtype=np.int32)
    counts = (np.arange(700, dtype=np.int32) % 5) + 1
    bounds, none = np.array([0, 700]), np.zeros(2, np.int64)
    stream, ends = encode(bounds, terms, counts, np.empty(0, np.uint32), none)
    records = (stream, np.array([0, *ends], np.uint32))
    asked, row = np.arange(0, 2100, 2), np.zeros(1, np.int64)
    column = asked, np.linspace(0.1, 1, len(asked))
    vector, rarity = np.zeros(2100), np.linspace(1, 2, 2100)
    vector[asked] = np.linspace(0.1, 1, len(asked))
    norms = np.array([1.5], np.float32)
    [score] = score_part(WORDS, row, records, column, norms=norms)
    assert score == pytest.approx((vector[terms] * counts / (counts + 1.5)).sum(), abs=1e-8)
    [score] = score_part(TITLES, row, records, column, rarity=rarity)
    expected = (vector[terms] * rarity[terms]).sum() / rarity[terms].sum()
    assert score == pytest.approx(expected, abs=1e-12)


def test_damaged_places_of_records_stay_within_the_stream():
    bounds, terms = np.array([0, 2, 5]), np.array([1, 2, 1, 2, 3], np.int32)
    none = np.empty(0, np.uint32), np.zeros(3, np.int64)
    stream, ends = encode(bounds, terms, np.ones(5, np.int32), *none)
    column, rows = (np.array([1, 2]), np.ones(2)), np.arange(2)
    whole = np.array([0, *ends], np.uint32)
    for damaged in (2**32 - 1, len(stream) + 1):
        offsets = whole.copy()
        offsets[1] = damaged
        documents = stream, offsets
        found = score_part(WORDS, rows, documents, column, norms=np.ones(2, np.float32))
        assert found.tolist() == [1.0, 0.0]
        found = score_part(TITLES, rows, documents, column, rarity=np.ones(4))
        assert found.tolist() == [1.0, 0.0]
        for row in range(2):
            place = np.minimum(offsets[row : row + 2], len(stream))
            assert place_of_record(row, documents) == tuple(place)
            assert terms_of(row, documents)[0].tolist() == [1, 2][: 2 - 2 * row]


def test_a_filter_or_many_answers_leave_none_out(tmp_path, monkeypatch):
    """Sums of 16 bits are 0 for light words, and cells are read in part: few need neither."""
    words = [f"word{i}" for i in range(400)]
    long = {"id": "long", "text": " ".join(words), "kind": "asked"}
    others = [
        {"id": f"d{i}", "text": f"common {words[i % 400]} {words[(7 * i) % 400]}", "kind": "other"}
        for i in range(1200)
    ]
    others[17] |= {"text": "common", "kind": "wanted"}
    c = lw.index([long, *others], to=tmp_path / "c.lw", model="lsi(topics=4)")
    monkeypatch.setattr("likewise.like.candidates._LEAST_POSTINGS", 10)
    monkeypatch.setattr("likewise.like.candidates._POSTINGS", 0.001)
    text = " ".join([*words, "common"])
    for method in ("hybrid", "hybrid(only=words)"):
        [found] = c.like(text=text, method=method, filter="kind=wanted")
        assert found.doc_id == "d17"
        every = c.like(text=text, k=1200, method=method)
        whole = method.rstrip(")") + (",candidates=0)" if "(" in method else "(candidates=0)")
        scanned = c.like(text=text, k=1200, method=whole)
        assert [one.doc_id for one in every] == [one.doc_id for one in scanned]

"""Does likeness count the titles that a document says, as the formula has it, and only these?"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.collection.records import encode
from likewise.collection.words import TITLE
from likewise.like import kernels
from likewise.like.by_words import WordScores
from likewise.like.components import Encoder, mix
from likewise.like.explain import TITLES
from likewise.like.focus import weights_at
from likewise.like.hybrid import Likeness, weights_of
from likewise.like.titles import Titles, has_titles
from likewise.models.model import Typical, Weights
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.retrieve.question import of_doc, of_text

from .conftest import THEMES, documents
from .one_part import score_part


def titled(n=60):
    """Documents with titles of two words of their theme, but for every seventh."""
    for i, document in enumerate(documents(n)):
        words = THEMES.get(document["theme"], "").split()
        title = " ".join([words[i % 6], words[(i + 2) % 6]]) if words and i % 7 else ""
        yield document | {"title": title}


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """Two segments, a deletion."""
    every = list(titled())
    c = lw.index(every[:40], to=tmp_path_factory.mktemp("titles") / "c.lw", model=None)
    c.add(every[40:])
    c.delete([every[5]["id"]])
    c.models.fit("lsi(topics=4)")
    return c


def shares(c, counts):
    """What the formula gives all documents, word by word."""
    s = c.snapshot
    numbers = np.arange(s.n_terms)
    doc_freqs, _ = s.frequencies(numbers)
    idf = np.log1p((s.n_docs - doc_freqs + 0.5) / (doc_freqs + 0.5))
    given_ = dict(zip(counts.terms.tolist(), counts.counts.tolist(), strict=True))
    out = []
    for doc in range(s.n_slots):
        title = s.term_counts(np.array([doc]), TITLE).terms.tolist()
        there = sum(idf[t] * given_.get(t, 0) / (given_.get(t, 0) + 1) for t in title)
        out.append(there / sum(idf[t] for t in title) if title else 0.0)
    return np.array(out)


def by_titles(view, query, docs):
    return WordScores(view, query, Weights(0, 0, 0, 1)).score(docs)


@pytest.mark.parametrize("text", ["boundary layer flow flow", "wing", "nothing known", ""])
def test_scores_are_those_of_the_formula(c, text):
    s = c.snapshot
    view = Encoder(vectors_of(s))
    titles = Titles(view)
    example = of_text(s, text)
    query = view.encode(*example)
    expected = shares(c, example.counts)
    every = np.arange(s.n_slots)
    assert by_titles(view, query, every) == pytest.approx(expected, abs=1e-12)
    scanned = np.ones(s.n_slots, np.float32)
    titles.scan(query, 2.0, scanned)
    assert scanned == pytest.approx(1 + 2 * expected, abs=1e-6)
    terms, split = WordScores(view, query, Weights(0, 0, 0, 1)).split(every)
    assert terms.tolist() == query.said_terms.tolist()
    assert split[kernels.TITLES].sum(axis=1) == pytest.approx(expected, abs=1e-12)
    assert not split[: kernels.TITLES].any()


def test_documents_in_hand_are_mixed_linearly(c):
    s = c.snapshot
    view = Encoder(vectors_of(s))
    one, two, three = (view.encode(*of_doc(s, doc)) for doc in (1, 2, 45))
    every = np.arange(s.n_slots)
    mixed = by_titles(view, mix([one, two], [three], against=0.5), every)
    parts = [by_titles(view, query, every) for query in (one, two, three)]
    assert mixed == pytest.approx((parts[0] + parts[1]) / 2 - parts[2] / 2, abs=1e-12)


@given(st.lists(st.lists(st.integers(0, 9), unique=True, max_size=4).map(sorted), max_size=6))
def test_shares_of_titles(titles):
    query, rarity = np.linspace(0.1, 0.9, 10), np.linspace(2, 1, 10)
    bounds = np.cumsum([0, *map(len, titles)])
    terms = np.array([term for title in titles for term in title], np.int32)
    counts = np.arange(len(terms), dtype=np.int32) % 3 + 1
    none = np.zeros(len(bounds), np.int64)
    stream, ends = encode(bounds, terms, counts, np.empty(0, np.uint32), none)
    records = (stream, np.array([0, *ends], np.uint32))
    column = np.arange(0, 10, 2), query[::2]
    out = score_part(kernels.TITLES, np.arange(len(titles)), records, column, rarity=rarity)
    q = np.where(np.arange(10) % 2, 0, query)
    expected = [(q[t] * rarity[t]).sum() / rarity[t].sum() if t else 0.0 for t in titles]
    assert out == pytest.approx(expected)


def test_titles_count_where_most_documents_have_one(c, themes, tmp_path):
    assert has_titles(c.snapshot)
    assert vectors_of(c.snapshot).typical.titles > 0
    assert not has_titles(themes.snapshot)
    assert vectors_of(themes.snapshot).typical.titles == 0
    few = lw.index(
        [one | {"title": one["title"] * (i < 20)} for i, one in enumerate(titled())],
        to=tmp_path / "few.lw",
    )
    assert not has_titles(few.snapshot)
    assert vectors_of(few.snapshot).typical.titles == 0


def test_who_says_a_title_finds_it_and_says_why(c):
    """Of two documents with the same words, the one whose title is said comes first."""
    texts = [
        {"id": f"{name}", "title": name, "text": "an entry"} for name in ("gyroscope", "quasar")
    ]
    c.add(texts)
    c.models.fit("lsi(topics=4)")
    found = c.like(text="an entry on the quasar", k=2, focus="thing", explain=True)
    assert [answer.doc_id for answer in found] == ["quasar", "gyroscope"]
    [titles] = [part for part in found[0].explanation.parts if part.name == TITLES]
    assert [part.name for part in titles.parts] == ["quasar"]
    assert TITLES not in [part.name for part in found[1].explanation.parts]
    for focus in ("subject", 0.25, "balanced", 0.75, "thing"):
        for answer in c.like("flow-0", k=5, focus=focus, unlike="wing-2", explain=True):
            total = sum(part.score for part in answer.explanation.parts)
            assert total == pytest.approx(answer.score, abs=1e-6)


def test_titles_alone(c):
    s = c.snapshot
    likeness = Likeness(Encoder(vectors_of(s)), Weights(0, 0, 0, 1))
    example = of_text(s, "heat transfer")
    expected = shares(c, example.counts)
    found = c.like(text="heat transfer", k=5, method="hybrid(only=titles)")
    docs = s.find_docs([answer.doc_id for answer in found])
    assert [answer.score for answer in found] == pytest.approx(expected[docs], abs=1e-9)
    ranking, _ = likeness.rank(likeness.encoder.encode(*example), k=100, candidates=0)
    live = s.live_docs()
    assert set(ranking.docs.tolist()) == set(live[expected[live] > 0].tolist())


@pytest.mark.parametrize("k", [1, 12, 30, 45, 100])
def test_what_shares_nothing_takes_no_place(c, k):
    """Away from a document most have 0 by titles, some less: these are answers, those are none."""
    s = c.snapshot
    likeness, unlike = Likeness(Encoder(vectors_of(s)), Weights(0, 0, 0, 1)), s.live_docs()[10:11]
    encode = likeness.encoder.encode
    query = mix([encode(*of_text(s, "heat"))], [encode(*of_doc(s, int(unlike[0])))], against=0.5)
    scores = likeness.score(query, s.live_docs())
    scores = scores[s.live_docs() != unlike[0]]
    assert (scores > 0).any()
    assert (scores < 0).any()
    expected = np.sort(scores[scores != 0])[::-1][:k]
    for candidates in (0, 100):
        ranking, _ = likeness.rank(query, k=k, candidates=candidates, omit=unlike)
        assert ranking.scores.tolist() == expected.tolist()


def test_what_was_measured_before_titles_answers_as_it_did(c):
    stored = vectors_of(c.snapshot)
    measured = {
        name: stored.artifact.about["typical"][name] for name in ("dense", "specific", "words")
    }
    before = replace(stored.artifact, about=stored.artifact.about | {"typical": measured})
    weights = weights_of(StoredVectors(c.snapshot, stored.model, before))
    assert weights.titles == 0
    assert weights == weights_at(0.5, Typical(**measured))

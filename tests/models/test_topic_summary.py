import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shelf import TEXTS, make_collection, make_space, make_topics

import likewise as lw
from likewise.collection.text_counts import counts_of
from likewise.models.coherence import count_meetings, mean_npmi
from likewise.models.surface_forms import readable_terms, spaced, surface_words
from likewise.models.topic_summary import RELEVANCE, describe, relevance, survey
from likewise.text.analysis import Analysis, Analyzer


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return make_collection(tmp_path_factory.mktemp("shelf"))


def plain_npmi(words, snapshot, docs):
    """The definition, with sets of terms."""
    bags = [
        set(snapshot.terms(snapshot.term_counts(np.array([doc])).terms)) for doc in docs.tolist()
    ]
    values = []
    for a, b in itertools.combinations(dict.fromkeys(words), 2):
        p_a, p_b = (sum(w in bag for bag in bags) / len(bags) for w in (a, b))
        both = sum(a in bag and b in bag for bag in bags) / len(bags)
        if both == 0:
            values.append(-1.0)
        else:
            values.append(1.0 if both == 1 else math.log(both / (p_a * p_b)) / -math.log(both))
    return sum(values) / len(values) if values else 0.0


TERMS = ["satellit", "orbit", "planet", "bread", "oven", "flour", "rocket", "nowher", "bake"]


@given(st.lists(st.lists(st.sampled_from(TERMS), max_size=6), max_size=4))
def test_coherence_is_the_mean_npmi_of_pairs(shelf, sets):
    docs = shelf.live_docs()
    found = mean_npmi(sets, shelf)
    assert found == pytest.approx([plain_npmi(words, shelf, docs) for words in sets])


def test_coherence_by_hand(shelf):
    # Six documents: satellit and orbit in the same two, bread in three others, planet in three.
    assert mean_npmi([["satellit", "orbit"], ["satellit", "bread"], ["orbit"], []], shelf) == (
        pytest.approx([1.0, -1.0, 0.0, 0.0])
    )
    together = math.log((1 / 6) / (3 / 6 * 3 / 6)) / -math.log(1 / 6)
    assert mean_npmi([["planet", "bread"]], shelf)[0] == pytest.approx(together)
    assert mean_npmi([["planet", "bread"]], shelf, docs=np.array([4]))[0] == 1.0


def test_words_of_every_document_never_part(tmp_path):
    same = lw.index([{"id": i, "text": "wing flutter"} for i in "ab"], to=tmp_path / "c").snapshot
    assert mean_npmi([["wing", "flutter"]], same)[0] == 1.0


def test_deleted_documents_do_not_count(tmp_path):
    texts = ["wing flutter", "wing", "heat", "wing flutter"]
    made = lw.index([{"id": str(i), "text": t} for i, t in enumerate(texts)], to=tmp_path / "c")
    made.delete(["3", "0"])
    assert mean_npmi([["wing", "flutter"]], made.snapshot)[0] == -1.0


def test_the_kernel_counts_meetings():
    documents = (np.array([0, 2, 4]), np.array([0, 2, 0, 1], np.int32))
    # One set: terms 2, 0 at the places 0, 1; another: terms 0, 1.
    members = (np.array([0, 2, 3, 4]), np.array([0, 1, 1, 0], np.int32))
    met = np.zeros((2, 2, 2), np.int64)
    count_meetings(documents, (*members, np.array([1, 0, 1, 0], np.int32)), met)
    assert met.tolist() == [[[1, 1], [0, 2]], [[2, 1], [0, 1]]]


def test_stems_are_shown_as_their_commonest_word(shelf):
    readable = readable_terms(shelf, ["satellit", "rocket", "bake", "bread", "nowher"])
    assert readable == {
        "satellit": "satellite",  # one of each: by the alphabet
        "rocket": "rockets",
        "bake": "bake",
        "bread": "bread",
        "nowher": "nowher",
    }


def test_a_term_outside_the_sample_is_looked_up(shelf, monkeypatch):
    monkeypatch.setattr("likewise.models.surface_forms._sampled_texts", lambda collection: [])
    assert readable_terms(shelf, ["satellit", "rocket"])["rocket"] == "rockets"


def test_surfaces_of_other_scripts():
    analyzer = Analyzer(Analysis(language="german"))
    words = surface_words(["Häuser und Häuser, Haus: 漢字漢"], analyzer)
    assert words["haus"] == "häuser"
    assert words["漢字"] == "漢字"


@given(st.text(max_size=60))
def test_every_surface_gives_back_its_term(text):
    analyzer = Analyzer(Analysis())
    for term, word in surface_words([text], analyzer).items():
        assert analyzer.resolve([word.encode()])[1] == [term]


def test_unknown_terms_are_numbered_after_the_known(shelf):
    counts, names = counts_of(shelf, "Zebra orbits, zebras bake quickly; orbit")
    by_name = {name: number for number, name in names.items()}
    assert by_name["orbit"] == shelf.find_terms(["orbit"])[0]
    assert (by_name["zebra"], by_name["quickli"]) == (shelf.n_terms, shelf.n_terms + 1)
    assert counts.terms.tolist() == sorted(by_name.values()) == list(names)
    assert dict(zip(names.values(), counts.counts.tolist(), strict=True)) == (
        {"orbit": 2, "zebra": 2, "bake": 1, "quickli": 1}
    )
    assert counts_of(shelf, "the")[1] == {}


def test_counts_of_a_stored_text_are_the_stored_ones(shelf):
    stored = shelf.term_counts(np.array([1]))
    counts, _ = counts_of(shelf, "Note 1\n\n" + TEXTS[1], title="Note 1")
    assert all(np.array_equal(a, b) for a, b in zip(counts, stored, strict=True))


def test_shares_add_up(shelf):
    seen = survey(make_topics(shelf), shelf)
    assert seen.routes.sum() == pytest.approx(1)
    assert seen.topic_shares.sum() == pytest.approx(seen.routes[0], rel=1e-5)
    assert seen.lengths.tolist() == shelf.lengths(seen.docs).tolist()
    expected = np.average(
        seen.triples.topics * seen.triples.shares[:, :1], axis=0, weights=seen.lengths
    )
    assert seen.topic_shares == pytest.approx(expected)


def test_topics_are_described(shelf):
    space, bread = describe(make_topics(shelf, labels=("space", "bread")), shelf, words=4, docs=2)
    assert (space.number, space.label, bread.label) == (0, "space", "bread")
    assert {word.word for word in space.words[:3]} == {"satellite", "orbit", "note"}
    assert {word.term for word in bread.words[:4]} == {"bread", "bake", "oven", "note"}
    assert len(space.words) == len(space.distinctive) == 4
    weights = [word.weight for word in space.words]
    assert weights == sorted(weights, reverse=True)
    assert {example.doc_id for example in space.documents} == {"d0", "d1"}
    assert space.documents[0].title.startswith("Note")
    assert space.documents[0].weight >= space.documents[1].weight > 0.3
    assert [near.number for near in space.nearest] == [1]
    assert 0.5 < space.nearest[0].distance <= 1
    assert space.coherence > 0
    assert space.opposite == ()


def test_coherence_is_that_of_the_ten_likeliest_however_many_are_shown(shelf):
    model = make_topics(shelf)
    short, long = (describe(model, shelf, words=n)[0] for n in (2, 10))
    assert short.coherence == long.coherence
    assert mean_npmi([[word.term for word in long.words]], shelf)[0] == pytest.approx(
        long.coherence
    )


def test_hellinger_distance_of_nearest_topics(shelf):
    model = make_topics(shelf)
    a, b = model.word_topics[:, 0].astype(float), model.word_topics[:, 1].astype(float)
    distance = np.sqrt(0.5 * np.square(np.sqrt(a) - np.sqrt(b)).sum())
    assert describe(model, shelf)[0].nearest[0].distance == pytest.approx(distance, abs=1e-3)


def test_relevance_weighs_probability_and_lift():
    topic, corpus = np.array([0.5, 0.499, 0.001]), np.array([0.9, 0.05, 0.05])
    found = relevance(topic, corpus)
    assert found[1] > found[0]
    assert found[0] == pytest.approx(
        RELEVANCE * math.log(0.5) + (1 - RELEVANCE) * math.log(0.5 / 0.9)
    )
    assert found[2] == -math.inf


def test_axes_have_two_poles(shelf):
    first, second = describe(make_space(shelf), shelf, words=3, docs=1)
    assert {word.word for word in first.words} >= {"satellite", "orbit"}
    assert {word.term for word in first.opposite} >= {"bread", "bake"}
    assert all(word.weight < 0 for word in first.opposite)
    assert (first.share, second.share) == pytest.approx((0.8, 0.2))
    assert first.coherence == pytest.approx(sum(first.pole_coherence) / 2)
    assert first.distinctive == first.nearest == ()
    assert first.documents[0].doc_id in {"d0", "d1"}


def test_an_axis_may_have_one_pole(shelf):
    space = make_space(shelf)
    common = describe(dataclasses.replace(space, basis=np.abs(space.basis)), shelf)[0]
    assert common.opposite == ()
    assert common.coherence == common.pole_coherence[0] != 0


@given(st.integers(0, 50), st.integers(1, 20))
def test_spaced_values(n, most):
    chosen = spaced(np.arange(n), most)
    assert len(chosen) == min(n, most) == len(set(chosen.tolist()))
    assert n == 0 or chosen[0] == 0

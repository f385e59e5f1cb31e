"""Does the dial stand for what it says, in Python and on the command line?"""

import numpy as np
import orjson
import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.errors import UsageError
from likewise.like.components import Encoder
from likewise.like.focus import LEVELS, TITLED, UNTITLED, named_focus, read_focus, weights_at
from likewise.like.hybrid import Hybrid
from likewise.like.typical import measure_typical
from likewise.models.model import Typical, Weights
from likewise.models.stored_vectors import vectors_of
from likewise.retrieve.question import of_text

from .conftest import documents


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    return lw.index(list(documents(60)), to=tmp_path_factory.mktemp("focus") / "c.lw")


@pytest.mark.parametrize(
    ("given", "place"), [("subject", 0), (" Thing ", 1), ("balanced", 0.5), (0.3, 0.3), ("1", 1)]
)
def test_places_are_read(given, place):
    assert read_focus(given) == place


@pytest.mark.parametrize("given", ["", "topic", "1.5", -0.1, "nan", "inf", None])
def test_other_places_are_refused(given):
    with pytest.raises(UsageError, match="subject, balanced, thing or a number from 0 to 1"):
        read_focus(given)


def test_places_are_written():
    assert [named_focus(place) for place in (0.0, 0.25, 0.5, 1.0)] == [
        "subject",
        "0.25",
        "balanced",
        "thing",
    ]


@pytest.mark.parametrize("place", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_document_like_the_best_scores_one(place):
    for titles, curve in ((0.0, UNTITLED), (0.4, TITLED)):
        weights = weights_at(place, Typical(0.5, 0.2, 0.3, titles))
        parts = np.array(
            [weights.dense * 0.5, weights.specific * 0.2, weights.words * 0.3, weights.titles * 0.4]
        )
        assert parts.sum() == pytest.approx(1)
        for level, words, titles_weight in zip(
            LEVELS.values(), curve.words, curve.titles, strict=True
        ):
            if place == level:
                assert (parts[1] + parts[2]) / parts[0] == pytest.approx(words)
                assert parts[3] / parts[0] == pytest.approx(titles_weight)


def test_more_focus_more_words():
    shares = [weights_at(place, Typical()).words for place in (0, 0.2, 0.5, 0.8, 1)]
    assert shares == sorted(shares)
    titles = [weights_at(place, Typical(titles=0.4)).titles for place in (0, 0.2, 0.5, 0.8, 1)]
    assert titles == sorted(titles)
    assert titles[0] == 0 < titles[1]
    assert weights_at(0.5, Typical(), dense=0.0).dense == 0


def test_typical_is_what_the_best_have(c):
    stored = vectors_of(c.snapshot)
    assert stored.typical == measure_typical(Encoder(stored))
    means = []
    for document in c:
        found = c.like(document.id, k=20, method="hybrid(only=words,candidates=0)")
        if len(found):
            means.append(np.mean([answer.score for answer in found]))
    assert stored.typical.words == pytest.approx(np.mean(means), rel=1e-5)


def test_a_part_that_no_document_has_leaves_its_share_to_others():
    weights = weights_at(0.5, Typical(0.5, 0.0, 0.25))
    assert weights.specific == 0
    assert 0.5 * weights.dense + 0.25 * weights.words == pytest.approx(1)
    assert weights_at(1.0, Typical(0.0, 0.0, 0.25)) == Weights(0.0, 0.0, 4.0)


@pytest.mark.parametrize("given", ["subject", 0, 0.0, "0"])
def test_what_answers_alike_is_equal(given):
    assert Hybrid(focus=given) == Hybrid(focus="subject")
    assert str(Hybrid(focus=given)) == "hybrid(focus=subject)"


def test_words_that_nobody_has_change_nothing(c):
    encoder = Encoder(vectors_of(c.snapshot))
    text = next(iter(c)).text
    plain = encoder.encode(*of_text(c.snapshot, text))
    longer = encoder.encode(*of_text(c.snapshot, text + " zyx" * 500))
    for one, other in zip(longer.words, plain.words, strict=True):
        assert np.array_equal(one, other)


def test_judgements_move_the_dial(c):
    """By words alone, or by the theme alone, documents are like others."""
    ids = [document.id for document in c if document.text]
    same_words = {
        one: {a.doc_id: 1 for a in c.like(one, k=5, method="hybrid(only=words)")} for one in ids
    }
    by_words = c.tune(lw.Qrels(same_words), store=False)
    same_place = {
        one: {a.doc_id: 1 for a in c.like(one, k=5, method="hybrid(only=dense)")} for one in ids
    }
    by_axes = c.tune(lw.Qrels(same_place), store=False)
    assert by_words.chosen > by_axes.chosen
    assert by_words.validated >= by_words.before


def test_where_nothing_is_learnt_the_focus_stays(c):
    ids = [document.id for document in c if document.text]
    learnt = c.tune(lw.Qrels({one: {"nowhere": 1} for one in ids}), store=False)
    assert set(learnt.means.values()) == {0.0}
    assert learnt.chosen == 0.5


def test_the_dial_is_the_same_everywhere(c, capsys):
    doc = next(iter(c)).id
    by_name = c.like(doc, k=5, focus="thing", explain=True)
    ids = [answer.doc_id for answer in by_name]
    scores = [answer.score for answer in by_name]
    for how in ({"focus": 1.0}, {"method": "hybrid(focus=1)"}, {"method": Hybrid(focus="thing")}):
        assert [answer.score for answer in c.like(doc, k=5, **how)] == scores
    assert [answer.score for answer in c.like(doc, k=5, focus="subject")] != scores
    args = ["like", str(c.folder), "--id", doc, "-k", "5", "--focus", "thing", "--json"]
    assert main(args) == 0
    shown = orjson.loads(capsys.readouterr().out)
    assert [answer["doc_id"] for answer in shown["answers"]] == ids
    assert "focus=thing" in shown["method"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A collection with trained word vectors, and documents that came after the fit."""
    *first, last, empty = documents(60)
    folder = tmp_path_factory.mktemp("trained") / "c.lw"
    c = lw.index([*first, empty], to=folder, model="lsi(topics=6,train=crops)")
    c.add([last, {"id": "new", "text": "wing flutter unheard", "theme": "wing"}])
    return c


def test_what_is_added_is_encoded_by_the_word_vectors_of_the_fit(trained):
    stored = vectors_of(trained.snapshot)
    docs = trained.snapshot.find_docs(["new", "wing-59", "flow-0"])
    counts = trained.snapshot.term_counts(docs)
    dense = stored.model.compact(counts, stored.model.transform(counts))
    assert stored.model.vectors is not None
    for mine, theirs in zip(stored.rows(docs), dense, strict=True):
        assert mine @ theirs == pytest.approx(1, abs=1e-3)
    [first] = trained.like("new", k=1)
    assert first.doc_id.startswith("wing")


@pytest.mark.parametrize("which", ["c", "trained"])
@pytest.mark.parametrize("focus", ["subject", 0.3, "balanced", "thing"])
def test_explanations_add_up_at_every_place(which, focus, request):
    c = request.getfixturevalue(which)
    ids = [document.id for document in c][:3]
    for unlike in ((), (ids[2],)):
        for answer in c.like(ids[:2], unlike=unlike, k=10, focus=focus, explain=True):
            parts = sum(part.score for part in answer.explanation.parts)
            assert parts == pytest.approx(answer.score, abs=1e-6)


def test_a_filter_changes_no_score(c):
    doc = next(iter(c)).id
    every = {
        answer.doc_id: answer.score for answer in c.like(doc, k=60, method="hybrid(feedback=0)")
    }
    some = c.like(doc, k=60, method="hybrid(feedback=0)", filter="theme=wing")
    assert len(some)
    assert all(every[answer.doc_id] == answer.score for answer in some)


def test_bad_focus_is_said(c, capsys):
    doc = next(iter(c)).id
    for odd in (None, True, [0.5], np.array([0.5, 1]), float("nan")):
        with pytest.raises(UsageError, match="subject, balanced, thing"):
            c.like(doc, focus=odd)
    with pytest.raises(UsageError, match="leave one of the two out"):
        c.like(doc, focus="thing", method="hybrid(only=dense)")
    with pytest.raises(UsageError, match=r"hybrid\(focus=thing\) >> cut"):
        c.like(doc, focus="thing", method="hybrid >> cut(5)")
    with pytest.raises(UsageError, match="bm25 has none"):
        c.like(doc, focus="thing", method="bm25")
    assert main(["like", str(c.folder), "--id", doc, "--focus", "subjekt"]) != 0
    assert "subject, balanced, thing" in capsys.readouterr().err

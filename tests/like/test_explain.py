import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.collection.build import content
from likewise.compiled import Kernel
from likewise.errors import LikewiseError
from likewise.like.components import Encoder, Parts, mix
from likewise.like.explain import (
    FEEDBACK,
    OTHERS,
    RELATED,
    ROUNDING,
    SPECIFIC,
    TOPICS,
    VECTORS,
    Explainer,
    LikeQuery,
)
from likewise.like.hybrid import Likeness
from likewise.models.attribution import BEHIND, LEADING, NOTHING, EncodedDocument
from likewise.models.ladder import factors
from likewise.models.model import Weights
from likewise.models.stored_vectors import StoredVectors
from likewise.models.surface_forms import surface_words
from likewise.records import Query, QueryDocument
from likewise.retrieve.question import AGAINST, Question, of_doc, of_text
from likewise_papers.like.published import PublishedEncoder

WORDS = ["wing", "flutter", "heat", "layer", "flow", "plate", "lift", "drag", "shock", "jet"]


def likeness_of(c, model, view=Encoder, weights=Weights(1.0, 1.5, 0.8)):
    return Likeness(view(StoredVectors(c.snapshot, c.models[model])), weights)


def asked_of(likeness, question):
    like, unlike = (
        [likeness.encoder.encode(example.counts) for example in examples]
        for examples in (question.like, question.unlike)
    )
    return mix(like, unlike, against=AGAINST)


def encoded_of(likeness, question):
    weights = [1 / len(question.like)] * len(question.like)
    weights += [-AGAINST / len(question.unlike) for _ in question.unlike]
    return [
        EncodedDocument(example.counts, likeness.encoder.encode(example.counts).point, weight)
        for example, weight in zip(question.examples, weights, strict=True)
    ]


def explained(likeness, question, asked, docs, text=""):
    query = LikeQuery(question, encoded_of(likeness, question), asked, text)
    return Explainer(likeness).explain(query, np.array(docs, np.int64))


def why_of(likeness, question, asked, doc, text=""):
    """The explanation of one document."""
    return explained(likeness, question, asked, [doc], text)[0]


def group(why, name):
    return next((part.parts for part in why.parts if part.name == name), ())


def check_tree(score, parts, within=1e-6):
    """Parts add up at every node, the largest first at the upper ones."""
    if parts:
        assert sum(part.score for part in parts) == pytest.approx(score, abs=within)
    for part in parts:
        check_tree(part.score, part.parts)


def check(likeness, question, docs, text=""):
    """All that must hold of explanations, whatever the model and the question."""
    asked = asked_of(likeness, question)
    for doc, why in zip(docs, explained(likeness, question, asked, docs, text), strict=True):
        parts = likeness.parts(asked, doc)
        assert why.score == parts.score
        check_tree(why.score, why.parts, within=1e-9)
        assert {part.kind for part in why.parts} <= {"group"}
        for many in (why.parts, *(part.parts for part in why.parts)):
            # Words come by magnitude, what no word stands for after them.
            kinds = [part.kind == "rest" for part in many]
            assert kinds == sorted(kinds)
            sizes = [abs(part.score) for part in many if part.kind != "rest"]
            assert sizes == sorted(sizes, reverse=True)
        for name in (RELATED, SPECIFIC):
            words = [part for part in group(why, name) if part.kind == "word"]
            rest = [part for part in group(why, name) if part.kind == "rest"]
            assert len(words) <= LEADING
            assert all(part.name in (OTHERS, ROUNDING) for part in rest)
            assert len(words) == LEADING or all(abs(part.score) < 1e-6 for part in rest)
        for words in (why.evidence.answer_words, why.evidence.query_words):
            assert words.dense.sum() == pytest.approx(parts.topics.sum(), abs=0.03)
            assert words.specific.sum() == pytest.approx(
                (parts.specific + parts.words).sum(), abs=1e-9
            )
            assert (np.diff(words.terms) > 0).all()
        for passage in (*why.evidence.passages, *why.evidence.query_passages):
            assert all(0 <= m.start < m.stop <= len(passage.text) for m in passage.marks)
            assert passage.marks
            orjson.dumps(passage.to_json())


@pytest.mark.parametrize("view", [Encoder, PublishedEncoder])
@pytest.mark.parametrize("model", ["lda", "lsi"])
def test_explanations_add_up_to_the_score_of_the_ranking(themes, model, view):
    likeness, s = likeness_of(themes, model, view), themes.snapshot
    question = Question("q", (of_doc(s, 0),))
    asked = asked_of(likeness, question)
    ranking, _ = likeness.rank(asked, k=20, candidates=0, omit=question.docs)
    found = explained(likeness, question, asked, ranking.docs.tolist())
    assert [why.score for why in found] == pytest.approx(ranking.scores.tolist(), abs=1e-6)
    check(likeness, question, ranking.docs.tolist())


@st.composite
def corpora(draw):
    texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
    first = draw(st.lists(texts, min_size=4, max_size=8))
    second = draw(st.lists(texts, max_size=4))
    gone = draw(st.sets(st.integers(1, len(first) - 1), max_size=2))
    like = draw(st.lists(st.integers(0, len(first) - 1), min_size=1, max_size=3))
    unlike = draw(st.lists(st.integers(0, len(first) - 1), max_size=2))
    outside = draw(st.none() | texts.map(lambda text: text + " zeppelin"))
    return first, second, gone, like, unlike, outside


@settings(max_examples=12)
@given(corpora(), st.sampled_from(["lsi(topics=3)", "ddm(topics=3,sweeps=4,samples=1)"]))
def test_explanations_add_up_on_any_collection(corpus, model):
    first, second, gone, like, unlike, outside = corpus
    folder = Path(tempfile.mkdtemp())
    try:
        c = lw.index([{"id": str(i), "text": t} for i, t in enumerate(first)], to=folder / "c.lw")
        try:
            c.models.fit(model)
        except LikewiseError:
            return  # no words to fit a model on
        if second:
            c.add({"id": f"+{i}", "text": t} for i, t in enumerate(second))
        if gone:
            c.delete([str(i) for i in gone])
        s = c.snapshot
        examples = [of_doc(s, doc) for doc in like if doc not in gone]
        examples += [of_text(s, outside)] if outside is not None else []
        away = tuple(of_doc(s, doc) for doc in unlike if doc not in gone)
        if examples:
            question = Question("q", tuple(examples), away)
            check(likeness_of(c, model.partition("(")[0]), question, s.live_docs().tolist())
    finally:
        shutil.rmtree(folder)


def test_a_word_has_its_part_and_the_related_words_behind_it(themes):
    likeness, s = likeness_of(themes, "lsi"), themes.snapshot
    model = likeness.encoder.model
    question = Question("q", (of_doc(s, 0),))
    asked = asked_of(likeness, question)
    why = why_of(likeness, question, asked, 3)
    sides = []
    for doc in (0, 3):
        weighed = model.weigh(s.term_counts(np.array([doc])))
        rows = np.asarray(model.basis)[weighed.rows].astype(np.float64)
        total = (weighed.weights @ rows)[None, :]
        rows = rows * factors(total, model.ladder)
        length = np.linalg.norm(weighed.weights @ rows)
        names = s.terms(model.vocabulary.terms[weighed.rows])
        sides.append((names, weighed.weights[:, None] * rows / length))
    pairs = sides[0][1] @ sides[1][1].T
    # Every word of these texts is its own stem's.
    surfaces = [surface_words([content(s.document(doc))], s.analyzer) for doc in (0, 3)]
    names = [[words[term] for term in side[0]] for words, side in zip(surfaces, sides, strict=True)]
    words = [part for part in group(why, RELATED) if part.kind == "word"]
    for term in words:
        row = pairs[names[0].index(term.name)]
        order = np.argsort(-row if term.score > 0 else row)[:BEHIND]
        expected = {names[1][j]: row[j] for j in order if row[j] * term.score > 0}
        behind = {p.name: p.score for p in term.parts if p.kind == "word"}
        assert behind == pytest.approx(expected, abs=1e-6)
        assert [p.name for p in term.parts if p.kind == "rest"] == [OTHERS]
        assert term.score == pytest.approx(row.sum(), abs=0.02)
    given = dict(zip(names[0], pairs.sum(axis=1).tolist(), strict=True))
    assert len(words) == LEADING < len(given)
    least = min(abs(term.score) for term in words)
    others = {name: score for name, score in given.items() if name not in {t.name for t in words}}
    assert all(abs(score) < least + 0.02 for score in others.values())
    assert group(why, RELATED)[-1][:2] == ("rest", OTHERS)
    assert group(why, RELATED)[-1].score == pytest.approx(sum(others.values()), abs=0.02)


def test_words_are_those_of_the_texts_and_topics_have_theirs(papers):
    papers.models.fit("lsi(topics=2)")
    s, likeness = papers.snapshot, likeness_of(papers, "lsi")
    text = "Supersonic panels fluttering. Nothing else."
    question = Question("q", (of_text(s, text),))
    asked = asked_of(likeness, question)
    why = why_of(likeness, question, asked, s.find_doc("4"), text=text)
    words = {part.name for part in group(why, RELATED)}
    assert {"fluttering", "panels"} <= words
    assert why.evidence.query_passages[0].text == "Supersonic panels fluttering."
    assert why.evidence.passages[0].text == "Panels in supersonic flow."
    silent = why_of(likeness, question, asked, s.find_doc("4"))
    assert silent.evidence.query_passages == ()
    assert "flutter" in {part.name for part in group(silent, RELATED)}
    assert silent.parts[0].score == why.parts[0].score


def test_topics_are_named_and_their_words_marked(themes):
    likeness, s = likeness_of(themes, "lda"), themes.snapshot
    question = Question("q", (of_doc(s, 0),))
    why = why_of(likeness, question, asked_of(likeness, question), 3)
    best = group(why, TOPICS)[0]
    [topic] = [topic for topic in why.evidence.topics if str(topic) == best.name]
    assert set(topic.words) <= {"boundary", "layer", "flow", "laminar", "viscous", "plate"}
    words = why.evidence.answer_words
    mine = s.terms(words.terms[words.topics == topic.number])
    assert {"laminar", "plate"} <= set(mine)
    assert best.name == f"topic {topic.number} ({', '.join(topic.words[:3])})"
    assert best.kind == "topic"
    assert not group(why, RELATED)


def test_what_is_beyond_the_question_is_a_part_of_its_own(themes):
    likeness, s = likeness_of(themes, "lsi"), themes.snapshot
    question = Question("q", (of_doc(s, 0),))
    asked = asked_of(likeness, question)
    turned = asked._replace(point=asked.point + likeness.encoder.encode(of_doc(s, 1).counts).point)
    why = why_of(likeness, question, turned, 4)
    [beyond] = [part for part in group(why, RELATED) if part.name == FEEDBACK]
    assert beyond.kind == "rest"
    assert abs(beyond.score) > 0.1
    assert sum(part.score for part in why.parts) == pytest.approx(why.score, abs=1e-9)


def test_a_model_without_words_is_one_part(papers):
    s = papers.snapshot
    question = Question("q", (of_doc(s, 0),))
    flutter = s.find_terms(["flutter"])
    given_parts = Parts(np.array([0.25, -0.05]), flutter, np.array([0.4]), *np.zeros((2, 1)))
    likeness = SimpleNamespace(
        collection=s,
        weights=Weights(),
        encoder=SimpleNamespace(model=SimpleNamespace(attribute=lambda *_: [NOTHING])),
        split=lambda asked, docs: [given_parts],
        rows=lambda docs: np.zeros((1, 2)),
    )
    query = LikeQuery(question, [], SimpleNamespace(point=np.zeros(2)))
    [why] = Explainer(likeness).explain(query, np.array([s.find_doc("4")]))
    [part] = group(why, VECTORS)
    assert (part.kind, part.name) == ("rest", VECTORS)
    assert part.score == pytest.approx(0.2)
    assert {part.name: len(part.parts) for part in why.parts} == {VECTORS: 1, SPECIFIC: 1}
    assert why.evidence.passages[0].score == pytest.approx(0.4)
    assert sum(p.score for p in why.parts) == pytest.approx(why.score) == pytest.approx(0.6)


@pytest.mark.parametrize("n", [LEADING - 1, LEADING, LEADING + 3])
def test_specific_words_beyond_the_leading_ones_are_one_part(themes, n):
    likeness, s = likeness_of(themes, "lsi", weights=Weights(0.0, 1.0, 0.0)), themes.snapshot
    scores = np.linspace(0.1, -0.4, n)
    given = Parts(np.zeros(1), np.arange(n), scores, *np.zeros((2, n)))
    likeness.split = lambda asked, docs: [given]
    question = Question("q", (of_doc(s, 0),))
    why = why_of(likeness, question, asked_of(likeness, question), 3)
    words = [part for part in group(why, SPECIFIC) if part.kind == "word"]
    largest = sorted(scores.tolist(), key=abs, reverse=True)
    assert [part.score for part in words] == largest[:LEADING]
    rest = [(part.name, part.score) for part in group(why, SPECIFIC) if part.kind == "rest"]
    assert rest == ([(OTHERS, pytest.approx(sum(largest[LEADING:])))] if n > LEADING else [])
    check_tree(why.score, why.parts)


@pytest.mark.parametrize("weights", [Weights(0, 1, 0), Weights(1, 0, 0), Weights(0, 0, 1)])
@pytest.mark.parametrize("model", ["lda", "lsi"])
def test_a_half_that_does_not_count_has_no_part(themes, model, weights):
    likeness, s = likeness_of(themes, model, weights=weights), themes.snapshot
    question = Question("q", (of_doc(s, 0),), (of_doc(s, 1),))
    check(likeness, question, [3, 4, 5])
    why = why_of(likeness, question, asked_of(likeness, question), 3)
    assert bool(group(why, TOPICS) or group(why, RELATED)) == (weights.dense > 0)


def test_documents_without_words_have_no_explanation(themes):
    s = themes.snapshot
    empty = s.find_doc("empty")
    for model in ("lda", "lsi"):
        likeness = likeness_of(themes, model)
        check(likeness, Question("q", (of_doc(s, 0),)), [empty])
        check(likeness, Question("q", (of_doc(s, empty),)), [0, empty])
        question = Question("q", (of_doc(s, empty),))
        why = why_of(likeness, question, asked_of(likeness, question), 0)
        assert (why.score, why.parts, why.evidence.passages) == (0, (), ())


@pytest.mark.parametrize("how", ["model=lsi", "model=lda", "only=dense", "only=specific"])
def test_explaining_searches_for_nothing(themes, how, monkeypatch):
    called = []
    run = Kernel.__call__

    def counted(self, *arguments):
        # That of the records of answers is no search.
        if self.py_func.__name__ != "split_rows":
            called.append(self.py_func.__module__)
        return run(self, *arguments)

    monkeypatch.setattr(Kernel, "__call__", counted)
    searches = ("likewise.retrieve.", "likewise.neighbours.", "likewise.like.kernels")
    pipeline = themes.pipeline(f"hybrid({how})", k=5)
    [result] = pipeline(Query("q", like=(QueryDocument(doc_id="flow-0"),)))
    assert any(name.startswith(searches) for name in called)
    called.clear()
    answers = pipeline.read(result, explain=True)
    assert len(answers.to_json()["answers"]) == 5
    assert str(answers)
    assert "likewise.like.passages" in called
    assert not [name for name in called if name.startswith(searches)]


@settings(max_examples=8)
@given(st.lists(st.text(max_size=40), min_size=3, max_size=5))
def test_hostile_texts_are_explained(texts):
    marks = ["<script>wing</script>\x00 \x1b[31m", "\u202ewing flutter\r\n", "漢字漢字 wing &amp;"]
    folder = Path(tempfile.mkdtemp())
    try:
        docs = [
            {"id": str(i), "title": marks[i % 3], "text": f"{text} {marks[i % 3]} flow"}
            for i, text in enumerate(t.encode("utf-8", "replace").decode() for t in texts)
        ]
        c = lw.index(docs, to=folder / "c.lw")
        c.models.fit("lsi(topics=2)")
        s = c.snapshot
        text = texts[0] + marks[1]
        question = Question("q", (of_text(s, text),))
        check(likeness_of(c, "lsi"), question, s.live_docs().tolist(), text=text)
    finally:
        shutil.rmtree(folder)

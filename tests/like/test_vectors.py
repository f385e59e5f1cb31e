"""Do vectors from elsewhere stay with their documents, and count for what they are worth?"""

import numpy as np
import pytest

import likewise as lw
from likewise.collection.arrays import Memory
from likewise.collection.snapshot import open_snapshot
from likewise.errors import DamagedError, UsageError
from likewise.like.focus import weights_at
from likewise.models.kinds import find_model
from likewise.models.model import Weights
from likewise.models.stored_vectors import vectors_of
from likewise.models.user_vectors import UserVectors, UserVectorsConfig, unit
from likewise.models.vector_sources import hashes
from likewise.retrieve.question import of_doc

from .conftest import likeness_by

N_DOCS, N_KINDS, WIDTH = 240, 6, 70


def documents(n=N_DOCS, seed=0):
    """Documents of six kinds; the kind shows in a few words, and in the vector."""
    random = np.random.default_rng(seed)
    kinds = np.random.default_rng(9).standard_normal((N_KINDS, WIDTH))
    for i in range(n):
        kind = i % N_KINDS
        words = [f"kind{kind}word{w}" for w in random.integers(0, 25, 6)]
        words += [f"usual{w}" for w in random.geometric(0.03, 20)]
        vector = kinds[kind] + 0.5 * random.standard_normal(WIDTH) + 3
        text = " ".join([*words, f"pair{i // 2}"])
        yield {"id": f"d{i}", "text": text, "kind": kind, "v": vector.tolist()}


DOCUMENTS = [*documents()]
ROWS = np.array([document["v"] for document in DOCUMENTS], np.float32)
IDS = [document["id"] for document in DOCUMENTS]
PLAIN = [{key: d[key] for key in ("id", "text", "kind")} for d in DOCUMENTS]
ASKED = IDS[:60]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A collection whose vectors came as rows."""
    c = lw.index(PLAIN, to=tmp_path_factory.mktemp("v") / "c.lw", model=None)
    c.models.fit(vectors=ROWS, ids=IDS)
    return c


@pytest.fixture
def c(tmp_path):
    c = lw.index(PLAIN[:120], to=tmp_path / "c.lw", model=None)
    c.models.fit(vectors=dict(zip(IDS[:120], ROWS, strict=False)))
    return c


def answers(c, doc_id, **options):
    return [(answer.doc_id, answer.score) for answer in c.like(doc_id, **options)]


def precision(c, method, asked=ASKED, k=5):
    """The share of answers that are of the kind of what was asked."""
    return np.mean(
        [
            answer.fields["kind"] == c[i].fields["kind"]
            for i in asked
            for answer in c.like(i, k=k, method=method)
        ]
    )


def directions(c):
    """The compact halves of documents by id."""
    docs = c.snapshot.live_docs()
    ids = c.snapshot.doc_ids(docs)
    return {
        i: vectors_of(c.snapshot).rows(np.array([doc]))[0]
        for i, doc in zip(ids, docs.tolist(), strict=True)
    }


def test_true_vectors_help(fitted):
    model = fitted.models[fitted.models.default()]
    assert isinstance(model, UserVectors)
    assert (model.kind, model.width, len(model.kept.keys)) == ("vectors", WIDTH, N_DOCS)
    assert model.history[0]["without"] == 0
    both = precision(fitted, "hybrid")
    assert both > precision(fitted, "hybrid(only=specific)") + 0.1
    assert precision(fitted, "hybrid(only=dense)") > 0.9


def test_the_weight_is_by_trust_unless_it_is_given(fitted, tmp_path):
    model = fitted.models[fitted.models.default()]
    assert 0 < model.trust < 1
    assert model.dense_weight == model.trust
    typical = vectors_of(fitted.snapshot).typical
    for method, weights in (
        ("hybrid", weights_at(0.5, typical, dense=model.trust)),
        ("hybrid(focus=thing)", weights_at(1.0, typical, dense=model.trust)),
        ("hybrid(only=dense)", Weights(1, 0, 0)),
        ("hybrid(only=specific)", Weights(0, 1, 0)),
        ("hybrid(only=words)", Weights(0, 0, 1)),
    ):
        assert likeness_by(fitted, method).weights == weights
    c = lw.index(PLAIN, to=tmp_path / "c.lw", model=None)
    c.models.fit(UserVectorsConfig(weight=2.5), vectors=ROWS)
    assert c.models[c.models.default()].dense_weight == 2.5


@pytest.mark.parametrize("width", [2, 40])
def test_random_vectors_do_no_harm(tmp_path, width):
    c = lw.index(PLAIN, to=tmp_path / "c.lw", model=None)
    random = np.random.default_rng(1).standard_normal((N_DOCS, width))
    c.models.fit(vectors=random)
    words = precision(c, "hybrid(only=specific)")
    assert words > 2 / N_KINDS
    assert c.models[c.models.default()].dense_weight < 0.05
    assert precision(c, "hybrid") > words - 0.02
    c.models.fit(UserVectorsConfig(weight=1.0), vectors=random)
    assert precision(c, "hybrid") < words - 0.05, "the weight is what saves it"


def test_stored_and_loaded_it_is_the_same(fitted, tmp_path):
    c = lw.index(PLAIN, to=tmp_path / "c.lw", model=None)
    made = c.models.fit(vectors=ROWS)
    again = lw.open(c.folder).models["vectors"]
    counts = c.snapshot.term_counts(c.snapshot.live_docs())
    one, other = made.transform(counts), again.transform(counts)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))
    assert made.rows(IDS).tobytes() == again.rows(IDS).tobytes()
    assert (again.trust, again.dense_weight) == (made.trust, made.dense_weight)
    np.testing.assert_allclose(made.rows(IDS), made.place(ROWS), atol=0.01)
    assert not made.rows(["unheard"]).any()
    expected = made.with_vectors(ROWS, one)
    for i, point in enumerate(directions(c).values()):
        np.testing.assert_allclose(point, expected[i], atol=0.02)


def test_additions_deletions_and_merges_keep_vectors(c):
    before = directions(c)
    asked = {i: answers(c, i, k=200) for i in ("d0", "d7")}
    c.add([{"id": "far", "text": "zebra zebra"}])
    c.delete(["far"])
    assert {i: answers(c, i, k=200) for i in asked} == asked
    assert len(c.snapshot.segments) == 2
    c.merge()
    assert len(c.snapshot.segments) == 1
    assert {i: answers(c, i, k=200) for i in asked} == asked
    c.delete(["d1"])
    c.add(PLAIN[1:2])
    c.merge()
    after = directions(c)
    assert list(after) != list(before), "numbers have changed"
    for i, point in before.items():
        assert after[i].tobytes() == point.tobytes()


def test_what_was_added_without_a_vector_is_what_its_words_predict(c):
    c.add([{"id": "copy", "text": PLAIN[3]["text"], "v": ROWS[4].tolist()}])
    model, doc = c.models[c.models.default()], c.snapshot.find_doc("copy")
    triples = model.transform(c.snapshot.term_counts(np.array([doc])))
    np.testing.assert_allclose(
        vectors_of(c.snapshot).rows(np.array([doc]))[0], unit(triples.topics)[0], atol=0.02
    )
    c.models.fit(vectors=dict(zip([*IDS[:120], "copy"], [*ROWS[:120], ROWS[4]], strict=True)))
    assert (c.models[c.models.default()].rows(["copy"]) != 0).any()


def test_documents_added_later_bring_vectors_in_their_field(tmp_path):
    c = lw.index(DOCUMENTS[:120], to=tmp_path / "c.lw", model=None)
    c.models.fit(vectors="v")
    assert c.models[c.models.default()].settings["field"] == "v"
    assert len(c.models[c.models.default()].kept.keys) == 0, "the documents have them"
    same = lw.index(PLAIN[:120], to=tmp_path / "d.lw", model=None)
    same.models.fit(vectors=ROWS[:120])
    found, expected = directions(c), directions(same)
    for i in IDS[:120]:
        np.testing.assert_allclose(found[i], expected[i], atol=0.02)
    # The text says nothing: only the vector tells what it is like.
    c.add([{"id": "new", "text": "zebra", "kind": 2, "v": ROWS[8].tolist()}])
    for _ in range(2):
        assert precision(c, "hybrid(only=dense)", asked=["new"]) == 1
        c.merge()
    c.add([{"id": "new", "text": "zebra", "kind": 5, "v": ROWS[5].tolist()}], replace=True)
    assert precision(c, "hybrid(only=dense)", asked=["new"]) == 1
    c.add([{"id": "broken", "text": "zebra", "v": [1, 2]}, {"id": "none", "text": "zebra"}])
    assert directions(c)["broken"].tobytes() == directions(c)["none"].tobytes()
    with pytest.raises(UsageError, match="'v' of document 'broken'"):
        c.models.fit("vectors(field=v)")


def test_a_document_of_the_collection_asks_with_its_own_vector(fitted, tmp_path):
    view = likeness_by(fitted, "hybrid").encoder
    example = of_doc(fitted.snapshot, fitted.snapshot.find_doc("d5"))
    np.testing.assert_allclose(view.encode(*example).point, directions(fitted)["d5"], atol=1e-6)
    guess = view.encode(example.counts).point
    assert np.abs(guess - view.encode(*example).point).max() > 0.01
    np.testing.assert_array_equal(view.encode(*example).terms, view.encode(example.counts).terms)


def test_a_text_may_come_with_its_vector(fitted):
    """A text that says nothing, with the vector of a kind, is like that kind."""
    for kind in (1, 4):
        found = fitted.like(text="zebra", vector=ROWS[kind], k=5, method="hybrid(only=dense)")
        assert [answer.fields["kind"] for answer in found] == [kind] * 5
        alone = fitted.like(vector=ROWS[kind : kind + 1], k=5, method="hybrid(only=dense)")
        assert [a.doc_id for a in alone] == [a.doc_id for a in found]
    own = fitted.like(text=PLAIN[3]["text"], vector=ROWS[3], k=1)
    assert own[0].doc_id == "d3", "itself"
    mixed = fitted.like("d0", text="zebra", vector=ROWS[0], k=5)
    assert [answer.fields["kind"] for answer in mixed] == [0] * 5
    assert not len(fitted.like(text="zebra", method="hybrid(only=dense)"))


def test_scores_are_explained(fitted):
    for options in ({"ids": "d0"}, {"text": PLAIN[0]["text"], "vector": ROWS[1]}):
        for answer in fitted.like(**options, k=5, explain=True):
            assert sum(part.score for part in answer.explanation.parts) == pytest.approx(
                answer.score
            )
            assert "vectors" in {part.name for part in answer.explanation.parts}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"text": "wing", "vector": ROWS[0, :5]}, f"5 numbers, .*'vectors' have {WIDTH}"),
        ({"text": ["wing", "heat"], "vector": ROWS[0]}, "one text, and there are 2"),
        ({"ids": "d0", "vector": ROWS[0]}, "one text, and there are 0"),
        ({"text": "wing", "vector": ROWS[:2]}, r"shape \(2, 70\)"),
        ({"text": "wing", "vector": ROWS[0] * np.nan}, "not finite"),
        ({"text": "wing", "vector": ROWS[0], "method": "bm25"}, "bm25 has no use for a vector"),
    ],
)
def test_wrong_vectors_of_a_text_are_refused(fitted, options, said):
    with pytest.raises(UsageError, match=said):
        fitted.like(**options)


def test_other_models_have_no_use_for_a_vector(tmp_path):
    c = lw.index(PLAIN[:20], to=tmp_path / "c.lw", model="lsi(topics=3)")
    with pytest.raises(UsageError, match="'lsi' has no use for a vector"):
        c.like(text="wing", vector=[1, 2, 3])


def test_some_documents_have_none(tmp_path):
    c = lw.index(PLAIN, to=tmp_path / "c.lw", model=None)
    rows = ROWS[:200].copy()
    rows[7] = 0
    model = c.models.fit(vectors=rows, ids=IDS[:200])
    assert model.history[0]["without"] == N_DOCS - 199
    assert precision(c, "hybrid(only=dense)", asked=IDS[200:]) > 0.8, "their words tell"


def test_other_uses_of_a_model(fitted, tmp_path):
    found = fitted.like("d0", k=5, explain=True, method="near")
    assert [answer.fields["kind"] for answer in found] == [0] * 5
    assert found[0].explanation.parts[0].name.startswith("dimension ")
    assert sum(p.score for p in found[0].explanation.parts) == pytest.approx(
        found[0].score, abs=1e-4
    )
    made = fitted.models.decompose(text=PLAIN[2]["text"] + " zebra")
    assert made.model == "vectors"
    assert made.topics == ()
    assert "zebra" in [word.word for word in made.own]
    assert fitted.models.transform("d0").topics.shape == (1, WIDTH)
    assert fitted.models.drift() == []
    with pytest.raises(UsageError, match="no topics to span"):
        fitted.models.fit("span(of=vectors)")
    learnt = fitted.tune(fitted.judgements(same="kind"), store=False)
    assert learnt.means[1.0] > 0
    mixed = fitted.like("d0", k=5, method="topn-lda")
    assert [answer.fields["kind"] for answer in mixed] == [0] * 5


def test_new_documents_can_tell_that_a_model_has_aged(c):
    c.add([{"id": f"n{i}", "text": f"zebra{i} zebra zebra"} for i in range(20)])
    [aged] = c.models.drift()
    assert aged.aged
    assert aged.new_documents == 20


def test_the_source_must_fit_the_configuration(c):
    with pytest.raises(UsageError, match="whose vectors"):
        c.models.fit("vectors")
    with pytest.raises(UsageError, match="not both"):
        c.models.fit(UserVectorsConfig(field="v"), vectors=ROWS[:120])
    with pytest.raises(UsageError, match="need no ids"):
        c.models.fit(vectors="v", ids=IDS)
    with pytest.raises(UsageError, match="no document has vectors in a field 'v'"):
        c.models.fit(vectors="v")


def test_damage_is_found(c):
    artifact = find_model(c.snapshot)
    pack, path = c.snapshot.pack(artifact.pack), c.snapshot.path_of(artifact.pack.file)
    whole = path.read_bytes()
    for name in ("kept.codes", "kept.keys", "kept.scales", "turn", "centre"):
        at = pack._arrays[name][2]
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DamagedError, match=name):
            lw.open(c.folder).like("d0")
        with pytest.raises(DamagedError, match=name):
            open_snapshot(c.folder).check()


def test_sizes_that_do_not_agree_are_damage(c):
    model = c.models[c.models.default()]
    for name in ("kept.codes", "kept.scales", "turn"):
        arrays = Memory()
        for key, values in model.arrays().items():
            arrays.put(key, values[1:] if key == name else values)
        with pytest.raises(DamagedError, match=name):
            type(model).load("vectors", arrays, model.about())


def test_hashes_are_for_good():
    """They are in files: another machine must find the same."""
    assert hashes(["d0", "zürich"]).tolist() == [0x61E11967B12B148A, 0x84CF67CC10B22537]

"""What every fitted model keeps, whatever its kind."""

from dataclasses import asdict

import numpy as np
import pytest

import likewise as lw
from likewise import registry
from likewise.collection.text_counts import counts_of
from likewise.errors import UsageError
from likewise.like.components import Encoder
from likewise.like.typical import measure_typical
from likewise.models.fitting import CONFIGS, FitJob, read_config
from likewise.models.model import DRIFT, LIKE, SMOOTH, TYPICAL, Model
from likewise.models.stored_vectors import StoredVectors
from likewise.models.vector_sources import read_vectors

WORDS = 5
MODELS = {
    "lsi": "lsi(topics=4)",
    "lsi trained": "lsi(topics=4,train=crops)",
    "ddm": "ddm(topics=3,sweeps=12,samples=2)",
    "lda": "lda(topics=3,sweeps=12,samples=2)",
    "lda-vb": "lda-vb(topics=3,passes=1)",
    "nmf": "nmf(topics=3,iterations=20)",
    "categories": "categories(field=kind)",
    "span": "span(of=ddm)",
    "vectors": "vectors",
    "vectors in a field": "vectors(field=place)",
    "klsa": "klsa(axes=4)",
    "klsa of features": "klsa(axes=2)",
    "klsa of a function": "klsa(axes=3)",
}
NAMES = [*MODELS]


def shared(rows, columns):
    return np.array([[len({*a.split()} & {*b.split()}) for b in columns] for a in rows], float)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    random = np.random.default_rng(0)
    documents = []
    for i in range(150):
        own = " ".join(f"k{i % 3}x{w}" for w in random.integers(0, 12, 12))
        usual = " ".join(f"w{w}" for w in random.integers(0, 30, 8))
        place = 0.1 * random.standard_normal(6) + np.eye(6)[i % 3]
        fields = {"kind": f"kind {i % 3}", "place": place.tolist()}
        documents.append({"id": f"d{i}", "text": f"{own} {usual}", **fields})
    documents.append({"id": "empty", "text": ""})
    c = lw.index(documents, to=tmp_path_factory.mktemp("models") / "c.lw", model="none")
    c.models.fit(MODELS["ddm"])
    c.models.fit(MODELS["lsi"], name="axes")
    return c.snapshot


@pytest.fixture(scope="module")
def models(collection):
    docs = collection.live_docs()
    vectors = read_vectors(collection, "place")
    rows = np.zeros((len(docs), 6))
    rows[np.searchsorted(docs, vectors.docs)] = vectors.rows
    jobs = {
        "vectors": FitJob(vectors=rows, threads=1),
        "klsa of features": FitJob(vectors=rows, threads=1),
        "klsa of a function": FitJob(gram=shared, threads=1),
    }
    return {
        name: read_config(text).fit(collection, jobs.get(name, FitJob(threads=1)))
        for name, text in MODELS.items()
    }


@pytest.fixture(params=NAMES)
def model(request, models):
    return models[request.param]


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def test_every_model_and_every_configuration_is_tried(models):
    assert {type(one).kind for one in models.values()} == set(registry.MODELS)
    assert {name.split()[0] for name in NAMES} == set(CONFIGS)


def test_models_say_what_they_are(model):
    assert isinstance(model, Model)
    assert registry.look_up(registry.MODELS, model.kind) is type(model)
    assert model.role in (LIKE, SMOOTH)
    assert set(model.derived) <= {TYPICAL, DRIFT}
    assert (TYPICAL in model.derived) == (model.role == LIKE)
    assert model.settings["model"]


def test_what_is_stored_is_what_is_loaded(model, collection):
    docs = collection.live_docs()
    loaded = type(model).load(model.name, model.arrays(), model.about())
    same(loaded.arrays(), model.arrays())
    assert loaded.about() == model.about()
    assert (loaded.name, loaded.width) == (model.name, model.width)
    same(loaded.encode(collection, docs, words=WORDS), model.encode(collection, docs, words=WORDS))


def test_documents_are_encoded_as_the_layout_says(model, collection):
    docs = collection.live_docs()
    encoded = model.encode(collection, docs, words=WORDS)
    assert encoded.keys() == model.layout.keys()
    for name, (_, width) in model.layout.items():
        assert encoded[name].shape[1:] == ((width,) if width else ())
    assert encoded["codes"].shape == (len(docs), model.width)


def test_a_document_alone_is_as_in_company_with_any_threads(model, collection):
    docs = collection.live_docs()
    together = model.encode(collection, docs, words=WORDS)
    same(model.encode(collection, docs, words=WORDS, threads=3), together)
    alone = [model.encode(collection, docs[[i]], words=WORDS) for i in range(len(docs))]
    same({name: np.concatenate([one[name] for one in alone]) for name in together}, together)


def test_an_empty_document_has_a_vector_of_zeros(model, collection):
    own = model.has_own_vectors or model.kind == "klsa-given"
    encoded = model.encode(collection, collection.find_docs(["empty"]), words=WORDS)
    assert encoded["codes"].shape[0] == 1
    assert own or not encoded["codes"].any()
    none = model.encode(collection, np.empty(0, np.int64), words=WORDS)
    assert all(len(values) == 0 for values in none.values())


@pytest.mark.parametrize("text", ["k1x3 k1x4 w2 neverseen", "neverseen", ""])
def test_texts_from_outside_decompose_if_the_model_compares_documents(model, collection, text):
    counts, _ = counts_of(collection, text)
    if model.role == SMOOTH:
        with pytest.raises(UsageError, match="smooths rankings and decomposes no documents"):
            model.transform(counts)
        return
    triples = model.transform(counts, words=WORDS)
    assert triples.topics.shape == (1, model.width)
    assert np.isfinite(triples.topics).all()
    # Topics alone have no place for words that they do not know.
    some = bool(text) and ("k1x3" in text or getattr(model, "switch", True))
    assert triples.shares.sum() == pytest.approx(int(some), abs=1e-3)
    vector = model.query_vector(counts, triples, None)
    assert vector.shape == (model.width,)
    assert vector.any() == ("k1x3" in text)


def test_a_vector_is_for_models_of_vectors(model, collection):
    counts, _ = counts_of(collection, "k1x3 w2")
    vector = np.ones(model.width, np.float32)
    if model.has_own_vectors:
        triples = model.transform(counts)
        assert np.linalg.norm(model.query_vector(counts, triples, vector)) == pytest.approx(1)
        with pytest.raises(UsageError, match="has 2 numbers"):
            model.query_vector(counts, triples, vector[:2])
    elif model.role == LIKE:
        with pytest.raises(UsageError, match="no use for a vector"):
            model.query_vector(counts, model.transform(counts), vector)


def test_topics_have_names_and_words_or_say_that_they_have_none(model, collection):
    if model.role == SMOOTH or model.has_own_vectors:
        for ask in (lambda: model.word_weights, lambda: model.topics("to look at")):
            with pytest.raises(UsageError, match="topics"):
                ask()
        return
    names = model.dimension_names(collection)
    assert len(set(names)) == len(names) == model.width
    assert model.word_weights.shape[0] == len(model.vocabulary)


def test_what_a_model_notes_of_itself_is_there(model, collection):
    counts = collection.term_counts(collection.live_docs())
    if DRIFT in model.derived:
        assert 0 < model.fit_error(counts) < np.inf
    else:
        with pytest.raises(UsageError, match="knows no words"):
            _ = model.vocabulary
    if TYPICAL in model.derived:
        assert model.dense_weight >= 0
        typical = measure_typical(Encoder(StoredVectors(collection, model)))
        assert typical.dense > 0
        assert min(asdict(typical).values()) >= 0


@pytest.mark.parametrize("name", ["lsi", "lda-vb", "nmf", "categories", "span", "vectors", "klsa"])
def test_what_cannot_be_resumed_says_so(name, collection):
    with pytest.raises(UsageError, match="cannot be resumed"):
        read_config(name).fit(collection, FitJob(warm_start=True))


def test_topics_go_on_from_topics_only(collection, models):
    further = read_config(MODELS["ddm"]).fit(collection, FitJob("ddm", warm_start=True))
    assert further.width == models["ddm"].width
    with pytest.raises(UsageError, match="'axes' has no topics to go on from"):
        read_config("ddm").fit(collection, FitJob("axes", warm_start=True))

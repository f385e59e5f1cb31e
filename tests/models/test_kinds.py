import tracemalloc

import numpy as np
import pytest

import likewise as lw
from likewise.collection.pack import Pack, Packer
from likewise.errors import DamagedError, UsageError
from likewise.models.document_vectors import layout_of
from likewise.models.kinds import VECTORS, find_model, load_model, models_for, store_model
from likewise.models.model import LIKE
from likewise.models.topics import TopicModel

MODELS = [
    "lsi(topics=4)",
    "ddm(topics=3,sweeps=12,samples=2)",
    "lda(topics=3,sweeps=5,samples=1)",
    "lda-vb(topics=3,passes=1)",
    "nmf(topics=3)",
    "categories(field=kind,least=1)",
]


def documents(n=40):
    rng = np.random.default_rng(0)
    kinds = {
        "air": ["wing", "flow", "lift", "drag", "shock", "mach", "flutter", "speed"],
        "sea": ["ship", "hull", "wave", "keel", "anchor", "tide", "harbour", "sail"],
        "land": ["road", "wheel", "brake", "engine", "gear", "tyre", "bridge", "truck"],
    }
    for i in range(n):
        kind = sorted(kinds)[i % 3]
        words = rng.choice(kinds[kind], 30).tolist() + [f"name{i}"] * 4
        yield {"id": str(i), "text": " ".join(words), "kind": kind}


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "c.lw"
    return lw.index(documents(), to=folder, model="lsi(topics=4)")


def equal(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_a_model_stored_and_loaded_gives_the_same_triples(collection, model):
    fitted = collection.models.fit(model)
    again = lw.open(collection.folder)
    docs = again.snapshot.live_docs()
    counts = again.snapshot.term_counts(docs)
    loaded = again.models[fitted.name]
    assert loaded.width == fitted.width
    assert loaded.settings["model"] == model
    one, other = fitted.transform(counts), loaded.transform(counts)
    assert equal(one, other)
    # Same seed, same answer.
    assert equal(one, collection.models.fit(model).transform(counts))
    # Documents of a kind are near each other, whatever the model.
    topics = one.topics / np.linalg.norm(one.topics, axis=1, keepdims=True)
    likeness = topics @ topics.T
    same = np.equal.outer(docs % 3, docs % 3)
    assert likeness[same].mean() > likeness[~same].mean() + 0.3


@pytest.mark.parametrize(
    "model", ["ddm(topics=3,sweeps=30)", "categories(field=kind,least=1)", "lsi"]
)
def test_the_words_of_one_document_are_its_own(collection, model):
    collection.models.fit(model)
    triples = collection.models.transform(["7"], model=model.partition("(")[0], words=3)
    assert "name7" in collection.snapshot.terms(triples.terms)


def test_a_text_from_outside_is_decomposed(collection):
    collection.models.fit("ddm(topics=3,sweeps=30)")
    made = collection.models.decompose(text="wing flow lift wing unheard unheard", model="ddm")
    assert sum(made.shares) == pytest.approx(1, abs=1e-4)
    assert "unheard" in [word.term for word in made.own]


def test_models_are_listed_chosen_and_replaced(collection):
    collection.models.fit("ddm(topics=3,sweeps=5,samples=1)")
    collection.models.fit("ddm(topics=2,sweeps=5,samples=1)", name="small")
    assert collection.info()["models"][-1] == "small"
    assert collection.models["small"].width == 2
    assert collection.models["ddm"].width == 3
    assert collection.models["lsi"].kind == "subspace"
    collection.models.fit("ddm(topics=4,sweeps=5,samples=1)", name="small")
    assert collection.info()["models"].count("small") == 1
    assert collection.models["small"].width == 4
    with pytest.raises(UsageError, match="no model 'other'"):
        collection.models["other"]


def test_a_graph_of_terms_is_no_model(tmp_path):
    c = lw.index(documents(), to=tmp_path / "c.lw", model="lsi(topics=4)")
    c.terms.make_graph(name="terms")
    roots = [artifact for artifact in c.snapshot.manifest.artifacts if not artifact.inputs]
    assert [root.name for root in roots] == ["lsi", "klsa", "terms"]
    assert [root.name for root in models_for(c.snapshot.manifest, LIKE)] == ["lsi"]
    assert find_model(c.snapshot, None).name == "lsi"
    with pytest.raises(UsageError, match=r"no model 'terms'.*there is lsi$"):
        load_model(c.snapshot, "terms")
    with pytest.raises(UsageError, match="'terms' is the name of a graph of terms"):
        store_model(c.snapshot, load_model(c.snapshot), name="terms")
    store_model(c.snapshot, load_model(c.snapshot), name="other")
    c.refresh()
    assert len(c.terms.graph("terms")) > 0
    assert c.models["other"].name == "other"


def test_what_answers_changes_only_when_asked(tmp_path):
    c = lw.index(documents(), to=tmp_path / "c.lw", model="lsi(topics=4)")
    before = [(a.doc_id, a.score) for a in c.like("5")]
    c.models.fit("lda(topics=3,sweeps=5,samples=1)")
    c.models.fit("klsa(axes=3)", name="other")
    assert c.info()["defaults"] == {"like": "lsi", "smooth": "klsa"}
    assert [(a.doc_id, a.score) for a in c.like("5")] == before
    c.models.fit("lda(topics=2,sweeps=5,samples=1)", name="two", default=True)
    assert c.info()["defaults"] == {"like": "two", "smooth": "klsa"}
    assert c.models[c.models.default()].name == "two"
    c.models.use("other")
    c.models.use("lsi")
    assert c.info()["defaults"] == {"like": "lsi", "smooth": "other"}
    with pytest.raises(UsageError, match="no model 'three'"):
        c.models.use("three")
    c.models.drop("lsi")
    assert c.info()["defaults"] == {"like": "two", "smooth": "other"}
    for name in ("lda", "two"):
        c.models.drop(name)
    assert c.info()["defaults"] == {"smooth": "other"}


def test_without_a_model_it_is_what_index_fits(tmp_path):
    c = lw.index(documents(), to=tmp_path / "c.lw", model=None)
    c.models.fit()
    assert c.info()["defaults"] == {"like": "lsi", "smooth": "klsa"}
    indexed = lw.index(documents(), to=tmp_path / "d.lw")
    assert [(a.doc_id, a.score) for a in c.like("5")] == [
        (a.doc_id, a.score) for a in indexed.like("5")
    ]
    with pytest.raises(UsageError, match="which model"):
        c.models.fit(name="mine")


def test_the_span_of_topics_is_a_model(collection):
    collection.models.fit("ddm(topics=3,sweeps=12,samples=2)")
    span = collection.models.fit("span(of=ddm)")
    assert span.kind == "subspace"
    assert np.allclose(span.basis.T @ span.basis, np.eye(span.width), atol=1e-4)
    with pytest.raises(UsageError, match="no topics to span"):
        collection.models.fit("span(of=lsi)")


def test_a_model_stays_while_documents_come_and_go(tmp_path):
    c = lw.index(documents(), to=tmp_path / "c.lw", model="ddm(topics=3,sweeps=12,samples=2)")
    before = c.models.transform(["5"])
    c.add([{"id": "new", "text": "wing wing unheard unheard unheard"}])
    c.delete(["6"])
    c.merge()
    assert equal(before, c.models.transform(["5"]))
    triples = c.models.transform(["new"])
    assert c.snapshot.terms(triples.terms[:1]) == ["unheard"]


def test_an_overwrite_drops_the_models_of_the_old_terms(tmp_path):
    lw.index(documents(), to=tmp_path / "c.lw", model="ddm(topics=3,sweeps=5,samples=1)")
    c = lw.index(documents(6), to=tmp_path / "c.lw", overwrite=True, model=None)
    assert c.info()["models"] == []
    with pytest.raises(UsageError, match=r"has no model; fit one with models\.fit\("):
        c.models[c.models.default()]


def test_documents_too_few_or_empty_simply_have_no_model(tmp_path):
    empty = lw.index([{"id": "1", "text": ""}], to=tmp_path / "empty.lw")
    assert empty.info()["models"] == []
    with pytest.raises(UsageError, match=r"no words|nothing to fit"):
        empty.models.fit("ddm(topics=2,sweeps=1)")
    none = lw.index([], to=tmp_path / "none.lw")
    with pytest.raises(UsageError, match="no documents"):
        none.models.fit("ddm")
    one = lw.index([{"id": "1", "text": "one document of a few words"}], to=tmp_path / "one.lw")
    one.models.fit("ddm(topics=2,sweeps=3,samples=1)")
    assert one.models.transform("1").shares.sum() == pytest.approx(1, abs=1e-4)


def test_training_goes_on_by_name(tmp_path):
    c = lw.index(documents(), to=tmp_path / "c.lw", model="ddm(topics=3,sweeps=12,samples=2)")
    further = c.models.fit("ddm(topics=3,sweeps=5,samples=1)", warm_start=True)
    assert isinstance(further, TopicModel)
    c.models.fit("lsi(topics=2)")
    with pytest.raises(UsageError, match="cannot"):
        c.models.fit("lsi(topics=2)", warm_start=True)


def test_an_altered_file_of_a_model_is_named(collection):
    collection.models.fit("lda(topics=3,sweeps=5,samples=1)", name="broken")
    artifact = find_model(collection.snapshot, "broken")
    path = collection.snapshot.path_of(artifact.pack.file)
    data = bytearray(path.read_bytes())
    at = data.index(b"background.npy") - 8
    data[at - 64] ^= 4  # the last of word-topics, which stands before
    path.write_bytes(data)
    collection = lw.open(collection.folder)
    with pytest.raises(DamagedError, match="model-"):
        collection.snapshot.check()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("dmd", "unknown model 'dmd': it is one of categories, ddm, klsa, lda"),
        ("ddm(topic=3)", "'topic=3' is no option"),
        ("ddm(topics=many)", "must be a whole number"),
        ("nmf(topics=1000)", "at most"),
        ("lsi(topics=0)", "topics"),
        ("categories(field=colour)", "no document has a field 'colour'; the fields are kind"),
        ("categories(field=kind,least=100)", "0 values"),
    ],
)
def test_what_cannot_be_fitted_is_said(collection, model, message):
    with pytest.raises(UsageError, match=message):
        collection.models.fit(model)


class Joined:
    """The inputs of a join: a model whose vectors have so many coordinates."""

    name = "model"

    def __init__(self, width):
        self.derived = self
        self.layout = layout_of(width)

    def root(self, kind, name):
        return self


def test_vectors_are_joined_a_few_at_a_time(tmp_path, monkeypatch):
    n, width, words = 40_000, 200, 40
    rng = np.random.default_rng(1)
    parts = []
    for i in range(2):
        out = Packer(tmp_path / f"{i}.npz")
        sizes = rng.integers(0, words, n)
        for name, values in {
            "codes": rng.integers(-99, 99, (n, width)),
            "scales": rng.random(n),
            "shares": rng.random((n, 2)),
            "words.sizes": sizes,
            "words.terms": rng.integers(0, 9999, sizes.sum()),
            "words.weights": rng.integers(0, 99, sizes.sum()),
            "words.scales": rng.random(n),
        }.items():
            out.put(name, values, layout_of(width)[name][0])
        parts.append(Pack(out.path, out.close()))
    rows = [np.arange(n), np.flatnonzero(rng.random(n) < 0.5)]
    monkeypatch.setattr("likewise.models.kinds._DOCS_AT_ONCE", 256)
    out = Packer(tmp_path / "joined.npz")
    tracemalloc.start()
    VECTORS.join(parts, rows, Joined(width), out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    joined = Pack(out.path, out.close())
    assert peak < joined.size / 2
    for name in ("codes", "scales", "shares", "words.sizes", "words.scales"):
        wanted = [part[name][kept] for part, kept in zip(parts, rows, strict=True)]
        assert np.array_equal(joined[name], np.concatenate(wanted))
        assert joined[name].dtype == parts[0][name].dtype
    for name in ("words.terms", "words.weights"):
        wanted = [
            part[name][np.repeat(np.isin(np.arange(n), kept), part["words.sizes"])]
            for part, kept in zip(parts, rows, strict=True)
        ]
        assert np.array_equal(joined[name], np.concatenate(wanted))

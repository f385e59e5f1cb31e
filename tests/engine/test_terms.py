"""Terms in Python: graphs made and kept up, related terms, distances, predictions."""

import re
from dataclasses import asdict

import numpy as np
import pytest

import likewise as lw
from likewise.collection.writer import Writer
from likewise.errors import LockedError, UsageError
from likewise.retrieve.models import TFIDF
from likewise.retrieve.words import retriever_of
from likewise.terms import counting, kinds
from likewise.terms.catalogue import Stored, store_graph
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import Filters, choose_nodes
from likewise.terms.predict import VOTERS

from ..notes import ALL, NAMES, NOTES, as_plain, make_notes, names_of, pair


@pytest.fixture(autouse=True, scope="module")
def unsynced():
    """Leave out waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        yield


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def notes(here):
    return make_notes()


# Making graphs


def test_a_graph_is_made_and_stored(notes):
    made = notes.terms.make_graph(filters=ALL)
    assert made.stored.name == "graph"
    assert pair(made, "wing", "flutter") == 1
    assert pair(made, "supersonic", "flow") == 3
    assert pair(made, "gnu", "zebra") == 1
    assert pair(made, "wing", "layer") == 1
    again = lw.open(notes.folder).terms.graph()
    assert as_plain(again.stored.counted) == as_plain(made.stored.counted)
    # Within documents there are more pairs.
    wide = notes.terms.make_graph(filters=ALL, within="document", name="wide")
    assert pair(wide, "wing", "tail") == pair(made, "wing", "tail") == 1
    assert (pair(wide, "gnu", "herds"), pair(made, "gnu", "herds")) == (1, 0)
    assert len(wide.stored.counted.pairs.columns) > len(made.stored.counted.pairs.columns)


@pytest.mark.parametrize(("n_docs", "min_df", "max_df"), [(2, 1, 1.0), (25, 2, 0.5), (100, 3, 0.5)])
def test_filters_suit_the_size_of_the_collection(here, n_docs, min_df, max_df):
    texts = [f"both w{i // 2} v{i // 3} rare{i}" for i in range(n_docs)]
    c = lw.index(
        [{"id": str(i), "text": text} for i, text in enumerate(texts)], to="c.lw", model=None
    )
    made = c.terms.make_graph()
    assert made.stored.settings.filters == Filters(min_df, max_df)
    df = made.stored.counted.doc_freqs
    assert df.min() >= min_df
    assert df.max() <= max_df * n_docs
    assert len(made) > 0


def test_a_list_of_names(notes):
    made = notes.terms.make_graph(names=NAMES, name="names")
    assert names_of(made) == NAMES
    df = dict(zip(NAMES, made.stored.counted.doc_freqs.tolist(), strict=True))
    # The longest name wins: a boundary layer is no layer.
    assert df == {
        "boundary layer": 1,
        "Blunt Body": 2,
        "heat transfer": 1,
        "layer": 1,
        "wing": 3,
        "hinge": 2,
        "okapi": 1,
        "yeti": 0,
    }
    near = notes.terms.near("heat transfer", graph="names")
    assert [one.name for one in near] == ["Blunt Body", "layer"]
    assert near[1].path == ("heat transfer", "Blunt Body", "layer")
    with pytest.raises(UsageError, match="has no term of 'tails'; it has 8 that come from a list"):
        notes.terms.near("tails", graph="names")


def test_names_letter_for_letter(notes):
    made = notes.terms.make_graph(names=["wing", "Wing", "wings", "Heat transfer"], exact=True)
    assert made.stored.counted.doc_freqs.tolist() == [3, 1, 1, 1]
    assert made.stored.nodes.kind == "exact"
    assert [one.name for one in notes.terms.near("Wing and a wing")] == ["wings"]


def find_names(text):
    return re.findall(r"[Ff]lutter|blunt body|supersonic flow|wake", text)


@pytest.mark.parametrize("within", ["sentence", "document"])
def test_what_a_function_finds(notes, within):
    given = []

    def extract(text):
        given.append(text)
        return find_names(text)

    made = notes.terms.make_graph(extract=extract, within=within, filters=Filters(min_df=1))
    assert {*names_of(made)} == {"flutter", "Flutter", "blunt body", "supersonic flow", "wake"}
    assert pair(made, "blunt body", "supersonic flow") == 1
    assert pair(made, "blunt body", "wake") == 1
    assert len(given) == len(NOTES) if within == "document" else len(given) > len(NOTES)
    assert made.stored.settings.names == "a function"
    # It is not asked again.
    given.clear()
    assert notes.terms.near("a wake")[0].name == "blunt body"
    # One document is enough for a name.
    assert names_of(notes.terms.make_graph(extract=find_names)) == names_of(made)
    few = notes.terms.make_graph(extract=find_names, filters=Filters(min_df=3), within=within)
    assert names_of(few) == ["supersonic flow"]
    assert given == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"], "extract": str.split}, "names or what a function finds, not both"),
        ({"names": ["wing"], "filters": ALL}, "names are taken as they are"),
        ({"names": []}, "no names were given"),
        ({"names": ["--", "..."]}, "2 names, and words that can be searched for in none"),
        ({"names": "wing"}, "names are a list of texts, not the text 'wing'"),
        ({"names": 7}, "names are a list of texts, not 7"),
        ({"filters": "min_df=3"}, "filters are a terms.nodes.Filters, not 'min_df=3'"),
        ({"name": 7}, r"name is a text, not 7 \(int\)"),
        ({"threads": -1}, "threads must be 0 or more, not -1"),
        ({"threads": 1.5}, r"threads is a whole number, not 1.5 \(float\)"),
        ({"extract": lambda text: text}, "it gives a list of names"),
        ({"extract": lambda text: 1 / 0}, "failed on document '0': ZeroDivisionError"),
        ({"extract": lambda text: []}, "found no name in 10 documents"),
        ({"within": "paragraph"}, "within a sentence or document, not 'paragraph'"),
        ({"filters": Filters(min_df=9)}, "lower min_df or raise max_df"),
    ],
)
def test_a_graph_that_cannot_be_made(notes, options, message):
    with pytest.raises(UsageError, match=message):
        notes.terms.make_graph(**options)
    assert lw.open(notes.folder).snapshot.manifest.artifacts == ()


def test_names_and_their_graphs(notes):
    notes.terms.make_graph(filters=ALL)
    assert notes.terms.make_graph(names=NAMES).stored.name == "names"
    assert notes.terms.graph().stored.name == "graph"
    assert notes.terms.graph("names").stored.name == "names"
    assert notes.terms.near("wing", graph="names")[0].name != notes.terms.near("wing")[0].name
    with pytest.raises(UsageError, match="no term graph 'other'"):
        notes.terms.near("wing", graph="other")
    # In place of one of the same name.
    notes.terms.make_graph(names=NAMES[:3], name="graph")
    assert len(notes.terms.graph()) == len(notes.terms.graph("graph")) == 3


def test_graphs_are_listed_and_dropped(notes):
    assert notes.terms.graphs == []
    notes.models.fit("lsi(topics=3)", name="other")
    notes.terms.make_graph(filters=ALL)
    notes.terms.make_graph(extract=find_names)
    assert notes.terms.graphs == ["graph", "names"]
    notes.terms.drop_graph("graph")
    assert notes.terms.graphs == lw.open(notes.folder).terms.graphs == ["names"]
    assert notes.terms.graph().stored.name == "names"
    for name in ("graph", "other"):
        with pytest.raises(UsageError, match=f"no term graph '{name}'"):
            notes.terms.drop_graph(name)
    with pytest.raises(UsageError, match="Give its name"):
        notes.terms.drop_graph("")
    with pytest.raises(UsageError, match="name is a text, not None"):
        notes.terms.drop_graph(None)
    assert notes.models["other"].name == "other"


def test_a_graph_that_another_replaced(notes):
    """What is open still answers as before, whether it was asked or not, until it is refreshed."""
    notes.terms.make_graph(filters=ALL)
    before, asked = lw.open(notes.folder), lw.open(notes.folder)
    known = asked.terms.near("wing")
    notes.terms.make_graph(names=NAMES, name="graph")
    assert asked.terms.near("wing") == known
    assert before.terms.near("wing") == known
    before.refresh()
    assert before.terms.near("wing") == notes.terms.near("wing") != known
    late = lw.open(notes.folder)
    before.terms.drop_graph("graph")
    before.add([{"id": "new", "text": "wing"}])
    assert late.terms.near("wing") == notes.terms.near("wing")


def test_the_files_of_a_graph_that_was_replaced_or_dropped_are_gone(notes):
    def files():
        return {path.name for path in (notes.folder / "data").iterdir()}

    def named():
        return {entry.file for entry in notes.snapshot.manifest.files()}

    documents = files()
    notes.terms.make_graph(filters=ALL)
    notes.terms.near("wing")
    assert files() == named() != documents
    notes.terms.make_graph(filters=ALL, within="document")
    assert files() == named()
    notes.terms.drop_graph("graph")
    assert files() == named() == documents


def test_a_graph_in_the_hand_outlives_a_refresh(notes):
    graph = notes.terms.make_graph(filters=ALL)
    known = lw.open(notes.folder).terms.near("wing")
    notes.terms.drop_graph("graph")
    notes.delete("0")
    notes.merge()
    assert graph.nearest("wing") == known


# A graph stays with its collection


@pytest.mark.parametrize("kind", ["terms", "words", "extracted"])
def test_a_graph_is_kept_up(notes, kind):
    options = {
        "terms": {"filters": ALL},
        "words": {"names": NAMES},
        "extracted": {"extract": find_names, "filters": Filters(min_df=1)},
    }[kind]
    notes.terms.make_graph(**options)

    def check(n_docs):
        graph = notes.terms.graph().stored
        assert graph.missing() == []
        scratch = Stored(notes.snapshot, None, graph.nodes, graph.settings)
        assert as_plain(graph.counted) == as_plain(scratch.counted)
        assert graph.counted.n_docs == n_docs
        # And as a collection that never had anything else.
        afresh = lw.index([*notes], to="afresh.lw", model=None, overwrite=True)
        if kind == "words":
            made = afresh.terms.make_graph(names=NAMES)
            assert as_plain(made.stored.counted) == as_plain(graph.counted)

    check(10)
    notes.add([{"id": "new", "text": "A wing with hinges. Blunt body, wake, heat transfer"}])
    check(11)
    notes.delete(["0", "6"])
    check(9)
    notes.add([{"id": "3", "text": "Supersonic flow of a wake"}], replace=True)
    check(9)
    notes.merge()
    check(9)
    notes.delete("new")
    check(8)


def test_models_and_graphs_are_kept_up_together(notes):
    notes.models.fit("lsi(topics=3)")
    notes.terms.make_graph(filters=ALL)
    notes.add([{"id": "new", "text": "A wing in a wake of heat"}])
    notes.merge()
    assert notes.terms.graph().stored.missing() == []
    assert notes.like("0")[0].doc_id
    notes.snapshot.check()


def test_a_graph_is_no_model_of_documents(notes):
    notes.terms.make_graph(filters=ALL)
    with pytest.raises(UsageError, match=r"has no model; fit one with models\.fit\("):
        notes.models[notes.models.default()]
    with pytest.raises(UsageError, match="'graph' is the name of a graph of terms"):
        notes.models.fit("lsi(topics=3)", name="graph")
    assert notes.models.drift() == []
    with pytest.raises(UsageError, match=r"has no model; fit one with models\.fit\("):
        notes.like("0")
    notes.models.fit("lsi(topics=3)")
    alone = [(a.doc_id, a.score) for a in notes.like("0")]
    # The graph made last is not the model fitted last.
    notes.terms.make_graph(filters=ALL, name="second")
    assert notes.models[notes.models.default()].name == "lsi"
    assert [(a.doc_id, a.score) for a in notes.like("0")] == alone
    with pytest.raises(UsageError, match=r"no model 'second'.*there is lsi$"):
        notes.models["second"]
    with pytest.raises(UsageError, match="no model 'graph'"):
        notes.models.fit("span(of=graph)")
    with pytest.raises(UsageError, match="'lsi' is the name of a model; give another name"):
        notes.terms.make_graph(filters=ALL, name="lsi")
    notes.add([{"id": str(i), "text": f"new words{i} wing"} for i in range(100, 130)])
    assert [one.model for one in notes.models.drift()] == ["lsi"]
    assert notes.info()["documents"] == 40


def test_a_name_is_refused_before_fitting(notes, monkeypatch):
    notes.terms.make_graph(filters=ALL)
    monkeypatch.setattr("likewise.models.fitting.fit_model", None)
    with pytest.raises(UsageError, match="'graph' is the name of a graph of terms"):
        notes.models.fit("lsi(topics=3)", name="graph")


def test_the_graph_is_made_where_there_is_none(notes):
    assert notes.terms.graphs == []
    assert notes.terms.near("wing")
    assert lw.open(notes.folder).terms.graphs == ["graph"]


def counted_once(notes, monkeypatch):
    """Ask several times; give what was counted how often."""
    counts = []
    count = counting.write_pairs
    for module in (counting, kinds):
        monkeypatch.setattr(
            module, "write_pairs", lambda *a, **o: counts.append(a) or count(*a, **o)
        )
    found = [notes.terms.near("wing"), notes.terms.near("wing", kernel="diffusion")]
    notes.terms.predict("flutter")
    notes.search("wing", expand="graph")
    return found, len(counts)


def test_while_another_writes_it_is_not_kept(notes, monkeypatch):
    with Writer(notes.folder):
        with pytest.raises(LockedError):
            store_graph(notes.snapshot, choose_nodes(notes.snapshot, ALL), name="g", wait=False)
        (found, _), counts = counted_once(notes, monkeypatch)
    # Once, not for each question.
    assert counts == 1
    assert lw.open(notes.folder).terms.graphs == []
    notes.refresh()
    assert notes.terms.near("wing") == found
    assert lw.open(notes.folder).terms.graphs == ["graph"]


def test_a_folder_that_cannot_be_written_to(notes, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("likewise.collection.writer.WriteLock", refuse)
    monkeypatch.setattr("likewise.terms.catalogue.WriteLock", refuse)
    (found, _), counts = counted_once(notes, monkeypatch)
    assert found
    assert counts == 1
    assert notes.terms.graphs == []


# Asking


def test_related_terms_in_python(notes):
    notes.terms.make_graph(filters=ALL)
    found = notes.terms.near("supersonic flow", 5, weights="counts", kernel="diffusion(variance=2)")
    nearness = Nearness(weights="counts", kernel="diffusion(variance=2)")
    assert found == notes.terms.graph(**asdict(nearness)).nearest("supersonic flow", 5)
    assert len(found) == 5
    assert len(notes.terms.near("flow", 1000)) < len(notes.terms.graph())
    assert notes.terms.near("okapi") == []
    with pytest.raises(UsageError, match="has no term of 'yeti'"):
        notes.terms.near("yeti")
    with pytest.raises(UsageError, match=r"no such option of nearness: depth; there are kernel,"):
        notes.terms.near("wing", depth=3, weights="counts")
    with pytest.raises(UsageError, match="sets is one of"):
        notes.terms.distance("wing", "tail", sets="x")


def test_distance_in_python(notes):
    notes.terms.make_graph(filters=ALL)
    there, back = (
        notes.terms.distance("wing flutter", "heat"),
        notes.terms.distance("heat", "wing flutter"),
    )
    assert (there.distance, there.similarity) == (back.distance, back.similarity)
    assert there.distance > notes.terms.distance("wing flutter", "flutter").distance > 0
    assert notes.terms.distance("wing", "Wings").distance == 0
    near = notes.terms.distance("wing", "heat", laplacian="combinatorial", sets="collapse")
    assert near.distance != notes.terms.distance("wing", "heat").distance


def by_hand(notes, graph, text, own=-1, voters=VOTERS):
    """The votes for each node, document by document."""
    snapshot = notes.snapshot
    retriever = retriever_of(notes.snapshot, TFIDF())
    [ranking] = retriever.rank([snapshot.analyzer.counts(text)], k=1000)
    votes, by = np.zeros(len(graph)), {}
    others = [(d, s) for d, s in zip(ranking.docs, ranking.scores, strict=True) if d != own]
    for doc, score in others[:voters]:
        document = snapshot.document(int(doc))
        for node in graph.stored.nodes.find(snapshot, document.text).tolist():
            votes[node] += float(score) ** 2
            by.setdefault(node, []).append(document.id)
    return votes / votes.sum(), by


@pytest.mark.parametrize("kind", ["terms", "names"])
@pytest.mark.parametrize("which", [{"text": "flutter of a hinge"}, {"id": "1"}])
def test_predicted_terms_are_what_others_vote_for(notes, kind, which):
    options = {"names": NAMES} if kind == "names" else {"filters": ALL}
    graph = notes.terms.make_graph(**options)
    own = notes.snapshot.find_doc(which["id"]) if "id" in which else -1
    text = which.get("text") or NOTES[1]
    votes, by = by_hand(notes, graph, text, own)
    names = names_of(graph)
    every = notes.terms.predict(**which, k=1000, known=True, by="likely")
    assert all(one.score == one.share for one in every)
    assert sum(one.score for one in every) == pytest.approx(1)
    assert [one.score for one in every] == sorted((one.score for one in every), reverse=True)
    stepped = any(one.stepped for one in every)
    for one in every:
        node = names.index(one.name)
        voted = (0.75 if stepped else 1) * votes[node]
        assert one.score - one.stepped == pytest.approx(voted, abs=1e-12)
        assert [doc for doc, _ in one.documents] == by.get(node, [])[:3]
        parts = sum(part for _, part in one.documents)
        assert parts == pytest.approx(voted, abs=1e-12) or len(by[node]) > 3
        # A document does not speak for itself.
        assert which.get("id") not in [doc for doc, _ in one.documents]
    # Without those that it mentions.
    mentioned = {names[node] for node in graph.stored.nodes.find(notes.snapshot, text)}
    assert mentioned
    rest = notes.terms.predict(**which, k=1000, by="likely")
    assert rest == [one for one in every if one.name not in mentioned]
    assert notes.terms.predict(**which, k=2, by="likely") == rest[:2]


@pytest.mark.parametrize("kind", ["terms", "names"])
def test_distinctive_terms_are_those_above_their_usual_share(notes, kind):
    graph = notes.terms.make_graph(**{"names": NAMES} if kind == "names" else {"filters": ALL})
    text = "flutter of a hinge"
    likely = {one.name: one for one in notes.terms.predict(text, k=1000, known=True, by="likely")}
    distinctive = notes.terms.predict(text, k=1000, known=True, by="distinctive")
    usual = dict(zip(names_of(graph), graph.stored.counted.doc_freqs.tolist(), strict=True))
    total = sum(usual.values())
    expected = {
        name: one.share * np.log(one.share * total / usual[name]) for name, one in likely.items()
    }
    assert {one.name: one.score for one in distinctive} == pytest.approx(
        {name: score for name, score in expected.items() if score > 0}
    )
    assert [one.score for one in distinctive] == sorted(
        (one.score for one in distinctive), reverse=True
    )
    for one in distinctive:
        # Parts are those of the share, whatever terms are ranked by.
        assert one[2:] == likely[one.name][2:]
    assert distinctive
    assert kind == "names" or len(distinctive) < len(likely)
    # Of words distinctive ones are given, of names likely ones.
    usually = notes.terms.predict(text, k=1000, known=True)
    assert usually == (distinctive if kind == "terms" else [*likely.values()])
    mentioned = {names_of(graph)[i] for i in graph.stored.nodes.find(notes.snapshot, text)}
    rest = notes.terms.predict(text, k=3, by="distinctive")
    assert rest == [one for one in distinctive if one.name not in mentioned][:3]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.terms.near(["x"]), r"text is a text, not \['x'\] \(list\)"),
        (lambda c: c.terms.near("wing", 2.5), r"k is a whole number, not 2.5 \(float\)"),
        (lambda c: c.terms.near("wing", True), r"k is a whole number, not True \(bool\)"),
        (lambda c: c.terms.near("wing", -1), "k must be 0 or more, not -1"),
        (lambda c: c.terms.near("wing", graph=3), "name is a text, not 3"),
        (lambda c: c.terms.near("wing", least=1.5), "least is a whole number, not 1.5"),
        (lambda c: c.terms.near("wing", least=0), "at least 1, not 0"),
        (lambda c: c.terms.near("wing", kernel=5), "kernel is a text, not 5"),
        (lambda c: c.terms.near("wing", damping="x"), "damping is a number, not 'x'"),
        (lambda c: c.terms.distance(1, 2), r"a is a text, not 1 \(int\)"),
        (lambda c: c.terms.distance("wing", b"wing"), "b is a text, not b'wing'"),
        (lambda c: c.terms.predict(5), r"text is a text, not 5 \(int\)"),
        (lambda c: c.terms.predict(id=5), "id is a text, not 5"),
        (lambda c: c.terms.predict("wing", k="3"), "k is a whole number, not '3'"),
        (lambda c: c.terms.predict("wing", voters=0.5), "voters is a whole number, not 0.5"),
        (lambda c: c.terms.predict("wing", by="share"), "by likely or distinctive, not 'share'"),
        (lambda c: Filters(size=2.5), "size is a number of terms .* not 2.5"),
        (lambda c: Filters(min_df="3"), "min_df is a number of documents, at least 1, not '3'"),
        (lambda c: Filters(max_df="1"), "max_df is a share .* not '1'"),
    ],
)
def test_what_is_of_the_wrong_kind_is_said(notes, ask, message):
    with pytest.raises(UsageError, match=message):
        ask(notes)


def test_numbers_of_numpy_will_do(notes):
    made = notes.terms.make_graph(filters=Filters(np.int64(1), np.float32(1), np.int32(5)))
    assert len(made) == 5
    assert len(notes.terms.near(notes.terms.graph().names([0])[0], np.int64(2))) == 2


def test_how_many_vote(notes):
    graph = notes.terms.make_graph(filters=ALL)
    votes, by = by_hand(notes, graph, NOTES[1], own=1, voters=2)
    found = notes.terms.predict(id="1", voters=2, k=1000, known=True, by="likely")
    voted = {one.name: one.score - one.stepped for one in found if one.documents}
    names = names_of(graph)
    assert voted == pytest.approx({names[node]: 0.75 * votes[node] for node in by})


def test_nothing_to_predict_from(notes):
    notes.terms.make_graph(filters=ALL)
    assert notes.terms.predict("yeti") == []
    assert notes.terms.predict("the of") == []
    assert notes.terms.predict(id="9") == []
    for wrong in ({}, {"text": "wing", "id": "1"}):
        with pytest.raises(UsageError, match="a text or the id of a document, one of them"):
            notes.terms.predict(**wrong)
    with pytest.raises(UsageError, match="no document '77'"):
        notes.terms.predict(id="77")

"""What a review of this room found, so that it does not come back."""

import gc
import math
import weakref

import numpy as np
import pytest

import likewise as lw
import likewise.expand.graph as expansion
import likewise.terms.nodes as nodes_module
from likewise.collection.creating import build
from likewise.engine.collection import Collection
from likewise.errors import CollectionError, UsageError
from likewise.expand.expansion import Feedback, WordSearch
from likewise.expand.graph import GraphExpander
from likewise.records import EMPTY, Document
from likewise.retrieve.models import BM25
from likewise.retrieve.words import retriever_of
from likewise.terms.catalogue import Stored
from likewise.terms.kernel import make_kernel
from likewise.terms.kinds import GraphSettings
from likewise.terms.matching import split_all
from likewise.terms.nodes import read_names
from likewise.terms.sets import SetMetric
from likewise.terms.transforms import Resistance
from likewise.text.analysis import Analysis, Analyzer

from .counts_in_python import made_of
from .graphs import random_graph

TEXTS = [
    "red apple pie. green tea",
    "green apple tree. blue sky",
    "blue sea red boat",
    "tea pie sugar apple",
    "zebra crossing",
    "boat sea sky sugar",
]


@pytest.fixture
def collection(tmp_path):
    made_of(tmp_path / "c", TEXTS)
    return Collection(tmp_path / "c")


class Counting:
    """A kernel that notes how many columns it is asked for at a time."""

    def __init__(self, kernel):
        self.kernel, self.widths = kernel, []

    def __len__(self):
        return len(self.kernel)

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def columns(self, sets):
        self.widths.append(sets.shape[1])
        return self.kernel.columns(sets)

    def at(self, nodes, sets):
        self.widths.append(sets.shape[1])
        return self.kernel.at(nodes, sets)


# Sets


@pytest.mark.parametrize("laplacian", ["normalised", "combinatorial"])
def test_means_of_many_terms_take_one_column(laplacian):
    graph = random_graph(60, density=0.2, parts=2, isolated=2)
    kernel = Counting(make_kernel(graph, Resistance(0.1), laplacian=laplacian, route="solve"))
    metric = SetMetric(kernel)
    a, b = {i: 1.0 + i for i in range(30)}, [*range(20, 55)]
    left, right = np.zeros(60), np.zeros(60)
    left[:30] = np.arange(1.0, 31) / np.arange(1.0, 31).sum()
    right[20:55] = 1 / 35
    whole = kernel.block(np.arange(60))
    assert metric.similarity(a, b) == pytest.approx(left @ whole @ right)
    assert metric.distance(a, b) == pytest.approx((left - right) @ whole @ (left - right))
    assert kernel.widths == [1, 1]


def test_a_distance_of_means_keeps_its_digits_at_a_small_eps():
    graph = random_graph(50, density=0.3)
    exact, small = (
        SetMetric(make_kernel(graph, Resistance(eps), laplacian="combinatorial", route="solve"))
        for eps in (1e-6, 1e-12)
    )
    sets = [0, 1, 2, 3], [4, 5, 6]
    assert small.distance(*sets) == pytest.approx(exact.distance(*sets), rel=1e-6)


def test_an_eps_that_leaves_no_digits_is_refused():
    with pytest.raises(UsageError, match="eps must be a number from 1e-12"):
        Resistance(1e-320)


def test_nothing_between_collapsed_sets_is_zero_without_a_sign():
    graph = random_graph(12, density=0.9, parts=2)
    metric = SetMetric(make_kernel(graph, Resistance(), laplacian="combinatorial"), "collapse")
    found = metric.similarity([0, 2], [1, 3])
    assert found == 0
    assert math.copysign(1, found) == 1


# Names


def test_names_are_split_at_once_as_one_by_one():
    analyzer = Analyzer(Analysis())
    texts = ["", "the", "Heat-transfer", "heats", "北京 p53", "Dr. Who. Are you?", "é", "42"]
    assert split_all(analyzer, texts) == [analyzer.terms(text) for text in texts]
    assert split_all(analyzer, []) == []


def test_a_term_belongs_to_its_first_spelling(tmp_path):
    snapshot = made_of(tmp_path / "c", ["Heat heat transfer", "heat Transfer"])
    nodes = read_names(snapshot, ["heat transfer", "heat", "Heat", "transfer"], exact=True)
    stored = Stored(snapshot, None, nodes, GraphSettings())
    heat, transfer = snapshot.find_terms(["heat", "transfer"]).tolist()
    assert stored.term_numbers.tolist() == [-1, heat, -1, transfer]
    assert stored.node_of == {heat: 1, transfer: 3}
    assert stored.term_numbers is stored.term_numbers


# Expansion


@pytest.mark.parametrize(("cells", "most"), [(0, 1), (16 * 13, 2)])
def test_a_long_query_takes_few_columns_at_a_time(collection, monkeypatch, cells, most):
    graph = collection.terms.graph()
    assert len(graph) == 13
    search = WordSearch(retriever_of(collection.snapshot, BM25()))
    queries = [Feedback(dict.fromkeys(text.replace(".", "").split(), 1.0), EMPTY) for text in TEXTS]
    expected = GraphExpander().expand(queries, search)
    monkeypatch.setattr(expansion, "_CELLS", cells)
    counting = Counting(graph.kernel)
    monkeypatch.setitem(vars(graph), "kernel", counting)
    found = GraphExpander().expand(queries, search)
    assert max(counting.widths) <= most
    for one, other in zip(found, expected, strict=True):
        assert one.skipped_reason == other.skipped_reason
        assert dict(one.terms) == pytest.approx(dict(other.terms))


# The collection


def test_others_write_while_a_graph_is_made(collection, monkeypatch):
    """Documents that are added meanwhile count; its terms are those from before."""
    choose = nodes_module.choose_nodes

    def choosing(snapshot, filters):
        lw.open(snapshot.folder).add([{"id": "new", "text": "apple and something new"}])
        return choose(snapshot, filters)

    monkeypatch.setattr(nodes_module, "choose_nodes", choosing)
    made = collection.terms.make_graph()
    assert len(made) == 13
    assert made.stored.counted.n_docs == len(collection) == 7


def test_a_collection_made_anew_meanwhile_gets_no_graph(collection, monkeypatch):
    """Its terms have other numbers."""
    choose = nodes_module.choose_nodes

    def choosing(snapshot, filters):
        build(snapshot.folder, [Document("x", text="pear")], overwrite=True)
        return choose(snapshot, filters)

    monkeypatch.setattr(nodes_module, "choose_nodes", choosing)
    with pytest.raises(CollectionError, match="was replaced as a whole in the meantime"):
        collection.terms.make_graph()
    assert lw.open(collection.folder).terms.graphs == []


def test_a_name_that_is_taken_is_refused_before_names_are_extracted(collection):
    collection.models.fit("lsi(topics=2)", name="taken")
    asked = []
    with pytest.raises(UsageError, match="give another name"):
        collection.terms.make_graph(extract=asked.append, name="taken")
    assert not asked


def test_a_model_may_be_called_graph(collection):
    collection.models.fit("lsi(topics=2)", name="graph")
    assert collection.terms.near("apple", 3)
    assert collection.info()["models"] == ["graph"]


def test_a_snapshot_goes_when_another_is_opened(collection):
    """Its files are open as long as it is there, and graphs refer to it."""
    collection.terms.near("apple")
    before = weakref.ref(collection.snapshot)
    gc.disable()
    try:
        collection.refresh()
        assert before() is None
    finally:
        gc.enable()


def test_graphs_of_the_same_edges_are_one(collection):
    kernels = [f"resistance(eps={eps})" for eps in range(1, 21)]
    graphs = [collection.terms.graph(kernel=kernel) for kernel in kernels]
    assert len({id(one.graph) for one in graphs}) == 1
    assert len(collection.snapshot.made("term graphs")) <= 8
    assert collection.terms.graph() is collection.terms.graph("graph")
    other = collection.terms.graph(weights="counts")
    assert other.graph is not graphs[0].graph


# Answers


@pytest.mark.parametrize("sets", ["mean", "collapse"])
@pytest.mark.parametrize("laplacian", ["normalised", "combinatorial"])
def test_parts_of_texts_that_share_terms_add_up(collection, sets, laplacian):
    graph = collection.terms.graph(sets=sets, laplacian=laplacian)
    for a, b in (("red apple", "apple pie"), ("apple", "apple"), ("red apple", "apple red")):
        found = graph.between(a, b, parts=99)
        assert sum(link.part for link in found.through) == pytest.approx(found.similarity)
        assert "apple" in [link.name for link in found.through]


@pytest.mark.parametrize("options", [{}, {"laplacian": "combinatorial"}, {"by": "distance"}])
def test_a_neighbourhood_has_the_best_first(collection, options):
    around = collection.terms.graph(**options).neighbourhood("red apple", 10)
    scores = around.scores[around.asked :]
    assert len(scores) == 9
    assert (np.diff(scores) <= 0).all()
    assert len(collection.terms.graph().neighbourhood("apple", 0).scores) == 1


def test_fewer_terms_than_none_are_refused(collection):
    with pytest.raises(UsageError, match="k must be 0 or more, not -1"):
        collection.terms.near("apple", -1)
    for name, value in (("k", -1), ("voters", -5)):
        with pytest.raises(UsageError, match=rf"\b{name} must be 0 or more"):
            collection.terms.predict("apple", **{name: value})


def test_what_is_no_option_of_nearness_is_refused(collection):
    with pytest.raises(UsageError, match="no such option of nearness: notation; there are") as told:
        collection.terms.near("apple", notation="x")
    assert "notation" not in str(told.value).split("there are")[1]

"""Are the nearest terms those of the kernel, and do their reasons add up?"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import notation
from likewise.errors import UsageError
from likewise.terms.catalogue import Stored
from likewise.terms.kinds import GraphSettings
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import WORDS, Filters, Nodes, choose_nodes, read_names
from likewise.terms.query_nodes import Unknown
from likewise.terms.related import TermGraph

from .counts_in_python import made_of
from .graphs import dense, zipf_graph
from .test_weights import counted_of

ALL = Filters(min_df=1, max_df=1)
# Two subjects with a word between them, a third that nothing joins to these, words alone.
TEXTS = [
    "The wings flutter. Flow on a wing",
    "A wing in flow",
    "Flutter of wings in flow, and heat",
    "Heat for bread",
    "Bread from an oven. Oven heat",
    "Bread and flour. Flour in the oven",
    "Zebra and gnu",
    "The gnu and the zebra",
    "Okapi. Galleries",
]
LAPLACIANS = ["normalised", "combinatorial"]
NEARNESSES = [
    Nearness(),
    Nearness(kernel="resistance(eps=0.1)", damping=0.0),
    Nearness(kernel="diffusion", weights="counts"),
    Nearness(kernel="walk(steps=3)", weights="cosine"),
    Nearness(laplacian="combinatorial"),
    Nearness(laplacian="combinatorial", kernel="diffusion(variance=0.2)", weights="npmi"),
]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    return made_of(tmp_path_factory.mktemp("related") / "c", TEXTS)


@pytest.fixture(scope="module")
def graph(snapshot):
    """Give the graph of all terms with any nearness."""
    stored = Stored(snapshot, None, choose_nodes(snapshot, ALL), GraphSettings(filters=ALL))
    return lambda **options: TermGraph(stored, Nearness(**options))


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """a - b - c - …, each said with the next."""
    snapshot = made_of(
        tmp_path_factory.mktemp("chain") / "c",
        [f"{a} {b}" for a, b in pairwise("abcdefghij")],
        language="none",
        stemmer="none",
        stop="none",
        min_length=1,
    )
    return Stored(snapshot, None, choose_nodes(snapshot, ALL), GraphSettings(filters=ALL))


@pytest.fixture(scope="module")
def drawn(snapshot):
    """Give a graph of nodes w0, w1, … whose documents (rows) are given."""

    def drawn(has, **options):
        names = tuple(f"w{i}" for i in range(np.shape(has)[1]))
        nodes = Nodes(WORDS, texts=names)
        stored = Stored(snapshot, None, nodes, GraphSettings(names="a list"))
        vars(stored)["counted"] = counted_of(has)
        return TermGraph(stored, Nearness(**options))

    return drawn


def plain(graph):
    """The kernel in plain NumPy, and the entries of I - L (or of W) beside the diagonal."""
    nearness, weights = graph.nearness, dense(graph.graph)
    degrees = weights.sum(axis=1)
    if nearness.laplacian == "normalised":
        damped = degrees + nearness.damping * degrees.mean()
        scale = np.array([d**-0.5 if w else 0 for w, d in zip(degrees, damped, strict=True)])
        steps = weights * np.outer(scale, scale)
        laplacian = np.eye(len(weights)) - steps
    else:
        steps, laplacian = weights, np.diag(degrees) - weights
    values, vectors = np.linalg.eigh(laplacian)
    return vectors @ np.diag(nearness.transform(values)) @ vectors.T, steps


def name_of(graph):
    return dict(enumerate(graph.names(range(len(graph)))))


def total(related):
    return sum(link.part for link in related.through)


def check_reasons(graph, text, found):
    """Parts add up to the similarity; a path leads along edges from what was asked for."""
    names = name_of(graph)
    number = {name: node for node, name in names.items()}
    asked = {names[node] for node in graph.mentioned(text).members.nodes.tolist()}
    weights = dense(graph.graph)
    for one in found:
        assert total(one) == pytest.approx(one.similarity, rel=1e-6, abs=1e-12)
        parts = [link.part for link in one.through]
        assert parts == sorted(parts, reverse=True)
        assert all(weights[one.node, number[link.name]] > 0 for link in one.through)
        if one.path:
            assert one.path[0] in asked
            assert one.path[-1] == one.name
            assert not asked & {*one.path[1:]}
            assert len({*one.path}) == len(one.path)
            assert all(weights[number[a], number[b]] > 0 for a, b in pairwise(one.path))


# Which terms are near, and how near


@pytest.mark.parametrize("nearness", NEARNESSES, ids=str)
@pytest.mark.parametrize("text", ["wing", "wing heat", "flour wing oven oven"])
def test_similarities_are_those_of_the_kernel(graph, nearness, text):
    one = graph(**vars(nearness))
    kernel, _ = plain(one)
    members = one.mentioned(text).members
    expected = kernel[:, members.nodes] @ members.weights
    assert one.similarities(text) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    found = one.nearest(text, 3)
    for related in found:
        assert related.similarity == pytest.approx(expected[related.node], rel=1e-6)
        assert related.name == name_of(one)[related.node]
    own = members.weights @ kernel[np.ix_(members.nodes, members.nodes)] @ members.weights
    distances = own + np.diag(kernel) - 2 * expected
    by_distance = nearness.laplacian == "combinatorial"
    ranked = -distances if by_distance else expected
    connected = np.isin(one.graph.components, one.graph.components[members.nodes])
    connected[members.nodes] = False
    best = sorted(np.flatnonzero(connected), key=lambda node: -ranked[node])[:3]
    assert ranked[[one.node for one in found]] == pytest.approx(ranked[best], rel=1e-6)
    for related in found:
        if by_distance:
            assert related.distance == pytest.approx(distances[related.node], rel=1e-6)
        else:
            assert related.distance is None


@pytest.mark.parametrize("laplacian", LAPLACIANS)
def test_what_terms_are_ranked_by_can_be_chosen(graph, laplacian):
    near = graph(laplacian=laplacian, by="similarity").nearest("wing heat")
    assert [one.similarity for one in near] == sorted(one.similarity for one in near)[::-1]
    assert {one.distance for one in near} == {None}
    near = graph(laplacian=laplacian, by="distance").nearest("wing heat")
    assert [one.distance for one in near] == sorted(one.distance for one in near)
    assert len(near) == 5


def test_ranking_without_a_word():
    assert not Nearness().by_distance
    assert Nearness(laplacian="combinatorial").by_distance
    assert Nearness(by="distance").by_distance
    assert not Nearness(laplacian="combinatorial", by="similarity").by_distance


def test_what_was_asked_for_is_no_answer(graph):
    for text in ("wing", "flow wings", "wing flow flutter heat bread oven"):
        one = graph()
        asked = {*one.mentioned(text).members.nodes.tolist()}
        found = [related.node for related in one.nearest(text)]
        assert not asked & {*found}
        assert len(asked) + len(found) == 7


def test_only_what_is_connected_is_an_answer(graph):
    assert {one.name for one in graph().nearest("wing", 100)} == {
        "flow",
        "flutter",
        "heat",
        "bread",
        "oven",
        "flour",
    }
    assert [one.name for one in graph().nearest("gnu")] == ["zebra"]
    assert len(graph().nearest("gnu wing", 100)) == 7
    assert graph().nearest("okapi") == []
    # An edge needs two documents here.
    assert graph(least=2).nearest("flour") == []


def test_k_is_how_many(graph):
    every = graph().nearest("wing", 100)
    for k in (1, 3, 6):
        assert graph().nearest("wing", k) == every[:k]


def test_equals_come_in_the_order_of_nodes(drawn):
    found = drawn([[1, 1, 1, 1, 0]], route="solve").nearest("w2")
    assert [one.similarity for one in found] == pytest.approx([found[0].similarity] * 3, rel=1e-13)
    assert [one.name for one in found] == ["w0", "w1", "w3"]


def test_a_noisy_sketch_does_not_hide_the_nearest(snapshot):
    """The nearest by diffusion, where what tells them apart is less than the sketch is off by."""
    graph = zipf_graph(1200, degree=30)
    nodes = Nodes(WORDS, texts=tuple(f"w{i}" for i in range(len(graph))))
    stored = Stored(snapshot, None, nodes, GraphSettings(names="a list"))

    def ask(route):
        nearness = Nearness("diffusion(variance=0.2)", "combinatorial", route=route)
        one = TermGraph(stored, nearness)
        vars(one).update(graph=graph, rarity=np.ones(len(graph)))
        return one

    exact, sketched = ask("spectrum"), ask("chebyshev")
    own = sketched.kernel
    asked, diagonal_of = [], own.diagonal_of
    own.diagonal_of = lambda nodes: asked.append(len(nodes)) or diagonal_of(nodes)
    for text in ("w5", "w300", "w11, w640", "w1100"):
        expected, found = (one.nearest(text, 20, parts=0) for one in (exact, sketched))
        assert [one.node for one in found] == [one.node for one in expected]
        assert [one.distance for one in found] == pytest.approx(
            [one.distance for one in expected], rel=1e-3
        )
        # More than without errors, and not without end.
        assert 40 < sum(asked) <= 168
        asked.clear()


# By what


@pytest.mark.parametrize("sets", ["mean", "collapse"])
@pytest.mark.parametrize("nearness", NEARNESSES, ids=str)
@pytest.mark.parametrize("text", ["flutter", "wing heat", "gnu"])
def test_all_parts_add_up(graph, nearness, sets, text):
    one = graph(**vars(nearness) | {"sets": sets})
    found = one.nearest(text, 100, parts=1000)
    assert found
    check_reasons(one, text, found)


@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize("route", ["spectrum", "solve", "chebyshev", "deflated"])
def test_parts_add_up_by_every_route(graph, laplacian, route):
    one = graph(laplacian=laplacian, route=route)
    check_reasons(one, "wing heat", one.nearest("wing heat", parts=1000))


@given(
    has=st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=9),
    asked=st.sets(st.integers(0, 5), min_size=1, max_size=3),
    laplacian=st.sampled_from(LAPLACIANS),
    weights=st.sampled_from(["counts", "idf", "ppmi"]),
)
def test_reasons_hold_on_any_graph(drawn, has, asked, laplacian, weights):
    one = drawn(has, laplacian=laplacian, weights=weights)
    text = ", ".join(f"w{i}" for i in asked)
    found = one.nearest(text, 100, parts=100)
    assert not asked & {related.node for related in found}
    check_reasons(one, text, found)
    parts = one.graph.components
    reachable = np.flatnonzero(np.isin(parts, parts[[*asked]]))
    assert {related.node for related in found} == {*reachable.tolist()} - asked


def test_parts_are_what_the_last_step_brings(graph):
    """On the normalised Laplacian: K_ts = Σ_v S_tv h_vs, with h = K / (1 + ε) for resistance."""
    one = graph(kernel="resistance(eps=0.5)")
    kernel, steps = plain(one)
    [wing] = one.mentioned("wing").members.nodes
    names = name_of(one)
    for related in one.nearest("wing", parts=100):
        expected = steps[related.node] * kernel[:, wing] / 1.5
        assert {link.name: link.part for link in related.through} == pytest.approx(
            {names[i]: part for i, part in enumerate(expected) if part > 0}
        )


def test_what_stays_where_it_is_is_shared_on_the_combinatorial_one(graph):
    """Resistance: (d_t + ε) K_ts = Σ_v W_tv K_vs, whatever c is."""
    one = graph(laplacian="combinatorial", kernel="resistance(eps=0.5)")
    kernel, weights = plain(one)
    [wing] = one.mentioned("wing").members.nodes
    names = name_of(one)
    for related in one.nearest("wing", parts=100):
        expected = weights[related.node] * kernel[:, wing] / (weights[related.node].sum() + 0.5)
        assert {link.name: link.part for link in related.through} == pytest.approx(
            {names[i]: part for i, part in enumerate(expected) if part > 1e-12}
        )


def test_only_the_strongest_parts_are_given(graph):
    every = graph().nearest("heat", parts=100)
    for n in (0, 1, 2):
        for few, all_ in zip(graph().nearest("heat", parts=n), every, strict=True):
            assert few.through == all_.through[:n]
            assert few.path == (all_.path if n else ())


def test_a_path_leads_along_the_chain(chain):
    found = {one.name: one.path for one in TermGraph(chain).nearest("a", 100)}
    assert found["b"] == ("a", "b")
    assert found["d"] == ("a", "b", "c", "d")
    assert found["f"] == ("a", "b", "c", "d", "e", "f")
    # Longer ones say nothing.
    assert found["g"] == found["j"] == ()
    found = {one.name: one.path for one in TermGraph(chain).nearest("a, j", 100)}
    assert (found["d"], found["h"]) == (("a", "b", "c", "d"), ("j", "i", "h"))


def test_a_path_does_not_turn_back(drawn):
    """w1 and w2 are said together so often that the strongest step from w1 leads to w2 again."""
    has = [[1, 1, 0]] + [[0, 1, 1]] * 20
    for laplacian in LAPLACIANS:
        one = drawn(has, laplacian=laplacian, weights="counts", damping=0.0)
        assert one.nearest("w0")[1].path == ("w0", "w1", "w2")


# Two texts


@pytest.mark.parametrize("sets", ["mean", "collapse", "nystrom"])
@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize(
    ("a", "b"), [("wing", "flour"), ("wing flow", "heat bread"), ("gnu", "a wing")]
)
def test_distance_is_symmetric_and_nothing_to_itself(graph, laplacian, sets, a, b):
    one = graph(laplacian=laplacian, sets=sets)
    there, back = one.between(a, b), one.between(b, a)
    assert there.distance == back.distance > 0
    assert there.similarity == back.similarity
    assert one.names(there.a.members.nodes) == one.names(back.b.members.nodes)
    for text in (a, b):
        assert one.between(text, text).distance == pytest.approx(0, abs=1e-9)
        assert one.between(text, f"of the {text}. {text}").distance == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("sets", ["mean", "collapse", "nystrom"])
@pytest.mark.parametrize("nearness", NEARNESSES, ids=str)
def test_distance_of_terms_is_that_of_the_kernel(graph, nearness, sets):
    one = graph(**vars(nearness) | {"sets": sets})
    kernel, _ = plain(one)
    number = {name: node for node, name in name_of(one).items()}
    for a, b in (("wing", "flow"), ("wing", "oven"), ("wing", "zebra"), ("okapi", "gnu")):
        i, j = number[a], number[b]
        found = one.between(a, b)
        expected = kernel[i, i] + kernel[j, j] - 2 * kernel[i, j]
        assert found.distance == pytest.approx(expected, rel=1e-6)
        assert found.similarity == pytest.approx(kernel[i, j], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("laplacian", LAPLACIANS)
def test_two_texts_are_near_through_terms(graph, laplacian):
    found = graph(laplacian=laplacian).between("wing flow", "bread, flour", parts=100)
    assert total(found) == pytest.approx(found.similarity, rel=1e-6)
    parts = [link.part for link in found.through]
    assert parts == sorted(parts, reverse=True)
    assert (
        graph(laplacian=laplacian).between("wing flow", "bread, flour", parts=2).through
        == (found.through[:2])
    )
    apart = graph(laplacian=laplacian).between("wing", "zebra")
    assert (apart.similarity, apart.through) == (0, ())


@pytest.mark.parametrize("sets", ["mean", "collapse"])
@pytest.mark.parametrize("nearness", NEARNESSES, ids=str)
def test_parts_of_two_texts_add_up(graph, nearness, sets):
    one = graph(**vars(nearness) | {"sets": sets})
    for a, b in (
        ("wing flow", "bread flour"),
        ("bread flour", "wing flow"),
        ("wing", "heat oven flutter"),
        ("heat oven flutter", "wing"),
        ("wing flow", "flow heat"),
        ("wing gnu", "zebra flour"),
        ("okapi", "okapi"),
        ("okapi wing", "flow, okapi"),
    ):
        found = one.between(a, b, parts=100)
        assert found.similarity != 0
        assert total(found) == pytest.approx(found.similarity, rel=1e-6)


@given(
    has=st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=9),
    order=st.permutations(range(7)),
    cuts=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    shared=st.integers(0, 2),
    sets=st.sampled_from(["mean", "collapse"]),
    laplacian=st.sampled_from(LAPLACIANS),
    kernel=st.sampled_from(["resistance(eps=0.01)", "diffusion(variance=0.5)"]),
)
def test_parts_of_two_sets_add_up_on_any_graph(drawn, has, order, cuts, shared, sets, **options):
    one = drawn(has, weights="counts", sets=sets, **options)
    a, b = order[: cuts[0]], order[max(cuts[0] - shared, 0) : sum(cuts)]
    found = one.between(*(", ".join(f"w{i}" for i in some) for some in (a, b)), parts=100)
    assert total(found) == pytest.approx(found.similarity, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("nearness", NEARNESSES, ids=str)
def test_the_cosine_of_two_texts(graph, nearness):
    one = graph(**vars(nearness))
    kernel, _ = plain(one)
    for a, b in (("wing", "flow"), ("wing flow heat", "oven"), ("wing", "gnu"), ("okapi", "okapi")):
        left, right = (one.mentioned(text).members for text in (a, b))
        gram = [
            [x.weights @ kernel[np.ix_(x.nodes, y.nodes)] @ y.weights for y in (left, right)]
            for x in (left, right)
        ]
        expected = gram[0][1] / np.sqrt(gram[0][0] * gram[1][1])
        found = one.between(a, b)
        assert found.cosine == pytest.approx(expected, rel=1e-6, abs=1e-12)
        assert one.between(b, a).cosine == found.cosine


@pytest.mark.parametrize("sets", ["mean", "collapse", "nystrom"])
@pytest.mark.parametrize("laplacian", LAPLACIANS)
def test_a_text_of_any_length_is_as_near_to_itself(graph, laplacian, sets):
    one = graph(laplacian=laplacian, sets=sets)
    every = "wing flow flutter heat bread oven"
    for text in ("wing", "wing heat", every):
        assert one.between(text, text).cosine == pytest.approx(1, abs=1e-9)
    for text in ("wing", "heat oven", "gnu"):
        assert -1 <= one.between(text, "flour flutter").cosine < 1
    assert one.between("wing", "gnu").cosine == pytest.approx(0, abs=1e-9)


def test_what_two_texts_mention(graph):
    found = graph().between("Wings and unicorns", "hot bread")
    assert found.a.unknown == (
        Unknown("unicorns", "in no document"),
        Unknown("and", "a stop word or too short"),
    )
    assert found.b.unknown == (("hot", "in no document"),)
    assert len(found.a.members.nodes) == len(found.b.members.nodes) == 1


# What a text mentions


def test_a_text_is_its_terms_weighed_by_idf(graph):
    one = graph()
    df = {"wing": 3, "okapi": 1}
    idf = {word: np.log(1 + (9 - n + 0.5) / (n + 0.5)) for word, n in df.items()}
    members, unknown = one.mentioned("The okapi's wings, wings, wings")
    assert [one.word for one in unknown] == ["The", "s"]
    names = one.names(members.nodes)
    expected = {word: idf[word] / sum(idf.values()) for word in df}
    assert dict(zip(names, members.weights, strict=True)) == pytest.approx(expected)


def test_unknown_words_are_told(graph):
    # Stop words are no words that one could know: they come last.
    assert graph().mentioned("The wings of Unicorns, and a manticore").unknown == (
        ("Unicorns", "in no document"),
        ("manticore", "in no document"),
        *((word, "a stop word or too short") for word in ("The", "of", "and", "a")),
    )


@pytest.mark.parametrize("text", ["unicorn", "", "the of", "!?", "\x00", "unicorn " * 50])
def test_a_text_without_a_term_is_refused(graph, text):
    shown = repr(text if len(text) <= 60 else text[:59] + "…")
    for ask in (graph().nearest, graph().similarities, graph().neighbourhood):
        with pytest.raises(UsageError) as raised:
            ask(text)
        assert f"the graph 'graph' has no term of {shown}; it has 11 that" in str(raised.value)
    with pytest.raises(UsageError, match="stand in 1 documents or more and at most 100% of them"):
        graph().between("wing", text)


def test_names_say_where_they_come_from(snapshot):
    nodes = read_names(snapshot, ["wing flutter", "heat", "unheard of"])
    one = TermGraph(Stored(snapshot, None, nodes, GraphSettings(names="names.txt")))
    with pytest.raises(UsageError, match=r"it has 3 that come from names\.txt"):
        one.nearest("bread")
    # A gazetteer does not speak of stop words, some of which stand in its names.
    found = one.mentioned("Unicorns of unheard: heat; wings flutter").unknown
    assert found == (
        ("Unicorns", "not a name of the graph"),
        ("unheard", "not a name of the graph"),
    )
    assert one.names(one.mentioned("Unicorns: heat; wings flutter").members.nodes) == [
        "wing flutter",
        "heat",
    ]


def test_terms_are_shown_as_words(graph, snapshot):
    assert "galleri" in snapshot.terms(np.arange(snapshot.n_terms))
    names = graph().names(range(len(graph())))
    assert {"galleries", "oven", "zebra"} < {*names}
    assert graph().names([]) == []
    assert graph().mentioned("gallery").unknown == ()


# Around


def test_a_neighbourhood_has_all_links_between_its_terms(graph):
    one = graph()
    around = one.neighbourhood("wing heat", 4)
    _, steps = plain(one)
    number = {name: node for node, name in name_of(one).items()}
    near = one.nearest("wing heat", 4)
    assert {*around.names[:2]} == {"wing", "heat"}
    assert around.asked == 2
    assert around.names[2:] == [related.name for related in near]
    assert around.scores.tolist() == [0, 0, *(related.similarity for related in near)]
    nodes = [number[name] for name in around.names]
    expected = {
        (i, j): steps[nodes[i], nodes[j]]
        for i in range(6)
        for j in range(i + 1, 6)
        if steps[nodes[i], nodes[j]] > 0
    }
    found = dict(zip(map(tuple, around.edges.tolist()), around.strengths.tolist(), strict=True))
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_neighbourhood_of_nothing(graph):
    around = graph().neighbourhood("okapi")
    assert (around.names, around.asked, around.edges.shape) == (["okapi"], 1, (0, 2))


@pytest.mark.parametrize("nearness", NEARNESSES, ids=str)
def test_the_kernel_among_some_terms(graph, nearness):
    """Among all terms it is the kernel; among some, that of the square of the Laplacian."""
    one = graph(**vars(nearness))
    kernel, _ = plain(one)
    assert np.allclose(one.among(np.arange(len(one))), kernel, rtol=1e-6, atol=1e-9)
    nodes = np.array([7, 0, 3, 4])
    found = one.among(nodes)
    assert np.array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    assert one.among(nodes[:0]).shape == (0, 0)


def test_among_terms_by_hand(graph):
    one = graph(kernel="resistance(eps=2)")
    _, steps = plain(one)
    nodes = np.array([7, 0, 3, 4])
    square = np.eye(4) - steps[np.ix_(nodes, nodes)]
    assert np.allclose(one.among(nodes), np.linalg.inv(square + 2 * np.eye(4)), rtol=1e-6)


# How nearness is written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "heat"}, "unknown kernel 'heat': it is one of diffusion, resistance, walk"),
        ({"kernel": "resistance(eps=0)"}, "eps must be a number from 1e-12"),
        ({"kernel": "walk", "laplacian": "combinatorial"}, "defined on the normalised Laplacian"),
        ({"laplacian": "x"}, "laplacian is one of normalised, combinatorial, not 'x'"),
        ({"weights": "x"}, "weights is one of idf, counts, cosine, ppmi, npmi, not 'x'"),
        ({"sets": "x"}, "sets is one of mean, collapse, nystrom, not 'x'"),
        ({"by": "x"}, "by is one of similarity, distance, not 'x'"),
        ({"route": "x"}, "route is one of auto, spectrum, solve, chebyshev, deflated, not 'x'"),
        ({"damping": -0.5}, r"damping is a number from 0 to 1e\+06, not -0.5"),
        ({"damping": float("nan")}, r"damping is a number from 0 to 1e\+06, not nan"),
        ({"damping": float("inf")}, r"damping is a number from 0 to 1e\+06, not inf"),
        ({"least": 0}, "least is a number of documents, at least 1, not 0"),
        ({"least": 1.5}, r"least is a whole number, not 1.5 \(float\); without a word it is 1"),
        ({"least": "2"}, r"least is a whole number, not '2' \(str\)"),
        ({"least": True}, r"least is a whole number, not True \(bool\)"),
        ({"least": None}, r"least is a whole number, not None \(NoneType\)"),
        ({"damping": "x"}, r"damping is a number, not 'x' \(str\)"),
        ({"damping": False}, r"damping is a number, not False"),
        ({"damping": 1j}, r"damping is a number, not 1j"),
        ({"kernel": 5}, r"kernel is a text, not 5 \(int\); without a word it is 'resistance'"),
        ({"kernel": None}, r"kernel is a text, not None"),
        ({"sets": ["mean"]}, r"sets is a text, not \['mean'\] \(list\)"),
        ({"by": None}, r"by is a text, not None \(NoneType\); without a word it is ''"),
    ],
)
def test_a_nearness_that_cannot_be_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        Nearness(**options)


def test_numbers_of_numpy_are_numbers():
    found = Nearness(least=np.int64(2), damping=np.float32(0.5))
    assert found == Nearness(least=2, damping=0.5)
    assert Nearness(damping=2) == Nearness(damping=2.0)


@pytest.mark.parametrize(
    "nearness",
    [
        Nearness(),
        Nearness(weights="npmi", damping=0.5, least=2, by="distance"),
        Nearness(kernel="walk(alpha=2,steps=3)", least=2),
        *NEARNESSES,
    ],
    ids=str,
)
def test_a_nearness_is_read_as_it_is_written(nearness):
    assert notation.read(str(nearness), {"nearness": Nearness}, what="nearness") == nearness
    assert len({nearness, Nearness(**vars(nearness))}) == 1


def test_a_graph_shows_what_it_is(graph):
    assert repr(graph()) == "<TermGraph 'graph': 11 terms>"


def test_threads_do_not_change_the_bits(snapshot):
    stored = Stored(snapshot, None, choose_nodes(snapshot, ALL), GraphSettings(filters=ALL))
    for nearness in NEARNESSES:
        one, two = (TermGraph(stored, nearness, threads=n).nearest("wing heat") for n in (1, 2))
        assert one == two

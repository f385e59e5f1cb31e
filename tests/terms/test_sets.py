"""Sets of terms: the closed form against real collapses, and the paper's approximation."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

from likewise.errors import UsageError
from likewise.terms.graph import Graph
from likewise.terms.kernel import make_kernel
from likewise.terms.sets import PLACEMENTS, SetMetric, TermSet, term_set
from likewise.terms.transforms import Diffusion, Resistance


class Spectrum(NamedTuple):
    values: np.ndarray
    vectors: np.ndarray


class Dense:
    """A kernel that is a matrix; counts how often its columns are asked for."""

    def __init__(self, matrix):
        self.matrix, self.asked = matrix, 0

    def __len__(self):
        return len(self.matrix)

    def columns(self, sets):
        self.asked += 1
        return self.matrix @ sets

    def at(self, nodes, sets):
        return self.columns(sets)[nodes]

    def block(self, nodes):
        return self.matrix[np.ix_(nodes, nodes)]

    def diagonal(self):
        return np.diagonal(self.matrix).copy()


def random_weights(seed, n, density=0.5):
    """A connected graph: a ring, and random edges."""
    random = np.random.default_rng(seed)
    weights = np.triu(random.integers(1, 9, (n, n)) * (random.random((n, n)) < density), 1)
    weights = weights.astype(np.float64)
    weights[np.arange(n - 1), np.arange(1, n)] += 1
    return weights + weights.T


def laplacian(weights):
    return np.diag(weights.sum(axis=1)) - weights


def resistance(weights, leak=None, epsilon=0.1):
    leak = np.ones(len(weights)) if leak is None else leak
    inverse = np.linalg.inv(laplacian(weights) + epsilon * np.diag(leak))
    return (inverse + inverse.T) / 2


def collapsed(weights, *sets):
    """The graph in which each set is one node (these come first), and its terms per node."""
    n = len(weights)
    rest = [t for t in range(n) if not any(t in s for s in sets)]
    member = np.zeros((n, len(sets) + len(rest)))
    for j, nodes in enumerate([*map(list, sets), *([t] for t in rest)]):
        member[nodes, j] = 1
    merged = member.T @ weights @ member
    np.fill_diagonal(merged, 0)
    return merged, member.sum(axis=0), rest


def distance(matrix, i, j):
    return matrix[i, i] + matrix[j, j] - 2 * matrix[i, j]


def spectrum_of(weights):
    return Spectrum(*np.linalg.eigh(laplacian(weights)))


def metrics(seed, n, epsilon=0.5):
    """A metric of each kind on one random graph."""
    weights = random_weights(seed, n)
    kernel, spectrum = Dense(resistance(weights, epsilon=epsilon)), spectrum_of(weights)
    known = {"spectrum": spectrum, "transform": lambda v: 1 / (v + epsilon)}
    return {
        how: SetMetric(kernel, how, **(known if PLACEMENTS[how].spectral else {}))
        for how in PLACEMENTS
    }


two_sets = st.integers(4, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.integers(0, 10**6),
        st.permutations(range(n)),
        st.integers(1, n - 2),
        st.integers(1, n),
    )
)


@given(two_sets, st.sampled_from([1.0, 0.1, 1e-3]))
def test_closed_form_is_a_real_collapse_with_the_leaks_of_all_members(drawn, epsilon):
    n, seed, order, cut, end = drawn
    a, b = order[:cut], order[cut : max(end, cut + 1)]
    weights = random_weights(seed, n)
    metric = SetMetric(Dense(resistance(weights, epsilon=epsilon)), "collapse")

    merged, sizes, _ = collapsed(weights, a, b)
    both = resistance(merged, sizes, epsilon)
    assert metric.distance(a, b) == pytest.approx(distance(both, 0, 1), rel=1e-9)
    assert metric.similarity(a, b) == pytest.approx(both[0, 1], rel=1e-9)

    merged, sizes, rest = collapsed(weights, a)
    one = resistance(merged, sizes, epsilon)
    places = np.arange(1, len(rest) + 1)
    np.testing.assert_allclose(metric.similarities(a)[rest], one[0, 1:], rtol=1e-9)
    np.testing.assert_allclose(
        metric.distances(a)[rest], [distance(one, 0, t) for t in places], rtol=1e-9
    )
    np.testing.assert_allclose(metric.similarities(a)[a], one[0, 0], rtol=1e-9)
    assert (metric.distances(a)[a] == 0).all()


@given(two_sets)
def test_closed_form_is_the_resistance_of_the_collapsed_graph(drawn):
    n, seed, order, cut, end = drawn
    a, b = order[:cut], order[cut : max(end, cut + 1)]
    weights = random_weights(seed, n)
    metric = SetMetric(Dense(resistance(weights, epsilon=1e-8)), "collapse")
    merged, _, _ = collapsed(weights, a, b)
    expected = distance(np.linalg.pinv(laplacian(merged)), 0, 1)
    assert metric.distance(a, b) == pytest.approx(expected, rel=1e-6)
    merged, _, rest = collapsed(weights, a)
    exact = np.linalg.pinv(laplacian(merged))
    expected = [distance(exact, 0, t) for t in range(1, len(rest) + 1)]
    np.testing.assert_allclose(metric.distances(a)[rest], expected, rtol=1e-6)


@given(two_sets, st.sampled_from([1.0, 0.1, 1e-3]))
def test_the_weights_of_a_collapse_give_its_kernel(drawn, epsilon):
    n, seed, order, cut, end = drawn
    a, b = order[:cut], order[cut : max(end, cut + 1)]
    weights = random_weights(seed, n)
    matrix = resistance(weights, epsilon=epsilon)
    metric = SetMetric(Dense(matrix), "collapse")
    merged, sizes, rest = collapsed(weights, a, b)
    both = resistance(merged, sizes, epsilon)

    left, right = metric.pairing(a, b)
    column = matrix[:, left.nodes] @ left.weights
    np.testing.assert_allclose(column[a], both[0, 0], rtol=1e-7)
    np.testing.assert_allclose(column[b], both[0, 1], rtol=1e-7)
    np.testing.assert_allclose(column[rest], both[0, 2:], rtol=1e-7)
    assert right.weights @ column[right.nodes] == pytest.approx(both[0, 1], rel=1e-7)
    # Nothing is near by itself.
    placed = dict(zip(left.nodes.tolist(), left.weights.tolist(), strict=True))
    assert sum(placed[node] for node in b) == pytest.approx(0, abs=1e-9)

    cosine = both[0, 1] / np.sqrt(both[0, 0] * both[1, 1])
    assert metric.cosine(a, b) == pytest.approx(cosine, rel=1e-9)
    lean = metric.leaning(a)
    np.testing.assert_allclose(
        matrix[:, lean.nodes] @ lean.weights, metric.similarities(a), rtol=1e-9
    )


@given(two_sets, st.sampled_from([*PLACEMENTS]))
def test_cosines(drawn, how):
    n, seed, order, cut, end = drawn
    a, b = order[:cut], order[max(cut - 1, 0) : end] or order[-1:]
    metric = metrics(seed, n)[how]
    assert metric.cosine(a, a) == pytest.approx(1, abs=1e-12)
    assert -1 <= metric.cosine(a, b) == metric.cosine(b, a) <= 1
    if how != "collapse":
        own = [metric.similarity(s, s) for s in (a, b)]
        expected = metric.similarity(a, b) / np.sqrt(own[0] * own[1])
        assert metric.cosine(a, b) == pytest.approx(expected, abs=1e-12)
        np.testing.assert_array_equal(metric.leaning(a), term_set(a, n))


@pytest.mark.parametrize("how", ["mean", "nystrom"])
def test_nothing_has_no_direction(how):
    nothing = Dense(np.diag([1.0, 0.0, 1.0]))
    spectrum = Spectrum(np.zeros(3), np.eye(3))
    heights = np.array([1.0, 0.0, 1.0])
    known = {"spectrum": spectrum, "transform": lambda v: heights}
    metric = SetMetric(nothing, how, **(known if how == "nystrom" else {}))
    assert metric.cosine(0, 1) == metric.cosine(1, 1) == metric.cosine(0, 2) == 0
    assert metric.cosine(0, 0) == 1
    assert metric.cosine([0, 1], [0]) == pytest.approx(1)


def test_large_sets_are_not_collapsed(monkeypatch):
    monkeypatch.setattr("likewise_papers.terms.set_collapse._LARGEST", 3)
    metric = metrics(0, 9)["collapse"]
    large, small = range(4), [7, 8]
    for ask in (
        metric.similarities,
        metric.distances,
        metric.leaning,
        lambda s: metric.distance(s, small),
        lambda s: metric.similarity(small, s),
        lambda s: metric.similarity(0, s),
        lambda s: metric.cosine(s, small),
        lambda s: metric.pairing(s, small),
    ):
        with pytest.raises(UsageError, match=r"set of 4 terms .* at most 3: use sets=mean"):
            ask(large)
        ask(range(3))


def test_a_set_of_two_thousand_terms_is_the_largest():
    metric = SetMetric(Dense(np.eye(2001)), "collapse")
    assert metric.similarity(range(2000), 2000) == 0
    with pytest.raises(UsageError, match=r"set of 2,001 terms is too large .* at most 2,000"):
        metric.similarities(range(2001))


def test_the_columns_of_two_sets_are_asked_for_once():
    metric = metrics(2, 9)["collapse"]
    asked, block = [], metric.kernel.block
    metric.kernel.block = lambda nodes: asked.append(nodes.tolist()) or block(nodes)
    before = metric.distance([0, 1], [4, 5])
    metric.similarity([0, 1], [4, 5]), metric.cosine([4, 5], [0, 1])
    metric.pairing([4, 5], [0, 1])
    assert asked == [[0, 1, 4, 5]]
    metric.distance([0, 1], [4, 6])
    assert metric.distance([0, 1], [4, 5]) == before
    assert len(asked) == 3


@pytest.mark.parametrize("how", PLACEMENTS)
def test_threads_of_blas_do_not_change_the_bits(how):
    kernel = make_kernel(graph_of(random_weights(3, 700, 0.05)), Diffusion(1.0), route="spectrum")
    a, b = range(0, 500, 2), {i: 1.0 + i for i in range(1, 600, 2)}

    def ask():
        metric = SetMetric(kernel, how)
        found = [metric.similarity(a, b), metric.distance(a, b), metric.cosine(a, b)]
        arrays = [metric.distances(a), metric.similarities(b), metric.pairing(a, b)[0].weights]
        return [*found, *(np.ascontiguousarray(part).tobytes() for part in arrays)]

    answers = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads, user_api="blas"):
            answers.append(ask())
    assert answers[0] == answers[1] == answers[2]


def test_a_known_circuit():
    # Two resistors of one ohm in a row; with the outer ends short-circuited they are parallel.
    weights = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], float)
    metric = SetMetric(Dense(resistance(weights, epsilon=1e-9)), "collapse")
    assert metric.distance(0, 2) == pytest.approx(2, rel=1e-6)
    assert metric.distance([0, 2], 1) == pytest.approx(0.5, rel=1e-6)
    assert metric.distances([0, 2]) == pytest.approx([0, 0.5, 0], rel=1e-6)


def test_parts_of_a_graph_that_are_not_connected():
    weights = np.zeros((5, 5))
    weights[0, 1] = weights[1, 0] = weights[2, 3] = weights[3, 2] = 2
    metric = SetMetric(Dense(resistance(weights)), "collapse")
    # Either side leaks by twice ε.
    assert metric.distance([0, 1], [2, 3]) == pytest.approx(1 / 0.2 + 1 / 0.2)
    assert metric.similarity([0, 1], [2, 3]) == pytest.approx(0)
    assert metric.distances([0, 1])[4] == pytest.approx(1 / 0.2 + 1 / 0.1)


def test_sets_that_share_a_term_are_one_node():
    weights = random_weights(1, 8)
    metric = SetMetric(Dense(resistance(weights)), "collapse")
    assert metric.distance([0, 1, 2], [2, 3]) == 0
    merged, sizes, _ = collapsed(weights, [0, 1, 2, 3])
    assert metric.similarity([0, 1, 2], [2, 3]) == pytest.approx(resistance(merged, sizes)[0, 0])


@given(two_sets, st.floats(1.01, 1e4))
def test_nystrom_is_the_papers_sum(drawn, heavy):
    n, seed, order, cut, end = drawn
    a, b = order[:cut], order[cut : max(end, cut + 1)]
    weights = random_weights(seed, n)
    values, vectors = spectrum = spectrum_of(weights)
    weight = heavy * values.max()
    height = np.exp(-values / 20)
    metric = SetMetric(
        Dense(np.eye(n)),
        "nystrom",
        spectrum=spectrum,
        transform=lambda v: np.exp(-v / 20),
        weight=weight,
    )

    def feature(nodes):
        out = np.zeros(n)
        for k in range(n):
            if len(nodes) == 1:
                out[k] = vectors[nodes[0], k]
                continue
            for j in nodes:
                out[k] += -weight * vectors[j, k] / (values[k] - len(nodes) * weight)
        return np.sqrt(height) * out

    features = np.array([feature([t]) for t in range(n)])
    left, right = feature(a), feature(b)
    assert metric.similarity(a, b) == pytest.approx(left @ right, rel=1e-9, abs=1e-12)
    assert metric.distance(a, b) == pytest.approx(((left - right) ** 2).sum(), rel=1e-9)
    np.testing.assert_allclose(metric.similarities(a), features @ left, rtol=1e-9, atol=1e-12)
    expected = ((features - left) ** 2).sum(axis=1)
    np.testing.assert_allclose(metric.distances(a), expected, rtol=1e-9, atol=1e-12)


def test_nystrom_of_great_weight_is_the_mean():
    weights = random_weights(3, 10)
    spectrum = spectrum_of(weights)
    kernel = Dense(resistance(weights))
    heavy = SetMetric(
        kernel, "nystrom", spectrum=spectrum, transform=lambda v: 1 / (v + 0.1), weight=1e12
    )
    sets = [{0: 1.0, 3: 2.0}, [4, 5, 6]]
    mean = SetMetric(kernel)
    np.testing.assert_allclose(heavy.similarities_of(sets), mean.similarities_of(sets), rtol=1e-8)


@given(st.integers(0, 10**6), st.data())
def test_mean_is_the_weighted_mean_of_features(seed, data):
    n = 9
    random = np.random.default_rng(seed)
    features = random.normal(size=(n, n))
    metric = SetMetric(Dense(features @ features.T))
    a = data.draw(st.dictionaries(st.integers(0, n - 1), st.floats(0.01, 10), min_size=1))
    b = data.draw(st.dictionaries(st.integers(0, n - 1), st.floats(0.01, 10), min_size=1))

    def mean(weights):
        return sum(w * features[t] for t, w in weights.items()) / sum(weights.values())

    assert metric.similarity(a, b) == pytest.approx(mean(a) @ mean(b), abs=1e-9)
    assert metric.distance(a, b) == pytest.approx(((mean(a) - mean(b)) ** 2).sum(), abs=1e-9)
    np.testing.assert_allclose(metric.similarities(a), features @ mean(a), atol=1e-9)
    expected = ((features - mean(a)) ** 2).sum(axis=1)
    np.testing.assert_allclose(metric.distances(a), expected, atol=1e-9)


@given(two_sets, st.sampled_from([*PLACEMENTS]))
def test_distances_are_a_metrics(drawn, how):
    n, seed, order, cut, end = drawn
    a, b = order[:cut], order[max(cut - 1, 0) : end] or order[-1:]
    metric = metrics(seed, n)[how]
    assert metric.distance(a, b) == metric.distance(b, a) >= 0
    assert metric.similarity(a, b) == metric.similarity(b, a)
    assert metric.distance(a, a) == 0
    assert (metric.distances(a) >= 0).all()


@given(st.integers(0, 10**6), st.sampled_from([*PLACEMENTS]))
def test_a_set_of_one_is_its_term(seed, how):
    metric = metrics(seed, 7)[how]
    kernel = metric.kernel.matrix
    t = seed % 7
    np.testing.assert_allclose(metric.similarities(t), kernel[t], rtol=1e-9)
    expected = np.diagonal(kernel) + kernel[t, t] - 2 * kernel[t]
    np.testing.assert_allclose(metric.distances([t]), expected, rtol=1e-8, atol=1e-12)
    assert metric.distances(t)[t] == 0
    assert metric.distance(t, {(t + 1) % 7: 3.0}) == pytest.approx(expected[(t + 1) % 7])


@pytest.mark.parametrize("how", PLACEMENTS)
@pytest.mark.parametrize("cells", [1, 40, 1 << 20])
def test_many_sets_at_once_are_each_alone(how, cells, monkeypatch):
    monkeypatch.setattr("likewise_papers.terms.set_collapse._CELLS", cells)
    monkeypatch.setattr("likewise_papers.terms.set_collapse._BLOCK", cells)
    metric = metrics(5, 8)[how]
    sets = [3, [0, 1], {4: 1.0, 2: 0.5}, [7, 0, 5], [1, 1, 6]]
    for many, alone in (
        (metric.similarities_of, metric.similarities),
        (metric.distances_of, metric.distances),
    ):
        np.testing.assert_allclose(
            many(sets), np.column_stack([alone(s) for s in sets]), rtol=1e-9, atol=1e-12
        )
        assert many([]).shape == (8, 0)


@pytest.mark.parametrize("how", ["mean", "collapse"])
def test_many_sets_ask_the_kernel_once(how):
    metric = metrics(5, 8)[how]
    metric.similarities_of([[0, 1], [2, 3], [4]])
    metric.distances_of([[0, 1], [2, 3], [4]])
    assert metric.kernel.asked == 2


def graph_of(weights):
    matrix = sparse.csr_array(weights)
    matrix.sort_indices()
    return Graph(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
    )


@pytest.mark.parametrize("how", ["mean", "collapse"])
@pytest.mark.parametrize("eps", [1.0, 1e-5])
def test_a_solved_kernel_says_what_the_spectrum_says(how, eps):
    graph = graph_of(random_weights(2, 150, 0.1))
    whole, solved = (
        SetMetric(make_kernel(graph, Resistance(eps), laplacian="combinatorial", route=route), how)
        for route in ("spectrum", "solve")
    )
    a, b = [3, 40, 99, 120], [7, 80]
    assert solved.distance(a, b) == pytest.approx(whole.distance(a, b), rel=1e-5)
    assert solved.distance(a, 3) == pytest.approx(whole.distance(a, 3), rel=1e-5)
    np.testing.assert_allclose(solved.similarities(a), whole.similarities(a), rtol=1e-5)


def test_collapse_with_a_real_kernel_is_a_real_collapse():
    weights = random_weights(4, 60, 0.2)
    kernel = make_kernel(graph_of(weights), Resistance(0.01), laplacian="combinatorial")
    metric = SetMetric(kernel, "collapse")
    merged, sizes, rest = collapsed(weights, [5, 9, 30])
    one = resistance(merged, sizes, 0.01)
    expected = [distance(one, 0, t) for t in range(1, len(rest) + 1)]
    np.testing.assert_allclose(metric.distances([5, 9, 30])[rest], expected, rtol=1e-6)


def test_nystrom_takes_the_spectrum_that_a_kernel_has():
    kernel = make_kernel(graph_of(random_weights(4, 40)), Diffusion(1.0), route="spectrum")
    own = SetMetric(kernel, "nystrom")
    given = SetMetric(
        kernel, "nystrom", spectrum=kernel.spectrum, transform=lambda v: np.exp(-v / 2)
    )
    np.testing.assert_allclose(own.distances([1, 2, 3]), given.distances([1, 2, 3]), rtol=1e-9)


def test_a_set_adds_up_what_it_is_given():
    nodes, weights = term_set([5, 2, 5, 0], 6)
    assert nodes.tolist() == [0, 2, 5]
    assert weights.tolist() == [0.25, 0.25, 0.5]
    again = term_set(TermSet(nodes, weights), 6)
    assert again.nodes.tolist() == [0, 2, 5]
    assert again.weights.tolist() == [0.25, 0.25, 0.5]
    assert term_set(np.int64(3), 6).nodes.tolist() == [3]
    assert term_set(np.array([3, 1]), 6).nodes.tolist() == [1, 3]
    assert term_set({3: 1, 1: 3}, 6).weights.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ([], "without terms"),
        ({}, "without terms"),
        ([0, 6], r"\[6\]"),
        (-1, r"\[-1\]"),
        ([0.5], "0.5"),
        ({0: 0.0}, "positive"),
        ({0: float("nan")}, "positive"),
        ({0: -1.0, 1: 2.0}, "positive"),
    ],
)
def test_what_is_no_set_is_said(wrong, says):
    metric = SetMetric(Dense(np.eye(6)))
    for ask in (metric.similarities, metric.distances, lambda s: metric.distance(0, s)):
        with pytest.raises(UsageError, match=says):
            ask(wrong)


def test_what_a_way_needs_is_said():
    kernel = Dense(np.eye(3))
    with pytest.raises(UsageError, match="mean, collapse, nystrom"):
        SetMetric(kernel, "median")
    with pytest.raises(UsageError, match="spectrum"):
        SetMetric(kernel, "nystrom")
    spectrum = spectrum_of(random_weights(0, 3))
    with pytest.raises(UsageError, match="largest eigenvalue"):
        SetMetric(kernel, "nystrom", spectrum=spectrum, transform=np.exp, weight=0.1)
    with pytest.raises(UsageError, match="positive definite"):
        SetMetric(Dense(np.ones((3, 3))), "collapse").distance(0, 1)

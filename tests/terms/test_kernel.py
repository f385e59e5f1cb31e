"""Kernels by every route, against the definition by a dense decomposition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.terms.kernel import distances, make_kernel
from likewise.terms.laplacian import Laplacian
from likewise.terms.solving import ChebyshevKernel, SolvedKernel, _worth_reading
from likewise.terms.spectrum import SpectralKernel
from likewise.terms.transforms import Diffusion, Resistance, Walk
from likewise_papers.terms.kernel_learning import Learnt

from .graphs import NAMED, dense, graph_of, graphs, random_graph, zipf_graph

LEARNT = Learnt((0.1, 0.8, 1.0, 1.5), (2.0, 1.5, 0.4, 0.1))
SETTINGS = [
    (Resistance(), "normalised", 1.0),
    (Resistance(), "normalised", 0.0),
    (Resistance(0.01), "normalised", 0.5),
    (Resistance(1e-9), "normalised", 0.0),
    (Resistance(), "combinatorial", 1.0),
    (Resistance(1e-9), "combinatorial", 1.0),
    (Diffusion(), "normalised", 1.0),
    (Diffusion(0.1), "combinatorial", 1.0),
    (Walk(), "normalised", 1.0),
    (Walk(2.5, 3), "normalised", 0.0),
]
ROUTES = ["spectrum", "solve", "chebyshev", "deflated"]
settings = st.sampled_from(SETTINGS)


def laplacian_of(graph, kind, damping):
    weights = dense(graph)
    degrees = weights.sum(axis=1)
    if kind == "combinatorial":
        return np.diag(degrees) - weights
    damped = degrees + damping * degrees.mean()
    scale = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in damped])
    return np.eye(len(graph)) - scale[:, None] * weights * scale


def by_definition(graph, transform, kind, damping):
    values, vectors = np.linalg.eigh(laplacian_of(graph, kind, damping))
    singular = kind == "combinatorial" or damping == 0
    values[(values < 1e-9) & singular] = 0.0
    return (vectors * transform(values)) @ vectors.T


def routes_for(transform, wanted=ROUTES):
    return [r for r in wanted if r != "solve" or isinstance(transform, Resistance)]


def kernels(graph, transform, kind, damping, **options):
    for route in routes_for(transform):
        yield make_kernel(graph, transform, laplacian=kind, damping=damping, route=route, **options)


def whole(kernel):
    return kernel.columns(np.eye(len(kernel)))


@given(graphs, settings)
def test_every_route_is_the_definition(graph, setting):
    exact = by_definition(graph, *setting)
    scale = np.abs(exact).max()
    for kernel in kernels(graph, *setting, tol=1e-9):
        assert len(kernel) == len(graph)
        np.testing.assert_allclose(whole(kernel), exact, atol=2e-7 * scale)
        np.testing.assert_allclose(kernel.diagonal(), np.diag(exact), atol=2e-7 * scale)


@given(graphs, settings)
def test_kernels_are_symmetric_and_positive(graph, setting):
    nodes = np.arange(len(graph))
    for kernel in kernels(graph, *setting, tol=1e-9):
        block = kernel.block(nodes)
        scale = np.abs(block).max()
        assert np.array_equal(block, block.T)
        assert np.linalg.eigvalsh(block)[0] >= -1e-8 * scale
        between = distances(kernel, nodes)
        assert (between >= 0).all()
        assert not np.diag(between).any()
        np.testing.assert_allclose(kernel.diagonal_of(nodes), np.diag(block), atol=1e-8 * scale)


@given(graphs, settings)
def test_nodes_without_a_way_between_them_have_nothing_in_common(graph, setting):
    apart = graph.components[:, None] != graph.components
    for kernel in kernels(graph, *setting):
        assert not whole(kernel)[apart].any()
        assert not kernel.through(np.eye(len(graph)))[apart].any()


@given(graphs, settings)
def test_parts_add_up(graph, setting):
    for kernel in kernels(graph, *setting, tol=1e-3):
        if isinstance(kernel, SolvedKernel):
            kernel.tol = 1e-12
        eye = np.eye(len(graph))
        laplacian = kernel.laplacian
        parts = laplacian.apply(eye) @ kernel.through(eye)
        added = float(kernel.transform(np.array([laplacian.centre]))[0]) * eye + parts
        found = kernel.at(np.arange(len(graph)), eye)
        np.testing.assert_allclose(added, found, atol=1e-9 * np.abs(found).max())


@pytest.mark.parametrize("setting", [SETTINGS[0], SETTINGS[1], SETTINGS[6]], ids=str)
@pytest.mark.parametrize("size", [1, 3])
def test_the_last_step_of_a_set_reads_few_rows_and_keeps_to_the_tolerance(
    setting, size, monkeypatch
):
    graph = zipf_graph(3000)
    transform, kind, damping = setting
    exact = make_kernel(graph, transform, laplacian=kind, damping=damping, route="spectrum")
    kernel = make_kernel(
        graph, transform, laplacian=kind, damping=damping, route="deflated", tol=1e-3
    )
    largest = exact.transform(exact.spectrum.values).max()
    read = []
    spread = Laplacian.spread

    def watched(self, x):
        read.append(graph.sizes[x.any(axis=1)].sum() / len(graph.columns))
        return spread(self, x)

    random = np.random.default_rng(0)
    for _ in range(10):
        sets = np.zeros((3000, 1))
        sets[random.integers(0, 3000, size)] = 1 / size
        monkeypatch.setattr(Laplacian, "spread", watched)
        found = kernel.columns(sets)
        monkeypatch.undo()
        off = np.linalg.norm(found - exact.columns(sets))
        assert off <= kernel.tol * largest * np.linalg.norm(sets)
        nodes = np.array([0, 7, 2999])
        entries = kernel.at(nodes, sets)
        assert np.abs(entries - found[nodes]).max() <= kernel.tol * largest
    assert np.mean(read) < 0.5


def test_rows_are_left_out_as_long_as_little_is_lost():
    random = np.random.default_rng(0)
    x = random.standard_normal((500, 2)) ** 9
    sizes = random.integers(0, 90, 500)
    lengths = np.linalg.norm(x, axis=0)
    before = np.arange(500)
    for share in (0.0, 1e-6, 0.01, 0.1, 0.5, 1.0):
        rows = _worth_reading(x, share * lengths, sizes)
        left = np.setdiff1d(np.arange(500), rows)
        assert (np.linalg.norm(x[left], axis=0) <= share * lengths * (1 + 1e-12)).all()
        assert np.isin(rows, before).all()
        before = rows
    assert 0 < len(rows) < 50
    assert _worth_reading(np.zeros((4, 2)), np.zeros(2), np.ones(4, np.int64)).size == 0


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_routes_agree_on_a_larger_graph(setting):
    graph = zipf_graph(700)
    transform, kind, damping = setting
    sets = np.random.default_rng(0).random((700, 3))
    exact = make_kernel(
        graph, transform, laplacian=kind, damping=damping, route="spectrum"
    ).columns(sets)
    for kernel in kernels(graph, *setting, tol=1e-8):
        found = kernel.columns(sets)
        assert np.linalg.norm(found - exact) <= 1e-7 * np.linalg.norm(exact)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("setting", [SETTINGS[0], SETTINGS[6]], ids=str)
def test_the_error_is_within_the_tolerance_and_less_costs_less(setting, tol):
    graph = zipf_graph(600)
    transform, kind, damping = setting
    sets = np.random.default_rng(1).standard_normal((600, 4))
    exact = make_kernel(graph, transform, laplacian=kind, damping=damping, route="spectrum")
    largest = exact.transform(exact.spectrum.values).max()
    plain, deflated = (
        make_kernel(graph, transform, damping=damping, route=route, tol=tol)
        for route in ("chebyshev", "deflated")
    )
    for kernel in (plain, deflated):
        off = np.linalg.norm(kernel.columns(sets) - exact.columns(sets), axis=0)
        assert (off <= tol * largest * np.linalg.norm(sets, axis=0)).all()
    assert deflated.degree < plain.degree
    assert 1 <= len(deflated.leading.values) <= 32


def test_few_rows_cost_the_same_answer():
    graph = zipf_graph(600)
    kernel = make_kernel(graph, Resistance(), route="deflated", tol=1e-9)
    sets = np.zeros((600, 2))
    sets[[400, 401, 550], [0, 0, 1]] = 1.0
    both = kernel.columns(sets + np.eye(600)[:, :2]) - kernel.columns(np.eye(600)[:, :2])
    np.testing.assert_allclose(kernel.columns(sets), both, atol=1e-12)


@pytest.mark.parametrize("setting", [*SETTINGS[:5], SETTINGS[6]], ids=str)
def test_the_same_bits_on_any_number_of_threads(setting):
    graph = zipf_graph(1800, degree=200)
    sets = np.random.default_rng(0).random((1800, 8))
    for route in routes_for(setting[0], ["solve", "chebyshev", "deflated"]):
        found = []
        for threads in (1, 2):
            transform, kind, damping = setting
            options = {"laplacian": kind, "damping": damping, "route": route, "threads": threads}
            kernel = make_kernel(graph, transform, tol=1e-6, **options)
            parts = kernel.columns(sets), kernel.columns(sets[:, :1]), kernel.through(sets[:, :3])
            found.append([*(part.tobytes() for part in parts), kernel.diagonal().tobytes()])
        assert found[0] == found[1]


def test_auto_takes_the_route_that_suits():
    small, large = random_graph(30), zipf_graph(1600, degree=40)
    assert isinstance(make_kernel(small, Diffusion()), SpectralKernel)
    assert isinstance(make_kernel(large, Diffusion()), ChebyshevKernel)
    assert make_kernel(large, Diffusion(), route="deflated").leading.values.size > 0
    assert isinstance(make_kernel(large, Resistance()), SolvedKernel)
    assert isinstance(make_kernel(large, Resistance(), laplacian="combinatorial"), SolvedKernel)
    other = make_kernel(large, Diffusion(0.01), laplacian="combinatorial")
    assert isinstance(other, ChebyshevKernel)
    assert other.leading.values.size == 0


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_sketched_diagonal_is_near_and_knows_how_near(setting):
    graph = zipf_graph(900)
    transform, kind, damping = setting
    whole = make_kernel(graph, transform, laplacian=kind, damping=damping, route="spectrum")
    exact = whole.centred().diagonal()
    assert not whole.diagonal_errors().any()
    for route in routes_for(transform, ["solve", "deflated"]):
        if (route, kind) == ("deflated", "combinatorial"):
            continue
        options = {"laplacian": kind, "damping": damping, "route": route}
        kernel = make_kernel(graph, transform, **options).centred()
        values, errors = kernel.diagonal(), kernel.diagonal_errors()
        off = np.abs(values - exact)
        assert np.sqrt((off**2).mean()) < 0.02 * np.sqrt((exact**2).mean())
        assert (off <= 5 * errors + 1e-5 * exact).mean() > 0.97
        nodes = np.array([0, 5, 899])
        np.testing.assert_allclose(kernel.diagonal_of(nodes), exact[nodes], rtol=1e-5)


def test_a_sketch_goes_by_its_seed():
    graph = zipf_graph(600)
    one, again, other = (
        make_kernel(graph, Resistance(), route="deflated", seed=seed).diagonal()
        for seed in (0, 0, 1)
    )
    assert one.tobytes() == again.tobytes()
    assert one.tobytes() != other.tobytes()


def test_a_learnt_table_by_polynomial():
    graph = zipf_graph(500)
    exact = make_kernel(graph, LEARNT, route="spectrum")
    sets = np.eye(500)[:, :2]
    near = make_kernel(graph, LEARNT, route="deflated")
    assert near.tol == 1e-3
    assert np.abs(near.columns(sets) - exact.columns(sets)).max() < 1e-3 * 2
    with pytest.raises(UsageError, match=r"allow about \d+ times the error"):
        make_kernel(graph, LEARNT, route="deflated", tol=1e-9)


def test_resistances_of_a_path_add_up():
    kernel = make_kernel(NAMED["path"], Resistance(1e-8), laplacian="combinatorial").centred()
    steps = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    np.testing.assert_allclose(distances(kernel, np.arange(6)), steps, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"route": "magic"}, "a route is one of"),
        ({"laplacian": "signed"}, "a Laplacian is one of"),
        ({"damping": -1.0}, "damping must be"),
        ({"threads": 0}, "threads must be"),
        ({"route": "chebyshev", "tol": 2.0}, "tol must be"),
    ],
)
def test_what_does_not_fit_says_so(options, message):
    with pytest.raises(UsageError, match=message):
        make_kernel(graph_of(np.zeros((2, 2))), Resistance(), **options)


def test_what_does_not_go_together_says_so():
    graph = random_graph(5)
    with pytest.raises(UsageError, match="normalised Laplacian"):
        make_kernel(graph, Walk(), laplacian="combinatorial")
    with pytest.raises(UsageError, match="only the resistance kernel"):
        make_kernel(graph, Diffusion(), route="solve")

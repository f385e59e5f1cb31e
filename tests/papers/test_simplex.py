import json
from dataclasses import replace

import numpy as np
import pytest

from likewise.errors import MissingExtra
from likewise.neighbours.index import Nearest
from likewise_papers.bench import Bench
from likewise_papers.data import Data
from likewise_papers.experiment import FAILS, HOLDS, read_result
from likewise_papers.panels import Panel, panels_figure
from likewise_papers.papers.simplex import PAPER, draws, retrieval, searching
from likewise_papers.papers.simplex.topics import distributions, fitted
from likewise_papers.running import run_one

EXPERIMENTS = {one.name: one for one in PAPER.experiments}
DRAWN = {"draws": 30, "dimensions": [10, 40], "alphas": [0.01, 0.1, 10.0]}
FOUND = {name: ["hellinger", "scan"] for name in searching.PUBLISHED}
SMALL = {
    "figure-1": DRAWN,
    "figure-2": {**DRAWN, "queries": 20},
    "table-1": {"topics": 6, "sweeps": 10, "queries": 15}
    | {"methods": {**FOUND, searching.CERTIFIED: ["js", "certified"]}},
    "table-2": {"topics": 6, "sweeps": 10, "depth": 20},
    "table-3": {"topics": [2, 6], "sweeps": 10},
    "table-4": {"topics": [2, 6], "sweeps": 5, "queries": 5, "methods": FOUND},
    "table-5": {"topics": 6, "sweeps": 10},
}
LOW, NOISE = np.full(40, 0.3), np.where(np.arange(40) % 2, 0.01, -0.01)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Documents of four topics, two collections of them with judged queries."""
    random = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("data")
    for name, n in (("cran", 40), ("med", 40), ("20newsgroups", 120)):
        (folder / name).mkdir()
        documents = []
        for i in range(n):
            own = [f"word{i % 4}x{'abcdefgh'[j]}" for j in random.integers(0, 8, 12)]
            shared = [f"common{'abcdefghij'[j]}" for j in random.integers(0, 10, 6)]
            label = {} if n == 40 else {"category": str(i % 4)}
            documents.append({"id": str(i), "text": " ".join([*own, *shared]), **label})
        documents.append({"id": "empty", "text": ""})
        queries = [{"id": f"q{t}", "text": f"word{t}xa word{t}xb"} for t in range(4)]
        for file, rows in (("corpus.jsonl", documents), ("queries.jsonl", queries)):
            (folder / name / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
        if n == 40:
            judged = "".join(f"q{i % 4} 0 {i} 1\n" for i in range(n))
            (folder / name / "qrels.txt").write_text(judged)
    return Data([folder], tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def results(data, tmp_path_factory):
    kept = tmp_path_factory.mktemp("kept")
    small = {
        name: replace(one, setting={**one.setting, **SMALL[name]}, quick={})
        for name, one in EXPERIMENTS.items()
    }
    return {name: run_one(PAPER, one, data, kept=kept).result for name, one in small.items()}


def row(table, name):
    return next(one for one in table.rows if one.name == name)


def means(table, name):
    return {column: value.mean for column, value in row(table, name).values.items()}


def test_draws_are_distributions():
    theta = draws.draw(20, 30, 0.001)
    assert np.isfinite(theta).all()
    assert np.allclose(theta.sum(axis=1), 1, atol=1e-5)
    assert np.array_equal(theta, draws.draw(20, 30, 0.001))


def test_bounds_hold_and_are_drawn(results):
    result = results["figure-1"]
    assert result.claims[0].verdict == result.claims[-1].verdict == HOLDS
    least, most = (
        means(result.tables[0], f"α = 0.1, {end}")["D = 40"] for end in ("least", "most")
    )
    assert draws.BOUNDS[0] - 1e-3 < least < most < draws.BOUNDS[1] + 1e-3


@pytest.mark.parametrize("name", ["figure-1", "figure-2"])
def test_figures_can_be_drawn(results, name):
    for drawing in results[name].drawings:
        panels = [Panel(**panel) for panel in drawing.panels]
        panels_figure(panels, x_label=drawing.x_label, y_label=drawing.y_label, title=drawing.title)


def test_claims_of_bounds_can_fail():
    he = np.linspace(1.2, 1.9, 30)
    spread = {(a, d): (he - 0.01 / d, 0.4 * he) for a in (0.1, 0.5) for d in (10, 20)}
    spread |= {(100.0, d): (he / 100, 0.4 * he / 100) for d in (10, 20)}
    assert [claim.verdict for claim in draws.bound_claims(spread)] == [HOLDS] * 4
    spread[0.1, 20] = he - 0.1, 0.9 * he
    spread[100.0, 20] = he, 0.4 * he
    assert [claim.verdict for claim in draws.bound_claims(spread)] == [FAILS] * 4


def test_what_is_as_near_counts_as_found():
    truth = Nearest(np.array([[0, 1, 2]]), np.array([[0.0, 1.0, 2.0]], np.float32))
    found = Nearest(np.array([[0, 7, -1]]), np.array([[0.0, 1.0, np.inf]], np.float32))
    assert draws.found_at(found, truth).tolist() == [[1, 1, 0]]
    shifted = Nearest(np.array([[0, 2, -1]]), np.array([[0.0, 2.0, np.inf]], np.float32))
    assert draws.found_at(shifted, truth).tolist() == [[1, 0, 1]]


def test_the_tree_finds_all(results):
    table = results["figure-2"].tables[0]
    assert {*means(table, f"{draws.TREE}, α = 0.01").values()} == {1.0}


def hits_of(lsh, tree):
    """Make up what was found: shares at ranks 1 to 10 with small α; all with large."""
    random = np.random.default_rng(0)
    out = {draws.LSH: {}, draws.TREE: {}}
    for d in (10, 20):
        for name, shares in ((draws.LSH, lsh(d)), (draws.TREE, tree)):
            out[name][0.1, d] = (random.random((200, 10)) < shares).astype(np.float64)
            out[name][10.0, d] = np.ones((200, 10))
    return out


def test_claims_of_recall():
    falling = np.linspace(1, 0, 10)
    held = draws.recall_claims(hits_of(lambda d: falling**d, 1.0))
    assert [claim.verdict for claim in held] == [HOLDS] * 4
    lost = hits_of(lambda d: np.full(10, d / 20), 0.3)
    lost[draws.LSH][10.0, 10] = np.zeros((200, 10))
    assert [claim.verdict for claim in draws.recall_claims(lost)] == [FAILS] * 4


def test_search_is_held_against_the_exhaustive_one(results):
    quality, speed = results["table-1"].tables
    assert means(quality, searching.CERTIFIED) == {"MAP": 1.0, "P@5": 1.0, "R@5": 0.5}
    assert row(quality, searching.TREE).published == {"MAP": 0.92, "P@5": 0.99, "R@5": 0.49}
    assert row(speed, searching.LSH[0.8]).published == {"speed-up": 336.27}
    assert row(quality, searching.CERTIFIED).ours


def test_average_precision_by_hand():
    hits = np.array([[True, False, True, False], [False] * 4, [True] * 4])
    assert searching.average_precisions(hits) == pytest.approx([(1 + 2 / 3) / 4, 0, 1])


def test_exhaustive_search_ranks_by_divergence():
    theta = draws.draw(30, 5, 0.5)
    p, q = theta[:, None].astype(float), theta[None, :3].astype(float)
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(x > 0, x * np.log(x / middle), 0).sum(axis=2) for x in (p, q)]
    expected = np.argsort(sum(parts).T, axis=1, kind="stable")[:, :4]
    assert searching.exhaustive(theta, theta[:3], 4).tolist() == expected.tolist()


def measured(seconds, precisions):
    found = {
        name: searching.Found(LOW + level + i * NOISE, np.full(40, 5.0), one)
        for i, (name, one, level) in enumerate(
            zip(searching.PUBLISHED, seconds, precisions, strict=True)
        )
    }
    certified = searching.Found(np.ones(40), np.full(40, 5.0), 0.1)
    return searching.Measured(1.0, found | {searching.CERTIFIED: certified}, [], 1000)


def test_claims_of_search():
    held = measured((1e-3, 1.2e-3, 2e-3, 5e-4), (0, 0.2, 0.5, 0.5))
    assert [claim.verdict for claim in searching.make_claims(held)] == [HOLDS] * 6
    lost = measured((1e-3, 1.2e-3, 2e-3, 5e-2), (0.5, 0.2, 0.2, 0.6))
    worse = lost.found[searching.CERTIFIED]._replace(precisions=np.full(40, 0.99))
    near = lost.found[searching.TREE]._replace(hits=np.full(40, 4.0))
    found = lost.found | {searching.CERTIFIED: worse, searching.TREE: near}
    lost = lost._replace(found=found)
    assert [claim.verdict for claim in searching.make_claims(lost)] == [FAILS] * 6


def test_claims_of_speed():
    rows = [searching.JS, *searching.LSH.values(), searching.TREE]
    held = {name: {50: 2.0 * v, 100: v} for name, v in zip(rows, (1, 9, 6, 3, 20), strict=True)}
    assert [claim.verdict for claim in searching.speed_claims(held)] == [HOLDS] * 3
    lost = {name: {50: v, 100: 2.0 * v} for name, v in zip(rows, (1, 3, 6, 9, 2), strict=True)}
    assert [claim.verdict for claim in searching.speed_claims(lost)] == [FAILS] * 3


def test_a_missing_package_leaves_its_row_out(monkeypatch):
    build = searching.build_neighbours

    def without(theta, *, metric, method):
        if method == "hnsw":
            raise MissingExtra("the index hnsw", extra="vectors")
        return build(theta, metric=metric, method=method)

    monkeypatch.setattr(searching, "build_neighbours", without)
    methods = {"scan": ["hellinger", "scan"], "HNSW": ["hellinger", "hnsw"]}
    found = searching.measure(draws.draw(60, 5, 0.5), methods, n_queries=5)
    assert [*found.found] == ["scan"]
    assert found.missing == ["HNSW"]
    assert "Left out, not installed: HNSW." in searching._tables(found, 5)[0].note


def test_topics_are_searched_and_fused(results):
    by_measure = {table.title: table for table in results["table-2"].tables}
    assert [*by_measure] == ["MAP", "P@10", "R@10"]
    assert by_measure["P@10"].columns == ("patents", "cran", "med", "all queries")
    assert row(by_measure["MAP"], retrieval.FUSED).published == {"patents": 0.232}
    # Each topic has words of its own: to ask for some of them is to ask for it.
    assert means(by_measure["P@10"], retrieval.HE)["all queries"] > 0.9


def test_more_topics_find_more(results):
    table = results["table-3"].tables[0]
    found = means(table, retrieval.JS)
    assert found["T = 6"] > found["T = 2"]
    assert retrieval.BY_TOPICS["JS"] == (0.212, 0.266, 0.306, 0.343)
    assert retrieval.BY_TOPICS["He"] == (0.222, 0.273, 0.320, 0.345)


def test_published_speeds_are_over_the_most_topics():
    assert searching._published(500)[searching.TREE][500] == 98.4
    assert searching._published(100)[searching.TREE][50] == pytest.approx(793.6 / 4)
    assert searching._published(300) == {}


def test_fusions_are_compared(results):
    ten, precision = results["table-5"].tables
    assert row(ten, "CombSUM").published == {"by score": 0.174, "by rank": 0.187}
    assert "CombMNZ by rank" in [one.name for one in precision.rows]
    assert results["table-5"].claims[1].verdict == HOLDS


def fused(levels):
    values = retrieval.Values()
    for i, (name, level) in enumerate(levels.items()):
        values.put("cran", name, LOW + level + i % 3 * NOISE)
    return values


def test_claims_of_fusion():
    rows = {f"{one} by {by}": 0.1 for one in retrieval.COMBINED for by in ("score", "rank")}
    rows |= {retrieval.WORDS: 0.0, retrieval.JS: 0.0, retrieval._WEIGHTED: 0.2}
    best = {f"Comb{which} by rank": 0.3 for which in ("SUM", "MNZ")}
    held = retrieval.fusion_claims(fused(rows | best), fused(rows | best))
    assert [claim.verdict for claim in held] == [HOLDS] * 5
    worst = {"CombMIN by rank": 0.5, "CombSUM by rank": -0.2, retrieval._WEIGHTED: -0.1}
    lost = retrieval.fusion_claims(fused(rows | worst), fused(rows | worst))
    assert [claim.verdict for claim in lost] == [FAILS] * 5


def test_claims_of_retrieval_and_of_topics():
    names = [retrieval.WORDS, retrieval.JS, retrieval.HE, *searching.LSH.values()]
    names += [retrieval.TREE, retrieval.FUSED]
    held = fused(dict(zip(names, (0.3, 0.1, 0.1, -0.2, 0, 0.1, 0.1, 0.4), strict=True)))
    assert [c.verdict for c in retrieval.retrieval_claims(held, held)] == [HOLDS] * 4
    lost = fused(dict(zip(names, (0, 0.2, 0.1, 0.1, 0, 0, 0.1, -0.1), strict=True)))
    assert [c.verdict for c in retrieval.retrieval_claims(lost, lost)] == [FAILS] * 4
    more = fused(dict(zip(names, (0, 0.3, 0.3, 0, 0, 0.3, 0.3, 0), strict=True)))
    growing = {50: held.every, 100: more.every}
    assert [c.verdict for c in retrieval.topic_claims(growing)] == [HOLDS] * 4
    falling = {50: more.every, 100: lost.every}
    assert [c.verdict for c in retrieval.topic_claims(falling)] == [FAILS] * 4


def test_documents_without_topics_are_no_neighbours(data):
    bench = Bench(data, {"sweeps": 5}, threads=1)
    ready = bench.open("cran")
    docs, shares = distributions(fitted(bench, ready, 3))
    assert len(docs) == ready.snapshot.n_docs - 1
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-5)
    assert fitted(bench, ready, 3) is fitted(bench, ready, 3)


def test_results_are_plain_values(results):
    for result in results.values():
        assert read_result(json.loads(json.dumps(result.to_json()))).claims == result.claims

import json
from dataclasses import replace

import numpy as np
import pytest

from likewise.evaluate.risk import measure_risk
from likewise.evaluate.trec import Run
from likewise.records import Query
from likewise_papers.bench import Bench
from likewise_papers.data import JUDGED, Data
from likewise_papers.experiment import FAILS, HOLDS, UNTESTABLE, read_result
from likewise_papers.judged import of_collection, of_names, sign_test
from likewise_papers.papers.perturbation import PAPER
from likewise_papers.papers.perturbation.choosing import choose, pick
from likewise_papers.papers.perturbation.curves import (
    JACCARD,
    LOO,
    PUBLISHED_GAINS,
    PUBLISHED_LOSSES,
    RM3,
    TAT,
    claims,
    dominated,
)
from likewise_papers.papers.perturbation.picture import apart, drawn, judge, quadrants
from likewise_papers.running import run_one

EXPERIMENTS = {one.name: one for one in PAPER.experiments}
SUBJECTS = {
    "sea": "ship harbour sail anchor tide crew mast wave",
    "air": "wing flight pilot engine cloud lift wave runway",
    "war": "attack carrier bomber fleet battle enemy admiral gun",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small collection of three subjects whose documents share words, with judged queries."""
    to = tmp_path_factory.mktemp("data") / "tiny"
    to.mkdir()
    generator = np.random.default_rng(0)
    documents, qrels = [], []
    for i in range(90):
        subject = [*SUBJECTS][i % 3]
        other = [*SUBJECTS][int(generator.integers(3))]
        words = [*generator.choice(SUBJECTS[subject].split(), 9)]
        words += [*generator.choice(SUBJECTS[other].split(), 3), subject]
        documents.append({"id": f"d{i}", "text": " ".join(words), "category": f"all.{subject}"})
        qrels += [f"{qid} 0 d{i} 1" for qid in SUBJECTS if qid == subject]
    queries = [{"id": "sea", "text": "ship wave"}, {"id": "air", "text": "wing wave"}]
    queries += [{"id": "war", "text": "fleet battle gun"}]
    (to / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (to / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (to / "qrels.txt").write_text("\n".join(qrels) + "\n")
    return to.parent


@pytest.fixture(scope="module")
def data(folder, tmp_path_factory):
    return Data([folder], tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def ready(data):
    return data.open("tiny")


def run(data, name, tmp_path, **setting):
    one = EXPERIMENTS[name]
    small = replace(one, setting={**one.setting, **setting}, quick={}, on=(JUDGED,), beside=())
    result = run_one(PAPER, small, data, kept=tmp_path, threads=1).result
    assert read_result(result.to_json()) is not None
    return result


def test_figure_2(data, tmp_path):
    result = run(
        data,
        "figure-2",
        tmp_path,
        queries={"tiny": "ship wave"},
        words=12,
        docs=60,
    )
    [drawing] = result.drawings
    points = np.array(drawing.extra["points"])
    assert drawing.kind == "words"
    assert drawing.extra["labels"][:2] == ["ship", "wave"]
    assert sum(drawing.extra["marked"]) == 2
    assert points.shape == (14, 2)
    assert "without ‘ship’" in drawing.x_label
    [table] = result.tables
    assert 0 <= table.rows[0].values["tiny"].mean <= 1


def test_figure_2_of_other_collections_has_no_picture(data, tmp_path):
    result = run(data, "figure-2", tmp_path, queries={"elsewhere": "ship wave"})
    assert not result.drawings
    assert result.claims[0].verdict != UNTESTABLE


def test_without_judged_words_noise_cannot_be_told():
    assert judge({}).verdict == judge({"tiny": np.array([0.6])}).verdict == UNTESTABLE


def test_a_query_of_one_word_is_not_drawn(ready):
    assert len(drawn(ready, "ship wave", words=5, docs=20).extra["labels"]) == 7
    assert drawn(ready, "unheard", words=5, docs=20) is None


def test_noise_is_apart_or_not():
    kinds = np.array([True, True, False, False])
    near = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]], float)
    assert apart(near, kinds) == 1
    assert apart(9 - near, kinds) == 0
    assert apart(np.ones((4, 4)), kinds) == 0.5


def test_the_verdict_on_noise_goes_both_ways():
    above = np.linspace(0.55, 0.7, 40)
    assert judge({"one": above}).verdict == HOLDS
    assert judge({"one": 1 - above}).verdict == FAILS
    assert judge({"one": np.concatenate([above, 1 - above])}).verdict == FAILS
    assert judge({}).verdict == UNTESTABLE


def test_quadrants_name_each_word_once():
    points = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], float)
    told = quadrants(points, ["a", "b", "c", "d"], ["x", "y"])
    assert told == (
        "less likely without each of x and y: a; without x only: b; without y only: c; "
        "without none of them: d"
    )


def test_figure_3(data, tmp_path):
    result = run(data, "figure-3", tmp_path, shares=[0.0, 0.5, 1.0])
    assert len(result.claims) == 7
    gains, at_1000, at_100, hurt = result.tables
    assert [row.name for row in gains.rows] == [LOO, JACCARD, TAT, RM3]
    assert gains.rows[0].published == {"TREC 8": 14.5, "gov2": 9.78}
    assert at_1000.rows[1].published == {"TREC 8": 307, "gov2": 2605}
    assert not at_100.rows[0].published
    assert all(row.values["sum"].mean >= 0 for row in hurt.rows)
    *sets, _, together = result.drawings
    assert [one.kind for one in result.drawings] == ["risk"] * 3
    # One set is all sets.
    assert sets[0].panels[0]["lines"] == together.panels[0]["lines"]
    assert together.extra["marks"] == ["α = 0", "α = .5", "α = 1"]
    assert [tuple(line[0]) for line in together.panels[0]["lines"].values()] == [(0, 0)] * 4


def test_published_values():
    assert PUBLISHED_GAINS[LOO] == {"TREC 8": 14.5, "gov2": 9.78}
    assert PUBLISHED_GAINS[JACCARD] == {"TREC 8": 8.68, "gov2": 8.13}
    assert PUBLISHED_LOSSES[LOO] == {"TREC 8": 262, "gov2": 2555}
    assert PUBLISHED_LOSSES[JACCARD] == {"TREC 8": 307, "gov2": 2605}


def test_a_curve_dominates_points_below_and_to_the_right():
    line = [(0, 0), (10, 5), (20, 15)]
    assert dominated(line, [(10, 5), (15, 9), (30, 15)]) == [True, True, True]
    assert dominated(line, [(5, 5), (15, 11), (30, 15.1)]) == [False, False, False]


class Stub:
    """A collection of which all is known: a run is the change of AP of each query."""

    name = "one"
    plain = np.zeros(40)

    def ap(self, run):
        return 0.5 + run

    def change(self, run):
        return run

    def hurt(self, run):
        return run < 0

    def lost(self, run, depth):
        return 1.0 * (run < 0)


class Straight:
    """A curve through points."""

    def __init__(self, *points):
        self.points = points

    def line(self, at):
        return [(0.0, 0.0), *self.points]


def test_verdicts_of_curves(data):
    n = np.arange(40)
    good, poor = np.where(n < 2, -0.1, 0.2), np.where(n < 14, -0.1, 0.15)
    steep, flat = Straight((5, 8), (9, 15)), Straight((6, 4), (30, 9))
    bench = Bench(data, {"at": 0.5, "shares": [0.0, 0.5, 1.0]})
    runs = {LOO: [good], JACCARD: [poor], TAT: [poor], RM3: [poor]}
    found = {LOO: [steep], JACCARD: [flat], TAT: [flat], RM3: [flat]}
    held = claims(bench, [Stub()], runs, found)
    assert [claim.verdict for claim in held] == [HOLDS] * 7
    turned = {LOO: [poor - 0.1], JACCARD: [good], TAT: [good], RM3: [good]}
    curves = {LOO: [flat], JACCARD: [steep], TAT: [steep], RM3: [steep]}
    failed = claims(bench, [Stub()], turned, curves)
    assert [claim.verdict for claim in failed] == [FAILS] * 7
    # What is equal is not above, nor below.
    same = claims(bench, [Stub()], {way: [good] for way in runs}, {way: [steep] for way in runs})
    verdicts = [claim.verdict for claim in same]
    assert verdicts == [FAILS, FAILS, FAILS, HOLDS, HOLDS, FAILS, FAILS]


def test_losses_add_up_to_r_loss(ready):
    judged = of_collection(ready, 1)
    for how in ("rm3(docs=3)", "robust(docs=5,share=1)"):
        run = judged.run(how)
        risk = measure_risk(judged.plain, run, judged.qrels, measures="AP", depths=(20, 5))
        assert [loss.lost for loss in risk.losses] == [judged.lost(run, d).sum() for d in (20, 5)]
        assert risk.changes.hurt == judged.hurt(run).sum()
        assert np.isclose(risk.percent, 100 * judged.change(run).mean())


def test_parameters_are_chosen_on_other_folds():
    before = [np.full(3, 0.5)]
    good, risky = 0.5 + np.array([0.05, 0.05, 0.05]), 0.5 + np.array([0.4, 0.4, -0.25])
    for loss, kept, best in ((0.0, 3, 1), (5.0, 3, 0), (5.0, 2, 1)):
        which = pick(before, [[good], [risky]], loss, lambda n, kept=kept: np.arange(n) < kept)
        assert which == best
    # A set counts by what it gains over its own queries that are kept.
    before = [np.array([0.1, 0.9]), np.array([0.4, 0.4])]
    after = [[np.array([0.2, 0.9]), before[1]], [before[0], np.array([0.7, 0.4])]]
    assert pick(before, after, 0.0, lambda n: np.arange(n) < 1) == 0
    assert pick(before, after, 0.0, lambda n: np.arange(n) < 2) == 1


def test_what_is_chosen_is_measured_on_other_queries():
    """Each half is best at a setting of its own: whoever looked at his own half would find it."""
    asked = [Query(str(i)) for i in range(10)]
    ap = {"none": np.full(10, 0.5)}
    ap |= {half: np.where(np.arange(10) % 2 == i, 0.9, 0.1) for i, half in enumerate("ab")}

    class Known:
        plain, queries = Run("none"), asked

        def run(self, how):
            return Run(how, {query.qid: [(how, 1.0)] for query in asked})

        def ap(self, run):
            return ap[run.name]

    [run], _ = choose([Known()], "x", ["a", "b"], folds=2, loss=0.0)
    assert [run[query.qid][0][0] for query in asked] == ["b", "a"] * 5


def test_one_setting(data, tmp_path):
    grids = {"rm3": ["rm3(docs=3)", "rm3(docs=5)"]}
    defaults = {"rm3": "rm3", "robust loo": "robust"}
    result = run(data, "one-setting", tmp_path, grids=grids, defaults=defaults, folds=2)
    assert len(result.tables) == 4
    assert [row.name for row in result.tables[0].rows] == ["BM25", "rm3", "robust loo"]
    assert "rm3: rm3(docs=" in result.tables[3].note
    # Of three queries nothing can be told.
    assert [(claim.verdict, claim.ours) for claim in result.claims] == [(UNTESTABLE, True)]


def test_names_of_categories_are_queries(ready):
    judged = of_names(ready, "category", least=5, last=True, threads=1)
    assert sorted(query.text for query in judged.queries) == ["air", "sea", "war"]
    assert all(len(judged.qrels.relevant(query.qid)) == 30 for query in judged.queries)
    whole = of_names(ready, "category", least=5, last=False, threads=1)
    assert sorted(query.text for query in whole.queries) == ["all air", "all sea", "all war"]
    assert not of_names(ready, "category", least=31, last=True, threads=1).queries


def test_names(data, tmp_path):
    defaults = {"rm3": "rm3", "robust loo": "robust"}
    result = run(data, "names", tmp_path, defaults=defaults)
    assert [table.columns[0] for table in result.tables] == ["tiny", "mean gain, %"]
    empty = run(data, "names", tmp_path, least=1000, defaults=defaults)
    assert [(claim.verdict, claim.ours) for claim in empty.claims] == [(UNTESTABLE, True)]


def test_the_sign_test():
    assert sign_test(0, 0) == 1
    assert sign_test(1, 9) < 0.05 < sign_test(4, 6)


def test_settings_are_plain_values():
    for one in PAPER.experiments:
        assert json.loads(json.dumps(dict(one.setting))) == one.setting
        assert {*one.quick} <= {*one.setting}

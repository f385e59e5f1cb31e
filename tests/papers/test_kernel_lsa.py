import json
from dataclasses import replace

import numpy as np
import pytest

from likewise_papers.bench import Bench, measured, search
from likewise_papers.data import ALIKE, JUDGED, Data
from likewise_papers.experiment import FAILS, HOLDS, UNTESTABLE, read_result
from likewise_papers.judged import of_titles
from likewise_papers.papers.kernel_lsa import PAPER
from likewise_papers.papers.kernel_lsa.figure import Set, choose, figure_claims
from likewise_papers.papers.kernel_lsa.pipelines import DEFAULT, WAYS
from likewise_papers.running import run_one

from .made_up import write_collection

EXPERIMENTS = {one.name: one for one in PAPER.experiments}
FIRST, SHARES = (1, 5), (0.0, 0.9)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Documents of four topics: with judged queries, and with labels and links."""
    random = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("data")
    for name in ("asked", "labelled"):
        (folder / name).mkdir()
        lines = []
        for i in range(60):
            own = [f"word{i % 4}x{'abcdefgh'[j]}" for j in random.integers(0, 8, 12)]
            shared = [f"common{'abcdefghij'[j]}" for j in random.integers(0, 10, 6)]
            one = {"id": str(i), "title": " ".join(own[:2]), "text": " ".join([*own, *shared])}
            if name == "labelled":
                one |= {"category": f"word{i % 4}xa", "links": [str((i + 4) % 60), str(i)]}
            lines.append(json.dumps(one))
        (folder / name / "corpus.jsonl").write_text("\n".join(lines))
    queries = [{"id": f"q{q}", "text": f"word{q % 4}xa common{'abcdefgh'[q]}"} for q in range(8)]
    (folder / "asked" / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    judged = "".join(f"q{q} 0 {i} 1\n" for q in range(8) for i in range(q % 4, 60, 4))
    (folder / "asked" / "qrels.txt").write_text(judged)
    return Data([folder], tmp_path_factory.mktemp("work"))


def run(data, name, tmp_path, **setting):
    one = EXPERIMENTS[name]
    small = {**one.setting, "axes": 8, **setting}
    done = run_one(PAPER, replace(one, setting=small, beside=()), data, kept=tmp_path, threads=1)
    assert read_result(done.result.to_json()) is not None
    return done.result


def means(table, row):
    found = next(one for one in table.rows if one.name == row)
    return {column: value.mean for column, value in found.values.items()}


def test_the_figure(data, tmp_path):
    result = run(data, "figure-1", tmp_path, first=FIRST, shares=SHARES, folds=2)
    [table], [drawing] = result.tables, result.drawings
    ready = data.open("asked")
    plain = measured(ready, search(ready, "bm25(k1=2)")).mean()
    assert means(table, "BM25")["asked"] == pytest.approx(plain)
    [panel] = drawing.panels
    assert {*panel["lines"]} == {"z = 1", "z = 5"}
    # Nothing of the smoothed scores is plain BM25.
    assert all(line[0][1] == pytest.approx(plain) for line in panel["lines"].values())
    best = max(y for line in panel["lines"].values() for _, y in line)
    best_row = "the best z and λ of each set, chosen on these queries"
    assert means(table, best_row)["asked"] == pytest.approx(best)
    assert len(result.claims) == 5


def sets(*, good=(1, 0.9), n=20):
    noise = np.where(np.arange(n) % 2, 0.01, -0.01)
    low = 0.3 + noise / 7
    found = {(z, share): low + (0.01 if share else 0) / z for z in FIRST for share in SHARES}
    found[good] = low + 0.1 + noise
    return {name: Set(found, low, low + 0.02) for name in ("one", "two")}


def test_claims_of_the_figure_can_hold_and_fail():
    for good, expected in (((1, 0.9), [HOLDS] * 5), ((5, 0.9), [FAILS] * 3 + [HOLDS] * 2)):
        made = sets(good=good)
        found = figure_claims(made, choose(made, 5), FIRST)
        assert [claim.verdict for claim in found] == expected
    few = sets(n=4)
    assert [claim.verdict for claim in figure_claims(few, choose(few, 2), FIRST)][2:] == (
        [UNTESTABLE] * 3
    )


def test_what_is_chosen_is_chosen_on_other_queries():
    """Each half is best at a setting of its own: whoever looks at his own half would find it."""
    even = np.arange(10) % 2 == 0
    found = {(1, 0.9): np.where(even, 0.9, 0.1), (5, 0.9): np.where(even, 0.1, 0.9)}
    made = {"one": Set(found, np.full(10, 0.5), np.full(10, 0.5))}
    assert choose(made, 2)["one"].tolist() == [0.1] * 10


def test_pipelines(data, tmp_path):
    result = run(data, "one-setting", tmp_path)
    aps, gains = result.tables
    assert aps.columns == ("asked",)
    assert [row.name for row in aps.rows] == ["BM25", "LSI", *WAYS]
    assert [row.name for row in aps.rows if row.ours] == ["klsa", "robust", DEFAULT]
    plain, ours = means(aps, "BM25")["asked"], means(aps, DEFAULT)["asked"]
    assert means(gains, DEFAULT)["mean gain, %"] == pytest.approx(100 * (ours / plain - 1))
    assert all(claim.ours for claim in result.claims)


def test_queries_of_other_kinds(data, tmp_path):
    result = run(data, "unseen", tmp_path)
    assert result.tables[0].columns == ("labelled", "labelled, titles (links)")
    write_collection(tmp_path / "few", judged=False, category="c")
    few = Data([tmp_path / "few"], tmp_path / "work")
    claims = run(few, "unseen", tmp_path).claims
    assert [(claim.verdict, claim.ours) for claim in claims] == [(UNTESTABLE, True)]


def test_who_asks_by_a_title_is_not_an_answer(data):
    judged = of_titles(data.open("labelled"), "links", threads=1)
    assert len(judged.queries) == 60
    assert all(qid not in dict(judged.plain[qid]) for qid in judged.plain)
    assert all(judged.qrels.relevant(qid) == {str((int(qid) + 4) % 60): 1} for qid in judged.plain)


def test_kinds_of_collections(data):
    assert data.of([JUDGED]) == ("asked",)
    assert data.of([ALIKE]) == ("labelled",)
    assert Bench(data, {}, sets=data.of([ALIKE])).sets == ("labelled",)

import json
from dataclasses import replace

import numpy as np
import pytest

from likewise.errors import UsageError
from likewise.evaluate.measures import evaluate
from likewise.evaluate.trec import Qrels, Run
from likewise.models.fitting import FitJob, fit_model, read_config
from likewise.models.stored_vectors import StoredVectors
from likewise.models.topics import TopicModel
from likewise_papers.bench import Bench
from likewise_papers.data import Data
from likewise_papers.experiment import FAILS, HOLDS, UNTESTABLE, read_result
from likewise_papers.papers.decomposition import PAPER, apart, cost, figures, methods
from likewise_papers.papers.decomposition.tasks import make_task
from likewise_papers.running import run_one

EXPERIMENTS = {one.name: one for one in PAPER.experiments}
SMALL = {"queries": 20, "topics": 4, "words": 5, "sweeps": 12, "tokens": 0, "depth": 10}
SAME, LINKED = "tiny, category", "tiny, see also"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Documents of four subjects, each also about a word of its own; neighbours link."""
    to = tmp_path_factory.mktemp("data") / "tiny"
    to.mkdir()
    generator = np.random.default_rng(0)
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(120)]
    lines = []
    for i in range(80):
        own = generator.choice(words[30 * (i % 4) : 30 * (i % 4) + 30], 25)
        text = " ".join([*own, *generator.choice(words, 8), *[f"own{i // 8}x"] * 3])
        document = {"id": f"d{i}", "text": text, "category": f"c{i % 4}"}
        lines.append(json.dumps(document | {"see_also": [f"d{(i + 4) % 80}"]}))
    (to / "corpus.jsonl").write_text("\n".join(lines))
    return Data([to.parent], tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def ready(data):
    return data.open("tiny")


@pytest.fixture
def bench(data):
    return Bench(data, SMALL, sets=("tiny",), threads=1)


def run(data, name, tmp_path, **setting):
    one = EXPERIMENTS[name]
    small = {**one.setting, **SMALL, **setting}
    result = run_one(
        PAPER,
        replace(one, setting=small, quick={}, beside=()),
        data,
        kept=tmp_path,
        threads=1,
    ).result
    assert read_result(result.to_json()) is not None
    return result


def test_methods(data, tmp_path):
    result = run(data, "methods", tmp_path)
    [table] = result.tables
    assert table.columns == (SAME, LINKED)
    assert [row.name for row in table.rows if row.ours] == [methods.OURS, methods.SPAN]
    assert len(table.rows) == 11
    means = {row.name: row.values[SAME].mean for row in table.rows}
    assert all(0 <= value <= 1 for value in means.values())
    # Chance is .24.
    assert means[methods.OURS] > 0.5
    assert len(result.claims) == 6


def test_over_topics(data, tmp_path):
    result = run(data, "topics", tmp_path, over=[2, 4, 6], published=4)
    assert [table.title for table in result.tables] == [f"P@10, {SAME}", f"P@10, {LINKED}"]
    assert result.tables[0].columns == ("2 topics", "4 topics", "6 topics")
    accurate, indexed = result.drawings
    assert len(accurate.panels) == 2
    assert {*accurate.panels[0]["levels"]} == {methods.TFIDF, methods.LSH}
    # What can be told apart in one panel.
    assert all(len(panel["lines"]) <= 6 for one in result.drawings for panel in one.panels)
    assert {figures.TWO_DDM, methods.DDM} < {*indexed.panels[0]["lines"]}


def test_over_words(data, tmp_path):
    result = run(data, "words", tmp_path, over=[1, 5, 20])
    assert result.tables[0].columns == ("1 words", "5 words", "20 words")
    assert all(len(panel["lines"]) <= 6 for one in result.drawings for panel in one.panels)
    assert len(result.claims) == 5


def test_cost(data, tmp_path):
    result = run(data, "cost", tmp_path, answers=[5, 10], top=10, asked=5)
    fit, times = result.tables
    rows = {row.name: row for row in fit.rows}
    assert rows["documents fitted on"].values["tiny"].mean == 80
    assert rows["documents fitted on"].published == {cost.THEIRS: 100_000}
    assert rows["words"].published == {cost.THEIRS: 163_871}
    rows = {row.name: row for row in times.rows}
    assert rows["taking apart, DDM"].published == {cost.THEIRS: 4.5}
    assert rows["10 answers, two levels, DDM"].published == {cost.THEIRS: 13}
    assert rows["10 answers, accurate, DDM"].published == {cost.THEIRS: 25_000}
    assert all(row.values["tiny"].mean > 0 for row in times.rows)
    assert [claim.verdict for claim in result.claims][2:] == [UNTESTABLE, UNTESTABLE]


def measured(docs, *, two=1.0, scan=5.0, inference=1.0):
    query = {(cost.DDM, cost.TWO): {50: two}, (cost.DDM, cost.SCAN): {50: scan}}
    return cost.Measured(docs, {}, {cost.DDM: inference}, query)


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        ([measured(5000)], [HOLDS, HOLDS, UNTESTABLE, UNTESTABLE]),
        ([measured(5000, inference=4.6, two=14)], [FAILS, FAILS, UNTESTABLE, UNTESTABLE]),
        ([measured(5000, scan=200)], [HOLDS, HOLDS, HOLDS, UNTESTABLE]),
        ([measured(2_000_000, scan=40)], [HOLDS, HOLDS, FAILS, UNTESTABLE]),
        ([measured(5000), measured(2_000_000, two=1.5, scan=200)], [HOLDS] * 4),
        ([measured(5000), measured(2_000_000, two=3, scan=200)], [HOLDS, HOLDS, FAILS, FAILS]),
    ],
)
def test_verdicts_of_cost(found, verdicts):
    claims = cost.claims({str(i): one for i, one in enumerate(found)}, 50)
    assert [claim.verdict for claim in claims] == verdicts


def around(mean, seed=0, n=60):
    return np.clip(mean + np.random.default_rng(seed).normal(0, 0.02, n), 0, 1)


def test_verdicts_of_methods():
    order = [methods.DDM, methods.LDA_DS, methods.LSI_DS, methods.MIXED, methods.TFIDF]
    order += [methods.TOPN, methods.TOPICS, methods.WORDS, methods.LSH]
    means = dict(zip(order, (0.9, 0.895, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.2), strict=True))
    means |= {methods.OURS: 0.95, methods.SPAN: 0.94}
    noise = around(0)
    found = {name: {"one": np.clip(mean + noise, 0, 1)} for name, mean in means.items()}
    found[methods.LDA_DS] = found[methods.DDM]
    assert [claim.verdict for claim in methods.claims(found)] == [HOLDS] * 6
    turned = {name: {"one": 1 - values["one"]} for name, values in found.items()}
    turned[methods.LDA_DS] = {"one": turned[methods.DDM]["one"] - 0.1}
    assert [claim.verdict for claim in methods.claims(turned)] == [FAILS] * 6


def swept(means, numbers):
    return {
        name: {"one": {n: around(mean, seed=n) for n, mean in zip(numbers, of, strict=True)}}
        for name, of in means.items()
    }


def test_verdicts_of_figures():
    numbers = (50, 250, 500)
    means = {methods.TOPICS: (0.3, 0.4, 0.5), methods.WORDS: (0.5, 0.4, 0.3)}
    means |= {methods.DDM: (0.5, 0.7, 0.6), methods.LSI_DS: (0.5, 0.7, 0.6)}
    found = swept(means, numbers)
    found[figures.TWO_DDM], found[figures.TWO_LSI] = found[methods.DDM], found[methods.LSI_DS]
    held = [claim.verdict for claim in figures.topic_claims(found, 250)]
    assert held == [HOLDS] * 5
    found[methods.TOPICS], found[methods.WORDS] = found[methods.WORDS], found[methods.TOPICS]
    found[figures.TWO_DDM] = swept({"two": (0.4, 0.5, 0.5)}, numbers)["two"]
    failed = [claim.verdict for claim in figures.topic_claims(found, 50)]
    assert failed == [FAILS] * 5
    # Nothing was measured beyond.
    assert figures.topic_claims(found, 500)[2].verdict == UNTESTABLE
    assert figures.topic_claims(found, 100)[2].verdict == UNTESTABLE


def test_verdicts_of_words():
    numbers = (5, 15, 50)
    means = {methods.TOPN: (0.2, 0.3, 0.4), methods.MIXED: (0.5, 0.5, 0.5)}
    means |= {methods.DDM: (0.6, 0.7, 0.7), methods.LSI_DS: (0.5, 0.7, 0.6)}
    found = swept(means, numbers)
    found[figures.TWO_DDM], found[figures.TWO_LSI] = found[methods.DDM], found[methods.LSI_DS]
    assert [claim.verdict for claim in figures.word_claims(found, 15)] == [HOLDS] * 5
    found[methods.DDM], found[methods.TOPN] = found[methods.TOPN], found[methods.DDM]
    found[figures.TWO_DDM] = swept({"two": (0.1, 0.1, 0.1)}, numbers)["two"]
    assert [claim.verdict for claim in figures.word_claims(found, 15)] == [FAILS] * 5


def test_precision_is_that_of_ir_measures(ready, bench):
    task = make_task(ready, "category", "same", queries=20, seed=0)
    ranker = apart.whole(ready.snapshot)
    run, qrels = Run("tfidf"), Qrels()
    rankings = [ranker.rank(question, k=10)[0] for question in task.questions]
    for question, relevant, (docs, scores) in zip(
        task.questions, task.relevant, rankings, strict=True
    ):
        ids = ready.snapshot.doc_ids(docs)
        run.add(question.qid, zip(ids, scores.tolist(), strict=True))
        for doc_id in ready.snapshot.doc_ids(np.array(sorted(relevant))):
            qrels.add(question.qid, doc_id, grade=1)
    expected = evaluate(run, qrels, measures="P@10")["P@10"]
    assert np.allclose(task.precision(ranker), expected)


def test_links_count_one_way_or_both(ready):
    one = make_task(ready, "see_also", "links", queries=0, seed=0)
    both = make_task(ready, "see_also", "linked", queries=0, seed=0)
    assert {len(relevant) for relevant in one.relevant} == {1}
    assert {len(relevant) for relevant in both.relevant} == {2}
    assert len(make_task(ready, "see_also", "links", queries=7, seed=0).questions) == 7
    with pytest.raises(UsageError, match="same, links or linked"):
        make_task(ready, "see_also", "else", queries=0, seed=0)


@pytest.mark.parametrize("words", [0, 3, 75])
@pytest.mark.parametrize("kind", ["ddm(topics=4,sweeps=12)", "lsi(topics=4)"])
def test_fewer_words_are_those_that_would_be_kept(ready, kind, words):
    model = fit_model(ready.snapshot, read_config(kind), FitJob(threads=1))
    expected = StoredVectors(ready.snapshot, model, words=words).segments[0]
    [all_words] = StoredVectors(ready.snapshot, model).segments
    for mine, theirs in zip(apart.cut(all_words, words)[2:5], expected[2:5], strict=True):
        assert np.array_equal(mine, theirs)


def test_topics_of_lda_get_own_words(ready, bench):
    lda = apart.take_apart(bench, ready.snapshot, apart.LDA, 4).model
    both = apart.take_apart(bench, ready.snapshot, apart.LDA_DS, 4)
    assert isinstance(both.model, TopicModel)
    assert np.array_equal(both.model.word_topics, lda.word_topics)
    assert np.isclose(both.model.background.sum(), 1)
    assert len(both.segments[0].terms) > 0
    assert (both.segments[0].shares[:, 1] > 0).any()


def test_what_several_experiments_need_is_kept(ready, bench):
    one = apart.take_apart(bench, ready.snapshot, apart.LSI, 4)
    assert apart.take_apart(bench, ready.snapshot, apart.LSI, 4) is one
    other = apart.take_apart(bench, ready.snapshot, apart.LSI, 3)
    assert apart.take_apart(bench, ready.snapshot, apart.LSI, 3) is not other


def test_topics_are_fitted_on_so_many_tokens(ready, data):
    half = Bench(data, SMALL | {"tokens": int(ready.snapshot.average_length * 40)})
    assert apart.sampled(half, ready.snapshot).docs == 40
    assert apart.sampled(Bench(data, SMALL), ready.snapshot).docs == 0


def test_settings_are_plain_values():
    for one in PAPER.experiments:
        assert json.loads(json.dumps(dict(one.setting))) == one.setting
        assert one.setting["topics"] == 250
        assert one.setting["words"] == 15
        assert one.setting["depth"] == 50

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from likewise.expand.expansion import Feedback, WordSearch
from likewise.records import EMPTY
from likewise.retrieve.models import read_model
from likewise.retrieve.search import Retriever
from likewise_papers.bench import Bench
from likewise_papers.data import Data
from likewise_papers.experiment import FAILS, HOLDS, UNTESTABLE, read_result
from likewise_papers.papers.term_graph import PAPER, expansion, misplaced, prediction
from likewise_papers.papers.term_graph.lexicon import names_of
from likewise_papers.running import run_one

EXPERIMENTS = {one.name: one for one in PAPER.experiments}
SMALL = {
    "table-1": {"terms": 80, "tested": 20, "repeats": 2, "samples": [20, 80]}
    | {"kernels": ["resistance"], "routes": {"resistance": [["solve", 1e-4]]}},
    "table-2": {"terms": 60, "name_df": 2, "word_df": 2, "test": 8, "tuned": 10, "points": 2}
    | {"steps": 0, "topics": [4], "kernels": ["as published", "normalised, by document"]},
    "table-4": {"terms": 5},
}


def sentences(random, topic, n):
    """Sentences of words and names of a topic, and of words that all have."""
    said = []
    for _ in range(n):
        own = [f"word{topic}x{'abcdefgh'[i]}" for i in random.integers(0, 8, 4)]
        names = [f"GN{topic}{'ABCDE'[i]}" for i in random.integers(0, 5, 1)]
        shared = [f"common{'abcdefghij'[i]}" for i in random.integers(0, 10, 3)]
        said.append(" ".join([*own, *names, *shared]).capitalize() + ".")
    return " ".join(said)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Papers and further abstracts of four topics, and two collections with judged queries."""
    random = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("data")
    (folder / "elife").mkdir()
    for name, n in (("corpus", 40), ("more-abstracts", 40)):
        with gzip.open(folder / "elife" / f"{name}.jsonl.gz", "wt") as lines:
            for i in range(n):
                paper = {"id": f"{name}{i}", "title": f"paper {i}"}
                paper["abstract"] = sentences(random, i % 4, 5)
                paper |= {"body": sentences(random, i % 4, 20)} if name == "corpus" else {}
                lines.write(json.dumps(paper) + "\n")
    for name in ("cran", "med"):
        (folder / name).mkdir()
        documents = [{"id": str(i), "text": sentences(random, i % 4, 3)} for i in range(30)]
        queries = [{"id": f"q{t}", "text": f"word{t}xa word{t}xb"} for t in range(4)]
        judged = [f"q{i % 4} 0 {i} 1" for i in range(30)]
        write = {"corpus.jsonl": documents, "queries.jsonl": queries}
        for file, rows in write.items():
            (folder / name / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / name / "qrels.txt").write_text("\n".join(judged) + "\n")
    return Data([folder], tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def results(data, tmp_path_factory):
    kept = tmp_path_factory.mktemp("kept")
    small = {
        name: replace(one, setting={**one.setting, **SMALL[name]}, quick={})
        for name, one in EXPERIMENTS.items()
    }
    return {name: run_one(PAPER, one, data, kept=kept).result for name, one in small.items()}


def values(table, name):
    return {column: value.mean for column, value in row(table, name).values.items()}


def row(table, name):
    return next(one for one in table.rows if one.name == name)


def test_misplaced_pairs_are_counted(results):
    table, times = results["table-1"].tables
    few, many = (values(table, f"a sample of {p}%")["resistance"] for p in (20, 80))
    assert 0 <= many < few < 100
    assert values(table, "solving to 0.0001")["resistance"] < 1
    assert values(times, "dense decomposition of all terms")["resistance"] == 1
    assert results["table-1"].claims[1].verdict == UNTESTABLE


def test_published_shares_stand_by_the_first_kernel(results):
    table = results["table-1"].tables[0]
    assert row(table, "a sample of 20%").published == {"resistance": 16.0}
    assert [mean for mean, _ in misplaced.PUBLISHED.values()] == [16.0, 13.7, 8.9, 4.4]


def claims_of_sampling(wrong, *, n=5000, ours=0.01, seconds=0.1):
    sampled = {"resistance": {p: [mean, mean] for p, mean in wrong.items()}}
    solved = {"resistance": {"solving": (ours, seconds)}}
    taken = {p: [0.5] for p in wrong}
    return [
        claim.verdict
        for claim in misplaced.make_claims("resistance", n, sampled, taken, solved, 1.0)
    ]


def test_claims_of_sampling():
    as_published = {20: 15.5, 40: 13.1, 60: 8.7, 80: 4.3}
    assert claims_of_sampling(as_published) == [HOLDS, HOLDS, HOLDS]
    assert claims_of_sampling(as_published, n=1000) == [HOLDS, UNTESTABLE, HOLDS]
    assert claims_of_sampling(as_published | {40: 20.0}) == [FAILS, FAILS, HOLDS]
    assert claims_of_sampling(as_published, ours=5.0)[2] == FAILS
    assert claims_of_sampling(as_published, seconds=2.0)[2] == FAILS


def test_terms_are_told(results):
    table, over = results["table-2"].tables
    assert table.columns[0] == "names, all candidates"
    published = {one.name: [*one.published.values()] for one in table.rows if one.published}
    assert published == {
        "TF-IDF": [0.782],
        "PHITS": [0.781],
        "shortest path": [0.745],
        "diffusion, as published": [0.878],
        "resistance, as published": [0.883],
        "non-parametric, as published": [0.870],
    }
    # Topics share no name, so that whoever asks what is near finds the right ones.
    told = values(table, "resistance, normalised, by document")
    assert told["names, all candidates"] > 0.9
    assert values(table, "TF-IDF")["names, all candidates"] < 0.7
    assert "TF-IDF" not in [one.name for one in over.rows]
    assert len(results["table-2"].claims) == 5


def made_up(levels):
    noise = np.where(np.arange(60) % 2, 0.01, -0.01)
    return {"names": {name: 0.5 + level + i * noise for i, (name, level) in enumerate(levels)}}


def test_claims_of_prediction():
    names = [*prediction.BASELINES, *map(prediction.kernel_row, prediction.KERNELS)]
    held = prediction.make_claims(made_up(zip(names, (0, 0, 0, 0.2, 0.3, 0.2), strict=True)))
    assert [claim.verdict for claim in held] == [HOLDS, HOLDS, HOLDS, UNTESTABLE, UNTESTABLE]
    lost = prediction.make_claims(made_up(zip(names, (0, 0.3, 0, 0.2, 0.1, 0.1), strict=True)))
    assert [claim.verdict for claim in lost[:3]] == [FAILS, FAILS, FAILS]
    names.append(prediction.OURS + prediction.OWN_FIRST)
    first = prediction.make_claims(made_up((name, i / 10) for i, name in enumerate(names)))
    last = prediction.make_claims(made_up((name, -i / 10) for i, name in enumerate(names)))
    assert (first[-1].verdict, last[-1].verdict) == (HOLDS, FAILS)


def test_names_are_told_from_words():
    assert names_of("TP53 and mTORC1 bind a DNA of p21, not Wing or x1") == [
        "TP53",
        "mTORC1",
        "DNA",
        "p21",
    ]


def test_queries_are_expanded(results):
    table, risks = results["table-4"].tables
    assert table.columns == (*expansion.TREC, "cran", "med")
    assert row(table, expansion.KERNEL).published == {
        "Genomics 03": 0.24,
        "Genomics 04": 0.37,
        "Ad Hoc 7": 0.22,
        "Ad Hoc 8": 0.25,
    }
    assert [*row(table, "RM3").published] == []
    assert {*values(table, expansion.KERNEL)} == {"cran", "med"}
    assert values(table, expansion.KERNEL) != values(table, expansion.NONE)
    changed = values(risks, expansion.KERNEL)
    assert 0 < changed["helped"] + changed["hurt"] <= 8


def test_claims_of_expansion():
    low, noise = np.full(40, 0.3), np.where(np.arange(40) % 2, 0.01, -0.01)

    def judged(kernel, ours):
        rows = {expansion.NONE: low, expansion.PRF: low + 0.1}
        rows |= {expansion.KERNEL: low + kernel + noise, expansion.OURS: low + ours + noise}
        return [claim.verdict for claim in expansion.make_claims({"cran": rows})]

    assert judged(0.2, 0.1) == [HOLDS, HOLDS, HOLDS, HOLDS]
    assert judged(0.05, -0.1) == [HOLDS, FAILS, FAILS, FAILS]


def test_a_query_without_a_known_word_is_left_alone(data):
    bench = Bench(data, {})
    snapshot = bench.open("cran").snapshot
    search = WordSearch(Retriever(snapshot, read_model("bm25")))
    [term] = snapshot.analyzer.terms("word0xa")
    asked = [Feedback({"unknown": 1.0}, EMPTY), Feedback({term: 1.0}, EMPTY)]
    skipped, grown = expansion.NearestTerms(terms=3).expand(asked, search)
    assert skipped.skipped_reason
    assert not skipped.terms
    assert len(grown.terms) == 4
    assert max(grown.terms, key=grown.terms.get) == term


def test_results_are_plain_values(results):
    for result in results.values():
        assert read_result(json.loads(json.dumps(result.to_json()))).claims == result.claims


def test_a_lexicon_that_bodies_do_not_have_is_left_out(tmp_path):
    random = np.random.default_rng(0)
    (tmp_path / "data" / "papers").mkdir(parents=True)
    lines = []
    for i in range(60):
        text = sentences(random, i % 4, 25).translate(str.maketrans("0123", "pqrs"))
        paper = {"id": str(i), "title": "a paper", "abstract": text[:500], "body": text[500:]}
        lines.append(json.dumps(paper | {"abstract": f"{paper['abstract']} TP53 is named."}))
    (tmp_path / "data" / "papers" / "corpus.jsonl").write_text("\n".join(lines))
    data = Data([tmp_path / "data"], tmp_path / "work")
    one = EXPERIMENTS["table-2"]
    small = replace(one, setting={**one.setting, **SMALL["table-2"]}, quick={})
    table = run_one(PAPER, small, data, kept=tmp_path / "kept").result.tables[0]
    assert all(column.startswith("words") for column in table.columns)
    assert "Names: left out, as too few papers have any." in table.note

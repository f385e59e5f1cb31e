"""Whatever collections hold, every experiment of every paper ends with claims and can be shown."""

import json
from dataclasses import replace

import pytest

from likewise_papers.data import JUDGED, Data
from likewise_papers.experiment import UNTESTABLE
from likewise_papers.page import page
from likewise_papers.papers import all_papers
from likewise_papers.running import run_one


def texts(n, **fields):
    """Make documents of a few words; fields may hang on the number."""
    documents = []
    for i in range(n):
        told = {name: value(i) if callable(value) else value for name, value in fields.items()}
        text = f"word{i % 3} common thing {'x' * (i % 4)}"
        documents.append({"id": str(i), "text": text, **told})
    return documents


def papers(n):
    documents = []
    for i in range(n):
        told = {"abstract": f"word{i % 3} common thing. Here is TP{i % 2}5 again."}
        documents.append({"id": str(i), "title": "t", "body": f"word{i % 2} TP{i % 3}5", **told})
    return documents


# Documents to be asked for, those relevant, documents that are alike, and papers.
ODD = {
    "empty": (
        [],
        [],
        [{"id": "0", "text": "", "category": "c"}],
        [{"id": "0", "abstract": "", "body": ""}],
    ),
    "one": (texts(1), ["0"], texts(1, category="c", links=["0"]), papers(1)),
    "few": (
        texts(6),
        ["1", "9"],
        texts(6, category=lambda i: i % 3, links=lambda i: [i, "1"]),
        papers(6),
    ),
    "all the same": (texts(30), [*map(str, range(30))], texts(30, categories=["c"]), papers(30)),
}


def write(folder, asked, relevant, alike, papers):
    for name, documents in {"asked": asked, "alike": alike, "papers": papers}.items():
        (folder / name).mkdir(parents=True)
        lines = "".join(json.dumps(one) + "\n" for one in documents)
        (folder / name / "corpus.jsonl").write_text(lines)
    queries = [{"id": "q", "text": "word1 thing"}, {"id": "r", "text": "unheard"}]
    (folder / "asked" / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    judged = "".join(f"{qid} 0 {doc_id} 1\n" for qid in "qr" for doc_id in relevant)
    (folder / "asked" / "qrels.txt").write_text(judged)


@pytest.mark.parametrize("kind", ODD)
def test_odd_collections_are_no_tracebacks(tmp_path, kind):
    write(tmp_path / "data", *ODD[kind])
    data = Data([tmp_path / "data"], tmp_path / "work")
    done = []
    for paper in all_papers():
        for one in paper.experiments:
            # What is drawn from distributions has no collections.
            if one.on:
                small = replace(one, beside=())
                done.append(run_one(paper, small, data, kept=tmp_path / "kept", quick=True))
    assert all(one.result.claims for one in done)
    # Two queries tell nothing of methods; what is told of words and of speed may be told.
    for one in done:
        if JUDGED in one.experiment.on:
            verdicts = {claim.verdict for claim in one.result.claims}
            assert verdicts <= {UNTESTABLE} or one.paper.name == "simplex"
    # Drawings take their time: those of the figures that one collection has are enough.
    shown = [one for one in done if one.experiment.name in ("figure-1", "cost")]
    told = {"alike": "ab12"}
    text = page([*shown, *(without(one) for one in done)], quick=True, data=told, left_out={})
    assert text.endswith("</html>\n")


def without(done):
    return replace(done, result=replace(done.result, drawings=()))

"""Whatever collections hold, every experiment of every paper ends with claims and can be shown."""

import json
from dataclasses import replace

import pytest

from likewise.reproduce.data import Data
from likewise.reproduce.experiment import UNTESTABLE, VERDICTS
from likewise.reproduce.page import page
from likewise.reproduce.papers import all_papers
from likewise.reproduce.running import run_one


def texts(n, **fields):
    """Make documents of a few words; fields may hang on the number."""
    for i in range(n):
        told = {name: value(i) if callable(value) else value for name, value in fields.items()}
        yield {"id": str(i), "text": f"word{i % 3} common thing {'x' * (i % 4)}", **told}


def papers(n):
    for i in range(n):
        abstract = f"word{i % 3} common thing. Here is TP{i % 2}5 again."
        yield {"id": str(i), "title": "t", "abstract": abstract, "body": f"word{i % 2} TP{i % 3}5"}


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
    claims = [claim for one in done for claim in one.result.claims]
    assert {claim.verdict for claim in claims} <= {*VERDICTS}
    assert any(claim.verdict == UNTESTABLE for claim in claims)
    undrawn = [replace(one, result=replace(one.result, drawings=())) for one in done]
    assert "</html>" in page(undrawn, quick=True, data={})

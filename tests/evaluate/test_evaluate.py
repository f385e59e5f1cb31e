"""The room as a whole: what it exports, what it imports, and the real collections."""

import os
import subprocess
import sys

import pytest

import likewise.evaluate as room
from likewise.evaluate import Run, compare, evaluate, read_qrels, read_queries

COLLECTIONS = {
    # queries in the file, queries judged relevant, judgements
    "cran": (225, 225, 1837),
    "cisi": (112, 76, 3114),
    "cacm": (64, 52, 796),
    "med": (30, 30, 696),
}


def test_the_exported_names():
    assert room.__all__ == [
        "Qrels",
        "Run",
        "compare",
        "evaluate",
        "read_qrels",
        "read_queries",
        "read_run",
        "write_qrels",
        "write_run",
    ]
    assert all(hasattr(room, name) for name in room.__all__)


def test_importing_the_room_leaves_the_measures_for_later():
    code = (
        "import sys, likewise.evaluate; "
        "print([m for m in ('ir_measures', 'pandas', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", COLLECTIONS)
def test_real_judgements_and_queries(real, name):
    folder = real(name)
    n_queries, n_judged, n_judgements = COLLECTIONS[name]
    queries = read_queries(folder / "queries.jsonl")
    qrels = read_qrels(folder / "qrels.txt")
    assert len(queries) == n_queries
    assert all(query.text.strip() for query in queries)
    assert sum(map(len, qrels.values())) == n_judgements
    assert qrels.keys() <= {query.qid for query in queries}
    assert sum(bool(qrels.relevant(qid)) for qid in qrels) == n_judged

    perfect = Run("perfect")
    for query in queries:
        best = sorted(qrels.relevant(query.qid).items(), key=lambda pair: -pair[1])
        perfect.add(query.qid, [(doc_id, float(grade)) for doc_id, grade in best])
    scores = evaluate(perfect, qrels, measures="AP nDCG@10 R@1000")
    assert scores.means == pytest.approx({"AP": 1, "nDCG@10": 1, "R@1000": 1})
    assert (len(scores.qids), scores.left_out) == (n_judged, n_queries - n_judged)

    half = Run("half", {qid: ranking[::2] for qid, ranking in perfect.items()})
    found = compare([perfect, half], qrels, measures="AP")["half", "AP"]
    assert found.mean < 0.75
    assert found.difference.p_randomisation_holm < 0.001
    assert found.difference.changes.helped == 0

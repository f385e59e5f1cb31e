"""Golden values: two runs, worked by hand.

Query both, a: x → 4, y → 2, z → 0     by score 1, .5, 0      by rank 1, 2/3, 1/3
            b: y → 9, w → 3            by score 1, 0          by rank 1, 1/2

Query ties, a: p → 2, n → 2, m → 1     by score 1, 1, 0       by rank 1, 2/3, 1/3
            b: n → 3, p → 3            by score 1, 1          by rank 1, 1/2
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.evaluate.fusion import fuse_runs
from likewise.evaluate.trec import Run
from likewise.stages.fusion import METHODS, NORMALISATIONS

A = Run(
    "a",
    {
        "both": [("x", 4.0), ("y", 2.0), ("z", 0.0)],
        "ties": [("p", 2.0), ("n", 2.0), ("m", 1.0)],
        "only-a": [("x", 3.0), ("y", 1.0)],
        "empty-b": [("x", 3.0), ("y", 1.0)],
    },
)
B = Run(
    "b",
    {
        "only-b": [("y", 5.0), ("x", 4.0)],
        "both": [("y", 9.0), ("w", 3.0)],
        "ties": [("n", 3.0), ("p", 3.0)],
        "empty-b": [],
    },
)

# The queries "both" and "ties".
GOLDEN = {
    ("min", "score"): (
        [("x", 1), ("y", 0.5), ("w", 0), ("z", 0)],
        [("n", 1), ("p", 1), ("m", 0)],
    ),
    ("max", "score"): (
        [("x", 1), ("y", 1), ("w", 0), ("z", 0)],
        [("n", 1), ("p", 1), ("m", 0)],
    ),
    ("sum", "score"): (
        [("y", 1.5), ("x", 1), ("w", 0), ("z", 0)],
        [("n", 2), ("p", 2), ("m", 0)],
    ),
    ("anz", "score"): (
        [("x", 1), ("y", 0.75), ("w", 0), ("z", 0)],
        [("n", 1), ("p", 1), ("m", 0)],
    ),
    ("mnz", "score"): (
        [("y", 3), ("x", 1), ("w", 0), ("z", 0)],
        [("n", 4), ("p", 4), ("m", 0)],
    ),
    ("min", "rank"): (
        [("x", 1), ("y", 2 / 3), ("w", 1 / 2), ("z", 1 / 3)],
        [("n", 2 / 3), ("p", 1 / 2), ("m", 1 / 3)],
    ),
    ("max", "rank"): (
        [("x", 1), ("y", 1), ("w", 1 / 2), ("z", 1 / 3)],
        [("n", 1), ("p", 1), ("m", 1 / 3)],
    ),
    ("sum", "rank"): (
        [("y", 5 / 3), ("x", 1), ("w", 1 / 2), ("z", 1 / 3)],
        [("n", 5 / 3), ("p", 3 / 2), ("m", 1 / 3)],
    ),
    ("anz", "rank"): (
        [("x", 1), ("y", 5 / 6), ("w", 1 / 2), ("z", 1 / 3)],
        [("n", 5 / 6), ("p", 3 / 4), ("m", 1 / 3)],
    ),
    ("mnz", "rank"): (
        [("y", 10 / 3), ("x", 1), ("w", 1 / 2), ("z", 1 / 3)],
        [("n", 10 / 3), ("p", 3), ("m", 1 / 3)],
    ),
    ("rrf", "score"): (
        [("y", 1 / 62 + 1 / 61), ("x", 1 / 61), ("w", 1 / 62), ("z", 1 / 63)],
        [("n", 1 / 62 + 1 / 61), ("p", 1 / 61 + 1 / 62), ("m", 1 / 63)],
    ),
}
# What a list of two gives by itself.
ALONE = {"score": [1, 0], "rank": [1, 1 / 2], "rrf": [1 / 61, 1 / 62]}


def assert_is(ranking, expected):
    assert [doc_id for doc_id, _ in ranking] == [doc_id for doc_id, _ in expected]
    assert [score for _, score in ranking] == pytest.approx([score for _, score in expected])


@pytest.mark.parametrize(("method", "normalise"), GOLDEN)
def test_golden_values(method, normalise):
    fused = fuse_runs([A, B], method=method, normalise=normalise)
    both, ties = GOLDEN[method, normalise]
    assert_is(fused["both"], both)
    assert_is(fused["ties"], ties)


@pytest.mark.parametrize(("method", "normalise"), GOLDEN)
def test_a_query_is_fused_from_the_runs_that_answer_it(method, normalise):
    fused = fuse_runs([A, B], method=method, normalise=normalise)
    first, second = ALONE["rrf" if method == "rrf" else normalise]
    assert_is(fused["only-a"], [("x", first), ("y", second)])
    assert_is(fused["only-b"], [("y", first), ("x", second)])
    assert_is(fused["empty-b"], [("x", first), ("y", second)])


def test_every_combination_has_its_golden_values():
    pairs = {(method, normalise) for method in METHODS for normalise in NORMALISATIONS}
    assert set(GOLDEN) == pairs - {("rrf", "rank")}


def test_queries_keep_the_order_in_which_the_runs_have_them():
    assert list(fuse_runs([A, B])) == ["both", "ties", "only-a", "empty-b", "only-b"]


def test_empty_runs_and_empty_lists():
    assert dict(fuse_runs([Run("a"), Run("b")])) == {}
    fused = fuse_runs([Run("a", {"1": []}), Run("b", {"1": [], "2": []})])
    assert dict(fused) == {"1": [], "2": []}


def test_k_cuts_what_was_fused():
    whole, cut = fuse_runs([A, B]), fuse_runs([A, B], k=2)
    assert {qid: ranking[:2] for qid, ranking in whole.items()} == dict(cut)
    assert len(whole["both"]) == 4


def test_a_run_of_weight_0_is_left_out_with_its_queries():
    fused = fuse_runs([A, B], weights=[1, 0])
    assert dict(fused) == dict(fuse_runs([A]))
    assert "only-b" not in fused


def test_a_weight_multiplies_the_normalised_scores():
    fused = fuse_runs([A, B], weights=[1, 0.25])
    assert fused["both"] == [("x", 1.0), ("y", 0.75), ("w", 0.0), ("z", 0.0)]
    assert fused["only-b"] == [("y", 0.25), ("x", 0.0)]


def test_the_name_tells_how_unless_one_is_given():
    assert fuse_runs([A, B]).name == "sum(a,b)"
    assert fuse_runs([A], method="mnz", normalise="rank").name == "mnz(a,normalise=rank)"
    assert fuse_runs([A, B], method="rrf", normalise="rank").name == "rrf(a,b)"
    assert fuse_runs([A, B], weights=[1, 0.5]).name == "sum(a,0.5*b)"
    assert fuse_runs([A, B], name="mine").name == "mine"


def test_runs_fuse_as_their_stages_do(papers):
    queries = [lw.Query("1", "wing flutter"), lw.Query("2", "heat flow")]
    stages = [papers.pipeline("bm25"), papers.pipeline("ql"), papers.pipeline("tfidf")]
    runs = (stage.run(queries) for stage in stages)
    options = {"method": "mnz", "normalise": "rank", "weights": [1, 0.5, 2]}
    fused = lw.fuse(*(stage.stage for stage in stages), **options)
    by_stages = papers.pipeline(fused).run(queries, name="stages")
    assert dict(lw.fuse_runs(runs, **options)) == dict(by_stages)


answers = st.dictionaries(
    st.text("abcé", min_size=1, max_size=2), st.sampled_from([0.0, 0.1, 0.3, 1.0, 7.0]), max_size=8
).map(lambda found: sorted(found.items(), key=lambda pair: -pair[1]))
runs = st.lists(
    st.dictionaries(st.sampled_from(["1", "2", "3"]), answers).map(lambda run: Run("r", run)),
    min_size=1,
    max_size=4,
)


@given(runs, st.sampled_from(sorted(METHODS)), st.sampled_from(sorted(NORMALISATIONS)))
def test_every_query_and_document_once_best_first_ties_by_id(runs, method, normalise):
    fused = fuse_runs(runs, method=method, normalise=normalise)
    assert set(fused) == {qid for run in runs for qid in run}
    for qid, ranking in fused.items():
        given_ids = {doc_id for run in runs for doc_id, _ in run.get(qid, [])}
        assert {doc_id for doc_id, _ in ranking} == given_ids
        assert ranking == sorted(ranking, key=lambda pair: (-pair[1], pair[0]))
    again = fuse_runs(runs[::-1], method=method, normalise=normalise)
    assert {qid: again[qid] for qid in fused} == dict(fused)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "avg"}, "unknown fusion 'avg': it is one of min, max, sum, anz, mnz, rrf"),
        ({"normalise": "z"}, "unknown normalisation 'z': it is one of score, rank"),
        ({"weights": [1]}, r"1 weight \(1\) for 2 to be fused: give one for each"),
        ({"weights": [1, -1]}, "numbers from 0 up, not 1, -1"),
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"name": " "}, "a run needs a name"),
    ],
)
def test_what_cannot_be_meant_is_named(options, message):
    with pytest.raises(UsageError, match=message):
        fuse_runs([A, B], **options)


def test_no_run_at_all():
    with pytest.raises(UsageError, match="no run to fuse; give at least one"):
        fuse_runs([])


def test_a_query_whose_scores_have_no_range_is_named():
    endless = Run("r", {"7": [("x", 1.0), ("y", float("-inf"))]})
    with pytest.raises(UsageError, match=r"query '7': .* no finite range; normalise by rank"):
        fuse_runs([A, endless])
    assert fuse_runs([endless], normalise="rank")["7"] == [("x", 1.0), ("y", 0.5)]

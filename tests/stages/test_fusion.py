"""Golden values: two lists of one query, worked by hand.

a: 10 → 4, 20 → 2, 30 → 0        by score 1, .5, 0        by rank 1, 2/3, 1/3
b: 20 → 9, 40 → 3                 by score 1, 0            by rank 1, 1/2
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.records import Ranking
from likewise.stages.fusion import METHODS, NORMALISATIONS, fuse_rankings
from likewise.stages.stage import NOTHING


def ranking(pairs):
    return Ranking(
        np.array([doc for doc, _ in pairs], np.int64),
        np.array([score for _, score in pairs], np.float64),
    )


A = ranking([(10, 4.0), (20, 2.0), (30, 0.0)])
B = ranking([(20, 9.0), (40, 3.0)])

GOLDEN = {
    ("min", "score"): [(10, 1), (20, 0.5), (30, 0), (40, 0)],
    ("max", "score"): [(10, 1), (20, 1), (30, 0), (40, 0)],
    ("sum", "score"): [(20, 1.5), (10, 1), (30, 0), (40, 0)],
    ("anz", "score"): [(10, 1), (20, 0.75), (30, 0), (40, 0)],
    ("mnz", "score"): [(20, 3), (10, 1), (30, 0), (40, 0)],
    ("min", "rank"): [(10, 1), (20, 2 / 3), (40, 1 / 2), (30, 1 / 3)],
    ("max", "rank"): [(10, 1), (20, 1), (40, 1 / 2), (30, 1 / 3)],
    ("sum", "rank"): [(20, 5 / 3), (10, 1), (40, 1 / 2), (30, 1 / 3)],
    ("anz", "rank"): [(10, 1), (20, 5 / 6), (40, 1 / 2), (30, 1 / 3)],
    ("mnz", "rank"): [(20, 10 / 3), (10, 1), (40, 1 / 2), (30, 1 / 3)],
    ("rrf", "score"): [(20, 1 / 62 + 1 / 61), (10, 1 / 61), (40, 1 / 62), (30, 1 / 63)],
}


@pytest.mark.parametrize(("method", "normalise"), GOLDEN)
def test_golden_values(method, normalise):
    fused = fuse_rankings([A, B], method=method, normalise=normalise)
    expected = GOLDEN[method, normalise]
    assert fused.docs.tolist() == [doc for doc, _ in expected]
    assert fused.scores == pytest.approx([score for _, score in expected])


def test_equal_scores_all_count_as_one():
    fused = fuse_rankings([ranking([(5, 2.0), (7, 2.0)])])
    assert fused.docs.tolist() == [5, 7]
    assert fused.scores.tolist() == [1.0, 1.0]


def test_empty_lists_add_nothing():
    assert fuse_rankings([NOTHING, NOTHING]) is NOTHING
    assert fuse_rankings([]) is NOTHING
    fused = fuse_rankings([A, NOTHING], method="mnz")
    assert fused.docs.tolist() == [10, 20, 30]


@given(
    st.lists(
        st.dictionaries(st.integers(0, 20), st.floats(-5, 5), max_size=12).map(
            lambda scores: ranking(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
        ),
        max_size=4,
    ),
    st.sampled_from(sorted(METHODS)),
    st.sampled_from(sorted(NORMALISATIONS)),
)
def test_every_document_once_best_first_ties_by_doc(lists, method, normalise):
    fused = fuse_rankings(lists, method=method, normalise=normalise)
    assert set(fused.docs.tolist()) == {doc for one in lists for doc in one.docs.tolist()}
    pairs = list(zip((-fused.scores).tolist(), fused.docs.tolist(), strict=True))
    assert pairs == sorted(pairs)


def test_fuse_is_a_stage(papers):
    bm25, ql = papers.retrieve("bm25"), papers.retrieve("ql")
    stage = lw.fuse(bm25, ql, method="rrf") >> lw.Cut(1)
    [answered] = stage("wing flutter")
    assert papers.snapshot.doc_ids(answered.ranking.docs) == ["1"]
    assert repr(lw.fuse(bm25, ql)) == "fuse(bm25, ql, method='sum')"


def test_what_does_not_exist_is_named():
    with pytest.raises(UsageError, match="unknown fusion 'avg'"):
        lw.fuse(lw.Cut(1), method="avg")
    with pytest.raises(UsageError, match="unknown normalisation"):
        lw.fuse(lw.Cut(1), normalise="z")
    with pytest.raises(UsageError, match="at least one"):
        lw.fuse()

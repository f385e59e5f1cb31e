import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.terms.counting import Counted, no_counts
from likewise.terms.graph import Pairs
from likewise.terms.weights import WEIGHTINGS, rarity, weigh

from .graphs import dense


def counted_of(has):
    """The counts of documents (rows) that have nodes (columns)."""
    has = np.asarray(has, np.int64)
    both = np.triu(has.T @ has, 1)
    rows, columns = np.nonzero(both)
    bounds = np.searchsorted(rows, np.arange(both.shape[0] + 1)).astype(np.int64)
    counts = both[rows, columns].astype(np.int32)
    pairs = Pairs(bounds, columns.astype(np.int32), counts)
    return Counted(pairs, has.sum(axis=0), len(has))


def formula(has, by, least):
    """The weights of all pairs, in plain NumPy."""
    has = np.asarray(has, np.float64)
    n, df = len(has), has.sum(axis=0)
    c = has.T @ has
    np.fill_diagonal(c, 0)
    c[c < least] = 0
    idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.where(c * n > np.outer(df, df), np.log(c * n / np.outer(df, df)), 0)
        found = {
            "counts": c,
            "idf": c * np.outer(idf, idf),
            "cosine": c / np.sqrt(np.outer(df, df)),
            "ppmi": lift,
            "npmi": np.where(lift > 0, lift / -np.log(c / n), 0),
        }[by]
    return np.where(c > 0, found, 0)


documents = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1, max_size=12)
)


@pytest.mark.parametrize("by", WEIGHTINGS)
@given(has=documents, least=st.integers(1, 3))
def test_weights_are_the_formulas(by, has, least):
    graph = weigh(counted_of(has), by, least=least)
    expected = formula(has, by, least)
    assert np.allclose(dense(graph), expected, rtol=1e-6, atol=0)
    # What is no edge is none, not one of rounding.
    assert np.array_equal(dense(graph) > 0, expected > 0)


def test_weights_by_hand():
    # a and b are in 4 of 8 documents each, 3 of them the same.
    has = [[1, 1]] * 3 + [[1, 0], [0, 1]] + [[0, 0]] * 3
    idf = np.log(1 + 4.5 / 4.5)
    expected = {
        "counts": 3,
        "idf": 3 * idf**2,
        "cosine": 3 / 4,
        "ppmi": np.log(1.5),
        "npmi": np.log(1.5) / np.log(8 / 3),
    }
    for by, weight in expected.items():
        assert dense(weigh(counted_of(has), by))[0, 1] == pytest.approx(weight, rel=1e-6)
        assert weigh(counted_of(has), by, least=4).n_edges == 0


@pytest.mark.parametrize("n", [*range(1, 60), 999, 12_345])
def test_terms_that_are_in_every_document_are_no_news(n):
    """log(1) is 0, whatever the rounding on the way."""
    pairs = Pairs(np.array([0, 1, 1]), np.array([1], np.int32), np.array([n], np.int32))
    counted = Counted(pairs, np.array([n, n]), n)
    assert weigh(counted, "ppmi").n_edges == 0
    assert weigh(counted, "npmi").n_edges == 0
    assert weigh(counted, "cosine").weights.tolist() == [1, 1]


def test_terms_that_are_never_apart():
    graph = weigh(counted_of([[1, 1]] * 2 + [[0, 0]] * 5), "npmi")
    assert graph.weights.tolist() == [1, 1]


def test_a_node_that_is_nowhere_has_no_edges():
    for by in WEIGHTINGS:
        graph = weigh(counted_of([[1, 1, 0], [1, 0, 0]]), by)
        assert graph.degrees[2] == 0
        assert np.isfinite(graph.weights).all()


@pytest.mark.parametrize("by", WEIGHTINGS)
def test_no_documents_give_no_edges(by):
    graph = weigh(no_counts(3), by)
    assert (len(graph), graph.n_edges) == (3, 0)


def test_rarity_is_the_idf_of_bm25():
    has = np.tri(5, dtype=int)
    df = np.array([5, 4, 3, 2, 1])
    assert rarity(counted_of(has)).tolist() == pytest.approx(
        np.log(1 + (5 - df + 0.5) / (df + 0.5)).tolist()
    )
    assert rarity(counted_of(has)).min() > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "tfidf"}, "edges are weighed by idf, counts, cosine, ppmi, npmi, not by 'tfidf'"),
        ({"least": 0}, "an edge needs at least 1 document, not 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        weigh(counted_of([[1, 1]]), **options)

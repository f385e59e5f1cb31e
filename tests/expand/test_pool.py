import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.records import TermCounts
from likewise.errors import DamagedError
from likewise.expand.pool import add_counts, count_bits, number_terms, read_pool
from likewise.text.analysis import Analysis

TEXTS = ["b a a", "c b", "", "d d c a", "e"]


def rows(pool):
    """What the rows of a pool hold, by name."""
    names = pool.names(np.arange(len(pool.terms)))
    return [
        {names[c]: n for c, n in zip(pool.columns[a:b], pool.counts[a:b], strict=True)}
        for a, b in zip(pool.bounds[:-1], pool.bounds[1:], strict=True)
    ]


def by_name(pool, values):
    return dict(zip(pool.names(np.arange(len(pool.terms))), values.tolist(), strict=True))


@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_what_documents_hold(shelve, pieces):
    shelf = shelve(TEXTS, pieces=pieces)
    docs = np.array([3, 0, 2])
    pool = read_pool(shelf.snapshot, docs, {"b": 2.0, "e": 1.0, "zebra": 1.0})
    assert rows(pool) == [{"d": 2, "c": 1, "a": 1}, {"b": 1, "a": 2}, {}]
    assert pool.terms.tolist() == sorted(pool.terms.tolist())
    assert by_name(pool, pool.query) == {"a": 0, "b": 2, "c": 0, "d": 0, "e": 1}
    assert by_name(pool, pool.doc_freqs) == {"a": 2, "b": 2, "c": 2, "d": 1, "e": 1}
    assert by_name(pool, pool.term_freqs) == {"a": 3, "b": 2, "c": 2, "d": 2, "e": 1}
    # A document without terms has a length all the same, to divide by, but no tokens.
    assert pool.lengths.tolist() == [4, 3, 1]
    assert pool.n_tokens == 7
    assert pool.rows.tolist() == [0, 0, 0, 1, 1]
    assert pool.names(pool.asked) == ["e", "b"]
    assert by_name(pool, pool.background) == pytest.approx(
        {"a": 0.3, "b": 0.2, "c": 0.2, "d": 0.2, "e": 0.1}
    )
    idf = {term: np.log(1 + (5 - n + 0.5) / (n + 0.5)) for term, n in shelf.doc_freqs.items()}
    assert by_name(pool, pool.idf) == pytest.approx(idf)


def test_adding_up(shelve):
    pool = read_pool(shelve(TEXTS).snapshot, np.array([3, 0]), {})
    assert by_name(pool, pool.total(pool.counts)) == {"a": 3, "b": 1, "c": 1, "d": 2}
    weighted = pool.weighted(np.array([0.5, 10.0]))
    assert by_name(pool, weighted) == {"a": 20.5, "b": 10, "c": 0.5, "d": 1}
    columns = np.array([pool.names(np.arange(4)).index(name) for name in "dab"])
    assert pool.occurs(columns).tolist() == [[True, True, False], [False, True, True]]


def test_no_documents_and_no_query(shelve):
    shelf = shelve(TEXTS)
    nothing = np.empty(0, np.int64)
    pool = read_pool(shelf.snapshot, nothing, {"a": 1.0})
    assert (pool.names(pool.asked), pool.bounds.tolist(), pool.n_tokens) == (["a"], [0], 0)
    assert pool.weighted(np.empty(0)).tolist() == [0]
    pool = read_pool(shelf.snapshot, nothing, {})
    assert len(pool.terms) == len(pool.columns) == len(pool.largest(np.empty(0), 3)) == 0
    empty = read_pool(shelve([]).snapshot, nothing, {"a": 1.0})
    assert len(empty.terms) == len(empty.lengths) == 0


def test_terms_that_are_not_admitted_are_left_out(shelve):
    rule = Analysis("none", stemmer="none", stop="none", min_length=1, min_df=2)
    shelf = shelve(TEXTS, analysis=rule)
    pool = read_pool(shelf.snapshot, np.array([3, 0, 4]), {"b": 1.0, "d": 1.0, "e": 1.0})
    assert rows(pool) == [{"c": 1, "a": 1}, {"b": 1, "a": 2}, {}]
    assert pool.lengths.tolist() == [4, 3, 1]
    assert by_name(pool, pool.query) == {"a": 0, "b": 1, "c": 0}


def test_words_of_deleted_documents_are_unknown(shelve):
    shelf = shelve(TEXTS, pieces=2, deleted=[4])
    pool = read_pool(shelf.snapshot, np.array([1]), {"e": 1.0, "c": 1.0})
    assert by_name(pool, pool.query) == {"b": 0, "c": 1}


def test_weights_that_a_search_passes_over_are_none(shelve):
    query = {"a": float("inf"), "b": float("nan"), "c": 1e-40, "d": -1.0, "e": 0.0}
    pool = read_pool(shelve(TEXTS).snapshot, np.array([0]), query)
    assert pool.query.tolist() == [0, 0]


def test_a_damaged_record_is_said_and_not_followed(shelve, monkeypatch):
    shelf = shelve(TEXTS)
    for term in (5, 2**31 - 1, -1):
        damaged = TermCounts(*(np.array(part, np.int32) for part in ([0, 1], [term], [1])))
        monkeypatch.setattr(shelf.snapshot, "term_counts", lambda docs, found=damaged: found)
        with pytest.raises(DamagedError, match="index again"):
            read_pool(shelf.snapshot, np.array([0]), {})
        with pytest.raises(IndexError, match="from 0 to 4"):
            shelf.snapshot.terms(np.array([0, term]))


# The largest


@pytest.fixture(scope="module")
def pool(shelved):
    """A pool of nine terms: h and i are in two documents, all others in one."""
    with shelved(["g c e i", "a i h d", "b f h"]) as shelf:
        yield read_pool(shelf.snapshot, np.arange(3), {})


def largest(pool, n, **values):
    given = np.array([values.get(term, 0.0) for term in pool.names(np.arange(9))])
    return "".join(pool.names(pool.largest(given, n)))


def test_the_largest_come_first_and_nothing_below_0(pool):
    assert largest(pool, 2, a=1.0, b=3.0, c=2.0) == "bc"
    assert largest(pool, 9, a=1.0, b=3.0, c=2.0, d=-5.0) == "bca"
    assert largest(pool, 5) == largest(pool, 5, a=-1.0) == ""


def test_of_equals_the_rarer_and_then_the_alphabet(pool):
    equal = dict.fromkeys("abcdefghi", 0.25)
    assert largest(pool, 4, **equal) == "abcd"
    assert sorted(largest(pool, 8, **equal)) == list("abcdefgh")
    assert largest(pool, 8, **equal)[-1] == "h"
    assert largest(pool, 3, **equal | {"i": 1.0}) == "iab"
    # The same with sums that were taken in another order.
    equal["f"] = 0.25 * (1 + 1e-15)
    equal["a"] = 0.25 * (1 - 1e-15)
    assert sorted(largest(pool, 4, **equal)) == list("abcd")
    equal["f"] = 0.2500001
    assert sorted(largest(pool, 4, **equal)) == list("abcf")


@given(
    values=st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.1 + 0.2, 0.3, -1.0]), min_size=9, max_size=9),
    n=st.integers(1, 12),
)
def test_the_largest_are_those_that_sorting_finds(pool, values, n):
    names = pool.names(np.arange(9))
    found = pool.names(pool.largest(np.array(values), n))
    order = sorted(
        (name for name, value in zip(names, values, strict=True) if value > 0),
        key=lambda name: (-round(values[names.index(name)], 9), name in "hi", name),
    )
    assert sorted(found) == sorted(order[:n])


# Kernels


@given(
    terms=st.lists(st.integers(0, 200)), more=st.lists(st.integers(0, 200)), room=st.integers(0, 99)
)
def test_terms_are_numbered_as_unique_does(terms, more, room):
    n_terms = max([*terms, *more], default=0) + 1 + room
    given = np.array(terms, np.int32), np.array(more, np.int64)
    distinct, places = number_terms(*given, n_terms)
    expected, inverse = np.unique(np.concatenate(given), return_inverse=True)
    assert distinct.tolist() == expected.tolist()
    assert places.tolist() == inverse.tolist()


@given(st.integers(0, 2**64 - 1))
def test_bits_are_counted(word):
    assert count_bits(np.uint64(word)) == word.bit_count()


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 99)), max_size=6), max_size=6))
def test_counts_are_added_up_as_bincount_does(documents):
    flat = [pair for document in documents for pair in document]
    columns = np.array([column for column, _ in flat], np.int64)
    counts = np.array([count for _, count in flat], np.float64)
    bounds = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    weights = 1 / np.arange(1.0, len(documents) + 1)
    expected = np.bincount(columns, counts * np.repeat(weights, np.diff(bounds)), 10)
    assert add_counts(bounds, columns, counts, weights, 10).tolist() == expected.tolist()

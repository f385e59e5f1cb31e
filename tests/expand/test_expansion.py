import numpy as np
import pytest

from likewise.errors import UsageError
from likewise.expand.expansion import (
    NO_SHARE,
    ExpansionResult,
    check_counts,
    check_share,
    doc_weights,
    expand_queries,
    join,
    mix,
    rank_weights,
)
from likewise.expand.pool import read_pool
from likewise.records import Query
from likewise.stages.stage import Result


class Given:
    """An expander that gives what it was given."""

    def __init__(self, *grown):
        self.grown = grown

    def __str__(self):
        return "given"

    def with_share(self, share):
        return self

    def expand(self, batch, search):
        return [*self.grown[: len(batch)]]


@pytest.fixture
def pool(shelve):
    """Terms a, b, c, d are the columns 0 to 3; the query is 3 a + 1 b."""
    return read_pool(shelve(["a b c d"]).snapshot, np.array([0]), {"a": 3.0, "b": 1.0})


def mixed(pool, weights, share, **options):
    return mix(pool, np.arange(len(weights)), np.array(weights, np.float64), share, **options)


def test_mixing_by_the_sum(pool):
    # ½ (3/4, 1/4, 0, 0) + ½ (0, 1/2, 1/2, 0), times 4
    grown = mixed(pool, [0, 2, 2, 0], 0.5, norm="sum")
    assert grown.terms == pytest.approx({"a": 1.5, "b": 1.5, "c": 1.0})
    # ¼ of the new: ¾ (3/4, 1/4) + ¼ (0, 1/2, 1/2), times 4
    grown = mixed(pool, [0, 2, 2, 0], 0.25, norm="sum")
    assert grown.terms == pytest.approx({"a": 2.25, "b": 1.25, "c": 0.5})
    assert mixed(pool, [0, 2, 2, 0], 1, norm="sum").terms == {"b": 2.0, "c": 2.0}


def test_mixing_by_the_maximum(pool):
    # ½ (1, 1/3, 0, 0) + ½ (0, 1/2, 1, 1/4) is 37/24 in all
    grown = mixed(pool, [0, 2, 4, 1], 0.5, norm="max")
    scale = 4 / (37 / 24)
    expected = {"a": scale / 2, "c": scale / 2, "b": scale * 5 / 12, "d": scale / 8}
    assert grown.terms == pytest.approx(expected)
    # The same as if the largest new weight were 8: ½ (1, 1/3, 0, 0) + ½ (0, 1/4, 1/2, 1/8)
    grown = mixed(pool, [0, 2, 4, 1], 0.5, norm="max", limit=8.0)
    scale = 4 / (53 / 48)
    expected = {"a": scale / 2, "b": scale * 7 / 24, "c": scale / 4, "d": scale / 16}
    assert grown.terms == pytest.approx(expected)


def test_joining_without_a_pool():
    # What `mix` does with the columns of a pool: ½ (3/4, 1/4) + ½ (1/2, 1/2), times 4
    grown = join({"a": 3.0, "b": 1.0}, {"b": 2.0, "c": 2.0}, 0.5, norm="sum")
    assert grown.terms == pytest.approx({"a": 1.5, "b": 1.5, "c": 1.0})
    # Nothing asked for is 1 in all.
    assert join({}, {"c": 2.0, "d": 6.0}, 0.5, norm="sum").terms == pytest.approx(
        {"d": 0.75, "c": 0.25}
    )
    assert join({"a": 1.0}, {"b": 1.0}, 0, norm="sum") == ExpansionResult({}, NO_SHARE)
    left = join({"a": 1.0}, {}, 0.5, norm="sum", where="the graph").skipped_reason
    assert left == "no term stands out in the graph"


def test_terms_come_by_weight_and_then_by_the_alphabet(pool):
    grown = mix(pool, np.array([2, 1, 3, 0]), np.array([1.0, 1, 2, 1]), 1, norm="sum")
    assert list(grown.terms) == ["d", "a", "b", "c"]


def test_what_cannot_be_mixed(pool):
    assert mixed(pool, [0, 2, 2, 0], 0, norm="sum") == ExpansionResult({}, NO_SHARE)
    for weights in ([], [0, 0], [-1, -2]):
        left = mixed(pool, weights, 0.5, norm="sum").skipped_reason
        assert left == "no term stands out in its first documents"


def test_negative_weights_are_dropped(pool):
    # a has ½ · ¾ from the query, c all of the new.
    grown = mixed(pool, [-5, -1, 3], 0.5, norm="sum")
    assert grown.terms == pytest.approx({"c": 2.0, "a": 1.5, "b": 0.5})


def test_a_query_of_no_known_term_gets_weights_that_add_up_to_1(shelve):
    pool = read_pool(shelve(["a b"]).snapshot, np.array([0]), {"zebra": 5.0})
    assert mixed(pool, [1, 3], 0.5, norm="max").terms == pytest.approx({"b": 0.75, "a": 0.25})


def test_weights_as_small_as_can_be(shelve):
    pool = read_pool(shelve(["a b c d"]).snapshot, np.array([0]), {"a": 1e-30})
    grown = mixed(pool, [0, 1.0, 5e-324, 1e-300], 0.5, norm="sum")
    assert list(grown.terms) == ["a", "b"]
    assert min(grown.terms.values()) > 0
    assert mixed(pool, [0, 5e-324], 1, norm="sum").terms == {"b": 1e-30}


@pytest.mark.parametrize("is_log", [False, True])
def test_weights_of_documents_add_up_to_1(rank, is_log):
    weights = doc_weights(rank((5, 3.0), (1, 2.0), (2, 1.0)), 2, is_log=is_log)
    expected = [np.e / (np.e + 1), 1 / (np.e + 1)] if is_log else [0.6, 0.4]
    assert weights.tolist() == pytest.approx(expected)
    assert doc_weights(rank(), 10, is_log=is_log).tolist() == []
    assert doc_weights(rank((1, -3.0)), 10, is_log=is_log).tolist() == [1]
    low = doc_weights(rank((1, -np.inf), (2, -np.inf)), 10, is_log=is_log)
    assert low.tolist() == [0.5, 0.5]
    assert doc_weights(rank((1, np.inf), (2, 1.0)), 10, is_log=is_log).tolist() == [0.5, 0.5]


def test_documents_weigh_the_same_where_scores_are_no_weights(rank):
    for scores in ([0.0, 0.0], [1.0, -1.0], [-1.0, -2.0]):
        weights = doc_weights(rank(*enumerate(scores)), 10, is_log=False)
        assert weights.tolist() == [0.5, 0.5]
    # Logarithms may be negative, and very far apart.
    ranking = rank((0, -1000.0), (1, -1000.0 - np.log(3)), (2, -9000.0), (3, -np.inf))
    assert doc_weights(ranking, 10, is_log=True).tolist() == pytest.approx([0.75, 0.25, 0, 0])


def test_documents_weighed_by_rank():
    # 1 + 1/2 + 1/3 + 1/4 = 25/12
    assert rank_weights(4).tolist() == pytest.approx([12 / 25, 6 / 25, 4 / 25, 3 / 25])
    assert rank_weights(0).tolist() == []


def test_expanded_queries_tell_how_and_those_left_alone_why(shelve, rank):
    search = shelve(["a b"]).search()
    results = [
        Result(Query("1", "a"), rank((0, 1.0))),
        Result(Query("2", "b", {"b": 2.0}), rank()),
    ]
    how = Given(
        ExpansionResult({"a": 0.5, "b": 0.5}, note="as told"),
        ExpansionResult({}, "nothing is known"),
    )
    first, second = expand_queries(how, results, search)
    told = ("given", {"a": 1.0}, "", "as told")
    assert first == Query("1", "a", {"a": 0.5, "b": 0.5}, expansion=told)
    assert second.terms == {"b": 2.0}
    assert second.expansion == ("given", {"b": 2.0}, "nothing is known", "")
    assert expand_queries(how, [], search) == []


def test_terms_of_negative_weight_stay(shelve, rank):
    search = shelve(["a b"]).search()
    result = Result(Query("1", terms={"a": 1.0, "b": -2.0, "c": 0.0}), rank((0, 1.0)))
    [query] = expand_queries(Given(ExpansionResult({"a": 0.5, "b": 0.5})), [result], search)
    assert query.terms == {"a": 0.5, "b": -2.0}


def test_options_are_checked():
    check_share("x", 0)
    check_share("x", 1)
    check_counts("x", docs=1, terms=np.int64(5))
    for share in (-0.01, 1.01, float("nan"), float("inf")):
        with pytest.raises(UsageError, match=r"x needs share from 0 \(the query alone\) to 1"):
            check_share("x", share)
    for number in (0, -1, 1.5, float("nan")):
        with pytest.raises(UsageError, match="x needs terms of at least 1, a whole number, not "):
            check_counts("x", docs=1, terms=number)

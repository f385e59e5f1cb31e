"""Golden answers: what counts as equal, and what may differ."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parent.parent / "benchmarks" / "golden.py"


@pytest.fixture(scope="module")
def golden():
    spec = importlib.util.spec_from_file_location("golden", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers(**cases):
    """Cases of one question each, scores as they are written."""
    return {
        name: {"1": [[doc_id, float(score).hex()] for doc_id, score in pairs]}
        for name, pairs in cases.items()
    }


BASE = answers(one=[("a", 2.0), ("b", 1.0)], two=[("c", 0.1)])


def test_the_same_answers_are_equal(golden):
    compared = golden.compare(BASE, answers(one=[("a", 2.0), ("b", 1.0)], two=[("c", 0.1)]))
    assert all(case.equal for case in compared.cases)
    assert compared.unexpected({}) == []
    told = golden.report(compared, {})
    assert "| all | 2 | 2 | 2 | 0 |  | 0 |" in told
    assert "nothing unexpected" in told


def test_a_last_bit_of_a_score_is_a_difference_in_scores_only(golden):
    compared = golden.compare(BASE, BASE | answers(two=[("c", 0.1 + 2**-56)]))
    [one, two] = compared.cases
    assert one.equal
    assert (two.scores, two.ids) == (1, 0)
    assert two.largest == pytest.approx(2**-56 / 0.1)
    assert compared.unexpected({}) == ["two"]
    told = golden.report(compared, {})
    assert "differs: two (0 of 1 in ids, 1 in scores only)" in told
    assert "'1': at 1 'c' 0.1, now 0.10000000000000002" in told
    assert "1 unexpected" in told


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ([("b", 2.0), ("a", 1.0)], "at 1 'a' 2.0, now 'b' 2.0"),
        ([("a", 2.0)], "2 answers, now 1"),
    ],
)
def test_another_order_or_number_is_a_difference_in_ids(golden, now, told):
    [one, _] = golden.compare(BASE, BASE | answers(one=now)).cases
    assert (one.scores, one.ids) == (0, 1)
    assert told in one.first


def test_a_question_that_one_side_asks_is_a_difference(golden):
    more = BASE["one"] | {"2": []}
    [one, _] = golden.compare(BASE, BASE | {"one": more}).cases
    assert (one.questions, one.ids) == (2, 1)
    assert one.first == "'2': is asked by this tree only"


def test_scores_that_are_no_numbers_are_compared(golden):
    base = answers(one=[("a", float("nan")), ("b", float("-inf"))])
    assert golden.compare(base, base).unexpected({}) == []
    [one] = golden.compare(base, answers(one=[("a", 1.0), ("b", float("-inf"))])).cases
    assert one.largest == float("inf")


def test_a_lost_case_is_not_expected_and_a_new_one_is_no_difference(golden):
    compared = golden.compare(BASE, answers(one=[("a", 2.0), ("b", 1.0)], three=[]))
    assert (compared.lost, compared.new) == (["two"], ["three"])
    assert compared.unexpected({}) == ["two"]
    told = golden.report(compared, {})
    assert "lost: two" in told
    assert "new: three" in told


def test_expected_exceptions_are_told_with_their_reason(golden):
    expected = {"t*": "another solver", "one": "nothing"}
    compared = golden.compare(BASE, BASE | answers(two=[("d", 0.1)]))
    assert compared.unexpected(expected) == []
    told = golden.report(compared, expected)
    assert "differs: two (1 of 1 in ids, 0 in scores only), expected: another solver" in told
    assert "expected to differ, but equal: one" in told
    lost = golden.compare(BASE, {"one": BASE["one"]})
    assert lost.unexpected(expected) == []
    assert "lost: two, expected: another solver" in golden.report(lost, expected)

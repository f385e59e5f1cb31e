import pytest

from likewise.errors import UsageError
from likewise.evaluate.links import qrels_from_links


def test_links_become_judgements():
    pairs = [("a", ["b", "c", "a", "b"]), ("b", []), ("c", iter(["a", "gone"])), ("d", ["d"])]
    assert dict(qrels_from_links(pairs)) == {"a": {"b": 1, "c": 1}, "c": {"a": 1, "gone": 1}}


def test_only_known_ids_are_judged():
    pairs = [("a", ["b", "gone"]), ("gone", ["a"]), ("b", ["gone", ""])]
    assert dict(qrels_from_links(pairs, known={"a", "b"})) == {"a": {"b": 1}}


def test_links_of_one_document_given_in_parts():
    assert dict(qrels_from_links([("a", ["b"]), ("a", ["b", "c"])])) == {"a": {"b": 1, "c": 1}}


@pytest.mark.parametrize("links", ["bc", None, 7, ["b", 7]])
def test_what_is_no_list_of_ids(links):
    with pytest.raises(UsageError, match="document 'a'"):
        qrels_from_links([("a", links)])

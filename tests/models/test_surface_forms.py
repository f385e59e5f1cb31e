"""Is a stem shown as the same word whatever it is asked with?"""

from itertools import permutations

import pytest

import likewise as lw
from likewise.models import surface_forms
from likewise.models.surface_forms import readable_terms

# "walk" is first in a document that says "walks"; another, of "talk", says "walking" thrice.
TEXTS = ["Walks", "A talk: walking, walking, walking", "Cats, a cat and cats", "Walked"]
WORDS = {"walk": "walks", "talk": "talk", "cat": "cats", "nowher": "nowher"}


@pytest.fixture
def unsampled(tmp_path, monkeypatch):
    monkeypatch.setattr(surface_forms, "_sampled_texts", lambda collection: [])
    documents = [{"id": str(i), "text": text} for i, text in enumerate(TEXTS)]
    made = lw.index(documents, to=tmp_path / "c")
    # Opened anew, so that nothing is remembered.
    return lambda: lw.Collection(made.folder).snapshot


def test_a_word_does_not_depend_on_its_company(unsampled):
    for terms in permutations(WORDS):
        collection = unsampled()
        assert readable_terms(collection, terms) == WORDS
        # Again, from what was remembered.
        for term in terms:
            assert readable_terms(collection, [term]) == {term: WORDS[term]}
    for term, word in WORDS.items():
        assert readable_terms(unsampled(), [term]) == {term: word}


def test_texts_are_asked_first(unsampled):
    assert readable_terms(unsampled(), ["walk", "cat"], ["walkers walking"]) == {
        "walk": "walking",
        "cat": "cats",
    }


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_what_is_remembered_is_bounded(unsampled, monkeypatch, most):
    monkeypatch.setattr(surface_forms, "_MOST_LOOKED_UP", most)
    collection = unsampled()
    for terms in (["walk"], ["cat", "talk"], [*WORDS], ["nowher", "walk"], []):
        assert readable_terms(collection, terms) == {term: WORDS[term] for term in terms}
        assert len(surface_forms._LOOKED_UP[collection]) <= most


def test_a_document_is_read_once(unsampled, monkeypatch):
    collection = unsampled()
    readable_terms(collection, WORDS)
    monkeypatch.setattr(surface_forms, "_holders", lambda collection, terms: [0 / 0 for _ in terms])
    assert readable_terms(collection, WORDS) == WORDS

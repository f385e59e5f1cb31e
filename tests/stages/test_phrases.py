import numpy as np
import pytest

import likewise as lw
from likewise.collection.positions import GAP
from likewise.stages.phrases import read_phrases, stands_in

DOCUMENTS = [
    {"id": "0", "title": "The King", "text": "of Spain – the KING, of course"},
    {"id": "1", "text": "l’été à Paris, zu Köln–Bonn am Rhein; à la carte"},
    {"id": "2", "title": "À propos", "text": ""},
    {"id": "3", "text": "税 of the 所得税 A"},
    {"id": "4", "text": ""},
]


@pytest.mark.parametrize(
    "dropped",
    [
        [("of", 1)],
        [("the", -1)],
        [("of", 0), ("the", 1)],
        [("a", 1)],
        [("la", 1), ("carte", 2)],
        [("the", 0), ("king", 1)],
    ],
)
def test_words_around_places_are_those_of_the_whole_list(tmp_path, dropped):
    c = lw.index(DOCUMENTS, to=tmp_path / "c.lw", analysis=lw.Analysis("en"), model="none")
    [segment], by = c.snapshot.segments, c.snapshot.analyzer
    found = False
    for doc, document in enumerate(c):
        title, text = by.words([document.title, document.text])
        words = [*title, *([""] * GAP if title else ()), *text]
        for start in range(-3, len(words) + 3):
            expected = stands_in(words, start, dropped, by)
            read = read_phrases(segment, np.array([doc]), [np.array([start])], dropped, by)
            assert read.tolist() == [expected]
            found |= expected
    assert found


def test_any_place_is_enough_and_documents_are_apart(tmp_path):
    c = lw.index(DOCUMENTS, to=tmp_path / "c.lw", analysis=lw.Analysis("en"), model="none")
    [segment], by = c.snapshot.segments, c.snapshot.analyzer
    docs, of = np.array([0, 3, 4]), 2 + GAP
    starts = [np.array([0, of]), np.array([0, 2]), np.array([0])]
    found = read_phrases(segment, docs, starts, [("of", 0)], by)
    assert found.tolist() == [True, False, False]

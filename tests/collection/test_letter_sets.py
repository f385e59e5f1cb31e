from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.letter_sets import LONGEST, letter_sets_of
from likewise.text.table import Strings


@given(st.lists(st.text("abcé税𝄞", max_size=12) | st.just("é" * LONGEST), max_size=6))
def test_they_are_the_characters_of_each_word(words):
    sets, sizes = letter_sets_of(*Strings.of([word.encode() for word in words]))
    assert sizes.tolist() == [len(word) for word in words]
    assert sets.tolist() == [sum({1 << ord(char) % 63 for char in word}) for word in words]


def test_what_is_too_long_has_no_size():
    _, sizes = letter_sets_of(*Strings.of([b"a" * LONGEST, b"a" * (LONGEST + 1)]))
    assert sizes.tolist() == [LONGEST, -1]

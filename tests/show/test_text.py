from hypothesis import given
from hypothesis import strategies as st

from likewise.show.text import display_width, one_line, shorten


@given(st.text(), st.integers(2, 60))
def test_shortened_text_fits_and_is_one_printable_line(text, width):
    short = shorten(text, width)
    assert display_width(short) <= max(width, 1)
    assert all(char.isprintable() for char in short)
    assert "\n" not in one_line(text)


@given(st.text("ab ", max_size=80), st.integers(2, 60))
def test_plain_text_is_cut_as_other_text_is(text, width):
    cut = shorten(f"{text}\u00e9", width)
    assert cut.replace("\u00e9", "e") == shorten(f"{text}e", width)

from hypothesis import given
from hypothesis import strategies as st

from likewise.show.table import align, cut_middle, in_blocks, ruled
from likewise.show.text import display_width


def test_columns_stand_where_wide_characters_leave_them():
    lines = align([("", "term", "share"), ("1", "日本", "2.5%"), ("10", "wing", "10%")], "><>")
    assert lines == ["    term  share", " 1  日本   2.5%", "10  wing    10%"]


def test_the_last_column_is_cut_or_takes_more_lines():
    rows = [("id", "claim"), ("a", "wings of various spans\x1b"), ("b", "")]
    assert align(rows, "<<", width=14, least=5) == ["id  claim", "a   wings of…", "b"]
    wrapped = align(rows, "<<", width=14, least=5, wrap=True)
    assert wrapped == ["id  claim", "a   wings of", "    various", "    spans�", "b"]
    assert align(rows[:2], "<<", width=8, least=12)[1] == "a   wings of va…"


def test_heads_of_numbers_stand_at_the_left_over_a_line():
    assert ruled([["run", "日"], ["MAP", "0.25"]]) == ["run  MAP", "─" * 9, "日   0.25"]


def test_columns_that_do_not_fit_follow_below():
    names, columns = ["run", "a"], [["x", "1.00"], ["y", "2.00"], ["z", "3.00"]]
    assert in_blocks(names, columns, 15) == [[names, *columns[:2]], [names, columns[2]]]
    assert in_blocks(names, columns, 21) == [[names, *columns]]


@given(st.text(max_size=40), st.integers(3, 30))
def test_a_name_cut_in_the_middle_fits_and_keeps_its_ends(name, width):
    shown = cut_middle(name, width)
    assert display_width(shown) <= width
    assert all(char.isprintable() for char in shown)
    if name.isascii() and name.isprintable() and len(name) > width:
        start, _, end = shown.partition("…")
        assert name.startswith(start)
        assert name.endswith(end)
        assert len(start) == len(end) == (width - 1) // 2

import pytest

from likewise.formats.titles import given_title, split_title, without_title


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("Wing flutter\n\nFlutter of a wing.", "Wing flutter", "Flutter of a wing."),
        ("Wing flutter\n============\nFlutter.", "Wing flutter", "Flutter."),
        ("Title: On  wings\nby A. Writer", "On wings", "by A. Writer"),
        # The line after it begins anew, and is longer than a line's width could be.
        ("Wing flutter\n" + "Flutter of a wing is seen. " * 3, "Wing flutter", None),
        ("\n\n Why flutter?\n\nBecause.", "Why flutter?", "Because."),
    ],
)
def test_a_first_line_that_is_a_title(text, title, rest):
    assert split_title(text) == (title, text.partition("\n")[2].strip() if rest is None else rest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line only",
        "one line only\n\n",
        # A sentence that goes on.
        "The boundary layer on a flat\nplate was measured.",
        "The boundary layer on a flat\nPlate of Prandtl.",
        "It was measured.\n\nTwice.",
        "As follows:\n\n1, 2, 3",
        "1234\n\nnumbers",
        "word " * 40 + "\n\nrest",
        "x" * 200 + "\n\nrest",
    ],
)
def test_a_first_line_that_is_none(text):
    assert split_title(text) == ("", text)


def test_a_title_is_not_repeated():
    assert without_title("Wing  flutter", "Wing\nFlutter\nof a wing") == "of a wing"
    assert without_title("Wing flutter", "Wing flutter is seen.") == "Wing flutter is seen."
    assert without_title("", "text") == "text"
    assert without_title("All", "All") == ""


@pytest.mark.parametrize(
    "made_up",
    ["Untitled", "untitled 1", "Microsoft Word - x.doc", "thesis.dvi", "(anonymous)", "3"],
)
def test_what_programs_make_up_is_no_title(made_up):
    assert given_title(made_up) == ""


def test_a_given_title():
    assert given_title(" On\n wings\0 ") == "On wings"
    assert given_title("Document retrieval") == "Document retrieval"

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.formats.markup import has_markup, strip_markup, strip_page


@pytest.mark.parametrize(
    "text",
    [
        "<p>words</p>",
        "H<sub>2</sub>O",
        "one<br>two",
        "one<BR />two",
        '<a href="x">link</a>',
        "<jats:p>An abstract.</jats:p>",
        "a < b, and <b>bold</b>",
    ],
)
def test_html_is_seen(text):
    assert has_markup(text)


@pytest.mark.parametrize(
    "text",
    [
        "a < b > c",
        "List<String> and vector<int>",
        "#include <map> and <set>",
        "Ann <ann@example.org> wrote </quote>",
        "<AAPL.O> rose",
        "the `<p>` element and its `</p>`",
        "the <br tag",
        "<b> alone",
        "p<0.05 and q>0.1",
        "",
    ],
)
def test_what_only_looks_like_html_is_left_alone(text):
    assert not has_markup(text)


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("H<sub>2</sub>O &amp; CO<sub>2</sub>", "H2O & CO2"),
        ("<p>One\nline</p><p>Two</p>", "One line\n\nTwo"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
        ("<table><tr><td>a<td>b</table>", "a b"),
        ("<pre>a\n  b</pre>", "a\nb"),
        ("a<script>var x = '<p>';</script>b", "ab"),
        ("a<!-- <p>no</p> -->b", "ab"),
        ("a<!-- never closed", "a never closed"),
        ("""<a title="x > y" href='z'>link</a>""", "link"),
        ("<i>first</i>\nsecond", "first\nsecond"),
        ("1 < 2 <br> 3 > 2", "1 < 2\n3 > 2"),
        ("&lt;p&gt; &#233; &nbsp;", "<p> é"),
        ("<![CDATA[x]]><?php y ?>z", "z"),
        ("<script>never closed", "never closed"),
    ],
)
def test_what_is_left(text, stripped):
    assert strip_markup(text) == stripped


def test_a_page():
    page = strip_page(
        """<!DOCTYPE html><html><head><title>Wings &amp; tails | The site</title>
        <style>p { x }</style></head><body><nav><ul><li>Home</ul></nav>
        <h1>Wings &amp; tails</h1><p>Flutter <b>is</b> seen.</p><script>f()</script>
        <footer>Imprint</footer></body></html>"""
    )
    assert page == ("Wings & tails", "Flutter is seen.")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title>One</title><h1>Two</h1>x", "One"),
        ("<h1>Two <i>words</i></h1>x", "Two words"),
        ("<p>no title", ""),
        ("<title>never closed <h1>Two</h1>", "Two"),
        ("<svg><title>icon</title></svg><h1>Two</h1>", "Two"),
    ],
)
def test_titles_of_pages(source, title):
    assert strip_page(source).title == title


def test_a_page_that_is_all_footer_is_read():
    assert strip_page("<footer><p>All there is</p></footer>").text == "All there is"


PIECES = ["<p>", "</p>", "<", ">", '"', "<!--", "<a '", "x", "&amp;", "<nav>", "</nav>", "<h1>"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_anything_is_stripped(text):
    # A tag may only be left of what an open quote or a comment hid.
    found = strip_page(text).text + strip_markup(text)
    assert not re.search(r"</?p>", found) or set(text) & {'"', "'", "!"}


@pytest.mark.parametrize(
    "piece",
    [
        *("<div>", "<font size=1><p>", "<", "<!--", "<a '", '<a "', "<nav>", "<script>", "<title>"),
        *("</nav>", "<!", "<?", "&#", "<a <b", "<nav></nav", "<svg><svg></svg>"),
    ],
)
def test_work_grows_with_the_length_alone(piece):
    # A tree of the first takes a parser half a minute; here each is read at once, or the test
    # would not end.
    assert isinstance(strip_page(piece * (2_000_000 // len(piece))).text, str)

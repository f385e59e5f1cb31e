import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from likewise.show.page import render
from likewise.show.text import harmless


@given(st.text(max_size=60))
@example("<b>\x00\x1b\u202e&amp; \"quoted\" 'so' \r\n {{ 7 * 7 }} {% raw %}")
def test_all_that_is_filled_in_is_escaped_once_and_harmless(text):
    from html import unescape

    source = render("base.html", title=text, about="")
    shown = source.partition("<title>")[2].partition("</title>")[0]
    assert "<" not in shown
    assert unescape(shown) == harmless(text)


def test_a_folder_of_ones_own_extends_the_pages_that_are_there(tmp_path):
    (tmp_path / "own.html").write_text(
        '{% extends "base.html" %}{% block style %}.own-page { top: 0; }{% endblock %}'
        '{% block content %}<p>{{ share|number(".1%") }}</p>{% endblock %}'
    )
    source = render("own.html", folder=tmp_path, title="<T>", about="", share=0.125)
    assert "<h1>&lt;T&gt;</h1>" in source
    assert "<p>12.5%</p>" in source
    assert source.index("--paper: #fbfaf7") < source.index(".own-page") < source.index("</style>")


def test_a_value_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError, match="about"):
        render("base.html", title="T")


def test_templates_are_imported_when_a_page_is_made():
    code = "import likewise.show.page, sys; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

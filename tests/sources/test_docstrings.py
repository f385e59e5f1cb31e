import importlib.util
import os
import subprocess
import sys
import warnings
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.sources import docstrings
from likewise.sources.docstrings import (
    JUDGED_FIELD,
    PACKAGES,
    read_docstrings,
    split_see_also,
    split_summary,
)

SECTIONED = """Do a thing.

Parameters
----------
x : int

See Also
--------
one : The first.
two, three
:func:`~pkg.mod.four` : With a role,
    and a continued description: five, six
`seven`, :py:meth:`Class.eight`: no space before the colon
nine()
    Described below.
ten,
    eleven : continued after the comma

Notes
-----
See also the notes.
"""


@pytest.fixture(scope="module")
def corpus():
    return {doc.id: doc for doc in read_docstrings()}


def test_names_are_read_as_written_and_the_section_alone_goes():
    text, names = split_see_also(SECTIONED)
    assert names == [
        "one",
        "two",
        "three",
        "pkg.mod.four",
        "seven",
        "Class.eight",
        "nine",
        "ten",
        "eleven",
    ]
    assert text == (
        "Do a thing.\n\nParameters\n----------\nx : int\n\nNotes\n-----\nSee also the notes."
    )


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ("a.b.c", ["a.b.c"]),
        ("a, a, b", ["a", "b"]),
        ("* a : x\n* b : y", ["a", "b"]),
        ("    a : indented\n        b", ["a"]),
        ("a : x\n\nb : y", ["a", "b"]),
        (":ref:`A page <target_page>` : x", ["target_page"]),
        ("`~a.b`\n``c``", ["a.b", "c"]),
        ("some prose without names", []),
        ("Prose about `a` and :func:`b`.", ["a", "b"]),
        ("a\n    b, c", ["a"]),
        (".. versionadded:: 1.2", []),
        ("", []),
    ],
)
def test_forms_of_the_section(section, names):
    text, found = split_see_also(f"Sum.\n\nSee Also\n--------\n{section}\n")
    assert found == names
    assert text == "Sum."


def test_heading_case_indent_and_repetition():
    doc = "S.\n\n  See also\n  --------\n  a\n\nNotes\n-----\nn\n\nSee Also\n--------\nb"
    assert split_see_also(doc) == ("S.\n\nNotes\n-----\nn", ["a", "b"])


def test_words_see_also_without_underline_are_text():
    doc = "S.\n\nSee also\nthe manual.\n\n"
    assert split_see_also(doc) == (doc, [])


HEADS = ("See Also\n--------\n", "Notes\n-----\n", "---\n", "--\n", "f(x) -> y\n", "f(", "..")
INLINE = (
    ":func:`",
    "`",
    "a.b",
    " : ",
    "\n",
    "\n\n",
    "    ",
    ", ",
    "word",
    "\x0c",
    "<",
    ">",
    "Sent. ",
)
PIECES = st.lists(st.sampled_from(HEADS + INLINE)).map("".join)


@given(st.text() | PIECES)
def test_no_docstring_breaks_the_parsing(doc):
    text, names = split_see_also(doc)
    assert all(name and not set(name) & set("`: ,") for name in names)
    assert split_see_also(text)[1] == []
    title, _ = split_summary(text)
    assert "\n" not in title


@given(st.lists(st.from_regex(r"[a-z]{1,9}[.,]?[ \n]{1,2}", fullmatch=True), max_size=60))
def test_title_and_text_together_hold_every_word(words):
    doc = "".join(words)
    title, text = split_summary(doc)
    held = text.split() if title.endswith("…") else title.split() + text.split()
    assert sorted(held) == sorted(doc.split())


@pytest.mark.parametrize(
    ("doc", "title", "text"),
    [
        ("Return x.", "Return x.", ""),
        ("Return\nthe :func:`~a.x`.\n\nMore.", "Return the a.x.", "More."),
        ("f(x, /)\n\nReturn x.\n\nMore.", "Return x.", "f(x, /)\n\nMore."),
        ("f(x,\n  y)\n--\n\nReturn x.", "Return x.", "f(x,\n  y)\n--"),
        ("f(x) -> int\nf(y) -> str\nReturn.", "Return.", "f(x) -> int\nf(y) -> str"),
        ("f(x) gives x back.", "f(x) gives x back.", ""),
        ("=====\nTitle (:mod:`m`)\n=====\n\nMore.", "Title (m)", "More."),
        ("ast\n~~~\n\nThe module helps.", "The module helps.", "ast"),
        ("Parameters\n----------\nx", "", "Parameters\n----------\nx"),
        ("Point(x, y)", "", "Point(x, y)"),
        ("", "", ""),
    ],
)
def test_summary(doc, title, text):
    assert split_summary(doc) == (title, text)


def test_long_first_paragraph_gives_its_first_sentence():
    first, rest = "This is the first sentence of it.", "And a second " + "so " * 40 + "long."
    assert split_summary(f"{first}\n{rest}") == (first, rest)


def test_endless_first_sentence_is_cut_and_kept():
    paragraph = "so " * 99 + "long"
    title, text = split_summary(paragraph)
    assert title.endswith(" …")
    assert len(title) <= 122
    assert text == paragraph


def test_butter(corpus):
    butter = corpus["scipy.signal.butter"]
    assert butter.title == "Butterworth digital and analog filter design."
    assert {"scipy.signal.buttord", "scipy.signal.buttap"} <= set(butter.fields[JUDGED_FIELD])
    assert butter.fields["package"] == "scipy"
    assert butter.fields["kind"] == "function"
    assert butter.fields["module"] == "scipy.signal"
    assert butter.place == "docstrings:scipy.signal.butter"
    assert "See Also" not in butter.text
    assert "Parameters\n----------\nN : int" in butter.text
    assert "Examples\n--------" in butter.text


def test_public_names(corpus):
    kinds = {
        "numpy.linalg.norm": "function",
        "numpy.absolute": "function",
        "numpy.ndarray.sum": "method",
        "numpy.mgrid": "function",
        "scipy.special.jv": "function",
        "scipy.stats.norm": "function",
        "scipy.signal.ShortTimeFFT.stft": "method",
        "scipy.signal": "module",
        "json.dumps": "function",
        "os.path.join": "function",
        "builtins.open": "function",
        "collections.OrderedDict": "class",
        "json": "module",
    }
    assert {name: corpus[name].fields["kind"] for name in kinds} == kinds
    assert corpus["numpy.ndarray.sum"].fields["module"] == "numpy"
    absent = ["scipy.signal._filter_design.butter", "scipy.signal.filter_design.butter"]
    absent += ["numpy.abs", "numpy.ma.add", "posixpath.join", "io.open", "sys.excepthook"]
    assert not set(absent) & set(corpus)
    assert not [name for name in corpus if "._" in name or ".tests." in name]


def test_see_also_of_a_method_and_of_another_package(corpus):
    assert corpus["numpy.ndarray.sum"].fields[JUDGED_FIELD] == ["numpy.sum"]
    assert "scipy.linalg.norm" in corpus["numpy.linalg.norm"].fields[JUDGED_FIELD]


def test_judgements_stay_inside_the_corpus_and_out_of_the_text(corpus):
    judged = [doc for doc in corpus.values() if JUDGED_FIELD in doc.fields]
    assert len(judged) > 1_000
    for doc in judged:
        named = doc.fields[JUDGED_FIELD]
        assert named
        assert len(set(named)) == len(named)
        assert doc.id not in named
        assert set(named) <= set(corpus)
        assert doc.fields["package"] != "stdlib"
    assert not [doc.id for doc in corpus.values() if "See Also\n---" in doc.text]


def test_size_titles_and_texts(corpus):
    assert len(corpus) > 4_000
    assert sum(len(doc.text) for doc in corpus.values()) > 5_000_000
    assert all(doc.title and "\n" not in doc.title for doc in corpus.values())
    texts = [(doc.title, doc.text) for doc in corpus.values()]
    assert len(set(texts)) == len(texts)


def test_ids_are_unique_sorted_and_the_same_twice(corpus):
    again = list(read_docstrings())
    ids = [doc.id for doc in again]
    assert ids == sorted(set(ids))
    assert again == list(corpus.values())


def _digest(documents):
    return sha256(repr([tuple(doc) for doc in documents]).encode()).hexdigest()


def test_numpy_alone_is_as_beside_scipy(corpus):
    assert next(d for d in read_docstrings("numpy") if d.id == "numpy.sinc") == corpus["numpy.sinc"]


def test_same_in_another_process_with_another_history():
    program = (
        "import concurrent.futures, hashlib; concurrent.futures.ThreadPoolExecutor\n"
        "from likewise.sources.docstrings import read_docstrings\n"
        "docs = [tuple(doc) for doc in read_docstrings('numpy,scipy,stdlib')]\n"
        "print(hashlib.sha256(repr(docs).encode()).hexdigest())"
    )
    path = os.pathsep.join(filter(None, sys.path))
    other = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert other.stdout.strip() == _digest(read_docstrings("stdlib, scipy, numpy"))
    assert other.stderr == ""


def test_sklearn(corpus):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    ridge = corpus["sklearn.linear_model.Ridge"]
    assert ridge.fields["kind"] == "class"
    assert "sklearn.linear_model.RidgeCV" in ridge.fields[JUDGED_FIELD]
    assert corpus["sklearn.cluster.KMeans.fit"].fields["kind"] == "method"


def test_chosen_packages_only():
    documents = list(read_docstrings(" scipy , numpy"))
    assert {doc.fields["package"] for doc in documents} == {"numpy", "scipy"}


@pytest.mark.parametrize("packages", ["numpy,torch", "torch", ",", "numpy,,scipy", "NumPy"])
def test_unknown_package(packages):
    with pytest.raises(UsageError, match="numpy, scipy, sklearn, stdlib"):
        read_docstrings(packages)


def test_uninstalled_package(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        docstrings.importlib.util, "find_spec", lambda n: None if n == "sklearn" else find(n)
    )
    with pytest.raises(UsageError, match=r"'sklearn'.*pip install.*numpy, scipy, stdlib"):
        read_docstrings("sklearn")
    assert "sklearn" in PACKAGES


def test_nothing_is_said_and_the_filters_stay(capsys):
    before = list(warnings.filters)
    list(read_docstrings("numpy"))
    assert capsys.readouterr() == ("", "")
    assert warnings.filters == before

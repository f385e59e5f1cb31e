"""One tree of errors, and what they say to whom."""

import ast
import pickle
import re
from array import array
from pathlib import Path

import pytest

import likewise
import likewise_papers
from likewise.errors import (
    LikewiseError,
    Remedy,
    SourceError,
    UnknownDocument,
    UnknownModel,
    UsageError,
    WrongType,
)

SOURCES = [Path(likewise.__file__).parent, Path(likewise_papers.__file__).parent]
# Options and commands, as they are typed.
TYPED = re.compile(
    r"(?<![\w-])--[a-z]|\blikewise (index|add|fit|upgrade|clean|merge|copy|term-graph)\b"
)


@pytest.mark.parametrize(
    ("error", "python"),
    [
        (UsageError, ValueError),
        (WrongType, TypeError),
        (UnknownDocument, KeyError),
        (UnknownModel, KeyError),
    ],
)
def test_errors_are_also_those_of_python(error, python):
    assert issubclass(error, LikewiseError)
    assert issubclass(error, python)
    # A KeyError would show its message in quotes.
    assert str(error("no such thing")) == "no such thing"


def test_a_remedy_is_said_in_the_language_of_the_reader():
    remedy = Remedy("pass auto_id=True", "use --auto-id")
    error = UsageError("no id", remedy=remedy)
    assert str(error) == "no id; pass auto_id=True"
    assert error.in_shell == "no id; use --auto-id"
    assert str(UsageError("no id")) == UsageError("no id").in_shell == "no id"
    placed = SourceError("a.csv:3", "no id", remedy=remedy)
    assert str(placed) == "a.csv:3: no id; pass auto_id=True"
    assert placed.in_shell == "a.csv:3: no id; use --auto-id"
    assert placed.reason == "no id"


def test_errors_survive_a_pickle():
    error = pickle.loads(pickle.dumps(UsageError("no id", remedy=Remedy("a", "b"))))
    assert (str(error), error.in_shell) == ("no id; a", "no id; b")
    assert str(pickle.loads(pickle.dumps(WrongType.of(5, "k is a text")))) == str(
        WrongType.of(5, "k is a text")
    )


class Silent:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("received", "shown"),
    [
        (None, "k is a text, not None"),
        (5, "k is a text, not 5 (int)"),
        (["a" * 90], "k is a text, not a list"),
        (Silent(), "k is a text, not a Silent"),
        (array("d", range(90)), "k is a text, not an array"),
    ],
)
def test_what_was_received_is_shown_in_a_line(received, shown):
    assert str(WrongType.of(received, "k is a text")) == shown


def messages(tree):
    """Every text of a module that is neither a docstring nor what a remedy types."""
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(node.value)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remedy":
            left_out.update(ast.walk(node.args[1]))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in left_out:
            yield node.lineno, node.value


def test_the_scan_sees_messages_and_leaves_remedies_alone():
    tree = ast.parse('"""--doc"""\nf("use --a")\nRemedy("b=", "use --b")\nRemedy("--c", "c")')
    assert [text for _, text in messages(tree) if TYPED.search(text)] == ["use --a", "--c"]


def test_below_the_command_line_options_stand_in_remedies_only():
    below = [
        path
        for source in SOURCES
        for path in source.rglob("*.py")
        if "app" not in path.relative_to(source).parts and path.name not in ("command.py",)
    ]
    found = [
        (path.name, line, text)
        for path in below
        for line, text in messages(ast.parse(path.read_text("utf-8")))
        if TYPED.search(text)
    ]
    # How an upgrade is given up is said for a shell.
    assert {one[0] for one in found} == {"manifest.py"}

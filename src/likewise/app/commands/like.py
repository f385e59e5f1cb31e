"""like: which documents are like this one, and why?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.app.opening import open_to_ask
from likewise.app.options import (
    Commands,
    add_json,
    add_k,
    add_shared,
    command,
    print_json,
)
from likewise.app.texts import read_document, write_text
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.engine.answers import Answers
    from likewise.engine.collection import Collection

METHODS = """\
methods (options in brackets, as in --method "hybrid(feedback=0)"):
  hybrid      topics and words             model= focus= candidates=250 feedback=3 only=
  bm25 tfidf ql ql-jm   the whole document as a query
  eq4 topn topn-lda lsh-tfidf   the formula and the baselines of the papers
candidates are how many documents are scored by all parts, 0: all; feedback is how many of the best
answers have their vectors added to the query's; only=dense compares topics (or axes, or vectors)
alone, only=specific the words that these do not tell, only=words all words, only=titles how much of
each title is said.
"""

_MANUAL = f"""\
A document is topics, words that are specific to it, and all its words; like documents share these,
and what a document refers to it calls by its title.
--focus says in what they are to be alike: for a paper on the flutter of wings, subject brings
papers on aeroelasticity, thing brings those that treat the same wing. A score of 1 is as like as
the twenty documents most like one are on average.

Several documents are asked for as a mixture: a score is the mean of those for each, less half of
the mean of those for --unlike. Documents that are asked with are no answers.

By a model of vectors (`likewise fit --help`) a text has the vector that its words predict, unless
--vector gives its own.

{METHODS}
examples:
  likewise like papers.lw --doc draft.txt -k 5 --explain
  likewise like bugs.lw --text "crash when the window is closed" --focus thing
  likewise like papers.lw --id 1999-17 --id 2001-3 --filter "year>=1995"
  likewise like papers.lw --text "flutter of swept wings" --unlike 1999-17
  likewise like papers.lw --doc draft.txt --html answers.html
  likewise like papers.lw --text "flutter of swept wings" --vector text.npy
"""


def register(commands: Commands) -> None:
    """Add the command."""
    like = command(commands, "like", _like, manual=_MANUAL)
    like.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    for name, metavar, what in (
        ("--doc", "FILE", "like a document of any format; - is text on standard input"),
        ("--id", "ID", "like a document of the collection"),
        ("--text", "TEXT", "like this text"),
        ("--unlike", "ID", "unlike a document of the collection"),
        ("--unlike-doc", "FILE", "unlike a document of any format"),
        ("--unlike-text", "TEXT", "unlike this text"),
    ):
        like.add_argument(name, action="append", default=[], metavar=metavar, help=what)
    like.add_argument(
        "--vector", type=Path, metavar="FILE", help="the vector of the one text, as .npy"
    )
    like.add_argument(
        "--focus",
        default="",
        metavar="WHAT",
        help="subject, balanced, thing, or a number from 0 to 1 "
        "(default: what `tune` learnt, else balanced)",
    )
    add_k(like, 10)
    add_shared(like, "method", "filter", "explain", method="hybrid")
    like.add_argument("--html", type=Path, metavar="FILE", help="write the answers as a page")
    add_json(like)


def _like(options: argparse.Namespace) -> None:
    if not (options.doc or options.id or options.text or options.vector):
        raise UsageError("like what? name a file (--doc), an id (--id) or a text (--text)")
    collection = open_to_ask(options)
    vector = None
    if options.vector:
        from likewise.models.vector_sources import read_vector

        vector = read_vector(options.vector)
    texts = [*map(read_document, options.doc), *options.text]
    away = [*map(read_document, options.unlike_doc), *options.unlike_text]
    answers = collection.like(
        options.id,
        text=texts,
        unlike=options.unlike,
        unlike_text=away,
        vector=vector,
        k=options.k,
        method=options.method,
        focus=options.focus,
        filter=options.filter,
        explain=options.explain or options.html is not None,
    )
    if options.html:
        _write_page(options, collection, answers, texts)
    if options.json:
        print_json(answers.to_json())
    else:
        if not len(answers) and vector is None and not _has_words(collection, options.id, texts):
            print("likewise: the document holds no word to compare", file=sys.stderr)
        print(answers)
    if options.html:
        print(f"likewise: the page is in {options.html}", file=sys.stderr)


def _has_words(collection: Collection, ids: list[str], texts: list[str]) -> bool:
    from likewise.collection.build import content

    s = collection.snapshot
    mine = [content(collection[doc_id]) for doc_id in ids]
    return any(s.analyzer.counts(text) for text in (*mine, *texts))


def _write_page(
    options: argparse.Namespace, collection: Collection, answers: Answers, texts: list[str]
) -> None:
    from likewise.app.like_page import LikeAnswer, like_page
    from likewise.collection.build import content
    from likewise.like.passages import TextWords
    from likewise.like.term_numbers import TermNumbers

    s = collection.snapshot
    if any(one.explanation is None or one.explanation.evidence is None for one in answers):
        raise UsageError(
            f"--html shows topics and words, which {options.method} does not compare; "
            "methods with a page are hybrid and eq4"
        )
    in_hand = [content(collection[doc_id]) for doc_id in options.id] + texts
    named = [collection[doc_id].title or doc_id for doc_id in options.id]
    named += [Path(file).name for file in options.doc if file != "-"]
    page = like_page(
        named[0] if len(in_hand) == len(named) == 1 else "",
        in_hand[0] if len(in_hand) == 1 else "",
        [
            LikeAnswer(answer.doc_id, answer.title, content(collection[answer.doc_id]), explained)
            for answer in answers
            if (explained := answer.explanation) is not None
        ],
        read=lambda shown: TextWords(shown, s.analyzer, TermNumbers.of(s)),
        about=f"by {answers.method}",
    )
    write_text(options.html, page)

"""search, run: what does a collection answer?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.opening import open_to_ask
from likewise.app.options import (
    Commands,
    add_json,
    add_k,
    add_shared,
    command,
    print_json,
    spoken,
    whole,
)
from likewise.app.progress import OutOf, Progress
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.engine.answers import Expanded
    from likewise.engine.collection import Collection
    from likewise.evaluate import Run
    from likewise.stages.stage import Result

_DEFAULT = """\
Where none of --method, --expand and --smooth is named, a query is expanded by robust, less where
the scores of the first documents are flat, and its ranking smoothed by klsa, less where they are
flat or the query is long, where the collection has a kernel model (`index` fits one). Scores are
up to 1, of words and of being like the documents that were first by the words typed. To the first
30 proximity adds, as shares of the best score: up to 0.15 for words that stand together, 0.02 for
words in the title, 0.1 where the title is the query, 1.5 for rare words as they are spelled. By the
words typed the first three documents stay the first, as far as each is ahead of the next by 0.05 of
the best score. A query of more than 20 distinct words goes over to likeness, in even steps up to
60: from there on it is answered as `like --text` is. Name one of the three options and just that is
done: --method bm25 is plain BM25.
"""

_METHODS = """\
methods (options in brackets, as in --method "bm25(k1=2,b=0.5)"):
  bm25    BM25 as in Lucene                               k1=1.2 b=0.75
  ql      query likelihood, Dirichlet smoothing           mu=1000
  ql-jm   query likelihood, Jelinek-Mercer smoothing      lam=0.5
  tfidf   cosine of TF-IDF vectors
  inner   inner product of counts
  near    nearness of topics (`likewise neighbours --help`)   model= metric= index=auto
  hybrid  the query as a document (`likewise like --help`, which has more of this kind)
  exact   words as they are spelled that are else left out (the who, c++), and their order
after a search: >> proximity, words that stand together and titles
          near=0.15 title=0.02 exact=0.1 spelling=1.5 window=2 candidates=30
after expansion: >> keep, the first by the words typed stay so    docs=3 gap=0.05
"""

_EXPANDERS = """\
expanders of a query, by the terms of its first documents (--expand "rm3(docs=5,share=0.3)"):
  none     the query as it is
  rm3      relevance model and query                       docs=10 terms=20 share=0.5
  rrm      relevance model by rank and rarity, and query   docs=20 terms=50 share=0.5
  rm1      relevance model alone                           docs=10 terms=20
  bo1, kl  divergence from randomness                      docs=3 terms=10 share=0.5
  rocchio  mean of document vectors                        docs=10 terms=20 beta=0.75 gamma=0
  graph    terms near to all its words on the term graph   terms=50 share=0.2 kernel=resistance
           (`likewise term-graph --help`)                  weights=idf graph=
  robust   as much as its risk allows                      docs=20 terms=60 share=0.5
           adapt=0           above 0: the share is smaller where the first scores are flat
           similarity=loo    which words stand and fall together: loo and tat as the query loses
                             each of its words, or has it alone (loo-near, tat-near: by distance);
                             jaccard by the documents that have them; graph by the term graph
           gamma=1 kappa=1   the lower gamma, the more risk counts
           context=0         documents that similarity looks at (0: as many as docs)
           coverage=0 balance=1 keep=0 budget=0   limits; where none can be met the query is left
                             alone: new words near to each word of the query; no nearer to one than
                             to others by so much; weight of the query's words; of all new words
share is the part of feedback in the expanded query. {shown}
"""
_JSON_TERMS = "by words as people read them, with the stems that are searched under terms"
_ALL_TERMS = f"--explain shows the weightiest terms; --json all, {_JSON_TERMS}."
_RUN_TERMS = f"--json shows all terms, {_JSON_TERMS}."

_SMOOTHERS = """\
smoothing of a ranking, by the documents that are like its first ones (--smooth "klsa(docs=10)"):
  none     the ranking as it is
  klsa     Kernel LSA: scores spread over documents that are like each other
           docs=20           how many of the first documents count (0: all that are ranked)
           share=0.3         the part of likeness in the score
           by=rank           what each counts: 1/rank, or (by=score) its score
           scale=max         both parts are divided by their maximum, or (scale=raw) are as they are
           adapt=0           above 0, in place of share: likeness weighs up to so much against 1 of
                             the score as it was, less where the first scores are flat
           terms=9           with adapt: less, too, where the query has more terms than this
           model=            the kernel model, as `likewise fit --model klsa --name NAME` stores it
                             (default: fitted last)
"""

_FILTERS = r"""filters (--filter "year>=2005"; of several, all must hold):
  status=open  status!=open         a value, or not; case counts
  status=open|closed                either
  status=op*                        begins with it
  status~pen  status!~pen           contains it, whatever the case, or does not
  status=*  status!=*               has any value, or none
  year>=2005                        numbers, also > < <= =
  filed>=2015  filed=2015-03        dates, also > < <=: a year or a month is all of it, and
                                    filed>2015 begins with 2016; what has no zone is UTC
  open=true                         true or false
  id=1999*  title~nile              the id and the title, unless a field has that name
  language=fr                       the language that it was found to be in, by name or code
A list meets a condition with any of its members. Fields are found whatever the case, where only one
is so called: --filter "filing date>=2015". A value stored as a year or a month counts as its first
day. \ before | * = < > ! ~ or a space takes it as it is: title=C\*. `likewise info` shows fields
with their types, and --type of `likewise index` and `merge` says them.
"""

_SYNTAX = """\
queries (--plain: none of this; nor in a query of 30 words or more):
  black holes          documents that have any of the words, the better the more they say
  "black holes"        they must stand so, one after the other, with the, of, c and their like
  +nile -egypt         nile must occur, egypt must not
  title:nile           nile must be in the title; title:"black hole" as well
  neuro*               any word that begins so
  nile^3 river         nile counts three times
  nile AND (egypt OR sudan) NOT river      both must match; at least one; must not
What cannot be read so is searched as plain words, and a message says so. Words that no document has
are named, and the nearest words of the collection suggested; they are searched for where nothing is
found otherwise.
"""

_SEARCH_MANUAL = f"""\
{_SYNTAX}
{_DEFAULT}
{_METHODS}
{_EXPANDERS.format(shown=_ALL_TERMS)}
{_SMOOTHERS}
{_FILTERS}
examples:
  likewise search papers.lw "boundary layer transition" -k 5
  likewise search papers.lw "wing flutter" --filter "year>=1960" --explain
  likewise search papers.lw wing flutter -panel
  likewise search papers.lw '"wing flutter" OR title:panel'
  likewise search papers.lw "wing flutter" --method bm25
  likewise search papers.lw "wing flutter" --expand rm3 --smooth "klsa(share=0.2)" --explain
"""

_RUN_MANUAL = f"""\
The run goes to standard output in TREC form: qid Q0 doc_id rank score tag. Queries are JSONL
(id, text), TSV (id, text) or TREC topics. An id with white space is percent-encoded.

With --like the queries are documents: ids of the collection, a line each, or documents of any
format (id, title, text). A document is not among its own answers. Methods are those of `likewise
like`.

{_DEFAULT}
{_METHODS}
{_EXPANDERS.format(shown=_RUN_TERMS)}
{_SMOOTHERS}
{_FILTERS}
examples:
  likewise run cran.lw --queries queries.jsonl > default.run
  likewise run cran.lw --queries queries.jsonl --method bm25 > bm25.run
  likewise run cran.lw --queries queries.jsonl --expand rm3 > rm3.run
  likewise run cran.lw --like ids.txt -k 100 > like.run
  likewise eval --qrels qrels.txt bm25.run
"""


def register(commands: Commands) -> None:
    """Add the commands."""
    search = command(
        commands,
        "search",
        _search,
        manual=_SEARCH_MANUAL,
    )
    search.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    search.add_argument("query", nargs="+", metavar="WORDS", help="the query")
    search.words = "query"
    search.add_argument(
        "--plain", action="store_true", help="search for all words as they are, without operators"
    )
    add_k(search, 10)
    add_shared(search, *_ASKING, "explain")
    search.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_json(search)

    run = command(commands, "run", _run, manual=_RUN_MANUAL)
    run.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    what = run.add_mutually_exclusive_group(required=True)
    what.add_argument("--queries", metavar="FILE", help="the queries, - or ir:ID")
    what.add_argument(
        "--like", metavar="FILE", help="documents as queries: ids, a line each, or JSONL"
    )
    add_k(run, 1000, "answers each")
    add_shared(run, *_ASKING)
    run.add_argument(
        "--tag", default="", metavar="NAME", help="the run's name (default: the method)"
    )
    run.add_argument("--topic-fields", default="title", metavar="NAME[,…]", help="of TREC topics")
    run.add_argument(
        "--threads", type=whole, default=0, metavar="N", help="threads (default: all cores)"
    )
    run.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_json(run)


_ASKING = ("method", "expand", "smooth", "filter")


def _search(options: argparse.Namespace) -> None:
    collection = open_to_ask(options)
    _see_graph(collection, options)
    answers = collection.search(
        spoken(options.query),
        k=options.k,
        **_how(options),
        filter=options.filter,
        explain=options.explain,
        syntax=not options.plain,
    )
    if options.json:
        print_json(answers.to_json())
        return
    for line in answers.query_notes.lines(answers.query) if answers.query_notes else ():
        print(f"likewise: {line}", file=sys.stderr)
    answers = answers.without_notes()
    if not len(answers) and not collection.snapshot.analyzer.terms(answers.query):
        print("likewise: the query holds no word that is searched for", file=sys.stderr)
    elif answers.expanded and answers.expanded.skipped_reason:
        # Where nothing is found, only who asked for an expansion misses it.
        if len(answers) or options.expand:
            print(f"likewise: {answers.expanded}", file=sys.stderr)
        answers = answers.alone()
    print(answers)


def _how(options: argparse.Namespace) -> dict[str, str]:
    """Give how it is asked; nothing is the default in Python, and a slip where it is typed."""
    how = {name: getattr(options, name) for name in ("method", "expand", "smooth")}
    empty = [name for name, value in how.items() if value is not None and not value.strip()]
    if empty:
        raise UsageError(f"--{empty[0]} '' is not written as name or name(option=value,…)")
    return {name: value or "" for name, value in how.items()}


def _see_graph(collection: Collection, options: argparse.Namespace) -> None:
    """Make the graph of terms that an expander asks, where there is none."""
    if options.expand and "graph" in options.expand:
        from likewise.app.graphs import see_graph
        from likewise.expand.expansion import read_expander

        how = read_expander(options.expand)
        if getattr(how, "by_graph", False) and not getattr(how, "graph", ""):
            see_graph(collection, options)


def _run(options: argparse.Namespace) -> None:
    from likewise.evaluate import read_queries

    collection = open_to_ask(options)
    if options.like:
        for name in ("expand", "smooth"):
            if (getattr(options, name) or "none") != "none":
                raise UsageError(f"--{name} is for queries of words, not for --like")
        _run_like(options, collection)
        return
    queries = read_queries(options.queries, fields=tuple(options.topic_fields.split(",")))
    _see_graph(collection, options)
    pipeline = collection.pipeline(
        k=options.k,
        **_how(options),
        filter=options.filter,
        threads=options.threads,
    )
    name = options.tag or pipeline.name.replace(" ", "")
    expanded: dict[str, Expanded] = {}
    with Progress("run", unit="queries", quiet=options.quiet) as progress:
        results = _noted(pipeline.results(queries), expanded)
        run = pipeline.as_run(
            progress.follow(results, measured=OutOf(len(queries), progress)), name=name
        )
    skipped = {qid: one.skipped_reason for qid, one in expanded.items() if one.skipped_reason}
    if skipped and not options.quiet:
        qid, why = next(iter(skipped.items()))
        print(
            f"likewise: {len(skipped):,} of {len(queries):,} queries were not expanded; "
            f"{qid}: {why}",
            file=sys.stderr,
        )
    words = _words_of(collection, expanded) if options.json else {}
    _print_run(options, run, {qid: one.to_json(words) for qid, one in expanded.items()})


def _words_of(collection: Collection, expanded: Mapping[str, Expanded]) -> dict[str, str]:
    """Give the words that the terms of expanded queries stand for."""
    from likewise.models.surface_forms import readable_terms

    terms = (term for one in expanded.values() for term in (*one.asked, *one.added))
    return readable_terms(collection.snapshot, terms)


def _noted(results: Iterable[Result], expanded: dict[str, Expanded]) -> Iterator[Result]:
    """Pass results on, and note what was made of their queries."""
    from likewise.engine.answers import Expanded

    for one in results:
        if one.query.expansion:
            expanded[one.query.qid] = Expanded.of(one.query)
        yield one


def _run_like(options: argparse.Namespace, collection: Collection) -> None:
    from likewise.app.documents import read_queries_of

    queries = read_queries_of(options.like)
    method = options.method or "hybrid"
    pipeline = collection.pipeline(
        method, k=options.k, filter=options.filter, threads=options.threads
    )
    with Progress("run", unit="documents", quiet=options.quiet) as progress:
        run = pipeline.as_run(
            progress.follow(pipeline.results(queries), measured=OutOf(len(queries), progress)),
            name=options.tag or method,
        )
    _print_run(options, run)


def _print_run(
    options: argparse.Namespace, run: Run, expansions: Mapping[str, Any] | None = None
) -> None:
    from likewise.evaluate import write_run

    if options.json:
        print_json(run.to_json() | ({"expansions": expansions} if expansions else {}))
    else:
        write_run(run, sys.stdout)

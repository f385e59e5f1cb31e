"""Judged collections for the other scripts: cached as indexed, with queries and what is relevant.

Queries are those of a collection (where they are documents: their titles, the document itself left
out), or with an @ before a name the **names of its categories**: the name is the query, its members
are relevant. Only collections whose categories have names in words are asked so: of Wikipedia for
Schools the last part of each path, of planetmath the heading without its number, of eLife (titles
and abstracts) the subject, of Reuters the topics that are no abbreviations.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from platform import python_version
from typing import Any, NamedTuple

import orjson

import likewise as lw
from likewise.records import Query
from likewise.sources.docstrings import PACKAGES
from likewise_papers.data import package_version
from likewise_papers.folders import find_collection

ASKED = "cran,cisi,cacm,med,npl,cf,checkthat20,semeval-cqa-b,planetmath,mdn,gitbugs2"
NAMED = "@wikipedia-schools,@planetmath,@elife,@reuters21578"
NAMES = f"{ASKED},{NAMED}"
DOCSTRINGS = "docstrings"
CACHE = Path("/tmp/likewise-defaults")
# A category of fewer documents is no subject that is searched for.
LEAST = 5
# Topics of Reuters that nobody would type.
ABBREVIATED = {
    *("acq", "alum", "bop", "cpi", "dlr", "dmk", "earn", "gnp", "instal-debt", "ipi", "l-cattle"),
    *("lei", "money-fx", "nat-gas", "pet-chem", "stg", "veg-oil", "wpi"),
}

Row = Mapping[str, Any]


class Judged(NamedTuple):
    """A collection, its queries, what is relevant to each, and the document that each is of."""

    collection: lw.Collection
    queries: list[Query]
    relevant: list[set[str]]
    own: list[str]


def sets_of(names: str, *, cache: Path = CACHE, most: int = 400) -> dict[str, Judged]:
    """Read the sets of queries that are at hand, at most so many queries of each."""
    found = {}
    for name in names.split(","):
        folder = find_collection(name.removeprefix("@"))
        if folder is not None:
            c = cached(folder.name, cache)
            asked = _named(folder) if name.startswith("@") else _asked(folder)
            kept = [*asked]
            kept = kept[:: max(1, -(-len(kept) // most))]
            queries, relevant, own = ([*column] for column in zip(*kept, strict=True))
            found[name] = Judged(c, queries, relevant, own)
    return found


def cached(name: str, cache: Path = CACHE) -> lw.Collection:
    """Open a collection, indexed when it is first asked for."""
    to = cache / f"{name}.lw"
    if to.exists():
        return lw.open(to)
    if name == DOCSTRINGS:
        return lw.index(f"{DOCSTRINGS}:", to=to)
    folder = find_collection(name)
    if folder is None:
        raise SystemExit(f"no folder of LIKEWISE_DATA has {name}")
    if name == "elife":
        papers = ({**row, "text": row["abstract"], "body": ""} for row in rows_of(folder))
        return lw.index(papers, to=to)
    [corpus] = folder.glob("corpus.jsonl*")
    return lw.index(str(corpus), to=to)


def versions() -> str:
    """Say of which packages the docstrings are: what they say changes with the version."""
    known = [package_version(name) for name in PACKAGES if name not in ("stdlib", "sklearn")]
    return ", ".join([f"Python {python_version()}", *known, package_version("scikit-learn")])


def rows_of(folder: Path) -> Iterator[Row]:
    """Read the documents of a collection as they are stored."""
    [corpus] = folder.glob("corpus.jsonl*")
    opened = gzip.open if corpus.suffix == ".gz" else open
    with opened(corpus, "rb") as lines:
        yield from map(orjson.loads, lines)


def _asked(folder: Path) -> Iterator[tuple[Query, set[str], str]]:
    qrels = lw.read_qrels(str(folder / "qrels.txt"))
    for row in map(orjson.loads, (folder / "queries.jsonl").read_bytes().splitlines()):
        own = row.get("doc_id", "")
        grades = qrels.get(row["id"], {})
        relevant = {doc for doc, grade in grades.items() if grade > 0 and doc != own}
        if relevant:
            yield Query(row["id"], row["title"] if own else row["text"]), relevant, own


def _named(folder: Path) -> Iterator[tuple[Query, set[str], str]]:
    members: dict[str, set[str]] = {}
    for row in rows_of(folder):
        for name in _NAMES_IN[folder.name](row):
            members.setdefault(name, set()).add(row["id"])
    for name, docs in sorted(members.items()):
        if len(docs) >= LEAST:
            yield Query(name, name), docs, ""


def _paths(row: Row) -> Iterator[str]:
    for path in row["categories"]:
        yield from path.split(".")


_NAMES_IN: dict[str, Callable[[Row], Iterable[str]]] = {
    "wikipedia-schools": _paths,
    "planetmath": lambda row: [row["category"].partition("_")[2].replace("_", " ")],
    "elife": lambda row: row["categories"],
    "reuters21578": lambda row: [
        name.replace("-", " ") for name in row["categories"] if name not in ABBREVIATED
    ],
}

"""TREC files: runs (`qid Q0 doc_id rank score tag`) and judgements (`qid 0 doc_id grade`).

Columns are separated by white space, so an id that holds white space or a control character is
percent-encoded when written ("a b" becomes "a%20b", and a "%" in such an id "%25"). Every other id
is written as it is, and nothing is decoded when read: the ids of a file are the ids that it shows.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, TextIO

from likewise.arguments import check_kind
from likewise.errors import SourceError, UsageError, WrongType
from likewise.evaluate.lines import FilePath, catalogued, columns, numbered_lines, shown

# trec_eval keeps one counter per grade and query: its time grows with the highest grade.
MAX_GRADE = 1000

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?(?:inf|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)", re.IGNORECASE)
_RUN_COLUMNS = "qid Q0 doc_id rank score tag"
_QRELS_COLUMNS = "qid iteration doc_id grade"


class Run(Mapping[str, list[tuple[str, float]]]):
    """What a system answered: for each query its documents and scores, best first.

    Scores never rise along a list, so that a file of the run, which others sort by score, says the
    same; equal scores keep the order given.
    """

    def __init__(
        self, name: str, rankings: Mapping[str, Iterable[tuple[str, float]]] | None = None
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"a run needs a name, not {name!r}")
        self.name = name
        self._rankings: dict[str, list[tuple[str, float]]] = {}
        for qid, ranking in (rankings or {}).items():
            self.add(qid, ranking)

    def add(self, qid: str, ranking: Iterable[tuple[str, float]]) -> None:
        """Add the answer to one query: (doc_id, score) pairs, best first."""
        _check_id(qid, "query id")
        if qid in self._rankings:
            raise UsageError(f"run {self.name!r} has an answer for query {qid!r} already")
        kept: dict[str, float] = {}
        last = math.inf
        for doc_id, given in ranking:
            _check_id(doc_id, "document id")
            score = _number(given)
            if doc_id in kept:
                raise UsageError(f"query {qid!r}: document {doc_id!r} was given twice")
            # Written so that NaN fails too.
            if not score <= last:
                raise UsageError(
                    f"query {qid!r}: document {doc_id!r} has score {score!r} after {last!r}; "
                    "give the documents best first, with scores that are numbers"
                )
            kept[doc_id] = last = score
        self._rankings[qid] = list(kept.items())

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        rankings = {
            qid: [{"doc_id": doc_id, "score": score} for doc_id, score in ranking]
            for qid, ranking in self._rankings.items()
        }
        return {"name": self.name, "queries": rankings}

    def __getitem__(self, qid: str) -> list[tuple[str, float]]:
        return self._rankings[qid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rankings)

    def __len__(self) -> int:
        return len(self._rankings)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self)} queries)"


class Qrels(Mapping[str, dict[str, int]]):
    """Relevance judgements: for each query the grade of each judged document, relevant from 1 up.

    Grades of 0 and below are judged not relevant.
    """

    def __init__(self, judgements: Mapping[str, Mapping[str, int]] | None = None) -> None:
        self._judgements: dict[str, dict[str, int]] = {}
        given = {} if judgements is None else judgements
        expected = "judgements are a dict of query ids, each with a dict of document ids and grades"
        check_kind(given, Mapping, expected)
        for qid, grades in given.items():
            check_kind(grades, Mapping, expected)
            for doc_id, grade in grades.items():
                self.add(qid, doc_id, grade=grade)

    def add(self, qid: str, doc_id: str, *, grade: int) -> None:
        """Judge one document; a second judgement must agree with the first."""
        _check_id(qid, "query id")
        _check_id(doc_id, "document id")
        if isinstance(grade, bool) or not hasattr(grade, "__index__"):
            raise UsageError(f"a grade is a whole number, not {grade!r}")
        grade = grade.__index__()
        if abs(grade) > MAX_GRADE:
            raise UsageError(f"grade {grade} is not between -{MAX_GRADE} and {MAX_GRADE}")
        first = self._judgements.setdefault(qid, {}).setdefault(doc_id, grade)
        if first != grade:
            raise UsageError(
                f"query {qid!r}: document {doc_id!r} has grade {first} already, and now {grade}"
            )

    def relevant(self, qid: str) -> dict[str, int]:
        """The documents judged relevant for this query; none where it was not judged."""
        return {doc_id: grade for doc_id, grade in self.get(qid, {}).items() if grade > 0}

    def __getitem__(self, qid: str) -> dict[str, int]:
        return self._judgements[qid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._judgements)

    def __len__(self) -> int:
        return len(self._judgements)

    def __repr__(self) -> str:
        return f"Qrels({len(self)} queries, {sum(map(len, self.values()))} judgements)"


def read_run(path: FilePath, *, name: str | None = None) -> Run:
    """Read a run: by score, then by the rank in the file, then by line.

    Where no name is given it is the tag of the first line, or for an empty file its stem. `-` is
    standard input; gzip is known by its magic.
    """
    found: dict[str, list[tuple[float, int, int, str]]] = {}
    seen: dict[str, set[str]] = {}
    for order, (place, line) in enumerate(numbered_lines(path)):
        qid, _, doc_id, rank, score, tag = columns(place, line, names=_RUN_COLUMNS)
        if not _INTEGER.fullmatch(rank):
            raise SourceError(place, f"rank {rank!r} is not a whole number")
        if not _FLOAT.fullmatch(score):
            raise SourceError(place, f"score {score!r} is not a number")
        docs = seen.setdefault(qid, set())
        if doc_id in docs:
            raise SourceError(place, f"document {doc_id!r} stands twice under query {qid!r}")
        docs.add(doc_id)
        found.setdefault(qid, []).append((-float(score), int(rank), order, doc_id))
        name = name or tag
    run = Run(name or PurePath(shown(path)).stem or "run")
    for qid, entries in found.items():
        run.add(qid, [(doc_id, -minus) for minus, _, _, doc_id in sorted(entries)])
    return run


def write_run(run: Run, stream: TextIO) -> None:
    """Write a run in six columns, ranks from 1, scores with every digit they have."""
    check_kind(run, Run, "a run is a Run, as read_run or Collection.run gives it")
    _check_stream(stream)
    tag = encoded(run.name)
    for qid, ranking in run.items():
        names = _distinct(doc_id for doc_id, _ in ranking)
        shown_qid = encoded(qid)
        for rank, (doc_id, (_, score)) in enumerate(zip(names, ranking, strict=True), start=1):
            stream.write(f"{shown_qid} Q0 {doc_id} {rank} {score!r} {tag}\n")


def read_qrels(path: FilePath) -> Qrels:
    """Read judgements; a line may be repeated, but not with another grade.

    `-` is standard input; gzip is known by its magic. `ir:ID` gives those of ir_datasets, of which
    the last counts where a document is judged twice.
    """
    dataset = catalogued(path)
    if dataset is not None:
        last = {(qid, doc_id): grade for qid, doc_id, grade in dataset.judgements()}
        return _judged((dataset.name, *ids, grade) for ids, grade in last.items())
    return _judged(_judgements(path))


def _judgements(path: FilePath) -> Iterator[tuple[str, str, str, int]]:
    for place, line in numbered_lines(path):
        qid, _, doc_id, grade = columns(place, line, names=_QRELS_COLUMNS)
        if not _INTEGER.fullmatch(grade):
            raise SourceError(place, f"grade {grade!r} is not a whole number")
        yield place, qid, doc_id, int(grade)


def _judged(found: Iterable[tuple[str, str, str, int]]) -> Qrels:
    qrels = Qrels()
    for place, qid, doc_id, grade in found:
        try:
            qrels.add(qid, doc_id, grade=grade)
        except UsageError as error:
            raise SourceError(place, str(error)) from None
    return qrels


def write_qrels(qrels: Qrels, stream: TextIO) -> None:
    """Write judgements in four columns, the second always 0."""
    check_kind(qrels, Qrels, "judgements are Qrels, as read_qrels gives them")
    _check_stream(stream)
    for qid, grades in qrels.items():
        shown_qid = encoded(qid)
        for doc_id, grade in zip(_distinct(grades), grades.values(), strict=True):
            stream.write(f"{shown_qid} 0 {doc_id} {grade}\n")


def _check_stream(stream: object) -> None:
    if not hasattr(stream, "write"):
        raise WrongType.of(stream, "it is written to a stream, as open('run.txt', 'w') gives one")


def encoded(name: str) -> str:
    """The id as TREC files show it: percent-encoded where it would break a line, else itself."""
    if not any(map(_breaks, name)):
        return name
    return "".join(
        "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        if char == "%" or _breaks(char)
        else char
        for char in name
    )


def _breaks(char: str) -> bool:
    # A byte order mark at the start of a file is taken for its encoding, not for a character.
    return char.isspace() or unicodedata.category(char) in ("Cc", "Cs") or char == "\ufeff"


def _distinct(doc_ids: Iterable[str]) -> list[str]:
    given = list(doc_ids)
    names = [encoded(doc_id) for doc_id in given]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            f"two documents of one query would both be written as {twice!r}; "
            "TREC files cannot hold white space, so rename one of them"
        )
    return names


def _check_id(name: object, what: str) -> None:
    if not isinstance(name, str) or not name:
        raise UsageError(f"a {what} is a text that is not empty, not {name!r}")


def _number(given: object) -> float:
    try:
        return float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"a score is a number, not {given!r}") from None

"""The nouns that pass between the rooms: documents, queries, filters, rankings, explanations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.errors import UsageError, WrongType

_NAMED_BY = 3


class Document(NamedTuple):
    """What every source gives: `fields` is the metadata, `place` where it was read (file:line)."""

    id: str
    title: str = ""
    text: str = ""
    fields: Mapping[str, Any] = {}
    place: str = ""


class Value(NamedTuple):
    """What a condition compares with: a text, or (`prefix`) whatever begins with it."""

    text: str
    prefix: bool = False


class Condition(NamedTuple):
    r"""A condition on one field, written `field=value`.

    The operators are = != < <= > >=, and ~ !~ for texts that contain the value or do not. `a|b` is
    either value, `value*` what begins so, `*` any value at all; a backslash before one of these, a
    space or a backslash makes it plain. A document whose field holds a list meets a condition with
    any member, and != and !~ with none.
    """

    field: str
    operator: str
    values: tuple[Value, ...]

    @classmethod
    def read(cls, text: str) -> Condition:
        """Read a condition as it is written."""
        return cls._of(_TOKEN.findall(text), text)

    @classmethod
    def _of(cls, tokens: list[str], text: str) -> Condition:
        at = next((i for i, token in enumerate(tokens) if _operator(tokens, i)), len(tokens))
        field = _plain(_stripped(tokens[:at]))
        if at == len(tokens) or not field.strip():
            raise UsageError(
                f"filter {text!r} is not written as field=value; the operators are "
                "= != < <= > >= ~ !~"
            )
        operator = _operator(tokens, at)
        alternatives = _split(tokens[at + len(operator) :], ["|"])
        values = tuple(map(_value, alternatives))
        operator = "=" if operator == "==" else operator
        if operator[0] in "<>" and len(values) > 1:
            raise UsageError(f"filter {text!r}: {operator} takes one value, not alternatives")
        if operator not in ("=", "!=") and any(value.prefix for value in values):
            raise UsageError(
                rf"filter {text!r}: * is for = and !=, as in {field}=ab*; a plain * is written \*"
            )
        if operator.endswith("~") and not all(value.text for value in values):
            raise UsageError(f"filter {text!r}: {operator} needs a text, as in {field}~word")
        return cls(field, operator, values)

    def __str__(self) -> str:
        field = _NAME_SPECIAL.sub(r"\\\g<0>", self.field)
        return f"{_whole(field)}{self.operator}{'|'.join(map(_written, self.values))}"


# Filters as they are written: a backslash takes what stands for something at its word.
_TOKEN = re.compile(r"\\[\\|*=<>!~\s]|.", re.DOTALL)
_OPERATORS = ("==", "!=", ">=", "<=", "!~", "=", ">", "<", "~")
_NAME_SPECIAL = re.compile(r"[\\=<>!~]")
_VALUE_SPECIAL = re.compile(r"\\|\||^[=~]|\*\Z")
# Spaces at the ends are not part of a value, and conditions are joined by these words.
_SPACES = re.compile(r"^\s|\s\Z|\s(?=(?:&|or)(?:\s|\Z))")


def _operator(tokens: Sequence[str], i: int) -> str:
    both = "".join(tokens[i : i + 2])
    return next((one for one in _OPERATORS if both.startswith(one)), "")


def _value(tokens: list[str]) -> Value:
    tokens = _stripped(tokens)
    prefix = tokens[-1:] == ["*"]
    return Value(_plain(tokens[:-1] if prefix else tokens), prefix)


def _written(value: Value) -> str:
    return _whole(_VALUE_SPECIAL.sub(r"\\\g<0>", value.text)) + "*" * value.prefix


def _whole(text: str) -> str:
    return _SPACES.sub(r"\\\g<0>", text)


def _plain(tokens: Sequence[str]) -> str:
    return "".join(token[-1] for token in tokens)


def _stripped(tokens: list[str]) -> list[str]:
    """Leave out spaces at the ends, but for those that were taken at their word."""
    first, last = 0, len(tokens)
    while first < last and tokens[first].isspace():
        first += 1
    while first < last and tokens[last - 1].isspace():
        last -= 1
    return tokens[first:last]


def _split(tokens: list[str], separator: list[str]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    i = 0
    while i < len(tokens):
        if tokens[i : i + len(separator)] == separator:
            pieces.append([])
            i += len(separator)
        else:
            pieces[-1].append(tokens[i])
            i += 1
    return pieces


@dataclass(frozen=True)
class Filter:
    """Which documents may be answers: those that meet all conditions of any of `any_of`.

    `f & g` are those of both, `f | g` those of either. `ALL` lets every document through.
    """

    any_of: tuple[tuple[Condition, ...], ...] = ((),)

    @classmethod
    def read(cls, given: str | Filter | Sequence[str | Filter]) -> Filter:
        """Read a condition as it is written; of several all hold, and of none there is none."""
        if isinstance(given, Filter):
            return given
        if isinstance(given, str):
            return cls(((Condition.read(given),),)) if given else ALL
        if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
            raise WrongType.of(given, "a filter is a text such as 'year>=1960', or a list of such")
        found = ALL
        for one in given:
            found &= cls.read(one)
        return found

    @classmethod
    def parse(cls, text: str) -> Filter:
        """Read a filter as it prints: all of `a=1 & b=2`, any of `a=1 or b=2`."""
        if not text.strip():
            return ALL
        either = _split(_TOKEN.findall(text), list(" or "))
        return cls(
            tuple(
                tuple(Condition._of(one, text) for one in _split(conditions, list(" & ")))
                for conditions in either
            )
        )

    def __and__(self, other: Filter) -> Filter:
        joined = ((*mine, *its) for mine in self.any_of for its in other.any_of)
        return Filter(tuple(dict.fromkeys(tuple(dict.fromkeys(one)) for one in joined)))

    def __or__(self, other: Filter) -> Filter:
        if ALL in (self, other):
            return ALL
        return Filter(tuple(dict.fromkeys((*self.any_of, *other.any_of))))

    def __str__(self) -> str:
        return " or ".join(" & ".join(map(str, conditions)) for conditions in self.any_of)


ALL = Filter()


@dataclass(frozen=True)
class Match:
    """What a document must have to be an answer: a tree of words, phrases and prefixes.

    `kind` is words (one, or several one after another: a phrase), prefix, all, any or not; leaves
    have a `text` and the `field` that it is looked for in ("": anywhere), the others `parts`. It
    prints as a person would type it.
    """

    kind: str
    text: str = ""
    field: str = ""
    parts: tuple[Match, ...] = ()

    def __str__(self) -> str:
        if self.kind == "not":
            return f"NOT {self.parts[0]._inner()}"
        if self.kind in ("all", "any"):
            return (" AND " if self.kind == "all" else " OR ").join(
                part._inner() for part in self.parts
            )
        field = f"{self.field}:" if self.field else ""
        return f'{field}"{self.text}"' if self.kind == "words" else f"+{field}{self.text}*"

    def _inner(self) -> str:
        return f"({self})" if self.kind in ("all", "any") else str(self)

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        if self.parts:
            return {"kind": self.kind, "parts": [part.to_json() for part in self.parts]}
        return {"kind": self.kind, "text": self.text, "field": self.field}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Match:
        """Read what `to_json` gave."""
        parts = tuple(cls.from_json(part) for part in values.get("parts", ()))
        return cls(values["kind"], values.get("text", ""), values.get("field", ""), parts)


def match_all(parts: Iterable[Match]) -> Match:
    """Match what all parts match."""
    return _joined("all", parts)


def match_any(parts: Iterable[Match]) -> Match:
    """Match what any part matches."""
    return _joined("any", parts)


def match_none(part: Match) -> Match:
    """Match what a part does not."""
    return part.parts[0] if part.kind == "not" else Match("not", parts=(part,))


def _joined(kind: str, parts: Iterable[Match]) -> Match:
    """Join parts, those of the same kind opened and none named twice."""
    opened = [inner for part in parts for inner in (part.parts if part.kind == kind else [part])]
    distinct = tuple(dict.fromkeys(opened))
    return distinct[0] if len(distinct) == 1 else Match(kind, parts=distinct)


class Expansion(NamedTuple):
    """What was made of a query: how, and from which terms.

    `skipped_reason` says why a query was left as it is, `note` what was done otherwise than
    asked for.
    """

    method: str
    before: Mapping[str, float]
    skipped_reason: str = ""
    note: str = ""


class Ranking(NamedTuple):
    """The answer to a query: internal `docs`, best first, ties by `doc` ascending."""

    docs: NDArray[np.int64]
    scores: NDArray[np.float64]

    def cut(self, k: int) -> Ranking:
        """Keep the k best."""
        return self if len(self.docs) <= k else Ranking(self.docs[:k], self.scores[:k])

    def decline(self, n: int = 10) -> float:
        """Give from 0 to 1 how far scores fall from the first to the nth: flat ones tell little.

        Scores below zero count from the lowest; documents that are not there count as nothing.
        """
        if not len(self.docs):
            return 0.0
        floor = min(float(self.scores.min()), 0.0)
        top = float(self.scores[0]) - floor
        last = float(self.scores[n - 1]) - floor if len(self.scores) >= n else 0.0
        return 1 - last / top if top > 0 else 0.0


EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float64))


class QueryDocument(NamedTuple):
    """A document in hand: one of the collection by its id, or a text from outside.

    A text that has an id too is left out of its own answers, where the collection has it.
    `title` is the part of the text that counts as a title; `vector` is the user's own of the text,
    for a model that compares such.
    """

    doc_id: str = ""
    text: str = ""
    title: str = ""
    vector: tuple[float, ...] | None = None


class Query(NamedTuple):
    """What is asked: a text, weighted terms in place of it, or documents in hand.

    `terms` are analysed terms, as the collection stores them. Answers are to be like the documents
    of `like` and not like those of `unlike`. `filter` says by fields what may be an answer, `match`
    by words, and `expansion` where terms come from that the user did not give.
    """

    qid: str
    text: str = ""
    terms: Mapping[str, float] | None = None
    like: tuple[QueryDocument, ...] = ()
    unlike: tuple[QueryDocument, ...] = ()
    filter: Filter = ALL
    expansion: Expansion | None = None
    match: Match | None = None


class Part(NamedTuple):
    """A named part of a score; its own parts, where it has any, add up to it.

    Kinds are word, phrase, title, spelling (a word as it is spelled), document, topic, dimension,
    group, list (of those that were fused) and rest (what no word stands for).
    """

    kind: str
    name: str
    score: float
    parts: tuple[Part, ...] = ()

    def scaled(self, by: float) -> Part:
        """Give so many times the part, with all parts of it."""
        kind, name, score, parts = self
        return Part(kind, name, score * by, tuple(one.scaled(by) for one in parts))


class Topic(NamedTuple):
    """A topic's name: its number, the label that somebody gave it, and its distinctive words."""

    number: int
    label: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.label or f"topic {self.number} ({', '.join(self.words[:_NAMED_BY])})"


class WordShares(NamedTuple):
    """What words of a text give to a score: terms by number, ascending.

    `specific` is what each gives as a word that both texts have, a specific one or any, `dense`
    what it carries of the vectors' part, most of it by `topics` (-1: there are none).
    """

    terms: NDArray[np.int64]
    specific: NDArray[np.float64]
    dense: NDArray[np.float64]
    topics: NDArray[np.int64]


class Mark(NamedTuple):
    """A word of a text, from `start` to `stop`, and what it gives to a score: see `WordShares`."""

    start: int
    stop: int
    specific: float
    dense: float
    topic: int

    @property
    def score(self) -> float:
        """Both together."""
        return self.specific + self.dense


@dataclass(frozen=True)
class Passage:
    """A passage of a text from `start` on; the score is the sum over its distinct terms."""

    start: int
    text: str
    score: float
    find_marks: Callable[[], Sequence[Mark]] = field(repr=False, compare=False)

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """The words in it that give something, by their places within it."""
        return tuple(self.find_marks())

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        marks = [
            {"start": start, "stop": stop, "specific": specific, "dense": dense, "topic": topic}
            for start, stop, specific, dense, topic in self.marks
        ]
        return {"start": self.start, "text": self.text, "score": self.score, "marks": marks}


class Evidence(Protocol):
    """Where in the texts of the query and of an answer a score comes from."""

    @property
    def answer_words(self) -> WordShares:
        """What the words of the answer give."""
        ...

    @property
    def query_words(self) -> WordShares:
        """What the words of the query give."""
        ...

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The passages of the answer that give most."""
        ...

    @property
    def query_passages(self) -> tuple[Passage, ...]:
        """The passages of the query's text that give most."""
        ...

    @property
    def topics(self) -> Sequence[Topic]:
        """The names of topics by number, where the score splits by such."""
        ...


class Explanation(NamedTuple):
    """A score, and the parts that add up to it, the largest first.

    `evidence` is there where texts are compared: their words and passages.
    """

    score: float
    parts: tuple[Part, ...] = ()
    evidence: Evidence | None = None


def explanation(score: float, parts: Iterable[Part]) -> Explanation:
    """Explain a score by its parts, the largest first."""
    return Explanation(score, in_order(parts))


def in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Order parts by magnitude, the largest first; ties by name."""
    return tuple(sorted(parts, key=lambda part: (-abs(part.score), part.name)))

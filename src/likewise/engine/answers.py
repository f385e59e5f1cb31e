"""What does a person see of an answer?"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, overload

from likewise.arguments import check_counts, check_kind
from likewise.engine.frames import rows_frame
from likewise.engine.query_notes import QueryNotes
from likewise.records import Explanation, Part, Passage, Query
from likewise.show.table import align
from likewise.show.text import columns, counted, one_line, shorten

_WIDEST_ID = 36
_SHOWN_PARTS = 8
_SHOWN_TERMS = 20
_SHOWN_COMPOUNDS = 2
# The row of what is in no group or list.
_WORDS = "words"
# A space at which no line is broken.
_TIE = "\u00a0"
_LEAST_SHOWN = 0.00005
_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})

# Gives the words that terms stand for.
Surfaces: TypeAlias = Callable[[Iterable[str]], Mapping[str, str]]


class Answer(NamedTuple):
    """A document that answers, its score, and (where asked for) the parts that add up to it."""

    doc_id: str
    score: float
    title: str
    fields: Mapping[str, Any] = _NO_FIELDS
    explanation: Explanation | None = None

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The passages that give most to the score, where texts were compared and explained."""
        evidence = self.explanation and self.explanation.evidence
        return evidence.passages if evidence else ()

    @property
    def query_passages(self) -> tuple[Passage, ...]:
        """The passages of the query's text that give most to the score, likewise."""
        evidence = self.explanation and self.explanation.evidence
        return evidence.query_passages if evidence else ()

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        values: dict[str, Any] = {
            "doc_id": self.doc_id,
            "score": self.score,
            "title": self.title,
            "fields": dict(self.fields),
        }
        if self.explanation:
            values["explanation"] = [_plain(part) for part in self.explanation.parts]
            if self.explanation.evidence:
                values["passages"] = [one.to_json() for one in self.passages]
                values["query_passages"] = [one.to_json() for one in self.query_passages]
        return values


@dataclass(frozen=True)
class Expanded:
    """What an expander made of a query: all its terms with their weights, and why no more.

    `asked` are those that the user gave, with compounds of them, `added` the new ones, the
    weightiest first; `has` gives the word that a compound was taken in for. `skipped_reason` says
    why a query was left as it is, `note` what was done otherwise than asked for.
    """

    method: str
    asked: Mapping[str, float]
    added: Mapping[str, float]
    skipped_reason: str = ""
    note: str = ""
    has: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Query, part_of: Callable[[str], str] | None = None) -> Expanded:
        """Read what a query carries."""
        assert query.expansion is not None
        method, before, skipped_reason, note = query.expansion
        terms = query.terms or {}
        return cls(
            method,
            {term: weight for term, weight in terms.items() if term in before},
            {term: weight for term, weight in terms.items() if term not in before},
            skipped_reason,
            note,
            {term: word for term in before if (word := part_of(term) if part_of else "")},
        )

    def __str__(self) -> str:
        return self.shown(columns())

    def shown(self, width: int, words: Mapping[str, str] | None = None) -> str:
        """Write the terms in so many columns, as words where these are known.

        Of the new ones the weightiest are shown.
        """
        if self.skipped_reason:
            lines = [f"not expanded by {self.method}: {self.skipped_reason}"]
        else:
            words = self._with_compounds(words or {})
            asked = dict[str, float]()
            for term, weight in self.asked.items():
                # A word that no document has by itself counts as the weightiest that has it.
                word = self.has.get(term, term)
                asked[word] = self.asked.get(word, max(asked.get(word, 0.0), weight))
            added = _weighted(self.added, words) or "no new term"
            lines = [f"{self.method}: {_weighted(asked, words)}", f"+ {added}"]
            lines += [f"({self.note})"] if self.note else []
        return "\n".join(part for line in lines for part in _wrapped(line, width, indent=2))

    def _with_compounds(self, words: Mapping[str, str]) -> Mapping[str, str]:
        """Name the words of the query with how many that have them are searched for."""
        held = Counter(self.has.values())
        shown = {
            word: f"{words.get(word, word)} (and {counted(n, 'longer word')})"
            for word, n in held.items()
        }
        return {**words, **shown}

    def to_json(self, words: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Give plain values, by words where these are known; `terms` has what is searched for them.

        A term whose word is another's, or another term, goes by itself.
        """
        terms = {**self.asked, **self.added}
        by_word: dict[str, str] = {}
        for term in terms:
            word = (words or {}).get(term, term)
            by_word[term if word in by_word or word in terms else word] = term
        asked = {word: self.asked[term] for word, term in by_word.items() if term in self.asked}
        added = {word: self.added[term] for word, term in by_word.items() if term in self.added}
        return {
            "method": self.method,
            "asked": asked,
            "added": added,
            "terms": {word: term for word, term in by_word.items() if word != term},
            "skipped_reason": self.skipped_reason or None,
            "note": self.note or None,
        }


class Answers(Sequence[Answer]):
    """The answers to one query, best first; prints as a table."""

    def __init__(
        self,
        answers: Sequence[Answer],
        *,
        query: str = "",
        method: str = "",
        expanded: Expanded | None = None,
        surfaces: Surfaces | None = None,
        plain_words: Surfaces | None = None,
        query_notes: QueryNotes | Callable[[], QueryNotes] | None = None,
    ) -> None:
        check_kind(answers, Iterable, "answers are several Answer")
        self._answers = tuple(answers)
        self.query = query
        self.method = method
        self.expanded = expanded
        self._query_notes = query_notes
        self._surfaces = surfaces
        self._plain_words = plain_words

    def __len__(self) -> int:
        return len(self._answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._answers)

    @overload
    def __getitem__(self, i: int) -> Answer: ...
    @overload
    def __getitem__(self, i: slice) -> Answers: ...
    def __getitem__(self, i: int | slice) -> Answer | Answers:
        """Give one answer, or some of them."""
        if isinstance(i, slice):
            return self._with(self._answers[i])
        return self._answers[i]

    def __str__(self) -> str:
        if self.query_notes and (lines := self.query_notes.lines(self.query)):
            return "\n".join([*lines, str(self.without_notes())])
        explained = any(answer.explanation for answer in self._answers)
        if self.expanded and self._answers and (explained or self.expanded.skipped_reason):
            return f"{self.expanded.shown(columns(), self._words)}\n\n{self.table(columns())}"
        return self.table(columns())

    __repr__ = __str__

    def table(self, width: int) -> str:
        """Lay the answers out in so many columns."""
        check_counts(width=width)
        if not self._answers:
            return "no document matches"
        rows = [
            (f"{i}", f"{one.score:.4f}", shorten(one.doc_id, _WIDEST_ID), one.title)
            for i, one in enumerate(self._answers, 1)
        ]
        head, *aligned = align([("", "score", "id", "title"), *rows], ">><<", width=width)
        lines, indent = [head], " " * head.index("id")
        for line, answer in zip(aligned, self._answers, strict=True):
            lines.append(line)
            if answer.explanation:
                room = width - len(indent)
                lines += [indent + line for line in self._sums(answer.explanation, room)]
                quoted = [shorten(one.text, max(room - 2, 20)) for one in answer.passages[:1]]
                lines += [f"{indent}“{text}”" for text in quoted]
        return "\n".join(lines)

    def _sums(self, explained: Explanation, width: int) -> list[str]:
        """Lay out the parts of a score: by lists, by groups, or by words and by documents."""
        rows = [*self._rows(explained.parts)]
        if len(rows) == 1 and rows[0].name == _WORDS:
            return _wrapped("= " + _parts(rows[0].parts, self._name), width, indent=2)
        return _laid_out(rows, width)

    def _rows(self, parts: Sequence[Part], within: str = "") -> Iterator[_Row]:
        """Give what stands on lines of its own; those of a list have its name before theirs."""
        split = any(part.kind == "list" and part.parts for part in parts)
        before, others = f"{within}: " if within else "", list[Part]()
        for part in parts:
            if part.kind == "group":
                yield _Row(before + part.name, part.parts, named)
            elif part.kind == "list" and split:
                yield from self._rows(part.parts or (part,), before + part.name)
            else:
                others.append(part)
        words = [part for part in others if part.kind != "document"]
        if words:
            yield _Row(within or _WORDS, words, self._name)
        if len(words) < len(others):
            like = [part for part in others if part.kind == "document"]
            yield _Row(f"{before}like", like, self._name)

    def _name(self, part: Part) -> str:
        if part.kind == "document":
            return shorten(part.name, _WIDEST_ID)
        if part.kind != "word":
            return part.name
        own, *longer = (self._words.get(name, name) for name in names_in(part))
        if not longer:
            return own
        whole = any(one.name == part.name for one in part.parts)
        more = len(part.parts) - whole - len(longer)
        rest = f" and {more} more" if more else ""
        return f"{own} ({'and' if whole else 'in'} {', '.join(longer)}{rest})"

    @cached_property
    def _words(self) -> Mapping[str, str]:
        """The words of the terms that are shown: looked up when they are."""
        if self._surfaces is None:
            return {}
        terms = list[str]()
        if self.expanded:
            terms += islice(self.expanded.asked, _SHOWN_TERMS)
            terms += islice(self.expanded.added, _SHOWN_TERMS)
        for answer in self._answers:
            parts = answer.explanation.parts if answer.explanation else ()
            for words in words_in(parts):
                terms += [name for part in words[:_SHOWN_PARTS] for name in names_in(part)]
        return self._surfaces(terms)

    def grown(
        self,
        query: Query,
        words: Surfaces | None = None,
        part_of: Callable[[str], str] | None = None,
    ) -> Answers:
        """Give the same answers with what was made of the query, and the words of its terms."""
        check_kind(query, Query, "a query that was expanded is a Query")
        return self._with(self._answers, expanded=Expanded.of(query, part_of), plain_words=words)

    def with_words(self, surfaces: Surfaces) -> Answers:
        """Give the same answers, to be shown with the words that terms stand for."""
        return self._with(self._answers, surfaces=surfaces)

    @cached_property
    def query_notes(self) -> QueryNotes | None:
        """What there is to say of the query: worked out when it is looked at."""
        notes = self._query_notes
        return notes() if callable(notes) else notes

    def asked(self, query: str, query_notes: QueryNotes | Callable[[], QueryNotes]) -> Answers:
        """Give the same answers with what was typed, and what there is to say of it."""
        return self._with(self._answers, query=query, query_notes=query_notes)

    def without_notes(self) -> Answers:
        """Give the same answers without what there is to say of the query."""
        return self._with(self._answers, query_notes=None)

    def alone(self) -> Answers:
        """Give the same answers without what was made of the query."""
        return self._with(self._answers, expanded=None)

    def _with(self, answers: Sequence[Answer], **changed: Any) -> Answers:
        kept = {
            "query": self.query,
            "method": self.method,
            "expanded": self.expanded,
            "surfaces": self._surfaces,
            "plain_words": self._plain_words,
            "query_notes": self._query_notes,
        }
        return Answers(answers, **(kept | changed))

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        values: dict[str, Any] = {"query": self.query, "method": self.method}
        if self.query_notes:
            values |= self.query_notes.to_json()
        if self.expanded:
            terms = [*self.expanded.asked, *self.expanded.added]
            words = self._plain_words(terms) if self._plain_words else None
            values["expansion"] = self.expanded.to_json(words)
        values["answers"] = [
            {"rank": rank} | answer.to_json() for rank, answer in enumerate(self._answers, 1)
        ]
        return values

    def to_frame(self, library: str = "pandas") -> Any:
        """Give a frame of pandas or polars: rank, doc_id, score, title, a column for each field."""
        rows = [
            {"rank": rank, "doc_id": answer.doc_id, "score": answer.score, "title": answer.title}
            | {name: value for name, value in answer.fields.items() if name not in _OWN}
            for rank, answer in enumerate(self._answers, 1)
        ]
        return rows_frame(rows, _OWN, library)


_OWN = ("rank", "doc_id", "score", "title")


def _plain(part: Part) -> dict[str, Any]:
    """Give a part as plain values, with its own parts where it has any."""
    kind, name, score, parts = part
    if not parts:
        return {"kind": kind, "name": name, "score": score}
    inner = [
        _plain(one) if one[3] else {"kind": one[0], "name": one[1], "score": one[2]}
        for one in parts
    ]
    return {"kind": kind, "name": name, "score": score, "parts": inner}


class _Row(NamedTuple):
    """Parts of a score that stand on lines of their own, and how they are named there."""

    name: str
    parts: Sequence[Part]
    name_of: Callable[[Part], str]


def _laid_out(rows: Sequence[_Row], width: int) -> list[str]:
    """Lay out rows of parts; what has no parts is left out."""
    label = max([len(row.name) for row in rows], default=0)
    lines = []
    for name, parts, name_of in rows:
        if parts:
            total = sum([part[2] for part in parts])
            start = f"{name:<{label}}  {total:7.4f} = "
            lines += _wrapped(start + _parts(parts, name_of), width, indent=len(start))
    return lines


def words_in(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Give the words of a score that are named by their terms; of one that was fused by lists."""
    yield [part for part in parts if part.kind == "word"]
    for part in parts:
        if part.kind == "list":
            yield from words_in(part.parts)


def names_in(part: Part) -> list[str]:
    """Give the term of a part, and the first of the compounds that are summed up in it."""
    longer = [one.name for one in part.parts if one.name != part.name]
    return [part.name, *longer[:_SHOWN_COMPOUNDS]]


def named(part: Part) -> str:
    """Give the name of a part, with the words behind it."""
    behind = ", ".join([name for kind, name, _, _ in part.parts if kind == "word"])
    return f"{part.name} ~ {behind}" if behind else part.name


def _parts(parts: Sequence[Part], name_of: Callable[[Part], str]) -> str:
    """Write the first words, and what no word stands for; what is left out is summed up."""
    words = [part for part in parts if part.kind != "rest"][:_SHOWN_PARTS]
    rest = [part for part in parts if part.kind == "rest"]
    first = [part for part in (*words, *rest) if abs(part.score) >= _LEAST_SHOWN]
    shown = [(name_of(part), part.score) for part in first]
    more = sum([part[2] for part in parts]) - sum([part[2] for part in first])
    if abs(more) >= _LEAST_SHOWN:
        shown.append((f"{len(parts) - len(first)} more", more))
    signed = (
        f"{'-' if score < 0 else '+'}{_TIE}{_tied(name)}{_TIE}{abs(score):.4f}"
        for name, score in shown
    )
    return " ".join(signed).removeprefix(f"+{_TIE}")


def _wrapped(line: str, width: int, *, indent: int) -> list[str]:
    """Wrap a line; what is tied stays together."""
    width, start = max(width, 60), " " * indent
    words = line.split(" ")
    if max(map(len, words)) > width - indent:
        wrapped = textwrap.wrap(line, width, subsequent_indent=start, break_on_hyphens=False)
    else:
        # As `textwrap` does it, which looks for much else and so takes ten times as long.
        wrapped = [words[0]]
        for word in words[1:]:
            if len(wrapped[-1]) + 1 + len(word) <= width:
                wrapped[-1] += " " + word
            else:
                wrapped.append(start + word)
    return [part.replace(_TIE, " ") for part in wrapped]


@lru_cache(4096)
def _tied(term: str) -> str:
    return one_line(term).replace(" ", _TIE)


def _weighted(terms: Mapping[str, float], words: Mapping[str, str]) -> str:
    shown = [(words.get(term, term), weight) for term, weight in terms.items()]
    if len(shown) > _SHOWN_TERMS:
        rest = shown[_SHOWN_TERMS:]
        total = sum(weight for _, weight in rest)
        shown = [*shown[:_SHOWN_TERMS], (f"{len(rest)} more", total)]
    return ", ".join(f"{_tied(term)}{_TIE}{weight:.3f}" for term, weight in shown)

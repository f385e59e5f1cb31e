"""What did a person type? "phrases", +word, -word, title:word, word^2, neuro*, AND, OR, NOT, ( ).

    query    = operand …                     words side by side, each of them welcome
    operand  = either
    either   = both OR both …                at least one must match
    both     = one AND one …                 all must match
    one      = NOT one | + one | - one | ( query ) | "phrase" | word

A phrase, a +word and a word of a field must occur, what follows - or NOT must not. What does not
follow the grammar is no query of this language but plain words, and a note says so: most texts with
such characters are pasted ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from likewise.records import Match, match_all, match_any, match_none

# A longer text was not typed as a query, and is plain words.
MOST_WORDS = 29
LARGEST_BOOST = 100.0
# Parentheses within one another, more than anybody types.
DEEPEST = 20
# A text without any of these has no operator: told sooner than by what follows.
_MARKS = re.compile(r'["“”*^()+:-]')
# A text without any of these is plain words: hyphens and colons between words are no operators.
_MARKED = re.compile(r'["“”*^()]|(?:^|\s)[+-]|\w:\S|\b(?:AND|OR|NOT)\b')
_TOKEN = re.compile(r'\s*(?:(?P<quoted>[+-]?(?:\w+:)?["“”])|(?P<open>[+-]?\()|(?P<word>[^\s"“”]+))')
_BOOST = re.compile(r"\^(\d+(?:\.\d+)?)")
_FIELD = re.compile(r"(\w+):(?=.)")
_PREFIX = re.compile(r"[^\W_]{2,}\*")
_OPERATORS = ("AND", "OR", "NOT")


class TypedWord(NamedTuple):
    """A word or phrase that is looked for, how much it counts, and whether it is a prefix."""

    text: str
    weight: float = 1.0
    prefix: bool = False


class TypedQuery(NamedTuple):
    """What was typed: the words to score by, what must match, and what was not understood."""

    words: tuple[TypedWord, ...]
    match: Match | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """The words without their operators."""
        return " ".join(word.text for word in self.words)

    @property
    def weighted(self) -> bool:
        """Whether words count otherwise than plain ones do."""
        return any(word.weight != 1 or word.prefix for word in self.words)


def parse_query(text: str, fields: Collection[str] = ()) -> TypedQuery:
    """Read what was typed; `fields` are those that a word can be looked for in."""
    plain = TypedQuery((TypedWord(text),))
    if not _is_marked(text) or len(text.split()) > MOST_WORDS:
        return plain
    try:
        typed = _Parser([*_tokens(text, fields)]).parse()
    except _Malformed as error:
        words = (word for word in text.split() if word not in _OPERATORS)
        return TypedQuery((TypedWord(" ".join(words)),), note=f"{error}: searched as plain words")
    return typed if typed.match or typed.weighted else plain


def _is_marked(text: str) -> bool:
    """Tell whether a text has anything that may be an operator."""
    maybe = _MARKS.search(text) or any(operator in text for operator in _OPERATORS)
    return bool(maybe) and _MARKED.search(text) is not None


class _Malformed(Exception):
    """What was typed does not follow the grammar."""


@dataclass(frozen=True)
class _Token:
    """An operator, a parenthesis, or what is looked for: `kind` is one of AND OR NOT ( ) text."""

    kind: str
    text: str = ""
    sign: str = ""
    field: str = ""
    boost: float = 1.0
    quoted: bool = False
    prefix: bool = False


def _tokens(text: str, fields: Collection[str]) -> Iterator[_Token]:
    at, depth = 0, 0
    while match := _TOKEN.match(text, at):
        at = match.end()
        if quoted := match["quoted"]:
            sign, field = _before(quoted[:-1])
            stop = next((i for i in range(at, len(text)) if text[i] in '"“”'), -1)
            if stop < 0:
                raise _Malformed("a quotation mark is not closed")
            if field and field not in fields:
                yield _Token("text", field, sign)
                sign, field = "", ""
            inside, at = " ".join(text[at:stop].split()), stop + 1
            boost, at = _boost(text, at)
            if at < len(text) and not (text[at].isspace() or text[at] in ").,;:!?"):
                raise _Malformed("a quotation mark stands within a word")
            if inside:
                yield _Token("text", inside, sign, field, boost, quoted=True)
        elif opened := match["open"]:
            depth += 1
            if depth > DEEPEST:
                raise _Malformed(f"more than {DEEPEST} parentheses stand within one another")
            yield _Token("(", sign=opened[:-1])
        else:
            word, boost = match["word"], 1.0
            # A word may hold parentheses of its own: f(x).
            unmatched = max(word.count(")") - word.count("("), 0)
            after = re.search(r"\)\^(\d+(?:\.\d+)?)$", word) if unmatched else None
            if after:
                word, boost = word[: after.start() + 1], _bounded(after[1])
            closed = min(len(word) - len(word.rstrip(")")), unmatched)
            word = word[: len(word) - closed]
            if word in _OPERATORS:
                yield _Token(word)
            elif word:
                yield _word(word, fields)
            for i in range(closed):
                depth -= 1
                yield _Token(")", boost=boost if i == closed - 1 else 1.0)
            if depth < 0:
                raise _Malformed("a parenthesis was not opened")
            if at < len(text) and text[at] in '"“”':
                raise _Malformed("a quotation mark stands within a word")
    if depth:
        raise _Malformed("a parenthesis is not closed")


def _before(text: str) -> tuple[str, str]:
    """Give the sign and the field that stand before a quotation mark."""
    sign = text[:1] if text[:1] in ("+", "-") else ""
    return sign, text[len(sign) :].removesuffix(":")


def _word(word: str, fields: Collection[str]) -> _Token:
    sign = ""
    if word[0] in "+-" and word[1:] and any(c.isalnum() for c in word) and word[1] not in "+-":
        sign, word = word[0], word[1:]
    field, boost = "", 1.0
    if (found := _FIELD.match(word)) and found[1] in fields:
        field, word = found[1], word[found.end() :]
    if (power := _BOOST.search(word)) and power.end() == len(word) and power.start():
        boost, word = _bounded(power[1]), word[: power.start()]
    prefix = _PREFIX.fullmatch(word) is not None
    return _Token(
        "text", word.removesuffix("*") if prefix else word, sign, field, boost, prefix=prefix
    )


def _boost(text: str, at: int) -> tuple[float, int]:
    found = _BOOST.match(text, at)
    return (_bounded(found[1]), found.end()) if found else (1.0, at)


def _bounded(number: str) -> float:
    return min(float(number), LARGEST_BOOST)


class _Clause(NamedTuple):
    """A part of a query: what it matches, and whether it must (+), must not (-) or may match."""

    match: Match
    occurs: str
    words: tuple[TypedWord, ...]

    @property
    def condition(self) -> Match:
        """What it says where all parts must hold."""
        return match_none(self.match) if self.occurs == "-" else self.match


class _Parser:
    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def parse(self) -> TypedQuery:
        clauses = self._sequence()
        words = tuple(word for one in clauses for word in one.words if one.occurs != "-")
        needed = [one.condition for one in clauses if one.occurs]
        return TypedQuery(words, match_all(needed) if needed else None)

    @property
    def _next(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _sequence(self) -> list[_Clause]:
        """Read clauses side by side; parentheses that say nothing by themselves are opened."""
        clauses: list[_Clause] = []
        while self._next is not None and self._next.kind != ")":
            clauses += self._either()
        return clauses

    def _either(self) -> list[_Clause]:
        parts = [self._both()]
        while self._next is not None and self._next.kind == "OR":
            self._take()
            parts.append(self._both())
        if len(parts) == 1:
            return parts[0]
        joined = [_group(part) for part in parts]
        words = tuple(word for one in joined if one.occurs != "-" for word in one.words)
        return [_Clause(match_any(one.condition for one in joined), "+", words)]

    def _both(self) -> list[_Clause]:
        parts = [self._one()]
        while self._next is not None and self._next.kind == "AND":
            self._take()
            parts.append(self._one())
        if len(parts) == 1:
            return parts[0]
        joined = [_group(part) for part in parts]
        words = tuple(word for one in joined if one.occurs != "-" for word in one.words)
        return [_Clause(match_all(one.condition for one in joined), "+", words)]

    def _one(self) -> list[_Clause]:
        token = self._next
        if token is None or token.kind in ("AND", "OR", ")"):
            before = self._tokens[self._at - 1].kind if self._at else ""
            named = before if token is None or before in _OPERATORS else token.kind
            raise _Malformed(f"{named} stands without what it joins")
        self._take()
        if token.kind == "NOT":
            return [_signed(self._one(), "-")]
        if token.kind == "(":
            inside = self._sequence()
            closing = self._take()
            if not inside:
                raise _Malformed("nothing stands within parentheses")
            if closing.boost != 1:
                inside = [one._replace(words=_boosted(one.words, closing.boost)) for one in inside]
            return [_signed(inside, token.sign)] if token.sign else inside
        leaf = Match("prefix" if token.prefix else "words", token.text, token.field)
        must = token.sign or ("+" if token.quoted or token.field else "")
        return [_Clause(leaf, must, (TypedWord(token.text, token.boost, token.prefix),))]


def _signed(clauses: Sequence[_Clause], sign: str) -> _Clause:
    group = _group(clauses)
    if group.occurs == "-":
        # NOT -word: it must occur after all.
        return group._replace(occurs="+" if sign == "-" else "-")
    return group._replace(occurs=sign)


def _group(clauses: Sequence[_Clause]) -> _Clause:
    """Make one clause of several: what must match, or else any of what may."""
    if len(clauses) == 1:
        return clauses[0]
    needed = [one.condition for one in clauses if one.occurs]
    welcome = [one.match for one in clauses if not one.occurs]
    if welcome and not any(one.occurs == "+" for one in clauses):
        needed.insert(0, match_any(welcome))
    words = tuple(word for one in clauses if one.occurs != "-" for word in one.words)
    return _Clause(match_all(needed), "", words)


def _boosted(words: Sequence[TypedWord], boost: float) -> tuple[TypedWord, ...]:
    return tuple(word._replace(weight=word.weight * boost) for word in words)

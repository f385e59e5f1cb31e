from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.text import chunks
from likewise.text.chunks import ACRONYM, acronym, cut
from likewise.text.table import Strings

ASCII = st.text(st.characters(max_codepoint=127), max_size=200)


def tokens(texts):
    """The chunks of each text, as bytes."""
    found = cut(texts)
    words = found.distinct.all()
    numbers = [words[token] for token in found.tokens.tolist()]
    bounds = found.token_bounds.tolist()
    return [numbers[a:b] for a, b in pairwise(bounds)]


def sentences(text):
    """The sentences of one text."""
    data = text.encode()
    ends = np.cumsum(cut([data]).sentences).tolist()
    return [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]


@given(st.lists(ASCII, max_size=8))
def test_chunks_of_ascii_equal_a_regular_expression(texts):
    undotted = [ACRONYM.sub(lambda one: one[0].replace(".", ""), text) for text in texts]
    expected = [re.findall("[a-z0-9]+", text.lower()) for text in undotted]
    found = tokens([text.encode() for text in texts])
    assert [[chunk.decode() for chunk in text] for text in found] == expected


@given(st.lists(st.binary(max_size=120), max_size=6))
def test_any_bytes_are_cut_and_sentences_cover_them(texts):
    found = cut(texts)
    assert len(found.token_bounds) == len(found.sentence_bounds) == len(texts) + 1
    assert len(found.token_sentences) == len(found.tokens)
    distinct = found.distinct.all()
    assert len(set(distinct)) == len(distinct)
    assert all(distinct)
    for i, text in enumerate(texts):
        lengths = found.sentences[found.sentence_bounds[i] : found.sentence_bounds[i + 1]]
        assert int(lengths.sum()) == len(text)
        assert (lengths > 0).all()
        owners = found.token_sentences[found.token_bounds[i] : found.token_bounds[i + 1]]
        assert (
            (owners >= found.sentence_bounds[i]) & (owners < found.sentence_bounds[i + 1])
        ).all()


@given(st.lists(st.text(max_size=60), max_size=5))
def test_a_batch_equals_its_texts_one_by_one(texts):
    data = [text.encode("utf-8", "replace") for text in texts]
    assert tokens(data) == [tokens([text])[0] for text in data]
    together = cut(data)
    alone = [cut([text]).sentences.tolist() for text in data]
    assert together.sentences.tolist() == [length for text in alone for length in text]


@given(st.text(max_size=80))
def test_each_token_stands_in_its_sentence(text):
    data = text.encode("utf-8", "replace")
    found = cut([data])
    ends = np.cumsum(found.sentences).tolist()
    by_sentence = [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    again = [chunk for sentence in by_sentence for chunk in tokens([sentence])[0]]
    assert again == tokens([data])[0]
    owners = [i for i, s in enumerate(by_sentence) for _ in tokens([s])[0]]
    assert found.token_sentences.tolist() == owners


@given(st.text(max_size=80))
def test_sentences_end_between_characters(text):
    assert (
        "".join(sentences(text.encode("utf-8", "replace").decode()))
        == text.encode("utf-8", "replace").decode()
    )


def test_many_distinct_chunks_grow_the_table():
    words = [f"w{i}" for i in range(50_000)]
    text = " ".join(words + words[::-1]).encode()
    assert [chunk.decode() for chunk in tokens([text])[0]] == words + words[::-1]


@pytest.mark.parametrize(
    "expected",
    [
        [],
        ["One."],
        ["One. ", "Two."],
        ["Really? ", "Yes! ", "Good."],
        ["Dr. Smith met Mr. Jones. ", "They spoke."],
        ["See Fig. 3 and Eq. 14. ", "Then stop."],
        ["It was J. R. R. Tolkien. ", "He wrote."],
        ["Use tools, e.g. Hammers, i.e. Things. ", "Done."],
        ["Pi is 3.14159 or so. ", "Version 2.0.1 is out."],
        ['He said "stop." ', "Then he left."],
        ["She asked (why?) ", "Nobody knew."],
        ["He said “stop.” ", "Then he left."],
        ["It ended. then went on. ", "Then stopped."],
        ["a title\n\n", "its text. ", "More"],
        ["a title\r\n \t\r\n", "its text"],
        ["one line\nand the next"],
        [". the first one . ", "the second . ", "the third ."],
        ["Wait... ", "What?! ", "No."],
        ["今日は。", "元気ですか？", "はい！", "終わり"],
        ["visit example.com now. ", "Please."],
        ["   leading space. ", "Rest.   "],
        ["..."],
        ["   "],
        ["Smith et al. Showed this. ", "Later work agreed."],
        ["Control characters are space. \x00", "Nul bytes. ", "Pass"],
    ],
)
def test_sentence_boundaries(expected):
    assert sentences("".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("naïve café", ["naïve", "café"]),
        ("don’t “quote” a—b…c", ["don", "t", "quote", "a", "b", "c"]),
        ("a\u00a0b «c»", ["a", "b", "c"]),
        ("你好，世界。", ["你好", "世界"]),
        ("ok\u200cok", ["ok\u200cok"]),
        ("É", ["É"]),
        ("snake_case x-y", ["snake", "case", "x", "y"]),
    ],
)
def test_chunks_beyond_ascii(text, expected):
    assert [chunk.decode() for chunk in tokens([text.encode()])[0]] == expected


def test_hash_all_equals_hashing_one_by_one():
    words = [b"", b"a", b"abc", bytes(range(256))]
    mask = (1 << 64) - 1
    expected = []
    for word in words:
        h = 0xCBF29CE484222325
        for byte in word:
            h = ((h ^ byte) * 0x100000001B3) & mask
        expected.append(h ^ (h >> 32))
    assert chunks._hash_all(*Strings.of(words)).tolist() == expected


@given(st.lists(st.text("aZ9 .+#(é\n", max_size=40), max_size=5))
def test_marks_leave_all_else_as_it_is(texts):
    data = [text.encode() for text in texts]
    plain, marked = cut(data), cut(data, marks=True)
    assert plain.sentences.tolist() == marked.sentences.tolist()
    words = marked.distinct.all()
    numbers = [words[token] for token in marked.tokens.tolist()]
    kept = [[w for w in numbers[a:b] if not re.search(rb"[+#.]", w)] for a, b in pairs(marked)]
    assert kept == tokens(data)
    for text, (a, b) in zip(texts, pairs(marked), strict=True):
        found = [w.decode() for w in numbers[a:b] if re.search(rb"[+#.]", w)]
        assert found == [match for match in marks_of(text.lower()) if match]


def pairs(found):
    return pairwise(found.token_bounds.tolist())


def marks_of(text):
    """Words with marks, by regular expressions; a chunk with other letters has none."""
    after = r"(?<![a-z0-9é])([a-z][a-z0-9]{0,13})(\+\+(?!\+)|#(?![a-z0-9é#]))"
    before = r"(?<![^ \n(])(\.[a-z]{2,15})(?![a-z0-9é])"
    found = [(m.start(2), m[1] + m[2]) for m in re.finditer(after, text)]
    found += [(m.start(), m[1]) for m in re.finditer(before, text)]
    return [match for _, match in sorted(found)]


@given(st.lists(st.tuples(ASCII, ASCII), max_size=6))
def test_tokens_of_heads_are_those_of_the_heads_alone(pieces):
    data = [f"{head}\n\n{text}".encode() for head, text in pieces]
    heads = [len(head.encode()) for head, _ in pieces]
    found = cut(data, heads=heads)
    assert found.heads.tolist() == [len(text) for text in tokens([h.encode() for h, _ in pieces])]
    assert cut(data).heads.tolist() == [0] * len(data)


@given(st.text("aB.1 é", max_size=12))
def test_an_acronym_is_what_the_pattern_finds(text):
    data = np.frombuffer(text.encode(), np.uint8)
    # To the pattern a letter with an accent is one more.
    found = ACRONYM.match(text.replace("é", "e" * 2))
    assert acronym(data, 0, 0, len(data)) == (len(found[0]) if found else 0)


@given(st.text("aB1. -", max_size=60))
def test_acronyms_of_a_text_are_those_that_the_pattern_finds(text):
    data = np.frombuffer(text.encode(), np.uint8)
    starts = [one.start() for one in re.finditer("[A-Za-z0-9]+", text)]
    found = {i: int(acronym(data, i, 0, len(data))) for i in starts}
    expected = {one.start(): len(one[0]) for one in ACRONYM.finditer(text)}
    assert {i: size for i, size in found.items() if size} == expected


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("the U.S.A. now", ["the", "usa", "now"]),
        ("U.S.", ["us"]),
        ("(n.a.c.a.)", ["naca"]),
        ("I.B.M", ["ibm"]),
        ("made in the U.S.A, and the u.k", ["made", "in", "the", "usa", "and", "the", "uk"]),
        ("“the U.S.”", ["the", "us"]),
        ("Plan B.The next", ["plan", "b", "the", "next"]),
        ("lib.a.b and x.1.a.b", ["lib", "a", "b", "and", "x", "1", "a", "b"]),
        ("www.a.b.com", ["www", "a", "b", "com"]),
        ("main.c v1.2.3 Ph.D", ["main", "c", "v1", "2", "3", "ph", "d"]),
        ("U.S.A.é", ["u", "s", "a", "é"]),
        ("J.S.Bach", ["j", "s", "bach"]),
        ("v.1.2.", ["v", "1", "2"]),
        ("A. B. C.", ["a", "b", "c"]),
    ],
)
def test_acronyms_lose_their_dots(text, chunks):
    found = cut([text.encode()])
    spelled = [one.decode() for one in found.distinct.all()]
    assert [spelled[token] for token in found.tokens.tolist()] == chunks


def test_no_sentence_ends_with_an_acronym():
    assert len(cut([b"In the U.S. Steel is made. It is hot."]).sentences) == 2


def test_letters_with_dots_without_end_are_cut_in_linear_time():
    text = b"a." * 200_000 + b"ab"
    assert len(cut([text]).tokens) > 100_000

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.text.analysis import Analysis, Analyzer, encode
from likewise.text.chunks import cut
from likewise.text.lexicon import CACHED, Counts, Lexicon, _count
from likewise.text.table import Strings, StringTable

TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(["running", "runs", "Run", "the", "café", "你好世界", "a", "b2", ".", "…"]),
        max_size=30,
    ).map(" ".join),
)


def counted(lexicon, texts):
    """The term counts of each text as dictionaries, their lengths checked."""
    found = lexicon.count(cut([encode(text) for text in texts])).terms
    words = [term.decode() for term in lexicon.terms.strings.all()]
    out = []
    for i in range(len(texts)):
        span = slice(found.bounds[i], found.bounds[i + 1])
        terms = found.terms[span].tolist()
        assert terms == sorted(set(terms))
        counts = dict(zip([words[t] for t in terms], found.counts[span].tolist(), strict=True))
        assert sum(counts.values()) == found.lengths[i]
        out.append(counts)
    return out


def flat(counted):
    """All arrays of what was counted."""
    return [array for part in counted for array in (part if isinstance(part, tuple) else (part,))]


@given(st.lists(st.lists(TEXT, max_size=5), max_size=4))
def test_counts_equal_those_of_the_terms(batches):
    for cached in (CACHED, 0):
        analyzer = Analyzer(Analysis())
        lexicon = Lexicon(analyzer, cached=cached)
        for batch in batches:
            assert counted(lexicon, batch) == [Counter(analyzer.terms(t)) for t in batch]


@pytest.mark.parametrize("cached", [CACHED, 0], ids=["remembering", "forgetting"])
def test_numbers_stay_when_the_cache_is_forgotten(cached):
    lexicon = Lexicon(Analyzer(Analysis()), cached=cached)
    first = lexicon.count(cut([b"alpha beta gamma"])).terms.terms.tolist()
    lexicon.count(cut([b"delta beta"]))
    assert lexicon.count(cut([b"alpha beta gamma"])).terms.terms.tolist() == first == [0, 1, 2]
    assert len(lexicon.terms) == 4
    assert lexicon.n_bytes > 0


def test_terms_are_numbered_as_they_appear():
    lexicon = Lexicon(Analyzer(Analysis(stemmer="none")))
    lexicon.count(cut([b"zebra apple zebra", b"mango apple"]))
    assert lexicon.terms.strings.all() == [b"zebra", b"apple", b"mango"]


@given(
    st.lists(st.lists(TEXT, max_size=4), max_size=8),
    st.lists(st.integers(0, 7), max_size=4),
    st.sampled_from([CACHED, 300, 0]),
)
def test_numbers_are_those_of_one_table_however_it_is_split(batches, cuts, cached):
    """Terms that were numbered before are looked up; only new ones are held."""
    analyzer = Analyzer(Analysis(stop="none", min_length=1))
    whole = Lexicon(analyzer)
    tables = []

    def known(terms):
        """Look terms up in the tables so far, each of which begins where the last one ends."""
        out, first = np.full(terms.size, -1, np.int64), 0
        for table in tables:
            found = table.find(terms)
            out = np.where(found >= 0, found + first, out)
            first += len(table)
        return out

    split = Lexicon(analyzer, known, cached=cached)
    for i, batch in enumerate(batches):
        if i in cuts:
            tables.append(StringTable())
            new = split.take_new()
            assert tables[-1].intern(new).tolist() == list(range(new.size))
            assert len(split.terms) == 0
            assert split.first == sum(map(len, tables))
        chunks = cut([encode(text) for text in batch])
        expected, found = whole.count(chunks), split.count(chunks)
        for left, right in zip(flat(expected), flat(found), strict=True):
            assert left.tolist() == right.tolist()
    pieces = [*(table.strings for table in tables), split.terms.strings]
    assert Strings.joined(pieces).all() == whole.terms.strings.all()


@pytest.mark.parametrize("first", [0, 5])
def test_new_terms_are_numbered_from_the_first_on(first):
    seen = []

    def known(terms):
        seen.extend(terms.all())
        return np.array([3 if term == b"apple" else -1 for term in terms.all()], np.int64)

    lexicon = Lexicon(Analyzer(Analysis(stemmer="none")), known, first)
    counts = lexicon.count(cut([b"zebra apple zebra mango"]))
    assert sorted(counts.terms.terms.tolist()) == sorted([3, first, first + 1])
    assert lexicon.terms.strings.all() == [b"zebra", b"mango"]
    assert lexicon.take_new().all() == [b"zebra", b"mango"]
    assert lexicon.first == first + 2
    # What is remembered is not asked for again.
    lexicon.count(cut([b"zebra apple kiwi"]))
    assert seen == [b"zebra", b"apple", b"mango", b"kiwi"]
    assert lexicon.terms.strings.all() == [b"kiwi"]


def test_what_is_held_is_bounded():
    lexicon = Lexicon(
        Analyzer(Analysis()), lambda terms: np.zeros(terms.size, np.int64), cached=1000
    )
    for first in range(0, 20_000, 500):
        lexicon.count(cut([" ".join(f"word{i}" for i in range(first, first + 500)).encode()]))
    assert lexicon.n_bytes < 100_000
    assert len(lexicon.terms) == 0


@given(st.integers(0, 2**32 - 1))
def test_count_kernel_equals_unique(seed):
    rng = np.random.default_rng(seed)
    n_known, n_texts = int(rng.integers(1, 12)), int(rng.integers(0, 6))
    sizes = rng.integers(0, 4, n_known)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    numbers = rng.integers(0, 9, int(starts[-1])).astype(np.int32)
    chunks = rng.permutation(n_known)[: max(1, n_known - 2)].astype(np.int64)
    bounds = np.concatenate([[0], np.cumsum(rng.integers(0, 30, n_texts))]).astype(np.int64)
    tokens = rng.integers(0, len(chunks), int(bounds[-1])).astype(np.int32)
    heads = rng.integers(0, np.diff(bounds) + 1)
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    widths = sizes + rng.integers(0, 2, n_known)
    weight = int(rng.integers(1, 4))
    entries = (starts, numbers.astype(np.int64), places)
    found = _count(tokens, bounds, heads, chunks, entries, widths, weight)
    terms, head = Counts(*found[:4]), Counts(*found[4:8])
    uses, positions, head_widths = found[8:]
    at = 0
    for i in range(n_texts):
        position, placed, in_head = 0, [], []
        for j in range(bounds[i], bounds[i + 1]):
            chunk = chunks[tokens[j]]
            mine = range(starts[chunk], starts[chunk + 1])
            placed += [(numbers[k], position + places[k]) for k in mine]
            if j - bounds[i] < heads[i]:
                in_head += [numbers[k] for k in mine]
                assert position + widths[chunk] <= head_widths[i]
            position += widths[chunk]
        for counts, words in (
            (terms, [n for n, _ in placed] + (weight - 1) * in_head),
            (head, in_head),
        ):
            expected, expected_counts = np.unique(np.array(words, np.int32), return_counts=True)
            span = slice(counts.bounds[i], counts.bounds[i + 1])
            assert counts.terms[span].tolist() == expected.tolist()
            assert counts.counts[span].tolist() == expected_counts.tolist()
            assert counts.lengths[i] == len(words)
        for j in range(terms.bounds[i], terms.bounds[i + 1]):
            mine = [p for n, p in placed if n == terms.terms[j]]
            assert positions[at : at + uses[j]].tolist() == mine
            at += uses[j]
    assert at == len(positions)

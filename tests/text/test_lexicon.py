from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.text import lexicon as module
from likewise.text.analysis import Analysis, Analyzer, encode
from likewise.text.chunks import cut
from likewise.text.lexicon import Lexicon, _count

TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(["running", "runs", "Run", "the", "café", "你好世界", "a", "b2", ".", "…"]),
        max_size=30,
    ).map(" ".join),
)


def counted(lexicon, texts):
    """The term counts of each text as dictionaries, their lengths checked."""
    found = lexicon.count(cut([encode(text) for text in texts]))
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


@pytest.fixture(params=[256 << 20, 0], ids=["remembering", "forgetting"])
def cache(request, monkeypatch):
    monkeypatch.setattr(module, "_CACHE_BYTES", request.param)


@given(st.lists(st.lists(TEXT, max_size=5), max_size=4))
def test_counts_equal_those_of_the_terms(batches):
    for limit in (256 << 20, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_CACHE_BYTES", limit)
            analyzer = Analyzer(Analysis())
            lexicon = Lexicon(analyzer)
            for batch in batches:
                assert counted(lexicon, batch) == [Counter(analyzer.terms(t)) for t in batch]


@pytest.mark.usefixtures("cache")
def test_numbers_stay_when_the_cache_is_forgotten():
    lexicon = Lexicon(Analyzer(Analysis()))
    first = lexicon.count(cut([b"alpha beta gamma"])).terms.tolist()
    lexicon.count(cut([b"delta beta"]))
    assert lexicon.count(cut([b"alpha beta gamma"])).terms.tolist() == first == [0, 1, 2]
    assert len(lexicon.terms) == 4
    assert lexicon.n_bytes > 0


def test_terms_are_numbered_as_they_appear():
    lexicon = Lexicon(Analyzer(Analysis(stemmer="none")))
    lexicon.count(cut([b"zebra apple zebra", b"mango apple"]))
    assert lexicon.terms.strings.all() == [b"zebra", b"apple", b"mango"]


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
    out_bounds, terms, counts, lengths = _count(tokens, bounds, chunks, starts, numbers)
    for i in range(n_texts):
        spelled = [
            numbers[starts[chunks[t]] : starts[chunks[t] + 1]]
            for t in tokens[bounds[i] : bounds[i + 1]]
        ]
        flat = np.concatenate([np.empty(0, np.int32), *spelled])
        expected, expected_counts = np.unique(flat, return_counts=True)
        span = slice(out_bounds[i], out_bounds[i + 1])
        assert terms[span].tolist() == expected.tolist()
        assert counts[span].tolist() == expected_counts.tolist()
        assert lengths[i] == len(flat)

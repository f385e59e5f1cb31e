from __future__ import annotations

from itertools import chain
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection import records as records_module
from likewise.collection.records import (
    Records,
    decode,
    decode_sentences,
    encode,
    get,
    next_term,
    read_terms,
)
from likewise.errors import DamagedError

TERMS = st.dictionaries(
    st.integers(0, 2**31 - 1),
    st.one_of(st.integers(1, 5), st.integers(1, 5_000_000), st.just(2**31 - 1)),
    max_size=12,
)
SENTENCES = st.lists(st.integers(0, 2**32 - 1), max_size=6)


def bounds_of(lists):
    return np.cumsum([0, *map(len, lists)]).astype(np.int64)


def encoded(records):
    """Encode (terms to counts, sentences) pairs; give the stream and offsets."""
    terms = [sorted(counts) for counts, _ in records]
    counts = [[counts[t] for t in sorted(counts)] for counts, _ in records]
    sentences = [lengths for _, lengths in records]
    stream, ends = encode(
        bounds_of(terms),
        np.array([*chain(*terms)], np.int32),
        np.array([*chain(*counts)], np.int32),
        np.array([*chain(*sentences)], np.uint32),
        bounds_of(sentences),
    )
    return stream, np.array([0, *ends], np.uint32)


@given(st.lists(st.tuples(TERMS, SENTENCES), max_size=6), st.data())
def test_records_are_read_as_written(records, data):
    stream, offsets = encoded(records)
    assert offsets[-1] == len(stream)
    docs = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=8)) if records else []
    bounds, terms, counts, whole = decode(stream, offsets, np.array(docs, np.int64), 2**31)
    assert whole
    for i, doc in enumerate(docs):
        span = slice(bounds[i], bounds[i + 1])
        found = list(zip(terms[span].tolist(), counts[span].tolist(), strict=True))
        assert found == sorted(records[doc][0].items())
        lengths = decode_sentences(stream, int(offsets[doc]), int(offsets[doc + 1]))
        assert lengths.tolist() == records[doc][1]
    sizes = Records(stream, offsets, 2**31, "the file").text_sizes()
    assert sizes.tolist() == [sum(lengths) for _, lengths in records]


@given(TERMS, st.integers(1, 5))
def test_terms_are_read_some_at_a_time(counts, size):
    stream, _ = encoded([(counts, [7])])
    n, at = get(stream, 0, len(stream))
    alone, its_at, found, last = 0, at, [], 0
    for start in range(0, n, size):
        terms, numbers = (np.empty(min(size, n - start), np.int32) for _ in range(2))
        last, at = read_terms(stream, at, len(stream), last, terms, numbers)
        found += zip(terms.tolist(), numbers.tolist(), strict=True)
        for term, number in found[start:]:
            alone, count, its_at = next_term(stream, its_at, len(stream), alone)
            assert (term, number) == (alone, count)
        assert (last, at) == (alone, its_at)
    assert found == sorted(counts.items())


def test_an_empty_document_is_two_bytes():
    stream, offsets = encoded([({}, []), ({}, [])])
    assert stream.tolist() == [0, 0, 0, 0]
    assert offsets.tolist() == [0, 2, 4]


def test_the_format_by_hand():
    # Two terms; 3 once: 3 * 2 + 1; 103, 300 times: 100 * 2, then 298 in seven bits a byte.
    stream, _ = encoded([({3: 1, 103: 300}, [5])])
    assert stream.tolist() == [2, 7, 200 & 127 | 128, 200 >> 7, 298 & 127 | 128, 298 >> 7, 1, 5]


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_any_bytes_are_decoded_within_bounds(data, cuts):
    stream = np.frombuffer(data, np.uint8).copy()
    offsets = np.array(sorted(min(cut, len(data)) for cut in [0, *cuts]), np.uint32)
    docs = np.arange(len(offsets) - 1)
    bounds, terms, counts, whole = decode(stream, offsets, docs, 100)
    if whole:
        assert all(0 <= term < 100 for term in terms.tolist())
    assert bounds[-1] == len(terms) == len(counts) <= len(data)
    for doc in docs.tolist():
        lengths = decode_sentences(stream, int(offsets[doc]), int(offsets[doc + 1]))
        assert len(lengths) <= len(data)


@given(st.binary(max_size=60))
def test_plain_python_reads_any_bytes_as_compiled_code_does(data):
    stream = np.frombuffer(data, np.uint8).copy()
    records = Records(stream, np.array([0, len(data)], np.uint32), 100, "the file")
    found = []
    for ready in (True, False):
        with patch.object(records_module, "kernels_are_ready", lambda ready=ready: ready):
            try:
                told = [values.tolist() for values in records.counts(np.array([0]))]
            except DamagedError as error:
                told = str(error)
            found.append([told, records.sentences(0).tolist()])
    assert found[0] == found[1]


@given(st.integers(0, 2**62), st.binary(max_size=3))
def test_integers_are_read_never_past_the_end(value, after):
    data = bytearray()
    rest = value
    while rest >= 128:
        data.append(rest & 127 | 128)
        rest >>= 7
    data.append(rest)
    stream = np.frombuffer(bytes(data) + after, np.uint8).copy()
    assert get(stream, 0, len(stream)) == (value, len(data))
    assert get(stream, 0, len(data) - 1)[1] == len(data) - 1


def test_terms_that_there_are_not_name_the_file():
    stream, offsets = encoded([({3: 1}, [5]), ({7: 2}, [])])
    records = Records(stream, offsets, 8, "the file")
    assert records.counts(np.array([1, 0])).terms.tolist() == [7, 3]
    assert records.sentences(0).tolist() == [5]
    fewer = records._replace(n_terms=7)
    assert fewer.counts(np.array([0])).terms.tolist() == [3]
    with pytest.raises(DamagedError, match="the file: a record has a term beyond the 7"):
        fewer.counts(np.array([0, 1]))


def test_steps_that_lead_beyond_every_number():
    # Three steps of 2**61 and more make the sum negative.
    step = [255] * 8 + [127]
    stream = np.array([4, *step, *step, *step, *step, 0], np.uint8)
    records = Records(stream, np.array([0, len(stream)], np.uint32), 100, "the file")
    for ready in (True, False):
        with (
            patch.object(records_module, "kernels_are_ready", lambda ready=ready: ready),
            pytest.raises(DamagedError, match="beyond"),
        ):
            records.counts(np.array([0]))

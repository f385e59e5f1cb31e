from __future__ import annotations

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.forward import decode, decode_sentences, encode, get

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
    bounds, terms, counts = decode(stream, offsets, np.array(docs, np.int64))
    for i, doc in enumerate(docs):
        span = slice(bounds[i], bounds[i + 1])
        found = list(zip(terms[span].tolist(), counts[span].tolist(), strict=True))
        assert found == sorted(records[doc][0].items())
        lengths = decode_sentences(stream, int(offsets[doc]), int(offsets[doc + 1]))
        assert lengths.tolist() == records[doc][1]


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
    bounds, terms, counts = decode(stream, offsets, docs)
    assert bounds[-1] == len(terms) == len(counts) <= len(data)
    for doc in docs.tolist():
        lengths = decode_sentences(stream, int(offsets[doc]), int(offsets[doc + 1]))
        assert len(lengths) <= len(data)


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

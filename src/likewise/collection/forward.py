"""What does each document hold? One record a document, in a stream of bytes.

A record is: the number of distinct terms; for each, ascending, the step from the last term
and its count (`step * 2 + 1` for a count of one, else `step * 2` and the count less two); the
number of sentences; the length of each in bytes. All are variable-length integers, seven bits
a byte, low bits first. Term numbers are those of the whole collection, so that a record can be
copied from segment to segment as it is.
"""

from __future__ import annotations

import numpy as np

from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, kernel


@kernel
def encode(
    bounds: Ints, terms: Ids, counts: Ids, sentences: Offsets, sentence_bounds: Ints
) -> tuple[Bytes, Ints]:
    """Encode a batch of documents: the stream and where each record ends."""
    n_docs = len(bounds) - 1
    out = np.empty(10 * len(terms) + 5 * len(sentences) + 10 * n_docs, np.uint8)
    ends = np.empty(n_docs, np.int64)
    at: Int = 0
    for doc in range(n_docs):
        at = _put(out, at, bounds[doc + 1] - bounds[doc])
        last = np.int64(0)
        for j in range(bounds[doc], bounds[doc + 1]):
            step = np.int64(terms[j]) - last
            last = np.int64(terms[j])
            if counts[j] == 1:
                at = _put(out, at, step * 2 + 1)
            else:
                at = _put(out, at, step * 2)
                at = _put(out, at, np.int64(counts[j]) - 2)
        at = _put(out, at, sentence_bounds[doc + 1] - sentence_bounds[doc])
        for j in range(sentence_bounds[doc], sentence_bounds[doc + 1]):
            at = _put(out, at, np.int64(sentences[j]))
        ends[doc] = at
    return out[:at].copy(), ends


@kernel
def decode(stream: Bytes, offsets: Offsets, docs: Ints) -> tuple[Ints, Ids, Ids]:
    """Decode the term counts of some documents: bounds, terms, counts."""
    bounds = np.zeros(len(docs) + 1, np.int64)
    for i in range(len(docs)):
        stop = np.int64(offsets[docs[i] + 1])
        n, _ = get(stream, np.int64(offsets[docs[i]]), stop)
        # A record cannot hold more terms than bytes, whatever a damaged one says.
        bounds[i + 1] = bounds[i] + min(n, stop - np.int64(offsets[docs[i]]))
    terms = np.empty(bounds[-1], np.int32)
    counts = np.empty(bounds[-1], np.int32)
    for i in range(len(docs)):
        stop = np.int64(offsets[docs[i] + 1])
        _, at = get(stream, np.int64(offsets[docs[i]]), stop)
        term: Int = 0
        for j in range(bounds[i], bounds[i + 1]):
            term, count, at = next_term(stream, at, stop, term)
            terms[j] = term
            counts[j] = count
    return bounds, terms, counts


@kernel
def decode_sentences(stream: Bytes, start: Int, stop: Int) -> Ints:
    """Decode the lengths of one document's sentences."""
    n, at = get(stream, start, stop)
    term: Int = 0
    for _ in range(min(n, stop - start)):
        term, _count, at = next_term(stream, at, stop, term)
    n, at = get(stream, at, stop)
    out = np.zeros(min(n, stop - start), np.int64)
    for i in range(len(out)):
        out[i], at = get(stream, at, stop)
    return out


@kernel
def next_term(stream: Bytes, at: Int, stop: Int, term: Int) -> tuple[Int, Int, Int]:
    """Read the next term, its count, and where the one after it stands."""
    code, at = get(stream, at, stop)
    term += code >> 1
    if code & 1:
        return term, 1, at
    count, at = get(stream, at, stop)
    return term, count + 2, at


@kernel
def get(stream: Bytes, at: Int, stop: Int) -> tuple[Int, Int]:
    """Read one integer, never past `stop`."""
    value = np.int64(0)
    shift = 0
    while at < stop and shift < 63:
        byte = np.int64(stream[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    return value, at


@kernel
def _put(out: Bytes, at: Int, value: Int) -> Int:
    while value >= 128:
        out[at] = np.uint8((value & 127) | 128)
        value >>= 7
        at += 1
    out[at] = np.uint8(value)
    return at + 1

"""What does each document hold? One record a document, in a stream of bytes.

A record is: the number of distinct terms; for each, ascending, the step from the last term
and its count (`step * 2 + 1` for a count of one, else `step * 2` and the count less two); the
number of sentences; the length of each in bytes. All are variable-length integers, seven bits
a byte, low bits first. Term numbers are those of the whole collection, so that a record can be
copied from segment to segment as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from likewise.collection.files import REMEDY
from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, kernel, kernels_are_ready
from likewise.errors import DamagedError

_FEW = 4
# Kernels read so many terms of a record at a time.
PART = 256
# No collection has a term so large: numbers of a damaged record stay there.
_LAST_TERM = (1 << 31) - 1


class TermCounts(NamedTuple):
    """Term counts of documents: document i has `terms[bounds[i]:bounds[i + 1]]`, ascending."""

    bounds: Ints
    terms: Ids
    counts: Ids


class Records(NamedTuple):
    """The records of a segment: that of document i is `stream[offsets[i]:offsets[i + 1]]`.

    Terms are numbered below `n_terms`; what is damaged says `name`.
    """

    stream: Bytes
    offsets: Offsets
    n_terms: int
    name: str

    def counts(self, docs: Ints) -> TermCounts:
        """Decode the term counts of some documents."""
        if len(docs) <= _FEW and not kernels_are_ready():
            read = [self._read(int(doc)) for doc in docs]
            sizes = [len(terms) for terms, _, _ in read]
            bounds = np.cumsum([0, *sizes], dtype=np.int64)
            found = [term for one in read for term in one[0]]
            is_whole = all(term < self.n_terms for term in found)
            terms = np.array(found if is_whole else [], np.int32)
            counts = _as_ids([count for one in read for count in one[1]])
        else:
            bounds, terms, counts, is_whole = decode(self.stream, self.offsets, docs, self.n_terms)
        if not is_whole:
            raise DamagedError(
                f"{self.name}: a record has a term beyond the {self.n_terms} that there are; "
                f"{REMEDY}"
            )
        return TermCounts(bounds, terms, counts)

    def sentences(self, doc: int) -> Ints:
        """Decode the lengths in bytes of a document's sentences."""
        if not kernels_are_ready():
            return np.array(self._read(doc)[2], np.int64)
        start, stop = (int(at) for at in self.offsets[doc : doc + 2])
        return decode_sentences(self.stream, start, stop)

    def text_sizes(self) -> Ints:
        """Decode the lengths in bytes of all documents' texts."""
        return decode_text_sizes(self.stream, self.offsets)

    def _read(self, doc: int) -> tuple[list[int], list[int], list[int]]:
        """Read the terms, counts and sentences of one record, in plain Python.

        Equals `decode` and `decode_sentences`; loading compiled code takes longer than that.
        """
        start, stop = (int(at) for at in self.offsets[doc : doc + 2])
        numbers = _integers(self.stream[start:stop].tobytes())
        terms: list[int] = []
        counts: list[int] = []
        for _ in range(min(next(numbers, 0), stop - start)):
            code = next(numbers, 0)
            terms.append((terms[-1] if terms else 0) + (code >> 1))
            counts.append(1 if code & 1 else next(numbers, 0) + 2)
        n_sentences = min(next(numbers, 0), stop - start)
        return terms, counts, [next(numbers, 0) for _ in range(n_sentences)]


def _as_ids(numbers: list[int]) -> Ids:
    """Cut numbers to 32 bits, as the compiled code does with those of a damaged record."""
    return np.array(numbers, np.uint64).astype(np.uint32).view(np.int32)


def _integers(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift == 63:
            yield value
            value = shift = 0
    if shift:
        yield value


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
        at = put(out, at, bounds[doc + 1] - bounds[doc])
        last = np.int64(0)
        for j in range(bounds[doc], bounds[doc + 1]):
            step = np.int64(terms[j]) - last
            last = np.int64(terms[j])
            if counts[j] == 1:
                at = put(out, at, step * 2 + 1)
            else:
                at = put(out, at, step * 2)
                at = put(out, at, np.int64(counts[j]) - 2)
        at = put(out, at, sentence_bounds[doc + 1] - sentence_bounds[doc])
        for j in range(sentence_bounds[doc], sentence_bounds[doc + 1]):
            at = put(out, at, np.int64(sentences[j]))
        ends[doc] = at
    return out[:at].copy(), ends


@kernel
def decode(
    stream: Bytes, offsets: Offsets, docs: Ints, n_terms: Int
) -> tuple[Ints, Ids, Ids, bool]:
    """Decode the term counts of some documents: bounds, terms, counts, and whether all fit."""
    bounds = np.zeros(len(docs) + 1, np.int64)
    for i in range(len(docs)):
        stop = np.int64(offsets[docs[i] + 1])
        n, _ = get(stream, np.int64(offsets[docs[i]]), stop)
        # A record cannot hold more terms than bytes, whatever a damaged one says.
        bounds[i + 1] = bounds[i] + min(n, stop - np.int64(offsets[docs[i]]))
    terms = np.empty(bounds[-1], np.int32)
    counts = np.empty(bounds[-1], np.int32)
    is_whole = True
    for i in range(len(docs)):
        stop = np.int64(offsets[docs[i] + 1])
        _, at = get(stream, np.int64(offsets[docs[i]]), stop)
        mine = slice(bounds[i], bounds[i + 1])
        last, _ = read_terms(stream, at, stop, 0, terms[mine], counts[mine])
        # Terms ascend.
        if bounds[i] < bounds[i + 1] and last >= n_terms:
            is_whole = False
    return bounds, terms, counts, is_whole


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
def decode_text_sizes(stream: Bytes, offsets: Offsets) -> Ints:
    """Add up the lengths of each document's sentences.

    Equals `decode_sentences(stream, start, stop).sum()` of each.
    """
    out = np.zeros(len(offsets) - 1, np.int64)
    for doc in range(len(out)):
        start, stop = np.int64(offsets[doc]), np.int64(offsets[doc + 1])
        n, at = get(stream, start, stop)
        term: Int = 0
        for _ in range(min(n, stop - start)):
            term, _count, at = next_term(stream, at, stop, term)
        n, at = get(stream, at, stop)
        for _ in range(min(n, stop - start)):
            size, at = get(stream, at, stop)
            out[doc] += size
    return out


@kernel
def read_terms(
    stream: Bytes, at: Int, stop: Int, term: Int, terms: Ids, counts: Ids
) -> tuple[Int, Int]:
    """Read as many terms as there is room for; give the last, and where the next one stands.

    Equals `next_term` of each; so many at once take a quarter of the time. Nearly always a step
    takes up to three bytes and a count none or one: these are read without a branch, as which of
    them it is cannot be predicted.
    """
    j: Int = 0
    while j < len(terms):
        if at + 4 <= stop:
            a, b, c = np.int64(stream[at]), np.int64(stream[at + 1]), np.int64(stream[at + 2])
            two = a >> 7
            three = two & b >> 7
            several = 1 - (a & 1)
            after = at + 1 + two + three
            more = several * np.int64(stream[after])
            if (three & c >> 7) | more >> 7 == 0:
                code = (a & 127) | two * ((b & 127) << 7) | three * ((c & 127) << 14)
                term = min(term + (code >> 1), _LAST_TERM)
                terms[j], counts[j] = term, 1 + several + more
                at = after + several
                j += 1
                continue
        term, count, at = next_term(stream, at, stop, term)
        terms[j], counts[j] = term, count
        j += 1
    return term, at


@kernel
def next_term(stream: Bytes, at: Int, stop: Int, term: Int) -> tuple[Int, Int, Int]:
    """Read the next term, its count, and where the one after it stands."""
    code, at = get(stream, at, stop)
    term = min(term + min(code >> 1, _LAST_TERM), _LAST_TERM)
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
def put(out: Bytes, at: Int, value: Int) -> Int:
    """Write one integer, and tell where the next one goes."""
    while value >= 128:
        out[at] = np.uint8((value & 127) | 128)
        value >>= 7
        at += 1
    out[at] = np.uint8(value)
    return at + 1

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_model import read_entries, read_postings

from likewise.collection.arrays import Memory
from likewise.collection.pack import Pack, Packer
from likewise.collection.postings import (
    BLOCK,
    K1,
    PAIRS_FROM,
    B,
    block_of,
    bm25_norms,
    read_bounds,
    start_of,
    write_postings,
)
from likewise.collection.postings import read_postings as read
from likewise.collection.records import encode

COUNT = st.one_of(st.integers(1, 3), st.integers(250, 260), st.integers(1, 3_000_000))
RECORDS = st.lists(st.dictionaries(st.integers(0, 30), COUNT, max_size=8), max_size=12)


def encoded(records):
    """Encode records (term to count): the stream and offsets."""
    rows = [sorted(record.items()) for record in records]
    bounds = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    flat = [pair for row in rows for pair in row]
    stream, ends = encode(
        bounds,
        np.array([term for term, _ in flat], np.int32),
        np.array([count for _, count in flat], np.int32),
        np.empty(0, np.uint32),
        np.zeros(len(rows) + 1, np.int64),
    )
    return stream, np.array([0, *ends], np.uint32)


def lengths_of(records):
    return np.array([sum(record.values()) for record in records], np.uint32)


def turned(records, *, memory, n_terms=31, lengths=None, out=None):
    """Write the postings of records (term to count); give the pack."""
    out = Memory() if out is None else out
    lengths = lengths_of(records) if lengths is None else lengths
    write_postings(out, encoded(records), lengths, n_terms=n_terms, memory=memory)
    return out


def transposed(records):
    found = {}
    for doc, record in enumerate(records):
        for term, count in record.items():
            found.setdefault(term, []).append((doc, count))
    return found


@pytest.mark.parametrize("memory", [400, 4_000])
def test_a_pass_holds_no_more_postings_than_the_memory_allows(memory):
    made = np.random.default_rng(0).integers(0, 31, (200, 6)).tolist()
    records = [dict.fromkeys(row, 1) for row in made]
    held = []

    class Watched(Memory):
        def stream(self, name, *args, **options):
            stream = super().stream(name, *args, **options)
            if name == "postings.docs":
                append = stream.append
                stream.append = lambda values: (held.append(len(values)), append(values))[1]
            return stream

    write_postings(Watched(), encoded(records), lengths_of(records), n_terms=31, memory=memory)
    longest = max(len(docs) for docs in transposed(records).values())
    assert sum(held) == sum(map(len, records))
    # A posting takes four bytes; what one term has is never divided.
    assert max(held) <= max(memory // 4, longest)
    assert len(held) > 1


@given(RECORDS, st.sampled_from([0, 1, 7, 30, 1 << 20]))
def test_postings_are_the_transpose(records, memory):
    postings = read(turned(records, memory=memory))
    assert read_postings(postings) == transposed(records)
    assert postings.terms.tolist() == sorted(transposed(records))
    assert postings.heads[-1].tolist() == [len(postings.entries) - 1, 0, 0, 0]


@pytest.mark.parametrize("memory", [0, 600_000, 1 << 30])
def test_several_blocks_of_documents(memory):
    records = [{} for _ in range(2 * BLOCK + 5)]
    for doc in range(0, len(records), 7):
        records[doc] = {0: 1}
    for doc in (0, BLOCK - 1, BLOCK, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 4):
        records[doc] = {**records[doc], 1: doc % 5 + 1, 2: 254 + doc % 3}
    records[BLOCK + 1] = {3: 1_000_000}
    postings = read(turned(records, memory=memory, n_terms=4))
    assert read_postings(postings) == transposed(records)
    starts, blocks, _ = read_entries(postings)
    assert blocks == [0, 1, 2, 0, 1, 2, 0, 1, 2, 1]
    assert [block_of(postings.entries, e) for e in range(10)] == blocks
    assert [start_of(postings.entries, e) for e in range(11)] == starts


def test_more_large_counts_than_the_list_starts_with():
    records = [dict.fromkeys(range(20), 255 + doc) for doc in range(20)]
    assert read_postings(read(turned(records, memory=1 << 20))) == transposed(records)


def random_records(seed, n_docs, *, n_terms=31, most=400):
    rng = np.random.default_rng(seed)
    return [
        dict(
            zip(
                rng.choice(n_terms, rng.integers(0, 9), replace=False).tolist(),
                rng.integers(1, most, 9).tolist(),
                strict=False,
            )
        )
        for _ in range(n_docs)
    ]


def test_the_same_whatever_the_memory(tmp_path):
    records = random_records(3, 400)
    files = set()
    for memory in (0, 50, 1000, 1 << 20):
        path = tmp_path / str(memory)
        pack = turned(records, memory=memory, out=Packer(path)).close()
        Pack(path, pack).check()
        files.add(path.read_bytes())
    assert len(files) == 1


@given(st.integers(0, 10**6), st.sampled_from([2, 300]), st.integers(1, 300))
def test_impacts_are_those_of_bm25_rounded_up(seed, most, n_docs):
    records = random_records(seed, n_docs, most=most)
    lengths = lengths_of(records)
    arrays = turned(records, memory=1 << 20)
    average = arrays.meta["impacts"]["average_length"]
    assert arrays.meta["impacts"] == {"k1": K1, "b": B, "average_length": average}
    assert average == max(lengths.mean(), 1e-9)
    norms = bm25_norms(lengths, average)
    postings = read(arrays)
    docs = postings.docs
    counts = postings.counts.astype(np.float32)
    exact = counts / (counts + norms[docs])
    impacts = postings.impacts / 255
    assert (impacts >= exact).all()
    small = postings.counts < 255
    assert (impacts[small] < exact[small] + 1 / 255).all()
    assert (postings.impacts[~small] == 255).all()


def test_impacts_by_hand():
    # Lengths 1 and 3, 2 on average: norms 1.2 (¼ + ¾·½) = .75 and 1.2 (¼ + ¾·3/2) = 1.65.
    arrays = turned([{0: 1}, {0: 1, 1: 2}], memory=1 << 20, n_terms=2)
    impacts = [np.ceil(255 / 1.75), np.ceil(255 / 2.65), np.ceil(255 * 2 / 3.65)]
    postings = read(arrays)
    assert postings.impacts.tolist() == impacts
    assert postings.heads.tolist() == [[0, 2, 2, impacts[0]], [1, 1, 2, impacts[2]], [2, 0, 0, 0]]
    assert postings.entries.tolist() == [impacts[0], 2 << 32 | int(impacts[2]), 3 << 32]


def pairs_of(bounds):
    """The pairs of entries, by entry."""
    starts = bounds.starts.tolist()
    return {
        entry: list(
            zip(
                bounds.counts[starts[i] : starts[i + 1]].tolist(),
                bounds.lengths[starts[i] : starts[i + 1]].tolist(),
                strict=True,
            )
        )
        for i, entry in enumerate(bounds.entries.tolist())
    }


@given(
    st.integers(0, 10**6),
    st.integers(PAIRS_FROM - 10, 4 * PAIRS_FROM),
    st.sampled_from([3, 300]),
    st.sampled_from([0, 900, 1 << 20]),
)
def test_pairs_are_those_that_no_other_beats(seed, n_docs, most, memory):
    rng = np.random.default_rng(seed)
    records = [
        {0: int(rng.integers(1, most))} | ({1: 1} if rng.random() < 0.9 else {})
        for _ in range(n_docs)
    ]
    lengths = rng.choice([1, 5, 30, 65_534, 65_535, 65_536, 10**6], n_docs).astype(np.uint32)
    arrays = turned(records, memory=memory, n_terms=2, lengths=lengths)
    found = pairs_of(read_bounds(arrays))
    expected = {}
    for term, postings in transposed(records).items():
        if len(postings) >= PAIRS_FROM:
            pairs = {(min(count, 255), min(int(lengths[doc]), 65_535)) for doc, count in postings}
            expected[term] = sorted(
                (
                    (count, length)
                    for count, length in pairs
                    if not any(
                        (c >= count and n <= length) and (c, n) != (count, length) for c, n in pairs
                    )
                ),
                reverse=True,
            )
    assert found == expected


def test_entries_of_several_blocks_have_pairs_of_their_own():
    records = [{0: 1 + doc // BLOCK} for doc in range(BLOCK + 100)]
    lengths = np.full(len(records), 9, np.uint32)
    lengths[5] = 4
    for memory in (0, 1 << 30):
        arrays = turned(records, memory=memory, n_terms=1, lengths=lengths)
        assert pairs_of(read_bounds(arrays)) == {0: [(1, 4)], 1: [(2, 9)]}


def test_more_pairs_than_the_list_starts_with():
    """Each of many entries has a pair for each of many counts."""
    n = 250
    records = [dict.fromkeys(range(30), n - i) for i in range(n)]
    lengths = np.arange(n, 0, -1).astype(np.uint32)
    arrays = turned(records, memory=1 << 20, lengths=lengths)
    expected = [(n - i, n - i) for i in range(n)]
    assert pairs_of(read_bounds(arrays)) == dict.fromkeys(range(30), expected)


def test_no_documents_and_no_terms():
    for records in ([], [{}], [{}, {}]):
        arrays = turned(records, memory=1 << 20, n_terms=0)
        assert read_postings(read(arrays)) == {}
        assert pairs_of(read_bounds(arrays)) == {}

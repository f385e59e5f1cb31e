from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_model import read_postings

from likewise.collection.files import map_array
from likewise.collection.forward import encode
from likewise.collection.postings import BLOCK, Postings, write_postings

COUNT = st.one_of(st.integers(1, 3), st.integers(250, 260), st.integers(1, 3_000_000))
RECORDS = st.lists(st.dictionaries(st.integers(0, 30), COUNT, max_size=8), max_size=12)


def turned(folder, records, *, memory, n_terms=31):
    """Write the postings of records (term to count) and read them as a dictionary."""
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
    offsets = np.array([0, *ends], np.uint32)
    write_postings(folder, stream, offsets, n_terms=n_terms, memory=memory)
    return Postings(
        *(map_array(folder / f"postings-{name.replace('_', '-')}.npy") for name in Postings._fields)
    )


def transposed(records):
    found = {}
    for doc, record in enumerate(records):
        for term, count in record.items():
            found.setdefault(term, []).append((doc, count))
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(RECORDS, st.sampled_from([0, 1, 7, 30, 1 << 20]))
def test_postings_are_the_transpose(tmp_path, records, memory):
    postings = turned(tmp_path, records, memory=memory)
    assert read_postings(postings) == transposed(records)
    assert postings.terms.tolist() == sorted(transposed(records))


@pytest.mark.parametrize("memory", [0, 600_000, 1 << 30])
def test_several_blocks_of_documents(tmp_path, memory):
    records = [{} for _ in range(2 * BLOCK + 5)]
    for doc in range(0, len(records), 7):
        records[doc] = {0: 1}
    for doc in (0, BLOCK - 1, BLOCK, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 4):
        records[doc] = {**records[doc], 1: doc % 5 + 1, 2: 254 + doc % 3}
    records[BLOCK + 1] = {3: 1_000_000}
    postings = turned(tmp_path, records, memory=memory, n_terms=4)
    assert read_postings(postings) == transposed(records)
    assert postings.entry_blocks.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 1]


def test_more_large_counts_than_the_list_starts_with(tmp_path):
    records = [dict.fromkeys(range(20), 255 + doc) for doc in range(20)]
    assert read_postings(turned(tmp_path, records, memory=1 << 20)) == transposed(records)


def test_the_same_whatever_the_memory(tmp_path):
    rng = np.random.default_rng(3)
    records = [
        {
            int(t): int(c)
            for t, c in zip(rng.integers(0, 31, 9), rng.integers(1, 400, 9), strict=True)
        }
        for _ in range(50)
    ]
    files = []
    for memory in (0, 50, 1 << 20):
        folder = tmp_path / str(memory)
        folder.mkdir()
        turned(folder, records, memory=memory)
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert files[0] == files[1] == files[2]

from __future__ import annotations

import datetime
import errno
import gc
import os
import threading
import types
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection import documents as module
from likewise.collection.documents import Documents, DocumentsWriter, compress, plain
from likewise.collection.manifest import FileEntry
from likewise.errors import DamagedError, StorageError
from likewise.records import Document

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**63, 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.text(st.characters(categories=["Cs", "Lu"]), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
ANY_TEXT = st.text(st.characters(), max_size=20) | st.text(max_size=300)
DOCUMENT = st.builds(
    Document, ANY_TEXT, ANY_TEXT, ANY_TEXT, st.dictionaries(ANY_TEXT, VALUES, max_size=3), ANY_TEXT
)


FILE = "documents.jsonl.zst"


def written(folder, documents):
    """Write documents; give their blocks."""
    writer = DocumentsWriter(folder / FILE)
    writer.append(compress(documents))
    entry = writer.close()
    data = (folder / FILE).read_bytes()
    assert entry == FileEntry(FILE, len(data), zlib.crc32(data))
    return writer.blocks


def stored(folder, documents):
    return Documents(folder / FILE, written(folder, documents))


def as_read(document):
    return Document(**plain(document._asdict()))


@pytest.mark.usefixtures("unsynced")
@given(st.lists(DOCUMENT, max_size=8))
def test_round_trip(tmp_path, documents):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", 200)
        found = stored(tmp_path, documents)
    expected = [as_read(document) for document in documents]
    assert [found[i] for i in range(len(documents))] == expected
    blocks = [found.block(i) for i in range(found.n_blocks)]
    assert [d for _, block in blocks for d in block] == expected
    assert [found.frame(i).n_docs for i in range(found.n_blocks)] == [len(b) for _, b in blocks]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("a\ud800b", "a?b"),
        (2**63, 2**63),
        (2**64, "18446744073709551616"),
        (-(2**63) - 1, "-9223372036854775809"),
        pytest.param(10**5000, hex(10**5000), id="huge"),
        (float("nan"), None),
        (float("inf"), None),
        (1.5, 1.5),
        (np.float64(1.5), 1.5),
        (np.float32("inf"), None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        ((1, "x"), [1, "x"]),
        ({1: {2: "\ud800"}}, {"1": {"2": "?"}}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (datetime.date(2024, 5, 6), "2024-05-06"),
        (complex(1, 2), "(1+2j)"),
    ],
)
def test_values_that_json_does_not_have(tmp_path, value, expected):
    assert plain(value) == expected
    assert stored(tmp_path, [Document("x", fields={"f": value})])[0].fields == {"f": expected}


def test_deep_nesting_is_cut_off(tmp_path):
    value = []
    for _ in range(900):
        value = [value]
    read = stored(tmp_path, [Document("x", fields={"f": value})])[0].fields["f"]
    depth = 0
    while isinstance(read, list):
        read, depth = read[0], depth + 1
    assert read == "…"
    assert 90 < depth <= 100


def test_ids_and_texts_with_every_kind_of_separator(tmp_path):
    documents = [
        Document(f"a{c}b", f"{c}", f"x{c}y", place=c) for c in '\n\r\x00\u2028\u0085/ \t\\"'
    ]
    found = stored(tmp_path, documents)
    assert [found[i] for i in range(len(documents))] == documents


def test_the_file_is_a_plain_series_of_frames(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 50)
    documents = [Document(str(i), text="some text") for i in range(20)]
    assert stored(tmp_path, documents).n_blocks > 5
    with (tmp_path / FILE).open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        lines = reader.read().splitlines()
    assert [orjson.loads(line)["id"] for line in lines] == [d.id for d in documents]


def test_what_is_written_can_be_read_before_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 100)
    documents = [Document(str(i), text="word " * 10) for i in range(9)]
    writer = DocumentsWriter(tmp_path / FILE)
    writer.append(compress(documents[:5]))
    writer.append(compress(documents[5:]))
    assert [writer.read(i) for i in (8, 0, 4, 5)] == [documents[i] for i in (8, 0, 4, 5)]
    writer.abandon()
    writer.abandon()


def test_no_documents(tmp_path):
    assert stored(tmp_path, []).n_blocks == 0


def test_several_threads_and_more_blocks_than_are_cached(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(module, "_CACHED_BYTES", 300)
    documents = [Document(str(i), text=f"text {i}") for i in range(200)]
    found = stored(tmp_path, documents)
    with ThreadPoolExecutor(4) as pool:
        order = [i * 37 % 200 for i in range(1000)]
        assert list(pool.map(found.__getitem__, order)) == [documents[i] for i in order]
    assert found._cached_bytes == sum(map(len, found._cache.values())) <= 300
    assert 1 < len(found._cache) < 10


def test_every_flipped_bit_is_found_or_harmless(tmp_path):
    documents = [Document("a", "t", "some text " * 26), Document("b", fields={"n": 1})]
    blocks = written(tmp_path, documents)
    path = tmp_path / FILE
    whole = path.read_bytes()
    n_found = 0
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.unlink()
        path.write_bytes(data)
        found = Documents(path, blocks)
        try:
            assert [found[0], found[1]] == documents
        except DamagedError as error:
            n_found += FILE in str(error)
    assert n_found > 7 * len(whole)


def open_files(folder):
    """The files of a folder that this process holds open."""
    found = []
    for handle in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{handle}")
        except FileNotFoundError:
            continue
        if target.startswith(str(folder)):
            found.append(target)
    return found


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")


@needs_proc
def test_a_few_descriptors_serve_many_files(tmp_path):
    documents = [Document(str(i), text=f"text {i}") for i in range(20)]
    readers = []
    for i, document in enumerate(documents):
        (tmp_path / str(i)).mkdir()
        readers.append(stored(tmp_path / str(i), [document]))
    assert [reader[0] for reader in readers] == documents
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: readers[i % 20].block(0)[1][0], range(400)))
    assert found == [documents[i % 20] for i in range(400)]
    assert 0 < len(open_files(tmp_path)) <= module._MOST_OPEN
    readers.clear()
    gc.collect()
    assert open_files(tmp_path) == []


def test_what_cannot_be_read_names_the_file(tmp_path, monkeypatch):
    found = stored(tmp_path, [Document("a")])

    def broken(*arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("os.pread", broken)
    with pytest.raises(StorageError, match=rf"{FILE}: cannot be read \(Input/output error"):
        found[0]
    monkeypatch.undo()
    assert found[0] == Document("a")
    gone = Documents(tmp_path / "gone", np.array([[0, 0], [1, 9]], np.uint64))
    with pytest.raises(DamagedError, match="gone: missing"):
        gone[0]


def test_a_file_is_forgotten_while_descriptors_are_looked_up(tmp_path):
    """Garbage may be collected anywhere, also by the thread that holds the lock."""
    found = stored(tmp_path, [Document("a")])
    assert found[0].id == "a"
    with module._DESCRIPTORS._lock:
        del found
        gc.collect()
    assert tmp_path / FILE not in module._DESCRIPTORS._open


def test_a_writer_that_is_given_up_on_a_full_disk(tmp_path):
    writer = DocumentsWriter(tmp_path / FILE)
    writer.append(compress([Document("a")]))
    os.close(writer._file.fileno())
    writer.abandon()
    assert writer._file.closed


def test_a_child_does_not_wait_for_what_another_thread_held():
    """Whoever held the lock when a process was forked is not there in the child."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with module._DESCRIPTORS._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        os._exit(module._DESCRIPTORS._lock.is_taken())
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

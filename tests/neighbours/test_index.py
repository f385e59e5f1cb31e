"""Vectors in, neighbours out: numbers, parts, masks, files."""

import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from drawn import NAMES, families, is_mapped, nearest_of, recall, reference, same, simplex
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.pack import open_pack, write_pack
from likewise.errors import DamagedError, FormatError, LikewiseError, StorageError, UsageError
from likewise.neighbours import index
from likewise.neighbours.index import Neighbours, build_neighbours
from likewise.neighbours.metrics import METRICS
from likewise.neighbours.scan import Scan
from likewise.neighbours.store import open_neighbours


def whole_numbers(n, dimension=3, most=2, seed=0):
    """Vectors whose distances single precision holds without rounding; with many duplicates."""
    random = np.random.default_rng(seed)
    return random.integers(-most, most + 1, (n, dimension)).astype(np.float32)


def scanned(rows, metric="hellinger"):
    return build_neighbours(rows, metric=metric, method="scan")


@pytest.mark.parametrize("metric", NAMES)
def test_a_scan_is_exact_with_every_metric(metric):
    drawn = families(540) if metric != "kl" else simplex(540, 60, 3.0)
    rows, queries = drawn[:500], drawn[500:]
    neighbours = scanned(rows, metric)
    assert neighbours.exact
    distances = reference(metric, rows, queries)
    for k in (1, 10, 500, 700):
        nearest = neighbours.nearest(queries, k)
        assert recall(nearest.numbers, distances, slack=1e-6) == 1
        assert (nearest.numbers[:, 500:] == -1).all()
        wanted = np.sort(distances, axis=1)[:, :k]
        np.testing.assert_allclose(nearest.distances[:, :500], wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("metric", NAMES)
def test_ties_go_by_number(metric):
    """Vectors of a few kinds: all of a kind are as near."""
    kinds = simplex(12, 20, 0.5)
    which = np.random.default_rng(0).integers(0, 12, 300)
    neighbours = scanned(kinds[which], metric)
    queries = simplex(9, 20, 0.5, seed=1)
    distances = reference(metric, kinds, queries)[:, which]
    for k in (1, 7, 60, 300):
        assert np.array_equal(neighbours.nearest(queries, k).numbers, nearest_of(distances, k))


@given(
    st.sampled_from(["euclidean", "inner"]),
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.integers(1, 40),
    st.integers(0, 1000),
)
def test_however_it_grew_a_scan_gives_the_same(metric, sizes, k, seed):
    rows, queries = whole_numbers(sum(sizes), seed=seed), whole_numbers(4, seed=seed + 1)
    grown = scanned(rows[:0], metric)
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        grown.add(rows[end - size : end])
    wanted = nearest_of(reference(metric, rows, queries), k)
    found = grown.nearest(queries, k).numbers
    assert np.array_equal(found[:, : wanted.shape[1]], wanted)
    within = grown.within(queries, 3.0)
    distances = reference(metric, rows, queries)
    ordered = nearest_of(distances, len(rows))
    near = np.take_along_axis(distances, ordered, axis=1) <= 3
    assert np.array_equal(within.numbers, ordered[near])


def test_vectors_longer_than_all_before_are_found_by_inner_product():
    random = np.random.default_rng(0)
    rows = random.standard_normal((400, 10)).astype(np.float32)
    rows *= np.repeat([0.1, 1, 5, 100], 100)[:, None]
    queries = random.standard_normal((20, 10)).astype(np.float32)
    for method in ("scan", "tree"):
        grown = build_neighbours(rows[:0], metric="inner", method=method)
        for start in range(0, 400, 50):
            grown.add(rows[start : start + 50])
        assert grown.exact
        distances = reference("inner", rows, queries)
        nearest = grown.nearest(queries, 10)
        assert np.array_equal(nearest.numbers, nearest_of(distances, 10))
        radius = -30.0
        assert len(grown.within(queries, radius).numbers) == (distances <= radius).sum()


def test_parts_grow_as_the_logarithm_of_calls():
    rows = families(300)
    neighbours = scanned(rows[:0])
    for row in rows:
        neighbours.add(row)
        assert len(neighbours.parts) <= neighbours.n_slots.bit_length()
        firsts = [part.first for part in neighbours.parts]
        sizes = [len(part.points) for part in neighbours.parts]
        assert firsts == [0, *np.cumsum(sizes)[:-1].tolist()]
        assert sizes == sorted(sizes, reverse=True)
    assert sizes == [256, 32, 8, 4]


def test_a_large_addition_is_put_together_with_all_before():
    rows = families(300)
    neighbours = scanned(rows[:100])
    neighbours.add(rows[100:130])
    assert [len(part.points) for part in neighbours.parts] == [100, 30]
    neighbours.add(rows[130:])
    assert [len(part.points) for part in neighbours.parts] == [300]


def test_what_cannot_be_added_changes_nothing():
    rows = families(100)
    neighbours = scanned(rows)
    before = neighbours.nearest(rows, 3)
    for wrong in (2 * rows, rows[:, :9], [["a"] * 60], -rows):
        with pytest.raises(UsageError):
            neighbours.add(wrong)
    assert neighbours.n_slots == 100
    assert same(neighbours.nearest(rows, 3), before)


def test_counts_and_what_is_printed():
    rows = families(1500)
    rows[:5] = 0
    neighbours = scanned(rows)
    neighbours.delete([7, 7, 9, 2])
    assert len(neighbours) == 1493
    assert neighbours.n_slots == 1500
    assert repr(neighbours) == "<Neighbours hellinger by scan: 1,493 vectors>"


@pytest.mark.parametrize(
    "numbers",
    [[100], [-1], 100, [3, 1 << 40], np.array([200], np.uint64)],
)
def test_numbers_that_no_vector_has(numbers):
    neighbours = scanned(families(100))
    with pytest.raises(UsageError, match="no vector has the number"):
        neighbours.delete(numbers)
    with pytest.raises(UsageError, match="no vector has the number"):
        neighbours.points(numbers)
    with pytest.raises(UsageError, match="no vector has the number"):
        neighbours.nearest_to(numbers)
    assert len(neighbours) == 100


@pytest.mark.parametrize(
    "numbers", [[1.5], np.ones(100, np.bool_), "3", ["3"], [[1, 2]], None, [True]]
)
def test_what_are_no_numbers_of_vectors(numbers):
    """A mask is no list of numbers: it would delete vectors 0 and 1."""
    neighbours = scanned(families(100))
    with pytest.raises(UsageError, match="vectors are named by whole numbers"):
        neighbours.delete(numbers)
    assert len(neighbours) == 100


def test_nothing_and_one_are_deleted():
    neighbours = scanned(families(100))
    neighbours.delete([])
    neighbours.delete(np.empty(0, np.int32))
    assert len(neighbours) == 100
    neighbours.delete(3)
    neighbours.delete(np.uint8(4))
    assert len(neighbours) == 98


@pytest.mark.parametrize("metric", NAMES)
def test_neighbours_of_vectors_of_the_index(metric):
    rows = families(300) if metric != "kl" else simplex(300, 60, 3.0)
    neighbours = scanned(rows[:200], metric)
    neighbours.add(rows[200:])
    numbers = np.array([250, 3, 3, 199])
    found = neighbours.nearest_to(numbers, 8)
    distances = reference(metric, rows, rows[numbers])
    distances[np.arange(4), numbers] = np.inf
    assert recall(found.numbers, distances, slack=1e-6) == 1
    assert not (found.numbers == numbers[:, None]).any()
    asked = neighbours.nearest(rows[numbers], 9)
    assert all(
        set(a) - {n} == set(b)
        for a, b, n in zip(
            asked.numbers.tolist(), found.numbers.tolist(), numbers.tolist(), strict=True
        )
        if n in a
    )
    assert neighbours.nearest_to([], 8).numbers.shape == (0, 8)
    with pytest.raises(UsageError, match="at least 1, not 0"):
        neighbours.nearest_to(numbers, 0)


def test_neighbours_of_one_of_many_that_are_the_same():
    neighbours = scanned(np.repeat(families(2), 50, axis=0))
    found = neighbours.nearest_to([0, 49, 50, 99], 5).numbers
    assert found.tolist() == [
        [1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4],
        [51, 52, 53, 54, 55],
        [50, 51, 52, 53, 54],
    ]


def test_neighbours_of_what_was_deleted_and_of_zeros():
    rows = families(100)
    rows[5] = 0
    neighbours = scanned(rows)
    neighbours.delete(7)
    found = neighbours.nearest_to([5, 7, 8], 99).numbers
    assert (found[0] == -1).all()
    assert set(found[1].tolist()) == set(range(100)) - {5, 7} | {-1}
    assert set(found[2].tolist()) == set(range(100)) - {5, 7, 8} | {-1}


@pytest.mark.parametrize("metric", NAMES)
def test_points_are_as_a_query_has_them(metric):
    rows = families(30)
    neighbours = scanned(rows[:20], metric)
    neighbours.add(rows[20:])
    assert same([neighbours.points([25, 3])], [neighbours.asked(rows[[25, 3]], None)[0]])


@pytest.mark.parametrize("metric", ["hellinger", "inner", "js"])
def test_all_that_is_near_may_be_barred(metric, monkeypatch):
    """More than can be scanned anyway is left, and none of it is near."""
    monkeypatch.setattr(index, "_SCANNED_ANYWAY", 20)
    rows = families(900)
    queries = rows[:6]
    for method in ("scan", "tree", "tree(leaves=5)"):
        neighbours = build_neighbours(rows, metric=metric, method=method)
        distances = reference(metric, rows, queries)
        for i in range(len(queries)):
            allowed = np.ones(900, np.bool_)
            allowed[np.argsort(distances[i])[:450]] = False
            nearest = neighbours.nearest(queries, 10, allowed=allowed)
            left = np.where(allowed, distances, np.inf)
            alone = neighbours.nearest(queries[i], 10, allowed=allowed)
            assert same(alone, [part[i : i + 1] for part in nearest])
            assert allowed[nearest.numbers[nearest.numbers >= 0]].all()
            if neighbours.exact:
                assert recall(nearest.numbers, left) == 1


def test_a_mask_is_by_number_and_complete():
    rows = families(100)
    neighbours = scanned(rows)
    for mask in (np.ones(99, np.bool_), np.ones((100, 1), np.bool_), True):
        with pytest.raises(UsageError, match="where the index has 100 vectors"):
            neighbours.nearest(rows, allowed=mask)
    allowed = [i == 17 for i in range(100)]
    assert (neighbours.nearest(rows, 1, allowed=allowed).numbers == 17).all()


def test_a_radius_of_any_kind():
    rows = families(100)
    neighbours = scanned(rows)
    itself = neighbours.within(rows, 0.0)
    assert itself.numbers.tolist() == list(range(100))
    assert neighbours.within(rows, -1.0).numbers.size == 0
    assert neighbours.within(rows, np.inf).numbers.size == 100 * 100
    assert neighbours.within(rows, 2.001).numbers.size == 100 * 100
    # A distance that was given is a radius that finds it.
    nearest = neighbours.nearest(rows, 5)
    for i, distance in enumerate(nearest.distances[:, -1]):
        assert nearest.numbers[i, -1] in neighbours.within(rows[i], float(distance)).numbers
    scores = scanned(rows, "inner")
    assert scores.within(rows[:1], -0.01).numbers.size == (rows @ rows[0] >= 0.01).sum()


def test_what_is_there_and_is_no_index_stays(tmp_path):
    (tmp_path / "file").write_text("something")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("something")
    (tmp_path / "nothing-in-it").mkdir()
    with write_pack(tmp_path / "pack") as pack:
        pack.put("gone", np.zeros(3, np.bool_))
    neighbours = scanned(families(9))
    for name, what in (
        ("file", "another kind of file"),
        ("empty", "another kind of file"),
        ("folder", "a folder"),
        ("nothing-in-it", "a folder"),
        ("pack", "another kind of file"),
    ):
        for use in (neighbours.save, open_neighbours):
            with pytest.raises(UsageError, match=f"{name} is no index of neighbours.*{what}"):
                use(tmp_path / name)
    assert (tmp_path / "folder" / "notes.txt").read_text() == "something"
    assert (tmp_path / "file").read_text() == "something"
    with pytest.raises(UsageError, match="is no index of neighbours: there is nothing"):
        open_neighbours(tmp_path / "nothing")
    with pytest.raises(UsageError, match="is no index of neighbours: there is nothing"):
        open_neighbours(tmp_path / "file" / "index")
    with pytest.raises(StorageError):
        neighbours.save(tmp_path / "file" / "index")


def test_another_archive_is_not_replaced(tmp_path):
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        archive.writestr("notes.txt", "something")
    before = (tmp_path / "archive").read_bytes()
    with pytest.raises(UsageError, match=r"name another file, or remove what is there"):
        scanned(families(9)).save(tmp_path / "archive")
    with pytest.raises(LikewiseError):
        open_neighbours(tmp_path / "archive")
    assert (tmp_path / "archive").read_bytes() == before


def test_a_folder_of_the_first_format_is_to_be_built_again(tmp_path):
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "neighbours.json").write_bytes(b"{}")
    with pytest.raises(FormatError, match="an index of format 1, which was a folder; build it"):
        open_neighbours(tmp_path / "index")
    with pytest.raises(UsageError, match="an index of format 1, which was a folder"):
        scanned(families(9)).save(tmp_path / "index")


def test_points_are_mapped_and_may_be_saved_again_where_they_are(tmp_path):
    rows = families(40)
    scanned(rows).save(tmp_path / "deep" / "folder" / "index")
    opened = open_neighbours(str(tmp_path / "deep" / "folder" / "index"))
    assert is_mapped(opened.parts[0].points)
    opened.delete(3)
    opened.save(tmp_path / "deep" / "folder" / "index")
    again = open_neighbours(tmp_path / "deep" / "folder" / "index")
    assert len(again) == 39
    assert same(again.nearest(rows), opened.nearest(rows))
    assert [path.name for path in (tmp_path / "deep" / "folder").iterdir()] == ["index"]


@pytest.fixture
def path(tmp_path):
    neighbours = scanned(families(100))
    neighbours.add(families(20, seed=1))
    neighbours.save(tmp_path / "index")
    return tmp_path / "index"


def test_any_numpy_reads_the_file(path):
    with np.load(path) as arrays:
        assert arrays["0.points"].shape == (100, 60)
        assert arrays["1.points"].shape == (20, 60)
        assert not arrays["gone"].any()


def test_a_save_that_fails_leaves_what_was_there(path, monkeypatch):
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    for name in ("likewise.collection.pack.Packer.put", "likewise.collection.pack.sync"):
        with monkeypatch.context() as context:
            context.setattr(name, full)
            with pytest.raises(StorageError, match="the disk is full"):
                scanned(families(9)).save(path)
        assert path.read_bytes() == before
        assert [file.name for file in path.parent.iterdir()] == ["index"]


KILLED = """
import os, sys
import numpy as np
from likewise.collection.pack import Packer
from likewise.neighbours.index import build_neighbours
close = Packer.close
def killed(self):
    if sys.argv[2] == "after":
        close(self)
    os._exit(9)
Packer.close = killed
build_neighbours(np.eye(4), method="scan").save(sys.argv[1])
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_it_is_replaced_loses_nothing(path, when):
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, path, when], check=False, env=os.environ)
    assert done.returncode == 9
    assert path.read_bytes() == before
    scanned(families(30)).save(path)
    assert len(open_neighbours(path)) == 30


def rewritten(path, change, drop=()):
    """Write the same arrays with another description."""
    old = open_pack(path)
    about = {name: value for name, value in {**old.meta, **change}.items() if name not in drop}
    with write_pack(path) as pack:
        for name in old.names:
            pack.put(name, old[name])
        pack.note(**about)


@pytest.mark.parametrize("version", [1, 99, None])
def test_another_format_is_said_to_be_one(path, version):
    rewritten(path, {"version": version})
    with pytest.raises(FormatError, match=f"an index of format {version}; build it again"):
        open_neighbours(path)
    scanned(families(9)).save(path)
    assert len(open_neighbours(path)) == 9


@pytest.mark.parametrize(
    "change",
    [
        {"dimensions": 61},
        {"dimensions": 30},
        {"dimensions": "many"},
        {"parts": [100]},
        {"parts": [20, 100]},
        {"parts": [100, 20, 5]},
        {"parts": [60, 60]},
        {"parts": 3},
        {"metric": "manhattan"},
        {"metric": "inner"},
        {"method": "annoy"},
        {"method": "lists"},
        {"method": "tree"},
        {"method": 3},
        {"format": "another"},
    ],
    ids=str,
)
def test_a_description_that_does_not_fit_is_noticed(path, change):
    rewritten(path, change)
    with pytest.raises(LikewiseError):
        open_neighbours(path)


@pytest.mark.parametrize("key", ["metric", "method", "dimensions", "seed", "parts"])
def test_a_description_that_lacks_something_is_damage(path, key):
    rewritten(path, {}, drop=[key])
    with pytest.raises(DamagedError, match="build the index again"):
        open_neighbours(path)


def test_a_file_that_was_cut_off_is_damage(path):
    whole = path.read_bytes()
    for end in (
        *range(2, 100, 7),
        *range(200, len(whole), 511),
        *range(len(whole) - 99, len(whole)),
    ):
        path.write_bytes(whole[:end])
        with pytest.raises(DamagedError, match="cut off"):
            open_neighbours(path)


def test_a_byte_altered_anywhere_crashes_nothing(path):
    """The table of contents and every array but points are checked; what nothing reads is not."""
    rows, whole, pack = families(5), path.read_bytes(), open_pack(path)
    spans = {
        name: range(entry[2], entry[2] + pack.n_bytes(name)) for name, entry in pack._arrays.items()
    }
    toc = range(whole.index(b'{"meta"'), whole.index(b"PK\x01\x02"))
    for at in range(len(whole)):
        if at in spans["0.points"] or at in spans["1.points"]:
            continue
        content = bytearray(whole)
        content[at] ^= 0xFF
        path.write_bytes(content)
        try:
            numbers = open_neighbours(path).nearest(rows, 3).numbers
        except LikewiseError:
            continue
        assert at not in toc
        assert at not in spans["gone"]
        assert ((numbers >= -1) & (numbers < 120)).all()


def test_an_index_may_be_made_empty_and_filled():
    neighbours = Neighbours(METRICS["cosine"], Scan(), dimensions=4)
    assert neighbours.exact
    assert len(neighbours) == neighbours.n_bytes == 0
    assert neighbours.add([1, 0, 0, 2]).tolist() == [0]
    assert neighbours.add([[1, 0, 0, 1], [0, 1, 0, 0]]).tolist() == [1, 2]
    nearest = neighbours.nearest([2, 0, 0, 4], 3)
    assert nearest.numbers.tolist() == [[0, 1, 2]]
    assert nearest.distances[0].tolist() == pytest.approx([0, 1 - 3 / 10**0.5, 1], abs=1e-6)


def test_what_cannot_be_built():
    with pytest.raises(UsageError, match="unknown metric"):
        build_neighbours(families(3), metric="manhattan")
    with pytest.raises(UsageError, match="unknown method"):
        build_neighbours(families(3), method="annoy")
    with pytest.raises(UsageError, match="vectors must be rows of numbers"):
        build_neighbours([])
    with pytest.raises(UsageError, match="not a distribution"):
        build_neighbours(np.ones((3, 4)))
    assert len(build_neighbours(np.empty((0, 7)))) == 0

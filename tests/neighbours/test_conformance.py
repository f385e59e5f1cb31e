"""What every method of searching must do, with every metric that it takes."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from drawn import altered, families, is_mapped, lists_of, recall, reference, same

from likewise import notation
from likewise.collection.pack import open_pack
from likewise.errors import DamagedError, UsageError
from likewise.neighbours import index
from likewise.neighbours.index import METHODS, build_neighbours, read_method
from likewise.neighbours.metrics import METRICS, embed
from likewise.neighbours.scan import Scanner
from likewise.neighbours.store import open_neighbours

# Small enough for a thousand vectors, so that each leaves something out. The radius of lsh is
# chosen by the data, below.
WRITTEN = {
    "scan": "scan",
    "lsh": "lsh",
    "codes": "codes(tables=40,length=5,limit=30)",
    "tree": "tree(leaf=10)",
    "lists": "lists(recall=0.95)",
    "ivf": "ivf(lists=20,probes=8,refine=8)",
    "hnsw": "hnsw(links=8,construction=60)",
}
NAMES = ("hellinger", "cosine", "js", "inner", "euclidean")
# Lists are for distributions, which vectors of the others are not.
CASES = [
    (method, metric)
    for method in WRITTEN
    for metric in NAMES
    if not (method == "lists" and metric in ("inner", "euclidean"))
]
N, K = 1050, 10

# With inner products, points differ most in the number that lifts them to the same length, which
# says nothing of a query.
FLOORS = {"inner": 0.6}


def over(*metrics, written="{0}-{1}"):
    """Run a test over all methods, with some metrics."""
    missing = pytest.mark.skipif(not find_spec("faiss"), reason="needs faiss")
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(
                case,
                id=written.format(*case),
                marks=[missing] if case[0] in ("ivf", "hnsw") else [],
            )
            for case in CASES
            if case[1] in metrics
        ],
    )


every_case = over(*NAMES)
# Methods see points, and those of js and cosine are of the same kind as Hellinger's.
every_space = over("hellinger", "inner", "euclidean")
every_method = over("hellinger", written="{0}")


@cache
def vectors(metric):
    """Vectors and queries of the kind that a metric is for."""
    drawn = families(N + 40)
    random = np.random.default_rng(1)
    if metric == "cosine":
        drawn = drawn * random.uniform(0.1, 10, (len(drawn), 1)).astype(np.float32)
    if metric == "inner":
        drawn = drawn * random.uniform(0.5, 2, (len(drawn), 1)).astype(np.float32)
    if metric == "euclidean":
        drawn = drawn + random.normal(0, 0.01, drawn.shape).astype(np.float32)
    return drawn[:N], drawn[N:]


@cache
def truth(metric):
    return reference(metric, *vectors(metric))


@cache
def method_of(case):
    """A method as it is written; lsh looks as far as the tenth neighbours mostly are."""
    method, metric = case
    if method != "lsh":
        return WRITTEN[method]
    rows, queries = vectors(metric)
    points, asked = embed(METRICS[metric], rows), embed(METRICS[metric], queries, query=True)
    squares = np.sort(reference("euclidean", points, asked), axis=1)[:, K - 1]
    return f"lsh(radius={np.sqrt(np.quantile(squares, 0.8)):.3f},length=8)"


def floor(case):
    """How many of the nearest are found at least."""
    return 1.0 if built(case).exact else FLOORS.get(case[1], 0.85)


def make(case, rows=None, **options):
    given = vectors(case[1])[0] if rows is None else rows
    return build_neighbours(given, metric=case[1], method=method_of(case), **options)


@cache
def built(case):
    """An index that no test changes."""
    return make(case)


@cache
def saved(case, tmp):
    path = tmp / "-".join(case)
    built(case).save(path)
    return path


@pytest.fixture(scope="module")
def path_of(tmp_path_factory):
    tmp = tmp_path_factory.mktemp("saved")
    return lambda case: saved(case, tmp)


def found_share(neighbours, metric, **options):
    _, queries = vectors(metric)
    distances = truth(metric)
    if "allowed" in options:
        distances = np.where(options["allowed"], distances, np.inf)
    return recall(neighbours.nearest(queries, K, **options).numbers, distances)


def assert_exact_distances(nearest, distances):
    """Whatever is found: its distance, by distance and then number, each once."""
    for numbers, reported, wanted in zip(*nearest, distances, strict=True):
        n = int((numbers >= 0).sum())
        assert (numbers[n:] == -1).all()
        assert np.isinf(reported[n:]).all()
        np.testing.assert_allclose(reported[:n], wanted[numbers[:n]], rtol=2e-5, atol=2e-6)
        assert np.array_equal(np.lexsort((numbers[:n], reported[:n])), np.arange(n))
        assert len(set(numbers[:n].tolist())) == n


def test_no_method_is_left_out():
    assert set(WRITTEN) == set(METHODS) - {"auto"}


@every_case
def test_the_nearest_are_found_with_their_distances(case):
    _, queries = vectors(case[1])
    nearest = built(case).nearest(queries, K)
    assert nearest.numbers.shape == nearest.distances.shape == (len(queries), K)
    assert_exact_distances(nearest, truth(case[1]))
    share = recall(nearest.numbers, truth(case[1]))
    assert share >= floor(case)


@every_case
def test_exact_methods_say_so_and_give_the_bits_of_a_scan(case):
    _, queries = vectors(case[1])
    tree = case[0] == "tree" and case[1] != "js"
    assert built(case).exact == (case[0] == "scan" or tree)
    if built(case).exact:
        scanned = built(("scan", case[1]))
        assert same(built(case).nearest(queries, K), scanned.nearest(queries, K))
        radius = float(np.median(truth(case[1])[:, :50].min(axis=1)))
        assert same(built(case).within(queries, radius), scanned.within(queries, radius))


@every_space
def test_grown_by_and_by_it_finds_as_much(case):
    rows, queries = vectors(case[1])
    cuts = [0, 500, 501, 520, 700, 1000, 1003, N]
    grown = make(case, rows[:500])
    for start, end in pairwise(cuts[1:]):
        assert grown.add(rows[start:end]).tolist() == list(range(start, end))
    assert len(grown) == grown.n_slots == N
    assert len(grown.parts) > 1
    if built(case).exact:
        assert same(grown.nearest(queries, K), built(case).nearest(queries, K))
    else:
        share = found_share(built(case), case[1])
        assert found_share(grown, case[1]) >= share - 0.05
    assert_exact_distances(grown.nearest(queries, K), truth(case[1]))


@every_space
def test_grown_from_nothing(case):
    rows, queries = vectors(case[1])
    grown = make(case, rows[:0])
    assert (grown.nearest(queries, 3).numbers == -1).all()
    grown.add(rows[0])
    assert (grown.nearest(queries, 3).numbers[:, 1:] == -1).all()
    grown.add(rows[1:400])
    wanted = truth(case[1])[:, :400]
    assert recall(grown.nearest(queries, K).numbers, wanted) >= floor(case) - 0.05


@every_space
def test_what_is_deleted_never_comes_back(case, tmp_path, monkeypatch):
    monkeypatch.setattr(index, "_SCANNED_ANYWAY", 0)
    rows, queries = vectors(case[1])
    rows, distances = rows[:400], truth(case[1])[:, :400]
    neighbours = make(case, rows)
    gone = np.unique(neighbours.nearest(queries[:20], K).numbers)
    neighbours.delete(gone)
    assert len(neighbours) == 400 - len(gone)
    radius = float(np.sort(distances, axis=1)[:, 40].max())

    def assert_gone(neighbours):
        assert not np.isin(neighbours.nearest(queries, 2 * K).numbers, gone).any()
        assert not np.isin(neighbours.within(queries[:20], radius).numbers, gone).any()
        allowed = np.ones(neighbours.n_slots, np.bool_)
        assert not np.isin(neighbours.nearest(queries, K, allowed=allowed).numbers, gone).any()

    assert_gone(neighbours)
    left = np.where(np.isin(np.arange(400), gone), np.inf, distances)
    share = recall(neighbours.nearest(queries, K).numbers, left)
    assert share >= (1 if neighbours.exact else floor(case) - 0.15)
    neighbours.save(tmp_path / "index")
    opened = open_neighbours(tmp_path / "index")
    assert_gone(opened)
    assert same(opened.nearest(queries, K), neighbours.nearest(queries, K))
    # Once more than the last part has, so that parts with deleted vectors are put together.
    opened.add(rows)
    assert len(opened.parts) == 1
    assert_gone(opened)


@every_case
@pytest.mark.parametrize("share", [0.01, 0.6])
def test_only_what_is_allowed_is_found(case, share, monkeypatch):
    _, queries = vectors(case[1])
    allowed = np.random.default_rng(0).random(N) < share
    least = floor(case) if built(case).exact else floor(case) - 0.05
    for scanned in (5000, 0):
        monkeypatch.setattr(index, "_SCANNED_ANYWAY", scanned)
        nearest = built(case).nearest(queries, K, allowed=allowed)
        assert allowed[nearest.numbers[nearest.numbers >= 0]].all()
        assert found_share(built(case), case[1], allowed=allowed) >= (1 if scanned else least)
        radius = float(np.median(truth(case[1])))
        within = built(case).within(queries[:10], radius, allowed=allowed)
        assert allowed[within.numbers].all()
    none = built(case).nearest(queries, K, allowed=np.zeros(N, np.bool_))
    assert (none.numbers == -1).all()


@every_case
def test_what_is_allowed_may_be_far(case, monkeypatch):
    """A filter goes by subject as queries do: often none of the nearest is allowed."""
    monkeypatch.setattr(index, "_SCANNED_ANYWAY", 0)
    _, queries = vectors(case[1])
    for i in range(5):
        allowed = np.ones(N, np.bool_)
        allowed[np.argsort(truth(case[1])[i])[: N // 2]] = False
        nearest = built(case).nearest(queries[i], K, allowed=allowed)
        left = np.where(allowed, truth(case[1])[i : i + 1], np.inf)
        if built(case).exact:
            assert recall(nearest.numbers, left) == 1
        # Buckets have no more than they have; others look further.
        if case[0] not in ("lsh", "codes", "lists", "ivf"):
            assert (nearest.numbers >= 0).all()


@every_space
def test_saved_and_opened_it_gives_the_same_bits(case, path_of):
    _, queries = vectors(case[1])
    before = built(case)
    opened = open_neighbours(path_of(case))
    assert repr(opened) == repr(before)
    assert all(is_mapped(part.points) for part in opened.parts)
    assert same(opened.nearest(queries, K), before.nearest(queries, K))
    radius = float(np.sort(truth(case[1]), axis=1)[:, 5].mean())
    assert same(opened.within(queries, radius), before.within(queries, radius))
    assert opened.n_bytes == before.n_bytes


@every_space
def test_opened_it_grows_as_it_would_have(case, path_of):
    rows, queries = vectors(case[1])
    opened, kept = open_neighbours(path_of(case)), make(case)
    for neighbours in (opened, kept):
        neighbours.add(rows[:300] if case[1] != "inner" else 3 * rows[:300])
        assert len(neighbours.parts) == 2
        neighbours.delete([4, N + 7])
    assert same(opened.nearest(queries, K), kept.nearest(queries, K))


@every_method
def test_saved_over_itself_and_over_another(case, tmp_path):
    rows, queries = vectors(case[1])
    make(case, rows[:90]).save(tmp_path / "index")
    first = open_neighbours(tmp_path / "index")
    first.add(rows[90:120])
    first.save(tmp_path / "index")
    assert len(first.nearest(queries, K).numbers) == len(queries)
    second = open_neighbours(tmp_path / "index")
    assert same(second.nearest(queries, K), first.nearest(queries, K))
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@every_method
def test_damage_of_structure_is_noticed(case, path_of, tmp_path):
    whole, path = path_of(case).read_bytes(), tmp_path / "index"
    names = open_pack(path_of(case)).names
    assert len(names) > 2 or case[0] == "scan"
    for name in names:
        if name.endswith(".points"):
            continue
        for at in (0.0, 0.6, 1.0):
            path.write_bytes(whole)
            altered(path, name, at=at)
            with pytest.raises(DamagedError, match=rf"{name} was altered"):
                open_neighbours(path)
    for end in (4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(DamagedError, match="cut off"):
            open_neighbours(path)


@every_space
@pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered:RuntimeWarning")
def test_damage_of_points_crashes_nothing(case, path_of, tmp_path):
    """Their checksums are not looked at: what is found is found by what the numbers are now."""
    _, queries = vectors(case[1])
    path = tmp_path / "index"
    random = np.random.default_rng(0)
    for bits in (0x01, 0xFF, 0x7F):
        content = bytearray(path_of(case).read_bytes())
        start = open_pack(path_of(case))._arrays["0.points"][2]
        size = open_pack(path_of(case)).n_bytes("0.points")
        for at in random.integers(0, size, 300):
            content[start + at] ^= bits
        for at in random.integers(0, size // 4, 20):  # not a number, and infinite
            content[start + 4 * at : start + 4 * at + 4] = np.float32(np.nan).tobytes()
            content[start + 4 * at + 4 : start + 4 * at + 8] = np.float32(-np.inf).tobytes()
        path.write_bytes(content[: len(path_of(case).read_bytes())])
        opened = open_neighbours(path)
        numbers = opened.nearest(queries, K).numbers
        assert ((numbers >= -1) & (numbers < N)).all()
        within = opened.within(queries[:5], float(np.median(truth(case[1])))).numbers
        assert ((within >= 0) & (within < N)).all()


@every_space
def test_one_query_is_answered_as_many_are(case):
    _, queries = vectors(case[1])
    together = built(case).nearest(queries, K)
    radius = float(np.sort(truth(case[1]), axis=1)[:, 5].mean())
    within = built(case).within(queries, radius)
    assert same(built(case).nearest(queries[::-1], K), [part[::-1] for part in together])
    for i in range(0, len(queries), 5):
        alone = built(case).nearest(queries[i], K)
        assert same(alone, [part[i : i + 1] for part in together])
        mine = slice(within.bounds[i], within.bounds[i + 1])
        assert same(built(case).within(queries[i], radius)[1:], [p[mine] for p in within[1:]])


@every_space
def test_any_number_of_threads_gives_the_same_bits(case, monkeypatch):
    monkeypatch.setattr(index, "_QUERIES_AT_ONCE", 7)
    _, queries = vectors(case[1])
    radius = float(np.sort(truth(case[1]), axis=1)[:, 5].mean())
    nearest, within = built(case).nearest(queries, K), built(case).within(queries, radius)
    assert same(built(case).nearest(queries, K, threads=4), nearest)
    assert same(built(case).within(queries, radius, threads=4), within)
    with ThreadPoolExecutor(4) as pool:  # several callers at once
        answers = list(pool.map(lambda _: built(case).nearest(queries, K), range(6)))
    assert all(same(answer, nearest) for answer in answers)


@every_method
def test_the_same_seed_gives_the_same_bits(case):
    _, queries = vectors(case[1])
    one, other = (make(case, seed=5).nearest(queries, K) for _ in range(2))
    assert same(one, other)


@over("hellinger", "js", "inner")
def test_all_within_a_distance(case):
    _, queries = vectors(case[1])
    distances = truth(case[1])
    for rank in (0, 5, 60):
        # Between two distances, so that rounding decides nothing.
        ordered = np.sort(distances[:20], axis=1)
        for i in range(20):
            gaps = np.diff(ordered[i, rank : rank + 20])
            at = rank + int(gaps.argmax())
            radius = float(ordered[i, at] + ordered[i, at + 1]) / 2
            found = built(case).within(queries[i], radius)
            wanted = np.flatnonzero(distances[i] <= radius)
            assert set(found.numbers.tolist()) <= set(wanted.tolist())
            np.testing.assert_allclose(
                found.distances, distances[i, found.numbers], rtol=2e-5, atol=2e-6
            )
            order = np.lexsort((found.numbers, found.distances))
            assert np.array_equal(order, np.arange(len(order)))
            if built(case).exact or case[0] in ("scan", "tree"):
                assert len(found.numbers) == len(wanted)


@every_case
def test_most_of_what_is_within_is_found(case):
    _, queries = vectors(case[1])
    radius = float(np.sort(truth(case[1]), axis=1)[:, 4].mean())
    found = lists_of(built(case).within(queries, radius))
    wanted = [np.flatnonzero(row <= radius) for row in truth(case[1])]
    hits = sum(len(np.intersect1d(*pair)) for pair in zip(found, wanted, strict=True))
    assert hits >= floor(case) * sum(map(len, wanted))


@every_space
def test_nothing_at_all(case, tmp_path):
    rows, queries = vectors(case[1])
    nothing = make(case, rows[:0])
    assert len(nothing) == 0
    nothing.save(tmp_path / "index")
    for neighbours in (nothing, open_neighbours(tmp_path / "index")):
        nearest = neighbours.nearest(queries[:3], K)
        assert (nearest.numbers == -1).all()
        assert np.isinf(nearest.distances).all()
        within = neighbours.within(queries[:3], 100.0)
        assert within.bounds.tolist() == [0, 0, 0, 0]
        assert neighbours.add(rows[:0]).size == 0
        assert neighbours.add(rows[:2]).tolist() == [0, 1]
    none = built(case).nearest(queries[:0], K)
    assert none.numbers.shape == none.distances.shape == (0, K)
    assert built(case).within(queries[:0], 1.0).bounds.tolist() == [0]


@every_case
def test_one_vector_and_fewer_vectors_than_asked_for(case):
    rows, _ = vectors(case[1])
    one = make(case, rows[:1])
    assert one.nearest(rows[:1], 5).numbers.tolist() == [[0, -1, -1, -1, -1]]
    few = make(case, rows[:7])
    nearest = few.nearest(rows[:7], 20)
    assert_exact_distances(nearest, reference(case[1], rows[:7], rows[:7]))
    if case[0] not in ("lsh", "codes", "lists"):  # which find nothing that is far
        assert (np.sort(nearest.numbers[:, :7], axis=1) == np.arange(7)).all()
    assert (nearest.numbers[:, 7:] == -1).all()


@every_case
def test_all_vectors_the_same(case):
    """Of many that are as near as can be, the first."""
    rows = np.repeat(vectors(case[1])[0][:1], 300, axis=0)
    alike = make(case, rows)
    nearest = alike.nearest(rows[:2], K)
    assert (nearest.numbers >= 0).all()
    assert len(np.unique(nearest.distances)) == 1
    assert_exact_distances(nearest, reference(case[1], rows, rows[:2]))
    if alike.exact:
        assert nearest.numbers.tolist() == [list(range(K))] * 2


@every_case
def test_vectors_of_zeros(case):
    rows, queries = vectors(case[1])
    holed = rows[:300].copy()
    holed[::3] = 0
    asked = queries[:6].copy()
    asked[2] = 0
    neighbours = make(case, holed)
    nearest, within = neighbours.nearest(asked, 250), neighbours.within(asked, 1.0)
    if METRICS[case[1]].rootless:
        assert len(neighbours) == 200
        assert not np.isin(nearest.numbers, np.arange(0, 300, 3)).any()
        assert (nearest.numbers[2] == -1).all()
        assert not np.isin(within.numbers, np.arange(0, 300, 3)).any()
        assert within.bounds[2] == within.bounds[3]
    else:
        assert len(neighbours) == 300
        assert_exact_distances(nearest, reference(case[1], holed, asked))
    only = make(case, np.zeros((4, 60), np.float32))
    assert only.nearest(asked, 2).numbers.shape == (6, 2)


@every_method
def test_what_cannot_be_asked(case):
    rows, queries = vectors(case[1])
    neighbours = built(case)
    with pytest.raises(UsageError, match="number of neighbours must be at least 1, not 0"):
        neighbours.nearest(queries, 0)
    with pytest.raises(UsageError, match="59 numbers where the index has vectors of 60"):
        neighbours.nearest(queries[:, :59], K)
    with pytest.raises(UsageError, match="61 numbers where the index has vectors of 60"):
        neighbours.within(np.ones((1, 61)), 1.0)
    with pytest.raises(UsageError, match="59 numbers"):
        neighbours.add(rows[:, :59])
    with pytest.raises(UsageError, match="a mask of 3 where the index has 1050 vectors"):
        neighbours.nearest(queries, K, allowed=np.ones(3, np.bool_))
    with pytest.raises(UsageError, match="threads must be at least 1, not 0"):
        neighbours.nearest(queries, K, threads=0)


@every_case
def test_a_method_is_read_as_it_is_written(case):
    config = built(case).method
    assert read_method(notation.write(config)) == config
    assert notation.write(read_method(WRITTEN[case[0]])) == WRITTEN[case[0]]
    assert type(read_method(case[0])) is METHODS[case[0]]


@every_method
def test_what_is_proposed_is_a_scans_business_only_where_it_scans(case):
    assert isinstance(built(case).parts[0].finder, Scanner) == (case[0] == "scan")
    assert (built(case).n_bytes > 0) == (case[0] != "scan")


@pytest.mark.parametrize("metric", ["inner", "euclidean"])
def test_lists_refuse_what_are_no_distributions(metric):
    with pytest.raises(UsageError, match="lists need numbers of at least 0 in rows of length 1"):
        make(("lists", metric))

"""What holds of every kind of derived data; a kind that is new in the registry is asked as well."""

from __future__ import annotations

import gc
import random
import shutil
import weakref

import pytest

import likewise as lw
from likewise import registry
from likewise.collection.arrays import Memory
from likewise.collection.build import Resources
from likewise.collection.copying import copy_collection
from likewise.collection.layout import DATA
from likewise.collection.pack import BULK
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.derived.kind import Inputs, Kind, Scope
from likewise.derived.store import carry_over, derived_of, kind_of, kinds_of, listed
from likewise.errors import DamagedError, FormatError, UsageError
from likewise.records import Document
from likewise.terms.nodes import Filters

ONE = Resources(threads=1)
THEMES = (
    "wing flutter lift drag stall",
    "heat film boiler steam flame",
    "zebra okapi gnu herd lion",
)
ALL = Filters(min_df=1, max_df=1.0)
NAMES = ["wing flutter", "heat", "okapi", "boiler"]

# A root of every kind, and of every type of model.
ROOTS = {
    "model": {
        "lsi": lambda c: c.models.fit("lsi(topics=3)", threads=1),
        "lda": lambda c: c.models.fit("lda(topics=2,sweeps=3,samples=1)", threads=1),
        "vectors": lambda c: c.models.fit(vectors="vector", threads=1),
        "rows": lambda c: c.models.fit(vectors=vectors_by_id(c), name="rows", threads=1),
        "klsa": lambda c: c.models.fit("klsa(axes=3)", threads=1),
        "given": lambda c: c.models.fit("klsa(axes=2)", vectors="vector", name="given", threads=1),
    },
    "graph": {
        "terms": lambda c: c.terms.make_graph(filters=ALL, name="terms", threads=1),
        "whole": lambda c: c.terms.make_graph(
            filters=ALL, name="whole", within="document", threads=1
        ),
        "names": lambda c: c.terms.make_graph(names=NAMES, threads=1),
        "said": lambda c: c.terms.make_graph(extract=extract, name="said", threads=1),
    },
}
# What says how much of a segment is computed at a time.
LOTS = {
    "vectors": ["likewise.models.kinds._DOCS_AT_ONCE"],
    "finder": ["likewise.neighbours.cells._AT_ONCE"],
    "pairs": [
        f"likewise.terms.occurrences.{name}_AT_ONCE" for name in ("_BLOCKS", "_DOCS", "_RECORDS")
    ],
    "prepared": [],
}
COMPUTED = [name for names in registry.COMPUTED.values() for name in names]


def extract(text):
    return [name for name in NAMES if name in text]


def vectors_by_id(c):
    return {document.id: document.fields["vector"] for document in c}


def documents(first, last):
    for i in range(first, last):
        rng = random.Random(i)
        words = THEMES[i % 3].split()
        said = [" ".join([*rng.choices(words, k=5), f"only{i}"]) for _ in range(3)]
        vector = [round(rng.gauss(i % 3 == j, 0.2), 3) for j in range(3)]
        yield Document(f"d{i}", THEMES[i % 3][:12], ". ".join(said) + ".", {"vector": vector})


@pytest.fixture(autouse=True, scope="module")
def small():
    """Let a few documents be many, so that all is due; leave out waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        patch.setattr("likewise.collection.documents._BLOCK_BYTES", 300)
        patch.setattr("likewise.models.kinds.FEWEST_FOUND", 20)
        patch.setattr("likewise.terms.kinds.FEWEST_PAIRS", 1)
        patch.setattr("likewise.terms.kernel.LARGE", 1)
        patch.setattr("likewise.terms.kernel.SMALL", 2)
        yield


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A collection that has artifacts of all kinds: three segments, deleted documents in two."""
    folder = tmp_path_factory.mktemp("derived") / "collection"
    c = lw.index(documents(0, 30), to=folder, model=None, smooth=None, resources=ONE)
    for roots in ROOTS.values():
        for make in roots.values():
            make(c)
    c.add(documents(30, 36), resources=ONE)
    c.delete(["d1", "d4", "d31"])
    c.add(documents(36, 40), resources=ONE)
    c.close()
    return folder


@pytest.fixture
def folder(kept, tmp_path):
    shutil.copytree(kept, tmp_path / "collection")
    return tmp_path / "collection"


def change(folder, act, derive=keep_up):
    """Change a collection; give it as it is then."""
    with Writer(folder, derive) as writer:
        act(writer)
    return open_snapshot(folder)


def merge(folder):
    return change(folder, lambda writer: writer.merge(resources=ONE))


def add(folder):
    return change(folder, lambda writer: writer.add(documents(40, 43), resources=ONE))


def computed_of(snapshot, kind=None):
    """The artifacts that are no roots."""
    artifacts = [one for one in snapshot.manifest.artifacts if one.inputs]
    return [one for one in artifacts if kind in (None, one.kind)]


def roots_of(snapshot):
    return [one for one in snapshot.manifest.artifacts if not one.inputs]


def inputs_of(snapshot, artifact, **options):
    segments = [segment.entry.id for segment in snapshot.segments]
    i = -1 if kind_of(artifact.kind).scope is Scope.WHOLE else segments.index(artifact.inputs[1])
    return Inputs(derived_of(snapshot), artifact.name, i, **options)


def computed(snapshot, artifact, **options):
    """What an artifact is when it is computed now."""
    memory = Memory()
    kind_of(artifact.kind).compute(inputs_of(snapshot, artifact, **options), memory)
    return memory


def bits(arrays):
    """All that arrays are: names, types, shapes and bytes, and the plain values."""
    names = arrays.names if hasattr(arrays, "names") else arrays._arrays
    found = {name: (arrays[name].dtype.str, arrays[name].shape) for name in names}
    return found, {name: arrays[name].tobytes() for name in names}, dict(arrays.meta)


def stored(snapshot, artifact):
    return bits(snapshot.pack(artifact.pack))


def loaded(snapshot, artifact):
    """Load an artifact, as a reader does."""
    derived = derived_of(snapshot)
    if not artifact.inputs:
        return derived.root(artifact.kind, artifact.name)
    return derived.stored(artifact.kind, artifact.name, inputs_of(snapshot, artifact).segment)


def check_all(snapshot):
    """All that is due is there, and is what is computed now."""
    snapshot.check()
    derived = derived_of(snapshot)
    for root in roots_of(snapshot):
        for kind in kinds_of(root.kind):
            whole = kind.scope is Scope.WHOLE
            for i in [-1] if whole else range(len(snapshot.segments)):
                due = kind.due(Inputs(derived, root.name, i), adding=False)
                assert derived.is_stored(kind.name, root.name, i) == due, (kind.name, root.name)
    for artifact in computed_of(snapshot):
        name = artifact.kind, artifact.name
        assert stored(snapshot, artifact) == bits(computed(snapshot, artifact)), name


def damage(snapshot, artifact, how="gone", array=None):
    """Damage the file of an artifact: alter an array, cut the file, or remove it."""
    path = snapshot.path_of(artifact.pack.file)
    data = bytearray(path.read_bytes())
    # Another file: what is mapped must not change.
    path.unlink()
    if how == "altered":
        _, _, offset, _ = snapshot.pack(artifact.pack)._arrays[array]
        data[offset] ^= 1
    if how != "gone":
        path.write_bytes(data[:-1] if how == "cut" else data)
    return path


# What there is


def test_every_kind_is_asked(kept):
    snapshot = open_snapshot(kept)
    assert {*ROOTS} == {*registry.COMPUTED}
    assert {*LOTS} == {*COMPUTED}
    found = {(one.kind, one.name) for one in snapshot.manifest.artifacts}
    expected = {(root, name) for root, names in ROOTS.items() for name in names}
    expected |= {(kind, name) for root, name in expected for kind in registry.COMPUTED[root]}
    # Rows that are not of a byte a coordinate have no index.
    assert expected - found <= {("finder", name) for name in ROOTS["model"]}
    assert {kind for kind, _ in found} == {*registry.KINDS}
    models = [one for one in snapshot.manifest.artifacts if one.kind == "model"]
    assert {one.about["type"] for one in models} == {*registry.MODELS}


# Memory = file = join


def test_a_root_is_loaded_as_it_was_stored(kept):
    snapshot = open_snapshot(kept)
    for root in roots_of(snapshot):
        value = loaded(snapshot, root)
        arrays, pack = value.arrays(), snapshot.pack(root.pack)
        assert arrays.keys() == {*pack.names}, root.name
        for name, values in arrays.items():
            assert values.dtype == pack[name].dtype, (root.name, name)
            assert values.shape == pack[name].shape or not values.size, (root.name, name)
            assert values.tobytes() == pack[name].tobytes(), (root.name, name)
        assert value.about().items() <= dict(root.about).items(), root.name


@pytest.mark.parametrize("kind", COMPUTED)
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_is_file(kept, kind, threads):
    snapshot = open_snapshot(kept)
    assert computed_of(snapshot, kind)
    for artifact in computed_of(snapshot, kind):
        memory = computed(snapshot, artifact, threads=threads)
        assert bits(memory) == stored(snapshot, artifact), artifact.name


@pytest.mark.parametrize("kind", COMPUTED)
def test_one_at_a_time_is_many_at_a_time(kept, kind, monkeypatch):
    for place in LOTS[kind]:
        monkeypatch.setattr(place, 1)
    snapshot = open_snapshot(kept)
    for artifact in computed_of(snapshot, kind):
        assert bits(computed(snapshot, artifact)) == stored(snapshot, artifact), artifact.name


def test_joined_is_computed(folder, monkeypatch):
    joined = {}
    joins = [name for name in COMPUTED if "join" in vars(type(kind_of(name)))]
    for name in registry.KINDS:
        kind = type(kind_of(name))

        def watched(self, *args, join=kind.join):
            joined[self.name] = join(self, *args)
            return joined[self.name]

        monkeypatch.setattr(kind, "join", watched)
    snapshot = merge(folder)
    assert len(snapshot.segments) == 1
    check_all(snapshot)
    assert joined == dict.fromkeys(joins, True)


# What happens to it


@pytest.mark.parametrize("kind", COMPUTED)
def test_a_full_disk_leaves_the_documents(folder, kind, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(kind_of(kind)), "compute", full)
        patch.setattr(type(kind_of(kind)), "join", Kind.join)
        snapshot = merge(folder)
    assert f"{kind} of" in caplog.text
    assert snapshot.n_docs == 37
    assert not computed_of(snapshot, kind)
    # It is made again with the next change.
    change(folder, lambda writer: writer.delete(["d0"]))
    check_all(merge(folder))


@pytest.mark.parametrize("kind", registry.KINDS)
def test_damage_is_named(folder, kind):
    snapshot = open_snapshot(folder)
    artifacts = [one for one in snapshot.manifest.artifacts if one.kind == kind]
    for artifact in artifacts:
        whole = snapshot.path_of(artifact.pack.file).read_bytes()
        arrays = snapshot.pack(artifact.pack).names
        for how, array in [("cut", None), ("gone", None), *(("altered", name) for name in arrays)]:
            pack = snapshot.pack(artifact.pack)
            if how == "altered" and not pack.n_bytes(array):
                continue
            path = damage(snapshot, artifact, how, array)
            again = open_snapshot(folder)
            with pytest.raises(DamagedError, match=path.name):
                again.check()
            if array not in BULK:
                with pytest.raises(DamagedError, match=path.name):
                    loaded(again, artifact)
            path.unlink(missing_ok=True)
            path.write_bytes(whole)
    open_snapshot(folder).check()


@pytest.mark.parametrize("kind", COMPUTED)
@pytest.mark.parametrize("how", ["cut", "gone", "altered"])
def test_a_merge_computes_again_what_is_damaged(folder, kind, how, caplog):
    snapshot = open_snapshot(folder)
    for artifact in computed_of(snapshot, kind):
        pack = snapshot.pack(artifact.pack)
        damage(snapshot, artifact, how, next(name for name in pack.names if pack.n_bytes(name)))
    snapshot.close()
    snapshot = merge(folder)
    assert len(snapshot.segments) == 1
    # An index, and what is over all segments, is not joined.
    assert ("is computed again" in caplog.text) == (kind in ("vectors", "pairs"))
    check_all(snapshot)


@pytest.mark.parametrize("kind", COMPUTED)
def test_documents_are_added_beside_what_is_damaged(folder, kind):
    snapshot = open_snapshot(folder)
    damaged = computed_of(snapshot, kind)
    for artifact in damaged:
        damage(snapshot, artifact)
    snapshot.close()
    snapshot = add(folder)
    assert snapshot.n_docs == 40
    left = {one.id for one in computed_of(snapshot, kind)} & {one.id for one in damaged}
    assert left == {one.id for one in damaged if kind_of(kind).scope is not Scope.WHOLE}
    check_all(merge(folder))


@pytest.mark.parametrize("kind", ROOTS)
@pytest.mark.parametrize("how", ["cut", "gone", "altered"])
def test_a_damaged_root_is_in_nobodys_way(folder, kind, how, caplog):
    """It cannot be computed again: it stays damaged, and nothing is computed from it."""
    snapshot = open_snapshot(folder)
    roots = [root for root in roots_of(snapshot) if root.kind == kind]
    paths = {}
    for root in roots:
        pack = snapshot.pack(root.pack)
        array = next(name for name in pack.names if pack.n_bytes(name) and name not in BULK)
        paths[root.name] = damage(snapshot, root, how, array)
    snapshot.close()
    assert add(folder).n_docs == 40
    snapshot = merge(folder)
    assert snapshot.n_docs == 40
    assert len(snapshot.segments) == 1
    for root in roots:
        assert f"{kind} {root.name}: nothing is computed from it: {paths[root.name]}" in caplog.text
        assert root in snapshot.manifest.artifacts
        with pytest.raises(DamagedError, match=paths[root.name].name):
            loaded(open_snapshot(folder), root)
    others = [one for one in computed_of(snapshot) if kind_of(one.kind).root != kind]
    assert {one.kind for one in others} == {*COMPUTED} - {*registry.COMPUTED[kind]}
    for artifact in others:
        assert stored(snapshot, artifact) == bits(computed(snapshot, artifact))


@pytest.mark.parametrize("kind", COMPUTED)
def test_what_is_of_an_older_version_counts_as_missing(folder, kind, monkeypatch):
    before = open_snapshot(folder)
    monkeypatch.setattr(type(kind_of(kind)), "version", kind_of(kind).version + 1)
    now = open_snapshot(folder)
    for artifact in computed_of(before, kind):
        assert loaded(now, artifact) is None
        assert bits(computed(now, artifact)) == stored(before, artifact)
    snapshot = merge(folder)
    check_all(snapshot)
    assert {one.version for one in computed_of(snapshot, kind)} == {kind_of(kind).version}


@pytest.mark.parametrize("kind", ROOTS)
def test_a_root_of_an_older_version_is_refused_and_in_nobodys_way(folder, kind, monkeypatch):
    monkeypatch.setattr(type(kind_of(kind)), "version", kind_of(kind).version + 1)
    roots = [root for root in roots_of(open_snapshot(folder)) if root.kind == kind]
    for root in roots:
        remedy = f"'{root.name}' was written by another version .*; {kind_of(kind).remedy}"
        with pytest.raises(FormatError, match=remedy):
            loaded(open_snapshot(folder), root)
    assert add(folder).n_docs == 40
    snapshot = merge(folder)
    assert [root for root in roots_of(snapshot) if root.kind == kind] == roots
    assert {kind_of(one.kind).root for one in computed_of(snapshot)} == {*ROOTS} - {kind}


@pytest.mark.parametrize("kind", registry.KINDS)
def test_a_kind_that_is_not_known_is_left_alone(folder, kind, tmp_path, monkeypatch):
    """Nor are those that may need it: they come from the same package."""
    family = next([root, *its] for root, its in registry.COMPUTED.items() if kind in (root, *its))
    known, unknown = family[: family.index(kind)], family[family.index(kind) :]

    def of_kind(snapshot):
        return [one for one in snapshot.manifest.artifacts if one.kind in unknown]

    before = of_kind(open_snapshot(folder))
    with monkeypatch.context() as patch:
        for name in unknown:
            patch.delitem(registry.KINDS, name)
        patch.setitem(registry.COMPUTED, family[0], tuple(known[1:]))
        snapshot = add(folder)
        rows = listed(snapshot)
        expected = {(one.kind, one.name) for one in before}
        assert {(row.kind, row.name) for row in rows if not row.known} == expected
        # As far as can be told here it is valid while all its inputs are there.
        assert of_kind(snapshot) == before
        snapshot.check()
        copy_collection(folder, tmp_path / "copy")
        assert of_kind(open_snapshot(tmp_path / "copy")) == before
        roots = [one for one in before if not one.inputs]
        assert of_kind(merge(folder)) == roots
    change(folder, lambda writer: writer.delete(["d0"]))
    check_all(merge(folder))


def test_a_model_of_a_type_that_is_not_known_is_left_alone(folder, monkeypatch, caplog):
    with monkeypatch.context() as patch:
        patch.delitem(registry.MODELS, "topics")
        assert add(folder).n_docs == 40
        snapshot = merge(folder)
        assert "model lda: nothing is computed from it" in caplog.text
        assert "lda" in [root.name for root in roots_of(snapshot)]
        assert "lda" not in [one.name for one in computed_of(snapshot)]
    change(folder, lambda writer: writer.delete(["d0"]))
    check_all(merge(folder))


@pytest.mark.parametrize("kind", ROOTS)
def test_a_dropped_root_takes_along_what_was_computed_from_it(folder, kind):
    snapshot = open_snapshot(folder)
    before = snapshot.manifest
    snapshot.close()
    root = next(one for one in before.artifacts if one.kind == kind)
    snapshot = change(folder, lambda writer: writer.put(drop=[root.id]), derive=None)
    its = [one for one in before.artifacts if root.id in (one.id, *one.inputs)]
    assert {one.kind for one in its} == {kind, *registry.COMPUTED[kind]}
    assert snapshot.manifest.artifacts == tuple(one for one in before.artifacts if one not in its)
    with pytest.raises(UsageError, match=f"no {kind} '{root.name}'"):
        loaded(snapshot, root)
    named = {entry.file for entry in snapshot.manifest.files()}
    assert {path.name for path in (folder / DATA).iterdir()} == named


# Readers


@pytest.mark.parametrize("kind", registry.KINDS)
def test_a_reader_opens_late_what_a_writer_has_replaced(kept, folder, kind):
    reader = open_snapshot(folder)
    merge(folder).close()
    drop = [root.id for root in roots_of(reader)]
    change(folder, lambda writer: writer.put(drop=drop), derive=None).close()
    first = open_snapshot(kept)
    artifacts = [one for one in reader.manifest.artifacts if one.kind == kind]
    assert artifacts
    for artifact in artifacts:
        assert loaded(reader, artifact) is not None
        assert stored(reader, artifact) == stored(first, artifact)
        if artifact.inputs:
            assert bits(computed(reader, artifact)) == stored(first, artifact)


def test_what_goes_along_with_a_reader_holds_no_older_state(folder):
    before = open_snapshot(folder)
    for artifact in before.manifest.artifacts:
        loaded(before, artifact)
    after = add(folder)
    carry_over(before, after)
    kinds = {kind for kind, *_ in derived_of(after)._loaded}
    assert kinds == {name for name in registry.KINDS if kind_of(name).scope is not Scope.WHOLE}
    was = weakref.ref(before)
    before.close()
    del before
    gc.collect()
    assert was() is None
    for artifact in after.manifest.artifacts:
        assert loaded(after, artifact) is not None

"""One thread refreshes a collection while others ask it: each keeps the state it began with."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import likewise as lw
from likewise.collection.segment import Segment
from likewise.collection.snapshot import open_snapshot
from likewise.derived.store import Derived, derived_of
from likewise.engine.collection import Collection
from likewise.engine.state import State
from likewise.records import Query

from .stressing import ONE, THEMES, made

QUERY = "wing heat zebra"
ASKED = {
    "search": lambda c: c.search(QUERY, k=3),
    "explained": lambda c: c.search(QUERY, k=2, method="bm25", explain=True),
    "filtered": lambda c: c.search(QUERY, k=3, method="bm25", filter="year>=1960"),
    "by likeness": lambda c: c.search(QUERY, k=3, method="hybrid"),
    "near": lambda c: c.search(QUERY, k=3, method="near"),
    "graph": lambda c: c.search(QUERY, k=3, expand="graph"),
    "run": lambda c: dict(c.run([Query("1", QUERY)], k=3, method="bm25", threads=1)),
    "like": lambda c: c.like("d1", k=3, explain=True),
    "neighbours": lambda c: c.like("d1", k=3, explain=True, method="near"),
    "show": lambda c: c["d1"],
    "related": lambda c: c.terms.near(QUERY, 3),
    "predicted": lambda c: c.terms.predict(id="d1", k=3),
    "decomposed": lambda c: c.models.transform("d1").topics.tolist(),
    "text decomposed": lambda c: c.models.decompose(text=QUERY),
    "info": lambda c: {**c.info(), "generation": 0, "folder": "", "older_generations": []},
}


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Two states of which no number of a document or of a term means the same."""
    folders = []
    for turn in (1, -1):
        folder = tmp_path_factory.mktemp("state") / "collection"
        documents = [made(f"d{i}", 100 * turn + i) for i in range(24)][::turn]
        lw.index(documents[3:], to=folder, model="lsi(topics=3)", smooth="klsa(axes=3)")
        with lw.open(folder) as c:
            c.terms.make_graph(threads=1)
            c.add(documents[:3], resources=ONE)
        folders.append(folder)
    return folders


def elsewhere(act):
    """Do something in another thread, and wait for it."""
    failed = []

    def done():
        try:
            act()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=done)
    thread.start()
    thread.join()
    assert not failed, failed


class Stepped(State):
    """Refreshed by another thread when its state is looked at for the n-th time."""

    looks = 0
    at = -1
    whole = None

    def __getattribute__(self, name):
        whole = type(self).whole
        if whole is not None and name in ("snapshot", "_shown"):
            Stepped.looks += 1
            if Stepped.looks == Stepped.at:
                Stepped.whole = None
                elsewhere(whole.refresh)
        return super().__getattribute__(name)


@pytest.fixture
def stepped(states, monkeypatch):
    """Ask a collection of the first state that is refreshed to the second at a look."""

    def ask(asked, at):
        turn = iter(states)
        monkeypatch.setattr(
            "likewise.engine.state.open_snapshot",
            lambda folder, before=None: open_snapshot(next(turn)),
        )
        c = Collection(Stepped(open_snapshot(next(turn))))
        Stepped.looks, Stepped.at, Stepped.whole = 0, at, c
        try:
            answer = repr(ASKED[asked](c))
            refreshed = Stepped.whole is None
        finally:
            Stepped.whole = None
        return answer, repr(ASKED[asked](c)), refreshed

    return ask


@pytest.mark.parametrize("asked", ASKED)
def test_whoever_asks_keeps_the_state_it_began_with(states, stepped, asked):
    first, second = (repr(ASKED[asked](lw.open(folder))) for folder in states)
    assert first != second
    at, refreshed, answers = 1, True, []
    while refreshed:
        answer, later, refreshed = stepped(asked, at)
        answers.append(answer)
        assert answer in (first, second), at
        assert later == (second if refreshed else first), at
        at += 1
    assert answers[-1] == first


def test_what_was_made_of_a_state_that_is_forgotten_meanwhile(states):
    with lw.open(states[0]) as c:
        snapshot = c.snapshot
        assert snapshot.memo("key", lambda: elsewhere(snapshot.forget) or "made") == "made"


def test_derived_data_is_taken_over_while_others_load_more(states):
    derived = derived_of(open_snapshot(states[0]))
    derived.root("model", "lsi")
    derived.root("graph", "graph")

    class Asked(dict):
        def get(self, key):
            elsewhere(lambda: derived._loaded.setdefault(("vectors", "", (str(key),))))
            return super().get(key)

    derived.artifacts = Asked(derived.artifacts)
    after = Derived(open_snapshot(states[0]), derived)
    assert {kind for kind, *_ in after._loaded} == {"model", "graph"}


def test_a_segment_is_taken_over_while_others_open_more(states):
    before = open_snapshot(states[0]).segments[0]

    class Compared(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            elsewhere(lambda: vars(before).setdefault(f"more {len(vars(before))}"))
            return super().__eq__(other)

    vars(before)[Compared("another")] = None
    vars(before)["yet another"] = None
    after = Segment(before.entry, open_snapshot(states[0]).path_of, before)
    assert after.packs is before.packs


def test_of_two_threads_that_refresh_one_waits(states, monkeypatch):
    """Else the one that opened the older state might be the last to show it."""
    c = lw.open(states[0])
    waiting = []

    def opened(folder, before):
        elsewhere(lambda: waiting.append(c._state._refreshing.is_taken()))
        return open_snapshot(folder, before)

    monkeypatch.setattr("likewise.engine.state.open_snapshot", opened)
    c.refresh()
    assert waiting == [True]


def test_a_state_goes_with_the_last_who_asks_it(states):
    gc.collect()
    gc.disable()
    try:
        c = lw.open(states[0])
        asked = Collection(c._state.held())
        asked.like("d1")
        snapshot = weakref.ref(c.snapshot)
        c.refresh()
        assert snapshot() is asked.snapshot is not c.snapshot
        assert snapshot().made("derived") is not None
        del asked
        assert snapshot() is None
    finally:
        gc.enable()


def test_a_graph_that_is_made_for_a_question_is_shown_by_all(tmp_path):
    documents = [made(f"d{i}", i) for i in range(12)]
    lw.index(documents, to=tmp_path / "c", model=None)
    with lw.open(tmp_path / "c") as c:
        assert c.search(THEMES["heat"], k=3, expand="graph", filter="year>=1900")
        assert c.terms.graphs == ["graph"]

"""A child that was forked beside other threads can do all that its parent could."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack
from functools import cached_property

import likewise
from likewise import compiled, forking

# A child that waits for a lock waits for good: any limit tells, and this one is for slow machines.
LIMIT = 120


def in_child(function):
    """Run a function in a forked child; tell how it ended: by an alarm where it is stuck."""
    child = os.fork()
    if not child:
        signal.alarm(LIMIT)
        try:
            function()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Holding:
    """Another thread that holds locks, or is within anything else."""

    def __init__(self, *held):
        self._held = held
        self._begun, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def _hold(self):
        with ExitStack() as stack:
            for each in self._held:
                stack.enter_context(each)
            self._begun.set()
            self._done.wait()

    def __enter__(self):
        self._thread.start()
        assert self._begun.wait(LIMIT)

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()


def locks_of_properties():
    """The locks of cached properties, which have one up to Python 3.11."""
    found = [
        each
        for name, module in sys.modules.items()
        if name.startswith("likewise")
        for owner in vars(module).values()
        if isinstance(owner, type)
        for each in vars(owner).values()
        if isinstance(each, cached_property)
    ]
    return [vars(each)["lock"] for each in found if "lock" in vars(each)]


def test_a_child_asks_while_other_threads_of_its_parent_hold_every_lock(tmp_path):
    texts = ["wing flutter speed", "laminar flow on a plate", "heat of a wing", "flow and heat"]
    documents = [{"id": f"d{i}", "text": texts[i % 4], "year": i} for i in range(24)]
    folder = tmp_path / "c.lw"
    c = likewise.index(documents, to=folder, model="lsi(topics=2)", smooth="klsa(axes=2)")
    c.terms.make_graph(threads=1)

    def ask(of):
        return [
            [(answer.doc_id, answer.score) for answer in answers]
            for answers in (
                of.search("wing flow", explain=True),
                of.search("heat", method="ql", filter="year>=5"),
                of.like("d3", k=5),
            )
        ] + [of["d7"], list(of.terms.near("wing"))]

    expected = ask(c)

    def asked_again():
        assert ask(c) == expected
        c.refresh()
        assert ask(c) == expected
        # Nothing of this one was made before.
        assert ask(likewise.open(folder)) == expected

    held = list(forking._locks)
    assert len(held) > 20
    with Holding(*held, *locks_of_properties()):
        assert in_child(asked_again) == 0
    # The parent's own are as they were.
    asked_again()


class Counted:
    """Two numbers that are equal, but for a moment."""

    def __init__(self):
        self.pair = [1, 1]
        self.lock = forking.Lock(reset=self.forget)

    def forget(self):
        self.pair = [0, 0]


def test_what_was_half_changed_is_forgotten():
    counted, other = Counted(), Counted()

    def look():
        assert (counted.pair, other.pair) == ([0, 0], [1, 1])
        with counted.lock, other.lock:
            pass

    with Holding(counted.lock):
        counted.pair[0] += 1
        assert in_child(look) == 0
    assert counted.pair == [2, 1]


def test_a_thread_that_forks_keeps_what_it_holds():
    lock = forking.Lock()

    def look():
        thread = threading.Thread(target=lambda: results.append(lock.is_taken()))
        thread.start()
        thread.join()
        assert results == [True]
        lock.__exit__()
        assert not lock.is_taken()

    results = []
    with lock:
        assert in_child(look) == 0


def test_threads_of_blas_are_not_limited_for_a_thread_that_is_gone():
    def look():
        assert not compiled._blas_users
        assert not compiled._blas_limits
        with compiled.one_blas_thread():
            assert len(compiled._blas_users) == 1

    with Holding(compiled.one_blas_thread()):
        assert compiled._blas_users
        assert in_child(look) == 0
        with compiled.one_blas_thread():
            assert in_child(lambda: [None][len(compiled._blas_users) - 1]) == 0


def test_a_child_of_a_child():
    lock = forking.Lock()

    def take(left):
        if left:
            assert in_child(lambda: take(left - 1)) == 0
        with lock:
            pass

    with Holding(lock):
        assert in_child(lambda: take(1)) == 0

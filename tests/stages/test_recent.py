import threading

import pytest

from likewise.stages.recent import Recent


def test_those_asked_last_are_kept():
    made = []

    def make(key):
        made.append(key)
        return [key]

    recent = Recent(most=2)
    first = recent.of("a", make)
    assert recent.of("a", make) is first
    recent.of("b", make)
    recent.of("a", make)
    recent.of("c", make)
    assert made == ["a", "b", "c"]
    assert recent.of("a", make) is first
    recent.of("b", make)
    assert made == ["a", "b", "c", "b"]


def test_threads_that_ask_for_others_do_not_wait():
    """One is being made until the other is there: were a lock held meanwhile, both would hang."""
    made = threading.Event()

    def make(key):
        assert key == "quick" or made.wait(60)
        return key.upper()

    recent = Recent(most=2)
    found = []
    slow = threading.Thread(target=lambda: found.append(recent.of("slow", make)), daemon=True)
    slow.start()
    assert recent.of("quick", make) == "QUICK"
    made.set()
    slow.join(60)
    assert found == ["SLOW"]


def test_threads_that_ask_for_the_same_have_the_same():
    both = threading.Barrier(2)

    def make(key):
        both.wait(60)
        return [key]

    recent = Recent(most=2)
    found = []
    threads = [threading.Thread(target=lambda: found.append(recent.of(1, make))) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert found[0] is found[1]


def test_what_cannot_be_made_is_not_kept():
    recent = Recent(most=2)
    for _ in range(2):
        with pytest.raises(ValueError, match="nothing"):
            recent.of("nothing", int)
    assert recent.of("7", int) == 7

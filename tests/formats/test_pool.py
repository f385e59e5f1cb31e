import os
import signal

import pytest

from likewise.formats.parsed import (
    CRASH,
    DAMAGED,
    ENCRYPTED,
    MEMORY,
    TIME,
    TOO_LARGE,
    Refused,
)
from likewise.formats.pool import Limits, Pool, PoolError

PARSERS = "parsers_for_tests"


@pytest.fixture
def pool():
    with Pool(Limits(seconds=60), size=1) as pool:
        yield pool


def parse(pool, name, data=b""):
    return list(pool.parse(f"{PARSERS}:{name}", data, encoding="utf-8"))


def refused(pool, name, data=b""):
    with pytest.raises(Refused) as caught:
        parse(pool, name, data)
    return caught.value


def test_files_go_there_and_answers_come_back(pool):
    assert parse(pool, "echo", b"words") == [["words", "utf-8"]]
    large = b"x" * 5_000_000
    assert parse(pool, "echo", large) == [[large.decode(), "utf-8"]]
    assert pool.n_started == 1


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("crash", CRASH, "SIGSEGV"),
        ("leave", CRASH, "status 3"),
        ("eat", MEMORY, "more than 512 MB"),
    ],
)
def test_a_process_that_is_lost_says_why_and_another_takes_its_place(name, status, reason):
    with Pool(Limits(memory=512 << 20), size=1) as pool:
        error = refused(pool, name)
        assert error.status == status
        assert reason in error.reason
        assert parse(pool, "echo", b"after") == [["after", "utf-8"]]
        assert pool.n_started == 2


def test_a_parser_that_hangs_is_ended():
    with Pool(Limits(seconds=0.2), size=1) as pool:
        error = refused(pool, "hang")
        assert error.status == TIME
        assert "longer than 0.2 seconds" in error.reason


def test_a_parser_that_cannot_be_ended_by_a_signal_is_killed():
    with Pool(Limits(seconds=0.2), size=1) as pool:
        assert refused(pool, "hang_for_good").status == TIME


@pytest.mark.parametrize(("name", "status"), [("fail", DAMAGED), ("refuse", ENCRYPTED)])
def test_a_parser_that_refuses_goes_on(pool, name, status):
    assert refused(pool, name).status == status
    parse(pool, "echo", b"next")
    assert pool.n_started == 1


def test_lengths_are_checked_on_the_way_there_and_back():
    with Pool(Limits(file=1000, reply=150_000), size=1) as pool:
        error = refused(pool, "echo", b"x" * 1001)
        assert (error.status, pool.n_started) == (TOO_LARGE, 0)
        assert refused(pool, "much").status == TOO_LARGE
        assert parse(pool, "echo", b"small") == [["small", "utf-8"]]


def test_what_a_parser_prints_is_no_answer(pool):
    assert parse(pool, "printing") == ["answer"]


def test_a_parser_writes_no_file(pool, tmp_path):
    # The signal of a file that may not grow ends the process, or the write fails.
    assert refused(pool, "writing", os.fsencode(tmp_path / "x")).status in (CRASH, DAMAGED)
    assert not (tmp_path / "x").exists() or not (tmp_path / "x").stat().st_size


def test_processes_are_replaced_after_some_files():
    with Pool(Limits(files=2), size=1) as pool:
        seen = [parse(pool, "process")[0] for _ in range(5)]
        assert pool.n_started == 3
    assert len(set(seen)) == 3


def test_restarts_are_capped():
    with Pool(Limits(restarts=2), size=1) as pool:
        assert refused(pool, "leave").status == CRASH
        assert refused(pool, "leave").status == CRASH
        # One that works begins the count anew.
        parse(pool, "echo")
        assert refused(pool, "leave").status == CRASH
        assert refused(pool, "leave").status == CRASH
        with pytest.raises(PoolError, match=r"3 processes .* were lost in a row .*status 3"):
            parse(pool, "leave")


def test_a_process_that_does_not_start_is_no_fault_of_a_file(monkeypatch):
    monkeypatch.setattr("likewise.formats.pool.sys.executable", "/bin/false")
    with pytest.raises(PoolError, match=r"did not start \(it ended with 1\)"):
        parse(Pool(size=1), "echo")
    monkeypatch.setattr("likewise.formats.pool.sys.executable", "/no/such/python")
    with pytest.raises(PoolError, match=r"can be started"):
        parse(Pool(size=1), "echo")


def test_outcomes_come_in_the_order_of_the_tasks():
    with Pool(size=2) as pool:
        tasks = [str(i).encode() for i in range(20)]
        outcomes = pool.map(tasks, lambda data: parse(pool, "echo", data)[0][0])
        assert [outcome.result() for _, outcome in outcomes] == [str(i) for i in range(20)]
        assert pool.n_started <= 2


def test_whoever_stops_reading_leaves_no_process():
    with Pool(size=2) as pool:
        outcomes = pool.map(range(10), lambda _: parse(pool, "process"))
        _, first = next(outcomes)
        [running] = first.result()
        outcomes.close()
    with pytest.raises(ProcessLookupError):
        os.kill(running, 0)
    with pytest.raises(PoolError, match=r"closed"):
        parse(pool, "echo")


def test_a_process_ends_with_its_parent(pool):
    [child] = pool._children if parse(pool, "echo") and pool._children else [None]
    child._requests.close()
    assert child._process.wait(60) == 72
    child._replies.close()
    pool._children.clear()


def test_time_has_an_exit_status_of_its_own():
    with Pool(Limits(seconds=0.2), size=1) as pool:
        parse(pool, "echo")
        [child] = pool._children
        refused(pool, "hang")
        assert child._process.returncode == -signal.SIGALRM

"""Parsers that fail in every way there is."""

import os
import signal

from likewise.formats.parsed import Refused


def echo(data, encoding):
    yield [data.decode(), encoding]


def process(data, encoding):
    yield os.getpid()


def hang(data, encoding):
    while True:
        pass


def hang_for_good(data, encoding):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    while True:
        pass


def crash(data, encoding):
    os.kill(os.getpid(), signal.SIGSEGV)
    yield


def leave(data, encoding):
    os._exit(3)
    yield


def eat(data, encoding):
    held = [bytearray(64 << 20)]
    while True:
        held.append(bytearray(64 << 20))
    yield


def fail(data, encoding):
    raise ZeroDivisionError("a parser's fault")
    yield


def refuse(data, encoding):
    raise Refused("encrypted", "a password")
    yield


def much(data, encoding):
    for _ in range(100):
        yield "x" * 100_000


def printing(data, encoding):
    print("this is not an answer", flush=True)
    os.write(1, b"nor this")
    yield "answer"


def writing(data, encoding):
    with open(data.decode(), "w") as file:
        file.write("never")
    yield "written"

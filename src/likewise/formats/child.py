"""The process that parses: it takes a file at a time from its parent, within limits.

Nothing that it reads is trusted. It ends with a status of its own where memory, time or its parent
is gone, so that the parent can tell why.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from likewise.formats.frames import FrameError, receive, send
from likewise.formats.parsed import DAMAGED, Refused

READY, PART, DONE, REFUSED = b"R", b"P", b"D", b"X"
EXIT_MEMORY, EXIT_PARENT, EXIT_FRAME = 71, 72, 73
# Time ends a process by this signal, which no parser's loop can put off.
EXIT_TIME = -signal.SIGALRM

Parse = Callable[[bytes, str], Iterator[Any]]


def main() -> None:
    """Serve until the parent is gone; arguments are limits of memory, time and a file's size."""
    memory, seconds, largest = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    requests = os.dup(0)
    replies = os.dup(1)
    # A library that prints must not be taken for an answer.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(memory)
    try:
        send(replies, READY, b"")
        while True:
            _, request = receive(requests, limit=largest + (1 << 16))
            _answer(replies, request, seconds)
    except (EOFError, BrokenPipeError):
        os._exit(EXIT_PARENT)
    except MemoryError:
        os._exit(EXIT_MEMORY)
    except FrameError:
        os._exit(EXIT_FRAME)


def _limit(memory: int) -> None:
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):
            # Some systems do not have all limits; the parent's watch over time remains.
            continue


def request_of(parser: str, encoding: str, data: bytes) -> bytes:
    """What the parent sends: which function, the encoding, and the file."""
    head = json.dumps([parser, encoding]).encode()
    return len(head).to_bytes(4) + head + data


def _answer(replies: int, request: bytes, seconds: float) -> None:
    length = int.from_bytes(request[:4])
    named, encoding = json.loads(request[4 : 4 + length])
    data = request[4 + length :]
    del request
    with _alarm(seconds) as pause:
        try:
            parse = _parser(named)
            for part in parse(data, encoding):
                packed = json.dumps(part, ensure_ascii=False).encode("utf-8", "replace")
                with pause():
                    send(replies, PART, packed)
        except Refused as refused:
            answer = REFUSED, json.dumps([refused.status, refused.reason]).encode()
        except (MemoryError, BrokenPipeError):
            raise
        except Exception as error:
            # Whatever a parser does not expect of a file is the file's damage.
            reason = f"it cannot be parsed ({type(error).__name__}: {error})"[:300]
            answer = REFUSED, json.dumps([DAMAGED, reason]).encode()
        else:
            answer = DONE, b""
    send(replies, *answer)


def _parser(named: str) -> Parse:
    module, _, name = named.partition(":")
    parse: Parse = getattr(import_module(module), name)
    return parse


@contextmanager
def _alarm(seconds: float) -> Iterator[Callable[[], Any]]:
    """End this process after so many seconds, of which waiting for the parent is no part."""

    @contextmanager
    def pause() -> Iterator[None]:
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        yield
        signal.setitimer(signal.ITIMER_REAL, left)

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield pause
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()

"""Messages over a pipe: a kind, a length, and so many bytes.

A length is checked against a limit before memory is taken for it.
"""

from __future__ import annotations

import os
import select
import struct
import time

_HEADER = struct.Struct(">4scI")
_MAGIC = b"lwf1"
_PIECE = 1 << 20


class FrameError(Exception):
    """What comes is no message, or longer than allowed."""


class LateError(Exception):
    """Nothing came, or nothing was taken, in time."""


def send(fd: int, kind: bytes, payload: bytes, *, seconds: float | None = None) -> None:
    """Write a message; LateError where the other side does not take it in time.

    With `seconds` the pipe must not block.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    for data in (_HEADER.pack(_MAGIC, kind, len(payload)), payload):
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(fd, rest[:_PIECE]) :]
            except BlockingIOError:
                _wait(fd, select.POLLOUT, deadline)


def receive(fd: int, *, limit: int, seconds: float | None = None) -> tuple[bytes, bytes]:
    """Read a message: its kind and its payload; EOFError where the other side is gone."""
    deadline = None if seconds is None else time.monotonic() + seconds
    magic, kind, length = _HEADER.unpack(_exactly(fd, _HEADER.size, deadline))
    if magic != _MAGIC:
        raise FrameError("what came is no message")
    if length > limit:
        raise FrameError(f"a message of {length:,} bytes, more than the {limit:,} allowed")
    return kind, _exactly(fd, length, deadline)


def _exactly(fd: int, length: int, deadline: float | None) -> bytes:
    data = bytearray()
    while len(data) < length:
        _wait(fd, select.POLLIN, deadline)
        piece = os.read(fd, min(_PIECE, length - len(data)))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _wait(fd: int, event: int, deadline: float | None) -> None:
    if deadline is None:
        return
    poll = select.poll()
    poll.register(fd, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(1000 * left):
        raise LateError

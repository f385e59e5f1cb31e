"""Named arrays, wherever they are kept: what reads them, what takes them, and those in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from likewise.collection.files import REMEDY
from likewise.errors import DamagedError

# As much as a file's own buffer holds.
BUFFER = 1 << 16
# An array that grows in memory goes to an unnamed file beyond so many bytes.
MOST_HELD = 128 << 20
_COPIED_AT_ONCE = 1 << 22


class Arrays(Protocol):
    """Named arrays, and small plain values beside them."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """The plain values."""
        ...

    def __getitem__(self, name: str) -> NDArray[Any]: ...

    def __contains__(self, name: object) -> bool: ...


class Output(Protocol):
    """Where arrays are put: a file, or memory."""

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None for memory."""
        ...

    def put(self, name: str, values: NDArray[Any], dtype: DTypeLike | None = None) -> None:
        """Put a whole array."""
        ...

    def stream(self, name: str, dtype: DTypeLike, width: int = 0) -> Stream:
        """Begin an array of unknown length; `width` is how many numbers a row has, 0 for one."""
        ...

    def note(self, **values: Any) -> None:
        """Put small plain values."""
        ...


class StreamOwner(Protocol):
    """What arrays are streamed into."""

    def finish(self, stream: Stream) -> None:
        """Take what was streamed, as an array."""
        ...


class Stream:
    """An array that is written piece by piece, beyond `most` bytes into an unnamed file."""

    def __init__(
        self,
        owner: StreamOwner,
        name: str,
        dtype: DTypeLike,
        width: int,
        *,
        most: int,
        folder: Path | None = None,
    ) -> None:
        self.name = name
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._owner = owner
        self._width = width
        self._most = most
        self._folder = folder
        self._file: Any = None
        self._pieces: list[NDArray[Any]] = []

    def append(self, values: NDArray[Any]) -> None:
        """Add values at the end."""
        piece = np.ascontiguousarray(values, self.dtype).reshape(-1)
        self.size += piece.size
        if self._file is not None:
            self._write(piece)
            return
        # A copy, as what is given may change before it is written.
        self._pieces.append(piece.copy())
        if self.size * self.dtype.itemsize > self._most:
            self._open()
            for held in self._pieces:
                self._write(held)
            self._pieces = []

    def values(self) -> NDArray[Any]:
        """Give what was appended; a file is mapped."""
        if self._file is None:
            return np.concatenate([np.empty(0, self.dtype), *self._pieces])
        self._file.flush()
        if self.size == 0:
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(self._file, self.dtype, "c", 0, (self.size,)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that it has by now."""
        return (self.size // self._width, self._width) if self._width else (self.size,)

    @property
    def in_file(self) -> bool:
        """Whether it has grown too large for memory."""
        return self._file is not None

    def array(self) -> NDArray[Any]:
        """Give what was appended, in its shape."""
        return self.values().reshape(self.shape)

    def copied(self) -> Iterator[bytes]:
        """Give the bytes of its file, from the first on."""
        self._file.seek(0)
        yield from iter(self._read, b"")

    def close(self) -> None:
        """Make it an array of its owner's."""
        try:
            self._owner.finish(self)
            self._pieces = []
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of what was written."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _open(self) -> None:
        self._file = tempfile.TemporaryFile(dir=self._folder, buffering=BUFFER)  # noqa: SIM115

    def _write(self, piece: NDArray[Any]) -> None:
        if piece.size:
            self._file.write(piece.data.cast("B"))

    def _read(self) -> bytes:
        data: bytes = self._file.read(_COPIED_AT_ONCE)
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


class Memory:
    """A pack that is not written: what a reader works out for itself."""

    folder: ClassVar[None] = None

    def __init__(self) -> None:
        self._meta: dict[str, Any] = {}
        self._arrays: dict[str, NDArray[Any]] = {}

    @property
    def meta(self) -> Mapping[str, Any]:
        """The plain values."""
        return self._meta

    def put(self, name: str, values: NDArray[Any], dtype: DTypeLike | None = None) -> None:
        """Put a whole array."""
        self._arrays[name] = np.ascontiguousarray(values, dtype)

    def stream(self, name: str, dtype: DTypeLike, width: int = 0) -> Stream:
        """Begin an array of unknown length."""
        return Stream(self, name, dtype, width, most=MOST_HELD)

    def finish(self, stream: Stream) -> None:
        """Put what was streamed; a file stays mapped."""
        self.put(stream.name, stream.array())

    def note(self, **values: Any) -> None:
        """Put small plain values."""
        self._meta |= values

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays


@dataclass(frozen=True)
class PrefixedOutput:
    """Puts arrays and values under names that begin alike, so that several parts share a pack."""

    output: Output
    prefix: str

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None for memory."""
        return self.output.folder

    def put(self, name: str, values: NDArray[Any], dtype: DTypeLike | None = None) -> None:
        """Put a whole array."""
        self.output.put(self.prefix + name, values, dtype)

    def stream(self, name: str, dtype: DTypeLike, width: int = 0) -> Stream:
        """Begin an array of unknown length."""
        return self.output.stream(self.prefix + name, dtype, width)

    def note(self, **values: Any) -> None:
        """Put small plain values."""
        self.output.note(**{self.prefix + name: value for name, value in values.items()})


@dataclass(frozen=True)
class PrefixedArrays:
    """The arrays and values whose names begin alike, by the rest of their names."""

    arrays: Arrays
    prefix: str

    @property
    def meta(self) -> Mapping[str, Any]:
        """The plain values."""
        mine = (item for item in self.arrays.meta.items() if item[0].startswith(self.prefix))
        return {name.removeprefix(self.prefix): value for name, value in mine}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[self.prefix + name]

    def __contains__(self, name: object) -> bool:
        return f"{self.prefix}{name}" in self.arrays


def require(arrays: Arrays, what: str, **shapes: tuple[int, ...]) -> None:
    """Raise unless arrays have these shapes; -1 is any size, `_` in a name stands for a dot."""
    for key, shape in shapes.items():
        name = key.replace("_", ".")
        found = arrays[name].shape if name in arrays else None
        fits = found is not None and len(found) == len(shape)
        if not fits or any(n not in (-1, m) for n, m in zip(shape, found or (), strict=False)):
            raise DamagedError(f"{what}: {name} is shaped {found}, not {shape}; {REMEDY}")

"""What a disk may hold after a power loss, worked out from the calls that were made until then.

The data of a file are safe once the file was synced, the entries of a folder once the folder was.
What is not safe may be there or not, for each file and folder by itself. Most file systems keep
more than that; a program may count on no more.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

# Files with their data and folders with None, by their paths.
Image = dict[str, bytes | None]


class Call(NamedTuple):
    """A call that alters a file, as the shim logs it.

    `number` is the offset of data, the new size of a file, or the flags that it was opened with.
    """

    name: str
    succeeded: bool
    inode: int
    number: int
    path: str
    to: str = ""
    data: bytes = b""

    def __str__(self) -> str:
        size = f", {len(self.data)} bytes" if self.data else ""
        return f"{self.name} {self.path}{size}" + (f" to {self.to}" if self.to else "")


class File:
    """A file: its data as last synced, and what was done to it since."""

    def __init__(self, data: bytes = b"") -> None:
        self._synced = data
        self._since: list[tuple[int, bytes | None]] = []

    def write(self, at: int, data: bytes) -> None:
        """Put data at an offset."""
        self._since.append((at, data))

    def resize(self, size: int) -> None:
        """Cut the file, or fill it up with zeros."""
        self._since.append((size, None))

    def sync(self) -> None:
        """Make safe what was done."""
        self._synced, self._since = self.data(), []

    def data(self, share: float = 1.0) -> bytes:
        """Give the data, if a share of what was written since the last sync is on the disk."""
        data = bytearray(self._synced)
        left = int(share * sum(len(piece or b"") for _, piece in self._since))
        for at, piece in self._since if share else ():
            data.extend(bytes(max(at - len(data), 0)))
            if piece is None:
                del data[at:]
            else:
                kept = piece[:left]
                data[at : at + len(kept)] = kept
                left -= len(kept)
        return bytes(data)


class Folder:
    """A folder: its entries as they are, and as last synced."""

    def __init__(self) -> None:
        self.entries: dict[str, File | Folder] = {}
        self.synced: dict[str, File | Folder] = {}

    def sync(self) -> None:
        """Make the entries safe."""
        self.synced = dict(self.entries)


class Disk:
    """The files and folders below one, which calls change."""

    def __init__(self, root: Path) -> None:
        self._inodes: dict[int, File | Folder] = {}
        self._root = self._read(root)

    def apply(self, call: Call) -> None:
        """Make the change that a call has made."""
        if not call.succeeded:
            return
        # Descriptors are known by the inode: their file may have another name by now, or none.
        file = self._inodes.get(call.inode)
        match call.name:
            case "write":
                file.write(call.number, call.data)
            case "truncate":
                file.resize(call.number)
            case "extend":
                file.resize(max(call.number, len(file.data())))
            case "sync":
                file.sync()
            case "open" if call.number & os.O_TMPFILE == os.O_TMPFILE:
                self._inodes[call.inode] = File()
            case _:
                self._enter(call, *self._find(call.to or call.path))

    def now(self) -> Image:
        """Give what the disk holds while the power lasts."""
        return _image(self._root)

    def without_data(self) -> Iterator[Image]:
        """Give the disks on which data that were not synced are lost: all of them, or half."""
        yield _image(self._root, share=0)
        yield _image(self._root, share=0.5)

    def without_entries(self) -> Iterator[Image]:
        """Give the disks on which changes of folders that were not synced are undone.

        Those of one folder, those of all, and of all together with data that were not synced.
        """
        unsafe = [folder for folder in _folders(self._root) if folder.entries != folder.synced]
        for folder in unsafe:
            yield _image(self._root, [folder])
        yield _image(self._root, unsafe)
        yield _image(self._root, unsafe, share=0)

    def _read(self, path: Path) -> File | Folder:
        if path.is_dir():
            node = Folder()
            node.entries = {inside.name: self._read(inside) for inside in path.iterdir()}
            node.sync()
        else:
            node = File(path.read_bytes())
        self._inodes[path.stat().st_ino] = node
        return node

    def _enter(self, call: Call, folder: Folder, name: str) -> None:
        match call.name:
            case "open" if name not in folder.entries:
                folder.entries[name] = self._inodes[call.inode] = File()
            case "open":
                if call.number & os.O_TRUNC:
                    folder.entries[name].resize(0)
            case "mkdir":
                folder.entries[name] = self._inodes[call.inode] = Folder()
            case "unlink" | "rmdir":
                del folder.entries[name]
            case "rename":
                old_folder, old_name = self._find(call.path)
                folder.entries[name] = old_folder.entries.pop(old_name)
            case "link":
                folder.entries[name] = self._inodes[call.inode]
            case _:
                raise NotImplementedError(f"a call that cannot be replayed: {call}")

    def _find(self, path: str) -> tuple[Folder, str]:
        folder = self._root
        *parents, name = Path(path).parts
        for parent in parents:
            folder = folder.entries[parent]
        return folder, name


def _folders(folder: Folder) -> Iterator[Folder]:
    yield folder
    for node in (folder.synced | folder.entries).values():
        if isinstance(node, Folder):
            yield from _folders(node)


def _image(
    folder: Folder, undone: Collection[Folder] = (), *, share: float = 1.0, under: str = ""
) -> Image:
    image: Image = {}
    for name, node in (folder.synced if folder in undone else folder.entries).items():
        path = os.path.join(under, name)
        if isinstance(node, Folder):
            image[path] = None
            image |= _image(node, undone, share=share, under=path)
        else:
            image[path] = node.data(share)
    return image


def lay(image: Image, root: Path) -> None:
    """Write an image into an empty folder."""
    for path, data in image.items():
        if data is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(data)

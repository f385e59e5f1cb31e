"""A collection of format 1, read once more, and what becomes of its files when it is replaced."""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from likewise.collection.documents import Documents
from likewise.collection.files import Seal, check_content, sync_folder, write_bytes
from likewise.collection.layout import POINTER, WORK
from likewise.collection.manifest import FORMAT
from likewise.compiled import Ints
from likewise.errors import DamagedError, FormatError, NotACollection, UsageError
from likewise.records import Document
from likewise.text.analysis import Analysis
from likewise.text.table import Strings

VERSION = 1
KEPT = "format-1"
# What is to become of the old files, written before the commit that takes their place: the old
# manifest where they are kept, else nothing. Only where it stands is anything moved or removed.
_REPLACED = "replaced-format-1"
_FOLDERS = ("segments", "models", "derived")
_FOLDER = re.compile(r"[0-9]{6}")


def is_old(folder: Path) -> bool:
    """Tell whether a folder holds a collection of format 1."""
    try:
        outer = orjson.loads((folder / POINTER).read_bytes())
        return (outer["format"], outer["version"]) == (FORMAT, VERSION)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def note_replaced(folder: Path, *, keep: bool) -> None:
    """Note that the next commit takes the place of a collection of format 1."""
    old = (folder / POINTER).read_bytes() if keep else b""
    write_bytes(folder / WORK / _REPLACED, old)
    sync_folder(folder / WORK)
    sync_folder(folder)


def remove_replaced(folder: Path) -> None:
    """Remove the files of format 1 whose place was taken, or move them aside where they are kept.

    What has other names than ours is somebody's, and stays.
    """
    note = folder / WORK / _REPLACED
    if not note.exists():
        return
    # Else there was no commit after it.
    if not is_old(folder):
        ours = [name for name in _FOLDERS if _is_ours(folder / name)]
        old = note.read_bytes()
        if old:
            _keep(folder, ours, old)
        for name in ours:
            shutil.rmtree(folder / name)
        sync_folder(folder)
    note.unlink()


def _keep(folder: Path, names: Sequence[str], manifest: bytes) -> None:
    """Put the old files into a folder of their own, from which an older likewise can read them.

    They are there under both names before the old ones go: a rename that is not yet on the disk
    when the power fails may be there by half.
    """
    kept = folder / KEPT
    kept.mkdir(exist_ok=True)
    for name in names:
        shutil.copytree(folder / name, kept / name, copy_function=_link, dirs_exist_ok=True)
    write_bytes(kept / POINTER, manifest)
    for path in (folder, kept, *kept.rglob("*")):
        if path.is_dir():
            sync_folder(path)


def _link(source: str, to: str) -> None:
    with suppress(FileExistsError):
        os.link(source, to)


def _is_ours(folder: Path) -> bool:
    return folder.is_dir() and all(
        _FOLDER.fullmatch(path.name) and path.is_dir() for path in folder.iterdir()
    )


class Fitted(NamedTuple):
    """A model or a graph of terms: its arrays by the names of their files, and its JSON file."""

    name: str
    kind: str
    folder: str
    arrays: Mapping[str, NDArray[Any]]
    about: Mapping[str, Any]


class Format1:
    """A collection of format 1; every file is checked when it is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / POINTER
        try:
            outer = orjson.loads(path.read_bytes())
            known, version = outer["format"] == FORMAT, outer["version"]
        except (FileNotFoundError, NotADirectoryError):
            raise NotACollection(f"{folder} is not a collection") from None
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise NotACollection(f"{path}: cannot be read ({reason})") from None
        except (ValueError, KeyError, TypeError):
            raise DamagedError(f"{path}: not a manifest; restore it from a copy") from None
        if not known:
            raise NotACollection(f"{path}: not a manifest of {FORMAT}")
        if version != VERSION:
            raise FormatError(f"{folder} has format {version}: there is nothing to upgrade")
        body = outer.get("collection")
        if zlib.crc32(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)) != outer.get("crc"):
            raise DamagedError(
                f"{path}: its content was altered (checksum); restore it from a copy"
            )
        self.crc: int = outer["crc"]
        try:
            self.generation: int = body["generation"]
            self.analysis = Analysis.from_json(body["analysis"])
        except (ValueError, KeyError, TypeError, UsageError):
            raise DamagedError(f"{path}: not a manifest; restore it from a copy") from None
        # The first collections had neither models nor what is derived from them.
        self._body: Mapping[str, Any] = {"models": [], "derived": []} | body

    @property
    def n_docs(self) -> int:
        """How many documents are not deleted."""
        return sum(
            entry["n_docs"] - (entry["deleted"]["n_docs"] if entry["deleted"] else 0)
            for entry in self._body["segments"]
        )

    @property
    def n_bytes(self) -> int:
        """How large its files are."""
        parts = [*self._body["segments"], *self._body["models"], *self._body["derived"]]
        parts += [entry["deleted"] for entry in self._body["segments"] if entry["deleted"]]
        return sum(size for part in parts for size, _ in part["files"].values())

    def terms(self) -> Strings:
        """Give all terms in the order of their numbers."""
        return Strings.joined(
            [
                Strings(
                    self._array("segments", entry, "terms"),
                    self._array("segments", entry, "terms-offsets"),
                )
                for entry in self._body["segments"]
            ]
        )

    def lengths(self) -> Ints:
        """Give the numbers of terms of the documents that are not deleted, in order."""
        found = [np.empty(0, np.int64)]
        for entry in self._body["segments"]:
            found.append(self._array("segments", entry, "lengths")[self._live(entry)])
        return np.concatenate(found).astype(np.int64)

    def documents(self, first: int = 0) -> Iterator[Document]:
        """Go through the documents that are not deleted, from the `first` on."""
        passed = 0
        for entry in self._body["segments"]:
            live = self._live(entry)
            if passed + int(live.sum()) <= first:
                passed += int(live.sum())
                continue
            folder = self.folder / "segments" / entry["name"]
            self._check("segments", entry, "documents.jsonl.zst")
            blocks = self._array("segments", entry, "document-blocks").reshape(-1, 2)
            documents = Documents(folder / "documents.jsonl.zst", blocks)
            for block in range(documents.n_blocks):
                start, some = documents.block(block)
                for document, alive in zip(some, live[start : start + len(some)], strict=True):
                    if alive:
                        passed += 1
                        if passed > first:
                            yield document

    def fitted(self) -> Iterator[Fitted]:
        """Go through models and graphs of terms, in the order in which they were fitted."""
        for entry in self._body["models"]:
            arrays, about = self._whole("models", entry)
            yield Fitted(entry["name"], entry["kind"], entry["folder"], arrays, about)

    def noted(self, kind: str, model: str) -> Mapping[str, Any] | None:
        """Give the plain values that were derived from the model of a folder, such as weights."""
        for entry in self._body["derived"]:
            if (entry["kind"], entry["model"]) == (kind, model):
                return self._whole("derived", entry)[1]
        return None

    def _whole(
        self, root: str, entry: Mapping[str, Any]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, about = {}, {}
        for name in entry["files"]:
            if name.endswith(".npy"):
                arrays[name.removesuffix(".npy")] = self._array(root, entry, name[:-4])
            else:
                self._check(root, entry, name)
                path = self.folder / root / entry["folder"] / name
                about = orjson.loads(path.read_bytes())
        return arrays, about

    def _live(self, entry: Mapping[str, Any]) -> NDArray[np.bool_]:
        live = np.ones(entry["n_docs"], np.bool_)
        if entry["deleted"]:
            live[self._array("segments", entry["deleted"], "docs")] = False
        return live

    def _array(self, root: str, entry: Mapping[str, Any], name: str) -> NDArray[Any]:
        self._check(root, entry, f"{name}.npy")
        folder = entry.get("folder") or entry["name"]
        # Copy-on-write, so that kernels compiled for writable arrays take it.
        found = np.load(self.folder / root / folder / f"{name}.npy", mmap_mode="c")
        return np.asarray(found)

    def _check(self, root: str, entry: Mapping[str, Any], name: str) -> None:
        folder = entry.get("folder") or entry["name"]
        check_content(self.folder / root / os.fspath(folder) / name, Seal(*entry["files"][name]))

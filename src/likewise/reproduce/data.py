"""Which collections are there, and how are they opened?

A collection is a folder of `--data`, an id of ir_datasets (`ir:cranfield`), or `docstrings`, which
is there on every machine. Each is indexed once, beside the results, under a hash of its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import build
from likewise.errors import UsageError
from likewise.evaluate.queries import read_queries
from likewise.evaluate.trec import Qrels, read_qrels
from likewise.records import Document, Query
from likewise.sources import open_source

DOCSTRINGS = "docstrings"
_PACKAGES = ("numpy", "scipy", "scikit-learn")
_READ = 1 << 20

Watch = Callable[[str], None]


@dataclass(frozen=True)
class Ready:
    """An indexed collection; `folder` is where it came from, with whatever else is there."""

    name: str
    folder: Path | None
    snapshot: Snapshot

    @cached_property
    def qrels(self) -> Qrels:
        """Its judgements, or raise."""
        return read_qrels(self._file("qrels.txt"))

    @cached_property
    def queries(self) -> list[Query]:
        """Its queries that something is relevant to."""
        asked = read_queries(self._file("queries.jsonl"))
        return [query for query in asked if self.qrels.relevant(query.qid)]

    def file(self, name: str) -> Path | None:
        """Give another file of the folder it came from, if there is one."""
        path = self.folder / name if self.folder is not None else None
        return path if path is not None and path.exists() else None

    def _file(self, name: str) -> Path:
        path = self.file(name)
        if path is None:
            raise UsageError(f"the collection {self.name} has no {name}")
        return path


class Data:
    """Collections under a folder, and docstrings; `work` is where indexes are kept."""

    def __init__(self, folder: Path | None, work: Path, *, watch: Watch | None = None) -> None:
        if folder is not None and not folder.is_dir():
            raise UsageError(f"--data {folder}: there is no such folder")
        self.folder = folder
        self.work = work
        self._watch = watch or (lambda line: None)
        self._opened: dict[str, Ready] = {}
        self._hashes: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """The collections of the folder, in order."""
        if self.folder is None:
            return []
        return sorted({path.parent.name for path in self.folder.glob("*/corpus.jsonl*")})

    def has(self, name: str) -> bool:
        """Tell whether a collection is there."""
        return name == DOCSTRINGS or name.startswith("ir:") or self._corpus(name) is not None

    def hash_of(self, name: str) -> str:
        """Give a hash of a collection's content; of docstrings, of their packages' versions."""
        if name not in self._hashes:
            digest = blake2b(name.encode(), digest_size=10)
            if self._corpus(name) is None:
                digest.update(python_version().encode())
                for package in _PACKAGES:
                    digest.update(_version(package).encode())
            else:
                assert self.folder is not None
                for path in sorted((self.folder / name).iterdir()):
                    if path.is_file():
                        digest.update(path.name.encode())
                        _hash_file(path, digest)
            self._hashes[name] = digest.hexdigest()
        return self._hashes[name]

    def open(self, name: str) -> Ready:
        """Open a collection, indexed first if it is not."""
        if name not in self._opened:
            if not self.has(name):
                where = self.folder or "what is there without --data"
                raise UsageError(f"there is no collection {name!r} in {where}")
            corpus = self._corpus(name)
            plain = name.replace(":", "-").replace("/", "-")
            source = corpus or (name if name.startswith("ir:") else f"{name}:")
            snapshot = self.indexed(
                f"{plain}-{self.hash_of(name)}", lambda: open_source(source), what=name
            )
            folder = corpus.parent if corpus is not None else None
            self._opened[name] = Ready(name, folder, snapshot)
        return self._opened[name]

    def indexed(
        self, key: str, documents: Callable[[], Iterable[Document]], *, what: str
    ) -> Snapshot:
        """Open the index of documents that is kept under a key, made first if there is none."""
        index, aside = self.work / f"{key}.lw", self.work / f"{key}.new"
        if not index.exists():
            self._watch(f"indexing {what}")
            self.work.mkdir(parents=True, exist_ok=True)
            # Aside, and then renamed: a run that was broken off leaves no part of an index.
            build(aside, documents(), overwrite=True)
            aside.rename(index)
        return open_snapshot(index)

    def _corpus(self, name: str) -> Path | None:
        if self.folder is None or name.startswith("ir:"):
            return None
        found = sorted((self.folder / name).glob("corpus.jsonl*"))
        return found[0] if found else None


def _hash_file(path: Path, digest: blake2b) -> None:
    with path.open("rb") as file:
        while piece := file.read(_READ):
            digest.update(piece)


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package

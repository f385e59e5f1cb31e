"""Which collections are there, what can be asked of each, and how are they opened?

A collection is a folder with `corpus.jsonl[.gz]`, an id of ir_datasets (`ir:cranfield`), or
`docstrings`, which is there on every machine. What it serves for is known by what it has, not by
its name. Each is indexed once, beside the results, under a hash of its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from platform import python_version
from typing import NamedTuple

from likewise.collection.creating import build
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.errors import SourceError, UsageError
from likewise.evaluate.queries import read_queries
from likewise.evaluate.trec import Qrels, read_qrels
from likewise.records import Document, Query
from likewise.sources import Columns, open_source
from likewise.sources.docstrings import JUDGED_FIELD
from likewise.sources.irdatasets import IrDataset
from likewise_papers.titles import judged_titles

DOCSTRINGS = "docstrings"
# Kinds of collections. One is of the first kind that fits it: queries with judgements, papers with
# abstracts and bodies, or documents whose labels or links tell which are alike.
JUDGED, PAPERS, ALIKE = "judged", "papers", "alike"
# The fields that tell which documents are alike: of the same label, or linked.
LABELS, LINKS = ("categories", "category"), ("links", JUDGED_FIELD)
# What docstrings have instead of labels.
_MODULES = ("module",)
_PAPER = {"abstract", "body"}
_QUERIES, _QRELS = "queries.jsonl", "qrels.txt"
_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst")
_CATALOGUE = "ir:"
_UNJUDGED = "this dataset of ir_datasets has no queries with judgements"
_NOTHING = (
    f"there is nothing to ask it: it has no {_QUERIES} with {_QRELS}, and its documents have no "
    f"abstract with a body, and none of the fields {', '.join((*LABELS, *LINKS))}"
)
_PACKAGES = ("numpy", "scipy", "scikit-learn")
_LOOKED_AT = 100
_READ = 1 << 20

Given = str | Path
Watch = Callable[[str], None]


@dataclass(frozen=True)
class Ready:
    """An indexed collection, and where its queries and judgements are read from, if anywhere."""

    name: str
    snapshot: Snapshot
    read: Callable[[], tuple[list[Query], Qrels]] | None = None

    @property
    def queries(self) -> list[Query]:
        """Its queries that something is relevant to, or raise."""
        return self._judged[0]

    @property
    def qrels(self) -> Qrels:
        """The judgements of these queries."""
        return self._judged[1]

    @cached_property
    def _judged(self) -> tuple[list[Query], Qrels]:
        if self.read is not None:
            asked, judged = self.read()
        else:
            documents = (document for _, document in self.snapshot.documents())
            asked, judged = judged_titles(documents, JUDGED_FIELD, itself=True)
        kept = [query for query in asked if judged.relevant(query.qid)]
        if not kept:
            raise UsageError(f"nothing is relevant to any query of the collection {self.name}")
        return kept, Qrels({query.qid: judged[query.qid] for query in kept})


class _Look(NamedTuple):
    """What the first documents of a collection have: fields, and which is their text."""

    fields: frozenset[str]
    text: str = "text"


class Data:
    """Collections that were given (folders of them, ids of ir_datasets), and docstrings.

    `work` is where indexes are kept.
    """

    def __init__(self, given: Sequence[Given], work: Path, *, watch: Watch | None = None) -> None:
        self.work = work
        self._watch = watch or (lambda line: None)
        self._folders: dict[str, Path] = {}
        self._catalogued: list[str] = []
        self._kinds: dict[str, str] = {}
        self._looks: dict[str, _Look] = {}
        # Collections that nothing can be asked of, and why.
        self.left_out: dict[str, str] = {}
        self._opened: dict[str, Ready] = {}
        self._hashes: dict[str, str] = {}
        for one in given:
            self._take(one)

    @property
    def names(self) -> list[str]:
        """The collections that were given, in order of their names."""
        return sorted({*self._folders, *self._catalogued})

    def has(self, name: str) -> bool:
        """Tell whether a collection is there."""
        return name == DOCSTRINGS or name in self._folders or name in self._catalogued

    def of(self, kinds: Sequence[str]) -> tuple[str, ...]:
        """Give the collections of some kinds; docstrings, which serve as any, where there are none.

        Their titles are queries then, and the first paragraphs of their texts abstracts.
        """
        if not kinds:
            return ()
        found = tuple(name for name in self.names if self.kind_of(name) in kinds)
        return found or (DOCSTRINGS,)

    def kind_of(self, name: str) -> str:
        """Give what a collection serves for; "" if nothing can be asked of it, which is told."""
        if name not in self._kinds:
            try:
                self._kinds[name] = self._kind(name)
            except SourceError as error:
                self._kinds[name] = ""
                self.left_out[name] = str(error)
            else:
                if not self._kinds[name]:
                    catalogued = name in self._catalogued
                    self.left_out[name] = _UNJUDGED if catalogued else _NOTHING
        return self._kinds[name]

    def fields_of(self, name: str) -> frozenset[str]:
        """Give the fields that the first documents of a collection have."""
        return self._look(name).fields

    def label_of(self, name: str) -> str:
        """Give the field that holds the labels of documents, or "" if none does."""
        fields = self.fields_of(name)
        return next((field for field in (*LABELS, *_MODULES) if field in fields), "")

    def corpus_of(self, name: str) -> Path | None:
        """Give the file that a collection's documents are read from, if it is a folder's."""
        return _corpus(self._folders[name]) if name in self._folders else None

    def hash_of(self, name: str) -> str:
        """Give a hash of a collection's content; of what packages give, of their versions."""
        if name not in self._hashes:
            digest = blake2b(name.encode(), digest_size=10)
            if name in self._folders:
                with _reading(self._folders[name]):
                    for path in sorted(self._folders[name].iterdir()):
                        if path.is_file():
                            digest.update(path.name.encode())
                            _hash_file(path, digest)
            elif name in self._catalogued:
                digest.update(package_version("ir_datasets").encode())
            else:
                digest.update(python_version().encode())
                for package in _PACKAGES:
                    digest.update(package_version(package).encode())
            self._hashes[name] = digest.hexdigest()
        return self._hashes[name]

    def open(self, name: str) -> Ready:
        """Open a collection, indexed first if it is not."""
        if name not in self._opened:
            if not self.has(name):
                there = ", ".join(self.names) or "none but docstrings"
                raise UsageError(f"there is no collection {name!r}; given are: {there}")
            plain = name.replace(":", "-").replace("/", "-")
            look = self._look(name)
            snapshot = self.indexed(
                f"{plain}-{self.hash_of(name)}-{look.text}",
                lambda: open_source(self._source(name), columns=Columns(text=(look.text,))),
                what=name,
            )
            self._opened[name] = Ready(name, snapshot, self._asking(name))
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

    def _look(self, name: str) -> _Look:
        """Look at the first documents of a folder: the others are known."""
        if name not in self._looks:
            found = _Look(frozenset({JUDGED_FIELD, *_MODULES} if name == DOCSTRINGS else ()))
            if name in self._folders:
                # By ids for titles, as a document needs either or a text.
                columns = Columns(title="id")
                first = [*islice(open_source(self._source(name), columns=columns), _LOOKED_AT)]
                fields = frozenset(field for document in first for field in document.fields)
                bare = "abstract" in fields and not any(document.text for document in first)
                found = _Look(fields, "abstract" if bare else "text")
            self._looks[name] = found
        return self._looks[name]

    def _asking(self, name: str) -> Callable[[], tuple[list[Query], Qrels]] | None:
        if name == DOCSTRINGS:
            return None

        def read() -> tuple[list[Query], Qrels]:
            queries, qrels = name, name
            if name in self._folders:
                queries, qrels = (str(self._folders[name] / file) for file in (_QUERIES, _QRELS))
            return read_queries(queries), read_qrels(qrels)

        return read

    def _take(self, given: Given) -> None:
        if str(given).startswith(_CATALOGUE):
            self._catalogued.append(str(given))
            return
        folder = Path(given)
        with _reading(folder):
            if not folder.is_dir():
                raise UsageError(f"{folder}: there is no such folder of collections")
            found = [folder] if _corpus(folder) else [*filter(_corpus, sorted(folder.iterdir()))]
        if not found:
            raise UsageError(
                f"{folder}: neither it nor any of its folders has a corpus.jsonl; a collection is "
                "a folder with that file in it"
            )
        for one in found:
            name = one.absolute().name
            if name == DOCSTRINGS or name.startswith(_CATALOGUE):
                raise UsageError(f"{one}: a collection cannot be called {name}; rename the folder")
            if self._folders.get(name, one).resolve() != one.resolve():
                raise UsageError(
                    f"two collections are called {name}: {self._folders[name]} and {one}; rename "
                    "one of them"
                )
            self._folders[name] = one

    def _kind(self, name: str) -> str:
        if name in self._catalogued:
            dataset = IrDataset(name.removeprefix(_CATALOGUE))
            return JUDGED if dataset.is_judged else ""
        folder = self._folders[name]
        if (folder / _QUERIES).exists() and (folder / _QRELS).exists():
            return JUDGED
        fields = self.fields_of(name)
        if fields >= _PAPER:
            return PAPERS
        return ALIKE if fields & {*LABELS, *LINKS} else ""

    def _source(self, name: str) -> str | Path:
        if name in self._folders:
            found = _corpus(self._folders[name])
            assert found is not None
            return found
        return name if name in self._catalogued else f"{name}:"


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say what the operating system does not let be read."""
    try:
        yield
    except OSError as error:
        place = str(error.filename or path)
        raise SourceError(place, f"cannot be read: {error.strerror or error}") from error


def _corpus(folder: Path) -> Path | None:
    found = [path for name in _CORPUS if (path := folder / name).is_file()]
    if len(found) > 1:
        named = " and ".join(path.name for path in found)
        raise UsageError(f"{folder}: there are {named}; leave one of them")
    return found[0] if found else None


def _hash_file(path: Path, digest: blake2b) -> None:
    with path.open("rb") as file:
        while piece := file.read(_READ):
            digest.update(piece)


def package_version(package: str) -> str:
    """Give the name of a package with its version, if it is installed."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from likewise.errors import MissingExtra, SourceError, UsageError
from likewise.sources import Columns, open_source
from likewise.sources.irdatasets import IrDataset

ir_datasets = pytest.importorskip("ir_datasets")


class Paper(NamedTuple):
    doc_id: str
    title: str
    abstract: str
    year: int

    def default_text(self):
        return f"{self.title} {self.abstract}"


class Topic(NamedTuple):
    query_id: str
    title: str

    def default_text(self):
        if self.title is None:
            raise AttributeError("no text")
        return self.title


class Bare(NamedTuple):
    query_id: str
    text: str


class Judgement(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int


class Catalogue:
    def __init__(self, items):
        self._items = items

    def _of(self, kind):
        return [item for item in self._items if isinstance(item, kind | Exception)]

    def _iter(self, kind):
        for item in self._of(kind):
            if isinstance(item, Exception):
                raise item
            yield item

    def has_docs(self):
        return True

    def has_queries(self):
        return bool(self._of(Topic | Bare))

    def has_qrels(self):
        return bool(self._of(Judgement))

    def docs_iter(self):
        return self._iter(Paper)

    def queries_iter(self):
        return self._iter(Topic | Bare)

    def qrels_iter(self):
        return self._iter(Judgement)


@pytest.fixture
def catalogue(monkeypatch):
    def install(*items):
        monkeypatch.setattr(ir_datasets, "load", lambda name: Catalogue(items))

    return install


def test_default_text_where_there_is_no_text_column(catalogue):
    catalogue(Paper("a", "T", "A", 1999))
    source = open_source("ir:x")
    (document,) = source
    assert document == ("a", "", "T A", {"abstract": "A", "year": 1999}, "ir:x:1")
    assert (source.name, source.done, source.total) == ("ir:x", 1, None)


def test_named_columns_come_first(catalogue):
    catalogue(Paper("a", "T", "A", 1999))
    (document,) = open_source("ir:x", columns=Columns(text=("abstract",)))
    assert document[:4] == ("a", "T", "A", {"year": 1999})


def test_bad_documents(catalogue):
    catalogue(Paper("", "T", "A", 1), Paper("b", "T", "A", 2))
    with pytest.raises(SourceError, match=r"ir:x:1: the id in column 'id' is empty"):
        list(open_source("ir:x"))
    bad = []
    assert [d.id for d in open_source("ir:x", on_bad=bad.append)] == ["b"]
    assert len(bad) == 1


def test_whatever_its_readers_raise_is_a_source_error(catalogue):
    catalogue(Paper("a", "T", "A", 1), RuntimeError("no network"))
    with pytest.raises(SourceError, match=r"ir:x:2: .*no network"):
        list(open_source("ir:x", on_bad=lambda error: None))


def test_queries_and_judgements(catalogue):
    catalogue(Topic("q", "what?"), Judgement("q", "a", 1), Judgement("q", "b", 0))
    dataset = IrDataset("x")
    assert dataset.is_judged
    assert [query[:2] for query in dataset.queries()] == [("q", "what?")]
    assert list(dataset.judgements()) == [("q", "a", 1), ("q", "b", 0)]
    catalogue(Paper("a", "T", "A", 1))
    bare = IrDataset("x")
    assert not bare.is_judged
    for what, name in ((bare.queries, "queries"), (bare.judgements, "judgements")):
        with pytest.raises(UsageError, match=f"ir:x: this dataset of ir_datasets has no {name}"):
            list(what())
    catalogue(Bare("q", "what?"))
    assert [query[:2] for query in IrDataset("x").queries()] == [("q", "what?")]
    catalogue(Topic("q", None), Judgement("q", "a", 1))
    with pytest.raises(SourceError, match=r"ir:x:1: .*next query: .*no text"):
        list(IrDataset("x").queries())
    catalogue(Topic("q", "what?"), RuntimeError("no network"))
    with pytest.raises(SourceError, match=r"ir:x:2: .*next query: .*no network"):
        list(IrDataset("x").queries())


def test_an_unknown_id():
    with pytest.raises(UsageError, match=r"no dataset 'nothing/like-this'"):
        open_source("ir:nothing/like-this")


def test_without_the_package_the_message_is_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'likewise\[ir\]'"):
        open_source("ir:cranfield")


def test_cranfield(real, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(real("ir_datasets_home"), home)
    code = (
        "from likewise.evaluate import read_qrels, read_queries;"
        "print(len(read_queries('ir:cranfield')), len(read_qrels('ir:cranfield')));"
        "from likewise.sources import open_source; s = open_source('ir:cranfield'); d = list(s);"
        "print(len(d), s.done, s.total, d[0].id, d[0].place, sorted(d[0].fields), d[0].title[:12])"
    )
    # Its home is read once, at import, so that another process is needed.
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "IR_DATASETS_HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[:2] == [
        "225 225",
        "1400 1400 1400 1 ir:cranfield:1 ['author', 'bib'] experimental",
    ]

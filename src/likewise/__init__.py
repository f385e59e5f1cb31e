"""Find the documents like this one, on one CPU, and say exactly why.

import likewise as lw

c = lw.index("papers.jsonl", to="papers.lw")
print(c.search("boundary layer transition"))
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.collection.build import Resources
    from likewise.engine.answers import Answer, Answers
    from likewise.engine.collection import Collection, open
    from likewise.engine.indexing import index
    from likewise.errors import LikewiseError
    from likewise.evaluate import (
        Qrels,
        Run,
        compare,
        read_qrels,
        read_queries,
        read_run,
        write_qrels,
        write_run,
    )
    from likewise.evaluate.fusion import fuse_runs
    from likewise.evaluate.risk import measure_risk
    from likewise.expand.feedback import KL, RM1, RM3, Bo1, Rocchio
    from likewise.expand.graph import Associated
    from likewise.expand.ranked import RankedRM
    from likewise.expand.robust import Robust
    from likewise.like.near import Near
    from likewise.like.smooth import Smoothing
    from likewise.models.bags import Sample
    from likewise.models.ddm import DDM, LDA
    from likewise.models.klsa import KLSA
    from likewise.models.subspace import LSI
    from likewise.models.supplied import Supplied
    from likewise.models.triple import Triples
    from likewise.neighbours.certified import nearest_certified
    from likewise.neighbours.index import Neighbours, build_neighbours
    from likewise.neighbours.store import open_neighbours
    from likewise.records import Document, Filter, Query, QueryDocument, Ranking
    from likewise.retrieve import BM25, TFIDF, JelinekMercer, QueryLikelihood
    from likewise.sources import Columns, open_source
    from likewise.stages import Cut, Result, Stage, fuse
    from likewise.stages.reading import stage
    from likewise.terms.nearness import Nearness
    from likewise.terms.related import TermGraph
    from likewise.text.analysis import Analysis

# A library is quiet unless the program that uses it wants to hear.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__version__ = "0.1.0"

# Names are imported when they are first used: `import likewise` costs nothing.
_ROOMS = {
    "likewise.engine.answers": ("Answer", "Answers"),
    "likewise.engine.collection": ("Collection", "open"),
    "likewise.engine.indexing": ("index",),
    "likewise.collection.build": ("Resources",),
    "likewise.errors": ("LikewiseError",),
    "likewise.evaluate": (
        "Qrels",
        "Run",
        "compare",
        "read_qrels",
        "read_queries",
        "read_run",
        "write_qrels",
        "write_run",
    ),
    "likewise.evaluate.fusion": ("fuse_runs",),
    "likewise.evaluate.risk": ("measure_risk",),
    "likewise.expand.feedback": ("KL", "RM1", "RM3", "Bo1", "Rocchio"),
    "likewise.expand.graph": ("Associated",),
    "likewise.expand.ranked": ("RankedRM",),
    "likewise.expand.robust": ("Robust",),
    "likewise.like.near": ("Near",),
    "likewise.models.bags": ("Sample",),
    "likewise.models.ddm": ("DDM", "LDA"),
    "likewise.models.subspace": ("LSI",),
    "likewise.models.supplied": ("Supplied",),
    "likewise.models.triple": ("Triples",),
    "likewise.neighbours.certified": ("nearest_certified",),
    "likewise.neighbours.index": ("Neighbours", "build_neighbours"),
    "likewise.neighbours.store": ("open_neighbours",),
    "likewise.records": ("Document", "Filter", "Query", "QueryDocument", "Ranking"),
    "likewise.retrieve": ("BM25", "TFIDF", "JelinekMercer", "QueryLikelihood"),
    "likewise.models.klsa": ("KLSA",),
    "likewise.like.smooth": ("Smoothing",),
    "likewise.sources": ("Columns", "open_source"),
    "likewise.stages": ("Cut", "Result", "Stage", "fuse"),
    "likewise.stages.reading": ("stage",),
    "likewise.terms.nearness": ("Nearness",),
    "likewise.terms.related": ("TermGraph",),
    "likewise.text.analysis": ("Analysis",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "BM25",
    "DDM",
    "KL",
    "KLSA",
    "LDA",
    "LSI",
    "RM1",
    "RM3",
    "TFIDF",
    "Analysis",
    "Answer",
    "Answers",
    "Associated",
    "Bo1",
    "Collection",
    "Columns",
    "Cut",
    "Document",
    "Filter",
    "JelinekMercer",
    "LikewiseError",
    "Near",
    "Nearness",
    "Neighbours",
    "Qrels",
    "Query",
    "QueryDocument",
    "QueryLikelihood",
    "RankedRM",
    "Ranking",
    "Resources",
    "Result",
    "Robust",
    "Rocchio",
    "Run",
    "Sample",
    "Smoothing",
    "Stage",
    "Supplied",
    "TermGraph",
    "Triples",
    "build_neighbours",
    "compare",
    "fuse",
    "fuse_runs",
    "index",
    "measure_risk",
    "nearest_certified",
    "open",
    "open_neighbours",
    "open_source",
    "read_qrels",
    "read_queries",
    "read_run",
    "stage",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'likewise' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

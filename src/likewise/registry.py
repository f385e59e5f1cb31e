"""Tables of names: what each stands for is imported when it is first asked for.

So no room imports one above it, and a command loads what it uses only. A name that is in no table,
and only then, is looked for among the entry points of installed packages: in the group
`likewise.search` for searches, and so on. So a package can add names, but not replace one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Searches: what finds documents for a query.
SEARCHES = {
    "bm25": "likewise.retrieve.models:BM25",
    "ql": "likewise.retrieve.models:QueryLikelihood",
    "ql-jm": "likewise.retrieve.models:JelinekMercer",
    "tfidf": "likewise.retrieve.models:TFIDF",
    "inner": "likewise.retrieve.models:InnerProduct",
    "near": "likewise.like.near:Near",
    "hybrid": "likewise.like.hybrid:Hybrid",
}

# Expanders: what gives a query other terms.
EXPANDERS = {
    "bo1": "likewise.expand.feedback:Bo1",
    "graph": "likewise.expand.graph:GraphExpander",
    "kl": "likewise.expand.feedback:KL",
    "rm1": "likewise.expand.feedback:RM1",
    "rm3": "likewise.expand.feedback:RM3",
    "robust": "likewise.expand.robust:Robust",
    "rocchio": "likewise.expand.feedback:Rocchio",
    "rrm": "likewise.expand.feedback:RankedRM",
}

# What smooths a ranking.
SMOOTHINGS = {"klsa": "likewise.like.smooth:Smoothing"}

# What goes by how words are spelled, where they stand, and what they found first.
PLACES = {
    "exact": "likewise.retrieve.exact:ExactWords",
    "keep": "likewise.retrieve.keep:Keep",
    "proximity": "likewise.retrieve.proximity:Proximity",
}

# Finders: indexes that propose the vectors near a query.
FINDERS = {
    "auto": "likewise.neighbours.choose:Auto",
    "scan": "likewise.neighbours.scan:Scan",
    "lists": "likewise.neighbours.lists:Lists",
    "ivf": "likewise.neighbours.ivf:IVF",
}

# Placements: how a set of terms is given a place on a term graph.
PLACEMENTS = {"mean": "likewise.terms.sets:Mean"}

# Commands: the module of `app/commands` that has each, and what it does in a line.
COMMANDS = {
    "index": ("index", "make a collection of documents"),
    "add": ("index", "add documents to a collection"),
    "delete": ("index", "delete documents by id"),
    "merge": ("index", "merge a collection into one segment"),
    "info": ("info", "describe a collection"),
    "show": ("info", "show one document"),
    "copy": ("maintain", "copy a collection, whole"),
    "clean": ("maintain", "remove what nobody needs"),
    "upgrade": ("maintain", "bring a collection to the format of this version"),
    "like": ("like", "find documents like the one in hand"),
    "search": ("search", "find documents that match a query"),
    "run": ("search", "answer many queries, as a TREC run"),
    "term-graph": ("term_graph", "make the graph of terms that are said together"),
    "terms": ("terms", "find the terms nearest to some"),
    "distance": ("terms", "tell how near two texts are by their terms"),
    "predict-terms": ("terms", "tell which terms a document can be expected to mention"),
    "perturb": ("perturb", "show which words move together as a query changes"),
    "fit": ("fit", "fit a model of the documents"),
    "topics": ("decompose", "list the topics of a model"),
    "decompose": ("decompose", "show what a document is made of"),
    "neighbours": ("neighbours", "find the nearest documents in a model's space"),
    "fuse": ("fuse", "fuse TREC runs into one"),
    "qrels": ("evaluate", "make judgements from metadata"),
    "tune": ("evaluate", "learn the focus of likeness from judgements"),
    "eval": ("evaluate", "measure runs against judgements"),
    "risk": ("risk", "measure what expansion gains and risks"),
    "demo": ("demo", "show the main jobs on docstrings"),
    "compile": ("compile", "compile ahead what is compiled when first used"),
    "completion": ("completion", "print what a shell needs to complete commands"),
}

# Kinds of derived data.
KINDS = {
    "model": "likewise.models.kinds:MODEL",
    "vectors": "likewise.models.kinds:VECTORS",
    "finder": "likewise.models.kinds:FINDER",
    "graph": "likewise.terms.kinds:GRAPH",
    "pairs": "likewise.terms.kinds:PAIRS",
    "prepared": "likewise.terms.kinds:PREPARED",
}

# What is computed from a kind of root, in the order of needs.
COMPUTED = {"model": ("vectors", "finder"), "graph": ("pairs", "prepared")}

# Models that can be fitted: their configurations.
CONFIGS = {
    "lsi": "likewise.models.lsi:LSI",
    "ddm": "likewise.models.ddm:DDM",
    "lda": "likewise.models.ddm:LDA",
    "lda-vb": "likewise.models.sklearn_models:OnlineLDA",
    "nmf": "likewise.models.sklearn_models:NMF",
    "categories": "likewise.models.categories:Categories",
    "vectors": "likewise.models.user_vectors:UserVectorsConfig",
    "klsa": "likewise.models.klsa:KLSA",
}

# Types of fitted models, by what their artifacts say.
MODELS = {
    "topics": "likewise.models.topics:TopicModel",
    "subspace": "likewise.models.subspace:Subspace",
    "vectors": "likewise.models.user_vectors:UserVectors",
    "klsa": "likewise.models.klsa:KernelRows",
    "klsa-given": "likewise.models.user_kernels:UserKernelRows",
}


class Table(Mapping[str, Any]):
    """Tables of names, read as if everything in them were imported already.

    After their own names come those that installed packages add to `groups` of entry points, which
    are only read where a name is not in the tables, or where all names are asked for.
    """

    def __init__(self, *tables: Mapping[str, str], groups: tuple[str, ...] = ()) -> None:
        self._places = {name: place for table in tables for name, place in table.items()}
        self._groups = groups

    def __getitem__(self, name: str) -> Any:
        if name in self._places:
            return _imported(self._places[name])
        return _loaded(self._added[name])

    def __contains__(self, name: object) -> bool:
        return name in self._places or name in self._added

    def __iter__(self) -> Iterator[str]:
        yield from self._places
        yield from (name for name in self._added if name not in self._places)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def _added(self) -> dict[str, EntryPoint]:
        return {name: entry for group in self._groups for name, entry in _entries(group).items()}


def look_up(table: Mapping[str, str], name: str) -> Any:
    """Import what a name stands for."""
    return _imported(table[name])


def command_added(name: str) -> Any:
    """Give the function that registers a command of another installed package, or None."""
    entry = _entries("likewise.commands").get(name)
    return _loaded(entry) if entry else None


def commands_added() -> list[str]:
    """List the commands of other installed packages."""
    return [name for name in _entries("likewise.commands") if name not in COMMANDS]


@cache
def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    """Read the entry points of a group, by name: that takes a tenth of a second or two."""
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{entry.name} is {entry.value} of an installed package, which cannot be imported "
            f"({error}); install that package anew"
        ) from error

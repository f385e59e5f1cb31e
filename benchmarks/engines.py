"""The engines side by side: each builds from raw text, and searches for the same terms."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson

from likewise import Collection
from likewise.collection.build import Resources
from likewise.collection.creating import create
from likewise.collection.snapshot import Snapshot
from likewise.collection.writer import Writer
from likewise.records import Document
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever
from likewise.text.analysis import Analysis

K1, B = 1.2, 0.75
Answer = tuple[np.ndarray, np.ndarray]


class Engine(Protocol):
    """One of those that are compared."""

    name: str
    keeps: str

    def prepare(self, queries: Sequence[Sequence[str]]) -> list[Any]:
        """Give queries the form that the engine takes, outside of the time."""
        ...

    def search(self, query: Any, k: int) -> Answer:
        """Answer a query, on one thread."""
        ...

    def answers(self, text: str, k: int) -> list[str]:
        """Give the titles that answer a text as it is typed."""
        ...


def build_ours(folder: Path, documents: Iterable[Document], *, threads: int = 1) -> None:
    create(folder, Analysis(title_weight=1))  # as the others count
    with Writer(folder) as writer:
        writer.add(documents, resources=Resources(threads=threads))


class Ours:
    name = "likewise"
    keeps = "postings, counts by document, sentences, text, ids (all mapped)"

    def __init__(self, folder: Path) -> None:
        self.collection = Collection(folder)
        self.snapshot = self.collection.snapshot
        self.retriever = Retriever(self.snapshot, BM25(K1, B))

    def prepare(self, queries: Sequence[Sequence[str]]) -> list[dict[str, float]]:
        return [dict.fromkeys(query, 1.0) for query in queries]

    def search(self, query: dict[str, float], k: int) -> Answer:
        [found] = self.retriever.rank([query], k=k)
        return found.docs, found.scores

    def answers(self, text: str, k: int) -> list[str]:
        # What its words were analysed to is the only thing that is kept of words.
        self.snapshot.analyzer._cache.clear()
        return [answer.title for answer in self.collection.search(text, k=k, method="bm25")]


def build_bm25s(folder: Path, documents: Sequence[Document]) -> None:
    import bm25s
    import Stemmer

    texts = [f"{document.title}\n\n{document.text}" for document in documents]
    tokens = bm25s.tokenize(texts, stemmer=Stemmer.Stemmer("porter"), show_progress=False)
    engine = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numba")
    engine.index(tokens, show_progress=False)
    engine.save(str(folder), corpus=texts, show_progress=False)


class Bm25s:
    name = "bm25s"
    keeps = "scores and documents by term, text; no ids, sentences or counts by document"

    def __init__(self, folder: Path) -> None:
        import bm25s
        import Stemmer

        self.engine = bm25s.BM25.load(str(folder), load_corpus=False, mmap=False)
        self.engine.backend = "numba"
        self.titles = orjson.loads((folder / "titles.json").read_bytes())
        self.stemmer = Stemmer.Stemmer("porter")

    @staticmethod
    def index_terms(folder: Path, snapshot: Snapshot) -> None:
        """Index the very terms of our collection."""
        import bm25s

        vocabulary = snapshot.terms(np.arange(snapshot.n_terms))
        counted = snapshot.term_counts(np.arange(snapshot.n_slots))
        tokens = np.repeat(counted.terms, counted.counts)
        ends = np.concatenate([[0], np.cumsum(counted.counts)])[counted.bounds]
        ids = [tokens[a:b].tolist() for a, b in pairwise(ends)]
        engine = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numba")
        vocab = {term: i for i, term in enumerate(vocabulary)}
        engine.index((ids, vocab), show_progress=False)
        engine.save(str(folder), show_progress=False)
        (folder / "titles.json").write_bytes(orjson.dumps(_titles(snapshot)))

    def prepare(self, queries: Sequence[Sequence[str]]) -> list[list[str]]:
        return [list(query) for query in queries]

    def search(self, query: list[str], k: int) -> Answer:
        found = self.engine.retrieve([query], k=k, show_progress=False, n_threads=1)
        return found.documents[0], found.scores[0]

    def answers(self, text: str, k: int) -> list[str]:
        import bm25s

        [tokens] = bm25s.tokenize(text, stemmer=self.stemmer, return_ids=False, show_progress=False)
        return [self.titles[doc] for doc in self.search(tokens, k)[0].tolist()]


def _titles(snapshot: Snapshot) -> list[str]:
    """Give the title of each document."""
    docs = np.arange(snapshot.n_slots)
    pieces = np.array_split(docs, max(len(docs) // 10_000, 1))
    return [card.title for piece in pieces for card in snapshot.cards(piece)]


def _schema(analyzer: str, *, stored: bool) -> Any:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", stored=stored, tokenizer_name=analyzer, index_option="freq")
    schema.add_integer_field("doc", fast=True, stored=False)
    schema.add_text_field("title", stored=True, tokenizer_name="raw", index_option="basic")
    if stored:
        schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    return schema.build()


def _analyzer(name: str) -> Any:
    import tantivy

    if name == "terms":
        return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in (
        tantivy.Filter.remove_long(64),
        tantivy.Filter.lowercase(),
        tantivy.Filter.stopword("english"),
        tantivy.Filter.stemmer("english"),
    ):
        builder = builder.filter(step)
    return builder.build()


def build_tantivy(folder: Path, documents: Sequence[Document]) -> None:
    import tantivy

    folder.mkdir()
    index = tantivy.Index(_schema("porter", stored=True), path=str(folder))
    index.register_tokenizer("porter", _analyzer("porter"))
    writer = index.writer(heap_size=512 << 20, num_threads=1)
    for i, document in enumerate(documents):
        text = f"{document.title}\n\n{document.text}"
        writer.add_document(
            tantivy.Document(text=text, doc=i, id=document.id, title=document.title)
        )
    writer.commit()
    writer.wait_merging_threads()


class Tantivy:
    name = "tantivy"
    keeps = "postings with counts, text, ids; no sentences or counts by document"

    def __init__(self, folder: Path) -> None:
        import tantivy

        self.index = tantivy.Index.open(str(folder))
        self.index.register_tokenizer("terms", _analyzer("terms"))
        self.index.register_tokenizer("porter", _analyzer("porter"))
        self.searcher = self.index.searcher()
        self.analyzer = _analyzer("porter")

    @staticmethod
    def index_terms(folder: Path, snapshot: Snapshot) -> None:
        """Index the very terms of our collection, in one segment."""
        import tantivy

        folder.mkdir()
        index = tantivy.Index(_schema("terms", stored=False), path=str(folder))
        index.register_tokenizer("terms", _analyzer("terms"))
        vocabulary = np.array([*snapshot.terms(np.arange(snapshot.n_terms))], object)
        counted = snapshot.term_counts(np.arange(snapshot.n_slots))
        writer = index.writer(heap_size=2 << 30, num_threads=1)
        titles = _titles(snapshot)
        for doc, (a, b) in enumerate(pairwise(counted.bounds)):
            terms = np.repeat(vocabulary[counted.terms[a:b]], counted.counts[a:b]).tolist()
            writer.add_document(tantivy.Document(text=" ".join(terms), doc=doc, title=titles[doc]))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        assert index.searcher().num_segments == 1, "its numbers would not be ours"

    def prepare(self, queries: Sequence[Sequence[str]]) -> list[Any]:
        import tantivy

        schema = self.index.schema
        return [
            tantivy.Query.boolean_query(
                [
                    (tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", term))
                    for term in query
                ]
            )
            for query in queries
        ]

    def search(self, query: Any, k: int) -> Answer:
        hits = self.searcher.search(query, k, count=False).hits
        return [hit[1].doc for hit in hits], [hit[0] for hit in hits]  # type: ignore[return-value]

    def answers(self, text: str, k: int) -> list[str]:
        [query] = self.prepare([list(dict.fromkeys(self.analyzer.analyze(text)))])
        hits = self.searcher.search(query, k, count=False).hits
        return [self.searcher.doc(address)["title"][0] for _, address in hits]


def by_threads(ask: Callable[[Any], Any], asked: Sequence[Any]) -> tuple[float, float]:
    """Give how many queries a second one thread answers, and two: the best of several turns."""
    best = {1: 0.0, 2: 0.0}
    for _ in range(7):
        best = {n: max(rate, _rate(ask, asked, n)) for n, rate in best.items()}
    return best[1], best[2]


def _rate(ask: Callable[[Any], Any], asked: Sequence[Any], threads: int) -> float:
    parts = [asked[i::threads] for i in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        list(pool.map(lambda part: [ask(one) for one in part], parts))
        return len(asked) / (time.perf_counter() - start)


def size_on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder

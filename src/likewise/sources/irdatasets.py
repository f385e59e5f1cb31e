"""Collections of the ir_datasets catalogue, as ir:<id>."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from likewise.errors import MissingExtra, SourceError, UsageError
from likewise.records import Document, Query
from likewise.sources.columns import Columns, OnBad, Origin, document_maker

Made = TypeVar("Made")

_DEFAULT_TEXT = Columns().text


class IrDataset:
    """The documents of one ir_datasets id, and its queries and judgements if it has them."""

    def __init__(self, dataset_id: str) -> None:
        try:
            import ir_datasets
        except ImportError:
            raise MissingExtra(f"reading ir:{dataset_id}", extra="ir") from None
        try:
            self._dataset = ir_datasets.load(dataset_id)
        except KeyError:
            raise UsageError(
                f"ir_datasets has no dataset {dataset_id!r}; "
                "the ids are listed at https://ir-datasets.com"
            ) from None
        except Exception as error:
            raise SourceError(f"ir:{dataset_id}", f"ir_datasets failed: {error!r}") from error
        if not self._dataset.has_docs():
            raise UsageError(f"the dataset {dataset_id!r} of ir_datasets has no documents")
        self.name = f"ir:{dataset_id}"

    @property
    def n_docs(self) -> int | None:
        """How many documents the catalogue says there are, without fetching any."""
        try:
            return int(self._dataset.metadata()["docs"]["count"])
        except Exception:
            return None

    def read(self, *, columns: Columns, on_bad: OnBad) -> Iterator[Document]:
        """Every document; without a text column of its own, its `default_text()` is the text."""
        make = document_maker(columns, Origin(self.name, self.name))
        records = self._items("document", self._dataset.docs_iter, partial(_record, columns))
        for number, record in enumerate(records, 1):
            try:
                document = make(record, number)
            except SourceError as error:
                on_bad(error)
                continue
            yield document

    @property
    def is_judged(self) -> bool:
        """Whether it has queries and judgements."""
        return bool(self._dataset.has_queries() and self._dataset.has_qrels())

    def queries(self) -> Iterator[Query]:
        """Every query, by its `default_text()`."""
        if not self._dataset.has_queries():
            raise UsageError(f"{self.name}: this dataset of ir_datasets has no queries")
        yield from self._items("query", self._dataset.queries_iter, _query)

    def judgements(self) -> Iterator[tuple[str, str, int]]:
        """Every judgement: the ids of a query and of a document, and the grade."""
        if not self._dataset.has_qrels():
            raise UsageError(f"{self.name}: this dataset of ir_datasets has no judgements")
        yield from self._items("judgement", self._dataset.qrels_iter, _judgement)

    def _items(
        self, what: str, items: Callable[[], Iterator[Any]], make: Callable[[Any], Made]
    ) -> Iterator[Made]:
        number = 0
        try:
            for item in items():
                made = make(item)
                number += 1
                yield made
        except Exception as error:
            # Its readers raise whatever the network, an archive or a parser raised.
            reason = f"ir_datasets could not give the next {what}: {error!r}"
            raise SourceError(f"{self.name}:{number + 1}", reason) from error


def _query(item: Any) -> Query:
    text = item.default_text() if hasattr(item, "default_text") else item.text
    return Query(item.query_id, text)


def _judgement(item: Any) -> tuple[str, str, int]:
    return item.query_id, item.doc_id, item.relevance


def _record(columns: Columns, item: Any) -> dict[str, Any]:
    record: dict[str, Any] = item._asdict()
    if columns.id not in record and columns.id == Columns().id:
        record = {columns.id: record.pop("doc_id", None), **record}
    if columns.text == _DEFAULT_TEXT and "text" not in record:
        # default_text() begins with the title where there is one.
        record.pop("title", None)
        record["text"] = item.default_text()
    return record

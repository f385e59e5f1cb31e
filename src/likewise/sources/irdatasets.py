"""Collections of the ir_datasets catalogue, as ir:<id>."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from likewise.errors import MissingExtra, SourceError, UsageError
from likewise.records import Document
from likewise.sources.columns import Columns, OnBad, Origin, document_maker

_DEFAULT_TEXT = Columns().text


class IrDataset:
    """The documents of one ir_datasets id."""

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
        number = 0
        documents = self._documents()
        for number, item in enumerate(documents, 1):
            try:
                document = make(_record(item, columns), number)
            except SourceError as error:
                on_bad(error)
                continue
            yield document

    def _documents(self) -> Iterator[Any]:
        number = 0
        try:
            for item in self._dataset.docs_iter():
                number += 1
                yield item
        except Exception as error:
            # Its readers raise whatever the network, an archive or a parser raised.
            reason = f"ir_datasets could not give the next document: {error!r}"
            raise SourceError(f"{self.name}:{number + 1}", reason) from error


def _record(item: Any, columns: Columns) -> dict[str, Any]:
    record: dict[str, Any] = item._asdict()
    if columns.id not in record and columns.id == Columns().id:
        record = {columns.id: record.pop("doc_id", None), **record}
    if columns.text == _DEFAULT_TEXT and "text" not in record:
        # default_text() begins with the title where there is one.
        record.pop("title", None)
        record["text"] = item.default_text()
    return record

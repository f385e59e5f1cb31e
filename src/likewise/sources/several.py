"""The documents of several sources, and what was skipped of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources.columns import Columns, OnBad
from likewise.sources.skipped import Skipped
from likewise.sources.source import Place, Source, open_source

_NAMED = 3
_log = logging.getLogger(__name__)


class Documents:
    """The documents of several sources, and what was skipped."""

    def __init__(self, sources: Sequence[Source], skipped: Skipped) -> None:
        self.skipped = skipped
        self._sources = sources

    def __iter__(self) -> Iterator[Document]:
        for source in self._sources:
            yield from source
            if source.skipped:
                _log.warning("%s: skipped %s", source.name, source.skipped)
                self.skipped.update(source.skipped)

    def required(self) -> Iterator[Document]:
        """The same; raise at the end where all was skipped."""
        return at_least_one(self, self._sources, lambda: self.skipped)


def documents_of(
    places: Sequence[Place],
    columns: Columns,
    format: str | None,
    on_bad: OnBad | None,
    *,
    encoding: str = "",
    delimiter: str = "",
) -> Documents:
    """Read the documents of several sources."""
    skipped = Skipped()

    def report(error: SourceError) -> None:
        skipped.add_error(error)
        if on_bad is not None:
            on_bad(error)

    # All are opened before the first is read, so that a misspelled name stops at once.
    opened = [
        open_source(
            one,
            columns=columns,
            format=format,
            encoding=encoding,
            delimiter=delimiter,
            on_bad=None if on_bad is None else report,
        )
        for one in places
    ]
    return Documents(opened, skipped)


def at_least_one(
    documents: Iterable[Document], sources: Sequence[Source], skipped: Callable[[], Skipped]
) -> Iterator[Document]:
    """Pass documents on; raise at the end where there was none and something was skipped.

    An empty list of Python skips nothing: it is meant.
    """
    any_read = False
    for document in documents:
        any_read = True
        yield document
    if not any_read and (left_out := skipped()):
        names = ", ".join(source.name for source in sources[:_NAMED])
        more = ", …" if len(sources) > _NAMED else ""
        raise SourceError(f"{names}{more}", f"there is nothing to index: skipped {left_out}")

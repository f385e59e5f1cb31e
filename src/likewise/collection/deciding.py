"""Which language is a collection in? Decided by the first of its documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from likewise.records import Document
from likewise.text.analysis import Analysis, encode
from likewise.text.detection import Decision, decide
from likewise.text.languages import MIXED

_SAMPLE, _SAMPLE_BYTES = 500, 8 << 20
# Of the documents after the sample, how many are looked at; every so many at first.
_LATER, _EVERY = 1000, 50
_READ = 1000


class Deciding:
    """Decides the language of documents by the first of them, which are held until then.

    A few of those that follow are looked at too: whoever has all French documents after the
    English ones is told.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        rest = iter(documents)
        sample: list[Document] = []
        size = 0
        for document in rest:
            sample.append(document)
            size += len(document.text)
            if len(sample) == _SAMPLE or size > _SAMPLE_BYTES:
                break
        self.decision = decide([_sampled(document) for document in sample])
        self._later: list[bytes] = []
        self.documents = chain(sample, self._follow(rest))

    def analysis(self, asked: Analysis) -> Analysis:
        """Give an analysis with the language, or languages, that were found."""
        found = self.decision
        several = found.mixed or asked.language == MIXED
        languages = (found.language, *found.others) if several else ()
        return replace(asked, language=found.language, languages=languages)

    @property
    def later(self) -> Decision:
        """What documents after the sample are in."""
        return decide(self._later)

    def _follow(self, documents: Iterator[Document]) -> Iterator[Document]:
        every = _EVERY
        for i, document in enumerate(documents):
            if i % every == 0:
                if len(self._later) == _LATER:
                    self._later, every = self._later[::2], 2 * every
                self._later.append(_sampled(document))
            yield document


def _sampled(document: Document) -> bytes:
    """Give as much of a document as its language is told by: its beginning and its middle."""
    middle = max(len(document.text) // 2, _READ)
    piece = document.text[middle : middle + _READ]
    return encode(f"{document.title}\n\n{document.text[:_READ]}{piece}")

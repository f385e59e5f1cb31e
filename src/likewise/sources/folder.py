"""A folder of files: by default each is one document."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources.columns import Columns, OnBad, Origin
from likewise.sources.fields import check_unicode


def list_files(folder: str) -> list[tuple[str, int]]:
    """Relative path (with /) and size of every visible file under the folder, in sorted order.

    Links to folders are not followed; a file that cannot be asked has size 0 and fails when read.
    """

    def refuse(error: OSError) -> None:
        raise SourceError(str(error.filename), error.strerror or str(error))

    found = []
    for where, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(where, name)
            if name.startswith("."):
                continue
            try:
                status = os.stat(path)
            except OSError:
                size = 0
            else:
                # Opening a pipe or a device could wait for ever.
                if not stat.S_ISREG(status.st_mode):
                    continue
                size = status.st_size
            found.append((os.path.relpath(path, folder).replace(os.sep, "/"), size))
    return sorted(found)


def text_document(stream: BinaryIO, origin: Origin) -> Document:
    """The whole stream as one document whose id is the file's name within the folder."""
    check_unicode((origin.stem,), repr(origin.name))
    try:
        text = stream.read().decode()
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-8: byte {error.object[error.start]:#04x} at {error.start}"
        raise SourceError(origin.name, reason) from None
    return Document(origin.stem, "", text, {}, origin.name)


def read_text(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad
) -> Iterator[Document]:
    """One document; a text has no columns."""
    try:
        document = text_document(stream, origin)
    except SourceError as error:
        on_bad(error)
        return
    yield document

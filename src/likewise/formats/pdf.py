"""PDF, by PDFium: text in reading order, as far as the file has any."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from likewise.formats.parsed import (
    DAMAGED,
    ENCRYPTED,
    MOST_TEXT,
    NO_TEXT,
    TOO_LARGE,
    Parsed,
    Refused,
)
from likewise.formats.titles import (
    could_be_title,
    given_title,
    one_line,
    split_title,
    without_title,
)

# PDFium's marks of a word that a line's end divides.
_DIVIDED = re.compile("[\ufffe\x02]\\s*")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
# A title is looked for among this many characters of the first page.
_FIRST = 1500


def parse(data: bytes, encoding: str) -> Iterator[Parsed]:
    """One document: its title is that of its metadata, or what is largest on the first page."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise Refused(ENCRYPTED, "encrypted with a password; save it without one") from None
        raise Refused(DAMAGED, f"not a whole PDF: {error}") from None
    try:
        yield _parsed(pdf, pypdfium2)
    finally:
        pdf.close()


def _parsed(pdf: Any, pypdfium2: Any) -> Parsed:
    details = pdf.get_metadata_dict()
    title = given_title(details.get("Title", ""))
    pages: list[str] = []
    length = 0
    unread = 0
    for number in range(len(pdf)):
        try:
            page = pdf[number]
            text_page = page.get_textpage()
        except pypdfium2.PdfiumError:
            unread += 1
            continue
        text = _clean(text_page.get_text_range())
        length += len(text)
        if length > MOST_TEXT:
            raise Refused(TOO_LARGE, f"it holds more than {MOST_TEXT >> 20} million characters")
        if not title and not any(pages):
            largest = _largest(text_page, pypdfium2.raw)
            title = largest if could_be_title(largest) else ""
        pages.append(text)
        text_page.close()
        page.close()
    text = "\n\n".join(filter(None, pages))
    if not text:
        if unread:
            raise Refused(DAMAGED, "none of its pages can be read")
        shown = f"{len(pdf)} page{'s' * (len(pdf) != 1)}"
        raise Refused(NO_TEXT, f"no text on {shown}, as of a scan: have its text recognised first")
    if not title:
        title, text = split_title(text)
    return Parsed(title, without_title(title, text), _fields(details))


def _clean(text: str) -> str:
    text = _DIVIDED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = text.encode("utf-8", "replace").decode()
    return _CONTROLS.sub("", text).strip()


def _largest(text_page: Any, raw: Any) -> str:
    """The first run of the largest letters, if most letters are smaller."""
    n_chars = min(text_page.count_chars(), _FIRST)
    sizes = [round(raw.FPDFText_GetFontSize(text_page, i), 1) for i in range(n_chars)]
    counts: defaultdict[float, int] = defaultdict(int)
    for size in sizes:
        counts[size] += 1
    if not counts:
        return ""
    size = max(counts)
    if counts[size] > n_chars // 2:
        return ""
    start = sizes.index(size)
    # Spaces and line ends between words have sizes of their own.
    end = start
    for i in range(start, n_chars):
        if sizes[i] == size:
            end = i + 1
        elif i - end > 3:
            break
    return one_line(_clean(text_page.get_text_range(start, end - start)))


def _fields(details: dict[str, str]) -> dict[str, Any]:
    found = {}
    if author := given_title(_clean(details.get("Author", ""))):
        found["author"] = author
    if date := _DATE.match(details.get("CreationDate", "")):
        found["date"] = "-".join(part for part in date.groups() if part)
    return found

"""Which encoding are these bytes in? UTF-8, UTF-16, or the Western one of Windows (cp1252)."""

from __future__ import annotations

import codecs
import re

from likewise.formats.parsed import ENCODING, Refused

UTF8 = "utf-8"
WESTERN = "likewise-western"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ASCII = bytes(range(128))
_MULTIBYTE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_HIGH_WORD = re.compile(rb"[\x80-\xff]{3,}")
# Bytes that cp1252 leaves undefined, or that Western text hardly ever has.
_FOREIGN = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x81\x8d\x8f\x90\x9d\xff]")
_SAMPLE = 1 << 12


def check_encoding(name: str) -> str:
    """Give the name of an encoding back, ValueError if Python knows none of that name."""
    try:
        # Bytes that are not decoded are not looked up either.
        b"x".decode(name, "replace")
    except (LookupError, ValueError):
        raise ValueError(name) from None
    return name


def sniff(head: bytes, *, whole: bool) -> str | None:
    """The encoding of a text that begins so; None where it is ASCII so far.

    Where bytes are no text in any encoding that is looked for, the answer is UTF-8.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if wide := _wide(head[:_SAMPLE]):
        return wide
    if head.isascii():
        return None
    decoder = codecs.getincrementaldecoder(UTF8)()
    try:
        decoder.decode(head, whole)
    except UnicodeDecodeError:
        return WESTERN if _is_western(head) else UTF8
    return UTF8


def decode(data: bytes, encoding: str = "") -> str:
    """The text of bytes, in the encoding that is named or else sniffed."""
    chosen = encoding or sniff(data, whole=True) or UTF8
    try:
        return decode_western(data) if chosen == WESTERN else data.decode(chosen)
    except UnicodeError as error:
        raise Refused(ENCODING, undecodable(error, chosen)) from None


def decode_western(data: bytes) -> str:
    """Decode cp1252; the few bytes that it leaves undefined are kept as control characters."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def undecodable(error: UnicodeError, encoding: str) -> str:
    """Say what is wrong, and the remedy."""
    shown = "UTF-8" if encoding.startswith(UTF8) else encoding
    where = ""
    if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
        where = f": byte {error.object[error.start]:#04x} at {error.start}"
    return f"not valid {shown}{where}; name its encoding"


def is_text(head: bytes) -> bool:
    """Tell whether a file that begins so is text rather than an image, a program or an archive."""
    encoding = sniff(head, whole=False)
    if encoding is None or encoding in (UTF8, WESTERN, "utf-8-sig"):
        controls = len(re.findall(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", head[:_SAMPLE]))
        if controls > len(head[:_SAMPLE]) // 100:
            return False
    if encoding == UTF8:
        try:
            codecs.getincrementaldecoder(UTF8)().decode(head)
        except UnicodeDecodeError:
            return False
    return True


def _wide(head: bytes) -> str:
    """UTF-16 without a mark: every other byte of Western text is nothing."""
    pairs = len(head) // 2
    if pairs < 4:
        return ""
    if head[0] and head[1]:
        return ""
    even, odd = head[0 : 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
    if not even and odd > 0.7 * pairs:
        return "utf-16-le"
    return "utf-16-be" if not odd and even > 0.7 * pairs else ""


def _is_western(data: bytes) -> bool:
    """Tell whether bytes that are not UTF-8 look like cp1252: some accents among ASCII letters."""
    high = data.translate(None, _ASCII)
    if _FOREIGN.search(data):
        return False
    # Most of it is UTF-8 after all: that is damage, not another encoding.
    if 2 * sum(map(len, _MULTIBYTE.findall(data))) > len(high):
        return False
    # Accents stand alone; of Cyrillic or Greek in eight bits all letters of a word are high.
    return 2 * sum(map(len, _HIGH_WORD.findall(data))) <= len(high)

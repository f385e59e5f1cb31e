"""E-mail: the subject, and the text of the body; attachments are named, not read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parsedate_to_datetime
from typing import Any

from likewise.formats.encoding import decode
from likewise.formats.markup import strip_page
from likewise.formats.parsed import DAMAGED, NO_TEXT, Parsed, Refused, check_length
from likewise.formats.titles import one_line

_FIELDS = {"from": "from", "to": "to", "cc": "cc", "message-id": "message_id"}


def parse(data: bytes, encoding: str) -> Iterator[Parsed]:
    """One document of one message."""
    # Mail programs of old begin a message with this line.
    if data.startswith(b"From "):
        data = data.partition(b"\n")[2]
    message = message_from_bytes(data, policy=policy.default)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise Refused(DAMAGED, "no e-mail: there are no headers")
    title = one_line(_header(message, "subject"))
    text = check_length(_body(message, encoding))
    if not text and not title:
        raise Refused(NO_TEXT, "the message has neither a subject nor a text")
    yield Parsed(title, text, _fields(message))


def _body(message: EmailMessage, encoding: str) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    text = _text(part, encoding)
    if part.get_content_subtype() == "html":
        return strip_page(text).text
    return text.replace("\r\n", "\n").strip()


def _text(part: MIMEPart, encoding: str) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    charset = part.get_content_charset()
    try:
        return data.decode(encoding or charset or "")
    except (LookupError, UnicodeDecodeError, ValueError):
        pass
    try:
        return decode(data)
    except Refused:
        return data.decode("utf-8", "replace")


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except (ValueError, IndexError, AttributeError, KeyError, TypeError):
        # The standard library's parser fails on some headers that it should only call defective.
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")


def _fields(message: EmailMessage) -> dict[str, Any]:
    found = {field: one_line(_header(message, name)) for name, field in _FIELDS.items()}
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        found["date"] = parsedate_to_datetime(_header(message, "date")).isoformat()
    names = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    fields: dict[str, Any] = {name: value for name, value in found.items() if value}
    return fields | ({"attachments": names} if names else {})

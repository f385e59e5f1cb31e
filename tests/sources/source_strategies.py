from __future__ import annotations

from hypothesis import strategies as st

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources import open_source

chars = st.characters(exclude_categories=["Cs"])
texts = st.text(chars, max_size=60)
ids = st.text(chars, min_size=1, max_size=20)
names = st.text(chars, min_size=1, max_size=8).filter(
    lambda name: "." not in name and name not in ("id", "title", "text")
)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = texts | numbers | st.booleans()
fields = st.dictionaries(names, scalars | st.lists(scalars, max_size=4), max_size=4)
documents = st.lists(st.builds(Document, ids, texts, texts, fields, st.just("")), max_size=6)


def bare(found):
    """Documents without their place."""
    return [document._replace(place="") for document in found]


def outcome(source, **options):
    """The documents and no place, or no documents and the place of the SourceError."""
    try:
        return list(open_source(source, **options)), None
    except SourceError as error:
        return [], error.place


def check_outcome(path):
    """Whatever the bytes of a file, they are documents or a SourceError that names the file."""
    for on_bad in (None, lambda error: None):
        found, place = outcome(path, on_bad=on_bad)
        assert place is None or place.startswith(str(path))
        for document in found:
            assert isinstance(document, Document)
            assert document.id
            "".join((document.id, document.title, document.text)).encode()

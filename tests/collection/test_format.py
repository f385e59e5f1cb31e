"""Collections written by every version of the format so far are read by this one.

The folder `format-N` holds a collection as `write` made it when N was the newest format. It
stays as it is; a new format adds a folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_model import expected, state

from likewise.collection.manifest import VERSION
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer, build
from likewise.records import Document
from likewise.text.analysis import Analysis

HERE = Path(__file__).parent
ANALYSIS = Analysis(language="german", stop_list=("und",), title_weight=1)
DOCUMENTS = [
    Document("d1", "Häuser", "Die Häuser und die Straßen.", {"year": 1984, "tag": ["red", "blue"]}),
    Document("d/2", "", "Ein Haus. Noch eins!", {"year": 2.5}, "source.jsonl:2"),
    Document("d 3", "", "中文字 " + "wieder " * 300, {"odd": "é"}),
    Document("d4"),
]
GONE = Document("gone", "", "Wird gelöscht")


def write(folder):
    """Write what `format-N` holds."""
    build(folder, [DOCUMENTS[0], GONE, DOCUMENTS[1]], analysis=ANALYSIS)
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[2:])
        writer.delete([GONE.id])
    (folder / "lock").unlink()


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_saved_collections_are_read(version):
    snapshot = open_snapshot(HERE / f"format-{version}")
    assert snapshot.analysis == ANALYSIS
    assert len(snapshot.segments) == 2
    snapshot.check()
    assert state(snapshot) == expected(DOCUMENTS, ANALYSIS)
    assert snapshot.terms(snapshot.find_terms(["haus"])) == ["haus"]


def test_the_format_has_not_changed_unnoticed(folder):
    """Where this fails, and the saved bytes are still read right, the change is harmless."""
    write(folder)
    saved = HERE / f"format-{VERSION}"
    names = sorted(path.relative_to(folder) for path in folder.rglob("*.npy"))
    assert names == sorted(path.relative_to(saved) for path in saved.rglob("*.npy"))
    for name in names:
        assert (folder / name).read_bytes() == (saved / name).read_bytes(), name

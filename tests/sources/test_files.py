from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from likewise.errors import MissingExtra, SourceError
from likewise.sources.columns import Origin
from likewise.sources.files import _messages

sys.path.insert(0, str(Path(__file__).parent.parent / "formats"))

from made_files import EML, docx, paragraph, pdf


def test_a_file_is_a_document_that_is_called_by_its_name(write, read):
    path = write("deep/panel.docx", docx(paragraph("In flow."), title="Panels"))
    [document] = read(path)
    assert document[:3] == ("panel.docx", "Panels", "In flow.")
    assert document.fields == {"author": "A. Writer", "date": "2001-02-03T04:05:06Z"}
    assert document.place == str(path)
    packed = write("panel.docx.gz", gzip.compress(path.read_bytes()))
    assert read(packed)[0].title == "Panels"
    assert read(write("bare", path.read_bytes()), format="docx")[0].title == "Panels"


def test_a_file_without_an_extension_is_known_by_its_first_bytes(write, read):
    pytest.importorskip("pypdfium2")
    assert read(write("bare", pdf("words here")))[0].text == "words here"
    assert read(write("other", b"<!DOCTYPE html><p>words"))[0].text == "words"


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (pdf(""), "without text", "no text on 1 page"),
        (pdf(encrypt="yes"), "encrypted", "password"),
        (pdf()[:300], "damaged", "not a whole PDF"),
    ],
)
def test_pdfs_that_cannot_be_read(write, read, data, kind, reason):
    pytest.importorskip("pypdfium2")
    path = write("a.pdf", data)
    with pytest.raises(SourceError, match=reason) as caught:
        read(path)
    assert (caught.value.place, caught.value.kind) == (str(path), kind)
    bad = []
    assert read(path, on_bad=bad.append) == []
    assert len(bad) == 1


def test_a_line_of_an_mbox_is_held_up_to_a_limit():
    asked = []

    class Watched(io.BytesIO):
        def readline(self, size=-1):
            asked.append(size)
            return super().readline(size)

    data = b"From a\nSubject: One\n\n" + b"x" * 500 + b"\n\nFrom b\nSubject: Two\n\ny\n"
    raw = [*_messages(Watched(data), Origin("a.mbox", "a.mbox"), 100)]
    assert {*asked} == {100}
    assert [one.data[:6] for one in raw] == [b"From a", b"From b"]
    assert 100 < len(raw[0].data) <= 200


def test_a_package_that_is_missing_is_named_with_its_install_command(
    write, read, tmp_path, monkeypatch
):
    monkeypatch.setattr("likewise.formats.kinds.find_spec", lambda name: None)
    command = r"pip install 'likewise\[files\]'"
    with pytest.raises(MissingExtra, match=command):
        read(write("folder/a.pdf", pdf()))
    with pytest.raises(SourceError, match=command):
        read(tmp_path / "folder")
    write("folder/b.txt", "words")
    bad = []
    assert [d.id for d in read(tmp_path / "folder", on_bad=bad.append)] == ["b.txt"]
    assert [error.kind for error in bad] == ["need pip install 'likewise[files]'"]


def test_an_mbox(write, read):
    data = b"\n".join(
        (b"From ann@example.org Sat Feb  3", EML, b"From x", b"Subject: Two", b"")
    ) + (b"\nFrom within a text it goes on.\n>From the start.\n")
    path = write("list.mbox", data)
    found = read(path)
    second = data[: data.index(b"From x")].count(b"\n") + 1
    assert [d.id for d in found] == ["list.mbox:1", f"list.mbox:{second}"]
    assert found[0].title == "Wärme transfer"
    assert found[0].fields["from"] == "Ann <ann@example.org>"
    assert found[1][1:3] == ("Two", "From within a text it goes on.\nFrom the start.")
    with pytest.raises(SourceError, match=r"a.mbox:2: not an mbox"):
        read(write("a.mbox", b"\nwords\n"))
    assert read(write("b.mbox", b"")) == []


def test_a_bad_message_is_passed_over(write, read):
    path = write("a.mbox", b"From a\nX: y\n\n\nFrom b\nSubject: Two\n\nx\n")
    bad = []
    assert [d.title for d in read(path, on_bad=bad.append)] == ["Two"]
    assert [(error.place, error.kind) for error in bad] == [(f"{path}:1", "without text")]


def test_a_file_that_is_too_large_is_not_held(write, read, monkeypatch):
    from likewise.formats.pool import Limits

    small = Limits(file=1000)
    monkeypatch.setattr("likewise.sources.files.Pool.__init__.__defaults__", (small,))
    with pytest.raises(SourceError, match=r"it is larger than") as caught:
        read(write("a.txt.gz", gzip.compress(b"x" * 100_000)))
    assert caught.value.kind == "too large"


def test_a_text_in_another_encoding(write, read):
    text = "Über die Flügel\n\nDas Flattern schräger Flügel."
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        [document] = read(write("a.txt", text.encode(encoding)))
        assert (document.title, document.text) == tuple(text.split("\n\n"))

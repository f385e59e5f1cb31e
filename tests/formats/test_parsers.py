"""What each parser gives of files that are as they should be."""

import pytest
from made_files import EML, W, docx, inline, paragraph, pdf, pdf_of, table, xlsx, zipped

from likewise.formats import docx as docx_format
from likewise.formats import mail, markdown, page, plain
from likewise.formats import pdf as pdf_format
from likewise.formats import xlsx as xlsx_format
from likewise.formats.parsed import DAMAGED, ENCRYPTED, NO_TEXT, REFUSED, TOO_LARGE, Refused


def one(module, data, encoding=""):
    [parsed] = module.parse(data, encoding)
    return parsed


def status(module, data):
    with pytest.raises(Refused) as caught:
        list(module.parse(data, ""))
    return caught.value.status


def test_plain_text():
    assert one(plain, b"Wings\r\n\r\nFlutter.\r\n") == ("Wings", "Flutter.", {})
    assert one(plain, "naïve".encode("utf-16")) == ("", "naïve", {})


def test_pages_in_the_encoding_that_they_name():
    text = '<meta charset="windows-1251"><title>Крыло</title><p>Флаттер крыла'
    assert one(page, text.encode("cp1251"))[:2] == ("Крыло", "Флаттер крыла")
    # Who says Latin-1 and writes UTF-8 is read as what it is.
    text = '<meta charset="latin-1"><title>Flügel</title><p>Flattern'
    assert one(page, text.encode()).title == "Flügel"
    assert one(page, text.encode("latin-1")).title == "Flügel"
    assert one(page, text.encode("utf-16")).title == "Flügel"
    assert status(page, b"<p></p>") == NO_TEXT


def test_markdown():
    source = """# Wing *flutter*

Flutter of a [wing](http://example.org) in `supersonic` flow,
![a picture](x.png).

- one
- **two**

| a | b |
|---|---|
| 1 | 2 |

```
code()
```
<div>inner <b>html</b></div>
"""
    parsed = one(markdown, source.encode())
    assert parsed.title == "Wing flutter"
    assert parsed.text.startswith("Flutter of a wing in supersonic flow,\na picture.")
    for shown in ("one\n", "two", "1", "2", "code()", "inner html"):
        assert shown in parsed.text
    for mark in ("*", "`", "[", "](", "|", "<", "#"):
        assert mark not in parsed.text


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: 'From the front'\n---\n# Heading\n\nx", "From the front"),
        ("text first\n\n## Later\n\nx", "Later"),
        ("Setext\n===\n\nx", "Setext"),
        ("no heading, just a line that goes on\nand on", ""),
    ],
)
def test_titles_of_markdown(source, title):
    assert one(markdown, source.encode()).title == title


def test_an_email():
    parsed = one(mail, EML)
    assert parsed.title == "Wärme transfer"
    assert parsed.text == "Heat to a blunt body."
    assert parsed.fields == {
        "from": "Ann <ann@example.org>",
        "to": "Bob <bob@example.org>",
        "date": "2001-02-03T04:05:06+00:00",
        "message_id": "<1@example.org>",
        "attachments": ["report.pdf"],
    }


def test_emails_that_are_not_as_they_should_be():
    assert one(mail, b"Subject: x\nContent-Type: text/plain; charset=none\n\ncaf\xe9 au lait").text
    assert status(mail, b"\nno headers") == DAMAGED
    assert status(mail, b"X: y\n\n") == NO_TEXT


def test_a_word_document():
    body = (
        paragraph("Panel flutter", "berschrift1"),
        paragraph("In <w:br/>supersonic"),
        "<w:p><w:r><w:t>kept</w:t><w:tab/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:r><w:instrText>PAGE</w:instrText><w:t> and shown</w:t></w:r></w:p>",
        f"<w:tbl><w:tr><w:tc>{paragraph('a')}</w:tc><w:tc>{paragraph('b')}</w:tc></w:tr></w:tbl>",
    )
    made = docx(*(one.replace("<w:br/>", "") for one in body), styles={"berschrift1": "heading 1"})
    assert one(docx_format, made) == (
        "Panel flutter",
        "In supersonic\nkept\t and shown\na\tb",
        {},
    )
    made = docx(paragraph("On panels"), paragraph("Text."), title="On panels")
    assert one(docx_format, made) == (
        "On panels",
        "Text.",
        {"author": "A. Writer", "date": "2001-02-03T04:05:06Z"},
    )
    assert status(docx_format, docx(paragraph(""))) == NO_TEXT


def test_footnotes_follow_and_text_boxes_come_once():
    made = docx(
        '<w:p><w:r><mc:AlternateContent xmlns:mc="m"><mc:Choice><w:t>box</w:t></mc:Choice>'
        "<mc:Fallback><w:t>box</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    assert one(docx_format, made).text == "box"


BOMB = "<!DOCTYPE x [" + "".join(
    f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha"}">' for i in range(12)
)


@pytest.mark.parametrize(
    "prolog",
    [
        f"{BOMB}]>",
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://example.org/x.dtd">',
    ],
)
def test_entities_are_refused(prolog):
    made = docx(paragraph("&e11;" if "e11" in prolog else "x"), prolog=prolog)
    assert status(docx_format, made) == REFUSED


def test_zip_bombs_are_refused(monkeypatch):
    monkeypatch.setattr("likewise.formats.archive._MOST_BYTES", 1 << 20)
    filler = " " * (4 << 20)
    bomb = docx(paragraph(filler))
    assert len(bomb) < 10_000
    assert status(docx_format, bomb) == TOO_LARGE
    monkeypatch.setattr("likewise.formats.archive._MOST_MEMBERS", 10)
    assert status(docx_format, zipped({f"{i}": "" for i in range(11)})) == REFUSED


def test_office_files_with_a_password():
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    assert status(docx_format, compound) == ENCRYPTED
    assert status(xlsx_format, compound) == ENCRYPTED


@pytest.mark.parametrize("module", [docx_format, xlsx_format])
def test_archives_of_something_else(module):
    assert status(module, zipped({"x": "y"})) == DAMAGED
    assert status(module, b"") == DAMAGED
    assert status(module, b"PK\3\4 cut") == DAMAGED
    broken = f'<w:document xmlns:w="{W}"><w:body>'
    assert status(docx_format, zipped({"word/document.xml": broken})) == DAMAGED


def test_a_spreadsheet():
    rows = [
        inline("A1", "id") + inline("C1", "day"),
        '<c r="A2"><v>7</v></c><c r="B2" t="s"><v>1</v></c><c r="C2" s="1"><v>36925</v></c>',
        '<c><v>1.5</v></c><c t="b"><v>1</v></c><c s="2"><v>36925.5</v></c><c t="e"><v>#N/A</v></c>',
        '<c t="s"><v>99</v></c><c><v></v></c><c t="str"><v>made</v></c>',
    ]
    rich = "<r><t>shared</t></r><r><t> text</t></r><rPh><t>reading</t></rPh>"
    made = xlsx({"One": rows, "Two": [inline("XFD1", "far")]}, strings=("<t>x</t>", rich))
    found = [row for batch in xlsx_format.parse(made, "") for row in batch]
    assert found == [
        ("One", 1, [(0, "id"), (2, "day")]),
        ("One", 2, [(0, 7), (1, "shared text"), (2, "2001-02-03")]),
        ("One", 3, [(0, 1.5), (1, True), (2, "2001-02-03T12:00:00")]),
        ("One", 4, [(2, "made")]),
        ("Two", 1, [(16383, "far")]),
    ]
    made = xlsx({"S": ['<c r="A1" s="1"><v>35463</v></c>']}, is_1904=True)
    assert [*xlsx_format.parse(made, "")] == [[("S", 1, [(0, "2001-02-03")])]]


def test_a_table_of_text_cells():
    assert [*xlsx_format.parse(table(("id", "text"), ("1", "x")), "")] == [
        [("Sheet", 1, [(0, "id"), (1, "text")]), ("Sheet", 2, [(0, "1"), (1, "x")])]
    ]


def test_pdfs():
    pytest.importorskip("pypdfium2")
    made = pdf("On wings\nFlutter of a wing.", title="On wings")
    assert one(pdf_format, made) == ("On wings", "Flutter of a wing.", {"date": "2001-02-03"})
    made = pdf("Flutter of a wing.\nIt is seen.", title="Microsoft Word - x.doc")
    assert one(pdf_format, made)[:2] == ("", "Flutter of a wing.\nIt is seen.")
    large = b"BT /F1 24 Tf 50 700 Td (Wing flutter) Tj ET BT /F1 10 Tf 50 650 Td (%s) Tj ET"
    parsed = one(pdf_format, pdf_of(large % (b"It is seen at many speeds. " * 3)))
    assert parsed.title == "Wing flutter"
    assert parsed.text.startswith("It is seen")


def test_pdfs_without_text_with_a_password_or_cut():
    pytest.importorskip("pypdfium2")
    assert status(pdf_format, pdf("")) == NO_TEXT
    assert status(pdf_format, pdf(encrypt="yes")) == ENCRYPTED
    assert status(pdf_format, pdf()[:200]) == DAMAGED
    assert status(pdf_format, b"") == DAMAGED

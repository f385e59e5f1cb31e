"""Small files of each format, made without the programs that write them."""

import io
import zipfile
from xml.sax.saxutils import escape

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def pdf(text="Flutter of a wing in supersonic flow", *, title="", encrypt="", size=12):
    """A PDF of one page; without a text it is what a scanner makes."""
    lines = "".join(
        f"BT /F1 {size} Tf 50 {700 - 20 * i} Td ({line}) Tj ET\n"
        for i, line in enumerate(text.split("\n"))
        if line
    )
    return pdf_of(lines.encode() or b"50 50 100 100 re f\n", title=title, encrypt=encrypt)


def pdf_of(content, *, title="", encrypt=""):
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) /CreationDate (D:20010203) >>".encode(),
        # A password that nobody knows: its check can only fail.
        f"<< /Filter /Standard /V 1 /R 2 /O <{'41' * 32}> /U <{'42' * 32}> /P -4 >>".encode(),
    ]
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    extra = f"/Encrypt 7 0 R /ID [<{'30' * 16}> <{'30' * 16}>]" if encrypt else ""
    out += f"trailer << /Size 8 /Root 1 0 R /Info 6 0 R {extra} >>\n".encode()
    return bytes(out + b"startxref\n%d\n%%%%EOF" % table)


def paragraph(text, style=""):
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{styled}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def docx(*body, title="", styles=None, prolog=""):
    content = f'{prolog}<w:document xmlns:w="{W}"><w:body>{"".join(body)}</w:body></w:document>'
    members = {"word/document.xml": content}
    if title:
        members["docProps/core.xml"] = (
            '<cp:p xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t">'
            f"<dc:title>{title}</dc:title><dc:creator>A. Writer</dc:creator>"
            "<dcterms:created>2001-02-03T04:05:06Z</dcterms:created></cp:p>"
        )
    if styles is not None:
        inner = "".join(
            f'<w:style w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
            for key, name in styles.items()
        )
        members["word/styles.xml"] = f'<w:styles xmlns:w="{W}">{inner}</w:styles>'
    return zipped(members)


def xlsx(sheets, *, strings=(), is_1904=False):
    """Sheets as name: rows of raw <c> elements."""
    listed, relations, members = "", "", {}
    for i, (name, rows) in enumerate(sheets.items(), 1):
        listed += f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>'
        relations += f'<Relationship Id="r{i}" Target="worksheets/sheet{i}.xml"/>'
        inner = "".join(f'<row r="{n}">{row}</row>' for n, row in enumerate(rows, 1))
        members[f"xl/worksheets/sheet{i}.xml"] = (
            f'<worksheet xmlns="{S}"><sheetData>{inner}</sheetData></worksheet>'
        )
    pr = '<workbookPr date1904="1"/>' if is_1904 else ""
    members["xl/workbook.xml"] = (
        f'<workbook xmlns="{S}" xmlns:r="{R}">{pr}<sheets>{listed}</sheets></workbook>'
    )
    members["xl/_rels/workbook.xml.rels"] = f"<Relationships>{relations}</Relationships>"
    inner = "".join(f"<si>{one}</si>" for one in strings)
    members["xl/sharedStrings.xml"] = f'<sst xmlns="{S}">{inner}</sst>'
    members["xl/styles.xml"] = (
        f'<styleSheet xmlns="{S}"><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
        '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs>'
        "</styleSheet>"
    )
    return zipped(members)


def inline(place, text):
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'


def table(*rows):
    """A spreadsheet of one sheet, of text cells."""
    cells = [
        "".join(inline(f"{'ABCDEF'[j]}{i}", cell) for j, cell in enumerate(row))
        for i, row in enumerate(rows, 1)
    ]
    return xlsx({"Sheet": cells})


EML = b"""From: Ann <ann@example.org>
To: Bob <bob@example.org>
Subject: =?utf-8?q?W=C3=A4rme?= transfer
Date: Sat, 03 Feb 2001 04:05:06 +0000
Message-ID: <1@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/html; charset=iso-8859-1

<p>Heat to a <b>blunt</b> body.</p><script>x()</script>
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename="report.pdf"

JVBERi0=
--b--
"""

VALID = {
    "pdf": pdf(),
    "docx": docx(paragraph("Panel flutter", "Heading1"), paragraph("In supersonic flow.")),
    "xlsx": table(("id", "text"), ("1", "Boundary layers")),
    "eml": EML,
}

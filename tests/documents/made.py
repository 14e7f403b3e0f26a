"""Generated files of every type, ordinary and hostile."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import docx
from docx.document import Document as Word
from pypdf import PdfReader, PdfWriter

EMPTY_PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>"


def pdf(*pages: str) -> bytes:
    """Return a PDF of these texts; an empty one makes a blank page."""
    return raw_pdf([stream(drawn(text)) for text in pages])


def drawn(text: str) -> bytes:
    if not text:
        return b""
    shown = "".join(f"({line}) Tj 0 -20 Td " for line in text.split("\n"))
    return f"BT /F1 12 Tf 72 720 Td {shown}ET".encode("latin-1")


def stream(content: bytes, entries: str = "") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries.encode(), content)


def raw_pdf(streams: Sequence[bytes], more: Mapping[int, bytes] | None = None) -> bytes:
    """Return a PDF with a page per content stream; `more`: objects by number."""
    first = 4
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(len(streams)))
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>".encode(),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for i, content in enumerate(streams):
        number = first + 2 * i
        objects[number] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % (number + 1)
        )
        objects[number + 1] = content
    objects.update(more or {})
    return numbered(objects)


def numbered(objects: Mapping[int, bytes]) -> bytes:
    made = bytearray(b"%PDF-1.4\n")
    places: dict[int, int] = {}
    for number, content in objects.items():
        places[number] = len(made)
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table, size = len(made), max(objects) + 1
    made += b"xref\n0 %d\n" % size
    for number in range(size):
        made += b"%010d %05d %s \n" % (places.get(number, 0), 0, b"n" if number in places else b"f")
    made += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, table)
    return bytes(made)


def marked_pdf(words: Sequence[tuple[int, int, str]], *marks: str, form: str = "", more: str = "") -> bytes:
    """Return a one-page PDF with words at (x, y); its marks (fields, comments) are objects from 10 on.

    `form`: more entries of the form; `more`: of the page.
    """
    shown = "".join(f"BT /F1 12 Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n" for x, y, text in words)
    numbers = [f"{number} 0 R" for number in range(10, 10 + len(marks))]
    fields = " ".join(number for number, mark in zip(numbers, marks, strict=True) if "/Widget" in mark)
    catalog = f"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{fields}] {form} >> >>"
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
        f"/Contents 5 0 R /Annots [{' '.join(numbers)}] {more} >>"
    )
    return numbered(
        {
            1: catalog.encode(),
            2: b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            4: page.encode(),
            5: stream(shown.encode("latin-1")),
            **{number: mark.encode("latin-1") for number, mark in enumerate(marks, start=10)},
        }
    )


def widget(x: int, y: int, entries: str, width: int = 200, height: int = 20) -> str:
    place = f"[{x} {y} {x + width} {y + height}]"
    return f"<< /Type /Annot /Subtype /Widget /Rect {place} {entries} >>"


def protected(data: bytes, password: str, owner: str = "owner", algorithm: str = "RC4-128") -> bytes:
    writer = PdfWriter(PdfReader(BytesIO(data)))
    writer.encrypt(password, owner, algorithm=algorithm)
    made = BytesIO()
    writer.write(made)
    return made.getvalue()


def swollen_pdf(size: int) -> bytes:
    """Return a small PDF whose page unpacks to this many bytes."""
    packed = zlib.compress(bytes(size), 1)
    return raw_pdf([stream(packed, "/Filter /FlateDecode")])


def endless_pdf(depth: int, width: int = 10) -> bytes:
    """Return a PDF whose page tree has width ** depth equal leaves."""
    kids = {
        number: b"<< /Type /Pages /Kids [%s] /Count %d >>"
        % (b"%d 0 R " % (number + 1) * width, width ** (depth - number + 10))
        for number in range(10, 10 + depth)
    }
    return raw_pdf([], {2: kids.pop(10), **kids, 10 + depth: EMPTY_PAGE})


def packed_pdf(size: int) -> bytes:
    """Return a small PDF whose catalog stands in an object stream of this unpacked size."""
    inside = (b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [5 0 R] /Count 1 >>", EMPTY_PAGE)
    header = b"1 0 2 %d 5 %d " % (len(inside[0]) + 1, len(inside[0]) + len(inside[1]) + 2)
    inner = header + b" ".join(inside) + b" " * size
    entries = f"/Type /ObjStm /N 3 /First {len(header)} /Filter /FlateDecode"
    made = bytearray(b"%PDF-1.5\n")
    held = len(made)
    made += b"3 0 obj\n%s\nendobj\n" % stream(zlib.compress(inner, 1), entries)
    table = len(made)
    places = ((0, 0, 0), (2, 3, 0), (2, 3, 1), (1, held, 0), (1, table, 0), (2, 3, 2))
    rows = b"".join(struct.pack(">BIH", *place) for place in places)
    entries = "/Type /XRef /Size 6 /W [1 4 2] /Root 1 0 R"
    made += b"4 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (stream(rows, entries), table)
    return bytes(made)


def word(write: Callable[[Word], object]) -> bytes:
    document = docx.Document()
    write(document)
    made = BytesIO()
    document.save(made)
    return made.getvalue()


def paragraphs(*texts: str) -> bytes:
    def write(document: Word) -> None:
        for text in texts:
            document.add_paragraph(text)

    return word(write)


def zipped(files: Mapping[str, bytes]) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return made.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(data)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def lying(data: bytes, size: int) -> bytes:
    """Return a zip that declares one byte for a file of this size."""
    return data.replace(struct.pack("<I", size), struct.pack("<I", 1))

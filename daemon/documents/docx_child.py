"""The text of a DOCX in the order of the document. Runs in the confined child alone.

Headings begin with "#", items of a list with "-"; a row of a table is a line, its cells parted by " | ".
Headers, footers, footnotes, comments and what was deleted under review are left out. Nothing is fetched.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from zipfile import BadZipFile, ZipFile

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import OpcError
from docx.oxml.exceptions import InvalidXmlError
from lxml import etree

from daemon.documents.confined import Refused, Room, run

BROKEN = (
    BadZipFile,
    OpcError,
    InvalidXmlError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    etree.LxmlError,
    zlib.error,
)
"""What zipfile, lxml and python-docx raise over a file that is not as it should be."""
MOST_FILES = 10_000
CHUNK = 2**16
OTHERS = (
    ("xl/workbook.xml", "sheet"),
    ("xl/workbook.bin", "sheet"),
    ("ppt/presentation.xml", "slides"),
    ("content.xml", "open"),
    ("META-INF/container.xml", "book"),
)
"""Files that tell what else a zip may be."""
DOCUMENT = "word/document.xml"
PLAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
DEFINITIONS = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
"""No Word file has any; they are how XML is made to grow."""
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
HEADING = re.compile(r"heading ([1-9])")
LEFT_OUT = frozenset(
    {f"{W}del", f"{W}moveFrom", f"{W}pPr", f"{W}rPr", f"{W}instrText", f"{W}sdtPr"}
    | {"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
)
"""What is deleted, or says how something looks, or is there a second time for old programs."""
LETTERS = {f"{W}tab": "\t", f"{W}noBreakHyphen": "-", f"{W}br": "\n", f"{W}cr": "\n"}
PARAGRAPH, TABLE, ROW, CELL, TEXT = f"{W}p", f"{W}tbl", f"{W}tr", f"{W}tc", f"{W}t"


def docx_text(data: bytes, room: Room) -> tuple[str, Mapping[str, int]]:
    """The text, and how many things outside it refers to."""
    try:
        look_into(data, room)
        document = docx.Document(BytesIO(data))
        styles = {style.style_id: (style.name or "").lower() for style in document.styles}
        rels = document.part.package.iter_rels()
        outside = sum(rel.is_external and rel.reltype != RELATIONSHIP_TYPE.HYPERLINK for rel in rels)
        lines: list[str] = []
        length = 0
        for line in blocks(document.element.body, styles):
            lines.append(line)
            length += len(line) + 1
            if length > room.characters:
                raise Refused("long")
    except RecursionError:
        raise
    except etree.XMLSyntaxError as wrong:
        spent = getattr(wrong, "code", 0) == etree.ErrorTypes.ERR_NO_MEMORY
        if spent:
            raise Refused("memory") from None
        raise Refused("damaged") from None
    except BROKEN:
        raise Refused("damaged") from None
    return "\n".join(lines), {"outside": outside}


def look_into(data: bytes, room: Room) -> None:
    """Raises Refused for what is no plain DOCX, or would unpack to too much, whatever it says of itself."""
    with ZipFile(BytesIO(data)) as packed:
        files = packed.infolist()
        names = {one.filename for one in files}
        if DOCUMENT not in names:
            raise Refused(other_kind(names))
        if len(files) > MOST_FILES:
            raise Refused("bomb")
        if any(one.flag_bits & 1 for one in files):
            raise Refused("encrypted")
        unpacked = 0
        for one in files:
            with packed.open(one) as file:
                content = bytearray()
                chunk = file.read(CHUNK)
                while chunk:
                    unpacked += len(chunk)
                    if unpacked > room.unpacked:
                        raise Refused("bomb")
                    if one.filename.lower().endswith((".xml", ".rels")):
                        content += chunk
                    chunk = file.read(CHUNK)
            if DEFINITIONS.search(content.replace(b"\0", b"")):  # UTF-16 is but ASCII with zeros between
                raise Refused("definitions")
            if one.filename == "[Content_Types].xml" and PLAIN.encode() not in content:
                raise Refused("macros")


def other_kind(names: Collection[str]) -> str:
    """What a zip of these files is, as it is no Word file."""
    for name, kind in OTHERS:
        if name in names:
            return kind
    return "archive"


def blocks(parent: etree._Element, styles: Mapping[str, str]) -> Iterator[str]:
    """The lines of its paragraphs and tables, also of those in content controls and tracked insertions."""
    for element in parent.iterchildren(tag=etree.Element):
        if element.tag == PARAGRAPH:
            yield from paragraph(element, styles)
        elif element.tag == TABLE:
            yield from table(element, styles)
        elif element.tag not in LEFT_OUT:
            yield from blocks(element, styles)


def paragraph(element: etree._Element, styles: Mapping[str, str]) -> Iterator[str]:
    """Its text, marked if it is a heading or an item; then what stands in text boxes that hang on it."""
    boxes: list[etree._Element] = []
    text = "".join(letters(element, boxes)).strip()
    if text:
        yield mark(element, styles) + text
    for box in boxes:
        yield from paragraph(box, styles)


def letters(element: etree._Element, boxes: list[etree._Element]) -> Iterator[str]:
    """The text within a paragraph; paragraphs in it (of a text box) are set aside."""
    for inner in element.iterchildren(tag=etree.Element):
        if inner.tag == TEXT:
            yield inner.text or ""
        elif inner.tag in LETTERS:
            yield LETTERS[inner.tag]
        elif inner.tag == PARAGRAPH:
            boxes.append(inner)
        elif inner.tag not in LEFT_OUT:
            yield from letters(inner, boxes)


def mark(element: etree._Element, styles: Mapping[str, str]) -> str:
    """What a heading or an item of a list begins with."""
    style = ""
    named = element.find(f"{W}pPr/{W}pStyle")
    if named is not None:
        style = styles.get(named.get(f"{W}val", ""), "")
    heading = HEADING.fullmatch(style)
    if heading:
        return "#" * int(heading[1]) + " "
    if style == "title":
        return "# "
    if style.startswith("list ") or element.find(f"{W}pPr/{W}numPr") is not None:
        return "- "
    return ""


def table(element: etree._Element, styles: Mapping[str, str]) -> Iterator[str]:
    """A line for each row. What is in a cell stands in one line, a table in it, too."""
    for row in within(element, ROW):
        texts = [" ".join(blocks(cell, styles)) for cell in within(row, CELL)]
        line = " | ".join(" ".join(text.split()) for text in texts)
        if line.strip(" |"):
            yield line


def within(element: etree._Element, tag: str) -> Iterator[etree._Element]:
    """The rows of a table or the cells of a row, those in content controls, too."""
    for inner in element.iterchildren(tag=etree.Element):
        if inner.tag == tag:
            yield inner
        elif inner.tag not in LEFT_OUT and inner.tag not in (PARAGRAPH, TABLE):
            yield from within(inner, tag)


if __name__ == "__main__":
    run(docx_text)

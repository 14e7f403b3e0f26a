"""The text of a DOCX. Runs in the confined child alone."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from zipfile import BadZipFile

from lxml import etree

from daemon.documents.confined import ChildLimits, FileUnreadable, run_child
from daemon.documents.office_package import PACKAGE, OfficePackage
from daemon.documents.word_styles import W
from daemon.documents.word_text import WordText

DOCX_ERRORS = (
    BadZipFile,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
    etree.LxmlError,
    zlib.error,
)
"""What zipfile and lxml raise over a file that is not as it should be."""
OTHERS = (
    ("xl/workbook.xml", "sheet"),
    ("xl/workbook.bin", "sheet"),
    ("ppt/presentation.xml", "slides"),
    ("content.xml", "open"),
    ("meta-inf/container.xml", "book"),
)
"""Files that tell what else a zip may be."""
OFFICE = (
    ("spreadsheetml", "sheet"),
    ("ms-excel", "sheet"),
    ("presentationml", "slides"),
    ("ms-powerpoint", "slides"),
    ("macroenabled", "macros"),
    ("template", "macros"),
)
"""Words in the content type of a main part that is not a plain document's."""
DOCUMENT = "word/document.xml"
MAIN = "wordprocessingml.document.main+xml"


def docx_text(data: bytes, room: ChildLimits) -> tuple[str, Mapping[str, int]]:
    """Return the text, and counts of what is not read: pictures, deleted passages, things outside …"""
    try:
        package = OfficePackage(data, room)
        document = WordText(package, find_main_part(package))
        outside = sum(bool(one.address) and one.kind != "hyperlink" for one in package.all_relationships())
        lines: list[str] = []
        length = 0
        for line in document.lines():
            lines.append(line)
            length += len(line) + 1
            if length > room.characters:
                raise FileUnreadable("long")
    except etree.XMLSyntaxError as wrong:
        spent = getattr(wrong, "code", 0) == etree.ErrorTypes.ERR_NO_MEMORY
        raise FileUnreadable("memory" if spent else "damaged") from None
    except DOCX_ERRORS:
        raise FileUnreadable("damaged") from None
    return "\n".join(lines), {"outside": outside, **document.unread}


def find_main_part(package: OfficePackage) -> str:
    """Return the part that the relationships or the content types call the document. Raises Refused."""
    related = [one.part for one in package.relationships(PACKAGE) if one.kind == "officeDocument"]
    part = next(filter(None, related), "")
    if not part:
        part = next((name for name in package.names if MAIN in package.content_type(name)), "")
    if not part and DOCUMENT in package.names:
        part = DOCUMENT
    if not part:
        raise FileUnreadable(unreadable_zip_kind(package.names))
    declared = package.content_type(part).lower()
    for words, kind in OFFICE:
        if words in declared:
            raise FileUnreadable(kind)
    if package.root(part).tag != f"{W}document":
        raise FileUnreadable("damaged")
    return part


def unreadable_zip_kind(names: Collection[str]) -> str:
    """Return what a zip of these files is, as it is no Word file."""
    return next((kind for name, kind in OTHERS if name in names), "archive")


if __name__ == "__main__":
    run_child(docx_text)

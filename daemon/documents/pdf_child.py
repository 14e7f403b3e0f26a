"""The text of a PDF, page by page. Runs in the confined child alone."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, LimitReachedError, PyPdfError

from daemon.documents.confined import PAGE, Refused, Room, run

BROKEN = (
    PyPdfError,
    DependencyError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
    struct.error,
)
"""What pypdf raises over a file that is not as it should be."""


def pdf_text(data: bytes, room: Room) -> tuple[str, Mapping[str, int]]:
    """The text of all pages, a form feed between them; a page that is broken or blank is empty, and noted."""
    try:
        pages = opened(data, room)
    except LimitReachedError:
        raise Refused("bomb") from None
    except BROKEN:
        raise Refused("damaged") from None
    texts: list[str] = []
    length = broken = 0
    for page in pages:
        try:
            text = page.extract_text().replace(PAGE, " ")
        except LimitReachedError:
            raise Refused("bomb") from None
        except BROKEN:
            text = ""
            broken += 1
        texts.append(text)
        length += len(text)
        if length > room.characters:
            raise Refused("long")
    blank = sum(1 for text in texts if not text.strip()) - broken
    if blank + broken == len(texts):
        raise Refused("damaged" if broken else "scanned")
    return PAGE.join(texts), {"blank": blank, "broken": broken}


def opened(data: bytes, room: Room) -> list[PageObject]:
    """Its pages. What is protected against changes alone opens with an empty password, as in any reader."""
    reader = PdfReader(BytesIO(data), strict=False)
    if reader.is_encrypted:
        try:
            if not reader.decrypt(""):
                raise Refused("encrypted")
        except BROKEN:
            raise Refused("encrypted") from None
    if len(reader.pages) > room.pages:
        raise Refused("pages")
    return list(reader.pages)


if __name__ == "__main__":
    run(pdf_text)

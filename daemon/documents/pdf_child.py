"""The text of a PDF, page by page. Runs in the confined child alone."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from io import BytesIO

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, LimitReachedError, PyPdfError
from pypdf.generic import ArrayObject, DictionaryObject

from daemon.documents.confined import PAGE, ChildLimits, FileUnreadable, run_child
from daemon.documents.pdf_marks import TextPiece, insert_marks, page_marks

PDF_ERRORS = (
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


def pdf_text(data: bytes, room: ChildLimits) -> tuple[str, Mapping[str, int]]:
    """Return the text of all pages, a form feed between them, and counts; a page may be empty."""
    try:
        reader = open_pdf(data, room)
        pages = list(reader.pages)
    except LimitReachedError:
        raise FileUnreadable("bomb") from None
    except PDF_ERRORS:
        raise FileUnreadable("damaged") from None
    texts: list[str] = []
    unread = Counter[str]()
    pictures = set[object]()
    length = 0
    for page in pages:
        try:
            text = page_text(page, unread).replace(PAGE, " ")
        except LimitReachedError:
            raise FileUnreadable("bomb") from None
        except PDF_ERRORS:
            text = ""
            unread["broken"] += 1
        texts.append(text)
        length += len(text)
        if length > room.characters:
            raise FileUnreadable("long")
        if text.strip():
            pictures.update(picture_keys(page))
    broken = unread["broken"]
    blank = sum(1 for text in texts if not text.strip()) - broken
    if blank + broken == len(texts):
        raise FileUnreadable("damaged" if broken else "scanned")
    unread["pictures"] = len(pictures)
    unread["attached"] += count_attachments(reader)
    unread["xfa"] = int(has_only_xfa(reader))
    return PAGE.join(texts), {"blank": blank, **unread}


def open_pdf(data: bytes, room: ChildLimits) -> PdfReader:
    """Return the reader of a file that opens without a password: also one that is locked against changes."""
    try:
        reader = PdfReader(BytesIO(data), strict=False)
    except (DependencyError, NotImplementedError):
        raise FileUnreadable("encrypted" if b"/Encrypt" in data else "damaged") from None
    if reader.is_encrypted:
        try:
            if not reader.decrypt(""):
                raise FileUnreadable("encrypted")
        except PDF_ERRORS:
            raise FileUnreadable("encrypted") from None
    if len(reader.pages) > room.pages:
        raise FileUnreadable("pages")
    return reader


def page_text(page: PageObject, unread: Counter[str]) -> str:
    """Return the text of a page with its filled-in fields and comments, each beside its label."""
    marks = page_marks(page, PDF_ERRORS, unread)
    if not marks:
        return page.extract_text()
    pieces: list[TextPiece] = []

    def visit(text: str, outer: list[float], inner: list[float], _: object, size: float) -> None:
        x = inner[4] * outer[0] + inner[5] * outer[2] + outer[4]
        y = inner[4] * outer[1] + inner[5] * outer[3] + outer[5]
        pieces.append(TextPiece(text=text, x=x, y=y, size=size * abs(inner[3] * outer[3])))

    text = page.extract_text(visitor_text=visit)
    if "".join(piece.text for piece in pieces).split() != text.split():
        pieces = [TextPiece(text=text, x=0.0, y=math.inf, size=0.0)]  # no place is known: all marks come last
    return insert_marks(pieces, marks)


def picture_keys(page: PageObject) -> Iterator[object]:
    """Yield a key for each picture of a page: one that stands on several pages has one key."""
    try:
        resources = page.get("/Resources", DictionaryObject()).get_object()
        things = resources.get("/XObject", DictionaryObject()).get_object()
        for name in things:
            if things[name].get("/Subtype") == "/Image":
                raw = things.raw_get(name)
                yield getattr(raw, "idnum", id(raw))
    except PDF_ERRORS:
        return


def count_attachments(reader: PdfReader) -> int:
    """Return how many files are attached to a document."""
    try:
        return sum(1 for _ in reader.attachment_list)
    except PDF_ERRORS:
        return 0


def has_only_xfa(reader: PdfReader) -> bool:
    """True if a document is a form of the XFA kind alone: its pages hold no fields."""
    try:
        form = reader.root_object.get("/AcroForm", DictionaryObject()).get_object()
        return "/XFA" in form and not form.get("/Fields", ArrayObject()).get_object()
    except PDF_ERRORS:
        return False


if __name__ == "__main__":
    run_child(pdf_text)

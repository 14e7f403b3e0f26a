"""Text of PDF pages, with form fields, check boxes and comments beside their labels. Only the confined child
runs this code.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Literal, cast

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, LimitReachedError, PyPdfError
from pypdf.generic import ArrayObject, DictionaryObject, StreamObject

from daemon.documents.parsing_child import PAGE, ChildLimits, FileUnreadable, run_child

COMMENTS = frozenset(
    {"/Text", "/FreeText", "/Line", "/Square", "/Circle", "/Polygon", "/PolyLine", "/Highlight"}
    | {"/Underline", "/Squiggly", "/StrikeOut", "/Stamp", "/Caret", "/Ink", "/FileAttachment", "/Redact"}
)


MARKED_TEXT = frozenset({"/Highlight", "/Underline", "/Squiggly", "/StrikeOut"})


TYPEWRITER = "/FreeTextTypeWriter"


HIDDEN = 1 << 1


PASSWORD, RADIO, PUSH_BUTTON = 1 << 13, 1 << 15, 1 << 16


TICKED, EMPTY = "\u2612", "\u2610"


DEEPEST = 32


SLACK = 2.0


NEAR = 20.0
"""Most points from a check box to the label after it, and from a field to the label above it."""


LETTER = 0.5
"""Assumed width of a letter as a share of the font size."""


TAGS = re.compile(r"<[^<>]{0,1000}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    text: str
    x: float
    y: float
    size: float

    @property
    def end(self) -> float:
        return self.x + LETTER * self.size * len(self.text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMark:
    """A field value, check box or comment: text, field name and rectangle (left, bottom, right, top)."""

    kind: Literal["value", "tick", "comment"]
    text: str
    name: str
    place: tuple[float, float, float, float]
    on_text: bool = False
    """True if the rectangle covers the commented text."""


def page_marks(page: PageObject, broken: tuple[type[Exception], ...], unread: Counter[str]) -> list[PageMark]:
    """Return a page's marks in order; count damaged ones and attached files in `unread`."""
    try:
        annotations = list(cast(ArrayObject, page.get("/Annots", ArrayObject()).get_object()))
    except broken:
        unread["marks"] += 1
        return []
    found: list[PageMark] = []
    for one in annotations:
        try:
            annotation = one.get_object()
            found.extend(_comment_marks(annotation))
        except broken:
            unread["marks"] += 1
            continue
        unread["attached"] += annotation.get("/Subtype") == "/FileAttachment"
    return found


def insert_marks(pieces: Sequence[TextPiece], marks: Sequence[PageMark]) -> str:
    """Return the text with each mark beside its label, and marks without a label at the end."""
    before: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    last: list[str] = []
    placed = [(mark, *_label_of(mark, pieces)) for mark in sorted(marks, key=lambda one: one.place[0])]
    shared = Counter(at for mark, at, _ in placed if mark.kind != "comment")
    for mark, at, is_before in placed:
        text = mark.text
        if mark.kind != "comment" and mark.name and (at < 0 or shared[at] > 1):
            text = f"{text} {mark.name}" if mark.kind == "tick" else f"{mark.name}: {text}"
        if at < 0:
            last.append(text)
        elif is_before:
            before.setdefault(at, []).append(f"{text} ")
        else:
            after.setdefault(at, []).append(f" {text}")
    lines: list[str] = []
    for at, piece in enumerate(pieces):
        words = piece.text.strip()
        start = piece.text[: len(piece.text) - len(piece.text.lstrip())]
        end = piece.text[len(start) + len(words) :]
        lines.append("".join((start, *before.get(at, ()), words, *after.get(at, ()), end)))
    return "\n".join(filter(None, ("".join(lines).rstrip("\n"), *last)))


def _label_of(mark: PageMark, pieces: Sequence[TextPiece]) -> tuple[int, bool]:
    """Return the index of a mark's label (-1: none), and True if the mark precedes the label."""
    left, bottom, right, top = mark.place
    shown = [at for at, piece in enumerate(pieces) if piece.text.strip()]
    line = [at for at in shown if bottom - SLACK <= pieces[at].y <= top + SLACK]
    if mark.kind == "comment":
        return _piece_before_comment(mark, pieces, line), False
    earlier = max((at for at in line if pieces[at].x < left), key=lambda at: pieces[at].x, default=-1)
    later = min((at for at in line if pieces[at].x >= right - SLACK), key=lambda at: pieces[at].x, default=-1)
    if mark.kind == "tick" and later >= 0:
        gap = pieces[later].x - right
        if earlier < 0 or gap <= min(NEAR, max(left - pieces[earlier].end, 0.0)):
            return later, True
    if earlier >= 0:
        return earlier, False
    above = [at for at in shown if top < pieces[at].y <= top + NEAR and _is_over(pieces[at], left, right)]
    if above:
        return min(above, key=lambda at: pieces[at].y), False
    if later >= 0:
        return later, True
    below = [at for at in shown if bottom - NEAR <= pieces[at].y < bottom]
    below = [at for at in below if _is_over(pieces[at], left, right)]
    return max(below, key=lambda at: pieces[at].y, default=-1), True


def _piece_before_comment(mark: PageMark, pieces: Sequence[TextPiece], line: Sequence[int]) -> int:
    _, bottom, _, top = mark.place
    if mark.on_text:
        return min(line, key=lambda at: (round(pieces[at].y), -pieces[at].x), default=-1)
    middle = (bottom + top) / 2
    return min(line, key=lambda at: (round(abs(pieces[at].y - middle)), -pieces[at].x), default=-1)


def _is_over(piece: TextPiece, left: float, right: float) -> bool:
    return piece.x < right and piece.end > left - NEAR


def _comment_marks(annotation: DictionaryObject) -> Iterator[PageMark]:
    kind = annotation.get("/Subtype")
    if _flags(annotation.get("/F")) & HIDDEN:
        return
    x1, y1, x2, y2 = (float(one) for one in cast(ArrayObject, annotation["/Rect"]))
    place = (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
    if kind == "/Widget":
        yield from _field_mark(annotation, place)
    elif kind in COMMENTS:
        text = _text(annotation.get("/Contents")) or TAGS.sub(" ", _text(annotation.get("/RC")))
        text, author = " ".join(text.split()), _text(annotation.get("/T"))
        if not text:
            return
        if kind == "/FreeText" and (not author or annotation.get("/IT") == TYPEWRITER):
            yield PageMark(kind="value", text=text, name="", place=place)
        else:
            by = f" by {author}" if author else ""
            said = f"[Comment{by}: {text}]"
            yield PageMark(kind="comment", text=said, name="", place=place, on_text=kind in MARKED_TEXT)


def _field_mark(widget: DictionaryObject, place: tuple[float, float, float, float]) -> Iterator[PageMark]:
    kind, flags = _inherited(widget, "/FT"), _flags(_inherited(widget, "/Ff"))
    value = _inherited(widget, "/V")
    name = _text(_inherited(widget, "/TU")) or _name(widget)
    if kind == "/Btn":
        if flags & PUSH_BUTTON:
            return
        states = _on_states(widget)
        ticked = widget.get("/AS", "/Off") != "/Off" or (bool(states) and _text(value).lstrip("/") in states)
        if flags & RADIO and states:
            name = f"{name} {states[0]}".strip()
        yield PageMark(kind="tick", text=TICKED if ticked else EMPTY, name=name, place=place)
        return
    if kind == "/Sig" and isinstance(value, DictionaryObject):
        signer = _text(value.get("/Name"))
        text = f"[signed by {signer}]" if signer else "[signed]"
    elif kind == "/Ch":
        text = ", ".join(_chosen(widget, value))
    else:
        text = _text(value)
    if text.strip() and not (kind == "/Tx" and flags & PASSWORD):
        yield PageMark(kind="value", text=text.strip(), name=name, place=place)


def _inherited(widget: DictionaryObject, key: str) -> object:
    at: object = widget
    for _ in range(DEEPEST):
        if not isinstance(at, DictionaryObject):
            break
        if key in at:
            return at[key]
        at = at.get("/Parent", None)
        at = at.get_object() if at is not None else None
    return None


def _flags(value: object) -> int:
    return value if isinstance(value, int) else 0


def _name(widget: DictionaryObject) -> str:
    names: list[str] = []
    at: object = widget
    for _ in range(DEEPEST):
        if not isinstance(at, DictionaryObject):
            break
        names.insert(0, _text(at.get("/T")))
        at = at.get("/Parent", None)
        at = at.get_object() if at is not None else None
    return ".".join(filter(None, names))


def _on_states(widget: DictionaryObject) -> list[str]:
    looks = widget.get("/AP", DictionaryObject()).get_object()
    normal = looks.get("/N", DictionaryObject()).get_object()
    if isinstance(normal, StreamObject) or not isinstance(normal, DictionaryObject):
        return []
    return [str(state).lstrip("/") for state in normal if state != "/Off"]


def _chosen(widget: DictionaryObject, value: object) -> list[str]:
    shown: dict[str, str] = {}
    options = _inherited(widget, "/Opt")
    for option in options if isinstance(options, ArrayObject) else ():
        pair = option.get_object()
        if isinstance(pair, ArrayObject) and len(pair) > 1:
            shown[_text(pair[0])] = _text(pair[1])
    values = value if isinstance(value, ArrayObject) else [value]
    chosen = [_text(one) for one in values]
    return [shown.get(one, one) for one in chosen if one]


def _text(value: object) -> str:
    if value is None:
        return ""
    if hasattr(value, "get_object"):
        value = value.get_object()
    if isinstance(value, StreamObject):
        value = value.get_data()
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if not isinstance(value, str):
        return "" if isinstance(value, DictionaryObject | ArrayObject) else str(value)
    return value.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")


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


def pdf_text(data: bytes, room: ChildLimits) -> tuple[str, Mapping[str, int]]:
    """Return the text of all pages, with form feeds between them, and counts of unread content."""
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
    """Open a PDF, even one locked against changes. Raises FileUnreadable if a password is needed."""
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
        pieces = [TextPiece(text=text, x=0.0, y=math.inf, size=0.0)]  # without positions, marks come last
    return insert_marks(pieces, marks)


def picture_keys(page: PageObject) -> Iterator[object]:
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
    try:
        return sum(1 for _ in reader.attachment_list)
    except PDF_ERRORS:
        return 0


def has_only_xfa(reader: PdfReader) -> bool:
    """True if the PDF has an XFA form, and no form fields on its pages."""
    try:
        form = reader.root_object.get("/AcroForm", DictionaryObject()).get_object()
        return "/XFA" in form and not form.get("/Fields", ArrayObject()).get_object()
    except PDF_ERRORS:
        return False


if __name__ == "__main__":
    run_child(pdf_text)

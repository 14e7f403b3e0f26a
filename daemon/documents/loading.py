"""Reads a file that someone shares: bytes become a document, or a sentence that says why not, and what to do.

The daemon only turns bytes into letters, beside its loop; PDF and DOCX are parsed in a confined child.
"""

from __future__ import annotations

import asyncio
import json

from daemon.documents.confined import PAGE, ChildLimits
from daemon.documents.decoding import BLANK, decode_text, text_pieces
from daemon.documents.document import (
    Document,
    DocumentError,
    clean_name,
    document_of_pages,
    document_of_parts,
)
from daemon.documents.extraction import extract_in_child
from daemon.documents.formats import kind_of_text, note_on_name, recognise_format
from daemon.documents.unreadable import notes_in_words

MOST_BYTES = 100 * 2**20
"""A larger file is not even looked at."""
MOST_JSON = 2**20
"""Characters of JSON that are checked: of more it takes a program to see whether it is right."""
SHORT = 2**16
"""Bytes that are turned over within a moment, without a thread."""
ROOM = ChildLimits()

EMPTY = "{name} is empty: there is nothing to read in it."
TOO_LARGE = (
    "{name} has {size:,} MB, and at most {most:,} MB are read: share the part that matters, or split it."
)
NO_JSON = "{name} is not valid JSON (line {line}: {why}): it was read as plain text."


async def read_document(name: str, data: bytes, room: ChildLimits = ROOM) -> Document:
    """The document that a file of this name holds. Its own name is the file's, made fit to be cited.

    At most MOST_BYTES are read, and `room` bounds what comes of it. Several at once take as many children.
    Raises DocumentError with a sentence for people.
    """
    name = clean_name(name)
    if not data:
        raise DocumentError(EMPTY.format(name=name))
    if len(data) > MOST_BYTES:
        size, most = len(data) // 2**20, MOST_BYTES // 2**20
        raise DocumentError(TOO_LARGE.format(name=name, size=size, most=most))
    if len(data) <= SHORT:
        found = recognise_format(name, data)
    else:
        found = await asyncio.to_thread(recognise_format, name, data)
    if found == "text" and len(data) <= SHORT:
        return text_document(name, data, room)
    if found == "text":
        return await asyncio.to_thread(text_document, name, data, room)
    child, make = f"{__package__}.docx_child", paragraphs_document
    if found == "pdf":
        child, make = f"{__package__}.pdf_child", pages_document
    body, counts = await extract_in_child(child, name, data, room)
    return await asyncio.to_thread(make, name, body, notes_in_words(name, counts))


def text_document(name: str, data: bytes, room: ChildLimits) -> Document:
    """A text as it is. Raises DocumentError."""
    text, notes = decode_text(name, data, room.characters)
    kind = kind_of_text(name)
    if kind == "json":
        notes += note_on_json(name, text)
    return Document(name=name, text=text, kind=kind, notes=notes + note_on_name(name))


def note_on_json(name: str, text: str) -> tuple[str, ...]:
    """What to note of JSON that is none."""
    if len(text) > MOST_JSON:
        return ()
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as wrong:
        return (NO_JSON.format(name=name, line=wrong.lineno, why=wrong.msg),)
    except RecursionError:
        pass
    return ()


def pages_document(name: str, body: bytes, notes: tuple[str, ...]) -> Document:
    """A document of pages."""
    texts = clean_extracted(body).split(PAGE)
    return _require_text(document_of_parts(name, document_of_pages(name, texts), kind="pdf", notes=notes))


def paragraphs_document(name: str, body: bytes, notes: tuple[str, ...]) -> Document:
    """A document of lines."""
    text = clean_extracted(body).replace(PAGE, " ")
    return _require_text(Document(name=name, text=text, kind="docx", notes=notes))


def clean_extracted(body: bytes) -> str:
    """What a child wrote, without what no text holds. A form feed, which parts the pages, stays."""
    texts = ["".join(text_pieces(part, "utf-8", "replace")) for part in body.split(PAGE.encode())]
    return PAGE.join(texts).replace("\0", " ")


def _require_text(document: Document) -> Document:
    if not document.text.strip():
        raise DocumentError(BLANK.format(name=document.name))
    return document

"""What is said of a file that a child could not read, or not all of: what happened, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from daemon.documents.decoding import TOO_LONG
from daemon.documents.formats import ARCHIVE, BOOK, MACROS, OPEN_DOCUMENT, PROTECTED, SHEET, SLIDES

REFUSED: Mapping[str, str] = {
    "archive": f"{{name}} {ARCHIVE}.",
    "sheet": f"{{name}} {SHEET}.",
    "slides": f"{{name}} {SLIDES}.",
    "open": f"{{name}} {OPEN_DOCUMENT}.",
    "book": f"{{name}} {BOOK}.",
    "macros": f"{{name}} {MACROS}.",
    "encrypted": f"{{name}} {PROTECTED}.",
    "scanned": "{name} holds pictures of pages and no text: let text recognition (OCR) run over it first.",
    "damaged": "{name} is damaged: it could not be read. Save it anew, or as plain text, and share that.",
    "died": "{name} could not be read: reading it broke off. Save it as plain text, and share that.",
    "bomb": "{name} unpacks to far more than it looks: it was not read. Save it as plain text.",
    "definitions": "{name} holds XML definitions, which no Word file needs: it was not read. Save it anew.",
    "nested": "{name} is nested too deep to be read. Save it as plain text, and share that.",
    "memory": "{name} needs more memory than reading may take: split it, or save it as plain text.",
    "pages": "{name} has more than {pages:,} pages: split it, and share the part that matters.",
    "long": TOO_LONG,
    "slow": "{name} was not read within {seconds:g} seconds: split it, or save it as plain text.",
}
"""Sentences by what a child says; they may name what it was bounded by."""
NOTED: Mapping[str, str] = {
    "blank": "Pages of {name} without text (pictures, perhaps), which are left out: {count}.",
    "broken": "Pages of {name} that are damaged, and left out: {count}.",
    "parts": "Parts of {name} that are damaged, and left out: {count}.",
    "marks": "Fields and comments of {name} that are damaged, and left out: {count}.",
    "outside": "Things outside that {name} refers to, which were not fetched: {count}.",
    "deleted": "Passages of {name} that were deleted under review, and are left out: {count}.",
    "pictures": "Pictures in {name}, which are not read: {count}.",
    "charts": "Charts in {name}, which are not read: {count}.",
    "diagrams": "Diagrams (SmartArt) in {name}, which are not read: {count}.",
    "objects": "Embedded objects in {name}, which are not read: {count}.",
    "attached": "Files attached to {name}, which are not read: {count}.",
    "xfa": "The form in {name} is an XFA form, which is not read: print it to a PDF, and share that.",
}
"""Sentences on what a child could read, by what it counts."""


def notes_in_words(name: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    """What there is to note, a sentence each."""
    return tuple(NOTED[key].format(name=name, count=counts[key]) for key in NOTED if key in counts)

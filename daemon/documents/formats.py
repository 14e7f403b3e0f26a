"""What a file is, by its first bytes, then by its name; most of what cannot be read is refused here.

Nothing is parsed: a zip may turn out to be something else than a DOCX, and what is called text here may not
be any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Literal

from daemon.documents.document import DocumentError

Format = Literal["pdf", "zip", "text"]

READABLE = "text, code, CSV, JSON, PDF and DOCX files can be read"
IMAGE = "is an image: only text can be read. Write down what it shows, or share it as text"
ARCHIVE = "is an archive: unpack it, and share the files that matter"
RECORDING = "is sound or film: share a transcript of it"
OLD_WORD = "is a Word file of the old kind: save it as .docx, and share that"
OLD_SHEET = "is an Excel file of the old kind: save the sheet that matters as .csv, and share that"
OLD_SLIDES = "is a PowerPoint file of the old kind: save it as .pdf, and share that"
PROTECTED = "is protected by a password: save it without one, and share that"
OLD_OFFICE = "is an Office file of the old kind: save it as .docx, .pdf or .csv, and share that"
RICH = "is an RTF file: save it as .docx or as plain text, and share that"
BINARY = f"is not text, nor anything else that can be read: {READABLE}"
SHEET = "is an Excel file: save the sheet that matters as .csv, and share that"
SLIDES = "is a PowerPoint file: save it as .pdf, and share that"
OPEN_DOCUMENT = "is an OpenDocument file: save it as .docx, .pdf or .csv, and share that"
BOOK = "is an e-book: save it as .pdf or as plain text, and share that"
MACROS = "is a Word template, or has macros: save it as a plain .docx, and share that"

BEGINNINGS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"(?s)\x89PNG\r\n|GIF8[79]a|\xff\xd8\xff|II\*\0|MM\0\*|RIFF....WEBP|8BPS\0"), IMAGE),
    (re.compile(rb"(?s)\0\0\x01\0|BM....\0\0\0\0|....ftyp(?:heic|heix|mif1|avif)"), IMAGE),
    (re.compile(rb"(?s)\x1f\x8b|BZh[1-9](?:1AY&SY|\x17rE8P\x90)|\xfd7zXZ\0|7z\xbc\xaf\x27\x1c"), ARCHIVE),
    (re.compile(rb"(?s)Rar!\x1a\x07|\x28\xb5\x2f\xfd|.{257}ustar|PK\x05\x06"), ARCHIVE),
    (
        re.compile(rb"(?s)ID3[\0-\x09]|OggS\0|fLaC\0|RIFF....(?:WAVE|AVI )|....ftyp|\x1a\x45\xdf\xa3"),
        RECORDING,
    ),
    (re.compile(rb"\{\\rtf"), RICH),
)
"""How files begin that cannot be read."""
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OLD_KINDS: Mapping[str, str] = {
    ".doc": OLD_WORD,
    ".dot": OLD_WORD,
    ".xls": OLD_SHEET,
    ".ppt": OLD_SLIDES,
    ".docx": PROTECTED,
    ".xlsx": PROTECTED,
    ".pptx": PROTECTED,
}
PDF = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,64}%PDF-")
PDF_WITHIN = 1024
"""Readers look so far for where a PDF begins."""
KINDS: Mapping[str, str] = {".csv": "csv", ".tsv": "csv", ".json": "json"}
UNLIKE_TEXT = frozenset(
    {
        ".pdf",
        ".docx",
        ".doc",
        ".xlsx",
        ".xls",
        ".pptx",
        ".ppt",
        ".zip",
        ".gz",
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
    }
)
"""Endings of files that are no text."""


def file_ending(name: str) -> str:
    """The ending of a file's name, in lower case, with its dot."""
    return PurePosixPath(name).suffix.lower()


def recognise_format(name: str, data: bytes) -> Format:
    """What has to read it. Raises DocumentError for what nothing here can read."""
    if PDF.match(data) or (file_ending(name) == ".pdf" and b"%PDF-" in data[:PDF_WITHIN]):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return "zip"
    if data.startswith(OLD):
        raise DocumentError(f"{name} {OLD_KINDS.get(file_ending(name), OLD_OFFICE)}.")
    for beginning, what in BEGINNINGS:
        if beginning.match(data):
            raise DocumentError(f"{name} {what}.")
    return "text"


def kind_of_text(name: str) -> str:
    """What a text is, by its name: "csv", "json" or "text"."""
    return KINDS.get(file_ending(name), "text")


def note_on_name(name: str) -> tuple[str, ...]:
    """What to note of a plain text of this name."""
    if file_ending(name) in UNLIKE_TEXT:
        return (f"{name} holds plain text, whatever its name says, and was read as such.",)
    return ()

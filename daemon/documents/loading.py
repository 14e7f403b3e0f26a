"""Loading of shared files: bytes become a document, or an error that names the cause and a remedy.

Formats are recognised by the first bytes, then by name. Texts are decoded in a thread, so that the event loop
is not blocked. PDF and DOCX files are parsed in a confined child process. Its output is untrusted: it is
limited, and our messages never quote it.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from io import IncrementalNewlineDecoder
from pathlib import Path, PurePosixPath
from typing import Literal

from w3lib.encoding import html_body_declared_encoding, resolve_encoding

import daemon
from daemon.documents.document import (
    Document,
    DocumentError,
    clean_name,
    document_of_pages,
    document_of_parts,
)
from daemon.documents.parsing_child import PAGE, ChildLimits

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


def file_ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def recognise_format(name: str, data: bytes) -> Format:
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
    return KINDS.get(file_ending(name), "text")


def note_on_name(name: str) -> tuple[str, ...]:
    if file_ending(name) in UNLIKE_TEXT:
        return (f"{name} holds plain text, whatever its name says, and was read as such.",)
    return ()


PIECE = 2**18


MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks. UTF-32 stands before UTF-16, since a UTF-32 mark begins with a UTF-16 mark."""


UNMARKED = (
    (re.compile(rb"<\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0<"), "utf-32-be"),
    (re.compile(rb"<\0[^\0]\0"), "utf-16-le"),
    (re.compile(rb"\0<\0[^\0]"), "utf-16-be"),
)
"""First bytes of UTF-16 and UTF-32 markup without a byte order mark (XML 1.0, appendix F)."""


MARKUP = re.compile(rb"\s*<[!?a-zA-Z]")


MARKUP_ENDINGS = frozenset({".html", ".htm", ".xhtml", ".xht", ".shtml", ".xml"})


TAG = b"<meta"
"""Bytes that decode to `<meta` only in encodings compatible with ASCII."""


STYLES = re.compile(rb'@charset "([\w.:-]{1,40})";')


TEXT_CODEC = re.compile(r"(?:cp|mac|koi8|kz|ptcp|iso8859|iso2022|euc|gb|hz|big5|shift|johab|tis|hp)[\w-]*")
"""Python's single- and double-byte encodings, without codecs that unpack or escape (zlib, rot13)."""


OTHER_LINES = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Line breaks of `str.splitlines` that editors ignore. Spaces replace them, so that line numbers agree with
editors.
"""


CONTROL = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")


MOST_CONTROL = 0.05
"""Largest share of control characters in a file that counts as text."""


HIGH = re.compile(rb"[\x80-\xff]+")


MOST_HIGH = 0.3
"""Largest share of bytes above 127 in a file that counts as Windows-1252."""


FEW = 10
"""Good non-ASCII characters per broken one from which a file counts as damaged UTF-8."""


Decoded = tuple[str, tuple[str, ...]]


OTHERWISE = "{name} says that its encoding is {declared}, but it is UTF-8, and was read as such."


GUESSED = "The encoding of {name} is not known: it was read as Windows-1252, so some letters may be wrong."


DAMAGED = "{name} is not all in its encoding ({encoding}): {broken} characters could not be read (\ufffd)."


UNKNOWN = "The encoding of {name} is not known: save it as UTF-8, and share that."


TOO_LONG = (
    "{name} holds more than {characters:,} characters of text: share the part that matters, or split it."
)


BLANK = "{name} holds no text: there is nothing to read in it."


def decode_text(name: str, data: bytes, most: int) -> Decoded:
    r"""Return the text, with "\n" line ends, and notes. `most` limits its characters.
    Raises DocumentError.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decode_damaged(name, data[len(mark) :], encoding, most)
    for beginning, encoding in UNMARKED:
        if beginning.match(data):
            return _decode_damaged(name, data, encoding, most)
    if b"\0" in data:
        raise DocumentError(f"{name} {BINARY}.")
    declared = declared_encoding(name, data)
    if declared and data.isascii():  # some encodings (ISO-2022) use only ASCII bytes
        return _decode_damaged(name, data, declared, most)
    try:
        text = _joined_text(name, data, "utf-8", "strict", most)
    except UnicodeDecodeError:
        if declared:
            return _decode_damaged(name, data, declared, most)
        return _decode_undeclared(name, data, most)
    if declared:
        return text, (OTHERWISE.format(name=name, declared=declared.upper()),)
    return text, ()


def declared_encoding(name: str, data: bytes) -> str:
    """Return Python's name of the encoding that XML, HTML or CSS declares.

    Empty if the declared encoding is missing, unknown, UTF-8 or incompatible with ASCII.
    """
    styles = STYLES.match(data)
    if styles:
        named = resolve_encoding(styles[1].decode("ascii"))
    elif MARKUP.match(data) or file_ending(name) in MARKUP_ENDINGS:
        named = html_body_declared_encoding(data)
    else:
        return ""
    if named and TEXT_CODEC.fullmatch(named) and TAG.decode(named, "replace") == TAG.decode("ascii"):
        return named
    return ""


def _decode_undeclared(name: str, data: bytes, most: int) -> Decoded:
    broken, good = _count_broken_utf8(data)
    if good >= FEW * broken:
        return _decode_damaged(name, data, "utf-8", most)
    try:
        return _decode_windows(name, data, most)
    except UnicodeDecodeError:
        raise DocumentError(UNKNOWN.format(name=name)) from None


def text_pieces(data: bytes, encoding: str, errors: str) -> Iterator[str]:
    r"""Yield the decoded text in pieces, with "\n" line ends. Raises UnicodeDecodeError."""
    decoder = IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(errors), translate=True)
    for at in range(0, len(data), PIECE):
        yield OTHER_LINES.sub(" ", decoder.decode(data[at : at + PIECE]))
    yield OTHER_LINES.sub(" ", decoder.decode(b"", final=True))


def _decode_damaged(name: str, data: bytes, encoding: str, most: int) -> Decoded:
    try:
        return _joined_text(name, data, encoding, "strict", most), ()
    except UnicodeDecodeError:
        text = _joined_text(name, data, encoding, "replace", most)
    broken = text.count("\ufffd")
    return text, (DAMAGED.format(name=name, encoding=encoding.upper(), broken=broken),)


def _decode_windows(name: str, data: bytes, most: int) -> Decoded:
    high = 0
    for at in range(0, len(data), PIECE):
        piece = data[at : at + PIECE]
        high += len(piece) - len(HIGH.sub(b"", piece))
    if high > MOST_HIGH * len(data):
        raise DocumentError(UNKNOWN.format(name=name))
    return _joined_text(name, data, "cp1252", "strict", most), (GUESSED.format(name=name),)


def _count_broken_utf8(data: bytes) -> tuple[int, int]:
    """Return the numbers of broken and of good non-ASCII characters when read as UTF-8."""
    broken = good = 0
    for piece in text_pieces(data, "utf-8", "replace"):
        lost = piece.count("\ufffd")
        broken += lost
        good += len(re.findall("[^\0-\x7f\ufffd]", piece))
    return broken, good


def _joined_text(name: str, data: bytes, encoding: str, errors: str, most: int) -> str:
    pieces: list[str] = []
    length = control = 0
    for piece in text_pieces(data, encoding, errors):
        pieces.append(piece)
        length += len(piece)
        control += len(CONTROL.findall(piece))
        if length > most:
            raise DocumentError(TOO_LONG.format(name=name, characters=most))
        if "\0" in piece:
            raise DocumentError(f"{name} {BINARY}.")
    if control > MOST_CONTROL * length:
        raise DocumentError(f"{name} {BINARY}.")
    text = "".join(pieces)
    if not text or text.isspace():
        raise DocumentError(BLANK.format(name=name))
    return text


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
"""Sentences for people, by the key with which a child refuses a file; some name a limit."""


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
"""Sentences for people, by the name of a count that a child reports."""


def notes_in_words(name: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(NOTED[key].format(name=name, count=counts[key]) for key in NOTED if key in counts)


PROJECT = Path(daemon.__file__).parent.parent


CHUNK = 2**16


MOST_REPORT = 4_096


START = (
    "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_module(sys.argv[2], run_name='__main__')"
)


async def extract_in_child(
    child: str, name: str, data: bytes, room: ChildLimits
) -> tuple[bytes, Mapping[str, int]]:
    """Run a child module on a file; return the text, and counts of unread content. Raises DocumentError.

    The child has no environment, and has ended on return, also after cancellation.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-B", "-X", "utf8", "-c", START, str(PROJECT), child),
        json.dumps(asdict(room)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
        env={},
    )
    most = MOST_REPORT + 4 * room.characters
    try:
        async with asyncio.timeout(room.seconds), asyncio.TaskGroup() as group:
            group.create_task(feed_child(process, data))
            taking = group.create_task(read_child_output(process, most))
    except TimeoutError:
        raise DocumentError(REFUSED["slow"].format(name=name, seconds=room.seconds)) from None
    finally:
        await end_child(process)
    return parse_child_output(name, taking.result(), most, room)


async def feed_child(process: asyncio.subprocess.Process, data: bytes) -> None:
    """Write the file to the child, which need not read all of it."""
    assert process.stdin
    with suppress(ConnectionError):
        for at in range(0, len(data), CHUNK):
            process.stdin.write(data[at : at + CHUNK])
            await process.stdin.drain()
    process.stdin.close()


async def read_child_output(process: asyncio.subprocess.Process, most: int) -> bytes:
    assert process.stdout
    taken = bytearray()
    while len(taken) <= most:
        chunk = await process.stdout.read(CHUNK)
        if not chunk:
            break
        taken += chunk
    return bytes(taken)


async def end_child(process: asyncio.subprocess.Process) -> None:
    """Kill the child and drain its output."""
    with suppress(ProcessLookupError):
        process.kill()
    assert process.stdout
    while await process.stdout.read(CHUNK):
        pass
    await process.wait()


def parse_child_output(
    name: str, taken: bytes, most: int, room: ChildLimits
) -> tuple[bytes, Mapping[str, int]]:
    """Return text and counts from a child's output. Raises DocumentError for a refusal or too much output."""
    head, ended, _ = taken[:MOST_REPORT].partition(b"\n")
    if not ended:
        head = b""
    try:
        report = json.loads(head)
        refused, noted = report["refused"], report["noted"]
    except (ValueError, LookupError, TypeError, RecursionError):
        refused, noted = "died", {}
    if len(taken) > most:
        refused = "long"
    if refused != "":
        sentence = REFUSED.get(str(refused), REFUSED["damaged"])
        raise DocumentError(sentence.format(name=name, **asdict(room)))
    if not isinstance(noted, dict):
        noted = {}
    counts = {key: count for key, count in noted.items() if type(count) is int and count > 0}
    return taken[len(head) + 1 :], counts


MOST_BYTES = 100 * 2**20
"""Bytes of the largest file that is read."""


MOST_JSON = 2**20
"""Characters of the longest JSON file that is validated."""


SHORT = 2**16
"""Most bytes that are decoded without a thread."""


ROOM = ChildLimits()


EMPTY = "{name} is empty: there is nothing to read in it."


TOO_LARGE = (
    "{name} has {size:,} MB, and at most {most:,} MB are read: share the part that matters, or split it."
)


NO_JSON = "{name} is not valid JSON (line {line}: {why}): it was read as plain text."


async def read_document(name: str, data: bytes, room: ChildLimits = ROOM) -> Document:
    """Return a file's document, under a cleaned name. Raises DocumentError.

    `room` limits the text, and the child process that a PDF or DOCX file needs.
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
    child, make = f"{__package__}.word_text", paragraphs_document
    if found == "pdf":
        child, make = f"{__package__}.pdf_text", pages_document
    body, counts = await extract_in_child(child, name, data, room)
    return await asyncio.to_thread(make, name, body, notes_in_words(name, counts))


def text_document(name: str, data: bytes, room: ChildLimits) -> Document:
    text, notes = decode_text(name, data, room.characters)
    kind = kind_of_text(name)
    if kind == "json":
        notes += note_on_json(name, text)
    return Document(name=name, text=text, kind=kind, notes=notes + note_on_name(name))


def note_on_json(name: str, text: str) -> tuple[str, ...]:
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
    texts = clean_extracted(body).split(PAGE)
    return _require_text(document_of_parts(name, document_of_pages(name, texts), kind="pdf", notes=notes))


def paragraphs_document(name: str, body: bytes, notes: tuple[str, ...]) -> Document:
    text = clean_extracted(body).replace(PAGE, " ")
    return _require_text(Document(name=name, text=text, kind="docx", notes=notes))


def clean_extracted(body: bytes) -> str:
    """Return the child's text without unusual line breaks and null characters; form feeds stay."""
    texts = ["".join(text_pieces(part, "utf-8", "replace")) for part in body.split(PAGE.encode())]
    return PAGE.join(texts).replace("\0", " ")


def _require_text(document: Document) -> Document:
    if not document.text.strip():
        raise DocumentError(BLANK.format(name=document.name))
    return document

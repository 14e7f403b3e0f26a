"""The text of bytes. A large file is turned over piece by piece: beside the loop, no piece holds it up."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from io import IncrementalNewlineDecoder

from w3lib.encoding import html_body_declared_encoding, resolve_encoding

from daemon.documents.document import DocumentError
from daemon.documents.formats import BINARY, file_ending

PIECE = 2**18
"""Bytes that are turned over at once."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""How a text says its encoding; UTF-32 before UTF-16, whose mark it begins with."""
UNMARKED = (
    (re.compile(rb"<\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0<"), "utf-32-be"),
    (re.compile(rb"<\0[^\0]\0"), "utf-16-le"),
    (re.compile(rb"\0<\0[^\0]"), "utf-16-be"),
)
"""How XML and HTML begin that have no mark and several bytes a letter (XML 1.0, appendix F)."""
MARKUP = re.compile(rb"\s*<[!?a-zA-Z]")
MARKUP_ENDINGS = frozenset({".html", ".htm", ".xhtml", ".xht", ".shtml", ".xml"})
TAG = b"<meta"
"""Reads the same in all encodings that can name themselves in ASCII; not in those of mainframes."""
STYLES = re.compile(rb'@charset "([\w.:-]{1,40})";')
TEXT_CODEC = re.compile(r"(?:cp|mac|koi8|kz|ptcp|iso8859|iso2022|euc|gb|hz|big5|shift|johab|tis|hp)[\w-]*")
"""Encodings of one or two bytes a letter. A codec that unpacks or escapes (zlib, rot13) is no encoding."""
OTHER_LINES = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Where `str.splitlines` would begin a line, and no editor does. They become spaces: all count alike."""
CONTROL = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
MOST_CONTROL = 0.05
"""A larger share of control characters is no text."""
HIGH = re.compile(rb"[\x80-\xff]+")
MOST_HIGH = 0.3
"""A larger share of bytes over 127 is no western text: any guess would be wrong."""
FEW = 10
"""So many good letters for each broken one, and a text is damaged UTF-8 rather than something else."""

Decoded = tuple[str, tuple[str, ...]]
"""A text, and notes on how it was read."""

OTHERWISE = "{name} says that its encoding is {declared}, but it is UTF-8, and was read as such."
GUESSED = "The encoding of {name} is not known: it was read as Windows-1252, so some letters may be wrong."
DAMAGED = "{name} is not all in its encoding ({encoding}): {broken} characters could not be read (\ufffd)."
UNKNOWN = "The encoding of {name} is not known: save it as UTF-8, and share that."
TOO_LONG = (
    "{name} holds more than {characters:,} characters of text: share the part that matters, or split it."
)
BLANK = "{name} holds no text: there is nothing to read in it."


def decode_text(name: str, data: bytes, most: int) -> Decoded:
    """Its text, lines ended by "\\n", and notes. Raises DocumentError for what is none, or is too long."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decode_damaged(name, data[len(mark) :], encoding, most)
    for beginning, encoding in UNMARKED:
        if beginning.match(data):
            return _decode_damaged(name, data, encoding, most)
    if b"\0" in data:
        raise DocumentError(f"{name} {BINARY}.")
    declared = declared_encoding(name, data)
    if declared and data.isascii():  # some encodings write all their letters in ASCII
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
    """Return the encoding other than UTF-8 that an XML, HTML or CSS text names itself, as Python calls it.

    Empty if it names none, one that Python does not know, or one that it cannot be in (UTF-16).
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
    """The text of what is not UTF-8, and does not say what it is."""
    broken, good = _count_broken_utf8(data)
    if good >= FEW * broken:
        return _decode_damaged(name, data, "utf-8", most)
    try:
        return _decode_windows(name, data, most)
    except UnicodeDecodeError:
        raise DocumentError(UNKNOWN.format(name=name)) from None


def text_pieces(data: bytes, encoding: str, errors: str) -> Iterator[str]:
    """The text of these bytes, piece by piece, lines ended by "\\n" alone. Raises UnicodeDecodeError."""
    decoder = IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(errors), translate=True)
    for at in range(0, len(data), PIECE):
        yield OTHER_LINES.sub(" ", decoder.decode(data[at : at + PIECE]))
    yield OTHER_LINES.sub(" ", decoder.decode(b"", final=True))


def _decode_damaged(name: str, data: bytes, encoding: str, most: int) -> Decoded:
    """The text, with what is broken in it replaced, and told of."""
    try:
        return _joined_text(name, data, encoding, "strict", most), ()
    except UnicodeDecodeError:
        text = _joined_text(name, data, encoding, "replace", most)
    broken = text.count("\ufffd")
    return text, (DAMAGED.format(name=name, encoding=encoding.upper(), broken=broken),)


def _decode_windows(name: str, data: bytes, most: int) -> Decoded:
    """The text as Windows writes it in the west."""
    high = 0
    for at in range(0, len(data), PIECE):
        piece = data[at : at + PIECE]
        high += len(piece) - len(HIGH.sub(b"", piece))
    if high > MOST_HIGH * len(data):
        raise DocumentError(UNKNOWN.format(name=name))
    return _joined_text(name, data, "cp1252", "strict", most), (GUESSED.format(name=name),)


def _count_broken_utf8(data: bytes) -> tuple[int, int]:
    """How many characters are broken if this is UTF-8, and how many beyond ASCII are good."""
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

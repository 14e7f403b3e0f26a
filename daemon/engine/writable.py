"""Text that can be written everywhere: no half of a character, no NUL.

JSON lets half a surrogate pair pass, and so do models and tools; UTF-8, SQLite and Slack do not.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal
from unicodedata import normalize

UNWRITABLE = re.compile(r"[\x00\ud800-\udfff]")
PAIR = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
FIRST_HALF = re.compile(r"[\ud800-\udbff]\Z")
SUSPECT = re.compile(r"\\u(?:d[89a-f]|0000)", re.IGNORECASE)
"""What is escaped so in JSON may be half a character."""
REPLACEMENT_CHARACTER = "\ufffd"
"""Stands for each character that could not be written."""
SHORT = re.compile(r"(?s).{1,256}(?=\s|\Z)|.{1,256}")
"""A piece that ends with a word where it can."""


def storable_text(text: str) -> str:
    """The text with its halves joined to characters, and a mark for what is none."""
    if text.isascii() and "\0" not in text:  # a search through a prompt would take longer than all else
        return text
    if not UNWRITABLE.search(text):
        return text
    return UNWRITABLE.sub(REPLACEMENT_CHARACTER, PAIR.sub(_joined, text))


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def storable_json(text: str) -> str:
    """JSON text, as `json.dumps` writes it, whose strings can be written everywhere."""
    if "\\u" not in text or not SUSPECT.search(text):
        return text
    return json.dumps(storable_value(json.loads(text)), allow_nan=False)


def storable_value(value: Any) -> Any:
    """A value as JSON holds it, with all of its texts as they can be written everywhere."""
    match value:
        case str():
            return storable_text(value)
        case list():
            return [storable_value(one) for one in value]
        case dict():
            return {storable_text(name): storable_value(one) for name, one in value.items()}
    return value


def normalized(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The text in this form of Unicode, piece by piece: to put a row of accents in order takes the square of
    it, and nobody else goes on meanwhile."""
    return "".join(normalize(form, piece) for piece in SHORT.findall(text))


class SurrogateJoiner:
    """Text that comes in pieces: a character that they split is one, wherever the cut was."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """What can be written by now; the first half of a character waits for the second one."""
        text = self._half + piece
        self._half = text[-1:] if FIRST_HALF.search(text) else ""
        return storable_text(text.removesuffix(self._half))

    def end(self) -> str:
        """No more will come."""
        half, self._half = self._half, ""
        return storable_text(half)

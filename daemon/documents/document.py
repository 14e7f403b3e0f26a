"""A document: a text with places in it, so that what is said of it can be cited and the citation checked.

A line is what lies between two "\n", counted from 1. Documents that have pages or messages have parts, too;
in the text the line before each part holds its name in brackets, so that a program that reads finds it.

Numbers before the lines of a text that a model reads, so that it can cite them; and a quotation without.

The bar after a number is one that hardly any text has, so that what was copied with a line can be told.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter

LONGEST_NAME = 200


UNNAMED = "file"


NO_NAME = re.compile('[\\[\\]"“”„«»<>`]')
"""What marks where a name ends, in a citation."""


class DocumentError(Exception):
    """A file cannot be read: a plain sentence on what is wrong with it, and what to do."""

    recorded_name = "DocumentError"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPart:
    """A page or a message: how it is cited ("paper.pdf p.3", a permalink), its first and its last line."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text and its places.

    `kind` is "text", "csv", "json", "pdf", "docx" or "thread". `parts` are in order and do not overlap.
    `notes` are sentences for whoever reads it: what was guessed, what is left out.
    """

    name: str
    text: str
    kind: str = "text"
    parts: tuple[DocumentPart, ...] = ()
    notes: tuple[str, ...] = ()
    _starts: array[int] = field(init=False, repr=False, compare=False)
    """Where each line begins."""

    def __post_init__(self) -> None:
        starts = array("I", [0])
        starts.extend(one.end() for one in re.finditer("\n", self.text))
        if starts[-1] == len(self.text):
            starts.pop()  # what ends with a line feed has no empty line after it
        object.__setattr__(self, "_starts", starts)

    @property
    def line_count(self) -> int:
        """How many lines it has; an empty text has none."""
        return len(self._starts)

    def place(self, line: int) -> str:
        """How this line is cited: by its part, where it has one, else as "name:line"."""
        at = bisect_right(self.parts, line, key=attrgetter("first"))
        if at and line <= self.parts[at - 1].last:
            return self.parts[at - 1].name
        return f"{self.name}:{line}"

    def passage(self, first: int, last: int) -> str:
        """The text of these lines, the last one included; of those that there are not, nothing."""
        first, last = max(first, 1), min(last, self.line_count)
        if first > last:
            return ""
        end = len(self.text)
        if last < self.line_count:
            end = self._starts[last]
        return self.text[self._starts[first - 1] : end]


def document_of_parts(
    name: str, parts: Iterable[tuple[str, str]], *, kind: str, notes: tuple[str, ...] = ()
) -> Document:
    """A document of named texts: pages, or messages with their permalinks. A text of white space is left out.

    Long texts take their time: make it in a thread.
    """
    text: list[str] = []
    places: list[DocumentPart] = []
    line = 0
    for called, words in parts:
        words = words.strip("\n")
        if words.strip():
            text.append(f"[{called}]\n{words}\n")
            first = line + 2
            line = first + words.count("\n")
            places.append(DocumentPart(name=called, first=first, last=line))
    return Document(name=name, text="".join(text), kind=kind, parts=tuple(places), notes=notes)


def document_of_pages(name: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The pages of a document as parts, each named after its number."""
    for number, text in enumerate(texts, start=1):
        yield f"{name} p.{number}", text


def clean_name(name: str) -> str:
    """A file's name as it can be shown in a line and cited: printable, without brackets and quotes."""
    shown = "".join(letter if letter.isprintable() else " " for letter in name)
    return " ".join(NO_NAME.sub("_", shown).split())[:LONGEST_NAME] or UNNAMED


BAR = "\u2502"


COPIED = re.compile(rf"(?:(?<=\s)|^)\d+{BAR}\s?|\s?(?<=\s)\d*{BAR}(?=\s|$)")
"""A number, or what is left of one, that was copied into a quotation."""


def with_line_numbers(text: str, first: int = 1) -> str:
    """The text with the number of each line before it; the first line has this one."""
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"{number}{BAR} {line}" for number, line in enumerate(lines, first))


def without_line_numbers(quote: str) -> str:
    """A quotation without the numbers that were copied with its lines."""
    if BAR not in quote:
        return quote
    return COPIED.sub("", quote).strip()

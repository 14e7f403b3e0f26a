r"""Documents: texts with citable places, and line numbers for models.

Lines end with "\n" and count from 1. The line before each part holds the part's name in brackets. Models see
a rare character, the bar, after each line number, so copied numbers can be removed from quotations.
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
"""Characters that would end a name in a citation."""


class DocumentError(Exception):
    """Failure to read a file; the text names a remedy."""

    recorded_name = "DocumentError"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPart:
    """A page or message: its name in citations ("paper.pdf p.3", a permalink), its first and last line."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text and its citable places.

    `kind`: "text", "csv", "json", "pdf", "docx" or "thread". `parts` are in order and do not overlap. `notes`
    are sentences about guesses and omissions.
    """

    name: str
    text: str
    kind: str = "text"
    parts: tuple[DocumentPart, ...] = ()
    notes: tuple[str, ...] = ()
    _starts: array[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = array("I", [0])
        starts.extend(one.end() for one in re.finditer("\n", self.text))
        if starts[-1] == len(self.text):
            starts.pop()
        object.__setattr__(self, "_starts", starts)

    @property
    def line_count(self) -> int:
        return len(self._starts)

    def place(self, line: int) -> str:
        """Return the place to cite for a line: the name of its part, else "name:line"."""
        at = bisect_right(self.parts, line, key=attrgetter("first"))
        if at and line <= self.parts[at - 1].last:
            return self.parts[at - 1].name
        return f"{self.name}:{line}"

    def passage(self, first: int, last: int) -> str:
        """Return the lines `first` to `last`, as far as they exist."""
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
    """Return a document of parts, given as names and texts, without blank ones.

    Slow for long texts: call it in a thread.
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
    for number, text in enumerate(texts, start=1):
        yield f"{name} p.{number}", text


def clean_name(name: str) -> str:
    """Return a short, printable name without brackets or quotes; "file" if nothing is left."""
    shown = "".join(letter if letter.isprintable() else " " for letter in name)
    return " ".join(NO_NAME.sub("_", shown).split())[:LONGEST_NAME] or UNNAMED


BAR = "\u2502"


COPIED = re.compile(rf"(?:(?<=\s)|^)\d+{BAR}\s?|\s?(?<=\s)\d*{BAR}(?=\s|$)")


def with_line_numbers(text: str, first: int = 1) -> str:
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"{number}{BAR} {line}" for number, line in enumerate(lines, first))


def without_line_numbers(quote: str) -> str:
    """Return the quotation without line numbers that a model copied."""
    if BAR not in quote:
        return quote
    return COPIED.sub("", quote).strip()

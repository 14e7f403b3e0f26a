"""Where the commands stand in an answer: between the markers of a section, or in a fenced block of JSON.

A marker has a line of its own. In a fence, in inline code and in a quotation it is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MARK = re.compile(
    r"""^(?:
    [^\S\n]*+ (?:(?:[-*+]|\d{1,9}[.)])[^\S\n]++)?+ (?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+) (?P<info>[^\n]*+)
    | [ ]{0,3}+ \#{1,6}+ [^\S\n]*+ (?P<begin>команды|commands) [^\S\n]*+ :?+ [^\S\n]*+
    | [ ]{0,3}+ \#{1,6}+ [^\S\n]*+ (?P<end>конец[^\S\n]++команд|end[^\S\n]++of[^\S\n]++commands)
      [^\S\n]*+ :?+ [^\S\n]*+
    )$""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
"""A line that opens or closes a fence, or begins or ends a section. It never looks back."""
HIDDEN = "This heading of commands stands in a code fence that is never closed, so nothing under it was read"
UNOPENED = "Here commands end that have not begun: write `# Commands:` on a line of its own before them"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionSpan:
    """A part of the answer that may hold commands: from `start` to `end`, with its marks `begin` to `upto`.

    `closed`: was its end written? Else it goes on to the next section, or to the end of the answer.
    """

    begin: int
    start: int
    end: int
    upto: int
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLayout:
    """The sections of an answer, its blocks of JSON outside them, and marks that make no sense, with why."""

    sections: Sequence[SectionSpan]
    blocks: Sequence[SectionSpan]
    strays: Sequence[tuple[int, str]]


def scan_layout(text: str) -> AnswerLayout:
    """How an answer is laid out, in time that grows with its length."""
    return _LayoutScanner(text).layout()


def cut_spans(text: str, spans: Sequence[SectionSpan]) -> str:
    """The text with these spans taken out, which are in order."""
    return "".join(_kept(text, spans)).strip()


def _kept(text: str, spans: Sequence[SectionSpan]) -> Iterator[str]:
    at = 0
    for span in spans:
        yield text[at : span.begin]
        at = span.upto
    yield text[at:]


class _LayoutScanner:
    """Goes through the marks of a text once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sections: list[SectionSpan] = []
        self._blocks: list[SectionSpan] = []
        self._strays: list[tuple[int, str]] = []
        self._section: re.Match[str] | None = None
        self._fence: re.Match[str] | None = None
        self._hidden: list[int] = []
        """Where sections would have begun, but for the fence that is open."""
        self._left = -1
        """Where a section ended before its fence did: the end of that fence may still follow."""

    def layout(self) -> AnswerLayout:
        for mark in MARK.finditer(self._text):
            if mark["fence"]:
                self._fenced(mark)
            elif mark["begin"]:
                self._begin(mark)
            else:
                self._end(mark)
        length = len(self._text)
        if self._section:
            self._close(self._section, length, length, closed=False)
        elif self._fence:
            self._close(self._fence, length, length, closed=False)
            self._strays += [(at, HIDDEN) for at in self._hidden]
        return AnswerLayout(sections=self._sections, blocks=self._blocks, strays=self._strays)

    def _fenced(self, mark: re.Match[str]) -> None:
        left = self._left
        self._left = -1
        if self._fence is None:
            if left < 0 or mark["info"].strip() or self._text[left : mark.start()].strip():
                self._fence = mark
                self._hidden = []
        elif _closes(self._fence, mark):
            if self._section is None:
                self._close(self._fence, mark.start(), mark.end(), closed=True)
            self._fence = None

    def _begin(self, mark: re.Match[str]) -> None:
        if self._fence:
            self._hidden.append(mark.start())
            return
        if self._section:
            self._close(self._section, mark.start(), mark.start(), closed=False)
        self._section = mark

    def _end(self, mark: re.Match[str]) -> None:
        """No JSON can hold this line, so a section ends here even if its fence was forgotten."""
        if self._section:
            self._close(self._section, mark.start(), mark.end(), closed=True)
            self._section = None
            if self._fence:
                self._left = mark.end()
                self._fence = None
        elif self._fence is None:
            self._strays.append((mark.start(), UNOPENED))

    def _close(self, mark: re.Match[str], end: int, upto: int, *, closed: bool) -> None:
        """Keep what began with this mark, if it may hold commands."""
        span = SectionSpan(begin=mark.start(), start=mark.end(), end=end, upto=upto, closed=closed)
        if mark["begin"]:
            self._sections.append(span)
        elif mark["info"].strip().lower() == "json":
            self._blocks.append(span)


def _closes(fence: re.Match[str], mark: re.Match[str]) -> bool:
    """Does this mark close that fence?"""
    return mark["fence"].startswith(fence["fence"]) and not mark["info"].strip()

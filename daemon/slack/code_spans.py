"""Where in a Markdown text its code is: fences, and spans within a line. Pure.

Where readers of Markdown differ it is no code: a span over two lines, or over two cells of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from daemon.slack.block import FENCE, SEPARATOR, closes_fence

BLANK = "\x00"
"""Stands for each character of code."""
CODE_MARK = re.compile(r"(?<!`)`+(?!`)")
PIPE = re.compile(r"(?<!\\)\|")
LINE = re.compile(r"[^\n]*\n?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeMask:
    """A text without its code: `text` has a BLANK for each character of it.

    From `unsure` on, more of the text may decide what is code; `maybe` is the same with less code there.
    """

    text: str
    maybe: str
    unsure: int


def mask_code(text: str) -> CodeMask:
    """The text without its code."""
    shown = list(text)
    unsure = len(text)
    opening: re.Match[str] | None = None
    lines = list(_lines(text))
    tables = _table_rows([line for _, line in lines])
    whole = text.count("\n")
    for number, (start, line) in enumerate(lines):
        bare, is_last = line.rstrip("\n"), number == len(lines) - 1
        fence = FENCE.fullmatch(bare)
        if opening or (fence and fence["mark"][0] not in fence["info"]):
            _blot(shown, start, start + len(line))
            if opening is None:
                opening = fence
                if is_last and not line.endswith("\n"):
                    unsure = min(unsure, start)
            elif fence and closes_fence(fence, opening):
                opening = None
            continue
        for at, cell in _cells(bare, is_row=tables[number]):
            found = _CodeSpans(cell)
            for begin, end in found.closed:
                if number + 1 >= whole and PIPE.search(cell, begin, end):
                    unsure = min(unsure, start + at + begin)
                _blot(shown, start + at + begin, start + at + end)
            if is_last and not line.endswith("\n") and found.open is not None:
                unsure = min(unsure, start + at + found.open)
    known = "".join(shown)
    return CodeMask(text=known, maybe=known[:unsure] + text[unsure:], unsure=unsure)


class _CodeSpans:
    """The code spans of a line: where those that are closed begin and end, and where one is open."""

    def __init__(self, line: str) -> None:
        self.closed: list[tuple[int, int]] = []
        self.open: int | None = None
        runs = [(found.start(), found.end()) for found in CODE_MARK.finditer(line)]
        while runs:
            (begin, end), *runs = runs
            escaped = len(line[:begin]) - len(line[:begin].rstrip("\\"))
            begin += escaped % 2
            if begin == end:
                continue
            partner = [run for run in runs if run[1] - run[0] == end - begin]
            if partner:
                self.closed.append((begin, partner[0][1]))
                runs = runs[runs.index(partner[0]) + 1 :]
                if partner[0][1] == len(line):  # the run may be longer yet
                    self.open = begin if self.open is None else self.open
            elif self.open is None:
                self.open = begin


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with where each begins."""
    for found in LINE.finditer(text):
        if found[0]:
            yield found.start(), found[0]


def _cells(line: str, *, is_row: bool) -> Iterator[tuple[int, str]]:
    """The cells of a row with where each begins; any other line is one."""
    begin = 0
    if is_row:
        for pipe in PIPE.finditer(line):
            yield begin, line[begin : pipe.start()]
            begin = pipe.end()
    yield begin, line[begin:]


def _table_rows(lines: list[str]) -> list[bool]:
    """Which of these lines may be rows of a table: from the one above its separator to the next blank one."""
    rows = [line.lstrip().startswith("|") for line in lines]
    below = False
    for number, line in enumerate(lines):
        if SEPARATOR.fullmatch(line.strip()):
            below = True
            rows[max(number - 1, 0)] = True
        below = below and bool(line.strip())
        rows[number] = rows[number] or below
    return rows


def _blot(shown: list[str], start: int, end: int) -> None:
    """Blank these characters, but for the end of the line."""
    for at in range(start, end):
        if shown[at] != "\n":
            shown[at] = BLANK

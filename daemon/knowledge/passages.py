"""A text in passages that are found together, and shown whole: paragraphs, short ones joined.

A paragraph is what stands between blank lines: of prose its sentences, of code about a function, of a table
its rows. Only one that is too long is cut, at the end of a line, or a sentence within one, and marked so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import StringIO

JOINED = 800
"""Letters up to which paragraphs are joined."""
HEADING = 120
"""Letters of what is joined with the paragraph after it, however long that is."""
LONGEST, MOST_LINES = 1_600, 30
"""Letters, and lines, of the longest passage."""
CUT = "\x1e"
"""Stands in a passage where its paragraph is cut: in a line of its own between lines, else in one. No line of
a file has this character.
"""
MARK = "…"
"""Stands for CUT where a passage is shown."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
ENDS = (r"(?<=[.!?…])\s|(?<=[\u3002\uff01\uff1f])", r"\s")
"""Places at which a line is cut: after a sentence, else after a word."""


def split_lines(text: str) -> Iterator[str]:
    """The lines of a text, as they are counted everywhere."""
    for line in StringIO(text, newline="\n"):
        if line.endswith("\r\n"):
            line = line[:-2]
        yield CONTROL.sub(" ", line.removesuffix("\n"))


def split_passages(text: str) -> Iterator[tuple[int, str]]:
    """The passages of a text: the number of the first line, and the lines, with CUT where it is cut."""
    lines = [*split_lines(text)]
    start = end = 0
    for first, last in _paragraphs(lines):
        before = _letters(lines[start:end])
        joined = before + _letters(lines[first:last])
        if before > HEADING and (joined > JOINED or last - start > MOST_LINES):
            yield from _split_long(lines, start, end)
            start = first
        elif not before:
            start = first
        end = last
    if end > start:
        yield from _split_long(lines, start, end)


def format_passage(path: str, line: int, passage: str) -> str:
    """A passage as it is shown: each line that is not blank as `path:line: text`, "…" where it is cut."""
    told = []
    for words in passage.split("\n"):
        if words == CUT:
            told.append(MARK)
            continue
        if words.strip():
            told.append(f"{path}:{line}: {words.replace(CUT, MARK).rstrip()}")
        line += 1
    return "\n".join(told)


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find the index of the first line of each paragraph, and the one after its last."""
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or not lines[end].strip() or not lines[start].strip():
            if lines[start].strip():
                yield start, end
            start = end


def _letters(lines: Sequence[str]) -> int:
    return sum(map(len, lines))


def _split_long(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, str]]:
    """Return these lines as one passage, or as several if they are too long."""
    piece: list[str] = []
    first = start
    for at in range(start, end):
        parts = _split_line(lines[at])
        is_full = _letters(piece) + len(parts[0]) > LONGEST or len(piece) >= MOST_LINES
        if piece and (is_full or len(parts) > 1):
            yield first + 1, "\n".join([*piece, CUT])
            piece, first = [CUT], at
        for part in parts[:-1]:
            yield at + 1, "\n".join([*piece, part])
            piece, first = [], at
        piece.append(parts[-1])
    if piece:
        yield first + 1, "\n".join(piece)


def _split_line(line: str) -> list[str]:
    """A line, in several parts where it is too long."""
    parts: list[str] = []
    begun = ""
    while len(line) > LONGEST:
        end = _line_break(line)
        parts.append(f"{begun}{line[:end].rstrip()} {CUT}")
        line, begun = line[end:].lstrip(), f"{CUT} "
    return [*parts, begun + line]


def _line_break(line: str) -> int:
    """Return the end of the first part of a long line: as late as it may be, and in its second half."""
    half = LONGEST // 2
    for break_ in ENDS:
        ends = [half + found.start() for found in re.finditer(break_, line[half:LONGEST])]
        if ends:
            return ends[-1]
    return LONGEST

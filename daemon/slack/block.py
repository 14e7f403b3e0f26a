"""What a page of Markdown is in the middle of where it ends: a code fence, or a table. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

FENCE = re.compile(r"(?P<lead>[\s>]{0,12}(?:(?:[-*+]|\d{1,9}[.)])\s+)?)(?P<mark>`{3,20}|~{3,20})(?P<info>.*)")
"""A line that opens or closes a code fence; it may be indented, quoted, or stand behind a list's bullet."""
SEPARATOR = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")
"""The line under a table's header."""
LEADING_SPACE = re.compile(r"\s*")
BETWEEN = re.compile(r"(?:[^\S\n]*\n)+(?:[^\S\n]{100,})?|[^\S\n]*")
"""What goes between two lines of code: the next one keeps its indentation, if it is one."""
LONGEST_MARK = 20
"""Characters that open or close a fence: more of them are code."""
LONGEST_INFO = 100
LONGEST_HEADER = 2_000
"""Characters of a fence's first line, and of a table's first two, that are worth saying again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBlock:
    """`again` opens it on the next page, `end` closes it on this one; plain text needs neither.

    `mark` is what a code fence is closed with.
    """

    again: str = ""
    end: str = ""
    mark: str = ""


def open_block(page: str) -> OpenBlock:
    """What this page does not end by itself."""
    opening = _open_fence(page)
    if opening:
        lead = re.sub(r"[^\s>]", " ", opening["lead"])
        bare = f"{lead}{opening['mark']}"
        again = f"{bare}{opening['info'].rstrip()}"
        if len(again) > LONGEST_INFO:
            again = bare
        return OpenBlock(again=f"{again}\n", end=f"\n{bare}", mark=opening["mark"])
    rows = _trailing_rows(page)
    header = "\n".join(rows[:2]) + "\n"
    if not _is_table(rows) or len(header) > LONGEST_HEADER:
        return OpenBlock()
    return OpenBlock(again=header)


def reopen_block(text: str, at: int, block: OpenBlock) -> tuple[int, str]:
    """Where the text goes on after a page that ended at `at`, and what the next page repeats before it.

    At the end of the text there is nothing to go on with, or it cannot be told yet.
    """
    if block.mark:
        return _in_fence(text, at, block)
    start = _match(LEADING_SPACE, text, at)
    breaks = text.count("\n", at, start)
    if breaks == 0 or (breaks == 1 and text.startswith("|", start)):
        return start, block.again
    return start, ""


def leads_into_next(page: str) -> bool:
    """Does its last line lead over to what comes next? No message should end there."""
    line = page.rstrip().rpartition("\n")[2].strip()
    if line.startswith("|"):
        return len(_trailing_rows(page.rstrip())) < 3
    if line.startswith("#") or line.rstrip("*_").endswith(":"):
        return True
    return bool(FENCE.fullmatch(line) and _open_fence(page))


def _in_fence(text: str, at: int, block: OpenBlock) -> tuple[int, str]:
    """The next line of code; after the fence, where no line of it is left."""
    left = text[at:].strip("\n\t >")
    if len(left) <= LONGEST_MARK and not left.strip(block.mark[0]):
        return len(text), ""
    closed = rf"[^\S\n]*\n[\s>]*{block.mark}{block.mark[0]}*[^\S\n]*\n\s*"
    start = _match(re.compile(closed), text, at)
    if start > at:
        return start, ""
    return _match(BETWEEN, text, at), block.again


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    if found is None:
        return at
    return found.end()


def _open_fence(page: str) -> re.Match[str] | None:
    opening: re.Match[str] | None = None
    for line in page.split("\n"):
        if "```" not in line and "~~~" not in line:
            continue
        found = FENCE.fullmatch(line)
        if found is None:
            continue
        if opening is None:
            if found["mark"][0] not in found["info"]:
                opening = found
        elif closes_fence(found, opening):
            opening = None
    return opening


def closes_fence(line: re.Match[str], opening: re.Match[str]) -> bool:
    """Does this line, which a fence may begin or end with, end the one that began with `opening`?"""
    bare = not line["info"].strip() and not line["lead"].strip(" \t>")
    return bare and line["mark"].startswith(opening["mark"])


def _is_table(rows: Sequence[str]) -> bool:
    return len(rows) > 1 and bool(SEPARATOR.fullmatch(rows[1].strip()))


def _trailing_rows(page: str) -> list[str]:
    """The lines at its end that may be rows of a table."""
    rows: list[str] = []
    for line in reversed(page.split("\n")):
        if not line.lstrip().startswith("|"):
            break
        rows.append(line)
    return rows[::-1]

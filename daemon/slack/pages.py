"""Texts and plans as messages within Slack's limits, by pure functions.

Later text never moves a page's end: only the last page of a growing text grows. A plan's words come from a
model, and can neither ping nor form references.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from daemon.kinds import PlanState
from daemon.ports import MessagePage
from daemon.slack.block_text import escape_mrkdwn
from daemon.slack.markdown import OpenBlock, escape_mentions, leads_into_next, open_block, reopen_block

PARAGRAPH, LINE, WORD, LINK, SIGN, MOST = 10_000, 10_400, 10_600, 10_800, 10_900, 10_940
"""Lengths in characters from which a page may end at a paragraph, at a line, at a word, outside links,
outside composed characters, or anywhere; Slack takes 12,000.
"""

NEAR = 400
"""Characters before the end of a page in which a break is searched."""

FULL_STOP = r"(?<=[\u3002\uff01\uff1f])"
BREAKS = (r"\n[^\S\n]*\n", r"\n", rf"(?<=[.!?…])\s|{FULL_STOP}", r"\s")
BLANK_LINE, END_OF_LINE = map(re.compile, BREAKS[:2])
SPACE = re.compile(rf"\s|{FULL_STOP}")

SPAN = re.compile(r"<[^<>\s][^<>]*$|\[[^\[\]]*$|\]\([^()\s]*$")
"""Link that is not closed at the end of the text."""

FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))

JOINED = re.compile("[\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\udc00-\udfff]")
"""Characters that, like combining marks, extend the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedPage(MessagePage):
    """Page before the last one, with the `block` that is open at its end."""

    block: OpenBlock


def pages(text: str, cuts: Sequence[int] = (), ended: Sequence[MessagePage] = ()) -> list[MessagePage]:
    """Split a text into messages, at the indexes `cuts` or by length; empty for no text.

    Fences and tables cut in two are reopened. `ended` are pages finished before.
    """
    found = list(ended)
    start, again = len(text) - len(text.lstrip()), ""
    if ended:
        last = ended[-1]
        assert isinstance(last, FinishedPage)
        start, again = reopen_block(text, last.upto, last.block)
    while start < len(text):
        page = again + text[start:]
        before = start - len(again)
        ends = [at - before for at in cuts if text[start:at].strip() and at < len(text)]
        natural = page_end(page)
        if natural is not None:
            ends.append(natural)
        if not ends:
            return [*found, MessagePage(text=page.rstrip(), upto=len(text))]
        shown = page[: min(ends)].rstrip()
        block = open_block(shown)
        upto = before + len(shown)
        start, again = reopen_block(text, upto, block)
        said = shown + block.end
        if start < len(text):
            found.append(FinishedPage(text=said, upto=upto, block=block))
        else:
            found.append(MessagePage(text=said, upto=len(text)))
    return found


def page_break(text: str, since: int) -> int:
    """Return the index of the last good break of a page that began at `since` and must end now."""
    near = max(since, len(text) - NEAR)
    for break_ in BREAKS:
        ends = [near + found.start() for found in re.finditer(break_, text[near:])]
        for end in reversed(ends):
            page = text[since:end]
            if page.strip() and not leads_into_next(page) and not _in_span(text, end):
                return end
    return len(text)


def page_end(page: str) -> int | None:
    if escaped_length(page) < PARAGRAPH:
        return None
    begin = bisect_left(range(len(page)), PARAGRAPH, key=partial(escaped_length, page))
    length = escaped_length(page, begin)
    for at in range(begin, len(page)):
        if _may_end(page, at, length):
            return at
        length += escaped_length(page[at])
    return None


def escaped_length(page: str, upto: int = sys.maxsize) -> int:
    return min(upto, len(page)) + page.count("<", 0, upto) + page.count("@", 0, upto)


def _may_end(page: str, at: int, length: int) -> bool:
    if length >= SIGN:
        return length >= MOST or not _joined(page, at)
    if length >= LINK:
        return not _joined(page, at) and not _in_span(page, at)
    if length >= WORD:
        return bool(SPACE.match(page, at)) and not _in_span(page, at)
    end = BLANK_LINE
    if length >= LINE:
        end = END_OF_LINE
    if not end.match(page, at) or page[at - 1] == "\n" or leads_into_next(page[:at]):
        return False
    return length >= LINE or not open_block(page[:at]).mark


def _in_span(page: str, at: int) -> bool:
    line = page.rfind("\n", 0, at) + 1
    if page.count("`", line, at) % 2 == 1:
        return True
    near = max(line, at - NEAR)
    return bool(SPAN.search(page[near:at]))


def _joined(page: str, at: int) -> bool:
    before, after = page[at - 1], page[at]
    if before in FLAGS and after in FLAGS:
        return (at - len(page[:at].rstrip(FLAGS))) % 2 == 1
    return bool(JOINED.match(after)) or before == "\u200d" or unicodedata.category(after).startswith("M")


UPDATE_MOST = 4_000
"""Most characters of a text for chat.update."""

MOST_SHOWN_STEPS = 48
"""Most steps of a plan that are shown; further steps are counted."""

HEADER_MOST = 150
SECTION_MOST = 3_000

STEP_MOST = 200
"""Most characters of a step: all steps fit in 50 blocks, even if escaping makes them five times longer."""

MARKS = {"done": "✓", "cancelled": "✕"}
OPEN = "○"


def make_plan_card(plan: PlanState) -> dict[str, Any]:
    """Return a plan in blocks, for chat.postMessage and chat.update."""
    heading = _line(plan.heading, HEADER_MOST)
    figures = f"{plan.done_count}/{len(plan.steps)}"
    blocks: list[dict[str, Any]] = []
    if heading:
        blocks.append({"type": "header", "text": {"type": "plain_text", "text": heading}})
    blocks += [{"type": "section", "text": _mrkdwn(text)} for text in _sections(_lines(plan))]
    blocks.append({"type": "context", "elements": [_mrkdwn(figures)]})
    return {"text": escape_mrkdwn(f"{figures} {heading}".strip()), "blocks": blocks}


def make_plain_plan_card(plan: PlanState) -> dict[str, Any]:
    head = escape_mrkdwn(f"{plan.done_count}/{len(plan.steps)} {_line(plan.heading, HEADER_MOST)}".strip())
    lines = [head, *_lines(plan)]
    while sum(len(line) + 1 for line in lines) > UPDATE_MOST:
        del lines[-1]
    return {"text": "\n".join(lines), "blocks": []}


def _lines(plan: PlanState) -> Iterator[str]:
    for text, state in plan.steps[:MOST_SHOWN_STEPS]:
        words = escape_mrkdwn(_line(text, STEP_MOST))
        if state == "cancelled" and words:
            words = f"~{words}~"
        yield f"{MARKS.get(state, OPEN)} {words}".rstrip()
    more = len(plan.steps) - MOST_SHOWN_STEPS
    if more > 0:
        yield f"… and {more} more"


def _sections(lines: Iterable[str]) -> Sequence[str]:
    sections: list[str] = []
    for line in lines:
        if sections and len(sections[-1]) + len(line) < SECTION_MOST:
            sections[-1] += f"\n{line}"
        else:
            sections.append(line)
    return sections


def _line(text: str, most: int) -> str:
    line = " ".join(escape_mentions(text).split())
    if len(line) <= most:
        return line
    return f"{line[: most - 1]}…"


def _mrkdwn(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text}

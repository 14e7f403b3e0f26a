"""A plan as Slack shows it: blocks that fit what Slack takes, and a line for notifications. Pure.

The words of a plan are a model's: they can neither ping anybody nor form a reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from daemon.kinds import PlanState
from daemon.slack.block_text import escape_mrkdwn
from daemon.slack.draft import UPDATE_MOST
from daemon.slack.quiet import escape_mentions

MOST_SHOWN_STEPS = 48
"""Steps that are shown; beyond that only their number is."""
HEADER = 150
"""Characters that Slack takes in a header."""
SECTION = 3_000
"""The same of a section."""
STEP = 200
"""Characters of a step that are shown. Escaped they are five times as many, so all steps fit in 50 blocks."""
MARKS = {"done": "✓", "cancelled": "✕"}
OPEN = "○"


def checklist(plan: PlanState) -> dict[str, Any]:
    """The content of a message that shows this plan, for chat.postMessage and chat.update."""
    heading = _line(plan.heading, HEADER)
    figures = f"{plan.done_count}/{len(plan.steps)}"
    blocks: list[dict[str, Any]] = []
    if heading:
        blocks.append({"type": "header", "text": {"type": "plain_text", "text": heading}})
    blocks += [{"type": "section", "text": _mrkdwn(text)} for text in _sections(_lines(plan))]
    blocks.append({"type": "context", "elements": [_mrkdwn(figures)]})
    return {"text": escape_mrkdwn(f"{figures} {heading}".strip()), "blocks": blocks}


def in_plain_text(plan: PlanState) -> dict[str, Any]:
    """The same without blocks, as far as the text of a message goes that is rewritten."""
    head = escape_mrkdwn(f"{plan.done_count}/{len(plan.steps)} {_line(plan.heading, HEADER)}".strip())
    lines = [head, *_lines(plan)]
    while sum(len(line) + 1 for line in lines) > UPDATE_MOST:
        del lines[-1]
    return {"text": "\n".join(lines), "blocks": []}


def _lines(plan: PlanState) -> Iterator[str]:
    for text, state in plan.steps[:MOST_SHOWN_STEPS]:
        words = escape_mrkdwn(_line(text, STEP))
        if state == "cancelled" and words:
            words = f"~{words}~"
        yield f"{MARKS.get(state, OPEN)} {words}".rstrip()
    more = len(plan.steps) - MOST_SHOWN_STEPS
    if more > 0:
        yield f"… and {more} more"


def _sections(lines: Iterable[str]) -> Sequence[str]:
    """The lines, as many together as a section takes."""
    sections: list[str] = []
    for line in lines:
        if sections and len(sections[-1]) + len(line) < SECTION:
            sections[-1] += f"\n{line}"
        else:
            sections.append(line)
    return sections


def _line(text: str, most: int) -> str:
    """One line of at most so many characters, which pings nobody."""
    line = " ".join(escape_mentions(text).split())
    if len(line) <= most:
        return line
    return f"{line[: most - 1]}…"


def _mrkdwn(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text}

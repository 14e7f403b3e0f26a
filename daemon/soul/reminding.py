"""What the end of a wait becomes for a thread of the soul: a reminder, a branch's answer, a timer's time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from daemon.engine.event import Entry, Input
from daemon.engine.kinds import ThreadEnded, Waiting, Woke
from daemon.engine.reading import Reading
from daemon.kinds import INNER_WAIT, REMINDER, InnerMessage, SharedFile, TickDue, Timer
from daemon.mind.payloads import element
from daemon.soul.tree import came_of, timer_id

COMPLETED = "completed"
TIMER_FIRED = "timer-fired"


def reminded(journal: Reading, waiting: Entry[Waiting], woke: Woke) -> Input:
    """The input of this wait's thread; `woke` tells what has come."""
    note: Mapping[str, Any] = waiting.event.note
    if INNER_WAIT in note:
        notes = woke.matched or tuple(note.get("woke", ()))
        return TickDue(why=_why(journal, waiting, woke), notes=notes)
    if "branches" in note:
        ended = came_of(journal, waiting)
        if note["collect"]:
            return InnerMessage(code="fan-out-complete", text=_collected(ended))
        return _answer(note["branches"][0], ended[0])
    if "timer" in note:
        fired = element(TIMER_FIRED, id=timer_id(waiting), label=note["timer"])
        return InnerMessage(code=TIMER_FIRED, text=fired)
    return _timer(note)


def noted(reminder: Timer) -> Mapping[str, Any]:
    """A reminder as JSON, to be kept in the wait for its time."""
    note = asdict(reminder)
    for name in ("chosen", "owner"):  # the note of a wait that an older version began has none of them
        if not note[name]:
            del note[name]
    return note


def _timer(note: Mapping[str, Any]) -> Timer:
    """The reminder that was noted; what an older version noted of it said that it was a message."""
    files = tuple(SharedFile(**file) for file in note["files"])
    return Timer(**{**note, "files": files, "note": REMINDER})


def _why(journal: Reading, waiting: Entry[Waiting], woke: Woke) -> str:
    """What has come of that for which the inner life waited."""
    if woke.matched:
        return f"notes came: {', '.join(map(str, woke.matched))}"
    ended = [str(seq) for seq in waiting.event.closed if seq not in woke.missing]
    if ended:
        return f"processes ended: {', '.join(ended)}"
    return str(waiting.event.note[INNER_WAIT])


def _answer(branch: str, ended: Entry[ThreadEnded] | None) -> InnerMessage:
    """What one branch came to."""
    if ended is None:
        return InnerMessage(sender=branch, text="", status="missing")
    status = ended.event.status
    if status == COMPLETED:
        status = ""
    return InnerMessage(sender=branch, text=str(ended.event.result or ""), status=status)


def _collected(ended: Sequence[Entry[ThreadEnded] | None]) -> str:
    """What all branches of a fan-out came to, in their order."""
    lines = []
    successful = 0
    for index, one in enumerate(ended, 1):
        if one is None:
            lines.append(element("missing", index=index, reason="missing"))
        elif one.event.status == COMPLETED:
            successful += 1
            lines.append(element("result", str(one.event.result or ""), index=index))
        else:
            lines.append(element("missing", index=index, reason=one.event.status))
    inside = "\n".join(lines)
    return f'<fan-out-complete total="{len(ended)}" successful="{successful}">\n{inside}\n</fan-out-complete>'

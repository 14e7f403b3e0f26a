"""What the end of a wait becomes for a thread of the soul: a reminder, a branch's answer, a timer's time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daemon.engine.event import Entry, Input
from daemon.engine.kinds import ThreadEnded, Waiting, Woke
from daemon.engine.reading import Reading
from daemon.kinds import INNER_WAIT, InnerMessage, TickDue
from daemon.mind.payloads import element
from daemon.soul import questions
from daemon.soul.tree import came_of, timer_id

COMPLETED = "completed"
TIMER_FIRED = "timer-fired"


def reminded(journal: Reading, waiting: Entry[Waiting], woke: Woke) -> Input:
    """The input of this wait's thread; `woke` tells what has come."""
    note: Mapping[str, Any] = waiting.event.note
    if INNER_WAIT in note:
        return TickDue(why=_why(journal, waiting, woke), notes=woke.matched or tuple(note.get("woke", ())))
    if "branches" in note:
        ended = came_of(journal, waiting)
        if note["collect"]:
            return InnerMessage(code="fan-out-complete", text=_collected(ended))
        return _answer(note["branches"][0], ended[0])
    if "timer" in note:
        fired = element(TIMER_FIRED, id=timer_id(waiting), label=note["timer"])
        return InnerMessage(code=TIMER_FIRED, text=fired)
    return questions.reminded(note)


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
    status = "" if ended.event.status == COMPLETED else ended.event.status
    return InnerMessage(sender=branch, text=str(ended.event.result or ""), status=status)


def _collected(ended: Sequence[Entry[ThreadEnded] | None]) -> str:
    """What all branches of a fan-out came to, in their order."""
    lines = []
    successful = 0
    for index, one in enumerate(ended, 1):
        if one and one.event.status == COMPLETED:
            successful += 1
            lines.append(element("result", str(one.event.result or ""), index=index))
        else:
            lines.append(element("missing", index=index, reason=one.event.status if one else "missing"))
    inside = "\n".join(lines)
    return f'<fan-out-complete total="{len(ended)}" successful="{successful}">\n{inside}\n</fan-out-complete>'

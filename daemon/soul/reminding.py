"""What the end of a wait becomes for a thread of the soul: a reminder, a branch's answer, a timer's time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from daemon.engine.event import Entry, Input
from daemon.engine.kinds import ThreadEnded, WaitBegan, WaitEnded
from daemon.engine.reading import JournalReader
from daemon.kinds import INNER_WAIT, REMINDER, InternalMessage, ReminderFired, SharedFile, TickDue
from daemon.mind.payloads import make_element
from daemon.soul.tree import results_of_branches, timer_id

COMPLETED = "completed"
TIMER_FIRED = "timer-fired"


def input_of_ended_wait(journal: JournalReader, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
    """The input of this wait's thread; `woke` tells what has come."""
    note: Mapping[str, Any] = waiting.event.note
    if INNER_WAIT in note:
        notes = woke.matched or tuple(note.get("woke", ()))
        return TickDue(why=_why(journal, waiting, woke), notes=notes)
    if "branches" in note:
        ended = results_of_branches(journal, waiting)
        if note["collect"]:
            return InternalMessage(code="fan-out-complete", text=_collected(ended))
        return _answer(note["branches"][0], ended[0])
    if "timer" in note:
        fired = make_element(TIMER_FIRED, id=timer_id(waiting), label=note["timer"])
        return InternalMessage(code=TIMER_FIRED, text=fired)
    return _timer(note)


def reminder_as_json(reminder: ReminderFired) -> Mapping[str, Any]:
    """A reminder as JSON, to be kept in the wait for its time."""
    note = asdict(reminder)
    for name in ("chosen", "owner"):  # the note of a wait that an older version began has none of them
        if not note[name]:
            del note[name]
    return note


def _timer(note: Mapping[str, Any]) -> ReminderFired:
    """The reminder that was noted; what an older version noted of it said that it was a message."""
    files = tuple(SharedFile(**file) for file in note["files"])
    return ReminderFired(**{**note, "files": files, "note": REMINDER})


def _why(journal: JournalReader, waiting: Entry[WaitBegan], woke: WaitEnded) -> str:
    """What has come of that for which the inner life waited."""
    if woke.matched:
        return f"notes came: {', '.join(map(str, woke.matched))}"
    ended = [str(seq) for seq in waiting.event.closed if seq not in woke.missing]
    if ended:
        return f"processes ended: {', '.join(ended)}"
    return str(waiting.event.note[INNER_WAIT])


def _answer(branch: str, ended: Entry[ThreadEnded] | None) -> InternalMessage:
    """What one branch came to."""
    if ended is None:
        return InternalMessage(sender=branch, text="", status="missing")
    status = ended.event.status
    if status == COMPLETED:
        status = ""
    return InternalMessage(sender=branch, text=str(ended.event.result or ""), status=status)


def _collected(ended: Sequence[Entry[ThreadEnded] | None]) -> str:
    """What all branches of a fan-out came to, in their order."""
    lines = []
    successful = 0
    for index, one in enumerate(ended, 1):
        if one is None:
            lines.append(make_element("missing", index=index, reason="missing"))
        elif one.event.status == COMPLETED:
            successful += 1
            lines.append(make_element("result", str(one.event.result or ""), index=index))
        else:
            lines.append(make_element("missing", index=index, reason=one.event.status))
    inside = "\n".join(lines)
    return f'<fan-out-complete total="{len(ended)}" successful="{successful}">\n{inside}\n</fan-out-complete>'

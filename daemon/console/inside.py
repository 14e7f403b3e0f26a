"""The inner life as the page shows it: its ticks, page by page, and what it knows now. For routes.

The owner may see everything. It is folded from the journal by a state of the page's own, when somebody looks:
looking must not move what the ticks go by.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.kinds import TurnBegan, Waiting
from daemon.inner.note import Filter, Note
from daemon.inner.note_words import states
from daemon.inner.process_log import Process
from daemon.inner.record import TEXT, Record
from daemon.inner.state import State
from daemon.kinds import INNER, CommandRan, InnerMessage, ModelCall, Reacted, Said, Ticked
from daemon.knowledge.views import anywhere
from daemon.limits import InnerLimits

PAGE = 20
"""Ticks that a page is sent at once."""
NEWEST = 20
"""Notes, processes and records of each family that it is shown of all that there are."""
LONGEST = 2_000
"""Characters of what one of them says, and of what came of a command."""
THREAD = 50
"""The last ticks whose entries are shown where the thread itself is looked at."""

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """Tells of the inner life. `limits` are the owner's, None where it is off; `now` is Unix seconds, `spent`
    what it was billed today, in dollars. `state` is nobody else's."""

    journal: Journal
    state: State
    limits: InnerLimits | None
    now: Callable[[], float]
    spent: Callable[[], float]
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def there(self) -> bool:
        """Is there anything to show: is it on, or did it ever think?"""
        return self.limits is not None or self.journal.latest(INNER, Ticked) is not None

    async def told(self) -> Told:
        """How it is now, what it knows, and its last ticks."""
        async with self._one:
            await self.state.update()
            return {
                "on": self.limits is not None,
                "thinks": bool(self.journal.pending(TurnBegan, thread=INNER)),
                "next": self._next(),
                "budget": self._budget(),
                "settings": self._settings(),
                "notes": self._notes(),
                "processes": [_process(one) for one in self.state.processes.all()[: -NEWEST - 1 : -1]],
                "records": {family: self._records(family) for family in TEXT},
                **self.ticks(None),
            }

    def ticks(self, before: int | None) -> Told:
        """The last ticks, newest first: of those that were written before this entry, where one is named."""
        seqs = self.journal.seqs(Ticked)
        end = len(seqs) if before is None else bisect_left(seqs, before)
        first = max(end - PAGE, 0)
        entries = self.journal.sound(seqs[first:end])
        return {"ticks": self._ticks(entries[::-1]), "older": first}

    def begun(self) -> int:
        """Before which entry of its thread the last ticks began: all that came before would be years."""
        seqs = self.journal.seqs(Ticked)[-THREAD:]
        first = self.journal.sound(seqs[:1])
        return first[0].event.tick - 1 if first else 0

    # How it stands

    def _next(self) -> Told | None:
        """What it waits for; None where it waits for nothing."""
        waits = self.journal.pending(Waiting, thread=INNER)
        if not waits:
            return None
        wait = waits[-1].event
        note = wait.note or {}
        return {
            "due": wait.due,
            "idle": bool(note.get("idle")),
            "processes": wait.closed,
            "notes": wait.matching.about if wait.matching else None,
        }

    def _budget(self) -> Told:
        return {
            "spent": self.spent(),
            "daily": self.limits.usd if self.limits else None,
            "messages": self.state.log.messages(self.now()),
            "daily_messages": self.limits.messages if self.limits else None,
        }

    def _settings(self) -> Told:
        settings = self.state.log.settings
        least = self.limits.pause if self.limits else 0.0
        return {
            "mode": settings.mode.value,
            "filter": settings.filter.value,
            "responses": settings.responses.value,
            "pause": max(settings.pause.value or 0.0, least),
        }

    # What it did

    def _ticks(self, entries: Sequence[Entry[Ticked]]) -> Sequence[Told]:
        if not entries:
            return []
        since = min(entry.event.tick for entry in entries)
        calls = self.journal.seqs(ModelCall, since=since)
        return [self._tick(entry, calls) for entry in entries]

    def _tick(self, entry: Entry[Ticked], calls: Sequence[int]) -> Told:
        """One tick; `calls` are the calls of all threads since some time before it."""
        tick = entry.event
        its = calls[bisect_right(calls, tick.tick) : bisect_left(calls, entry.seq)]
        asked = [one for one in self.journal.sound(its) if one.thread == INNER]
        return {
            "seq": entry.seq,
            "at": entry.at,
            "tick": tick.tick,
            "outcome": tick.outcome,
            "why": tick.why,
            "view": tick.view,
            "place": self.state.views.place(tick.view),
            "novelty": tick.novelty,
            "reflex": tick.reflex,
            "advice": tick.advice,
            "calls": [_call(one) for one in asked],
            "answer": tick.answer,
            "commands": [self._command(one) for one in self.journal.sound(tick.commands)],
        }

    def _command(self, entry: Entry[CommandRan]) -> Told:
        ran = entry.event
        return {
            "seq": entry.seq,
            "id": f"{ran.tick}/{ran.cmd_id}",
            "name": ran.name,
            "args": ran.args,
            "description": ran.description,
            "ok": ran.ok,
            "text": _cut(ran.text),
        }

    # What it knows

    def _notes(self) -> Told:
        notes = self.state.notes
        newest = [notes.get(id) for id in notes.matching(Filter(), anywhere, NEWEST)]
        return {"counts": notes.counts(), "newest": [self._note(note) for note in newest if note]}

    def _note(self, note: Note) -> Told:
        said = self.journal.sound([note.said])
        who, text = _words(said[0].event) if said else ("", "")
        return {
            "id": note.id,
            "at": note.at,
            "source": note.source,
            "priority": note.priority,
            "place": self.state.views.place(note.thread),
            "tags": note.tagged(anywhere),
            "states": states(note),
            "who": who,
            "text": _cut(text),
        }

    def _records(self, family: str) -> Told:
        count, newest = self.state.records.newest(family, NEWEST)
        return {"count": count, "newest": [self._record(record) for record in newest]}

    def _record(self, record: Record) -> Told:
        return {
            "id": record.id,
            "at": record.at,
            "name": record.name,
            "ends": record.ends,
            "text": _cut(record.text),
            "tags": record.tags,
            "pinned": record.pinned,
            "place": self.state.views.place(record.view),
        }


def _call(entry: Entry[ModelCall]) -> Told:
    call = entry.event
    paid = not call.taken_from
    return {
        "seq": entry.seq,
        "name": call.name,
        "outcome": call.outcome,
        "failure": call.failure,
        "text": call.text,
        "cost": call.cost if paid else 0.0,
        "worth": call.worth if paid else 0.0,
    }


def _process(process: Process) -> Told:
    return {
        "id": process.id,
        "name": process.name,
        "status": process.status,
        "began": process.began,
        "ended": process.ended,
        "slots": process.slots,
        "stopping": process.stopping and process.ended is None,
        "result": _cut(process.result),
    }


def _words(event: Event) -> tuple[str, str]:
    """Whose words a note is, and what it says."""
    match event:
        case Said():
            return event.name or event.user, "\n".join(
                [event.text, *(f"📎 {file.name}" for file in event.files)]
            )
        case Reacted():
            return event.name or event.user, f":{event.emoji}:"
        case InnerMessage():
            return event.sender, event.text
    return "", ""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"

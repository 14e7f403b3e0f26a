"""The inner life as the page shows it: its ticks, page by page, and what it knows now. For routes.

The owner may see everything. It is folded from the journal by a state of the page's own, when somebody looks:
looking must not move what the ticks go by. In a long journal, what it knows is there later than its ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from daemon.console.background import AT_ONCE, BackgroundFoldReader
from daemon.console.event_stream import message_lines, truncated
from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.kinds import TurnBegan, WaitBegan
from daemon.engine.reading import ALWAYS
from daemon.inner.note import Note, NoteFilter
from daemon.inner.note_words import note_states
from daemon.inner.process_log import ProgramRun
from daemon.inner.record import RECORD_TEXT, InnerRecord
from daemon.inner.state import InnerLifeState
from daemon.kinds import (
    INNER,
    CommandRan,
    InternalMessage,
    ModelCall,
    PersonMessage,
    ReactionChanged,
    TickLogged,
)
from daemon.knowledge.views import always_visible
from daemon.limits import InnerLimits

PAGE = 20
"""Ticks that a page is sent at once."""
NEWEST = 20
"""Notes, processes and records of each family that it is shown of all that there are."""
LONGEST = 2_000
"""Characters of what one of them says, and of what came of a command."""
CALLS = 4
"""Calls of a tick that are read at once; most have one."""

Told = Mapping[str, Any]


class InnerLifeView:
    """Tells of the inner life. `limits` are the owner's, None where it is off; `now` is Unix seconds, `spent`
    what it was billed today, in dollars. `state` is nobody else's."""

    def __init__(
        self,
        *,
        journal: Journal,
        state: InnerLifeState,
        limits: InnerLimits | None,
        now: Callable[[], float],
        spent: Callable[[], float],
        at_once: int = AT_ONCE,
    ) -> None:
        self.journal = journal
        self.state = state
        self.limits = limits
        self.now = now
        self.spent = spent
        self._reading = BackgroundFoldReader(state.update, lambda: state.unread_entries, at_once)

    @property
    def has_content(self) -> bool:
        """Is there anything to show: is it on, or did it ever think?"""
        return self.limits is not None or self.journal.latest_of_kind(INNER, TickLogged) is not None

    async def close(self) -> None:
        """End what is still read."""
        await self._reading.close()

    async def overview_as_json(self) -> Told:
        """How it is now and its last ticks; and what it knows, once that is read."""
        left = await self._reading.entries_left()
        told: Told = {
            "still_reading": left,
            "on": self.limits is not None,
            "thinks": bool(self.journal.pending_entries(TurnBegan, thread=INNER)),
            "next": self._next(),
            **self.ticks_as_json(),
        }
        if left:
            return told
        return {
            **told,
            "budget": self._budget(),
            "settings": self._settings(),
            "notes": self._notes(),
            "processes": self._processes(),
            "records": {family: self._records(family) for family in RECORD_TEXT},
        }

    def ticks_as_json(self, before: int = ALWAYS) -> Told:
        """The last ticks that were written before this entry, newest first."""
        entries = [*islice(self.journal.latest_first(INNER, TickLogged, before), PAGE)]
        older = 0
        if entries:
            older = self.journal.count_before(INNER, TickLogged, before=entries[-1].seq)
        return {"ticks": [self._tick(entry) for entry in entries], "older": older}

    # How it stands

    def _next(self) -> Told | None:
        """What it waits for; None where it waits for nothing."""
        waits = self.journal.pending_entries(WaitBegan, thread=INNER)
        if not waits:
            return None
        wait = waits[-1].event
        note = wait.note or {}
        notes = None
        if wait.matching:
            notes = wait.matching.about
        return {"due": wait.due, "idle": bool(note.get("idle")), "processes": wait.closed, "notes": notes}

    def _budget(self) -> Told:
        daily = messages = None
        if self.limits:
            daily = self.limits.usd
            messages = self.limits.messages
        return {
            "spent": self.spent(),
            "daily": daily,
            "messages": self.state.log.messages(self.now()),
            "daily_messages": messages,
        }

    def _settings(self) -> Told:
        settings = self.state.log.settings
        pause = settings.pause.value or 0.0
        if self.limits:
            pause = max(pause, self.limits.pause)
        return {
            "mode": settings.mode.value,
            "filter": settings.filter.value,
            "responses": settings.responses.value,
            "pause": pause,
        }

    # What it did

    def _tick(self, entry: Entry[TickLogged]) -> Told:
        tick = entry.event
        return {
            "seq": entry.seq,
            "at": entry.at,
            "tick": tick.tick,
            "forgotten": bool(entry.forgotten),
            "outcome": tick.outcome,
            "why": tick.why,
            "view": tick.view,
            "place": self._place(tick.view),
            "novelty": tick.novelty,
            "reflex": tick.reflex,
            "advice": tick.advice,
            "calls": [_call(one) for one in self._calls(entry)],
            "answer": tick.answer,
            "commands": [self._command(one) for one in self.journal.readable_entries(tick.commands)],
        }

    def _place(self, view: str) -> str:
        """What this conversation is called; empty as long as that is not read."""
        if self.state.views.entries_left:
            return ""
        return self.state.views.place(view)

    def _calls(self, ticked: Entry[TickLogged]) -> Iterator[Entry[ModelCall]]:
        """The calls that were made in a tick, in order."""
        since = ticked.event.tick
        while since < ticked.seq:
            calls = self.journal.thread_entries(INNER, ModelCall, since=since, most=CALLS)
            yield from (call for call in calls if call.seq < ticked.seq)
            if len(calls) < CALLS:
                return
            since = calls[-1].seq

    def _command(self, entry: Entry[CommandRan]) -> Told:
        ran = entry.event
        return {
            "seq": entry.seq,
            "id": f"{ran.tick}/{ran.cmd_id}",
            "name": ran.name,
            "args": ran.args,
            "description": ran.description,
            "ok": ran.ok,
            "text": truncated(ran.text, LONGEST),
        }

    # What it knows

    def _notes(self) -> Told:
        notes = self.state.notes
        newest = []
        for id in notes.matching(NoteFilter(), always_visible, NEWEST):
            note = notes.get(id)
            if note:
                newest.append(self._note(note))
        return {"counts": notes.counts(), "newest": newest}

    def _note(self, note: Note) -> Told:
        who = text = ""
        said = self.journal.readable_entries([note.said])
        if said:
            who, text = _words(said[0].event)
        return {
            "id": note.id,
            "at": note.at,
            "source": note.source,
            "priority": note.priority,
            "place": self.state.views.place(note.thread),
            "tags": note.tagged(always_visible),
            "states": note_states(note),
            "who": who,
            "text": truncated(text, LONGEST),
        }

    def _processes(self) -> Sequence[Told]:
        newest = self.state.processes.all()[-NEWEST:]
        return [_program_as_json(process) for process in reversed(newest)]

    def _records(self, family: str) -> Told:
        count, newest = self.state.records.newest(family, NEWEST)
        return {"count": count, "newest": [self._record(record) for record in newest]}

    def _record(self, record: InnerRecord) -> Told:
        return {
            "id": record.id,
            "at": record.at,
            "name": record.name,
            "ends": record.ends,
            "text": truncated(record.text, LONGEST),
            "tags": record.tags,
            "pinned": record.pinned,
            "place": self.state.views.place(record.view),
        }


def _call(entry: Entry[ModelCall]) -> Told:
    call = entry.event
    cost = call.cost
    worth = call.worth
    if call.taken_from:  # it was paid before a restart
        cost = worth = 0.0
    return {
        "seq": entry.seq,
        "name": call.name,
        "outcome": call.outcome,
        "failure": call.failure,
        "text": call.text,
        "cost": cost,
        "worth": worth,
    }


def _program_as_json(process: ProgramRun) -> Told:
    return {
        "id": process.id,
        "name": process.name,
        "status": process.status,
        "began": process.began,
        "ended": process.ended,
        "slots": process.slots,
        "stopping": process.stopping and process.ended is None,
        "result": truncated(process.result, LONGEST),
    }


def _words(event: Event) -> tuple[str, str]:
    """Whose words a note is, and what it says."""
    match event:
        case PersonMessage():
            return event.name or event.user, "\n".join(message_lines(event))
        case ReactionChanged():
            return event.name or event.user, f":{event.emoji}:"
        case InternalMessage():
            return event.sender, event.text
    return "", ""

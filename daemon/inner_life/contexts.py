"""The seven contexts of a tick (HMP seed) as regions of working memory, and the inner life as JSON for the
console.

A tick sees only what its view may know, as of the tick's start. The console shows an owner everything, from
separate projections.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, cast

from daemon.actions.action import ActionDefinition
from daemon.actions.tool_offer import ToolSource
from daemon.console.entry_text import message_lines, truncated
from daemon.console.folds import AT_ONCE, BackgroundFoldReader
from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import ALWAYS
from daemon.engine.kinds import TurnBegan, WaitBegan
from daemon.inner_life.note import Note, NoteFilter, note_states
from daemon.inner_life.notes import MOST_LISTED_NOTES
from daemon.inner_life.recipients import OpenDm
from daemon.inner_life.records import (
    RECORD_TEXT,
    InnerRecord,
    minute_text,
    record_element,
    record_verb,
)
from daemon.inner_life.tick_log import (
    CycleSetting,
    InnerLifeState,
    ProgramRun,
    TickRecord,
    successful_commands,
)
from daemon.kinds import (
    INNER,
    CommandRan,
    InternalMessage,
    ModelCall,
    PersonMessage,
    ReactionChanged,
    TickLogged,
)
from daemon.knowledge.visibility import PUBLIC, VisibilityCheck, always_visible
from daemon.prompts.elements import clean_name_text, escape_tags, make_element, truncate
from daemon.settings.limits import InnerLimits

LONGEST_REPLY = 4_000


LONGEST_RESULT = 6_000


LONGEST_FAILURE = 1_000


MOST_FAILURES = 20
"""Most failed commands in a context, the newest ones."""


LONGEST_LIST = 50_000
"""Most characters of the list in one region."""


LONGEST_MEMORY = 12_000
"""Most characters of llm_memory; the newest records are kept."""


ELSEWHERE = "set elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class TickMoment:
    """The start of a tick (Unix seconds), its cause and its view. `unseen` are DM notes that no tick has
    shown.
    """

    tick: int
    at: float
    why: str
    view: str
    name: str
    owners: Sequence[str]
    limits: InnerLimits
    unseen: Sequence[int] = ()
    programs: Sequence[str] = ()
    neighbours: Sequence[str] = ()


@dataclass(slots=True, kw_only=True)
class TickContexts:
    """The seven contexts of a tick; `saw` collects the seqs of the entries that they show."""

    state: InnerLifeState
    now: TickMoment
    said: Callable[[int], str]
    """Function from the seq of a model call to its text."""
    saw: list[int] = field(default_factory=list)
    knows: VisibilityCheck = field(init=False)

    def __post_init__(self) -> None:
        self.knows = self.state.views.make_check(self.now.view, self.now.tick)

    def regions(self) -> Mapping[str, str]:
        """Return the contexts by name; each is framed and numbered as in the seed."""
        made = {
            "llm_recent_responses": self._responses(),
            "process_log": self._processes(),
            "records": self._records(),
            "notes": self._notes(),
            "settings": self._settings(),
            "llm_memory": self._llm_memory(),
            "anti_stagnation": self.advice(),
        }
        regions = dict[str, str]()
        for number, (name, text) in enumerate(made.items(), 1):
            regions[name] = f'<context n="{number}" name="{name}">\n{text or "none"}\n</context>'
        return regions

    def owners(self) -> Sequence[str]:
        return [clean_name_text(self.state.notes.names.get(owner, owner)) for owner in self.now.owners]

    def new_notes(self) -> Sequence[int]:
        """Ids of the notes since the last answered tick began."""
        return self.state.notes.new_since(self.state.log.last.tick.tick)

    def has_news(self) -> bool:
        """True if a note, a program's end or a message's outcome came since the last answered tick began."""
        if self.new_notes() or self.state.deliveries.lines():
            return True
        last = self.state.log.last.tick.tick
        return any(process.ended_by > last for process in self.state.processes.all())

    def previous_answer(self) -> str:
        last = self.state.log.last
        if not last.tick.answer or not self.knows(last.tick.view, last.seq):
            return ""
        return self.said(last.tick.answer)

    def thoughts(self) -> Sequence[TickRecord]:
        return [line for line in self.state.log.thoughts if self.knows(line.tick.view, line.seq)]

    def advice(self) -> str:
        """Advice of the last reflex; only the reflex's name if this tick may not know the advice."""
        last = self.state.log.last
        if last.tick.outcome != "repeated":
            return ""
        words = ELSEWHERE
        if self.knows(last.tick.view, last.seq):
            words = last.tick.advice
        return f"reflex: {last.tick.reflex}\n{words}"

    def _responses(self) -> str:
        log = self.state.log
        shown = [line for line in self.thoughts() if line.seq > log.cleared]
        first = max(0, len(shown) - int(log.settings.responses.value))
        return "\n".join([self._reply(line) for line in shown[first:]])

    def _reply(self, line: TickRecord) -> str:
        tick = line.tick
        if tick.outcome == "repeated":
            return f'<repeat tick="{tick.tick}">You said nothing new. Reflex: {tick.reflex}.</repeat>'
        self.saw.append(tick.answer)
        text = truncate(self.said(tick.answer), LONGEST_REPLY)
        return f'<reply tick="{tick.tick}" at="{minute_text(line.at)}">\n{escape_tags(text)}\n</reply>'

    def _processes(self) -> str:
        processes = self.state.processes.processes(self.knows)
        self.saw += [process.id for process in processes]
        lines = _fitting([_process(process) for process in processes])
        lines += self._failures()
        lines += _fitting([self._result(one) for one in self.state.log.last.commands])
        lines += self.state.deliveries.lines()
        return "\n".join(lines)

    def _failures(self) -> list[str]:
        last = {one.seq for one in self.state.log.last.commands}
        failed = [one for one in self.state.processes.failed(self.knows) if one.seq not in last]
        lines = [self._result(one, LONGEST_FAILURE) for one in failed[-MOST_FAILURES:]]
        left = len(failed) - len(lines)
        if left:
            lines.insert(0, make_element("left-out", more=left))
        return lines

    def _result(self, command: Entry[CommandRan], longest: int = LONGEST_RESULT) -> str:
        ran = command.event
        if not self.knows(ran.view, command.seq):  # the name and the cmd_id also belong to the command's view
            return "<result>in sight of another conversation</result>"
        self.saw.append(command.seq)
        text = ran.text
        if ran.ok and record_verb(ran.name) == "add":
            text = f"{text}: its id is {self._first(command)}"
        id = f"{ran.tick}/{clean_name_text(ran.cmd_id)}"
        state = 'done="yes"'
        if ran.stays_open:
            state = f'mark="{command.seq}" done="no"'
        elif not ran.ok:
            state = 'done="no"'
        head = f'<result of="{clean_name_text(ran.name)}" id="{id}" {state}>'
        return f"{head}{escape_tags(truncate(text, longest))}</result>"

    def _first(self, command: Entry[CommandRan]) -> int:
        while command.event.taken_from:
            before = self.state.records.journal.get(command.event.taken_from)
            if before is None or not isinstance(before.event, CommandRan):
                break
            command = cast(Entry[CommandRan], before)
        return command.seq

    def _records(self) -> str:
        asked = self._asked("diary.", "concepts.", "links.", "llm_memory.")
        asked += self.state.log.last.tick.shows
        shown = self.state.records.shown(asked, self.now.view)
        self.saw += [record.wrote for record in shown]
        return "\n".join(_fitting([record_element(record) for record in shown]))

    def _asked(self, *names: str) -> list[int]:
        asked = list[int]()
        for ran in successful_commands(self.state.log.last.commands, *names):
            asked += ran.shows
        return asked

    def _notes(self) -> str:
        notes = self.state.notes
        settings = self.state.log.settings
        counts = [f"{priority}: {count}" for priority, count in notes.counts().items()]
        lines = [", ".join(counts)]
        shown: Sequence[int] = ()
        if settings.mode.value == "auto":
            asked = replace(NoteFilter.of(settings.filter.value), unread=True)
            shown = notes.matching(asked, self.knows)
            lines += _fitting([self._note_in_words(seq) for seq in shown])
            hidden = sum(notes.counts().values()) - len(shown)
            lines.append(f"not shown: {hidden}")
        else:
            listed = notes.list_open()
            lines += [f"note {id}, {priority}" for id, priority in listed.ids]
            if listed.more:
                lines.append(f"older ones: {listed.more}")
        read = self._asked("notes.read")
        lines += _fitting([self._note_in_words(seq) for seq in self._said_here([*shown, *read])])
        lines += _fitting([self._note_in_words(seq) for seq in read])
        return "\n".join(lines)

    def _said_here(self, shown: Sequence[int]) -> list[int]:
        here = []
        for id in self.now.unseen:
            note = self.state.notes.get(id)
            if note and id not in shown and self.knows(note.thread):
                here.append(id)
        return here[:MOST_LISTED_NOTES]

    def _note_in_words(self, seq: int) -> str:
        note = self.state.notes.get(seq)
        if note is None:
            return f"note {seq} is gone"
        if not self.knows(note.thread):
            return f"note {seq} may not be known in this view: read it alone"
        self.saw.append(note.said)
        return self.state.notes.words(note, self.knows)

    def _settings(self) -> str:
        now = self.now
        settings = self.state.log.settings
        lines = [
            f"time: {minute_text(now.at)} UTC",
            f"tick: {now.tick}",
            f"why you think now: {now.why}",
            f"notes that came since your last reply: {len(self.new_notes())}",
            f"in view: {self._in_view()}",
            f"you: {clean_name_text(now.name)}; your owners: {', '.join(self.owners()) or 'nobody'}",
            f"mode: {self._told(settings.mode)}",
            f"filter: {self._told(settings.filter)}",
            f"own replies in sight: {self._told(settings.responses)}",
            f"pause that you set: {self._told(settings.pause)}; at least {now.limits.pause:g} seconds",
            f"spent today: ${self.state.log.cost_today(now.at, now.tick):.2f} of ${now.limits.usd:.2f}",
            f"messages sent today: {self.state.log.messages(now.at)} of {now.limits.messages}",
            *self._reads_dms(),
            f"programs: {'; '.join(now.programs) or 'none'}",
            f"neighbours: {', '.join(now.neighbours) or 'none'}",
        ]
        return "\n".join(lines)

    def _reads_dms(self) -> list[str]:
        if not self.now.limits.reads_dms:
            return []
        return ["direct messages: you see what was said in the one in view"]

    def _in_view(self) -> str:
        if self.now.view == PUBLIC:
            return "public things only"
        return f"{clean_name_text(self.state.views.place(self.now.view))} ({self.now.view})"

    def _told(self, setting: CycleSetting) -> str:
        if not self.knows(setting.view, setting.wrote):
            return ELSEWHERE
        if setting.value in (None, {}):
            return "none"
        return escape_tags(json.dumps(setting.value, ensure_ascii=False))

    def _llm_memory(self) -> str:
        text, shown = self.state.records.llm_memory(self.now.view, LONGEST_MEMORY)
        self.saw += [record.wrote for record in shown]
        return text


def _fitting(lines: Sequence[str]) -> list[str]:
    size = 0
    for place, one in enumerate(lines):
        size += len(one)
        if size > LONGEST_LIST:
            return [*lines[:place], make_element("left-out", more=len(lines) - place)]
    return [*lines]


def _process(process: ProgramRun) -> str:
    attributes = {
        "id": str(process.id),
        "name": process.name,
        "status": process.status,
        "began": minute_text(process.began),
    }
    if process.ended:
        attributes["ended"] = minute_text(process.ended)
    if process.slots:
        attributes["slots"] = ", ".join(f"{name}={value}" for name, value in process.slots.items())
    begun = make_element("process", **attributes).removesuffix("/>")
    return f"{begun}>{escape_tags(truncate(process.result, LONGEST_RESULT))}</process>"


PAGE = 20
"""Ticks on one page."""


NEWEST = 20
"""Most notes, programs, and records of each family."""


LONGEST = 2_000
"""Most characters of a text."""


CALLS = 4
"""Model calls that are read from the journal at once."""


JsonObject = Mapping[str, Any]


class InnerLifeView:
    """The inner life as JSON. `limits` is None if it is off; `spent` returns the dollars of today."""

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
        """True if the inner life is on or has ticked before."""
        return self.limits is not None or self.journal.latest_of_kind(INNER, TickLogged) is not None

    async def close(self) -> None:
        await self._reading.close()

    async def overview_as_json(self) -> JsonObject:
        """Return settings and last ticks; also notes, programs and records once the journal is read."""
        left = await self._reading.entries_left()
        overview: JsonObject = {
            "still_reading": left,
            "on": self.limits is not None,
            "thinks": bool(self.journal.pending_entries(TurnBegan, thread=INNER)),
            "next": self._next(),
            **self.ticks_as_json(),
        }
        if left:
            return overview
        return {
            **overview,
            "budget": self._budget(),
            "settings": self._settings(),
            "notes": self._notes(),
            "processes": self._processes(),
            "records": {family: self._records(family) for family in RECORD_TEXT},
        }

    def ticks_as_json(self, before: int = ALWAYS) -> JsonObject:
        """Return a page of ticks before the entry `before`, newest first."""
        entries = [*islice(self.journal.latest_first(INNER, TickLogged, before), PAGE)]
        older = 0
        if entries:
            older = self.journal.count_before(INNER, TickLogged, before=entries[-1].seq)
        return {"ticks": [self._tick(entry) for entry in entries], "older": older}

    def _next(self) -> JsonObject | None:
        waits = self.journal.pending_entries(WaitBegan, thread=INNER)
        if not waits:
            return None
        wait = waits[-1].event
        note = wait.note or {}
        notes = None
        if wait.matching:
            notes = wait.matching.about
        return {"due": wait.due, "idle": bool(note.get("idle")), "processes": wait.closed, "notes": notes}

    def _budget(self) -> JsonObject:
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

    def _settings(self) -> JsonObject:
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

    def _tick(self, entry: Entry[TickLogged]) -> JsonObject:
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
        if self.state.views.entries_left:
            return ""
        return self.state.views.place(view)

    def _calls(self, ticked: Entry[TickLogged]) -> Iterator[Entry[ModelCall]]:
        since = ticked.event.tick
        while since < ticked.seq:
            calls = self.journal.thread_entries(INNER, ModelCall, since=since, most=CALLS)
            yield from (call for call in calls if call.seq < ticked.seq)
            if len(calls) < CALLS:
                return
            since = calls[-1].seq

    def _command(self, entry: Entry[CommandRan]) -> JsonObject:
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

    def _notes(self) -> JsonObject:
        notes = self.state.notes
        newest = []
        for id in notes.matching(NoteFilter(), always_visible, NEWEST):
            note = notes.get(id)
            if note:
                newest.append(self._note(note))
        return {"counts": notes.counts(), "newest": newest}

    def _note(self, note: Note) -> JsonObject:
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

    def _processes(self) -> Sequence[JsonObject]:
        newest = self.state.processes.all()[-NEWEST:]
        return [_program_as_json(process) for process in reversed(newest)]

    def _records(self, family: str) -> JsonObject:
        count, newest = self.state.records.newest(family, NEWEST)
        return {"count": count, "newest": [self._record(record) for record in newest]}

    def _record(self, record: InnerRecord) -> JsonObject:
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


def _call(entry: Entry[ModelCall]) -> JsonObject:
    call = entry.event
    cost = call.cost
    worth = call.worth
    if call.taken_from:  # the call was paid before a restart
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


def _program_as_json(process: ProgramRun) -> JsonObject:
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
    match event:
        case PersonMessage():
            return event.name or event.user, "\n".join(message_lines(event))
        case ReactionChanged():
            return event.name or event.user, f":{event.emoji}:"
        case InternalMessage():
            return event.sender, event.text
    return "", ""


async def _no_dm(_person: str) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerLifeSetup:
    """Parts of the inner life that its process needs; `said` as in TickContexts, `tools` of MCP servers.
    `open_dm` as in RecipientDirectory.
    """

    state: InnerLifeState
    definitions: Mapping[str, ActionDefinition]
    help: str
    limits: InnerLimits
    said: Callable[[int], str]
    programs: Sequence[str] = ()
    neighbours: Sequence[str] = ()
    tools: ToolSource | None = None
    open_dm: OpenDm = _no_dm

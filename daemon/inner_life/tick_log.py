"""Projections of the inner life (HMP seed): ticks, settings, outcomes of messages, programs, failed commands.

A tick has at most one DM in view, so that the texts of two DMs never mix. Unseen DMs need the owner's
permission (INNER_LIFE_READS_DMS).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from daemon.engine.clock import DAY, midnight
from daemon.engine.event import Entry, Event, execution_of, root_of
from daemon.engine.journal.journal import Projection
from daemon.engine.journal.reader import ALWAYS
from daemon.engine.kinds import ThreadEnded, ThreadSpawned
from daemon.inner_life.note import Note
from daemon.inner_life.notes import Notes
from daemon.inner_life.records import InnerRecords
from daemon.kinds import (
    INNER,
    CommandRan,
    InnerLifeStarted,
    ModelCall,
    ProgramEnded,
    ProgramStarted,
    ProgramStopRequested,
    Status,
    TickLogged,
    ToolCallRequested,
    UnpromptedOutcome,
)
from daemon.knowledge.visibility import Visibility

MOST_TICKS = 200
"""Most ticks that are kept in memory."""


ASKS_OWNER = "owner"


RESPONSES = 5


NEW_CONTENT_COMMANDS = frozenset(
    {"diary.add", "diary.change", "concepts.add", "concepts.change", "links.add", "llm_memory.add"}
)
"""Commands that create new content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSetting:
    value: Any
    view: str = ""
    wrote: int = ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSettings:
    responses: CycleSetting = CycleSetting(value=RESPONSES)
    mode: CycleSetting = CycleSetting(value="auto")
    filter: CycleSetting = CycleSetting(value={})
    pause: CycleSetting = CycleSetting(value=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRecord:
    """A tick and its commands; `seq` and `at` belong to the entry that ended it."""

    seq: int = 0
    at: float = 0.0
    tick: TickLogged
    commands: Sequence[Entry[CommandRan]] = ()


NOTHING = TickRecord(tick=TickLogged(tick=0, outcome="asleep"))


@dataclass(slots=True, kw_only=True)
class DailyCost:
    midnight: float = 0.0
    upto: int = 0
    usd: float = 0.0


class TickLog(Projection):
    kinds = (TickLogged, CommandRan, InnerLifeStarted)

    def _reset(self) -> None:
        self.lines = deque[TickRecord](maxlen=MOST_TICKS)
        self.thoughts = deque[TickRecord](maxlen=MOST_TICKS)
        self.dms_since = ALWAYS
        """Seq since which an owner has allowed DMs without a break; ALWAYS if forbidden."""
        self.last_at = 0.0
        """End of the last waking tick, or the daemon's start."""
        self.owner_asked: float | None = None
        """Time of the reflex's last question to an owner."""
        self.settings = CycleSettings()
        self.cleared = 0
        self._under_way = list[Entry[CommandRan]]()
        self._day = 0.0
        self._messages = 0
        self._paid = DailyCost()

    def _fold_entry(self, entry: Entry[Any]) -> None:
        if entry.at // DAY != self._day:
            self._day = entry.at // DAY
            self._messages = 0
        match entry.event:
            case InnerLifeStarted(reads_dms=reads_dms):
                self.last_at = entry.at
                self.dms_since = min(self.dms_since, entry.seq) if reads_dms else ALWAYS
            case TickLogged() as tick:
                mine = [one for one in self._under_way if one.seq in tick.commands]
                self._end(TickRecord(seq=entry.seq, at=entry.at, tick=tick, commands=mine))
                self._under_way = []
            case CommandRan():
                self._command(entry)

    def _end(self, line: TickRecord) -> None:
        tick = line.tick
        for kept in (self.lines, self.thoughts):
            if kept and kept[-1].tick.tick == tick.tick:
                kept.pop()  # the tick was interrupted: only its last entry counts
        self.lines.append(line)
        if tick.answer:
            self.thoughts.append(line)
        if tick.outcome != "asleep":
            self.last_at = line.at
        if tick.reflex == ASKS_OWNER:
            self.owner_asked = line.at

    def _command(self, entry: Entry[CommandRan]) -> None:
        self._under_way.append(entry)
        if not entry.event.ok or entry.event.taken_from:
            return
        if entry.event.name == "message.send":
            self._messages += 1
        if entry.forgotten:
            return
        args = entry.event.args
        match entry.event.name:
            case "cycle.responses":
                self._set(entry, "responses", args["n"])
            case "cycle.mode":
                self._set(entry, "mode", args["mode"])
                if args.get("filter") is not None:
                    self._set(entry, "filter", args["filter"])
            case "cycle.filter":
                self._set(entry, "filter", args)
            case "cycle.pause":
                self._set(entry, "pause", args["seconds"])
            case "cleanup.responses":
                self.cleared = entry.seq

    def _set(self, entry: Entry[CommandRan], name: str, value: object) -> None:
        setting = CycleSetting(value=value, view=entry.event.view, wrote=entry.seq)
        self.settings = replace(self.settings, **{name: setting})

    def cost_today(self, now: float, before: int) -> float:
        """Return the dollars of this UTC day before an entry, with comparisons and branches."""
        began = midnight(now)
        if began != self._paid.midnight or before <= self._paid.upto:
            self._paid = DailyCost(midnight=began)
        paid = self._paid
        for one in self.journal.entries_of_kind(ModelCall, since=paid.upto, at=began):
            if one.seq >= before:
                break
            paid.upto = one.seq
            of_today = one.at < began + DAY  # an entry after midnight: the clock was ahead
            if of_today and root_of(one.thread) == INNER and not one.event.taken_from:
                paid.usd += one.event.cost
        return paid.usd

    def messages(self, now: float) -> int:
        """Count the messages sent on this UTC day."""
        if now // DAY != self._day:
            return 0
        return self._messages

    @property
    def last(self) -> TickRecord:
        if not self.thoughts:
            return NOTHING
        return self.thoughts[-1]

    def count_fruitless(self) -> int:
        count = 0
        for line in reversed(self.thoughts):
            if successful_commands(line.commands, *NEW_CONTENT_COMMANDS):
                break
            count += 1
        return count


def successful_commands(commands: Iterable[Entry[CommandRan]], *names: str) -> list[CommandRan]:
    """Return the successful commands whose name begins with one of `names`."""
    events = [command.event for command in commands]
    return [event for event in events if event.ok and event.name.startswith(names)]


class DeliveryLog(Projection):
    """Outcomes of sent messages, each shown until an answered tick has shown it."""

    kinds = (UnpromptedOutcome, TickLogged)

    def _reset(self) -> None:
        self._new = list[Entry[UnpromptedOutcome]]()

    def _fold_entry(self, entry: Entry[Any]) -> None:
        if isinstance(entry.event, UnpromptedOutcome):
            self._new.append(entry)
        elif entry.event.answer:  # a tick without an answer may not have shown them
            self._new = [one for one in self._new if one.seq > entry.event.tick]

    def lines(self) -> Sequence[str]:
        return [f'<sent by="{one.event.by}">{one.event.outcome}</sent>' for one in self._new]


MARK_COMMAND = "process.mark"


CLEANUP_COMMAND = "cleanup.process_log"


MOST_FAILED = 100
"""Most open failures; the oldest are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A program or branch; `id` is the seq of its first entry.

    `ended_by` is a seq. A branch's view is its own thread, invisible to ticks, until its command is recorded.
    """

    id: int
    name: str
    status: Status = "in_progress"
    view: str = ""
    began: float
    ended: float | None = None
    ended_by: int = 0
    result: str = ""
    slots: Mapping[str, str] = field(default_factory=dict)
    branch: bool = False
    stopping: bool = False


class ProgramLog(Projection):
    """Programs until cleaned up, and failed commands until marked; equal failures are kept once."""

    kinds: ClassVar[tuple[type[Event], ...]] = (
        ProgramStarted,
        ToolCallRequested,
        ProgramEnded,
        ProgramStopRequested,
        CommandRan,
        ThreadSpawned,
        ThreadEnded,
    )

    def processes(self, knows: Callable[[str, int], bool]) -> Sequence[ProgramRun]:
        return [one for one in self._all.values() if one.status != "close" and knows(one.view, one.id)]

    def failed(self, knows: Callable[[str, int], bool]) -> Sequence[Entry[CommandRan]]:
        return [one for one in self._failed.values() if knows(one.event.view, one.seq)]

    def get(self, id: int) -> ProgramRun | None:
        """Return a program, even a marked one; None if cleaned up."""
        return self._all.get(id)

    def all(self) -> Sequence[ProgramRun]:
        return [*self._all.values()]

    def _reset(self) -> None:
        self._all: dict[int, ProgramRun] = {}
        self._unplaced: dict[str, list[int]] = {}
        self._failed: dict[int, Entry[CommandRan]] = {}

    def _fold_entry(self, entry: Entry[Any]) -> None:
        match entry.event:
            case ProgramStarted() as started:
                self._all[entry.seq] = ProgramRun(
                    id=entry.seq,
                    name=started.name,
                    view=started.view,
                    began=entry.at,
                    slots=started.slots,
                )
            case ToolCallRequested() as call:
                self._all[entry.seq] = ProgramRun(
                    id=entry.seq, name=call.tool, view=call.view, began=entry.at, slots=call.slots
                )
            case ProgramEnded() as ended:
                self._end(entry, ended.process, ended.status, ended.result)
            case ProgramStopRequested() as stop:
                self._change(stop.process, stopping=True)
            case ThreadSpawned() as spawned if entry.thread == INNER and not entry.forgotten:
                self._branch(entry, spawned)
            case ThreadEnded() as thread_ended:
                self._end_branch(entry, thread_ended)
            case CommandRan() as ran:
                self._command(entry, ran)

    def _branch(self, entry: Entry[Any], spawned: ThreadSpawned) -> None:
        seq = entry.seq
        name = spawned.thread.removeprefix(f"{INNER}.")
        self._all[seq] = ProgramRun(id=seq, name=name, view=spawned.thread, began=entry.at, branch=True)
        self._unplaced.setdefault(execution_of(entry.key), []).append(seq)

    def _end_branch(self, entry: Entry[Any], ended: ThreadEnded) -> None:
        status: Status = "error"
        if ended.status == "completed":
            status = "ok"
        result = ""
        if isinstance(ended.result, str):
            result = ended.result
        for seq in entry.closes:
            if seq in self._all and self._all[seq].branch:
                self._end(entry, seq, status, result)

    def _end(self, entry: Entry[Any], seq: int, status: Status, result: str) -> None:
        self._change(seq, status=status, ended=entry.at, ended_by=entry.seq, result=result)

    def _command(self, entry: Entry[Any], ran: CommandRan) -> None:
        for seq in self._unplaced.pop(execution_of(entry.key), ()):
            self._change(seq, view=ran.view)
        if not ran.ok:
            if ran.stays_open and not (ran.taken_from or entry.forgotten):
                self._fail(entry)
            return
        if ran.name == MARK_COMMAND:
            self._mark(ran.args.get("id"))
        elif ran.name == CLEANUP_COMMAND:
            self._all = {seq: one for seq, one in self._all.items() if one.status != "close"}

    def _fail(self, entry: Entry[CommandRan]) -> None:
        for seq, one in [*self._failed.items()]:
            if _alike(one.event, entry.event):
                del self._failed[seq]
        self._failed[entry.seq] = entry
        while len(self._failed) > MOST_FAILED:
            self._failed.pop(min(self._failed))

    def _mark(self, id: object) -> None:
        if isinstance(id, int):
            self._failed.pop(id, None)
        if isinstance(id, int) and id in self._all and self._all[id].ended is not None:
            self._change(id, status="close")

    def _change(self, seq: int, **fields: Any) -> None:
        if seq in self._all:
            self._all[seq] = replace(self._all[seq], **fields)


def _alike(one: CommandRan, other: CommandRan) -> bool:
    return (one.view, one.name, one.args, one.text) == (other.view, other.name, other.args, other.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerLifeState:
    log: TickLog
    notes: Notes
    records: InnerRecords
    processes: ProgramLog
    deliveries: DeliveryLog
    views: Visibility

    async def update(self, before: int = ALWAYS) -> None:
        """Apply entries before the seq `before` (default: all) to all projections."""
        await self.views.update()
        await self.log.update(before)
        await self.notes.update(before)
        await self.records.update(before)
        await self.processes.update(before)
        await self.deliveries.update(before)

    @property
    def unread_entries(self) -> int:
        folds = (self.log, self.notes, self.records, self.processes, self.deliveries)
        return max(*[fold.entries_left for fold in folds], self.views.entries_left)


def unseen_dms(state: InnerLifeState) -> Sequence[Note]:
    """Return DM notes that no answered tick has shown, oldest first.

    Notes before the owner's permission or the oldest kept tick are left out.
    """
    log = state.log
    if log.dms_since == ALWAYS:
        return ()
    since = log.dms_since
    if len(log.thoughts) == MOST_TICKS:
        since = max(since, log.thoughts[0].tick.tick)
    seen = {seq for line in log.thoughts for seq in line.tick.saw}
    notes = [state.notes.get(id) for id in state.notes.new_since(since)]
    return [one for one in notes if one and one.source == "dm" and not one.hidden and one.said not in seen]

"""The log of the inner life: its ticks, what each of them did and was told, and how it set itself (HMP seed).

A fold over ticks and commands. What is said of a setting is shown only where it may be known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.engine.reading import ALWAYS
from daemon.kinds import INNER, CommandRan, InnerLifeStarted, ModelCall, TickLogged
from daemon.knowledge.projection import Projection
from daemon.limits import DAY, midnight

MOST_TICKS = 200
"""Ticks that are kept at hand, and so many of those in which the model answered."""
ASKS_OWNER = "owner"
"""The strategy of the reflex by which an owner is asked."""
RESPONSES = 5
"""Own replies that a tick sees where the soul says nothing else."""
NEW_CONTENT_COMMANDS = frozenset(
    {"diary.add", "diary.change", "concepts.add", "concepts.change", "links.add", "llm_memory.add"}
)
"""Commands that leave something that was not there before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSetting:
    """How the soul set something of its cycle, under which view, and in which entry."""

    value: Any
    view: str = ""
    wrote: int = ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSettings:
    """How its cycle goes on: what the soul set itself, and what holds where it set nothing."""

    responses: CycleSetting = CycleSetting(value=RESPONSES)
    mode: CycleSetting = CycleSetting(value="auto")
    filter: CycleSetting = CycleSetting(value={})
    pause: CycleSetting = CycleSetting(value=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRecord:
    """A tick, and the commands that it carried out; `seq` is its entry, and `at` when it was over."""

    seq: int = 0
    at: float = 0.0
    tick: TickLogged
    commands: Sequence[Entry[CommandRan]] = ()


NOTHING = TickRecord(tick=TickLogged(tick=0, outcome="asleep"))
"""Stands for the last tick where there was none."""


@dataclass(slots=True, kw_only=True)
class DailyCost:
    """What the inner life has cost since midnight (UTC), up to an entry."""

    midnight: float = 0.0
    upto: int = 0
    usd: float = 0.0


class TickLog(Projection):
    """The last ticks, in order, and the settings of the cycle."""

    kinds = (TickLogged, CommandRan, InnerLifeStarted)

    def _reset(self) -> None:
        self.lines = deque[TickRecord](maxlen=MOST_TICKS)
        self.thoughts = deque[TickRecord](maxlen=MOST_TICKS)
        """The ticks in which the model answered, in order."""
        self.dms_since = ALWAYS
        """The seq since which it may read along in DMs, without a break; ALWAYS: it may not."""
        self.last_at = 0.0
        """When the last tick was over in which anything was to be asked, or the daemon was started."""
        self.owner_asked: float | None = None
        """When the reflex last had an owner asked."""
        self.settings = CycleSettings()
        self.cleared = 0
        """The seq up to which the soul wanted its own replies out of sight."""
        self._under_way = list[Entry[CommandRan]]()
        """The commands of the tick that is under way."""
        self._day = 0.0
        """The UTC day of the last entry."""
        self._messages = 0
        """Messages that it wanted sent on that day."""
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
        """A tick is over, or something has happened between two."""
        tick = line.tick
        for kept in (self.lines, self.thoughts):
            if kept and kept[-1].tick.tick == tick.tick:
                kept.pop()  # it began again: what it came to at last is told
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
        """What it had cost on this UTC day when that entry was written, in dollars: all of it, as the bound
        counts it, with comparisons and branches.
        """
        began = midnight(now)
        if began != self._paid.midnight or before <= self._paid.upto:
            self._paid = DailyCost(midnight=began)
        paid = self._paid
        for one in self.journal.entries_of_kind(ModelCall, since=paid.upto, at=began):
            if one.seq >= before:
                break
            paid.upto = one.seq
            of_today = one.at < began + DAY  # else the clock was once ahead
            if of_today and root_of(one.thread) == INNER and not one.event.taken_from:
                paid.usd += one.event.cost
        return paid.usd

    def messages(self, now: float) -> int:
        """How many messages it wanted sent on this UTC day by then."""
        if now // DAY != self._day:
            return 0
        return self._messages

    @property
    def last(self) -> TickRecord:
        """The last tick in which the model answered: what it did is to be shown until it answers again."""
        if not self.thoughts:
            return NOTHING
        return self.thoughts[-1]

    def count_fruitless(self) -> int:
        """How many ticks in a row have left nothing new."""
        count = 0
        for line in reversed(self.thoughts):
            if successful_commands(line.commands, *NEW_CONTENT_COMMANDS):
                break
            count += 1
        return count


def successful_commands(commands: Iterable[Entry[CommandRan]], *names: str) -> list[CommandRan]:
    """Those of these commands that were carried out, and whose names begin so."""
    events = [command.event for command in commands]
    return [event for event in events if event.ok and event.name.startswith(names)]

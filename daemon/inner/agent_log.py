"""The log of the inner life: its ticks, what each of them did and was told, and how it set itself (HMP seed).

A fold over ticks and commands. What is said of a setting is shown only where it may be known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.engine.reading import ALWAYS
from daemon.kinds import INNER, CommandRan, InnerBegan, ModelCall, Ticked
from daemon.knowledge.projection import Projection
from daemon.limits import DAY, midnight

MOST = 200
"""Ticks that are kept at hand, and so many of those in which the model answered."""
ASKS_OWNER = "owner"
"""The strategy of the reflex by which an owner is asked."""
RESPONSES = 5
"""Own replies that a tick sees where the soul says nothing else."""
NEW = frozenset(
    {"diary.add", "diary.change", "concepts.add", "concepts.change", "links.add", "llm_memory.add"}
)
"""Commands that leave something that was not there before."""

Mode = Literal["manual", "auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How the soul set something of its cycle, under which view, and in which entry."""

    value: Any
    view: str = ""
    wrote: int = ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How its cycle goes on: what the soul set itself, and what holds where it set nothing."""

    responses: Setting = field(default_factory=lambda: Setting(value=RESPONSES))
    mode: Setting = field(default_factory=lambda: Setting(value="manual"))
    filter: Setting = field(default_factory=lambda: Setting(value={}))
    pause: Setting = field(default_factory=lambda: Setting(value=None))


@dataclass(slots=True, kw_only=True)
class Line:
    """A tick, and the commands that it carried out."""

    entry: Entry[Ticked]
    commands: Sequence[Entry[CommandRan]] = ()

    @property
    def fruitless(self) -> bool:
        """Did it leave nothing new?"""
        return not any(one.event.ok and one.event.name in NEW for one in self.commands)


@dataclass(slots=True, kw_only=True)
class Paid:
    """What the inner life has cost since midnight (UTC), up to an entry."""

    midnight: float = 0.0
    upto: int = 0
    usd: float = 0.0


class AgentLog(Projection):
    """The last ticks, in order, and the settings of the cycle."""

    kinds = (Ticked, CommandRan, InnerBegan)

    def _clear(self) -> None:
        self.lines = deque[Line](maxlen=MOST)
        self.thoughts = deque[Line](maxlen=MOST)
        """The ticks in which the model answered, in order."""
        self.last_at = 0.0
        """When the last tick was over in which anything was to be asked, or the daemon was started."""
        self.owner_asked: float | None = None
        """When the reflex last had an owner asked."""
        self.settings = Settings()
        self.cleared = 0
        """The seq up to which the soul wanted its own replies out of sight."""
        self.sent = list[Entry[CommandRan]]()
        """The commands of the tick that is under way."""
        self._day = 0.0
        self._messages = 0
        self._paid = Paid()

    def _take(self, entry: Entry[Any]) -> None:
        if entry.at // DAY != self._day:
            self._day, self._messages = entry.at // DAY, 0
        if isinstance(entry.event, InnerBegan):
            self.last_at = entry.at
            return
        if isinstance(entry.event, Ticked):
            mine = [one for one in self.sent if one.seq in entry.event.commands]
            self._end(Line(entry=cast(Entry[Ticked], entry), commands=mine))
            self.sent = []
            return
        self.sent.append(cast(Entry[CommandRan], entry))
        if entry.event.ok and not entry.event.taken_from:
            self._messages += entry.event.name == "message.send"
            self._set(cast(Entry[CommandRan], entry))

    def _end(self, line: Line) -> None:
        """A tick is over, or something has happened between two."""
        event = line.entry.event
        for kept in (self.lines, self.thoughts):
            if kept and kept[-1].entry.event.tick == event.tick:
                kept.pop()  # it began again: what it came to at last is told
        self.lines.append(line)
        if event.answer:
            self.thoughts.append(line)
        if event.outcome != "asleep":
            self.last_at = line.entry.at
        if event.reflex == ASKS_OWNER:
            self.owner_asked = line.entry.at

    def _set(self, entry: Entry[CommandRan]) -> None:
        args: Mapping[str, Any] = entry.event.args
        new: dict[str, Any] = {}
        if entry.forgotten:
            return
        match entry.event.name:
            case "cycle.responses":
                new["responses"] = args["n"]
            case "cycle.mode":
                new["mode"] = args["mode"]
                if args.get("filter") is not None:
                    new["filter"] = args["filter"]
            case "cycle.filter":
                new["filter"] = args
            case "cycle.pause":
                new["pause"] = args["seconds"]
            case "cleanup.responses":
                self.cleared = entry.seq
        for name, value in new.items():
            setting = Setting(value=value, view=entry.event.view, wrote=entry.seq)
            self.settings = replace(self.settings, **{name: setting})

    def spent(self, now: float, before: int) -> float:
        """What it had cost on this UTC day when that entry was written, in dollars: all of it, as the bound
        counts it, with comparisons and branches.
        """
        began = midnight(now)
        if began != self._paid.midnight or before <= self._paid.upto:
            self._paid = Paid(midnight=began)
        paid = self._paid
        for one in self.journal.kind(ModelCall, since=paid.upto, at=began):
            if one.seq >= before:
                break
            paid.upto = one.seq
            of_today = one.at < began + DAY  # else the clock was once ahead
            if of_today and root_of(one.thread) == INNER and not one.event.taken_from:
                paid.usd += one.event.cost
        return paid.usd

    def messages(self, now: float) -> int:
        """How many messages it wanted sent on this UTC day by then."""
        return self._messages if now // DAY == self._day else 0

    @property
    def last(self) -> Line | None:
        """The last tick in which the model answered: what it did is to be shown until it answers again."""
        return self.thoughts[-1] if self.thoughts else None

    def fruitless(self) -> int:
        """How many ticks in a row have left nothing new."""
        count = 0
        for line in reversed(self.thoughts):
            if not line.fruitless:
                return count
            count += 1
        return count

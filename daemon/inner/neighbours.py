"""How much there is between the soul and other bots: counted by ourselves, from the journal.

What a neighbour says of how often something was handed on can be left out, or made up, by any of them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.journal import Journal
from daemon.kinds import (
    OWN_WORDS,
    ButtonPress,
    CommandRan,
    IncomingMessage,
    OverheardMessage,
    SpeechFinished,
    StopRequest,
    is_context,
    thread_key,
)
from daemon.knowledge.places import KnownChannels
from daemon.limits import DAY, midnight
from daemon.ports import Clock

HOPS = 3
"""Messages of bots in a thread, ours among them, after which none is answered before a person speaks."""
MESH_COMMANDS = ("mesh.ask", "mesh.share")
"""The commands by which the soul turns to a neighbour."""


class BotTraffic:
    """Says when it is enough. `daily`: messages to and from bots in a UTC day."""

    def __init__(self, journal: Journal, clock: Clock, daily: int, places: KnownChannels) -> None:
        self.daily = daily
        self._journal = journal
        self._clock = clock
        self._places = places
        self._midnight = 0.0
        self._upto = 0
        """The seq up to which the day is counted."""
        self._count = 0

    def has_reached_limit(self, team: str, channel: str, root: str) -> bool:
        """Is no bot to be answered any more in the thread of this root? Not where nobody can count them."""
        try:
            return self.today() >= self.daily or self.hops(team, channel, root) >= HOPS
        except JournalDamaged:  # the journal said so
            return True

    def today(self) -> int:
        """How many messages of bots were taken up in this UTC day, and how often the soul turned to one."""
        began = midnight(self._clock.now())
        if began != self._midnight:
            self._midnight, self._upto, self._count = began, 0, 0
        found: list[Entry[IncomingMessage | CommandRan]]
        found = self._journal.entries_of_kind(IncomingMessage, CommandRan, since=self._upto, at=began)
        for entry in found:
            self._upto = entry.seq
            if entry.at < began + DAY and _is_mesh(entry.event):
                self._count += 1
        return self._count

    def hops(self, team: str, channel: str, root: str) -> int:
        """How many messages of bots, ours among them, stand in this thread since a person last spoke.

        In Slack's order: what was said before the soul came is written down later.
        """
        hops = 0
        if self._places.find_unprompted(team, channel, root):
            hops = 1
        opened = self._journal.get(thread_key(team, channel, root))
        if opened is None:
            return hops
        found: list[Entry[Any]] = self._journal.thread_entries(
            opened.thread, IncomingMessage, OverheardMessage, StopRequest, ButtonPress, SpeechFinished
        )
        speeches = set[int | None]()
        said_here = [entry for entry in found if not is_context(entry.key)]
        for entry in sorted(said_here, key=_said_at):
            if isinstance(entry.event, SpeechFinished) or entry.event.note == OWN_WORDS:
                if entry.cause not in speeches:
                    hops += 1
                speeches.add(entry.cause)
            elif entry.event.bot:
                hops += entry.event.note != "edited"
            else:
                hops = 0
        return hops


def _said_at(entry: Entry[Any]) -> Decimal:
    return Decimal(entry.event.ts)


def _is_mesh(event: IncomingMessage | CommandRan) -> bool:
    if isinstance(event, CommandRan):
        return event.ok and event.name in MESH_COMMANDS
    return event.bot

"""Traffic with bots, counted in the journal, since bots could forge counts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from daemon.engine.clock import DAY, Clock, midnight
from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.journal.journal import Journal
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
from daemon.knowledge.visibility import KnownChannels

HOPS = 3
"""Bot messages in a row, the soul's included, after which bots get no answer."""


MESH_COMMANDS = ("mesh.ask", "mesh.share")


class BotTraffic:
    """Limits of messages with bots. `daily`: most messages in a UTC day."""

    def __init__(self, journal: Journal, clock: Clock, daily: int, places: KnownChannels) -> None:
        self.daily = daily
        self._journal = journal
        self._clock = clock
        self._places = places
        self._midnight = 0.0
        self._upto = 0
        self._count = 0

    def has_reached_limit(self, team: str, channel: str, root: str) -> bool:
        """True if bots get no answer in this thread: a limit is reached, or the count fails."""
        try:
            return self.today() >= self.daily or self.hops(team, channel, root) >= HOPS
        except JournalDamaged:  # already reported
            return True

    def today(self) -> int:
        """Return the number of messages from bots, and of mesh commands, in this UTC day."""
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
        """Return the number of bot messages in a thread since a person last wrote.

        Messages are sorted by ts, since backfill records older ones later.
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

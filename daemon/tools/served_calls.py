"""Calls of the soul's MCP server: each is recorded, and their number and cost are limited."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, storable_value
from daemon.engine.journal.journal import Journal
from daemon.kinds import SERVED_CALLER, TOOLS, ServedCallBegan, ServedCallEnded, ServedOutcome
from daemon.turn.usage_limits import NO_USAGE, DailyBudget

HOUR = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLimits:
    """Most calls in an hour, and most dollars of questions in a UTC day."""

    calls: int
    usd: float


class ServedCallLog:
    """Record of clients' calls, and whether their limits are reached."""

    def __init__(self, journal: Journal, clock: Clock, budget: DailyBudget, limits: ServedLimits) -> None:
        self._journal = journal
        self._clock = clock
        self._budget = budget
        self.limits = limits

    def has_reached_hourly_limit(self) -> bool:
        now = self._clock.now()
        began = self._journal.entries_of_kind(ServedCallBegan, at=now - HOUR)
        return len([call for call in began if call.at <= now]) >= self.limits.calls

    async def has_reached_daily_limit(self) -> bool:
        """True if questions of clients may cost no more today. In a rehearsal nothing costs anything."""
        await self._budget.preload()
        spent = self._budget.today().people.get(SERVED_CALLER, NO_USAGE)
        return spent.usd >= self.limits.usd

    async def begin(self, tool: str, arguments: Mapping[str, Any], client: str) -> Entry[ServedCallBegan]:
        """Record that a call began. Raises JournalError."""
        began = ServedCallBegan(tool=tool, arguments=storable_value(dict(arguments)), client=client)
        key = f"mcp-call:{secrets.token_hex(8)}"
        entry, _ = await self._journal.append(TOOLS, began, key=key, author=SERVED_CALLER)
        return entry

    async def end(
        self, call: Entry[ServedCallBegan], outcome: ServedOutcome, characters: int = 0, thread: str = ""
    ) -> None:
        """Record the end of a call, once. Raises JournalError."""
        seconds = round(max(self._clock.now() - call.at, 0.0), 3)
        ended = ServedCallEnded(outcome=outcome, thread=thread, characters=characters, seconds=seconds)
        await self._journal.append(
            TOOLS, ended, key=f"{call.key}!ended", author=SERVED_CALLER, cause=call.seq
        )

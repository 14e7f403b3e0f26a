"""Placement of the inner life's programs on one of several daemons.

A program is started only after the entry that places it is in the log, and only by the daemon that the entry
names. It ends with that daemon: the next one finds its end, or says that nobody knows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from daemon.engine.event import Entry, part_key
from daemon.engine.exceptions import FencedError, KeyConflict
from daemon.engine.journal.journal import Journal
from daemon.kinds import ProgramPlaced, ProgramStarted

LOOK_SECONDS = 1.0
"""Seconds between two looks for the death of a daemon, which no entry reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacingDaemon:
    """Identity and standing of this daemon among the others.

    `has_role`: it decides where programs run. `is_alive` is asked of a worker id. `confirm` waits until this
    daemon is sure that it does not count as dead.
    """

    machine: str
    worker_id: int
    has_role: Callable[[], bool]
    is_alive: Callable[[int], bool]
    confirm: Callable[[], Awaitable[None]]


class SharedPlacement:
    """Placement by entries in the log."""

    ends_with_daemon = True

    def __init__(self, journal: Journal, daemon: PlacingDaemon) -> None:
        self._journal = journal
        self._daemon = daemon

    async def settle(self, started: Entry[ProgramStarted]) -> bool:
        while self._journal.is_pending(started.seq):
            changed = self._journal.next_change
            placed: Entry[Any] | None = self._journal.get(_placed_key(started))
            if placed is None:
                if self._daemon.has_role():
                    await self._place(started)
                    continue
            elif placed.event.daemon == self._daemon.worker_id:
                return True
            elif self._daemon.has_role() and not self._daemon.is_alive(placed.event.daemon):
                return False
            await _any_change(changed)
        return False

    async def confirm(self) -> None:
        await self._daemon.confirm()

    async def _place(self, started: Entry[ProgramStarted]) -> None:
        placed = ProgramPlaced(
            process=started.seq, machine=self._daemon.machine, daemon=self._daemon.worker_id
        )
        with suppress(KeyConflict, FencedError):  # placed by another daemon, or ended
            await self._journal.append(
                started.thread,
                placed,
                key=_placed_key(started),
                author="core",
                cause=started.seq,
                requires=started.seq,
            )


def _placed_key(started: Entry[ProgramStarted]) -> str:
    return part_key(started.key, "placed")


async def _any_change(changed: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_SECONDS):
            await changed.wait()

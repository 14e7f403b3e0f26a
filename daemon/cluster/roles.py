"""Roles that one daemon of a workspace has: locks of its session, and a record of who has them.

A role whose recorded holder is alive is not taken, even if its lock is free: the holder may be cut off from
the log, and stops only when it is no longer sure. It takes its locks again when it is back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from daemon.cluster.membership import Membership
from daemon.engine.exceptions import CountedAsDead

ROLES = ("at work", "catch-up", "eraser", "inner life", "tool servers", "archives", "test calls")

LOST = "The log forgot that this daemon had a role, and gave it to another one. Start this one again."


class Roles:
    """Roles of this daemon. It has each until it counts as dead or lets go of it."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._wanted: dict[str, asyncio.Future[None]] = {}
        """Roles that are awaited or had; done: it has the role, or had it in an earlier session."""
        self._had: set[str] = set()
        self._session = 0
        """Number of the session whose locks are `_had`."""
        membership.with_each_heartbeat.append(self._take)

    async def hold(self, name: str) -> None:
        """Wait until this daemon has the role. If the wait is cancelled, the role is not wanted any more."""
        waiting = self._wanted.setdefault(name, asyncio.get_running_loop().create_future())
        self._membership.hurry()
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self.release(name)
            raise

    def holds(self, name: str) -> bool:
        """True if this daemon has the role and is sure that it does not count as dead."""
        is_current = self._session == self._membership.session_number
        return is_current and name in self._had and name in self._wanted and self._membership.is_sure

    def release(self, name: str) -> None:
        """Let another daemon have the role, from the next heartbeat on."""
        self._wanted.pop(name, None)
        self._membership.hurry()

    async def _take(self) -> None:
        """Let go of what is not wanted and take what is, as part of a heartbeat."""
        if self._session != self._membership.session_number:
            self._had, self._session = set(), self._membership.session_number
        for name in [*self._had - self._wanted.keys()]:
            await self._ask("select soul_release_role(%s, %s)", name)
            self._had.discard(name)
        missing = [name for name in self._wanted if name not in self._had]
        if missing:
            taken = await self._ask("select soul_take_roles(%s, %s::text[])", missing)
            self._had.update(taken)
            await self._refuse_loss([name for name in missing if name not in taken])
        for name in self._had & self._wanted.keys():
            if not self._wanted[name].done():
                self._wanted[name].set_result(None)

    async def _refuse_loss(self, missing: Sequence[str]) -> None:
        """Raise CountedAsDead if another daemon has a role that this one was told it has."""
        former = [name for name in missing if name in self._wanted and self._wanted[name].done()]
        if former and await self._ask("select soul_has_lost_role(%s, %s::text[])", former):
            raise CountedAsDead(LOST)

    async def _ask(self, query: str, asked: str | Sequence[str]) -> Any:
        return await self._membership.ask(query, (self._membership.worker_id, asked))

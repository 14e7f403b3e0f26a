"""Roles that one daemon of a workspace has: locks of its session, and a record of who has them.

A role whose recorded holder is alive is not taken, even if its lock is free: the holder may be cut off from
the log, and stops only when it is no longer sure. It takes its locks again when it is back.
"""

from __future__ import annotations

import asyncio
from typing import Literal, get_args

from daemon.cluster.membership import Membership

Role = Literal["at work", "catch-up", "eraser", "inner life", "tool servers", "archives", "test calls"]
ROLES: tuple[Role, ...] = get_args(Role)


class Roles:
    """Roles of this daemon. One that it has stays until it counts as dead or lets go of it."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._wanted: dict[Role, asyncio.Future[None]] = {}
        self._had: set[Role] = set()
        self._session = 0
        """Number of the session whose locks are `_had`."""
        membership.with_each_heartbeat.append(self._take)

    async def hold(self, name: Role) -> None:
        """Wait until this daemon has the role. If the wait is cancelled, the role is not wanted any more."""
        waiting = self._wanted.setdefault(name, asyncio.get_running_loop().create_future())
        self._membership.hurry()
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._wanted.pop(name, None)
            raise

    def holds(self, name: str) -> bool:
        """True if this daemon has the role and is sure that it does not count as dead."""
        current = self._session == self._membership.session_number
        return current and name in self._had and self._membership.is_sure

    async def release(self, name: Role) -> None:
        """Let another daemon have the role."""
        self._wanted.pop(name, None)
        if name in self._had:
            self._had.discard(name)
            await self._membership.request(
                "select soul_release_role(%s, %s)", (self._membership.worker_id, name)
            )

    async def _take(self) -> None:
        number = self._membership.session_number
        if number != self._session:
            self._had, self._session = set(), number
        missing = [name for name in self._wanted if name not in self._had]
        if not missing:
            return
        query = "select soul_take_roles(%s, %s::text[])"
        taken = await self._membership.ask(query, (self._membership.worker_id, missing))
        for name in missing:
            if name in taken:
                await self._note(name)

    async def _note(self, name: Role) -> None:
        waiting = self._wanted.get(name)
        if waiting is None:  # nobody wants it any more
            await self._membership.ask("select soul_release_role(%s, %s)", (self._membership.worker_id, name))
            return
        self._had.add(name)
        if not waiting.done():
            waiting.set_result(None)

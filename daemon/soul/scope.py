"""Where a step of many parts reads and writes: one context of one attempt, in a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from daemon.engine.context import Context
from daemon.engine.event import Entry, Event
from daemon.soul.world import World

E = TypeVar("E", bound=Event)


class Scope:
    """Steps of one execution. `ctx` is the context that they take their keys from."""

    def __init__(self, world: World, ctx: Context) -> None:
        self.world = world
        self.ctx = ctx
        self.execution = ctx.execution
        self.thread = ctx.execution.thread
        self.alone = True
        """Does nothing of this execution go on beside these steps?"""

    def read(self, key: str, asked: str = "") -> Entry[Any] | None:
        """What is recorded under this key. Raises Nondeterminism where it asked something else."""
        return self.ctx.read(key, asked)

    async def append(
        self, event: E, *, key: str, cause: int | None = None, closes: Sequence[int] = ()
    ) -> Entry[E]:
        """A new entry of this attempt. Raises Fenced when a later attempt has taken over."""
        return await self.execution.append(event, key, cause=cause, closes=closes)

    def hold(self) -> None:
        """Is the thread still ours? Directly before what the world sees or bills; raises Fenced."""
        self.execution.check_lease()

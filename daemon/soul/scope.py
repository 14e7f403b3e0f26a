"""Where a step of many parts reads and writes: one context of one attempt, in a world."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry
from daemon.kinds import Message, StopAsked
from daemon.soul.world import World


class Scope:
    """Steps of one execution. `ctx` is the context that they take their keys from."""

    def __init__(self, world: World, ctx: Context) -> None:
        self.world = world
        self.journal = world.journal
        self.speaker = world.speaker
        self.ctx = ctx
        self.execution = ctx.execution
        self.thread = ctx.execution.thread
        self.hold = ctx.execution.check_lease
        """Is the thread still ours? Directly before what the world sees or bills; raises Fenced."""
        self.alone = True
        """Does nothing of this execution go on beside these steps?"""
        self.speaking = asyncio.Lock()
        """Held while one of its contexts posts: their messages stand one after the other, each whole."""

    @property
    def answered(self) -> Sequence[str]:
        """The ts of what people said that is answered by what this execution says now."""
        said: list[Entry[Any]] = [
            entry for entry in self.execution.inputs if isinstance(entry.event, Message | StopAsked)
        ]
        return tuple(entry.event.ts for entry in said)

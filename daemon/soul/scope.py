"""Where a step of many parts reads and writes: one context of one attempt, in a world."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry, seqs_of
from daemon.engine.kinds import InputsReceived
from daemon.kinds import IncomingMessage, StopRequest
from daemon.soul.world import TurnDependencies
from daemon.turn.input_policy import EDITS_STEP, overtaking_edits


class Scope:
    """Steps of one execution. `ctx` is the context that they take their keys from."""

    def __init__(self, world: TurnDependencies, ctx: Context) -> None:
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
        self.may_be_overtaken = False
        """True while a process runs that begins anew if a message that it answers is edited."""
        self.overtaken_by = list[int]()
        """The edits for which this run ends; its parallel contexts share the list."""
        self.speaking = asyncio.Lock()
        """Held while one of its contexts posts: their messages stand one after the other, each whole."""

    @property
    def answered_ts(self) -> Sequence[str]:
        """The ts of what people said that is answered by what this execution says now."""
        said: list[Entry[Any]] = [
            entry for entry in self.execution.inputs if isinstance(entry.event, IncomingMessage | StopRequest)
        ]
        return tuple(entry.event.ts for entry in said)

    async def is_superseded_by_edit(self) -> bool:
        """Return True, and record it once, if this run ends because a message that it answers was edited.

        What it would say then is not said. Decided by the trunk alone, as everything that comes from outside.
        """
        is_trunk = self.ctx.path == self.execution.path
        if self.may_be_overtaken and is_trunk and not self.overtaken_by:
            found = await self.ctx.record_if_found(EDITS_STEP, self._edits)
            if found:
                self.overtaken_by += found.event.inputs
                self.execution.mark_received(found.event.inputs)
                self.execution.stopping.set()
        return bool(self.overtaken_by)

    def _edits(self) -> InputsReceived | None:
        found = overtaking_edits(self.execution)
        if not found:
            return None
        return InputsReceived(inputs=tuple(seqs_of(found)))

    def may_show_words(self) -> bool:
        """Return True if words of this run may be shown now; then no edit overtakes it any more."""
        if self.overtaken_by or (self.may_be_overtaken and overtaking_edits(self.execution)):
            return False
        self.mark_shown()
        return True

    def mark_shown(self) -> None:
        """Note that something of the answer is about to be shown: from now on no edit overtakes it."""
        if self.may_be_overtaken:
            self.execution.is_shown = True

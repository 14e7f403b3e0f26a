"""Asks a model and lets its answer be heard as it comes: one section of it goes into one speech."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from daemon.engine.event import Entry
from daemon.kinds import ModelCall
from daemon.memory import WorkingMemory
from daemon.ports import Role
from daemon.process import Speech, Turn


class Reader(Protocol):
    """Hears one answer as it comes."""

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""

    @property
    def said(self) -> str:
        """What of it is said so far."""


class Listening:
    """All questions about one memory whose answers go into one speech; `reader` makes what hears each."""

    def __init__(self, turn: Turn, memory: WorkingMemory, reader: Callable[[], Reader]) -> None:
        self._turn = turn
        self._reader = reader
        self.memory = memory
        """What is remembered, with what was heard while nobody answered."""
        self.speech: Speech = turn.speech()

    async def ask(self, name: str, role: Role, instruction: str, *, aloud: bool = True) -> Entry[ModelCall]:
        """Ask; once more, under another key, where the answer breaks off in the middle."""
        call = await self._listen(name, role, instruction, aloud=aloud, partial=True)
        if call.event.outcome == "failed" and call.event.text:
            call = await self._listen(name, role, instruction, aloud=aloud)
        return call

    async def _listen(
        self, name: str, role: Role, instruction: str, *, aloud: bool, partial: bool = False
    ) -> Entry[ModelCall]:
        reader = self._reader()
        shown = ""

        async def hear(delta: str) -> None:
            nonlocal shown
            reader.feed(delta)
            if delta.isspace():
                return
            said = reader.said
            if not said.startswith(shown):
                await self.speech.hear("")
            shown = said
            if said:  # what is asked once more leaves what stands there until it says something
                await self.speech.hear(said)

        seen = self.memory.with_region("instruction", instruction)
        hearing = None
        if aloud:
            hearing = hear
        grown, call = await self._turn.talk(name, seen, role, hearing, partial=partial)
        self.memory = self.memory.with_memory(*grown.heard_since(seen))
        return call

"""A scope that has words: the owner's texts as of its body's first begin, and the messages it says.

The turn is one; question.py asks through it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from daemon.entry import Entry
from daemon.life.alarm import alarm
from daemon.life.scope import Scope, World
from daemon.life.speech import Speech
from daemon.life.texts import Texts
from daemon.memory import WorkingMemory
from daemon.ports import Hear, Role


class Voice(Scope):
    """Steps that are said. `began` is this turn's begin, `first` that of its body, as of which it reads."""

    def __init__(self, world: World, texts: Texts, began: Entry, first: Entry, epoch: int) -> None:
        super().__init__(world, began.thread, began.body["path"], began, epoch)
        self.first = first
        self.moment = first.at
        """When this body began, or last heard an answer: what time it is to it."""
        self.failed: Entry | None = None
        """The call that failed last, in this attempt's course."""
        self._texts = texts

    async def call(
        self,
        name: str,
        memory: WorkingMemory,
        role: Role,
        hear: Hear | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Entry:
        """One model call; where the account is at fault, the owners hear of it."""
        call = await super().call(name, memory, role, hear, schema)
        if call.body["outcome"] == "failed":
            self.failed = call
            await alarm(self, call)
        return call

    def text(self, name: str) -> str:
        """An owner's text as of this body's first begin."""
        self.wording[name] = sha = self.first.body["texts"][name]
        return str(self._texts.read(sha).body["text"])

    def speech(self) -> Speech:
        """A message to the person, not yet begun."""
        return self.speech_at(self.key("say"))

    def speech_at(self, key: str) -> Speech:
        """The message that has this key."""
        return Speech(self, key, self.text("prompts/sentences/lost_words").strip())

    async def say(self, text: str, name: str = "say") -> Sequence[Entry]:
        """A message of its own, posted whole."""
        return await self.speech_at(self.key(name)).close(text)

    async def whisper(self, name: str, person: str, text: str) -> None:
        """Tell one person something in this conversation that nobody else sees; perhaps twice."""

        async def tell() -> str:
            await self.world.speaker.whisper(self.thread, person, text, self.hold)
            return text

        await self.effect(name, {"to": person}, tell, repeatable=True)

    @asynccontextmanager
    async def showing(self, status: str) -> AsyncIterator[None]:
        """While inside, Slack shows what the soul is doing."""
        self.show(status)
        try:
            yield
        finally:
            self.show("")

    def show(self, status: str) -> None:
        """Slack is to show that the soul is doing this; an empty text: nothing more. Waits for nothing."""
        self.world.speaker.status(self.thread, status, self.hold)

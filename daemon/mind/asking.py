"""Asking the model, while what it says is shown as it comes. Made by the pipeline, for each of its runs."""

from __future__ import annotations

from daemon.errors import ModelFailed
from daemon.memory import WorkingMemory
from daemon.mind.answer import Answer
from daemon.mind.sections import Sections
from daemon.mind.steps import PRIVATE, SAY, TAGS
from daemon.ports import Role
from daemon.process import Speech, Turn


class Asking:
    """All questions of one run, about the same memory, whose answers go into one speech."""

    def __init__(self, turn: Turn, memory: WorkingMemory) -> None:
        self._turn = turn
        self._memory = memory
        self._heard = ""
        """The longest dialogue that broke off."""
        self.speech: Speech = turn.speech()

    async def ask(self, name: str, role: Role, instruction: str) -> Answer:
        """Ask; once more, under another key, where the answer breaks off. Raises ModelFailed."""
        memory = self._memory.with_region("instruction", instruction)
        answer = await self._listen(name, role, memory)
        if answer.broke:
            answer = await self._listen(name, role, memory)
        if answer.outcome == "failed":
            shown = self._heard and not self._turn.wary
            await (self.speech.close(f"{self._heard} …") if shown else self.speech.settle())
            raise ModelFailed(answer.call.body["failure"])
        return answer

    async def _listen(self, name: str, role: Role, memory: WorkingMemory) -> Answer:
        coming = Sections(TAGS, PRIVATE)

        async def hear(delta: str) -> None:
            coming.feed(delta)
            if not self._turn.wary:  # half answers would pile up while an outage lasts
                await self.speech.hear(coming.text.get(SAY, ""))

        answer = Answer(await self._turn.call(name, memory, role, hear))
        self._heard = max(self._heard, answer.heard, key=len)
        return answer

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
        self._took_back = False
        """Does something stand in Slack that was never meant to be read?"""
        self.speech: Speech = turn.speech()

    async def ask(self, name: str, role: Role, instruction: str) -> Answer:
        """Ask; once more, under another key, where the answer breaks off. Raises ModelFailed."""
        memory = self._memory.with_region("instruction", instruction)
        answer = await self._listen(name, role, memory)
        if answer.broke:
            answer = await self._listen(name, role, memory)
        if answer.outcome == "failed":
            shown = self._heard and not self._turn.wary
            if shown or self._took_back:
                await self.speech.close(self._heard and f"{self._heard} …")
            else:
                await self.speech.settle()
            raise ModelFailed(answer.call.body["failure"])
        return answer

    async def _listen(self, name: str, role: Role, memory: WorkingMemory) -> Answer:
        coming, shown = Sections(TAGS, PRIVATE), ""

        async def hear(delta: str) -> None:
            nonlocal shown
            coming.feed(delta)
            if self._turn.wary or delta.isspace():  # half answers would pile up while an outage lasts
                return
            said = coming.said(SAY)
            if not said.startswith(shown):
                self._took_back = True
                await self.speech.hear("")
            shown = said
            await self.speech.hear(said)

        answer = Answer(await self._turn.call(name, memory, role, hear))
        self._heard = max(self._heard, answer.heard, key=len)
        return answer

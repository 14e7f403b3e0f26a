"""What the chooser of a run is told, as memory: parts of a prompt become entries, and are told once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.engine.event import Entry
from daemon.ism import PromptPart
from daemon.kinds import ModelCall, RunMessage
from daemon.memory import CORE, Memory, WorkingMemory
from daemon.mind.prompting import with_time
from daemon.mind.recall import entry_as_memory
from daemon.process import Turn


@dataclass(frozen=True, slots=True)
class RecalledPart(PromptPart):
    """What the chooser is told that the journal holds already, as these memories."""

    memories: tuple[Memory, ...]


class ChooserTranscript:
    """All that the chooser has been told, the conversation first; it only grows, so that the cache hits."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._told = list(turn.memory.conversation)
        self._kept = 0
        """How many parts of the prompt are in there."""
        self._chose: Entry[ModelCall] | None = None
        """What the chooser said last."""
        self._news: list[RecalledPart] = []
        """What it is to be told next."""

    async def keep(self, parts: Sequence[PromptPart]) -> None:
        """All that the chooser was told, or said, becomes memory; the first parts have become it already."""
        for part in parts[self._kept :]:
            if isinstance(part, RecalledPart):
                self._told += part.memories
            elif part.role == "assistant":
                assert self._chose is not None
                self._told.append(entry_as_memory(self._chose))
            else:
                key, told = await self._turn.record_soon(RunMessage(text=part.text))
                self._told.append(Memory(role="user", content=told.text, key=key))
        self._kept = len(parts)

    def prompt_for(self, question: str) -> WorkingMemory:
        """What the chooser sees when it is asked this."""
        memory = WorkingMemory((*self._turn.memory.of(CORE), *self._told))
        return with_time(self._turn, memory).with_region("instruction", question)

    def add_answer(self, heard: Sequence[Memory], chose: Entry[ModelCall]) -> None:
        """It answered; this was heard while it could not."""
        self._told += heard
        self._chose = chose

    def recall(self, memories: Sequence[Memory]) -> None:
        """It is to be told of what the journal holds already."""
        text = "\n".join(memory.content for memory in memories)
        self._news.append(RecalledPart("user", text, tuple(memories)))

    def take_news(self) -> tuple[RecalledPart, ...]:
        """What it is to be told now."""
        news = tuple(self._news)
        self._news.clear()
        return news

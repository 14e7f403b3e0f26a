"""Asks a model and lets its answer be heard as it comes: one section of it goes into one speech."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from daemon.engine.event import Entry
from daemon.kinds import ModelCall
from daemon.memory import WorkingMemory
from daemon.mind.answer import PipelineAnswer
from daemon.ports import Hear, Role
from daemon.process import Speech, Turn


def note_kept_form(turn: Turn, role: Role, first: PipelineAnswer, last: PipelineAnswer) -> None:
    """Note whether a model kept to the form that it was asked for; `last` came after `first`, or is it."""
    if not first.call.event.is_usable:
        return
    if last is first:
        turn.note_form_kept(role, "kept")
    elif last.speakable_dialogue or not last.call.event.is_usable:
        turn.note_form_kept(role, "again")
    else:
        turn.note_form_kept(role, "lost")


class AnswerReader(Protocol):
    """Hears one answer as it comes."""

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""

    @property
    def spoken_so_far(self) -> str:
        """What of it is said so far."""

    @property
    def is_complete(self) -> bool:
        """True if no more of it is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """One question: its name, its words, the model that is asked, and how the answer ends.

    Without `private`, the model does not see the private sections of earlier answers.
    """

    name: str
    instruction: str
    role: Role
    stop_sequences: Sequence[str] = ()
    private: bool = True


class StreamedQuestion:
    """All questions about one memory whose answers go into one speech."""

    def __init__(self, turn: Turn, memory: WorkingMemory) -> None:
        self._turn = turn
        self.memory = memory
        """What is remembered, with what was heard while nobody answered."""
        self.speech: Speech = turn.speech()

    async def ask(
        self, question: ModelQuestion, reader: Callable[[], AnswerReader] | None
    ) -> Entry[ModelCall]:
        """Ask; once more, under another key, where the answer breaks off in the middle.

        `reader` makes what hears an answer as it comes; None: nothing of it is said before it is whole.
        """
        call = await self._listen(question, reader, partial=True)
        if call.event.outcome == "failed" and call.event.text:
            call = await self._listen(question, reader)
        return call

    async def _listen(
        self, question: ModelQuestion, made: Callable[[], AnswerReader] | None, *, partial: bool = False
    ) -> Entry[ModelCall]:
        hearing = None
        if made:
            hearing = self._hearing(made())
        seen = self.memory.with_region("instruction", question.instruction)
        grown, call = await self._turn.call_interruptibly(
            question.name,
            seen,
            question.role,
            hearing,
            stop_sequences=question.stop_sequences,
            partial=partial,
            private=question.private,
        )
        self.memory = self.memory.with_memory(*grown.heard_since(seen))
        return call

    def _hearing(self, reader: AnswerReader) -> Hear:
        shown = ""

        async def hear(delta: str) -> bool:
            nonlocal shown
            reader.feed(delta)
            if delta.isspace():
                return False
            said = reader.spoken_so_far
            if not said.startswith(shown):
                await self.speech.update("")
            shown = said
            if said:  # what is asked once more leaves what stands there until it says something
                await self.speech.update(said)
            return reader.is_complete

        return hear

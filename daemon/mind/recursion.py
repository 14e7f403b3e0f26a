"""Recursion: a model reads what is longer than its window, by small programs and by calling itself.

The loop of the seed (recursive-language-models.md): prompt, model, code, execution, observation, and again,
until there is a final answer. It talks to nothing but the Node that it is given: one reading, and where its
calls, its cells and its entries go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from daemon.engine.event import Entry
from daemon.kinds import CellRan, Ending, ModelCall, ReadingBegan, ReadingEnded, SystemMessage
from daemon.limits import ReadingLimits
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.recall import entry_as_memory, escape_tags
from daemon.mind.sections import strip_thoughts
from daemon.mind.stagnation import RepetitionDetector
from daemon.mind.writing import ReaderAnswer, parse_reader_answer
from daemon.process import Interrupt

Ended = Entry[ReadingEnded]
MOST_CELLS = 10
"""Cells of one answer that are run."""
SILENT = 3
"""Answers in a row with nothing to run, after which it goes no further."""


class ReadingHost(Protocol):
    """One reading: the root, or one that a cell called. Each of its steps is recorded, and read back."""

    limits: ReadingLimits

    def system(self) -> Memory:
        """The owner's words on how to read."""

    def prompt(self, name: str, **words: str) -> str:
        """A text of the owner's of prompts/reading/, filled."""

    async def begin(self, question: str, *, whole: bool = True) -> Entry[ReadingBegan]:
        """It begins: the context is there, and its shape is known; what is short is `whole`, if it may be."""

    async def ask(self, name: str, memory: WorkingMemory, *, last: bool = False) -> Entry[ModelCall]:
        """Ask the model of this depth. The `last` call may go past the reading's own bounds."""

    async def run(self, code: str) -> Entry[CellRan]:
        """Run this cell in a sandbox in which `context` is known, after all cells before it."""

    async def tell_model(self, text: str) -> Entry[SystemMessage]:
        """The model is told this."""

    async def reached_limit(self) -> Ending | None:
        """Which bound stands in the way of another call."""

    async def end(self, answer: str, reason: Ending, *, partial: bool, iterations: int) -> Ended:
        """It has come to this."""


async def run_reading(node: ReadingHost, question: str, interrupt: Interrupt | None = None) -> Ended:
    """Answer a question about the context of this node.

    What is long never stands in a prompt, only its shape does; what is short is read in one call, which does
    better then. Raises nothing for what models and cells do.
    """
    began = await node.begin(question)
    if began.event.fault:
        return await node.end(began.event.fault, "unreadable", partial=True, iterations=0)
    reading = ReadingLoop(node, interrupt, began)
    if began.event.short:
        ended = await reading.answer_in_one_call()
        if ended:
            return ended
        reading = ReadingLoop(node, interrupt, await node.begin(question, whole=False))
    return await reading.run()


class ReadingLoop:
    """One reading on its way. The prompt only grows."""

    def __init__(self, node: ReadingHost, interrupt: Interrupt | None, began: Entry[ReadingBegan]) -> None:
        self._node = node
        self._began = began
        self._interrupt = interrupt
        self._memory = working_memory([node.system(), entry_as_memory(began)])
        self._iterations = 0
        self._silent = 0
        """How many answers in a row had nothing to run."""
        self._circles = RepetitionDetector(exact=True)

    async def answer_in_one_call(self) -> Ended | None:
        """In one call, which sees it all; None where that is too long for the model."""
        self._iterations = 1
        began = self._began.event
        words = self._node.prompt(
            "short", question=escape_tags(began.question), context=escape_tags(began.shape)
        )
        call = await self._node.ask("read", working_memory([]).with_region("instruction", words))
        outcome = call.event.outcome
        if call.event.is_usable:
            text = strip_thoughts(call.event.text).strip()
            return await self._answered(text, partial=outcome == "cut")
        if call.event.is_too_long:
            return None
        if call.event.ran_out_of_time:
            return await self._ended("time")
        if outcome == "cancelled":
            return await self._stopped()
        if outcome == "over-budget":
            return await self._ended("money")
        return await self._ended("failed")

    async def run(self) -> Ended:
        """Round after round, to its end."""
        while True:
            if await self._interrupted():
                return await self._ended("stopped")
            reason = await self._bound()
            if reason:
                return await self._unfinished(reason)
            self._iterations += 1
            ended = await self._round()
            if ended:
                return ended

    async def _bound(self) -> Ending | None:
        if self._iterations >= self._node.limits.iterations:
            return "iterations"
        return await self._node.reached_limit()

    async def _interrupted(self) -> bool:
        if self._interrupt is None:
            return False
        came = await self._interrupt()
        if isinstance(came, bool):
            return came
        self._memory = self._memory.with_memory(*came)
        return False

    async def _round(self) -> Ended | None:
        """One call, and the cells that came of it; the end, where it is one."""
        rounds = f"{self._iterations}/{self._node.limits.iterations}"
        asked = self._memory.with_region("instruction", self._node.prompt("turn", round=rounds))
        call = await self._node.ask("recurse", asked)
        match call.event.outcome:
            case "cancelled":
                return await self._broken_off(call.event)
            case "over-budget":
                return await self._unfinished("money")
        if not call.event.is_usable:
            return await self._ended("failed")
        self._memory = self._memory.with_memory(entry_as_memory(call))
        text = strip_thoughts(call.event.text)
        wrote = parse_reader_answer(text, whole=call.event.outcome == "ok")
        if wrote.final is not None:
            return await self._answered(wrote.final)
        if wrote.variable:
            wrote = ReaderAnswer(cells=(f"FINAL_VAR({wrote.variable!r})",))
        if not wrote.cells:
            return await self._nothing_to_run(wrote)
        self._silent = 0
        return await self._cells(wrote.cells[:MOST_CELLS])

    async def _cells(self, cells: Sequence[str]) -> Ended | None:
        came = []
        for code in cells:
            ran = await self._node.run(code)
            self._memory = self._memory.with_memory(entry_as_memory(ran))
            if ran.event.final is not None:
                return await self._answered(ran.event.final)
            came.append(f"{code}\n{ran.event.text}")
        match self._circles.observe_round("\n".join(came)):
            case "nudge":
                await self._tell("again")
            case "end":
                return await self._unfinished("stuck")
        return None

    async def _nothing_to_run(self, wrote: ReaderAnswer) -> Ended | None:
        """An answer without a cell is no answer yet: it may have been a thought."""
        self._silent += 1
        if self._silent >= SILENT:
            return await self._unfinished("stuck")
        if wrote.finals:
            await self._tell("twice")
        else:
            await self._tell("codeless")
        return None

    async def _tell(self, name: str) -> None:
        told = await self._node.tell_model(self._node.prompt(name))
        self._memory = self._memory.with_memory(entry_as_memory(told))

    async def _broken_off(self, call: ModelCall) -> Ended:
        """A call was broken off: the time is over, or somebody did that. What is known by now is said."""
        if call.ran_out_of_time:
            return await self._unfinished("time")
        return await self._stopped()

    async def _stopped(self) -> Ended:
        """Whoever stopped it is heard."""
        await self._interrupted()
        return await self._ended("stopped")

    async def _unfinished(self, reason: Ending) -> Ended:
        """Something stands in the way: one more call says what is known by now."""
        asked = self._memory.with_region("instruction", self._node.prompt("unfinished"))
        call = await self._node.ask("extract", asked, last=True)
        if call.event.outcome == "cancelled" and not call.event.ran_out_of_time:
            return await self._stopped()
        answer = ""
        if call.event.is_usable:
            text = strip_thoughts(call.event.text)
            answer = parse_reader_answer(text).final or text.strip()
        return await self._ended(reason, answer)

    async def _answered(self, answer: str, *, partial: bool = False) -> Ended:
        return await self._node.end(answer, "answered", partial=partial, iterations=self._iterations)

    async def _ended(self, reason: Ending, answer: str = "") -> Ended:
        """It goes no further, for this reason; the answer is what is known by now."""
        return await self._node.end(answer, reason, partial=True, iterations=self._iterations)

"""A tree of readings: what all of them share, and the calls that their cells ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry, of_kind
from daemon.engine.exceptions import Unavailable
from daemon.kinds import OUT_OF_TIME, LimitReached, ModelCall, ReadingBegan
from daemon.memory import WorkingMemory, working_memory
from daemon.mind.sections import strip_thoughts
from daemon.mind.wording import fill_placeholders
from daemon.ports import ReadingSetup
from daemon.soul import calls
from daemon.soul.ledger import ReadingAllowance
from daemon.soul.spent import active_seconds
from daemon.soul.voice import Voice

READING_TEXTS = "prompts/reading/"
"""How the names of the texts begin that a reading needs."""
AT_A_STRETCH = 200_000
"""Characters of prompts that are made ready before whoever else waits in the loop gets a turn."""
EACH = 5_000
"""What each prompt counts besides: to make a short one ready is work, too."""


class ReadingTree:
    """What all readings of one tree share. `beyond` tells which bound of the turn stands in the way."""

    def __init__(
        self, voice: Voice, readings: ReadingSetup, path: str, beyond: Callable[[], LimitReached | None]
    ) -> None:
        self.voice = voice
        self.world = voice.world
        self.readings = readings
        self.limits = readings.limits
        self.ledger = self._ledger(path)
        self._pieces = set[int]()
        """The sub-calls that were answered."""
        self.questions = 0
        """How often a model was asked how to go on."""
        self.beyond = beyond
        self._stretch = 0
        """Characters that were made ready since others had a turn."""
        self._waiting = asyncio.Lock()

    def _ledger(self, path: str) -> ReadingAllowance:
        """What was used under this path already, in earlier lives."""
        execution = self.voice.execution
        recorded: list[Entry[Any]] = execution.recorded_entries()
        mine = [entry for entry in recorded if entry.key.startswith(f"{path}/")]
        began = of_kind(ReadingBegan, mine)
        seconds = 0.0
        if began:
            since = [entry for entry in execution.all_recorded() if entry.seq >= began[0].seq]
            seconds = active_seconds(since)
        at_once = self.world.queue.bounded_concurrency(self.limits.concurrency, self.readings.names)
        limits = replace(self.limits, concurrency=at_once)
        return ReadingAllowance(limits, self.world.clock, of_kind(ModelCall, mine), seconds)

    async def ask(self, ctx: Context, wanted: calls.CallRequest) -> Entry[ModelCall]:
        """One call of the tree, through outages. Raises Unavailable where nobody answers for a day."""
        made = await calls.call_until_answered(self.world, ctx, wanted)
        self.ledger.count(made)
        return made

    def call_request(
        self, name: str, memory: WorkingMemory, model: str, *, last: bool = False
    ) -> calls.CallRequest:
        """A call that this tree wants to make."""
        return calls.CallRequest(
            name=name,
            memory=memory,
            role=model,
            wording=sorted(self.voice.wording) if memory.system else (),  # a sub-call has no words of ours
            people=self.voice.people,
            ledger=self.ledger,
            last=last,
        )

    async def yield_to_others(self, prompt: str) -> None:
        """To be awaited before work is done on a prompt, of which there may be hundreds, and long ones: the
        daemon hears and answers others meanwhile."""
        self._stretch += EACH + len(prompt)
        if self._stretch > AT_A_STRETCH:
            async with self._waiting:
                await asyncio.sleep(0)
                self._stretch = 0

    def count_answered(self, call: Entry[ModelCall]) -> None:
        """This sub-call was answered."""
        self._pieces.add(call.seq)
        self.show_progress()

    def show_progress(self) -> None:
        """People see how far it is; what other models have read counts from the first piece on, if the owner
        has a second line for that."""
        lines = self.voice.text(f"{READING_TEXTS}progress").strip()
        alone, _, together = lines.partition("\n")
        words = alone
        if self._pieces:
            words = together or alone
        pieces = str(len(self._pieces))
        usd = f"{self.ledger.usd:.2f}"
        self.voice.show_status(
            fill_placeholders(words, pieces=pieces, questions=str(self.questions), usd=usd)
        )


class SubCall:
    """One prompt that a cell asks a model, named by its words."""

    def __init__(self, reader: ReadingTree, here: Context, prompt: str, model: str) -> None:
        self.ctx = here.context_about("llm_query", prompt, model)
        self._reader = reader
        self._prompt = prompt
        self._model = model

    async def answer(self, ctx: Context) -> str:
        """What the model says, or an error as a text."""
        fault = self._fault()
        if fault:
            return fault
        reached = self._reader.ledger.reached_limit
        if reached and not ctx.recorded_step("llm_query"):
            return limit_error_text(reached)
        await self._reader.yield_to_others(self._prompt)
        memory = working_memory(()).with_region("instruction", self._prompt)
        wanted = self._reader.call_request("llm_query", memory, self._model)
        try:
            call = await self._reader.ask(ctx, wanted)
        except Unavailable as error:
            return unreachable_error_text(error)
        self._reader.count_answered(call)
        match call.event.outcome:
            case "ok" | "cut":
                return strip_thoughts(call.event.text)
            case "over-budget":
                return limit_error_text("money" if call.event.is_beyond_budget else call.event.failure)
            case "cancelled" if call.event.ran_out_of_time:
                return limit_error_text(OUT_OF_TIME)
            case "failed" if call.event.is_too_long:
                return f"Error: the prompt is too long for {call.event.model}; split it into shorter ones"
        return f"Error: no answer ({call.event.outcome})"

    def _fault(self) -> str:
        """Why this is not asked; empty where it can be."""
        readings = self._reader.readings
        if not self._prompt.strip():
            return "Error: the prompt is empty"
        most = readings.most_prompt_bytes(self._model)
        if not most:
            known = ", ".join(sorted(readings.windows))
            return f"Error: there is no model {self._model!r}; there are {known}"
        size = len(self._prompt.encode(errors="replace"))
        if size > most:
            return f"Error: the prompt has {size} bytes, and this model reads about {most}; split it"
        return ""


def limit_error_text(bound: str) -> str:
    """What code sees where a bound of the reading stands in the way."""
    return f"Error: this reading has reached its bound of {bound}; answer from what is known"


def unreachable_error_text(error: Unavailable) -> str:
    """What code sees where nobody answered for a day."""
    return f"Error: the model could not be reached ({error.reason})"

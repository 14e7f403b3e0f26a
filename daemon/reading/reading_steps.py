"""Readings as steps in the journal: their calls, cells, and the readings below them.

A reading and all readings below it share one allowance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from daemon.answers.speech_gate import strip_thoughts
from daemon.documents.document import with_line_numbers
from daemon.engine.context import Context
from daemon.engine.event import Entry, of_kind
from daemon.engine.exceptions import Unavailable
from daemon.kinds import (
    OUT_OF_TIME,
    CellRan,
    Ending,
    LimitReached,
    ModelCall,
    ReadingBegan,
    ReadingEnded,
    SystemMessage,
)
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.ports import ReadingSetup
from daemon.prompts.elements import cut_middle, fill_placeholders
from daemon.reading.loop import Interrupt, Load, run_reading
from daemon.reading.notebook import (
    STOPPED_CELL,
    Notebook,
    canonical_text,
    context_as_text,
    context_shape,
    final_text,
    is_short_context,
)
from daemon.sandbox.environment import ContextLoadError, Function, HostCallError, Sandbox
from daemon.settings.limits import ReadingLimits
from daemon.turn.model_calls import CallRequest, call_until_answered
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import show_status
from daemon.turn.turn import Turn
from daemon.turn.usage_limits import ReadingAllowance, active_seconds

READING_TEXTS = "prompts/reading/"


AT_A_STRETCH = 200_000
"""Characters of prompts that are prepared before other tasks may run."""


EACH = 5_000
"""Characters that each prompt counts for in addition, for work of fixed size."""


class ReadingTree:
    """State shared by a reading and all readings below it. `beyond` returns the turn's
    limit that is reached.
    """

    def __init__(
        self, turn: Turn, readings: ReadingSetup, path: str, beyond: Callable[[], LimitReached | None]
    ) -> None:
        self.turn = turn
        self.deps = turn.deps
        self.readings = readings
        self.limits = readings.limits
        self.ledger = self._ledger(path)
        self._pieces = set[int]()
        self.questions = 0
        self.beyond = beyond
        self._stretch = 0
        self._waiting = asyncio.Lock()

    def _ledger(self, path: str) -> ReadingAllowance:
        """Return the allowance, less what the reading used before a restart."""
        execution = self.turn.execution
        recorded: list[Entry[Any]] = execution.recorded_entries()
        mine = [entry for entry in recorded if entry.key.startswith(f"{path}/")]
        began = of_kind(ReadingBegan, mine)
        seconds = 0.0
        if began:
            since = [entry for entry in execution.all_recorded() if entry.seq >= began[0].seq]
            seconds = active_seconds(since)
        at_once = self.deps.queue.bounded_concurrency(self.limits.concurrency, self.readings.names)
        limits = replace(self.limits, concurrency=at_once)
        return ReadingAllowance(limits, self.deps.clock, of_kind(ModelCall, mine), seconds)

    async def ask(self, ctx: Context, request: CallRequest) -> Entry[ModelCall]:
        """Call a model, waiting for the end of an outage. Raises Unavailable after a day."""
        made = await call_until_answered(self.deps, ctx, request)
        self.ledger.count(made)
        return made

    def call_request(
        self, name: str, memory: WorkingMemory, model: str, *, last: bool = False
    ) -> CallRequest:
        return CallRequest(
            name=name,
            memory=memory,
            role=model,
            # calls from cells contain no texts of the owner
            wording=sorted(self.turn.wording) if memory.system else (),
            people=self.turn.people,
            ledger=self.ledger,
            last=last,
        )

    async def yield_to_others(self, prompt: str) -> None:
        self._stretch += EACH + len(prompt)
        if self._stretch > AT_A_STRETCH:
            async with self._waiting:
                await asyncio.sleep(0)
                self._stretch = 0

    def count_answered(self, call: Entry[ModelCall]) -> None:
        self._pieces.add(call.seq)
        self.show_progress()

    def show_progress(self) -> None:
        """Show the progress; the second line of the owner's text is for calls from cells."""
        lines = self.turn.text(f"{READING_TEXTS}progress").strip()
        alone, _, together = lines.partition("\n")
        words = alone
        if self._pieces:
            words = together or alone
        pieces = str(len(self._pieces))
        usd = f"{self.ledger.usd:.2f}"
        show_status(
            self.turn, fill_placeholders(words, pieces=pieces, questions=str(self.questions), usd=usd)
        )


class SubCall:
    """Prompt that a cell sends to a model; the key of its step is made from its content."""

    def __init__(self, tree: ReadingTree, here: Context, prompt: str, model: str) -> None:
        self.ctx = here.context_about("llm_query", prompt, model)
        self._tree = tree
        self._prompt = prompt
        self._model = model

    async def answer(self, ctx: Context) -> str:
        """Return the answer, or a text that describes the error."""
        fault = self._fault()
        if fault:
            return fault
        reached = self._tree.ledger.reached_limit
        if reached and not ctx.recorded_step("llm_query"):
            return limit_error_text(reached)
        await self._tree.yield_to_others(self._prompt)
        memory = working_memory(()).with_region("instruction", self._prompt)
        request = self._tree.call_request("llm_query", memory, self._model)
        try:
            call = await self._tree.ask(ctx, request)
        except Unavailable as error:
            return unreachable_error_text(error)
        self._tree.count_answered(call)
        match call.event.outcome:
            case "ok" | "cut":
                return strip_thoughts(call.event.text)
            case "over-budget":
                return limit_error_text("money" if call.event.exceeded_budget else call.event.failure)
            case "cancelled" if call.event.ran_out_of_time:
                return limit_error_text(OUT_OF_TIME)
            case "failed" if call.event.is_too_long:
                return f"Error: the prompt is too long for {call.event.model}; split it into shorter ones"
        return f"Error: no answer ({call.event.outcome})"

    def _fault(self) -> str:
        readings = self._tree.readings
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
    return f"Error: this reading has reached its bound of {bound}; answer from what is known"


def unreachable_error_text(error: Unavailable) -> str:
    return f"Error: the model could not be reached ({error.reason})"


LETTERS = 4
"""Characters per token, approximately."""


WHOLE = 2
"""Divisor of a prompt's size; a short context may take this part, so that the question has room."""


WINDOW = f"{READING_TEXTS}window"
"""Name of the text on the sizes of windows; executions of older versions do not have it."""


SHORT = 2_000
"""Most characters of a question in the prompt; the middle of a longer one is cut."""


class ReadingSession:
    """Reading at a depth, which is 0 for the first one; `ctx` records its steps."""

    def __init__(self, tree: ReadingTree, ctx: Context, load: Load, depth: int = 0) -> None:
        self.limits: ReadingLimits = tree.limits
        self._load = load
        self._context: Any = None
        self._is_loaded = False
        self._tree = tree
        self._turn = tree.turn
        self._ctx = ctx
        self._depth = depth
        self._notebook = Notebook(ctx, self._open_sandbox)

    def system(self) -> Memory:
        self._turn.text(f"{READING_TEXTS}system")
        sha = self._turn.texts[f"{READING_TEXTS}system"]
        return entry_as_memory(self._turn.deps.texts.text_entry(sha))

    def prompt(self, name: str, **words: str) -> str:
        return fill_placeholders(self._turn.text(f"{READING_TEXTS}{name}"), **words)

    async def begin(self, question: str, *, whole: bool = True) -> Entry[ReadingBegan]:
        async def began() -> ReadingBegan:
            try:
                context = await self._loaded_context()
            except ContextLoadError as error:
                return ReadingBegan(question=question, shape="", depth=self._depth, fault=str(error))
            most = self._tree.readings.most_prompt_bytes(self._tree.readings.model(self._depth)) // WHOLE
            short = whole and is_short_context(context, min(self.limits.threshold * LETTERS, most))
            shape = f"{context_shape(context)}{self._windows()}"
            if short:
                shape = context_as_text(context)
            return ReadingBegan(question=question, shape=shape, depth=self._depth, short=short)

        return await self._ctx.step("reading", question, began, ReadingBegan)

    def _windows(self) -> str:
        if not self._turn.has_text(WINDOW):
            return ""
        readings = self._tree.readings
        deeper = readings.model(self._depth + 1)
        sizes = {"own": readings.model(self._depth), "asked": deeper}
        words = {name: f"{_rounded(readings.most_prompt_bytes(model)):,}" for name, model in sizes.items()}
        return "\n\n" + fill_placeholders(self._turn.text(WINDOW), **words)

    async def _loaded_context(self) -> Any:
        if not self._is_loaded:
            self._context = await self._load()
            self._is_loaded = True
        return self._context

    async def ask(self, name: str, memory: WorkingMemory, *, last: bool = False) -> Entry[ModelCall]:
        self._tree.questions += 1
        self._tree.show_progress()
        model = self._tree.readings.model(self._depth)
        request = self._tree.call_request(name, memory, model, last=last)
        return await self._tree.ask(self._ctx, request)

    async def tell_model(self, text: str) -> Entry[SystemMessage]:
        return await self._ctx.record(SystemMessage(text=text))

    async def reached_limit(self) -> Ending | None:
        """Return the limit that is reached, recorded for replays; None if there is none."""

        def look() -> LimitReached | None:
            reached = self._tree.ledger.reached_limit
            if reached:
                return LimitReached(bound=reached, resets="reading")
            return self._tree.beyond()

        found = await self._ctx.record_if_found("bound", look)
        if found is None:
            return None
        if found.event.bound == "tokens":
            return "money"
        return cast(Ending, found.event.bound)

    async def end(
        self, answer: str, reason: Ending, *, partial: bool, iterations: int
    ) -> Entry[ReadingEnded]:
        await self.close()
        made = of_kind(ModelCall, self._ctx.execution.journal.entries_under(self._ctx.path))
        beyond = [call.event.exceeded_budget for call in made if call.event.exceeded_budget]
        sent = [call.event for call in made if call.event.outcome != "over-budget"]
        ended = ReadingEnded(
            answer=answer,
            reason=reason,
            partial=partial,
            iterations=iterations,
            calls=len(sent),
            usd=sum(call.cost for call in sent),
            beyond=beyond[-1] if beyond else "",
        )

        async def made_ending() -> ReadingEnded:
            return ended

        return await self._ctx.step("reading-ended", [answer, reason, iterations], made_ending, ReadingEnded)

    async def run(self, code: str) -> Entry[CellRan]:
        return await self._notebook.run(code)

    async def close(self) -> None:
        await self._notebook.close()

    async def _open_sandbox(self) -> Sandbox:
        context = await self._loaded_context()
        sandbox = await self._tree.readings.open(self._functions())
        try:
            await sandbox.bind(context=context, answer={"content": "", "ready": False})
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    def _functions(self) -> Mapping[str, Function]:
        return {
            "llm_query": self._llm_query,
            "llm_query_batched": self._llm_query_batched,
            "rlm_query": self._rlm_query,
            "FINAL": self._notebook.set_final,
            "SUBMIT": self._notebook.set_final,
            "FINAL_VAR": self._notebook.set_final_variable,
            "SHOW_VARS": self._notebook.show_variables,
            "numbered": _numbered,
        }

    async def _llm_query(self, prompt: object, model: str | None = None) -> str:
        [answer] = await self._ask_all([prompt], model)
        return answer

    async def _llm_query_batched(self, prompts: Sequence[object], model: str | None = None) -> list[str]:
        if isinstance(prompts, str) or not isinstance(prompts, Sequence):
            raise HostCallError("llm_query_batched takes a list of prompts")
        return await self._ask_all(prompts, model)

    async def _ask_all(self, prompts: Sequence[object], model: str | None) -> list[str]:
        name = str(model or self._tree.readings.model(self._depth + 1))
        here = self._notebook.running_cell.ctx
        asked = []
        for prompt in map(_as_prompt, prompts):
            await self._tree.yield_to_others(prompt)
            asked.append(SubCall(self._tree, here, prompt, name))
        return await here.gather(*[(one.ctx, one.answer) for one in asked])

    async def _rlm_query(self, prompt: object, context: Any = None, model: str | None = None) -> str:
        """Begin a reading one level deeper; at the deepest level, call a model instead."""
        asked = _as_prompt(prompt)
        if self._ctx.execution.stopping.is_set():
            raise HostCallError(STOPPED_CELL)
        if self._depth >= self.limits.depth:
            if context is not None:
                asked = f"{asked}\n\n{final_text(context)}"
            return await self._llm_query(asked, model)
        sub = self._notebook.running_cell.ctx.context_about("rlm_query", asked, canonical_text(context))
        ended = cast(Entry[ReadingEnded] | None, sub.recorded_step("reading-ended"))
        if ended is None:
            reached = self._tree.ledger.reached_limit
            if reached:
                return limit_error_text(reached)
            child = ReadingSession(self._tree, sub, _load_of(asked, context), self._depth + 1)
            reading = asyncio.create_task(run_reading(child, cut_middle(asked, SHORT)))
            self._notebook.running_cell.below.add(reading)
            try:
                ended = await reading
            except Unavailable as error:
                return unreachable_error_text(error)
            finally:
                await child.close()
        return _result_text(ended.event)


def _rounded(size: int) -> int:
    """Round down to two digits, so that no model takes the number for exact."""
    digits = max(len(str(size)) - 2, 0)
    unit = int(10**digits)
    return size // unit * unit


def _result_text(ended: ReadingEnded) -> str:
    if not ended.answer or ended.reason == "unreadable":
        return f"Error: nothing came of it ({ended.answer or ended.reason})"
    if ended.partial:
        return f"(read only in part: {ended.reason}) {ended.answer}"
    return ended.answer


def _load_of(question: str, context: Any) -> Load:
    async def load() -> Any:
        if context is None:
            return question
        return context

    return load


async def _numbered(text: object, first: object = 1) -> str:
    """Return a text or lines with numbers before the lines."""
    if isinstance(text, list | tuple):
        text = "\n".join(map(_as_prompt, text))
    if not isinstance(first, int):
        raise HostCallError("numbered takes a text, and the number of its first line")
    return with_line_numbers(_as_prompt(text), first)


def _as_prompt(prompt: object) -> str:
    if isinstance(prompt, str):
        return prompt
    return final_text(prompt)


async def read_source(
    turn: Turn, question: str, load: Load, interrupt: Interrupt | None = None
) -> Entry[ReadingEnded]:
    """Answer a question about the context that `load` returns, of any length; a restart loads it again."""
    if turn.deps.readings is None:
        raise LookupError("this soul has nowhere to run programs")
    ctx = turn.ctx.child_context("read")
    tree = ReadingTree(turn, turn.deps.readings, ctx.path, turn.exceeded_limit)
    session = ReadingSession(tree, ctx, load)
    try:
        return await run_reading(session, question, interrupt)
    finally:
        await session.close()

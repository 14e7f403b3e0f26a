"""The notebook of a reading: cells, which are small programs of a model's, run in order in one sandbox.

A cell is one step, and what it asks for stands within it, named by its words. After a kill the cells run
again in a new sandbox: what they had asked for is read back, and only what is new is paid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry
from daemon.engine.keys import part_key
from daemon.environment import CellResult, ContextLoadError, HostCallError, Sandbox, SandboxError
from daemon.kinds import CellBegan, CellRan
from daemon.mind.observing import cell_observation, cut_middle, final_text

LONGEST_FINAL_ANSWER = 200_000
"""Characters of a final answer: it is recorded wherever it is handed on. Of a longer one both ends stay."""
STOPPED_CELL = "stopped"
INTERRUPTED = CellRan(text="(interrupted)", failed=True, lost=True)
"""What came of a cell that was left half done when the code of its process changed."""


@dataclass(slots=True, kw_only=True)
class RunningCell:
    """A cell while it runs: where its sub-calls take their steps from, and what it has said is final."""

    ctx: Context
    finals: list[Any] = field(default_factory=list)
    variable: str = ""
    below: set[asyncio.Task[Any]] = field(default_factory=set)
    """The readings that it has called, and waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedCell:
    """A cell that has run: its key, and the variables that there were before it. One over which the sandbox
    was `lost` does not run again."""

    key: str
    code: str
    variables: Mapping[str, str]
    lost: bool


class Notebook:
    """The cells of one reading. `open` makes a new sandbox, in which what is to be read is known."""

    def __init__(self, ctx: Context, open: Callable[[], Awaitable[Sandbox]]) -> None:
        self._ctx = ctx
        self._open = open
        self._sandbox: Sandbox | None = None
        self._history = list[FinishedCell]()
        """The cells that have run so far."""
        self._in_sandbox = 0
        """How many of them the sandbox has run."""
        self._cell: RunningCell | None = None
        self._variables: Mapping[str, str] = {}

    async def run(self, code: str) -> Entry[CellRan]:
        """Run this cell after all before it; or read back what came of it."""
        intent = CellBegan(name="cell", code=code)

        async def ran() -> CellRan:
            return await self._run(self._ctx.current_key, code)

        done = await self._ctx.effect(intent, ran, INTERRUPTED, repeatable=True)
        key = done.key.removesuffix(part_key("", "done"))
        cell = FinishedCell(key=key, code=code, variables=self._variables, lost=done.event.lost)
        self._history.append(cell)
        if not done.event.lost:
            self._variables = done.event.variables
        return done

    async def close(self) -> None:
        """The sandbox is not needed any more."""
        sandbox, self._sandbox = self._sandbox, None
        self._in_sandbox = 0
        if sandbox:
            await sandbox.close()

    async def _run(self, key: str, code: str) -> CellRan:
        try:
            sandbox = await self._caught_up()
        except (SandboxError, ContextLoadError) as error:
            return CellRan(text=str(error), failed=True, lost=True)
        cell = RunningCell(ctx=self._ctx.context_in_step(key))
        execution = await self._executed(sandbox, cell, code)
        if cell.variable and not execution.error:
            held = await self._held(sandbox, cell, cell.variable)
            cell.finals.insert(0, held.value)
            execution = replace(execution, error=held.error)
        final = None
        if not execution.error:
            final = await self._final(sandbox, cell, code)
        if execution.lost:
            await self.close()
        elif self._sandbox:
            self._in_sandbox = len(self._history) + 1
        return CellRan(
            text=cell_observation(execution),
            final=final,
            failed=bool(execution.error),
            lost=execution.lost,
            variables=dict(execution.variables),
        )

    async def _caught_up(self) -> Sandbox:
        """A sandbox that has run all cells so far. In a new one they run again, and read back their answers.

        Raises SandboxError where there is none, ContextError where there is nothing to read any more.
        """
        if self._sandbox is None:
            self._sandbox = await self._open()
        sandbox = self._sandbox
        now = self._variables
        for ran in self._history[self._in_sandbox :]:
            if not ran.lost:
                self._variables = ran.variables
                cell = RunningCell(ctx=self._ctx.context_in_step(ran.key))
                again = await self._executed(sandbox, cell, ran.code)
                if again.lost:
                    await self.close()
                    self._variables = now
                    raise SandboxError(f"An earlier cell could not be run again: {again.error.strip()}")
            self._in_sandbox += 1
        self._variables = now
        return sandbox

    async def _executed(self, sandbox: Sandbox, cell: RunningCell, code: str) -> CellResult:
        """Run it; somebody's stop ends it at once, and the sandbox with it."""
        self._cell = cell
        running = asyncio.create_task(sandbox.execute_code(code))
        stopping = asyncio.create_task(self._ctx.execution.stopping.wait())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done() and cell.below:  # they hear of the stop, too, and end what they have begun
                await asyncio.wait(cell.below)
            if running.done():
                return await running
            return CellResult(error=STOPPED_CELL, lost=True)
        finally:
            stopping.cancel()
            if not running.done():
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await running

    async def _final(self, sandbox: Sandbox, cell: RunningCell, code: str) -> str | None:
        """The final answer that the cell gave, if it did: the first one counts."""
        if cell.finals:
            return cut_middle(final_text(cell.finals[0]), LONGEST_FINAL_ANSWER)
        if "answer" in code or any("answer" in ran.code for ran in self._history):
            held = await self._held(sandbox, cell, "answer")
            if isinstance(held.value, Mapping) and held.value.get("ready"):
                return cut_middle(final_text(held.value.get("content", "")), LONGEST_FINAL_ANSWER)
        return None

    async def _held(self, sandbox: Sandbox, cell: RunningCell, name: str) -> CellResult:
        """What a variable holds; where the sandbox breaks over it, the next cell has a new one."""
        held = await self._executed(sandbox, cell, name)
        if held.lost:
            await self.close()
        return held

    # What a cell may call

    @property
    def running_cell(self) -> RunningCell:
        """The cell that runs."""
        assert self._cell, "only a cell calls"
        return self._cell

    async def set_final(self, *values: Any, **named: Any) -> None:
        if not named and values in ((), (None,)):
            raise HostCallError("a final answer needs to be something, and this is None")
        given: Any = named or list(values)
        if not named and len(values) == 1:
            given = values[0]
        self.running_cell.finals.append(given)

    async def set_final_variable(self, name: Any) -> None:
        """The name of a variable, or its value where the code had no quotes."""
        if isinstance(name, str) and name.isidentifier():
            if not self.running_cell.finals:
                self.running_cell.variable = self.running_cell.variable or name
        else:
            self.running_cell.finals.append(name)

    async def show_variables(self) -> dict[str, str]:
        return dict(self._variables)

"""Notebook of a reading, which runs a model's cells in one sandbox; descriptions of contexts.

A cell is a step that contains the steps of its sub-calls. After a crash it runs again with their recorded
answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.documents.document import with_line_numbers
from daemon.engine.context import Context
from daemon.engine.event import Entry, part_key
from daemon.kinds import CellBegan, CellRan
from daemon.kinds.thought_kinds import INTERRUPTED
from daemon.prompts.elements import cut_middle
from daemon.sandbox.environment import CellResult, ContextLoadError, HostCallError, Sandbox, SandboxError

HEAD = 400
"""Characters of a text that the description of its shape shows."""


LISTED = 20
"""Most parts and variables that are listed."""


LONGEST_SHOWN_NAME = 200
"""Most characters of a name that is shown."""


DEEPEST = 50
"""Most levels of nesting that are rendered; deeper values are shown by `repr`."""


def cell_observation(result: CellResult) -> str:
    shown = []
    if result.stdout:
        shown.append(result.stdout.rstrip("\n"))
    if result.value is not None:
        shown.append(as_python_text(result.value))
    if result.stderr:
        shown.append(f"stderr: {result.stderr.rstrip()}")
    if result.error:
        shown.append(result.error.rstrip())
    text = "(no output)"
    if shown:
        text = cut_middle("\n".join(shown))
    return f"{text}\n{_variables(result.variables)}".rstrip()


def _variables(variables: Mapping[str, str]) -> str:
    if not variables:
        return ""
    named = [f"{_short(name)}: {_short(type)}" for name, type in variables.items()]
    more = len(named) - LISTED
    if more > 0:
        named[:more] = [f"{more} more"]
    return f"[variables: {', '.join(named)}]"


def final_text(value: Any) -> str:
    """Return a final answer as text; a value of another type as JSON."""
    if isinstance(value, str):
        return value.strip()
    try:
        return json.dumps(value, ensure_ascii=False, default=canonical_text)
    except (TypeError, ValueError, RecursionError):
        return python_repr(value)


def canonical_text(value: Any) -> str:
    """Return a value as a text that is the same after a restart: sets are sorted."""
    try:
        return _canonical(value)
    except RecursionError:
        return python_repr(value)


def _canonical(value: Any) -> str:
    match value:
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(_canonical, value)))}}}"
        case Mapping():
            entries = [f"{_canonical(key)}: {_canonical(one)}" for key, one in value.items()]
            return f"{{{', '.join(entries)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_canonical, value))}]"
    return python_repr(value)


def python_repr(value: Any) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def as_python_text(value: Any) -> str:
    """Return a string unchanged, another value by its `repr`."""
    if isinstance(value, str):
        return value
    return python_repr(value)


def context_shape(context: Any) -> str:
    """Describe a context for a model: type, size, parts and beginning."""
    return "\n".join(_shape(context))


def _shape(context: Any) -> Iterator[str]:
    match context:
        case str():
            lines = context.count("\n") + 1
            yield f"`context` is a str of {len(context)} characters in {lines} lines."
            yield _head(context)
        case Mapping():
            length = count_characters(context)
            yield f"`context` is a dict of {len(context)} entries, {length} characters in all:"
            yield from _parts(context.items())
        case list() | tuple():
            kind = type(context).__name__
            size = count_characters(context)
            yield f"`context` is a {kind} of {len(context)} elements, {size} characters in all:"
            yield from _parts(enumerate(context))
        case _:
            yield f"`context` is a {type(context).__name__}."
            yield _head(python_repr(context))


def _parts(parts: Any) -> Iterator[str]:
    named = list(parts)
    for key, part in named[:LISTED]:
        name, kind = _short(python_repr(key)), type(part).__name__
        yield f"- context[{name}]: {kind}, {count_characters(part)} characters"
    if len(named) > LISTED:
        yield f"- … and {len(named) - LISTED} more"
    if named:
        key, part = named[0]
        yield f"context[{_short(python_repr(key))}] begins:\n{_begins(part)}"


def _head(text: str) -> str:
    return f"It begins:\n{_begins(text)}"


def _begins(part: Any) -> str:
    text = as_python_text(part)
    if len(text) <= HEAD:
        return text
    return f"{text[:HEAD]} …"


def _short(name: str) -> str:
    if len(name) <= LONGEST_SHOWN_NAME:
        return name
    return f"{name[:LONGEST_SHOWN_NAME]}…"


def count_characters(part: Any) -> int:
    """Return the number of characters in a value, at all levels of nesting."""
    size, left = 0, [part]
    while left:
        one = left.pop()
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, Mapping):
            left.extend(one.values())
        elif isinstance(one, Sequence) and not isinstance(one, bytes):
            left.extend(one)
        else:
            size += len(python_repr(one))
    return size


def context_as_text(context: Any) -> str:
    """Return a context as text: its parts by name, with numbered lines."""
    return _as_text(context, 0)


def _as_text(context: Any, depth: int) -> str:
    if isinstance(context, str):
        return with_line_numbers(context)
    if isinstance(context, Mapping) and depth < DEEPEST:
        parts = [f"{as_python_text(name)}:\n{_as_text(part, depth + 1)}" for name, part in context.items()]
        return "\n\n".join(parts)
    if isinstance(context, list | tuple) and depth < DEEPEST:
        return "\n\n".join(_as_text(part, depth + 1) for part in context)
    return python_repr(context)


def is_short_context(context: Any, most: int) -> bool:
    """True if the context as text has fewer than `most` characters."""
    return count_characters(context) < most and len(context_as_text(context)) < most


LONGEST_FINAL_ANSWER = 200_000
"""Most characters of a final answer; the middle of a longer one is cut."""


STOPPED_CELL = "stopped"


@dataclass(slots=True, kw_only=True)
class RunningCell:
    ctx: Context
    finals: list[Any] = field(default_factory=list)
    variable: str = ""
    below: set[asyncio.Task[Any]] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedCell:
    """A finished cell, with the variables before it; not repeated if it `lost` the sandbox."""

    key: str
    code: str
    variables: Mapping[str, str]
    lost: bool


class Notebook:
    """Cells of a reading; `open` makes a sandbox with the context."""

    def __init__(self, ctx: Context, open: Callable[[], Awaitable[Sandbox]]) -> None:
        self._ctx = ctx
        self._open = open
        self._sandbox: Sandbox | None = None
        self._history = list[FinishedCell]()
        self._in_sandbox = 0
        self._cell: RunningCell | None = None
        self._variables: Mapping[str, str] = {}

    async def run(self, code: str) -> Entry[CellRan]:
        """Run a cell after all earlier ones; a replay reads the recorded result."""
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
        result = await self._executed(sandbox, cell, code)
        if cell.variable and not result.error:
            held = await self._held(sandbox, cell, cell.variable)
            cell.finals.insert(0, held.value)
            result = replace(result, error=held.error)
        final = None
        if not result.error:
            final = await self._final(sandbox, cell, code)
        if result.lost:
            await self.close()
        elif self._sandbox:
            self._in_sandbox = len(self._history) + 1
        return CellRan(
            text=cell_observation(result),
            final=final,
            failed=bool(result.error),
            lost=result.lost,
            variables=dict(result.variables),
        )

    async def _caught_up(self) -> Sandbox:
        """Return a sandbox in which all earlier cells have run; a new sandbox runs them again.

        Raises SandboxError; ContextLoadError if the context no longer exists.
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
        self._cell = cell
        running = asyncio.create_task(sandbox.execute_code(code))
        stopping = asyncio.create_task(self._ctx.execution.stopping.wait())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done() and cell.below:  # the readings below also see the stop
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
        if cell.finals:
            return cut_middle(final_text(cell.finals[0]), LONGEST_FINAL_ANSWER)
        if "answer" in code or any("answer" in ran.code for ran in self._history):
            held = await self._held(sandbox, cell, "answer")
            if isinstance(held.value, Mapping) and held.value.get("ready"):
                return cut_middle(final_text(held.value.get("content", "")), LONGEST_FINAL_ANSWER)
        return None

    async def _held(self, sandbox: Sandbox, cell: RunningCell, name: str) -> CellResult:
        held = await self._executed(sandbox, cell, name)
        if held.lost:
            await self.close()
        return held

    @property
    def running_cell(self) -> RunningCell:
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
        """Take the name of the variable with the final answer, or an unquoted value."""
        if isinstance(name, str) and name.isidentifier():
            if not self.running_cell.finals:
                self.running_cell.variable = self.running_cell.variable or name
        else:
            self.running_cell.finals.append(name)

    async def show_variables(self) -> dict[str, str]:
        return dict(self._variables)

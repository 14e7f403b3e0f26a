"""One run of code in a monty session. A thread drives it, since monty blocks; the host's functions
run in the loop.

The two talk by messages: a call goes to the loop, its answer comes back in a queue.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import queue
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic_monty import (
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    MontyComplete,
    MontySession,
    NameLookupSnapshot,
    SyncSnapshot,
)

from daemon.environment import Function, HostCallError, SandboxError, SandboxLimits
from daemon.sandbox.cells import CellOutput
from daemon.sandbox.values import HELD, make_plain, measure_weight, refuse_value

Awaited = Mapping[str, Collection[tuple[int, int]]]
"""By the name that monty gives a cell: where calls stand that the cell awaits."""


class RunStopped(Exception):
    """The loop wants no more of this run."""

    recorded_name = "Stopped"


class TooManyCalls(Exception):
    """The code called the host more often than it may."""

    recorded_name = "TooManyCalls"


class MontyRun:
    """Runs code in this session. `broken` is called when a function raised what is not for the code."""

    def __init__(
        self,
        session: MontySession,
        functions: Mapping[str, Function],
        bounds: SandboxLimits,
        awaited: Awaited,
        broken: Callable[[], None],
    ) -> None:
        self.raised: BaseException | None = None
        self.stdout, self.stderr = CellOutput(bounds.output), CellOutput(bounds.output)
        self._session = session
        self._functions = functions
        self._calls_left = bounds.calls
        self._most = bounds.memory // HELD
        self._awaited = awaited
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._answers: queue.SimpleQueue[tuple[int, ExternalSettledResult] | None] = queue.SimpleQueue()
        self._settled: dict[int, ExternalSettledResult] = {}
        """Answers that came before they were wanted; the thread's."""
        self._held: dict[int, int] = {}
        """The calls whose answers have not come, each with how much it holds; the thread's."""
        self._in_all = 0

    # In the thread

    def run(self, code: str) -> Any:
        """Run it to its end and return its value as monty gives it. Raises MontyError, Stopped,
        TooManyCalls."""
        step: SyncSnapshot = self._session.feed_start(code, print_callback=self._print)
        while not isinstance(step, MontyComplete):
            step = self._go_on(step)
        return step.output

    def _print(self, stream: str, text: str) -> None:
        written = self.stderr if stream == "stderr" else self.stdout
        written.write(text)

    def _go_on(self, step: FunctionSnapshot | NameLookupSnapshot | FutureSnapshot) -> SyncSnapshot:
        if isinstance(step, FunctionSnapshot):
            return self._answer(step)
        if isinstance(step, FutureSnapshot):
            return step.resume(self._ready(step.pending_call_ids))
        if step.object_id is None and step.variable_name in self._functions:
            return step.resume(value=self._functions[step.variable_name])
        return step.resume()

    def _answer(self, step: FunctionSnapshot) -> SyncSnapshot:
        """Answer a call: at once where it is awaited, with a promise; else when the host has answered."""
        if step.is_os_function:
            return step.resume_not_handled()
        name = step.function_name
        function = self._functions.get(name)
        if function is None:
            return step.resume({"exception": NameError(f"name '{name}' is not defined")})
        if self._calls_left == 0:
            raise TooManyCalls
        self._calls_left -= 1
        try:
            given = (step.args, step.kwargs)
            args, kwargs = make_plain(given, refuse_value, bounded=True)
        except (TypeError, RecursionError) as error:
            return step.resume({"exception": TypeError(f"{name}() takes plain values only: {error}")})
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            return step.resume({"exception": TypeError(f"{name}(): {error}")})
        size = measure_weight((args, kwargs), self._most)
        while self._held and self._in_all + size > self._most:
            self._settle()
        self._held[step.call_id] = size
        self._in_all += size
        self._loop.call_soon_threadsafe(self._begin, step.call_id, name, args, kwargs)
        place = step.position
        if (place.start, place.end) in self._awaited.get(place.filename, ()):
            return step.resume({"future": ...})
        return step.resume(self._ready([step.call_id])[step.call_id])

    def _ready(self, numbers: list[int]) -> dict[int, ExternalSettledResult]:
        """The answers to these calls that are there; waits for one of them."""
        while True:
            found = {number: self._settled.pop(number) for number in numbers if number in self._settled}
            if found:
                return found
            self._settle()

    def _settle(self) -> None:
        """Wait for an answer, to whichever call."""
        message = self._answers.get()
        if message is None:
            raise RunStopped
        number, answer = message
        self._in_all -= self._held.pop(number)
        self._settled[number] = answer

    # In the loop

    def _begin(self, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self._stopped:
            call = self._call(number, name, args, kwargs)
            task = self._loop.create_task(call, context=self._context.copy())
            self._tasks.add(task)
            task.add_done_callback(self._done)

    async def _call(self, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        answer: ExternalSettledResult
        try:
            result = await self._functions[name](*args, **kwargs)
        except HostCallError as error:
            answer = {"exception": RuntimeError(make_plain(str(error), refuse_value))}
        else:
            try:
                answer = {"return_value": make_plain(result, refuse_value)}
            except (TypeError, RecursionError) as error:
                raise SandboxError(
                    f"The answer of {name} cannot be brought into the sandbox: {error}."
                ) from error
        self._answers.put((number, answer))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        raised = asyncio.CancelledError() if task.cancelled() else task.exception()
        if raised is not None and not self._stopped:
            self.raised = raised
            self.stop()
            self._broken()

    def stop(self) -> None:
        """Begin nothing any more; a thread that waits for an answer raises Stopped."""
        self._stopped = True
        self._answers.put(None)

    async def end(self) -> None:
        """Stop, and cancel the calls that nobody waits for any more."""
        self.stop()
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

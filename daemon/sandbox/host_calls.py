"""What a cell asks of the host: each call is a task, and its time is not the cell's."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from daemon.environment import Function, HostCallError
from daemon.sandbox.frames import FrameError, pack, unpack
from daemon.sandbox.values import measure_weight, refuse_value
from daemon.sandbox.work import CellTimer

AT_ONCE = 1_000
"""Most calls that are worked on at the same time; until one has ended no more are read."""


class HostCalls:
    """Answers what a cell asks, several calls at once.

    All that are open hold at most `most` characters and parts, but for one that is larger by itself. `fail`
    is called when a function fails for good.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        most: int,
        work: CellTimer,
        send: Callable[[dict[str, Any]], Awaitable[None]],
        fail: Callable[[], None],
    ) -> None:
        self.failure: BaseException | None = None
        """What a function raised that is not for the code."""
        self._functions = functions
        self._most = most
        self._work = work
        self._send = send
        self._fail = fail
        self._seen: set[int] = set()
        self._tasks: dict[asyncio.Task[None], int] = {}
        """Each with how much it holds."""

    def __len__(self) -> int:
        """How many there were so far."""
        return len(self._seen)

    async def begin(self, frame: dict[str, Any]) -> None:
        """Work on the call that this frame asks for. Raises FrameError where it asks for none."""
        match frame:
            case {"call": str(name), "id": int(number), "args": list(args), "kwargs": dict(kwargs)}:
                pass
            case _:
                raise FrameError("a call that is none")
        if name not in self._functions:
            raise FrameError("a call of a function that it was not given")
        if number in self._seen:
            raise FrameError("two calls with one number")
        self._seen.add(number)
        values = [unpack(value) for value in args]
        named = {key: unpack(value) for key, value in kwargs.items()}
        size = measure_weight((values, named), self._most)
        while self._tasks and self._is_full(size):
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        self._work.pause()
        task = asyncio.create_task(self._run(number, name, values, named))
        self._tasks[task] = size
        task.add_done_callback(self._ended)

    def _is_full(self, size: int) -> bool:
        """Is so much on its way that a call of this size has to wait?"""
        return len(self._tasks) >= AT_ONCE or sum(self._tasks.values()) + size > self._most

    async def stop(self) -> None:
        """End those that still run: nobody waits for their answers."""
        tasks = [*self._tasks]
        for task in tasks:
            task.remove_done_callback(self._ended)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, number: int, name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
        try:
            answer = await _answer(self._functions[name], args, kwargs)
        finally:
            self._work.resume()
        with suppress(ConnectionError):
            await self._send({"id": number, **answer})

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        failure = asyncio.CancelledError() if task.cancelled() else task.exception()
        if failure is not None and self.failure is None:
            self.failure = failure
            self._fail()


async def _answer(function: Function, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What the function says, or what it says against."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        return {"error": str(error), "kind": "TypeError"}
    try:
        return {"answer": pack(await function(*args, **kwargs), refuse_value)}
    except HostCallError as error:
        return {"error": str(error), "kind": "RuntimeError"}

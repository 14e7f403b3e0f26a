"""Host's side of a child that runs cells.

A child is never trusted: an invalid frame ends the child, and its cell is lost. Time spent waiting for host
calls does not count.
"""

from __future__ import annotations

import asyncio
import hmac
import inspect
import math
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from daemon.sandbox.child import NAMES, truncate_output
from daemon.sandbox.environment import (
    HELD,
    CellResult,
    FrameError,
    Function,
    HostCallError,
    SandboxError,
    SandboxLimits,
    encode,
    measure_weight,
    pack,
    prepare_crossing,
    read_frame,
    refuse_value,
    unpack,
)

BREATH = 0.02
"""Least seconds between two checks of a cell's time."""


class ChildControl(Protocol):
    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def cpu_seconds(self) -> float:
        """Return the process's CPU seconds; 0 if unknown."""

    def kill(self) -> None: ...

    async def reap(self) -> None: ...


class CellTimer:
    """Timer of a child's work on a cell; during host calls only CPU time counts."""

    def __init__(self, process: ChildControl) -> None:
        self._now = asyncio.get_running_loop().time
        self._process = process
        self._computed_before = process.cpu_seconds()
        self._seconds = 0.0
        self._since = self._now()
        self._calls = 0

    def pause(self) -> None:
        if not self._calls:
            self._seconds += self._now() - self._since
        self._calls += 1

    def resume(self) -> None:
        self._calls -= 1
        if not self._calls:
            self._since = self._now()

    def seconds(self) -> float:
        seconds = self._seconds
        if not self._calls:
            seconds += self._now() - self._since
        return max(seconds, self._process.cpu_seconds() - self._computed_before)


class CellWatchdog:
    def __init__(self, work: CellTimer, most: float, over: Callable[[], None]) -> None:
        self._work = work
        self._most = most
        self._over = over
        self._look()

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        later = asyncio.get_running_loop().call_later
        left = self._most - self._work.seconds()
        if left > 0:
            self._timer = later(max(left, BREATH), self._look)
        else:
            self._timer = later(0, self._over)


AT_ONCE = 1_000
"""Most host calls at once; no further call is read from the child."""


class HostCalls:
    """Concurrent host calls of a cell.

    Together they carry at most `most` characters and parts, except a single larger call. `fail` is called for
    any exception but HostCallError.
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
        """Exception of a function, which the cell does not see."""
        self._functions = functions
        self._most = most
        self._work = work
        self._send = send
        self._fail = fail
        self._seen: set[int] = set()
        self._tasks: dict[asyncio.Task[None], int] = {}

    def __len__(self) -> int:
        return len(self._seen)

    async def begin(self, frame: dict[str, Any]) -> None:
        """Start a call. Raises FrameError if the frame is invalid."""
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
        return len(self._tasks) >= AT_ONCE or sum(self._tasks.values()) + size > self._most

    async def stop(self) -> None:
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
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        return {"error": str(error), "kind": "TypeError"}
    try:
        return {"answer": pack(await function(*args, **kwargs), refuse_value)}
    except HostCallError as error:
        return {"error": str(error), "kind": "RuntimeError"}


START = 60.0
"""Most seconds until a child must be ready."""


HELLO = 4096
"""Most bytes of a frame before the sender is known."""


LONGEST = 1_000
"""Most characters of a variable's name or type in a result."""


MARGIN = 100
"""Characters beyond the limit of an output, for the count of what is left out."""


CELLS = 100
"""CPU limit of a child, in multiples of a cell's seconds."""


INSTEAD = "Set RLM_SANDBOX=monty."


class RemoteChildProcess:
    """Child on another machine, where only the connection can be closed."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def cpu_seconds(self) -> float:
        return 0.0

    def kill(self) -> None: ...

    async def reap(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfinedChild:
    """Confined child that has not run any cell."""

    reader: StreamReader
    writer: StreamWriter
    process: ChildControl
    bounds: SandboxLimits
    confined: str
    """Means of confinement in words."""

    def sandbox(self, functions: Mapping[str, Function]) -> ChildSandbox:
        self.writer.write(encode({"functions": [*functions]}))
        return ChildSandbox(self, functions)

    def is_alive(self) -> bool:
        return not self.reader.at_eof()

    def kill(self) -> None:
        self.process.kill()
        self.writer.transport.abort()


async def accept_child(
    reader: StreamReader,
    writer: StreamWriter,
    token: str,
    bounds: SandboxLimits,
    process: ChildControl | None = None,
) -> ConfinedChild:
    """Return the child once the token was sent and the child is confined.

    Otherwise closes the connection and raises SandboxError.
    """
    process = process or RemoteChildProcess()
    try:
        async with asyncio.timeout(START):
            confined = await _greet(reader, writer, token, bounds)
    except BaseException as error:
        process.kill()
        writer.transport.abort()
        await asyncio.shield(process.reap())
        if isinstance(error, FrameError | EOFError | OSError):
            raise SandboxError(_refusal(error)) from error
        raise
    return ConfinedChild(reader=reader, writer=writer, process=process, bounds=bounds, confined=confined)


async def _greet(reader: StreamReader, writer: StreamWriter, token: str, bounds: SandboxLimits) -> str:
    hello = await read_frame(reader, HELLO)
    if not hmac.compare_digest(str(hello.get("token")).encode(), token.encode()):
        raise SandboxError("Somebody without this sandbox's token was refused.")
    seconds = math.ceil(bounds.seconds) * CELLS
    writer.write(encode({"memory": bounds.memory, "seconds": seconds, "output": bounds.output}))
    match await read_frame(reader, HELLO):
        case {"ready": str(confined)}:
            return confined
        case {"refused": str(why)}:
            raise SandboxError(f"The cpython sandbox cannot be confined here: {why}. {INSTEAD}")
        case _:
            raise FrameError("no answer to what it was asked")


def _refusal(error: Exception) -> str:
    if isinstance(error, FrameError):
        return f"A sandbox sent {error}; it was refused."
    if isinstance(error, TimeoutError):
        return f"The cpython sandbox did not start within {START:g} s. {INSTEAD}"
    return f"The cpython sandbox ended as it started. {INSTEAD}"


class ChildSandbox:
    def __init__(self, child: ConfinedChild, functions: Mapping[str, Function]) -> None:
        self._child = child
        self._functions = functions
        self._bounds = child.bounds
        self._request = 0
        self._ended = ""
        """Reason to take no more cells; empty if there is none."""

    async def execute_code(self, code: str) -> CellResult:
        try:
            return await self._ask(execute=code)
        except SandboxError as error:
            return CellResult(error=str(error), lost=True)

    async def bind(self, **names: Any) -> None:
        done = await self._ask(bind=prepare_crossing(names, pack))
        if done.error:
            raise SandboxError(
                f"{', '.join(names)} cannot be brought into the sandbox: {done.error.strip()}."
            )

    async def close(self) -> None:
        self._end("The sandbox is closed.")
        await self._child.process.reap()

    def _end(self, why: str) -> None:
        """Kill the child and close the connection; keep the first reason."""
        self._ended = self._ended or why
        self._child.kill()

    async def _ask(self, **request: Any) -> CellResult:
        """Send a request, and answer host calls until the result comes.

        Raises SandboxError if the child is lost, and the exception of a failed function.
        """
        if self._ended:
            raise SandboxError(self._ended)
        self._request += 1
        self._child.process.resume()
        work = CellTimer(self._child.process)
        watch = CellWatchdog(work, self._bounds.seconds, self._time_out)
        calls = HostCalls(self._functions, self._bounds.memory // HELD, work, self._send, self._give_up)
        result = None
        try:
            await self._send({"id": self._request, **request})
            result = await self._listen(calls)
        except FrameError as error:
            self._end(f"The cell's process sent {error}; it was ended, and all variables are gone.")
        except (EOFError, OSError):
            self._end("The cell's process died; all variables are gone.")
        finally:
            watch.stop()
            if result is None:
                self._end("The cell was interrupted, and its sandbox closed.")
                await asyncio.shield(self._child.process.reap())
            else:
                self._child.process.pause()
            await calls.stop()
        if calls.failure is not None:
            raise calls.failure
        if result is None:
            raise SandboxError(self._ended)
        return result

    def _time_out(self) -> None:
        most = f"{self._bounds.seconds:g}"
        self._end(f"The cell worked longer than {most} seconds and was ended; all variables are gone.")

    def _give_up(self) -> None:
        self._end("A function of the host's failed, and the sandbox was closed.")

    async def _send(self, frame: dict[str, Any]) -> None:
        self._child.writer.write(encode(frame))
        await self._child.writer.drain()

    async def _listen(self, calls: HostCalls) -> CellResult:
        while True:
            frame = await read_frame(self._child.reader)
            if self._ended:
                raise EOFError(self._ended)
            if "call" in frame:
                await calls.begin(frame)
                if len(calls) > self._bounds.calls:
                    self._end(
                        f"The cell made more than {self._bounds.calls:,} calls; all variables are gone."
                    )
            elif frame.get("done") == self._request:
                return self._cell_result(frame)
            else:
                raise FrameError("what nobody has asked for")

    def _cell_result(self, frame: dict[str, Any]) -> CellResult:
        match frame:
            case {
                "stdout": str(stdout),
                "stderr": str(stderr),
                "error": str(error),
                "variables": dict(names),
            }:
                pass
            case _:
                raise FrameError("a result that is none")
        if not all(isinstance(kind, str) for kind in names.values()):
            raise FrameError("variables without a type")
        if len(names) > NAMES:
            raise FrameError("more variables than it may tell of")
        most = self._bounds.output + MARGIN
        return CellResult(
            stdout=truncate_output(stdout, most),
            stderr=truncate_output(stderr, most),
            value=unpack(frame.get("value")),
            error=truncate_output(error, most),
            variables={name[:LONGEST]: kind[:LONGEST] for name, kind in names.items()},
        )

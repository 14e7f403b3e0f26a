"""The host's side of a child that runs cells, however it is reached: a socket and a token are enough.

Nothing that comes from a child is believed: whatever is no answer of it ends it, and the cell is lost.

What a cell asks of the host: each call is a task, and its time is not the cell's.

How long a child works on a cell by itself, and its end when that is too long.
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
"""Least seconds between two looks."""


class ChildControl(Protocol):
    """What can be done to a child besides talking to it."""

    def pause(self) -> None:
        """Let it do nothing: no cell runs."""

    def resume(self) -> None:
        """Let it go on."""

    def cpu_seconds(self) -> float:
        """Seconds of CPU that it has used; 0 where that cannot be known."""

    def kill(self) -> None:
        """End it now."""

    async def reap(self) -> None:
        """Return when nothing is left of it; it was killed before."""


class CellTimer:
    """How long a child has worked on a cell by itself: time in which it waits for calls does not count.

    What it computes meanwhile does.
    """

    def __init__(self, process: ChildControl) -> None:
        self._now = asyncio.get_running_loop().time
        self._process = process
        self._computed_before = process.cpu_seconds()
        self._seconds = 0.0
        self._since = self._now()
        self._calls = 0

    def pause(self) -> None:
        """A call begins."""
        if not self._calls:
            self._seconds += self._now() - self._since
        self._calls += 1

    def resume(self) -> None:
        """A call has ended."""
        self._calls -= 1
        if not self._calls:
            self._since = self._now()

    def seconds(self) -> float:
        """What it has worked so far."""
        seconds = self._seconds
        if not self._calls:
            seconds += self._now() - self._since
        return max(seconds, self._process.cpu_seconds() - self._computed_before)


class CellWatchdog:
    """Looks at this work until it is stopped, and says so when it takes longer than `most` seconds."""

    def __init__(self, work: CellTimer, most: float, over: Callable[[], None]) -> None:
        self._work = work
        self._most = most
        self._over = over
        self._look()

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()

    def _look(self) -> None:
        later = asyncio.get_running_loop().call_later
        left = self._most - self._work.seconds()
        if left > 0:
            self._timer = later(max(left, BREATH), self._look)
        else:
            self._timer = later(0, self._over)


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


START = 60.0
"""Seconds after which a child that does not come is given up."""


HELLO = 4096
"""Most bytes of a frame of somebody of whom nothing is known yet."""


LONGEST = 1_000
"""Characters of a variable's name, and of its type's."""


MARGIN = 100
"""Characters that a text may be longer than its bound: those that say what is left out."""


CELLS = 100
"""So many times the seconds of a cell may a child compute in its life: the kernel's own bound."""


INSTEAD = "Set RLM_SANDBOX=monty."


class RemoteChildProcess:
    """A child whose process others hold: all that can be done to it is to hang up."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def cpu_seconds(self) -> float:
        return 0.0

    def kill(self) -> None: ...

    async def reap(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfinedChild:
    """A child that has said its token and is confined, and has run nothing yet."""

    reader: StreamReader
    writer: StreamWriter
    process: ChildControl
    bounds: SandboxLimits
    confined: str
    """By what it is confined, in its own words."""

    def sandbox(self, functions: Mapping[str, Function]) -> ChildSandbox:
        """Make a sandbox of it, whose cells may call these."""
        self.writer.write(encode({"functions": [*functions]}))
        return ChildSandbox(self, functions)

    def is_alive(self) -> bool:
        """Whether it has not died meanwhile."""
        return not self.reader.at_eof()

    def kill(self) -> None:
        """End it and hang up; whoever reads from it sees that at once."""
        self.process.kill()
        self.writer.transport.abort()


async def accept_child(
    reader: StreamReader,
    writer: StreamWriter,
    token: str,
    bounds: SandboxLimits,
    process: ChildControl | None = None,
) -> ConfinedChild:
    """The child at the other end, which must say this token first and confine itself.

    Raises SandboxError, and hangs up, where it does not.
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
    """Hear its token, tell it its bounds, and hear by what it is confined."""
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
    """Why nothing has come of a child."""
    if isinstance(error, FrameError):
        return f"A sandbox sent {error}; it was refused."
    if isinstance(error, TimeoutError):
        return f"The cpython sandbox did not start within {START:g} s. {INSTEAD}"
    return f"The cpython sandbox ended as it started. {INSTEAD}"


class ChildSandbox:
    """A sandbox in a child that has said its token and has confined itself."""

    def __init__(self, child: ConfinedChild, functions: Mapping[str, Function]) -> None:
        self._child = child
        self._functions = functions
        self._bounds = child.bounds
        self._request = 0
        self._ended = ""
        """Why it takes no more cells; empty while it does."""

    async def execute_code(self, code: str) -> CellResult:
        """Run this cell to its end. Raises nothing for what the code does."""
        try:
            return await self._ask(execute=code)
        except SandboxError as error:
            return CellResult(error=str(error), lost=True)

    async def bind(self, **names: Any) -> None:
        """These are variables of its namespace from now on. Raises SandboxError where a value cannot be."""
        done = await self._ask(bind=prepare_crossing(names, pack))
        if done.error:
            raise SandboxError(
                f"{', '.join(names)} cannot be brought into the sandbox: {done.error.strip()}."
            )

    async def close(self) -> None:
        """End it, within a moment, also in the midst of a cell."""
        self._end("The sandbox is closed.")
        await self._child.process.reap()

    def _end(self, why: str) -> None:
        """Kill it and hang up; whoever reads from it sees that at once. The first reason stays."""
        self._ended = self._ended or why
        self._child.kill()

    async def _ask(self, **request: Any) -> CellResult:
        """Have the child do something, and answer its calls until that is done.

        Raises SandboxError when the child is lost, and what a function raised that is not for the code.
        """
        if self._ended:
            raise SandboxError(self._ended)
        self._request += 1
        self._child.process.resume()
        work = CellTimer(self._child.process)
        watch = CellWatchdog(work, self._bounds.seconds, self._time_out)
        calls = HostCalls(self._functions, self._bounds.memory // HELD, work, self._send, self._give_up)
        execution = None
        try:
            await self._send({"id": self._request, **request})
            execution = await self._listen(calls)
        except FrameError as error:
            self._end(f"The cell's process sent {error}; it was ended, and all variables are gone.")
        except (EOFError, OSError):
            self._end("The cell's process died; all variables are gone.")
        finally:
            watch.stop()
            if execution is None:
                self._end("The cell was interrupted, and its sandbox closed.")
                await asyncio.shield(self._child.process.reap())
            else:
                self._child.process.pause()
            await calls.stop()
        if calls.failure is not None:
            raise calls.failure
        if execution is None:
            raise SandboxError(self._ended)
        return execution

    def _time_out(self) -> None:
        most = f"{self._bounds.seconds:g}"
        self._end(f"The cell worked longer than {most} seconds and was ended; all variables are gone.")

    def _give_up(self) -> None:
        self._end("A function of the host's failed, and the sandbox was closed.")

    async def _send(self, frame: dict[str, Any]) -> None:
        self._child.writer.write(encode(frame))
        await self._child.writer.drain()

    async def _listen(self, calls: HostCalls) -> CellResult:
        """Read what the child sends until it has done what it was asked."""
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
                return self._execution(frame)
            else:
                raise FrameError("what nobody has asked for")

    def _execution(self, frame: dict[str, Any]) -> CellResult:
        """What the child says of its cell; each part must have its type."""
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

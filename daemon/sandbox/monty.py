"""Default sandbox: monty, an interpreter of a Python subset, in worker processes.

Files, network and processes are out of reach. Monty's sessions block and run in threads: the asynchronous
ones can abort the process at exit.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from pydantic_monty import (
    Monty,
    MontyClassProxy,
    MontyConversionError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    OSPolicy,
    ResourceLimits,
)

from daemon.sandbox.child import CellOutput
from daemon.sandbox.environment import (
    USUAL,
    CellResult,
    Function,
    Sandbox,
    SandboxError,
    SandboxLimits,
    make_plain,
    measure_weight,
    prepare_crossing,
    refuse_value,
)
from daemon.sandbox.monty_run import MontyRun, PreparedCell, RunStopped, TooManyCalls, prepare_cell, shim_code

T = TypeVar("T")


SUSPENSIONS = 2**60
"""Unlimited number of suspensions: monty counts over all cells, the daemon for each cell."""


POLICY: OSPolicy = {"sleep": "zero", "random_start": {"seed": 0}}


OURS = "__type, __locals = type, locals"
"""Code that stores builtin functions under names that no cell overwrites."""


TYPES = "{name: __type(value).__name__ for name, value in __locals().items()}"


SEED = "import random as __random\n__random.seed(__seed)"


LARGEST = 16 * 2**20
"""Most characters and parts of a value that leaves the sandbox."""


GONE = "all variables are gone."


FILE = re.compile(r"<python-input-\d+>")


class MontyPool:
    """Pool of monty workers; an async context manager.

    An open sandbox keeps a worker (a few MB), also during host calls. If `most` are open, opening waits
    `patience` seconds, so `most` must allow for nested sandboxes.
    """

    def __init__(self, *, most: int = 256, patience: float = 30.0) -> None:
        self._most = most
        self._patience = patience
        self._free = asyncio.Semaphore(most)
        self._threads = ThreadPoolExecutor(most + 1, thread_name_prefix="monty")
        self._pool = Monty(max_processes=most)
        self._sandboxes: set[MontySandbox] = set()
        self._is_open = False

    async def __aenter__(self) -> MontyPool:
        await self.run_in_thread(self._pool.__enter__)
        self._is_open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_open = False
        for sandbox in [*self._sandboxes]:
            await sandbox.close()
        await self.run_in_thread(self._pool.__exit__, None, None, None)
        self._threads.shutdown()

    async def open_monty(self, functions: Mapping[str, Function], bounds: SandboxLimits = USUAL) -> Sandbox:
        """Open a sandbox for these functions. Raises SandboxError if too many are open."""
        if not self._is_open:
            raise SandboxError(
                "The pool of monty's workers is closed: open sandboxes within its `async with`."
            )
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError as error:
            raise SandboxError(
                f"{self._most} sandboxes are open, and none closed for {self._patience:g} seconds: "
                "let fewer be open at once, or allow more."
            ) from error
        limits: ResourceLimits = {
            "max_feed_duration_secs": bounds.seconds,
            "max_memory": bounds.memory,
            "max_suspensions": SUSPENSIONS,
        }
        session = self._pool.checkout(limits=limits, assert_message_annotations=False, os_policy=POLICY)
        try:
            await self.run_in_thread(session.__enter__)
        except asyncio.CancelledError:
            await self.release(session)
            raise
        except (MontyError, OSError) as error:
            self._free.release()
            raise SandboxError(f"A worker of monty's could not be started: {error}.") from error
        sandbox = MontySandbox(self, session, functions, bounds)
        self._sandboxes.add(sandbox)
        return sandbox

    async def release(self, session: MontySession, sandbox: MontySandbox | None = None) -> None:
        if sandbox is not None:
            self._sandboxes.discard(sandbox)
        try:
            await self.run_in_thread(session.__exit__, None, None, None)
        finally:
            self._free.release()

    def start_in_thread(self, work: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work, *args)

    async def run_in_thread(self, work: Callable[..., T], *args: Any) -> T:
        """Run work in a thread to its end, even if the caller is cancelled."""
        running = self.start_in_thread(work, *args)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise


class MontySandbox:
    def __init__(
        self, pool: MontyPool, session: MontySession, functions: Mapping[str, Function], bounds: SandboxLimits
    ) -> None:
        self._pool = pool
        self._session = session
        self._functions = functions
        self._bounds = bounds
        self._megabytes = f"{bounds.memory // 2**20:,}"
        self._worker = session.worker_pid
        self._running: tuple[MontyRun, asyncio.Future[CellResult]] | None = None
        self._ended = ""
        """Reason to take no more cells; empty if there is none."""
        self._is_handed_back = False
        self._cells = 0
        self._fed = 0
        self._files: dict[str, str] = {}
        """File names to display, by monty's file names."""
        self._awaited: dict[str, frozenset[tuple[int, int]]] = {}
        self._assigned: set[str] = set()
        self._bound: set[str] = set(functions)
        self._shims: set[str] = set()
        self._uses_random = False

    async def execute_code(self, code: str) -> CellResult:
        if self._ended:
            return CellResult(error=self._ended, lost=True)
        cell = prepare_cell(code, self._functions)
        feed = MontyRun(self._session, self._functions, self._bounds, self._awaited, self._break)
        running = self._pool.start_in_thread(self._run, feed, cell)
        self._running = feed, running
        try:
            result = await asyncio.shield(running)
        except asyncio.CancelledError:
            self._end(f"The cell was interrupted; {GONE}")
            await asyncio.wait([running])
            raise
        finally:
            self._running = None
            await feed.end()
            if self._ended or running.exception() or running.result().lost:
                self._end(self._ended or f"The cell before went over a bound; {GONE}")
                await self._hand_back()
        if feed.raised is not None:
            raise feed.raised
        return result

    async def bind(self, **names: Any) -> None:
        if self._ended:
            raise SandboxError(self._ended)
        values = prepare_crossing(names, make_plain)
        refusal = await self._pool.run_in_thread(self._bind, values)
        if refusal:
            if refusal.endswith(GONE):
                self._end(refusal)
                await self._hand_back()
            raise SandboxError(f"{', '.join(names)} cannot be brought into the sandbox: {refusal}")
        self._bound |= names.keys()
        self._assigned -= names.keys()

    async def close(self) -> None:
        running = self._running
        self._end("The sandbox is closed.")
        if running is not None:
            await asyncio.wait([running[1]])
        await self._hand_back()

    def _break(self) -> None:
        self._end("A function of the host's failed, and the sandbox was closed.")

    def _end(self, why: str) -> None:
        """Take no more cells, and stop the running one; keep the first reason."""
        lost = self._running is not None or (not self._ended and why.endswith(GONE))
        self._ended = self._ended or why
        if self._running is not None:
            self._running[0].stop()
        if lost and self._worker is not None and not self._is_handed_back:
            with suppress(ProcessLookupError):
                os.kill(self._worker, signal.SIGKILL)
            self._worker = None

    async def _hand_back(self) -> None:
        if not self._is_handed_back:
            self._is_handed_back = True
            await self._pool.release(self._session, self)

    def _run(self, feed: MontyRun, cell: PreparedCell) -> CellResult:
        value, error = None, ""
        variables: dict[str, str] = {}
        try:
            self._make_ready(cell)
            try:
                value = self._value(feed.run(cell.text))
            except (MontyRuntimeError, MontySyntaxError) as raised:
                error = self._error_text(raised)
            except RecursionError:  # raised on the host; monty itself can store the value
                error = "The cell's value is nested too deeply to leave the sandbox.\n"
            except TypeError as raised:  # a value in a set, or a key, that the host cannot hash
                value = f"<a value that cannot leave the sandbox: {raised}>"
            if not error.endswith(GONE):
                variables = self._variables()
        except TooManyCalls:
            error = f"The cell made more than {self._bounds.calls:,} calls; {GONE}"
        except (RunStopped, MontyError, RuntimeError):  # RuntimeError: the worker was already dead
            error = f"The cell's process ended, {self._why_it_ended()}; {GONE}"
        return CellResult(
            stdout=feed.stdout.text(),
            stderr=feed.stderr.text(),
            value=value,
            error=error,
            variables=variables,
            lost=error.endswith(GONE),
        )

    def _why_it_ended(self) -> str:
        if self._ended:
            return "when it was stopped"
        return f"perhaps for want of memory ({self._megabytes} MB)"

    def _bind(self, values: dict[str, Any]) -> str:
        try:
            self._ask("None", **values)
        except MontyError as error:
            if self._is_alive():
                return f"{error}."
            return f"there is no room for that; {GONE}"
        return ""

    def _is_alive(self) -> bool:
        try:
            self._ask("None")
        except (MontyError, RuntimeError):
            return False
        return True

    def _make_ready(self, cell: PreparedCell) -> None:
        """Load the cell's modules, and seed random numbers from the cell's text alone."""
        if self._cells == 0:
            self._ask(OURS)
        for module in sorted(cell.shims - self._shims):
            self._files[self._next_file()] = f"{module}.py"
            self._ask(shim_code(module))
            self._shims.add(module)
        self._uses_random = self._uses_random or "random" in cell.text
        if self._uses_random:
            self._ask(SEED, __seed=make_plain(cell.text, refuse_value))
        self._cells += 1
        self._assigned |= cell.assigned
        self._files[self._next_file()] = f"<cell {self._cells}>"
        self._awaited[self._next_file()] = cell.awaited
        self._fed += 1

    def _next_file(self) -> str:
        return f"<python-input-{self._fed}>"

    def _ask(self, code: str, **inputs: Any) -> Any:
        self._fed += 1
        return self._session.feed_run(code, inputs=inputs)

    def _error_text(self, raised: MontyRuntimeError | MontySyntaxError) -> str:
        if is_limit_error(raised):
            if isinstance(raised.exception(), TimeoutError):
                return f"The cell worked longer than {self._bounds.seconds:g} seconds and was ended; {GONE}"
            return f"The cell needed more than {self._megabytes} MB of memory and was ended; {GONE}"
        shown = CellOutput(self._bounds.output)
        shown.write(FILE.sub(lambda found: self._files.get(found[0], "<sandbox>"), raised.display()))
        return f"{shown.text()}\n"

    def _value(self, value: Any) -> Any:
        if measure_weight(value, LARGEST) > LARGEST:
            return f"<a {type(value).__name__} that is too large to leave the sandbox>"
        strange: list[Any] = []
        kept = make_plain(value, strange.append, bounded=True)
        if not strange:
            return kept
        shown = iter([self._repr(one) for one in strange])

        def repr_of(_: Any) -> str:
            return next(shown)

        return make_plain(value, repr_of)

    def _repr(self, value: Any) -> str:
        if isinstance(value, int):  # too long for Python to format
            return f"<an int of {value.bit_length()} bits>"
        try:
            return str(self._ask("repr(__value)", __value=value))
        except (MontyRuntimeError, MontyConversionError):
            if isinstance(value, MontyClassProxy):
                parts = [f"{name}={one!r}" for name, one in value.attributes.items()]
                return f"{value.name}({', '.join(parts)})"
            return repr(value)

    def _variables(self) -> dict[str, str]:
        """Return the types of variables by name; bound ones only once assigned by a cell."""
        hidden = self._bound - self._assigned
        return {
            name: kind
            for name, kind in self._ask(TYPES).items()
            if kind != "module" and name not in hidden and not name.startswith("__")
        }


def is_limit_error(error: MontyError) -> bool:
    """True if code ended at a limit of monty."""
    raised = error.exception()
    return isinstance(raised, TimeoutError | MemoryError) and "limit exceeded: " in str(raised)

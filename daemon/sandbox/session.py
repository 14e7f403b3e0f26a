"""Sandboxes of a daemon: monty with a move to CPython, CPython children, or the owner's class.

A move runs imports and definitions of earlier cells again, then binds values; lost values are named. A child
has the standard library, no files, no network; it needs x86_64 Linux with seccomp. Nothing starts before the
first reading.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import logging
import os
import platform
import secrets
import signal
import socket
import sys
import time
from asyncio.subprocess import DEVNULL
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Protocol, Self, cast, get_args

import daemon
from daemon.engine.exceptions import recorded_name
from daemon.sandbox.environment import (
    USUAL,
    CellResult,
    Function,
    HostCallError,
    Sandbox,
    SandboxError,
    SandboxLimits,
)
from daemon.sandbox.host import INSTEAD, ChildSandbox, ConfinedChild, accept_child
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.monty_gaps import LACKS, functions_that_call, needs_cpython
from daemon.sandbox.monty_run import UNREADABLE, assigned_names
from daemon.settings.home import LOAD_ERRORS, unloadable_reason
from daemon.settings.parse import ConfigError

log = logging.getLogger(__name__)

Kind = Literal["auto", "monty", "cpython"]


Opener = Callable[[Mapping[str, Function], SandboxLimits], Awaitable[Sandbox]]


PLAIN = """
def __is_plain(value):
    kind = type(value).__name__
    if kind in ("list", "tuple", "set"):
        return all([__is_plain(one) for one in value])
    if kind == "dict":
        return all([__is_plain(one) for one in value]) and all([__is_plain(one) for one in value.values()])
    return kind in ("NoneType", "bool", "int", "float", "str", "bytes", "date", "datetime")
"""
"""Code of a function that tells plain values, for a session in monty."""


REMADE = {
    "Counter": ("dict({0})", "__import__('collections').Counter({0})"),
    "Decimal": ("str({0})", "__import__('decimal').Decimal({0})"),
    "Pattern": ("({0}.pattern, {0}.flags)", "__import__('re').compile(*{0})"),
    "defaultdict": (
        "(repr({0})[:40].split(chr(39))[1], dict({0}))",
        "__import__('collections').defaultdict({{one.__name__: one for one in "
        "(bool, dict, float, int, list, set, str, tuple)}}[{0}[0]], {0}[1])",
    ),
    "deque": ("list({0})", "__import__('collections').deque({0})"),
    "frozenset": ("set({0})", "frozenset({0})"),
    "timedelta": ("({0}.days, {0}.seconds, {0}.microseconds)", "__import__('datetime').timedelta(*{0})"),
}
"""Expressions that make a value plain and that restore it, by type."""


CARRIED = "__carried"
"""Variable in the new sandbox that holds the value being moved."""


UNCHANGING = (str, int, float, bytes, NoneType)
"""Types of bound values that no cell can have changed."""


async def open_session(
    kind: Kind,
    functions: Mapping[str, Function],
    bounds: SandboxLimits = USUAL,
    *,
    monty: Opener,
    cpython: Opener | None,
) -> Sandbox:
    """Open a sandbox of this kind. Raises SandboxError if `cpython` is needed but None."""
    if kind == "cpython":
        if cpython is None:
            raise SandboxError("There is no cpython sandbox on this machine: use monty.")
        return await cpython(functions, bounds)
    session = MovingSandbox(functions, bounds, cpython if kind == "auto" else None)
    await session.begin(monty)
    return session


class MovingSandbox:
    """Sandbox that may move once from monty to CPython; `begin` comes before use."""

    def __init__(
        self, functions: Mapping[str, Function], bounds: SandboxLimits, cpython: Opener | None
    ) -> None:
        self._bounds = bounds
        self._cpython = cpython
        self._functions = {name: self._guarded(function) for name, function in functions.items()}
        self._sandbox: Sandbox
        self._is_in_monty = True
        self._is_moving = False
        self._cells: list[str] = []
        self._reaching = set(functions)
        """Names of functions that call the host, given or defined in cells."""
        self._bound: dict[str, Any] = {}
        self._variables: Mapping[str, str] = {}

    async def begin(self, monty: Opener) -> None:
        self._sandbox = await monty(self._functions, self._bounds)

    def _guarded(self, function: Function) -> Function:
        """Wrap a function so that calls fail during a move, when definitions run again."""

        @wraps(function)
        async def call(*args: Any, **kwargs: Any) -> Any:
            if self._is_moving:
                raise HostCallError("Nothing is asked again while the session moves.")
            return await function(*args, **kwargs)

        return call

    async def execute_code(self, code: str) -> CellResult:
        try:
            note = await self._move_if_needed(code)
        except SandboxError as error:
            return CellResult(error=f"{error}\n", variables=self._variables)
        result = await self._sandbox.execute_code(code)
        if self._is_in_monty:
            self._cells.append(code)
            self._reaching |= functions_that_call(code, self._reaching)
        self._variables = result.variables
        return replace(result, stderr=note + result.stderr)

    async def bind(self, **names: Any) -> None:
        await self._sandbox.bind(**names)
        self._bound |= names
        self._variables = {name: kind for name, kind in self._variables.items() if name not in names}

    async def close(self) -> None:
        await self._sandbox.close()

    async def _move_if_needed(self, code: str) -> str:
        """Move to CPython if the code needs it; return a note on lost variables. Raises SandboxError."""
        if not self._is_in_monty:
            return ""
        missing = needs_cpython(code, self._reaching, self._variables)
        if not missing:
            return ""
        lost = await self._move(missing)
        if not lost:
            return ""
        names = ", ".join(f"{name} ({kind})" for name, kind in lost.items())
        return f"The session moved to CPython for {missing}, and could not carry over: {names}.\n"

    async def _move(self, missing: str) -> dict[str, str]:
        needs = (
            f"This cell needs {missing}, which this sandbox cannot do: nothing of it was run. "
            f"It is Python without {LACKS}."
        )
        if self._cpython is None:
            raise SandboxError(needs)
        try:
            target = await self._cpython(self._functions, self._bounds)
        except SandboxError as error:
            raise SandboxError(f"{needs} {error}") from error
        self._is_moving = True
        try:
            lost = await self._carry_variables(target)
        except BaseException:
            await target.close()
            await self._sandbox.close()
            raise
        finally:
            self._is_moving = False
        await self._sandbox.close()
        self._sandbox = target
        self._is_in_monty = False
        return lost

    async def _carry_variables(self, target: Sandbox) -> dict[str, str]:
        found = find_definitions(self._cells)
        kept = {name: code for name, code in found.items() if is_import(code) or name in self._variables}
        late = await run_statements(target, kept.values())
        await self._sandbox.execute_code(PLAIN)
        for name, original in self._bound.items():
            if name not in self._variables:
                await target.bind(**{name: await self._present_value(name, original)})
        lost: dict[str, str] = {}
        for name, kind in self._variables.items():
            is_there = name in kept or await self._carry_variable(name, kind, target)
            if not is_there:
                lost[name] = kind
        await target.execute_code(f"{CARRIED} = None")
        failed = await run_statements(target, late)
        for name, code in kept.items():
            if code in failed and name in self._variables:
                lost[name] = self._variables[name]
        return lost

    async def _carry_variable(self, name: str, kind: str, target: Sandbox) -> bool:
        read, made = REMADE.get(kind, ("{0}", "{0}"))
        is_there, value = await self._read(read.format(name))
        if not is_there:
            return False
        try:
            await target.bind(**{CARRIED: value})
        except SandboxError:
            return False
        return not (await target.execute_code(f"{name} = {made.format(CARRIED)}")).error

    async def _present_value(self, name: str, original: Any) -> Any:
        if isinstance(original, UNCHANGING):
            return original
        is_there, value = await self._read(name)
        return value if is_there else original

    async def _read(self, expression: str) -> tuple[bool, Any]:
        """Return (True, value) if the expression is plain, otherwise (False, None)."""
        result = await self._sandbox.execute_code(f"(__is_plain({expression}), {expression})")
        match result.value:
            case (True, value) if not result.error:
                return True, value
        return False, None


async def run_statements(target: Sandbox, cells: Iterable[str]) -> list[str]:
    """Run statements one by one; return those that failed."""
    return [code for code in cells if (await target.execute_code(code)).error]


def find_definitions(cells: Iterable[str]) -> dict[str, str]:
    """Return the newest imports and definitions by name, in order."""
    found: dict[str, str] = {}
    for code in cells:
        with suppress(*UNREADABLE):  # monty rejected this cell, too
            for node in ast.parse(code).body:
                new = dict(parse_imports(node))
                name = defined_name(node)
                if name:
                    new = {name: ast.unparse(node)}
                for old in new or assigned_names(node):
                    found.pop(old, None)
                found |= new
    return found


def parse_imports(node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for one in node.names:
            yield one.asname or one.name, ast.unparse(ast.Import([one]))
    elif isinstance(node, ast.ImportFrom):
        for one in node.names:
            yield one.asname or one.name, ast.unparse(ast.ImportFrom(node.module, [one], node.level))


def defined_name(node: ast.stmt) -> str:
    """Return the name of the function or class that a statement defines; empty without one."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
            return name
    return ""


def is_import(code: str) -> bool:
    return code.startswith(("import ", "from "))


BOOT = f"import sys; sys.path.insert(0, sys.argv[1]); from {__package__}.child import main; main(sys.argv[2])"


FLAGS = ("-P", "-s", "-S", "-X", "utf8")
"""Flags of Python: like -I, but PYTHONHASHSEED is obeyed."""


ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC"}
"""Whole environment of a child, fixed so that cells are repeatable."""


BUFFER = 2**20
"""Most bytes read ahead from a child."""


ROOT = Path(daemon.__file__).parent.parent


class ChildProcess:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._is_paused = False

    def pause(self) -> None:
        self._is_paused = True
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._signal(signal.SIGCONT)

    def cpu_seconds(self) -> float:
        clock = (~self._process.pid << 3) | 2  # as documented for clock_getcpuclockid
        with suppress(OSError):
            return time.clock_gettime(clock)
        return 0.0

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    async def reap(self) -> None:
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)


@contextmanager
def pipe_with_word(word: str) -> Iterator[int]:
    reading, writing = os.pipe()
    try:
        os.write(writing, f"{word}\n".encode())
        os.close(writing)
        yield reading
    finally:
        os.close(reading)


async def start_child(bounds: SandboxLimits) -> ConfinedChild:
    """Start a confined child. Raises SandboxError."""
    if sys.platform != "linux":
        raise SandboxError(f"The cpython sandbox needs x86_64 Linux, and this is {sys.platform}. {INSTEAD}")
    ours, theirs = socket.socketpair()
    token = secrets.token_hex()
    with theirs, pipe_with_word(token) as standard_input:
        reader, writer = await asyncio.open_connection(sock=ours, limit=BUFFER)
        try:
            process = await asyncio.create_subprocess_exec(
                *child_command(f"fd:{theirs.fileno()}"),
                stdin=standard_input,
                stdout=DEVNULL,
                stderr=DEVNULL,
                env=ENVIRONMENT,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            writer.transport.abort()
            raise SandboxError(f"The cpython sandbox cannot be started: {error}. {INSTEAD}") from error
    return await accept_child(reader, writer, token, bounds, ChildProcess(process))


def child_command(address: str) -> list[str]:
    return [sys.executable, *FLAGS, "-c", BOOT, str(ROOT), address]


async def open_cpython(functions: Mapping[str, Function], bounds: SandboxLimits = USUAL) -> ChildSandbox:
    """Open a sandbox in a new child. Raises SandboxError, with a remedy."""
    child = await start_child(bounds)
    return child.sandbox(functions)


async def describe_confinement() -> str:
    """Describe a child's confinement, like "seccomp and Landlock ABI 7". Raises SandboxError if there is
    none.
    """
    child = await start_child(USUAL)
    child.kill()
    await child.process.reap()
    return child.confined


class SpareChildren:
    """Stock of one started child, so that sandboxes open fast.

    At most `most` sandboxes are open: each takes 20 MB and the memory of its values.
    """

    def __init__(self, bounds: SandboxLimits = USUAL, *, most: int = 64) -> None:
        self._bounds = bounds
        self._most = most
        self._open: list[ConfinedChild] = []
        self._opening = 0
        self._starting: deque[asyncio.Task[ConfinedChild]] = deque()

    async def __aenter__(self) -> SpareChildren:
        self._fill()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._starting:
            task.cancel()
        for child in await asyncio.gather(*self._starting, return_exceptions=True):
            if isinstance(child, ConfinedChild):
                child.kill()
                await child.process.reap()

    async def open(self, functions: Mapping[str, Function]) -> ChildSandbox:
        """Open a sandbox in the spare child. Raises SandboxError, also if too many are open."""
        self._open = [child for child in self._open if not child.writer.is_closing()]
        if len(self._open) + self._opening >= self._most:
            raise SandboxError(f"{self._most} CPython sandboxes are open, as many as may be at once.")
        self._opening += 1
        try:
            child = await self._take_live_child()
        finally:
            self._opening -= 1
        self._open.append(child)
        self._fill()
        return child.sandbox(functions)

    async def wait_until_ready(self) -> None:
        await asyncio.wait([*self._starting])

    async def _take_live_child(self) -> ConfinedChild:
        while self._starting:
            task = self._starting.popleft()
            try:
                child = await asyncio.shield(task)
            except asyncio.CancelledError:
                self._starting.append(task)
                raise
            except SandboxError:
                continue  # a new start would report a permanent cause
            if child.is_alive():
                return child
            child.kill()
            await child.process.reap()
        return await start_child(self._bounds)

    def _fill(self) -> None:
        if not self._starting:
            self._starting.append(asyncio.create_task(start_child(self._bounds)))


METHODS = ("open", "execute_code", "bind", "close")
"""Asynchronous methods that an owner's class must have; `open` is a class method."""


NEEDED = (
    "Write auto, monty or cpython, or package.module.Class for a class of your own with the asynchronous "
    "methods open (a class method), execute_code, bind and close: examples/sandbox_container.py is one."
)


class OwnerSandboxClass(Protocol):
    def open(self, functions: Mapping[str, Function], bounds: SandboxLimits) -> Awaitable[Sandbox]: ...


def load_sandbox_class(name: str) -> OwnerSandboxClass:
    """Load `package.module.Class` or `package.module:Class`. Raises ConfigError for an unusable class."""
    module, _, path = name.replace(":", ".").rpartition(".")
    if ":" in name:
        module, _, path = name.partition(":")
    found: object = _module(name, module)
    for part in path.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"RLM_SANDBOX={name}: {module} is there, but has no {part} in it. {NEEDED}")
        found = getattr(found, part)
    if not inspect.isclass(found):
        raise ConfigError(f"RLM_SANDBOX={name} is no class but {_kind(found)}. {NEEDED}")
    wrong = [method for method in METHODS if not inspect.iscoroutinefunction(getattr(found, method, None))]
    if not inspect.ismethod(getattr(found, "open", None)) and "open" not in wrong:
        wrong.insert(0, "open as a class method")
    if wrong:
        raise ConfigError(f"RLM_SANDBOX={name} is a class without async {', '.join(wrong)}. {NEEDED}")
    return cast(OwnerSandboxClass, found)


def _module(name: str, module: str) -> object:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise ConfigError(f"RLM_SANDBOX={name}: there is no module {error.name}. {NEEDED}") from error
        raise ConfigError(f"RLM_SANDBOX={name}: {error.name} is not installed, which it needs.") from error
    except LOAD_ERRORS as error:
        file = Path(f"{module.replace('.', '/')}.py").absolute()
        raise ConfigError(
            f"RLM_SANDBOX={name}: {module}: {unloadable_reason(error, file)}. Mend it."
        ) from error


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


async def open_owner_sandbox(
    name: str, made: OwnerSandboxClass, functions: Mapping[str, Function], bounds: SandboxLimits
) -> Sandbox:
    """Open a sandbox of the owner's class; any exception becomes SandboxError."""
    try:
        return OwnerSandbox(name, await made.open(functions, bounds))
    except LOAD_ERRORS as error:
        log.exception("The sandbox %s could not be opened.", name)
        raise SandboxError(
            f"{name} could not be opened ({recorded_name(error)}): the log says why."
        ) from error


class OwnerSandbox:
    """Sandbox of the owner's class; its exceptions end the sandbox, but not the reading."""

    def __init__(self, name: str, sandbox: Sandbox) -> None:
        self._name = name
        self._sandbox = sandbox

    async def execute_code(self, code: str) -> CellResult:
        try:
            result: object = await self._sandbox.execute_code(code)
        except LOAD_ERRORS as error:
            log.exception("The sandbox %s failed in a cell.", self._name)
            return self._unusable_result(f"failed ({recorded_name(error)}): the log says why.")
        if not isinstance(result, CellResult):
            log.error("The sandbox %s returned %s, not a CellResult.", self._name, _kind(result))
            return self._unusable_result(f"returned {_kind(result)} where an Execution belongs.")
        return result

    def _unusable_result(self, why: str) -> CellResult:
        return CellResult(error=f"{self._name} {why}", lost=True)

    async def bind(self, **names: Any) -> None:
        """Set variables; any exception becomes SandboxError."""
        try:
            await self._sandbox.bind(**names)
        except LOAD_ERRORS as error:
            log.exception("Could not set variables in the sandbox %s.", self._name)
            raise SandboxError(
                f"{self._name} takes no values ({recorded_name(error)}): the log says why."
            ) from error

    async def close(self) -> None:
        try:
            await self._sandbox.close()
        except LOAD_ERRORS:
            log.exception("The sandbox %s could not be closed.", self._name)


class SandboxFactory:
    """Factory of sandboxes, an async context manager. Raises ConfigError for an unusable class."""

    def __init__(self, kind: Kind | str, bounds: SandboxLimits = USUAL) -> None:
        self._kind = kind
        self._own = None if kind in get_args(Kind) else load_sandbox_class(kind)
        self._bounds = bounds
        self._cpython: Opener | None = self._child if can_confine() else None
        self._open = AsyncExitStack()
        self._pool: MontyPool | None = None
        self._spares: SpareChildren | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def open(self, functions: Mapping[str, Function]) -> Sandbox:
        if self._own is not None:
            return await open_owner_sandbox(self._kind, self._own, functions, self._bounds)
        return await open_session(
            cast(Kind, self._kind), functions, self._bounds, monty=self._monty, cpython=self._cpython
        )

    async def _monty(self, functions: Mapping[str, Function], bounds: SandboxLimits) -> Sandbox:
        async with self._starting:
            if self._pool is None:
                self._pool = await self._open.enter_async_context(MontyPool())
        return await self._pool.open_monty(functions, bounds)

    async def _child(self, functions: Mapping[str, Function], bounds: SandboxLimits) -> Sandbox:
        """Open a child, and keep a spare one: a start takes 0.1 s."""
        async with self._starting:
            if self._spares is None:
                self._spares = await self._open.enter_async_context(SpareChildren(bounds))
        return await self._spares.open(functions)


def can_confine() -> bool:
    """True if the platform allows confined children; only the start of one proves it."""
    return platform.system() == "Linux" and platform.machine() == "x86_64"

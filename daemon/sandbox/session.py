"""A sandbox that begins in monty, and moves to CPython, for good, when a cell needs more than monty has.

On the move the imports and definitions of earlier cells are run again, nothing else of them; then the values
are bound. What cannot be carried over is told by name.
"""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from types import NoneType
from typing import Any, Literal

from daemon.environment import (
    USUAL,
    CellResult,
    Function,
    HostCallError,
    Sandbox,
    SandboxError,
    SandboxLimits,
)
from daemon.sandbox.cell import UNREADABLE, assigned_names
from daemon.sandbox.subset import LACKS
from daemon.sandbox.syntax import functions_that_call, needs_cpython

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
"""How what is no plain value is carried as one, and made again, by its type."""
CARRIED = "__carried"
UNCHANGING = (str, int, float, bytes, NoneType)


async def open_session(
    kind: Kind,
    functions: Mapping[str, Function],
    bounds: SandboxLimits = USUAL,
    *,
    monty: Opener,
    cpython: Opener | None,
) -> Sandbox:
    """Open a sandbox of this kind. `cpython` is None where this machine has none.

    Raises SandboxError, also for the kind `cpython` where there is none.
    """
    if kind == "cpython":
        if cpython is None:
            raise SandboxError("There is no cpython sandbox on this machine: use monty.")
        return await cpython(functions, bounds)
    session = MovingSandbox(functions, bounds, cpython if kind == "auto" else None)
    await session.begin(monty)
    return session


class MovingSandbox:
    """A sandbox that may move once. Call `begin` first."""

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
        """Names of functions that, when called, call the host."""
        self._bound: dict[str, Any] = {}
        self._variables: Mapping[str, str] = {}

    async def begin(self, monty: Opener) -> None:
        """Open a sandbox in monty."""
        self._sandbox = await monty(self._functions, self._bounds)

    def _guarded(self, function: Function) -> Function:
        """The function; on the move, when definitions are run again, it is not called again."""

        @wraps(function)
        async def call(*args: Any, **kwargs: Any) -> Any:
            if self._is_moving:
                raise HostCallError("Nothing is asked again while the session moves.")
            return await function(*args, **kwargs)

        return call

    async def execute_code(self, code: str) -> CellResult:
        """Run this cell to its end. Raises nothing for what the code does."""
        try:
            told = await self._move_if_needed(code)
        except SandboxError as error:
            return CellResult(error=f"{error}\n", variables=self._variables)
        execution = await self._sandbox.execute_code(code)
        if self._is_in_monty:
            self._cells.append(code)
            self._reaching |= functions_that_call(code, self._reaching)
        self._variables = execution.variables
        return replace(execution, stderr=told + execution.stderr)

    async def bind(self, **names: Any) -> None:
        """These are variables of its namespace from now on. Raises SandboxError where a value cannot be."""
        await self._sandbox.bind(**names)
        self._bound |= names
        self._variables = {name: kind for name, kind in self._variables.items() if name not in names}

    async def close(self) -> None:
        """End it, within a moment, also in the midst of a cell."""
        await self._sandbox.close()

    async def _move_if_needed(self, code: str) -> str:
        """Go on in CPython where this cell needs it; returns what could not be carried over, in words.

        Raises SandboxError where that cannot be done.
        """
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
        """Go on in CPython; returns what could not be carried over, with its type. Raises SandboxError."""
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
            lost = await self._carry(target)
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

    async def _carry(self, target: Sandbox) -> dict[str, str]:
        """Bring all that can be over there; returns what cannot, with its type."""
        found = find_definitions(self._cells)
        kept = {name: code for name, code in found.items() if is_import(code) or name in self._variables}
        late = await run_statements(target, kept.values())
        await self._sandbox.execute_code(PLAIN)
        for name, original in self._bound.items():
            if name not in self._variables:
                await target.bind(**{name: await self._now(name, original)})
        lost: dict[str, str] = {}
        for name, kind in self._variables.items():
            is_there = name in kept or await self._bring(name, kind, target)
            if not is_there:
                lost[name] = kind
        await target.execute_code(f"{CARRIED} = None")
        failed = await run_statements(target, late)
        for name, code in kept.items():
            if code in failed and name in self._variables:
                lost[name] = self._variables[name]
        return lost

    async def _bring(self, name: str, kind: str, target: Sandbox) -> bool:
        """Carry over one variable; False where that is impossible."""
        read, made = REMADE.get(kind, ("{0}", "{0}"))
        is_there, value = await self._read(read.format(name))
        if not is_there:
            return False
        try:
            await target.bind(**{CARRIED: value})
        except SandboxError:
            return False
        return not (await target.execute_code(f"{name} = {made.format(CARRIED)}")).error

    async def _now(self, name: str, original: Any) -> Any:
        """What was bound, as it is now: cells may have put something into it."""
        if isinstance(original, UNCHANGING):
            return original
        is_there, value = await self._read(name)
        return value if is_there else original

    async def _read(self, expression: str) -> tuple[bool, Any]:
        """Whether this is a plain value where we come from, and which."""
        execution = await self._sandbox.execute_code(f"(__is_plain({expression}), {expression})")
        match execution.value:
            case (True, value) if not execution.error:
                return True, value
        return False, None


async def run_statements(target: Sandbox, cells: Iterable[str]) -> list[str]:
    """Run these; returns those that failed."""
    return [code for code in cells if (await target.execute_code(code)).error]


def find_definitions(cells: Iterable[str]) -> dict[str, str]:
    """Imports and definitions of these cells by name, in order: each as it was last."""
    found: dict[str, str] = {}
    for code in cells:
        with suppress(*UNREADABLE):  # monty did not run it either
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
    """What this statement imports, each by its name and with a statement of its own."""
    if isinstance(node, ast.Import):
        for one in node.names:
            yield one.asname or one.name, ast.unparse(ast.Import([one]))
    elif isinstance(node, ast.ImportFrom):
        for one in node.names:
            yield one.asname or one.name, ast.unparse(ast.ImportFrom(node.module, [one], node.level))


def defined_name(node: ast.stmt) -> str:
    """The name of a function or class that this statement defines; empty for any other."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
            return name
    return ""


def is_import(code: str) -> bool:
    """Whether this statement is an import."""
    return code.startswith(("import ", "from "))

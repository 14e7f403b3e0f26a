"""Preparation of a cell for monty, and the run of a cell in a session.

Calls of monty block, so they run in a thread; host functions run in the event loop and answer through a
queue.
"""

from __future__ import annotations

import ast
import asyncio
import contextvars
import inspect
import queue
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
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

from daemon.sandbox.child import CellOutput
from daemon.sandbox.environment import (
    HELD,
    Function,
    HostCallError,
    SandboxError,
    SandboxLimits,
    make_plain,
    measure_weight,
    refuse_value,
)

SHIMMED = {
    "statistics": (
        "StatisticsError fmean geometric_mean harmonic_mean mean median median_high median_low mode "
        "multimode pstdev pvariance quantiles stdev variance"
    ),
    "string": (
        "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable "
        "punctuation whitespace"
    ),
    "textwrap": "dedent fill indent shorten wrap",
}


Awaited = Mapping[str, Collection[tuple[int, int]]]
"""Byte spans of host calls that a cell awaits, by monty's file name."""


class RunStopped(Exception):
    """Signal to the thread that the event loop stopped the run."""

    recorded_name = "Stopped"


class TooManyCalls(Exception):
    recorded_name = "TooManyCalls"


class MontyRun:
    """Run of a cell's code in a session; `broken` is called when a host function fails."""

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
        """Answers that arrived before they were awaited; used by the thread only."""
        self._held: dict[int, int] = {}
        """Sizes of open calls; used by the thread only."""
        self._in_all = 0

    # Methods for the thread

    def run(self, code: str) -> Any:
        """Run the code; return its value from monty. Raises MontyError, RunStopped, TooManyCalls."""
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
        """Answer a host call: with a future if the cell awaits the call, otherwise with the result."""
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
        while True:
            found = {number: self._settled.pop(number) for number in numbers if number in self._settled}
            if found:
                return found
            self._settle()

    def _settle(self) -> None:
        message = self._answers.get()
        if message is None:
            raise RunStopped
        number, answer = message
        self._in_all -= self._held.pop(number)
        self._settled[number] = answer

    # Methods for the event loop

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
        """Start no more host calls; a thread that waits raises RunStopped."""
        self._stopped = True
        self._answers.put(None)

    async def end(self) -> None:
        self.stop()
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


SHIMS = Path(__file__).parent / "shims"


CONTAINERS = (
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.Dict,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


LAYOUT = (ast.Starred, ast.keyword, ast.NamedExpr)


UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Exceptions of the parser for code that is invalid or too deeply nested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCell:
    """Cell for monty, with byte spans of `awaited` host calls, names it may assign, and imported `shims`."""

    text: str
    awaited: frozenset[tuple[int, int]] = frozenset()
    assigned: frozenset[str] = frozenset()
    shims: frozenset[str] = frozenset()


def prepare_cell(code: str, functions: Collection[str]) -> PreparedCell:
    text = code.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = ast.parse(text)
    except UNREADABLE:
        return PreparedCell(text=text)
    changes = [*shim_import_changes(tree)]
    shims = set[str]()
    for _, _, modules in changes:
        shims.update(modules)
    if changes:
        text = apply_changes(text, changes)
        tree = ast.parse(text)
    calls = list[tuple[int, int]]()
    if "await" in text or "gather" in text:
        calls = AwaitedCalls(tree).awaited_spans(functions, line_offsets(text))
    return PreparedCell(
        text=text,
        awaited=frozenset(calls),
        assigned=frozenset(assigned_names(tree)),
        shims=frozenset(shims),
    )


def assigned_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield name
            case ast.alias(name=name, asname=given):
                yield given or name.split(".")[0]


Change = tuple[ast.stmt, str, list[str]]
"""Import statement, its replacement, and the shims that the replacement needs."""


def shim_import_changes(tree: ast.AST) -> Iterator[Change]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            ours = [one.name for one in node.names if one.name in SHIMMED]
            if ours:
                yield node, "; ".join(map(import_statement, node.names)), ours
        elif isinstance(node, ast.ImportFrom) and node.module in SHIMMED and not node.level:
            parts = [
                f"{one.asname or one.name} = {monty_module_name(node.module)}.{one.name}"
                for one in node.names
            ]
            yield node, "; ".join(parts), [node.module]


def import_statement(one: ast.alias) -> str:
    if one.name in SHIMMED:
        return f"{one.asname or one.name} = {monty_module_name(one.name)}"
    return ast.unparse(ast.Import([one]))


def monty_module_name(module: str) -> str:
    return f"__shim_{module}"


def apply_changes(text: str, changes: list[Change]) -> str:
    """Replace the statements in a text; each line keeps its number."""
    raw = text.encode()
    at = line_offsets(text)
    for node, new, _ in sorted(changes, key=start_position, reverse=True):
        start, end = byte_span(node, at)
        lines = "\n" * ((node.end_lineno or node.lineno) - node.lineno)
        if lines:  # in brackets, since code may follow; an assertion leaves no value
            new = f"{new}; assert ({lines}True)"
        raw = raw[:start] + new.encode() + raw[end:]
    return raw.decode()


def start_position(change: Change) -> tuple[int, int]:
    return change[0].lineno, change[0].col_offset


def line_offsets(text: str) -> list[int]:
    found = [0]
    for line in text.encode().split(b"\n"):
        found.append(found[-1] + len(line) + 1)
    return found


def byte_span(node: ast.stmt | ast.expr, at: list[int]) -> tuple[int, int]:
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return at[node.lineno - 1] + node.col_offset, at[end_line - 1] + end_column


def shim_code(module: str) -> str:
    source = (SHIMS / f"{module}.py").read_text(encoding="utf-8")
    _, _, code = source.partition("from __future__ import annotations\n")
    body = indent(code, "    ")
    names = "\n".join(f"    made.{name} = {name}" for name in SHIMMED[module].split())
    return (
        f"def __make():\n    class module:\n        pass\n{body}\n"
        f"    made = module()\n{names}\n    return made\n"
        f"{monty_module_name(module)} = __make()\n"
    )


class AwaitedCalls:
    def __init__(self, tree: ast.Module) -> None:
        self._nodes = [*ast.walk(tree)]
        self._parents: dict[ast.AST, ast.AST] = {}
        self._later = set[str]()
        self._gathers = False
        for node in self._nodes:
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
            if is_awaiting(node):
                self._later |= names_used(node)
            if last_name(node) == "gather":
                self._gathers = True

    def awaited_spans(self, functions: Collection[str], at: list[int]) -> list[tuple[int, int]]:
        """Return byte spans of host calls that the cell awaits, directly or in a gather."""
        found = []
        for node in self._nodes:
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in functions and self._is_awaited(node):
                    found.append(byte_span(node, at))
        return found

    def _is_awaited(self, call: ast.Call) -> bool:
        held = False
        above = self._parents.get(call)
        while above is not None:
            if is_awaiting(above):
                return True
            if isinstance(above, ast.Call):
                return self._gathers and isinstance(above.func, ast.Attribute) and above.func.attr == "append"
            if isinstance(above, ast.Assign):
                later = any(self._later & names_used(target) for target in above.targets)
                return later or (self._gathers and held)
            if isinstance(above, CONTAINERS):
                held = True
            elif not isinstance(above, LAYOUT):
                return False
            above = self._parents.get(above)
        return False


def is_awaiting(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) == "gather"
    return isinstance(node, ast.Await)


def names_used(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def last_name(node: ast.AST) -> str:
    """Return the last name of a dotted expression; empty for other nodes."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""

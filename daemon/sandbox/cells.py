"""Cells in a child: one namespace for all of them, what each prints, its value, its traceback.

Imports nothing but the standard library and its neighbour.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import linecache
import os
import random
import sys
import threading
import traceback
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from daemon.sandbox.frames import pack

NAMES = 1_000
"""Most variables that are told of."""
OURS = f"{Path(__file__).parent}{os.sep}"
"""Where frames of a traceback stand that no cell has written."""


class CellOutput(io.TextIOBase):
    """What is printed: the first `limit` characters, and how many more there were."""

    def __init__(self, limit: int) -> None:
        self._room = limit
        self._parts: list[str] = []
        self._left_out = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        kept = text[: self._room]
        if kept:
            self._parts.append(kept)
            self._room -= len(kept)
        self._left_out += len(text) - len(kept)
        return len(text)

    def text(self) -> str:
        """All that was kept, with a last line of what was not."""
        return with_omitted_count("".join(self._parts), self._left_out)


def truncate_output(text: str, limit: int) -> str:
    """The first characters of a text, with the count of those left out."""
    return with_omitted_count(text[:limit], len(text) - limit)


def with_omitted_count(text: str, left_out: int) -> str:
    """The text, with a last line that says how many characters were left out, if any."""
    if left_out <= 0:
        return text
    return f"{text}\n[{left_out:,} more characters]\n"


class CellLoop(asyncio.BaseEventLoop):
    """An event loop that needs no descriptor: it waits for times and for threads, there is nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._stirred = threading.Event()
        self._selector = self

    def select(self, timeout: float | None) -> list[Any]:
        """What a selector does, without files to look at."""
        self._stirred.wait(timeout)
        self._stirred.clear()
        return []

    def _process_events(self, _: list[Any]) -> None: ...

    def _write_to_self(self) -> None:
        self._stirred.set()


class CellPolicy(asyncio.DefaultEventLoopPolicy):
    """`asyncio.run` in a cell, too, makes such a loop."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return CellLoop()


class ErrorCapture:
    """Keeps whatever is raised in its block: what a cell raises is a result."""

    error: BaseException | None = None

    def __enter__(self) -> ErrorCapture:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        self.error = error
        return True


class CellRunner:
    """Runs one cell after the other in the same namespace."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._count = 0
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self._names = module.__dict__
        self._given: dict[str, Any] = {}
        asyncio.set_event_loop_policy(CellPolicy())
        self._loop = CellLoop()
        sys.stdin = io.StringIO()
        sys.stdout = sys.stderr = CellOutput(0)

    def bind(self, names: Mapping[str, Any]) -> None:
        """These are variables from now on, and none that a cell has assigned."""
        self._names.update(names)
        self._given.update(names)

    def execute(self, code: str) -> dict[str, Any]:
        """Run this cell; returns stdout, stderr, value, error and variables, ready to be sent."""
        self._count += 1
        file = f"<cell {self._count}>"
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        random.seed(code)
        stdout, stderr = CellOutput(self._output), CellOutput(self._output)
        value, error = None, ""
        with redirect_output(stdout, stderr):
            with ErrorCapture() as caught:
                value = self._run(code, file)
            if caught.error is not None:
                error = truncate_output(format_traceback(caught.error), self._output)
            value = self._packed(value)
        return {
            "stdout": stdout.text(),
            "stderr": stderr.text(),
            "value": value,
            "error": error,
            "variables": self._variables(),
        }

    def _run(self, code: str, file: str) -> Any:
        """Run it all, and return the value of its last expression."""
        tree = ast.parse(code, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self._evaluate(tree, file, "exec")
        if isinstance(last, ast.Expr):
            return self._evaluate(ast.Expression(last.value), file, "eval")
        return None

    def _evaluate(self, tree: ast.Module | ast.Expression, file: str, mode: str) -> Any:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compiled = compile(tree, file, mode, flags, dont_inherit=True)
        result = eval(compiled, self._names)
        if compiled.co_flags & inspect.CO_COROUTINE:
            return self._loop.run_until_complete(result)
        return result

    def _packed(self, value: Any) -> Any:
        with ErrorCapture():
            return pack(value, self._plain)
        return self._plain(value)

    def _plain(self, value: Any) -> str:
        """Its repr; its type where it has none."""
        with ErrorCapture():
            return truncate_output(repr(value), self._output)
        return f"<{type(value).__name__}>"

    def _variables(self) -> dict[str, str]:
        """The names that cells have assigned, each with its type; modules are none."""
        found: dict[str, str] = {}
        for name, value in [*self._names.items()]:
            given = name in self._given and self._given[name] is value
            hidden = not isinstance(name, str) or name.startswith("__") or isinstance(value, types.ModuleType)
            if not given and not hidden and len(found) < NAMES:
                found[name] = type(value).__name__
        return found


@contextlib.contextmanager
def redirect_output(stdout: CellOutput, stderr: CellOutput) -> Iterator[None]:
    """What is printed goes there; afterwards what threads still print goes nowhere."""
    sys.stdout, sys.stderr = stdout, stderr
    yield
    sys.stdout = sys.stderr = CellOutput(0)


def format_traceback(error: BaseException) -> str:
    """A traceback as CPython writes it, without frames of ours; the bare type where that is impossible."""
    with ErrorCapture():
        shown = traceback.TracebackException.from_exception(error)
        _prune(shown)
        return "".join(shown.format())
    return f"{type(error).__name__}\n"


def _prune(shown: traceback.TracebackException) -> None:
    """Leave out the frames of ours, here and in what it came from."""
    kept = [
        frame
        for frame in shown.stack
        if not frame.filename.startswith(OURS) and frame.filename != ast.__file__
    ]
    library = f"{Path(ast.__file__).parent}{os.sep}"
    for frame in kept:
        frame.filename = frame.filename.removeprefix(library)  # it tells where the machine has its Python
    shown.stack = traceback.StackSummary.from_list(kept)
    if not kept:
        shown.stack = None  # type: ignore[assignment]  # then CPython writes no heading
    groups = getattr(shown, "exceptions", None) or ()
    for other in (shown.__cause__, shown.__context__, *groups):
        if other is not None:
            _prune(other)

"""An environment for tests of moves: cells run by `exec`, unprotected."""

from __future__ import annotations

import ast
import asyncio
import io
import random
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from daemon.sandbox.environment import CellResult, Function, HostCallError, Sandbox, SandboxLimits


class Caught:
    error: BaseException | None = None

    def __enter__(self) -> Caught:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        self.error = error
        return True


class Plain:
    """CPython without confinement. Functions run in the event loop, the cell in a thread."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.is_closed = False
        self._module = types.ModuleType("__main__")
        self._names: dict[str, Any] = vars(self._module)
        self._names.update({name: self._bridged(function) for name, function in functions.items()})
        self._given = dict(self._names)
        self._loop = asyncio.get_running_loop()

    def _bridged(self, function: Function) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            async def asked() -> Any:
                return await function(*args, **kwargs)

            try:
                return asyncio.run_coroutine_threadsafe(asked(), self._loop).result()
            except HostCallError as error:
                raise RuntimeError(str(error)) from None

        return call

    async def execute_code(self, code: str) -> CellResult:
        return await asyncio.to_thread(self._execute, code)

    def _execute(self, code: str) -> CellResult:
        before = sys.modules["__main__"]
        sys.modules["__main__"] = self._module  # dataclasses look up their module there
        value, error = None, ""
        random.seed(code)
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            with Caught() as caught:
                value = evaluated(code, self._names)
            if caught.error is not None:
                error = "".join(traceback.format_exception(caught.error))
            sys.modules["__main__"] = before
        variables = {
            name: type(one).__name__
            for name, one in self._names.items()
            if not name.startswith("__")
            and not isinstance(one, types.ModuleType)
            and self._given.get(name, self) is not one
        }
        return CellResult(
            stdout=out.getvalue(), stderr=err.getvalue(), value=value, error=error, variables=variables
        )

    async def bind(self, **names: Any) -> None:
        self._names.update(names)
        self._given.update(names)

    async def close(self) -> None:
        self.is_closed = True


def evaluated(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; return its final value."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    return None


async def open_plain(functions: Mapping[str, Function], _: SandboxLimits) -> Sandbox:
    return Plain(functions)

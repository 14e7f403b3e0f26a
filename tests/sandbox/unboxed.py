"""An unconfined sandbox: cells run in a thread of this process."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from daemon.sandbox.environment import CellResult, Function, HostCallError, Sandbox


async def open_unboxed(functions: Mapping[str, Function]) -> Sandbox:
    return Unboxed(functions)


class Unboxed:
    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._loop = asyncio.get_running_loop()
        self._bound = set[str]()
        self._raised: BaseException | None = None
        self._given = {name: self._bridged(function) for name, function in functions.items()}
        self._space: dict[str, Any] = dict(self._given)

    async def execute_code(self, code: str) -> CellResult:
        out = io.StringIO()
        execution = await asyncio.to_thread(self._run, code, out)
        if self._raised:
            raise self._raised
        return execution

    async def bind(self, **names: Any) -> None:
        self._space.update(names)
        self._bound |= set(names)

    async def close(self) -> None:
        self._space.clear()

    def _bridged(self, function: Function) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return asyncio.run_coroutine_threadsafe(_awaited(function, args, kwargs), self._loop).result()
            except HostCallError as error:
                raise RuntimeError(str(error)) from None
            except BaseException as error:  # noqa: BLE001
                self._raised = error
                raise SystemExit from None

        return call

    def _run(self, code: str, out: io.StringIO) -> CellResult:
        error, value = "", None
        try:
            body = ast.parse(code)
            last = body.body[-1] if body.body else None
            if isinstance(last, ast.Expr):
                body.body.pop()
            with contextlib.redirect_stdout(out):
                exec(compile(body, "<cell>", "exec"), self._space)
                if isinstance(last, ast.Expr):
                    value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), self._space)
        except SystemExit:
            pass
        except BaseException:  # noqa: BLE001
            error = traceback.format_exc()
        names = {k: type(v).__name__ for k, v in self._space.items() if k not in self._given}
        for name in ("__builtins__", *self._bound):
            names.pop(name, None)
        return CellResult(stdout=out.getvalue(), value=value, error=error, variables=names)


async def _awaited(function: Function, args: Any, kwargs: Any) -> Any:
    return await function(*args, **kwargs)

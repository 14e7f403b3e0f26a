"""All that a daemon runs cells in: monty, and a confined CPython where a cell needs it, or the owner's class.

Nothing is started before the first reading.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Self, cast, get_args

from daemon.environment import USUAL, Function, Sandbox, SandboxLimits
from daemon.sandbox.cpython import SpareChildren
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.own_class import load_sandbox_class, open_owner_sandbox
from daemon.sandbox.session import Kind, Opener, open_session


class SandboxFactory:
    """Opens sandboxes of one kind, or of the class that has this name, from `async with` on.

    Raises ConfigError where there is no such class.
    """

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
        """A new one, whose code may call these functions. Raises SandboxError."""
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
        """One child waits ready as soon as the first was needed: to start one takes a tenth of a second."""
        async with self._starting:
            if self._spares is None:
                self._spares = await self._open.enter_async_context(SpareChildren(bounds))
        return await self._spares.open(functions)


def can_confine() -> bool:
    """Could a CPython child be confined on this machine? Whether it is shows when one is started."""
    return platform.system() == "Linux" and platform.machine() == "x86_64"

"""Event that holds back a model's reply."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal


class ReplyHold(asyncio.Event):
    """Event whose cause starts when somebody waits."""

    def __init__(self, happen: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._happen = happen

    async def wait(self) -> Literal[True]:
        await self._happen()
        return True

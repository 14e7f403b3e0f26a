"""Where an answer of the model rests until something has come to pass; the understudy waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal


class Rest(asyncio.Event):
    """What comes to pass begins when somebody waits for it."""

    def __init__(self, happen: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._happen = happen

    async def wait(self) -> Literal[True]:
        """Until it is over."""
        await self._happen()
        return True

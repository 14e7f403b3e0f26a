"""Running model calls as the page shows them, with the text so far; in memory only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

LONGEST = 64 * 1024
"""Most characters of an answer that viewers see."""


BREATH = 0.05
"""Seconds of output sent to viewers together."""


CallNews = Mapping[str, Any]
"""More `text` of the call `number`; the first news have its thread, key and name, the last are `over`."""


class LiveThoughts(Protocol):
    def follow(self) -> AsyncIterator[bytes]:
        """Yield server-sent events on running calls without end, beginning with the present state."""


@dataclass(slots=True, kw_only=True)
class LiveCall:
    """A running call: its thread, key and name, and the text so far."""

    thread: str
    key: str
    name: str
    text: str = ""


class LiveCalls:
    """Running model calls, and the viewers who follow them."""

    def __init__(self) -> None:
        self._attempts: dict[int, LiveCall] = {}
        self._numbers = count(1)
        self._changed = asyncio.Event()

    @contextmanager
    def attempt(self, thread: str, key: str, name: str) -> Iterator[Callable[[str], None]]:
        """Register a call; yield a function for the deltas of its answer."""
        number = next(self._numbers)
        attempt = LiveCall(thread=thread, key=key, name=name)

        def hear(delta: str) -> None:
            room = LONGEST - len(attempt.text)
            if room > 0:
                attempt.text += delta[:room]
                self._wake_viewers()

        self._attempts[number] = attempt
        try:
            yield hear
        finally:
            del self._attempts[number]
            self._wake_viewers()

    async def follow(self) -> AsyncIterator[bytes]:
        """Yield server-sent events without end, beginning with the present state."""
        async for news in self.follow_news():
            yield thinking_event(news)

    async def follow_news(self) -> AsyncIterator[CallNews]:
        """Yield news of calls without end, beginning with the present state."""
        sent: dict[int, int] = {}
        while True:
            changed = self._changed
            for news in self._news(sent):
                yield news
            await changed.wait()
            await asyncio.sleep(BREATH)

    def _news(self, sent: dict[int, int]) -> Iterator[CallNews]:
        for number in [number for number in sent if number not in self._attempts]:
            del sent[number]
            yield {"number": number, "over": True}
        for number, attempt in list(self._attempts.items()):
            news = {"number": number, "text": attempt.text}
            if number not in sent:
                news |= {"thread": attempt.thread, "key": attempt.key, "name": attempt.name}
            elif sent[number] < len(attempt.text):
                news["text"] = attempt.text[sent[number] :]
            else:
                continue
            sent[number] = len(attempt.text)
            yield news

    def _wake_viewers(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def thinking_event(news: CallNews) -> bytes:
    return f"event: thinking\ndata: {json.dumps(news)}\n\n".encode()

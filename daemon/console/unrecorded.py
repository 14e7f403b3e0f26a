"""What is thought at this moment, for whoever looks at the journal: before it is recorded, and never kept.

A call that ends is forgotten here, whatever came of it. Nothing of this is written anywhere. Readers hold no
more of it than how much they were sent: who never reads costs nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

LONGEST = 64 * 1024
"""Characters of one answer that are shown while it comes; all of it stands in the journal later."""
BREATH = 0.05
"""Seconds in which what comes is gathered for one event."""


@dataclass(slots=True, kw_only=True)
class LiveCall:
    """One call of a model that is on its way: in which thread, under which key, and its answer so far."""

    thread: str
    key: str
    name: str
    text: str = ""


class LiveCalls:
    """All calls that are on their way. Implements ports.Onlookers."""

    def __init__(self) -> None:
        self._attempts: dict[int, LiveCall] = {}
        self._numbers = count(1)
        self._changed = asyncio.Event()

    @contextmanager
    def attempt(self, thread: str, key: str, name: str) -> Iterator[Callable[[str], None]]:
        """While inside, this call is on its way; what is given takes its answer, delta by delta."""
        number = next(self._numbers)
        attempt = LiveCall(thread=thread, key=key, name=name)

        def hear(delta: str) -> None:
            room = LONGEST - len(attempt.text)
            if room > 0:
                attempt.text += delta[:room]
                self._tell()

        self._attempts[number] = attempt
        try:
            yield hear
        finally:
            del self._attempts[number]
            self._tell()

    async def follow(self) -> AsyncIterator[bytes]:
        """What comes, as events for one reader, for ever: what was there before them comes first."""
        sent: dict[int, int] = {}
        while True:
            changed = self._changed
            for news in self._news(sent):
                yield f"event: thinking\ndata: {json.dumps(news)}\n\n".encode()
            await changed.wait()
            await asyncio.sleep(BREATH)

    def _news(self, sent: dict[int, int]) -> Iterator[Mapping[str, Any]]:
        """What a reader was not sent yet, made as they take it; `sent`, how much they were, is kept up."""
        for number in [one for one in sent if one not in self._attempts]:
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

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

"""A projection that is folded on from the journal, as of any entry: notes, records and the rest are such."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS

CHUNK = 1_000
"""Entries that are folded at once, while nobody else can do anything."""


class Fold:
    """Derive from it: `kinds` are what it is made of, `_clear` begins anew, `_take` adds one entry."""

    kinds: ClassVar[tuple[type[Event], ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.folded = 0
        """The seq of the last entry in it."""
        self._one = asyncio.Lock()
        self._erasures = journal.erasures
        self._clear()

    async def update(self, before: int = ALWAYS) -> None:
        """Make it what it was when the entry `before` was written; without that, what it is now.

        Going on is cheap. Going back is dear, as it begins anew: only what replays does.
        """
        async with self._one:
            if self.folded >= before or self._erasures != self.journal.erasures:  # words were forgotten
                self._erasures = self.journal.erasures
                self.folded = 0
                self._clear()
            found: list[Entry[Any]] = self.journal.kind(*self.kinds, since=self.folded)
            for number, entry in enumerate(found, 1):
                if entry.seq >= before:
                    break
                self._take(entry)
                self.folded = entry.seq
                if number % CHUNK == 0:
                    await asyncio.sleep(0)

    def _clear(self) -> None:
        raise NotImplementedError

    def _take(self, entry: Entry[Any]) -> None:
        raise NotImplementedError

"""A projection that is folded on from the journal, as of any entry: notes, records and the rest are such."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import Any, ClassVar

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS

CHUNK = 200
"""Entries that are folded at once, while nobody else can do anything."""


class Fold:
    """Derive from it: `kinds` are what it is made of, `_clear` begins anew, `_take` adds one entry."""

    kinds: ClassVar[tuple[type[Event], ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.folded = 0
        """The seq of the last entry in it."""
        self._seen = 0
        """Up to here there is nothing else to fold."""
        self._one = asyncio.Lock()
        self._erasures = journal.erasures
        self._clear()

    async def update(self, before: int = ALWAYS) -> None:
        """Make it what it was when the entry `before` was written; without that, what it is now.

        Going on is cheap. Going back is dear, as it begins anew: only what replays does.
        """
        async with self._one:
            if self.folded >= before or self._erasures != self.journal.erasures:  # words were forgotten
                self._begin_anew()
            last = min(self.journal.last(), before - 1)
            came = self.journal.seqs(*self.kinds, since=max(self.folded, self._seen))
            seqs = came[: bisect_right(came, last)]
            for start in range(0, len(seqs), CHUNK):
                for entry in self.journal.sound(seqs[start : start + CHUNK]):
                    self._take(entry)
                    self.folded = entry.seq
                await asyncio.sleep(0)  # let others do something
            self._seen = last

    def _begin_anew(self) -> None:
        self.folded = self._seen = 0
        self._erasures = self.journal.erasures
        self._clear()

    def _clear(self) -> None:
        raise NotImplementedError

    def _take(self, entry: Entry[Any]) -> None:
        raise NotImplementedError

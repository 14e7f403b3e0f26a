"""A projection that is folded on from the journal whenever it is asked; after a start, in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, ClassVar

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import Reading

PIECE = 200
"""Entries that are folded at once: a few milliseconds, in which nobody else can do anything."""


class Projection:
    """Derive from it: `kinds` are what it is made of, `_take` adds one entry.

    Nobody is told from half of it: `update` folds all that came, however long that takes. Whoever can wait
    awaits `ready` first, which leaves nothing that takes long.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._upto = 0
        """Up to here there is nothing left to fold."""
        self._whole = False
        """Was it ever folded to the end?"""

    async def ready(self) -> None:
        """Fold what came since, in pieces: others go on meanwhile, and may ask it."""
        while self.journal.last() - self._upto > PIECE:
            self._heed()
            erasures = self.journal.erasures
            last, seqs = await self.journal.apart(self._new)
            for start in range(0, len(seqs), PIECE):
                if erasures != self.journal.erasures:
                    break
                some = [seq for seq in seqs[start : start + PIECE] if seq > self._upto]
                self._fold(self.journal.sound(some))
                await asyncio.sleep(0)
            else:
                self._upto = max(self._upto, last)

    def update(self) -> None:
        """Fold what came since."""
        self._heed()
        last = self.journal.last()
        if last != self._upto:
            self._fold(self.journal.kind(*self.kinds, since=self._upto))
            self._upto = max(self._upto, last)
        self._whole = True

    def _new(self, journal: Reading) -> tuple[int, list[int]]:
        return journal.last(), journal.seqs(*self.kinds, since=self._upto)

    def _fold(self, entries: Iterable[Entry[Any]]) -> None:
        for entry in entries:
            self._take(entry)
            self._upto = entry.seq

    def _heed(self) -> None:
        """Where words were forgotten, it may have to begin anew."""

    def _take(self, entry: Entry[Any]) -> None:
        raise NotImplementedError

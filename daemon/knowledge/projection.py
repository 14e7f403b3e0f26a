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
FAR = 5_000
"""So many entries behind, it looks for its own beside the loop. Nearer, a thread costs more than the look."""


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
        self._folding = asyncio.Lock()
        """Held by the one who folds, so that a burst of turns does not do it once each."""

    async def ready(self) -> None:
        """Fold what came since, in pieces: others go on meanwhile, and may ask it."""
        if self._behind() <= PIECE:
            return
        async with self._folding:
            while self._behind() > PIECE:
                await self._catch_up()

    def _behind(self) -> int:
        return self.journal.last() - self._upto

    async def _catch_up(self) -> None:
        """Fold what there is now. What is forgotten meanwhile ends it: whoever called looks again."""
        self._heed()
        erasures = self.journal.erasures
        far = self._behind() > FAR
        last, seqs = await self.journal.apart(self._new) if far else self._new(self.journal)
        for start in range(0, len(seqs), PIECE):
            if erasures != self.journal.erasures:
                return
            some = [seq for seq in seqs[start : start + PIECE] if seq > self._upto]
            self._fold(self.journal.sound(some))
            await asyncio.sleep(0)
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

"""A projection of the page's own, of a few fields of many entries: folded when somebody looks, and quickly.

The fields are read beside the loop and no entry is made of them, so that the first look at a journal of years
takes a moment; a start takes nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from daemon.engine.event import Event
from daemon.engine.journal import Journal
from daemon.engine.reading import Reading

Fields = Mapping[str, Any]
"""By path; None where an entry has no such field."""
PIECE = 1_000
"""Rows that are folded at once: a few milliseconds, in which nobody else can do anything."""
FAR = 500
"""So many entries behind, it reads beside the loop. Nearer, a thread costs more than the look."""


class Fold:
    """Derive from it: `kinds` are what it is made of, `paths` the fields of them that it is given.

    `_take` adds one row of `Reading.fields`; `_clear` begins anew, which it does when words were forgotten.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()
    paths: ClassVar[tuple[str, ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._upto = 0
        """Up to here there is nothing left to fold."""
        self._erasures = journal.erasures
        self._folding = asyncio.Lock()

    async def update(self) -> None:
        """Fold what was written by now: who then asks at once is told of all that."""
        async with self._folding:
            while not await self._catch_up():
                pass

    async def _catch_up(self) -> bool:
        """Was all of it folded? Not if words were forgotten meanwhile."""
        if self.journal.erasures != self._erasures:
            self._erasures, self._upto = self.journal.erasures, 0
            self._clear()
        last = self.journal.last()
        if last == self._upto:
            return True
        look = partial(self._rows, since=self._upto)
        rows = await self.journal.apart(look) if last - self._upto > FAR else look(self.journal)
        for start in range(0, len(rows), PIECE):
            if self.journal.erasures != self._erasures:
                return False
            for seq, thread, kind, at, fields in rows[start : start + PIECE]:
                self._take(seq, thread, kind, at, dict(zip(self.paths, json.loads(fields), strict=True)))
                self._upto = seq
            await asyncio.sleep(0)
        self._upto = max(self._upto, last)
        return self.journal.erasures == self._erasures

    def _rows(self, journal: Reading, since: int) -> list[tuple[Any, ...]]:
        return journal.fields(self.kinds, self.paths, since)

    def _take(self, seq: int, thread: str, kind: str, at: float, fields: Fields) -> None:
        raise NotImplementedError

    def _clear(self) -> None:
        raise NotImplementedError

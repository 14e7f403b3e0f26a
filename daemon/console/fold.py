"""A projection of the page's own, of a few fields of many entries, which nobody waits for.

It begins with the newest entries and goes back, so that a page soon has what its owner looks for. A span is
read beside the loop, and added in pieces; what comes meanwhile is added, too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from daemon.engine.event import Event
from daemon.engine.journal import Journal
from daemon.engine.reading import JournalReader

SPAN = 5_000
"""Entries that are read in one go, beside the loop."""
NEAR = 300
"""So few new entries are read on the loop: a thread costs more."""
PIECE = 200
"""Entries that are added at once: a millisecond or two, in which nobody else can do anything."""

Fields = Mapping[str, Any]
"""By path; None where an entry has no such field."""


class FoldedRow(NamedTuple):
    """What is read of one entry. `more` is what a fold has looked up besides."""

    seq: int
    thread: str
    kind: str
    at: float
    fields: Fields
    more: Any = None


class FieldFold:
    """Derive from it: `paths` are the fields of its `kinds` that are read.

    `_add` takes an entry that is newer than all others, `_add_older` one that is older than all others, and
    `_clear` begins anew.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()
    paths: ClassVar[tuple[str, ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._adding = asyncio.Lock()
        self._beginnings = 0
        """How often it has begun anew."""
        self._begin()

    @property
    def entries_left(self) -> int:
        """How many entries of the journal were not looked at yet."""
        self._restart_if_forgotten()
        return self._low + self.journal.last_seq_of_all() - self._upto

    async def update(self) -> None:
        """Add all that is left, the newest first."""
        while self.entries_left:
            await self.update_some()

    async def update_some(self) -> None:
        """Add what is new, and a span of what is older than all that is in it."""
        async with self._adding:
            self._restart_if_forgotten()
            await self._update_newer()
            if self._low:
                await self._update_older()

    def _restart_if_forgotten(self) -> None:
        """Begin anew where words were forgotten: they may be in it."""
        if self._erasures != self.journal.erasures:
            self._begin()

    def _begin(self) -> None:
        self._beginnings += 1
        self._erasures = self.journal.erasures
        self._low = self._upto = self.journal.last_seq_of_all()
        """All between these two is in it."""
        self._clear()

    async def _update_newer(self) -> None:
        last = self.journal.last_seq_of_all()
        if self.journal.has_none(*self.kinds, since=self._upto, upto=last):
            self._upto = last
        while self._upto < last:
            upto = min(last, self._upto + SPAN)
            if not await self._add_span(self._upto, upto, newer=True):
                return
            self._upto = upto

    async def _update_older(self) -> None:
        low = max(self._low - SPAN, 0)
        if await self._add_span(low, self._low, newer=False):
            self._low = low

    async def _add_span(self, since: int, upto: int, *, newer: bool) -> bool:
        """Add the entries after a seq, up to another, one by one; False: it began anew meanwhile, and nothing
        of them may be in it."""
        beginnings = self._beginnings
        if upto - since <= NEAR:
            rows = self._read(self.journal, since, upto)
        else:
            rows = await self.journal.read_in_background(partial(self._read, since=since, upto=upto))
        add = self._add if newer else self._add_older
        in_order = rows if newer else rows[::-1]
        for start in range(0, len(in_order), PIECE):
            if start:
                await asyncio.sleep(0)
            self._restart_if_forgotten()
            if beginnings != self._beginnings:
                return False
            for row in in_order[start : start + PIECE]:
                add(row)
                if newer:
                    self._upto = row.seq
                else:
                    self._low = row.seq - 1
        self._restart_if_forgotten()
        return beginnings == self._beginnings

    def _read(self, journal: JournalReader, since: int, upto: int) -> Sequence[FoldedRow]:
        """What is to be added of the entries after a seq up to another, in order."""
        found = []
        for seq, thread, kind, at, fields in journal.fields_of_kind(
            self.kinds, self.paths, since=since, upto=upto
        ):
            values = dict(zip(self.paths, json.loads(fields), strict=True))
            found.append(FoldedRow(seq, thread, kind, at, values))
        return found

    def _clear(self) -> None:
        raise NotImplementedError

    def _add(self, row: FoldedRow) -> None:
        raise NotImplementedError

    def _add_older(self, row: FoldedRow) -> None:
        raise NotImplementedError

"""What the inner life keeps about people, for those people themselves: for `!memory` and `!forget`.

Implements knowledge/recollections.py's Records.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS
from daemon.inner.record import Record, words
from daemon.inner.records import Records
from daemon.kinds import CommandRan
from daemon.knowledge.places import Places
from daemon.ports import KnownNote

CHANGE = ".change"


class Kept:
    """Finds it among these records, of which no tick makes use."""

    def __init__(self, journal: Journal, places: Places, records: Records) -> None:
        self._journal = journal
        self._places = places
        self._records = records

    async def about(self, names: Sequence[str], thread: str) -> Sequence[KnownNote]:
        """What is recorded about whoever is called so, and may be known in this thread, a DM of theirs."""
        found = await self._records.about(names, thread)
        return [self._known(one) for one in found]

    async def versions(self, seq: int) -> Sequence[int]:
        """All entries in which the record stands whose text this one holds; none: it holds none."""
        entry = next(iter(self._journal.many([seq])), None)
        if entry is None or not isinstance(entry.event, CommandRan):
            return ()
        first = int(entry.event.args.get("id", seq)) if entry.event.name.endswith(CHANGE) else seq
        later = [
            one.seq
            for one in self._journal.kind(CommandRan, since=first)
            if one.event.name.endswith(CHANGE) and one.event.args.get("id") == first
        ]
        return [first, *later]

    def _known(self, record: Record) -> KnownNote:
        channel = self._places.of(record.view) if record.view else None
        return KnownNote(
            seq=record.wrote,
            text=words(record),
            place=channel.name if channel else "",
            audience=channel.before(ALWAYS).audience if channel else "public",
            at=record.changed_at,
            fixed=True,
        )

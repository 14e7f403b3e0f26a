"""Whom the records of the inner life are shown to outside of it: people whom they are about, neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS
from daemon.inner.reaching import BringShared, ShareableRecord
from daemon.inner.record import LINKS, InnerRecord, record_in_words
from daemon.inner.records import InnerRecords
from daemon.kinds import CommandRan
from daemon.knowledge.places import KnownChannels
from daemon.ports import PersonNote

CHANGE = ".change"


class PersonRecords:
    """What is kept about people, for those people themselves: for `!memory` and `!forget`.

    Implements knowledge/recollections.py's Records. No tick makes use of these records.
    """

    def __init__(self, journal: Journal, places: KnownChannels, records: InnerRecords) -> None:
        self._journal = journal
        self._places = places
        self._records = records

    async def notes_about(self, names: Sequence[str], thread: str) -> Sequence[PersonNote]:
        """What is recorded about whoever is called so, and may be known in this thread, a DM of theirs."""
        found = await self._records.about(names, thread)
        return [self._known(one) for one in found]

    async def versions(self, seq: int) -> Sequence[int]:
        """All entries in which the record stands whose text this one holds; none: it holds none."""
        entry = self._journal.entry(seq)
        ran = entry.event
        if not isinstance(ran, CommandRan):
            return ()
        first = seq
        if ran.name.endswith(CHANGE):
            first = int(ran.args.get("id", seq))
        later = self._journal.entries_of_kind(CommandRan, since=first)
        return [first, *[one.seq for one in later if _changes(one.event, first)]]

    def _known(self, record: InnerRecord) -> PersonNote:
        audience = "public"
        channel = self._places.channel_of(record.view)
        if channel:
            audience = channel.audience_before(ALWAYS).audience
        return PersonNote(
            seq=record.wrote,
            first=record.id,
            text=record_in_words(record),
            place=self._places.name(record.view),
            audience=audience,
            at=record.changed_at,
            fixed=True,
        )


def _changes(ran: CommandRan, record: int) -> bool:
    return ran.name.endswith(CHANGE) and ran.args.get("id") == record


def make_record_sharer(records: InnerRecords) -> BringShared:
    """Brings the words of the records of these ids, without tags, flags and links, for a neighbour.

    Whether they may be known there is for whoever shares them to see to.
    """

    async def brought(ids: Sequence[int]) -> Sequence[ShareableRecord]:
        await records.update()
        may_go = [one for one in records.records_in_all_views(ids) if one.family != LINKS]
        return [
            ShareableRecord(id=one.id, text=record_in_words(one), view=one.view, wrote=one.wrote)
            for one in may_go
        ]

    return brought

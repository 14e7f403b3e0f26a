"""Of whom something was learned, and in how many channels: for the page's people."""

from __future__ import annotations

from daemon.console.fold import FieldFold, FoldedRow
from daemon.engine.keys import root_of
from daemon.engine.reading import JournalReader
from daemon.kinds import PersonModelWritten
from daemon.knowledge.channel_audiences import ChannelId, read_channel_of
from daemon.knowledge.person_models import without_others


class KnownPeopleFold(FieldFold):
    """The channels in which something was learned of each person, by id."""

    kinds = (PersonModelWritten,)
    paths = ("$.person", "$.name", "$.text")

    def _clear(self) -> None:
        self.channels: dict[str, set[ChannelId]] = {}

    def _read(self, journal: JournalReader, since: int, upto: int) -> list[FoldedRow]:
        """Each with its channel."""
        rows = super()._read(journal, since, upto)
        return [row._replace(more=read_channel_of(journal, root_of(row.thread))) for row in rows]

    def _add(self, row: FoldedRow) -> None:
        name, text = row.fields["$.name"], row.fields["$.text"]
        if row.more and text and without_others(text, {name.casefold()}):  # no text: it was forgotten
            self.channels.setdefault(row.fields["$.person"], set()).add(row.more)

    def _add_older(self, row: FoldedRow) -> None:
        self._add(row)

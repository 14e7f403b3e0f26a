"""Audiences that the daemons of a log have recorded, which correct what one of them has looked up before."""

from __future__ import annotations

from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.kinds import AudienceChanged, ConversationOpened

GUESTS = "guests:"
"""Prefix of the keys of entries about guests, which stay true."""


class RecordedAudiences:
    """Audiences of channels, as recorded since this daemon's start."""

    def __init__(self, journal: Journal, team: str) -> None:
        self._journal = journal
        self._team = team
        self._upto = journal.last_seq_of_all()
        self._recorded = dict[str, list[tuple[int, str]]]()
        """Seqs and audiences by channel, in order; repetitions count with their last seq."""

    @property
    def last_seq(self) -> int:
        """Seq of the journal's last entry, to note before a look-up."""
        return self._journal.last_seq_of_all()

    def latest(self, channel: str) -> str | None:
        """Return the audience recorded last; None if none was."""
        self._fold()
        recorded = self._recorded.get(channel)
        return recorded[-1][1] if recorded else None

    def contradicts(self, channel: str, audience: str, since: int) -> bool:
        """True if another audience was recorded after the seq `since`."""
        self._fold()
        return any(seq > since and other != audience for seq, other in self._recorded.get(channel, ()))

    def _fold(self) -> None:
        if self._journal.change_counter(AudienceChanged, ConversationOpened) <= self._upto:
            return
        found: list[Entry[AudienceChanged | ConversationOpened]]
        found = self._journal.entries_of_kind(AudienceChanged, ConversationOpened, since=self._upto)
        for entry in found:
            self._upto = entry.seq
            if entry.event.team == self._team and not entry.key.startswith(GUESTS):
                self._add(entry.event.channel, entry.seq, entry.event.audience)

    def _add(self, channel: str, seq: int, audience: str) -> None:
        recorded = self._recorded.setdefault(channel, [])
        if recorded and recorded[-1][1] == audience:
            recorded.pop()
        recorded.append((seq, audience))

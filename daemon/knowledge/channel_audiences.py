"""Who could read a channel at any time, read channel by channel: a turn needs a few of them, never all.

The conversations of a channel are found by their keys, so that the first turn after a start costs the same in
a long journal as in a short one.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.engine.reading import JournalReader
from daemon.kinds import AudienceChanged, ConversationOpened, thread_key
from daemon.knowledge.projection import PartialProjection


class ChannelId(NamedTuple):
    """A channel or a DM, as Slack names it."""

    team: str
    channel: str


NOTED = ("$.team", "$.channel", "$.audience")


@dataclass(slots=True, kw_only=True)
class AudienceHistory:
    """Who could read one channel, from each of these seqs on.

    Of the conversations that were there when it was read it holds the last one; `since` is its seq. What was
    noted otherwise is there from the beginning.
    """

    since: int = 0
    seqs: list[int] = field(default_factory=list)
    audiences: list[str] = field(default_factory=list)

    def add(self, seq: int, audience: str) -> None:
        """From this entry on these can read it."""
        self.seqs.append(seq)
        self.audiences.append(audience)

    def last_before(self, before: int) -> tuple[int, str]:
        """The last entry before a seq that says it, and what it says; 0 where there is none."""
        place = bisect_left(self.seqs, before)
        if not place:
            return 0, ""
        return self.seqs[place - 1], self.audiences[place - 1]


Histories = dict[ChannelId, AudienceHistory]


class ChannelAudiences(PartialProjection):
    """The audiences of those channels that were asked for."""

    kinds = (ConversationOpened, AudienceChanged)
    holds_words = False

    def channel_of(self, thread: str) -> ChannelId | None:
        """The channel of a conversation; None if it is not in Slack."""
        root = root_of(thread)
        if root not in self._channels:
            found = read_channel_of(self.journal, root)
            if found is None:
                return None
            self._channels[root] = found
        return self._channels[root]

    async def load(self, channels: Iterable[ChannelId]) -> None:
        """Read those that are not at hand, beside the loop where the journal is long."""
        self.fold()
        missing = [channel for channel in dict.fromkeys(channels) if channel not in self._histories]
        if missing:
            self._histories |= await self._read_in_thread(dict, partial(_read_audiences_on, missing))

    def audience_before(self, channel: ChannelId, seq: int) -> AudienceChanged:
        """Who could read it, as was last noted before `seq`."""
        self.fold()
        if channel not in self._histories:
            self._histories |= self._read(dict, partial(_read_audiences_on, [channel]))
        history = self._histories[channel]
        found, audience = history.last_before(seq)
        if seq <= history.since:  # an earlier conversation may say more
            opened = self.journal.last_entry_under(thread_key(*channel, ""), seq)
            if opened and opened.seq > found:
                audience = opened.event.audience
        return AudienceChanged(team=channel.team, channel=channel.channel, audience=audience)

    def _reset(self) -> None:
        self._channels: dict[str, ChannelId] = {}
        self._histories: Histories = {}

    def _fold_entry(self, entry: Entry[ConversationOpened | AudienceChanged]) -> None:
        said = entry.event
        history = self._histories.get(ChannelId(said.team, said.channel))
        if history:
            history.add(entry.seq, said.audience)


def read_channel_of(journal: JournalReader, thread: str) -> ChannelId | None:
    """The channel in which this thread was opened."""
    for opened in journal.latest_first(thread, ConversationOpened):
        return ChannelId(opened.event.team, opened.event.channel)
    return None


def _read_audiences_on(
    channels: Sequence[ChannelId], histories: Histories, journal: JournalReader, since: int, upto: int
) -> None:
    """Add what the journal holds of these channels after a seq, up to another."""
    found: list[tuple[int, ChannelId, str]] = []
    for channel in channels:
        history = histories.setdefault(channel, AudienceHistory())
        opened = journal.last_entry_under(thread_key(*channel, ""), upto + 1)
        if opened and opened.seq > since:
            history.since = opened.seq
            found.append((opened.seq, channel, opened.event.audience))
    for seq, _, _, _, fields in journal.fields_of_kind([AudienceChanged], NOTED, since=since, upto=upto):
        team, name, audience = json.loads(fields)
        if (team, name) in histories:
            found.append((seq, ChannelId(team, name), audience))
    for seq, channel, audience in sorted(found):
        histories[channel].add(seq, audience)

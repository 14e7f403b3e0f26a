"""Which conversations there are, and what of one may be known in another.

What may be known where: in sight is one conversation, or public things only.

A view is the thread of that conversation; an empty one stands for public things. Whatever a tick of the inner
life writes carries the view that it was written under.

What Slack still holds of what was forgotten: it does not come back. For whoever reads Slack.

Who could read a channel at any time, read channel by channel: a turn needs a few of them, never all.

The conversations of a channel are found by their keys, so that the first turn after a start costs the same in
a long journal as in a short one.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

from daemon.engine.event import Entry, of_kind, root_of
from daemon.engine.journal.journal import PartialProjection, Projection
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.engine.kinds import EntriesForgotten
from daemon.kinds import (
    AudienceChanged,
    ButtonPress,
    ConversationOpened,
    DeleteRequested,
    ForgetRequested,
    SpeechFinished,
    thread_key,
)

INSIDE = frozenset({"public", "private", "group", "dm"})
"""Audiences of whom everyone may read every public channel of their team, as far as is known: see
slack/guests.py."""


def may_know(here: AudienceChanged, there: AudienceChanged) -> bool:
    """Could everyone who reads `here` have read `there`?

    Within one channel, yes; what was said in a public channel, too, unless people from outside read here.
    Where the audience is not known, it is nobody else's.
    """
    if here.team != there.team:
        return False
    open_to_all = there.audience == "public" and here.audience in INSIDE
    return here.channel == there.channel or open_to_all


def current_name(known: str, place: str) -> str:
    """What a channel is called by now: as before, where Slack did not say its name."""
    if known and not place.startswith("#"):
        return known
    return place


@dataclass(slots=True, kw_only=True)
class KnownChannel:
    """A channel or a DM, in which there are conversations. `name` is for a sentence: the one that it had
    first, so that each replay says the same. `now` is what it was called last."""

    number: int
    team: str
    channel: str
    name: str
    now: str = ""
    seqs: list[int] = field(default_factory=list)
    audiences: list[str] = field(default_factory=list)
    """Who could read it, from each of those seqs on: a channel is made private, or shared with others."""

    @property
    def audience(self) -> str:
        """Who can read it, as was noted last; empty where that is not known."""
        if not self.audiences:
            return ""
        return self.audiences[-1]

    def audience_before(self, seq: int) -> AudienceChanged:
        """Who could read it, as was last noted before `seq`."""
        last = bisect_left(self.seqs, seq)
        audience = self.audiences[last - 1] if last else ""
        return AudienceChanged(team=self.team, channel=self.channel, audience=audience)

    def last_opened(self, before: int = ALWAYS) -> int:
        """The entry since which others read it, too, who may not read every public channel; 0: none do, or
        they always did."""
        last = bisect_left(self.seqs, before)
        first = last
        while first and self.audiences[first - 1] not in INSIDE:
            first -= 1
        if not 0 < first < last:
            return 0
        return self.seqs[first]


@dataclass(slots=True, kw_only=True)
class UnpromptedThreads:
    """What the soul said at the top of one channel, in no thread, up to some entry: the seq of each ts."""

    upto: int = 0
    seqs: dict[str, int] = field(default_factory=dict)


class KnownChannels(Projection):
    """The channels of a journal's conversations."""

    kinds = (ConversationOpened, AudienceChanged)
    holds_words = False

    def _reset(self) -> None:
        self._channels: dict[tuple[str, str], KnownChannel] = {}
        self._of: dict[str, KnownChannel] = {}
        self._unasked: dict[str, UnpromptedThreads] = {}
        """By the thread of the channel itself."""

    def channel_of(self, thread: str) -> KnownChannel | None:
        """Where a conversation is; None if it is not in Slack."""
        if not thread:
            return None
        root = root_of(thread)
        if not self._whole or root not in self._of:
            self.fold()
        return self._of.get(root)

    def has_channel(self, team: str, channel: str) -> bool:
        """Has the soul ever spoken, or been spoken to, in this channel?"""
        self.fold()
        return (team, channel) in self._channels

    def name(self, thread: str) -> str:
        """What it is called in a sentence, where this conversation is; empty if it is not in Slack."""
        channel = self.channel_of(thread)
        if channel is None:
            return ""
        return channel.name

    def visible_channels(self, here: KnownChannel, before: int = ALWAYS) -> list[KnownChannel]:
        """The channels whose content may be known in this one."""
        self.fold()
        mine = here.audience_before(before)
        return [there for there in self._channels.values() if may_know(mine, there.audience_before(before))]

    def find_unprompted(self, team: str, channel: str, ts: str) -> int:
        """The entry of the message of this ts, if the soul said it there unasked, in no thread; 0: it did
        not."""
        top = self.journal.get(thread_key(team, channel, ""))
        if top is None or not ts:
            return 0
        known = self._unasked.setdefault(top.thread, UnpromptedThreads())
        for said in self.journal.thread_entries(top.thread, SpeechFinished, since=known.upto):
            known.upto = said.seq
            known.seqs.setdefault(said.event.ts, said.seq)
        return known.seqs.get(ts, 0)

    def _fold_entry(self, entry: Entry[ConversationOpened | AudienceChanged]) -> None:
        said = entry.event
        channel = self._channels.get((said.team, said.channel))
        if isinstance(said, ConversationOpened):
            if channel is None:
                number = len(self._channels) + 1
                channel = KnownChannel(number=number, team=said.team, channel=said.channel, name=said.place)
                self._channels[said.team, said.channel] = channel
            channel.now = current_name(channel.now, said.place)
            self._of[entry.thread] = channel
        if channel and said.audience != channel.audience:  # without a channel nobody has said anything there
            channel.seqs.append(entry.seq)
            channel.audiences.append(said.audience)


class ForgottenPeople(Projection):
    """Whose words are forgotten, and which of the soul's."""

    kinds = (ForgetRequested, EntriesForgotten)
    holds_words = False

    def _reset(self) -> None:
        self._until: dict[str, float] = {}
        self._unsaid = set[str]()

    def forgotten_until(self, person: str) -> float:
        """Until when this person was forgotten, as Slack dates it; 0 for who was not."""
        self.fold()
        return self._until.get(person, 0.0)

    def forgotten_messages(self) -> frozenset[str]:
        """The ts of all that the soul said and has forgotten."""
        self.fold()
        return frozenset(self._unsaid)

    def _fold_entry(self, entry: Entry[Any]) -> None:
        wanted = entry.event
        if isinstance(wanted, EntriesForgotten):
            said = of_kind(SpeechFinished, self.journal.readable_entries(wanted.seqs))
            self._unsaid.update(one.event.ts for one in said)
        elif not wanted.seqs:
            known = self._until.get(wanted.person, 0.0)
            since = float(confirmed_at(self.journal, entry))
            self._until[wanted.person] = max(known, since)


def confirmed_at(journal: JournalReader, asked: Entry[ForgetRequested] | Entry[DeleteRequested]) -> str:
    """When they confirmed it, as Slack dates it: the clock of this machine may be wrong."""
    ts = f"{asked.at:.6f}"
    for press in journal.tree_entries(asked.thread, ButtonPress):
        if press.seq < asked.seq:
            ts = press.event.ts
    return ts


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


PUBLIC = ""


class VisibilityCheck(Protocol):
    """May what was written in this view, in the entry `wrote`, be known?"""

    def __call__(self, there: str, wrote: int = ALWAYS) -> bool: ...


def always_visible(there: str, wrote: int = ALWAYS) -> bool:
    """Nothing is withheld: for what no one is shown."""
    return True


class Visibility:
    """Says what may be shown in which view."""

    def __init__(self, places: KnownChannels) -> None:
        self._places = places

    async def update(self) -> None:
        """Read who can read where, in pieces: then nobody waits for it."""
        await self._places.update()

    @property
    def entries_left(self) -> int:
        """How many entries of the journal were not looked at yet."""
        return self._places.entries_left

    def may_know(self, here: str, there: str, before: int = ALWAYS, wrote: int = ALWAYS) -> bool:
        """Could everyone who reads `here` have read what was written in sight of `there`?

        In sight of public things only, what is public may be known, and nothing else. `before` says as of
        which entry; what a thread that is no conversation holds is nobody else's. `wrote` is the entry in
        which it was written. A channel may since have been shared with outsiders: what was written there
        before may rest on public things that they cannot read, and so it stays hidden.
        """
        return self.make_check(here, before)(there, wrote)

    def make_check(self, here: str, before: int = ALWAYS) -> VisibilityCheck:
        """The same for many views: it looks into the journal once, and answers as of `before`."""
        self._places.fold()
        inside = self._audience(here, before)
        channel = self._places.channel_of(here)
        opened = 0
        if channel:
            opened = channel.last_opened(before)

        @cache
        def may_know_here(there: str) -> bool:
            if here == there:
                return True
            written = self._audience(there, before)
            if here == PUBLIC:
                return written is not None and written.audience == "public"
            if inside is None:
                return False
            if there == PUBLIC:
                return inside.audience in INSIDE
            return written is not None and may_know(inside, written)

        def knows(there: str, wrote: int = ALWAYS) -> bool:
            if wrote < opened and self.are_in_one_channel(here, there):
                return False
            return may_know_here(there)

        return knows

    def are_in_one_channel(self, here: str, there: str) -> bool:
        """Are both conversations in one channel, or in one DM?"""
        channel = self._places.channel_of(here)
        return channel is not None and channel is self._places.channel_of(there)

    def place(self, view: str) -> str:
        """What the conversation is called in a sentence; empty where it is none."""
        return self._places.name(view)

    def _audience(self, view: str, before: int) -> AudienceChanged | None:
        channel = self._places.channel_of(view)
        if channel is None:
            return None
        return channel.audience_before(before)

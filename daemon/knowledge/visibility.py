"""Visibility: audiences of conversations, and content that their readers may know.

A view is a conversation's thread, or empty for public content. Audiences are read by channel and key, which
is fast even in a long journal. Forgotten content stays hidden although Slack has it.
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
    moment_of,
    thread_key,
)

INSIDE = frozenset({"public", "private", "group", "dm"})
"""Audiences without known outsiders: all of them may read the public channels of their team."""


def may_know(here: AudienceChanged, there: AudienceChanged) -> bool:
    """True if everyone who reads `here` could have read `there`.

    True within a channel, and for public channels unless outsiders read `here`. Unknown audiences share
    nothing.
    """
    if here.team != there.team:
        return False
    open_to_all = there.audience == "public" and here.audience in INSIDE
    return here.channel == there.channel or open_to_all


def current_name(known: str, place: str) -> str:
    """Return `place` if it is a channel's name; else the known name, if any."""
    if known and not place.startswith("#"):
        return known
    return place


@dataclass(slots=True, kw_only=True)
class KnownChannel:
    """A channel or DM. `name` is its first name, the same in replays; `now` is its latest."""

    number: int
    team: str
    channel: str
    name: str
    now: str = ""
    seqs: list[int] = field(default_factory=list)
    audiences: list[str] = field(default_factory=list)
    """Audience from each of `seqs` on; a channel can become private or shared."""

    @property
    def audience(self) -> str:
        if not self.audiences:
            return ""
        return self.audiences[-1]

    def audience_before(self, seq: int) -> AudienceChanged:
        last = bisect_left(self.seqs, seq)
        audience = self.audiences[last - 1] if last else ""
        return AudienceChanged(team=self.team, channel=self.channel, audience=audience)

    def last_opened(self, before: int = ALWAYS) -> int:
        """Return the seq since which outsiders read the channel; 0 if they never or always could."""
        last = bisect_left(self.seqs, before)
        first = last
        while first and self.audiences[first - 1] not in INSIDE:
            first -= 1
        if not 0 < first < last:
            return 0
        return self.seqs[first]


@dataclass(slots=True, kw_only=True)
class UnpromptedThreads:
    upto: int = 0
    seqs: dict[str, int] = field(default_factory=dict)


class KnownChannels(Projection):
    kinds = (ConversationOpened, AudienceChanged)
    holds_words = False

    def _reset(self) -> None:
        self._channels: dict[tuple[str, str], KnownChannel] = {}
        self._of: dict[str, KnownChannel] = {}
        self._unasked: dict[str, UnpromptedThreads] = {}

    def channel_of(self, thread: str) -> KnownChannel | None:
        """Return a conversation's channel; None outside Slack."""
        if not thread:
            return None
        root = root_of(thread)
        if not self._whole or root not in self._of:
            self.fold()
        return self._of.get(root)

    def has_channel(self, team: str, channel: str) -> bool:
        self.fold()
        return (team, channel) in self._channels

    def name(self, thread: str) -> str:
        """Return a channel's name for a sentence; empty outside Slack."""
        channel = self.channel_of(thread)
        if channel is None:
            return ""
        return channel.name

    def channel_name(self, team: str, channel: str) -> str:
        """Return the latest name of a channel for a sentence; empty if it is not known."""
        self.fold()
        known = self._channels.get((team, channel))
        return (known.now or known.name) if known else ""

    def visible_channels(self, here: KnownChannel, before: int = ALWAYS) -> list[KnownChannel]:
        self.fold()
        mine = here.audience_before(before)
        return [there for there in self._channels.values() if may_know(mine, there.audience_before(before))]

    def find_unprompted(self, team: str, channel: str, ts: str) -> int:
        """Return the seq of the soul's top-level message with this ts; 0 if there is none."""
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
        if channel and said.audience != channel.audience:  # None before the channel's first conversation
            channel.seqs.append(entry.seq)
            channel.audiences.append(said.audience)


class ForgottenPeople(Projection):
    """Forgotten people, and forgotten messages of the soul."""

    kinds = (ForgetRequested, EntriesForgotten)
    holds_words = False

    def _reset(self) -> None:
        self._until: dict[str, float] = {}
        self._unsaid = set[str]()

    def forgotten_until(self, person: str) -> float:
        self.fold()
        return self._until.get(person, 0.0)

    def covers(self, person: str, ts: str) -> bool:
        """True if this person wants a message of this Slack time forgotten."""
        return moment_of(ts) <= self.forgotten_until(person)

    def forgotten_messages(self) -> frozenset[str]:
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
    """Return the Slack time at which a request was confirmed; the local clock may be wrong."""
    ts = f"{asked.at:.6f}"
    for press in journal.tree_entries(asked.thread, ButtonPress):
        if press.seq < asked.seq:
            ts = press.event.ts
    return ts


class ChannelId(NamedTuple):
    team: str
    channel: str


NOTED = ("$.team", "$.channel", "$.audience")


@dataclass(slots=True, kw_only=True)
class AudienceHistory:
    """Audience of a channel from each of `seqs` on. Of conversations opened before the history was read, only
    the last (`since`) counts.
    """

    since: int = 0
    seqs: list[int] = field(default_factory=list)
    audiences: list[str] = field(default_factory=list)

    def add(self, seq: int, audience: str) -> None:
        self.seqs.append(seq)
        self.audiences.append(audience)

    def last_before(self, before: int) -> tuple[int, str]:
        """Return the seq and value of the last audience before an entry; `0, ""` without one."""
        place = bisect_left(self.seqs, before)
        if not place:
            return 0, ""
        return self.seqs[place - 1], self.audiences[place - 1]


Histories = dict[ChannelId, AudienceHistory]


class ChannelAudiences(PartialProjection):
    kinds = (ConversationOpened, AudienceChanged)
    holds_words = False

    def channel_of(self, thread: str) -> ChannelId | None:
        root = root_of(thread)
        if root not in self._channels:
            found = read_channel_of(self.journal, root)
            if found is None:
                return None
            self._channels[root] = found
        return self._channels[root]

    async def load(self, channels: Iterable[ChannelId]) -> None:
        self.fold()
        missing = [channel for channel in dict.fromkeys(channels) if channel not in self._histories]
        if missing:
            self._histories |= await self._read_in_thread(dict, partial(_read_audiences_on, missing))

    def audience_before(self, channel: ChannelId, seq: int) -> AudienceChanged:
        self.fold()
        if channel not in self._histories:
            self._histories |= self._read(dict, partial(_read_audiences_on, [channel]))
        history = self._histories[channel]
        found, audience = history.last_before(seq)
        if seq <= history.since:  # earlier conversations were not read
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
    for opened in journal.latest_first(thread, ConversationOpened):
        return ChannelId(opened.event.team, opened.event.channel)
    return None


def _read_audiences_on(
    channels: Sequence[ChannelId], histories: Histories, journal: JournalReader, since: int, upto: int
) -> None:
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
    """Check if content of the view `there`, written by the entry `wrote`, may be known."""

    def __call__(self, there: str, wrote: int = ALWAYS) -> bool: ...


def always_visible(there: str, wrote: int = ALWAYS) -> bool:
    """Return True, for content that nobody is shown."""
    return True


class Visibility:
    def __init__(self, places: KnownChannels) -> None:
        self._places = places

    async def update(self) -> None:
        await self._places.update()

    @property
    def entries_left(self) -> int:
        return self._places.entries_left

    def may_know(self, here: str, there: str, before: int = ALWAYS, wrote: int = ALWAYS) -> bool:
        """True if everyone who reads view `here` could have read content of view `there`, as of the entry
        `before`.

        Threads outside conversations share nothing. If outsiders joined a channel, its older entries
        (`wrote`) are hidden: they may rest on public content that outsiders cannot read.
        """
        return self.make_check(here, before)(there, wrote)

    def make_check(self, here: str, before: int = ALWAYS) -> VisibilityCheck:
        """Return a check of many views against `here`, as of the entry `before`."""
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
        channel = self._places.channel_of(here)
        return channel is not None and channel is self._places.channel_of(there)

    def place(self, view: str) -> str:
        return self._places.name(view)

    def _audience(self, view: str, before: int) -> AudienceChanged | None:
        channel = self._places.channel_of(view)
        if channel is None:
            return None
        return channel.audience_before(before)

"""Which conversations there are, and what of one may be known in another."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.engine.reading import ALWAYS
from daemon.kinds import AudienceChanged, ConversationOpened, SpeechFinished, thread_key
from daemon.knowledge.projection import Projection

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

"""Names of people, bots and channels: asked of Slack once, then remembered. For the inbox and the history.

Who can read a channel may change, and is asked again after a while.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.kinds import SharedFile
from daemon.ports import Clock
from daemon.slack.guests import Guests
from daemon.slack.message import Message
from daemon.slack.order import Order
from daemon.slack.policy import Me
from daemon.slack.refusals import OUT_OF_REACH, final
from daemon.slack.text import A_CHANNEL, SOMEONE, named, readable, unnamed
from daemon.slack.web import Web, free

PATIENCE = 1.0
"""Seconds that a message may wait for names; Slack wants its ack within three."""
FRESH = 600.0
"""Seconds for which is believed who can read a conversation."""
GROUP = "a group conversation"
GROUP_MOST = 20
"""People in a private channel, or in a group DM, into which Slack lets fewer: of a larger one nobody asks who
they are."""
DM = "a direct message"
Audience = Literal["", "dm", "group", "private", "shared", "public"]
"""Who can read a conversation: those in a DM, in a group DM, in a private channel; people, too, or soon,
who cannot read every public channel; everybody in the workspace. Empty: Slack did not say."""
OUTSIDE = ("is_restricted", "is_ultra_restricted", "is_stranger")
"""What Slack says of guests, and of people whom it knows from elsewhere."""

A_MESSAGE = 20
"""Names that one message is worth."""
A_MINUTE = 60
"""Names that are asked for in a minute, whoever writes: Slack takes about a hundred questions."""
MINUTE = 60.0
REFUSED = 600.0
"""Seconds for which a refusal is believed."""
KEPT = 10_000
"""Refusals that are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """A conversation: its kind (dm, channel, group), what to call it, and who can read it."""

    kind: str
    name: str
    audience: Audience


class Words(TypedDict):
    """What is written down of what someone said: the fields of `kinds.Said`, but for its note."""

    user: str
    name: str
    text: str
    ts: str
    bot: bool
    files: tuple[SharedFile, ...]


class People:
    """Who is who in the workspace, and where."""

    def __init__(self, web: Web, me: Me, guests: Guests) -> None:
        self._web = web
        self._guests = guests
        self._names = dict.fromkeys((me.user, me.bot), named(me.name))
        self._team, self._user = me.team, me.user
        self._audiences = dict[str, tuple[Audience, float]]()
        """Of each channel, and of a DM with each person, as it was at that steady time."""
        self._outsiders = set[str]()
        """Ids of guests, and of people from outside, of those who were asked for."""
        self._asking = Order()
        self._thrift = Thrift(web.clock)

    def known(self, id: str) -> str:
        """The name of someone, if it was asked for already."""
        return self._names.get(id, "")

    async def name(self, id: str) -> str:
        """The name of someone; empty where Slack does not say it in time."""
        await self._learn([id])
        return self.known(id)

    async def describe(self, message: Message, *, at_once: bool = False, readers: bool = False) -> Words:
        """Everything that a model will read of a message.

        `at_once`: Slack is asked for no names; who has none yet goes by their id. With `readers` it is asked
        at the same time for what `whereabouts` tells. Raises JournalError.
        """
        unknown = [] if at_once else self._worth_asking(message)
        nobody = message.author if at_once else SOMEONE
        of = [_read_by(message.channel, message.kind, message.author)] if readers else []
        await self._learn(unknown, of)
        await self.seen(message)
        return Words(
            user=message.author,
            name=message.name or self.known(message.author) or nobody,
            text=readable(message.text, self._names),
            ts=message.ts,
            bot=message.by_bot,
            files=message.files,
        )

    async def seen(self, message: Message) -> None:
        """Write down that a guest reads there, if whoever wrote this is known as one. Raises JournalError."""
        if message.author in self._outsiders and message.kind != "dm":
            await self._guests.wrote(message.channel)

    def whereabouts(self, message: Message) -> Whereabouts:
        """Where a message was said that was described with its `readers`, and who they are."""
        return self._where(message.channel, message.kind, message.author)

    async def where(self, channel: str, kind: str, person: str) -> Whereabouts:
        """Where a conversation of this kind is, and who can read it now; `person` is someone else in it."""
        await self._learn(readers=[_read_by(channel, kind, person)])
        return self._where(channel, kind, person)

    def _where(self, channel: str, kind: str, person: str) -> Whereabouts:
        of = _read_by(channel, kind, person)
        name = self.known(of)
        if kind == "dm":
            name = DM
        elif kind == "group" or name == GROUP:
            kind, name = "group", GROUP
        else:
            kind = "channel"
        return Whereabouts(kind=kind, name=name or A_CHANNEL, audience=self._audience(of))

    async def audience(self, id: str) -> Audience:
        """Who can read a channel, or a DM with this person, now."""
        await self._learn(readers=[id])
        return self._audience(id)

    def doubt(self, channel: str) -> None:
        """Believe no longer what is known of who can read this channel."""
        self._audiences.pop(channel, None)

    def _audience(self, id: str) -> Audience:
        if self._guests.have_written(id):
            return "shared"
        return self._audiences[id][0] if self._is_fresh(id) else ""

    def _is_fresh(self, id: str) -> bool:
        """Was it asked lately who can read there? Slack may have left that open."""
        return id in self._audiences and self._web.clock.steady() - self._audiences[id][1] < FRESH

    def _worth_asking(self, message: Message) -> list[str]:
        """Who wrote it, if they have no name yet, and of those whom it mentions as many as is thrifty."""
        author = [] if message.name or message.author in self._names else [message.author]
        unknown = [id for id in unnamed(message.text) if id not in self._names and id not in author]
        return author + self._thrift.choose(unknown)

    def _lacks(self, id: str, readers: bool) -> bool:
        """Is there something to ask Slack about this?"""
        if id not in self._names:
            return True
        return readers and not (self._audience(id) or self._is_fresh(id))

    async def _learn(self, names: Iterable[str] = (), readers: Iterable[str] = ()) -> None:
        """The names of these, within a second: what Slack did not say by then stays unnamed this time.

        Of the `readers` it is also asked, where that is not known or was long ago, who can read there.
        """
        lacking = {id: False for id in names if self._lacks(id, readers=False)}
        lacking |= {id: True for id in readers if self._lacks(id, readers=True)}
        if lacking:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._ask_all(lacking)

    async def _ask_all(self, lacking: Mapping[str, bool]) -> None:
        """For each of these ids its name; and who can read there, where that is said of it."""
        async with asyncio.TaskGroup() as asking:
            for id, readers in lacking.items():
                asking.create_task(self._ask(id, readers))

    async def _ask(self, id: str, readers: bool) -> None:
        async with self._asking.of(id):
            if self._lacks(id, readers):
                try:
                    self._names[id] = named(await self._name(id))
                except SlackApiError as refusal:
                    if final(refusal):
                        self._thrift.refused(id)
                except OUT_OF_REACH:
                    pass

    async def _name(self, id: str) -> str:
        client = self._web.client
        match id[:1]:
            case "B":
                bot = _part(await self._web.call(free, client.bots_info, bot=id), "bot")
                return str(bot.get("name") or "")
            case "C" | "G":
                answer = await self._web.call(free, client.conversations_info, channel=id)
                channel = _part(answer, "channel")
                name = GROUP if channel.get("is_mpim") else f"#{channel.get('name')}"
                self._names[id] = named(name)  # whatever is said of its members
                if channel:
                    self._believe(id, await self._audience_in(id, _audience_of(channel)))
                return name
        user = _part(await self._web.call(free, client.users_info, user=id), "user")
        audience = _alone(user, self._team)
        self._believe(id, audience)
        if audience == "shared":
            self._outsiders.add(id)
        elif audience == "dm":
            self._outsiders.discard(id)
        profile = _part(user, "profile")
        return str(profile.get("display_name") or profile.get("real_name") or user.get("name") or "")

    async def _audience_in(self, channel: str, told: Audience) -> Audience:
        """Who can read a channel of which Slack has `told` this: it does not tell of the guests in it."""
        if told not in ("group", "private"):
            return told
        answer = await self._web.call(free, self._web.client.conversations_members, channel=channel)
        members = answer.get("members")
        if not isinstance(members, list):
            return ""
        if len(members) > GROUP_MOST + 1 or _part(answer, "response_metadata").get("next_cursor"):
            return "private" if told == "private" else ""
        return await self._as_open(told, set(map(str, members)) - {self._user})

    async def _as_open(self, told: Audience, others: set[str]) -> Audience:
        """What these people read together is as open as a DM with each of them."""
        await self._ask_all({other: True for other in others if self._lacks(other, readers=True)})
        found = {self._audience(other) for other in others}
        if "shared" in found:
            return "shared"
        return told if found == {"dm"} else ""

    def _believe(self, id: str, audience: Audience) -> None:
        self._audiences[id] = (audience, self._web.clock.steady())


class Thrift:
    """Which names Slack is asked for because somebody wrote an id: a text may hold thousands.

    Bounds what is asked, by message and by minute, and asks nothing again that was refused lately.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: deque[float] = deque(maxlen=A_MINUTE)
        self._refused: dict[str, float] = {}

    def choose(self, ids: Iterable[str]) -> list[str]:
        """Those of these ids that may be asked for now, the first ones first; they count as asked."""
        chosen: list[str] = []
        for id in ids:
            if len(chosen) == A_MESSAGE or not self._has_room():
                break
            if not self._was_refused(id):
                chosen.append(id)
                self._asked.append(self._clock.steady())
        return chosen

    def refused(self, id: str) -> None:
        """Slack does not know this id, or does not tell us of it."""
        if len(self._refused) >= KEPT:
            del self._refused[next(iter(self._refused))]
        self._refused[id] = self._clock.steady()

    def _has_room(self) -> bool:
        return len(self._asked) < A_MINUTE or self._clock.steady() - self._asked[0] >= MINUTE

    def _was_refused(self, id: str) -> bool:
        at = self._refused.get(id)
        return at is not None and self._clock.steady() - at < REFUSED


def _read_by(channel: str, kind: str, person: str) -> str:
    """Of whom or what it is asked who can read a conversation; `person` is someone else in it."""
    return person if kind == "dm" else channel


def _part(whole: AsyncSlackResponse | Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of an answer; nothing where it is not what Slack promises."""
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}


def _audience_of(channel: Mapping[str, Any]) -> Audience:
    if not channel:
        return ""
    if channel.get("is_mpim"):
        return "group"
    abroad = ("is_ext_shared", "is_pending_ext_shared", "pending_shared", "pending_connected_team_ids")
    if any(channel.get(name) for name in abroad):
        return "shared"
    return "private" if channel.get("is_private") else "public"


def _alone(user: Mapping[str, Any], team: str) -> Audience:
    """Who can read a DM with this person: not everybody reads the public channels of this team."""
    if any(user.get(name) for name in OUTSIDE):
        return "shared"
    home, teams = user.get("team_id"), _part(user, "enterprise_user").get("teams")
    if home == team or (isinstance(teams, list) and team in teams):
        return "dm"
    return "shared" if home else ""

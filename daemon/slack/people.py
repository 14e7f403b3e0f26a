"""Names of people, bots and channels: asked of Slack once, then remembered. For the inbox and the history.

Who can read a channel may change, and is asked again after a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.slack.message import Message
from daemon.slack.order import Order
from daemon.slack.policy import Me
from daemon.slack.text import SOMEONE, named, readable, unnamed
from daemon.slack.web import OUT_OF_REACH, Web, free

PATIENCE = 1.0
"""Seconds that a message may wait for names; Slack wants its ack within three."""
FRESH = 600.0
"""Seconds for which is believed who can read a channel."""
GROUP = "a group conversation"
DM = "a direct message"
Audience = Literal["", "dm", "group", "private", "shared", "public"]
"""Who can read a conversation: those in a DM, in a group DM, in a private channel; people of another
organisation, too, or soon; everybody in the workspace. Empty: Slack did not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """A conversation: its kind (dm, channel, group), what to call it, and who can read it."""

    kind: str
    name: str
    audience: Audience


class People:
    """Who is who in the workspace, and where."""

    def __init__(self, web: Web, me: Me) -> None:
        self._web = web
        self._names = dict.fromkeys((me.user, me.bot), named(me.name))
        self._audiences = dict[str, tuple[Audience, float]]()
        """Of each channel, as it was at that time."""
        self._asking = Order()

    def known(self, id: str) -> str:
        """The name of someone, if it was asked for already."""
        return self._names.get(id, "")

    async def describe(self, message: Message, *, at_once: bool = False) -> dict[str, Any]:
        """The body of a message's entry: everything a model will read of it.

        `at_once`: Slack is asked for no names; who has none yet goes by their id.
        """
        nameless = set() if message.name else {message.author}
        asked = unnamed(message.text) | nameless
        names = dict(self._names) if at_once else await self._named(asked)
        return {
            "user": message.author,
            "name": message.name or names.get(message.author) or message.author,
            "bot": message.by_bot,
            "text": readable(message.text, names),
            "ts": message.ts,
            "files": list(message.files),
        }

    async def whereabouts(self, message: Message) -> Whereabouts:
        """Where a message was said."""
        if message.kind == "dm":
            return Whereabouts(kind="dm", name=DM, audience="dm")
        if message.kind == "group":
            return Whereabouts(kind="group", name=GROUP, audience="group")
        name = (await self._named({message.channel}))[message.channel]
        kind = "group" if name == GROUP else "channel"
        return Whereabouts(kind=kind, name=name, audience=self._audience(message.channel))

    def _audience(self, channel: str) -> Audience:
        audience, at = self._audiences.get(channel, ("", 0.0))
        return audience if self._web.clock.now() - at < FRESH else ""

    def _lacks(self, id: str) -> bool:
        """Is there something to ask Slack about this?"""
        return id not in self._names or (id in self._audiences and not self._audience(id))

    async def _named(self, ids: Iterable[str]) -> Mapping[str, str]:
        """A name for each id, within a second: what Slack did not say by then stays unnamed this time."""
        ids = set(ids)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as asking:
                for id in filter(self._lacks, ids):
                    asking.create_task(self._ask(id))
        return {id: self._names.get(id) or _nameless(id) for id in ids}

    async def _ask(self, id: str) -> None:
        async with self._asking.of(id):
            if self._lacks(id):
                with suppress(SlackApiError, *OUT_OF_REACH):
                    self._names[id] = named(await self._name(id))

    async def _name(self, id: str) -> str:
        client = self._web.client
        match id[:1]:
            case "B":
                bot = _part(await self._web.call(free, client.bots_info, bot=id), "bot")
                return str(bot.get("name") or "")
            case "C" | "G":
                answer = await self._web.call(free, client.conversations_info, channel=id)
                channel = _part(answer, "channel")
                self._audiences[id] = (_audience_of(channel), self._web.clock.now())
                return GROUP if channel.get("is_mpim") else f"#{channel.get('name')}"
        user = _part(await self._web.call(free, client.users_info, user=id), "user")
        profile = _part(user, "profile")
        return str(profile.get("display_name") or profile.get("real_name") or user.get("name") or "")


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


def _nameless(id: str) -> str:
    return "a channel" if id[:1] in ("C", "G") else SOMEONE

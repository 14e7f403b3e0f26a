"""Names of people, bots and channels: asked of Slack once, then remembered. For the inbox and the history."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.slack.message import Message
from daemon.slack.order import Order
from daemon.slack.policy import Me
from daemon.slack.text import SOMEONE, named, readable, unnamed
from daemon.slack.web import OUT_OF_REACH, Web, free

PATIENCE = 1.0
"""Seconds that a message may wait for names; Slack wants its ack within three."""
GROUP = "a group conversation"
DM = "a direct message"


class People:
    """Who is who in the workspace, and where."""

    def __init__(self, web: Web, me: Me) -> None:
        self._web = web
        self._names = dict.fromkeys((me.user, me.bot), named(me.name))
        self._asking = Order()

    async def describe(self, message: Message) -> dict[str, Any]:
        """The body of a message's entry: everything a model will read of it."""
        nameless = set() if message.name else {message.author}
        names = await self._named(unnamed(message.text) | nameless)
        return {
            "user": message.author,
            "name": message.name or names[message.author],
            "bot": message.by_bot,
            "text": readable(message.text, names),
            "ts": message.ts,
            "files": list(message.files),
        }

    async def whereabouts(self, message: Message) -> tuple[str, str]:
        """The kind of a message's conversation (dm, channel, group), and what to call it."""
        if message.kind == "dm":
            return "dm", DM
        if message.kind == "group":
            return "group", GROUP
        name = (await self._named({message.channel}))[message.channel]
        return ("group" if name == GROUP else "channel"), name

    async def _named(self, ids: Iterable[str]) -> Mapping[str, str]:
        """A name for each id, within a second: what Slack did not say by then stays unnamed this time."""
        ids = set(ids)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as asking:
                for id in ids - self._names.keys():
                    asking.create_task(self._ask(id))
        return {id: self._names.get(id) or _nameless(id) for id in ids}

    async def _ask(self, id: str) -> None:
        async with self._asking.of(id):
            if id not in self._names:
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
                return GROUP if channel.get("is_mpim") else f"#{channel.get('name')}"
        user = _part(await self._web.call(free, client.users_info, user=id), "user")
        profile = _part(user, "profile")
        return str(profile.get("display_name") or profile.get("real_name") or user.get("name") or "")


def _part(whole: AsyncSlackResponse | Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of an answer; nothing where it is not what Slack promises."""
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}


def _nameless(id: str) -> str:
    return "a channel" if id[:1] in ("C", "G") else SOMEONE

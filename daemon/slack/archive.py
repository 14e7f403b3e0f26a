"""What Slack keeps: the conversations that the soul is in, their messages, their threads.

Read at a pace that leaves Slack's patience to those who speak with the soul now: all who read here share it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.slack.message import SPOKEN, SlackMessage, message_from_item
from daemon.slack.payload import TS, MalformedPayload
from daemon.slack.refusals import slack_error
from daemon.slack.web import Item, Method, WebApi, members, named, pages

TYPES = "im,mpim,public_channel,private_channel"
"""All of Slack's types of conversations."""
MOST = 40
"""Calls in any minute, of each method. Slack allows fifty, and who is called into a thread needs some."""
MINUTE = 60.0
PATIENCE = 300
"""Seconds that Slack may let us wait for one."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedConversation:
    """One that the soul is in. `kind` is dm, group or channel."""

    id: str
    kind: str

    @property
    def is_dm(self) -> bool:
        return self.kind == "dm"


class ConversationArchive:
    """Reads it, page by page. Every method raises SlackApiError and OUT_OF_REACH."""

    def __init__(self, web: WebApi) -> None:
        self._web = web
        self._asked: dict[str, deque[float]] = {}
        """When each method was asked last, or will be, so many times at the most."""

    def now(self) -> float:
        """The time as Slack told it last, on whose clock all that it keeps is dated."""
        return self._web.now()

    async def list_conversations(self) -> list[ArchivedConversation]:
        """Every conversation that the soul is in, DMs first: there someone waits for nobody else."""
        users = self._web.client.users_conversations
        found = await self._pages(users, "channels", types=TYPES, exclude_archived=True)
        conversations = [_conversation(item) for item in found]
        return sorted(conversations, key=attrgetter("is_dm"), reverse=True)

    async def read_history(self, channel: str, since: float) -> list[Item]:
        """What stands in a conversation itself since then, and a page or two of what is older.

        For a message tells of the latest reply to it, and that may be new.
        """
        history = self._web.client.conversations_history
        return await self._pages(history, "messages", since, channel=channel)

    async def read_older(self, channel: str, ts: str) -> list[Item]:
        """One page of what stands in a conversation itself: the message of this ts, and what is older."""
        history = self._web.client.conversations_history
        where = {"channel": channel, "latest": ts, "inclusive": True}
        async for page in pages(self.call_at_pace, history, "messages", 1, **where):
            return _sound(page)
        return []

    async def read_replies(self, channel: str, root: str, since: float) -> list[Item]:
        """What was said in a thread since then, and its root, with the metadata of our own messages; nothing
        where the thread was deleted."""
        replies = self._web.client.conversations_replies
        where: dict[str, Any] = {"channel": channel, "ts": root, "oldest": f"{since:.6f}"}
        where["include_all_metadata"] = True
        try:
            return await self._pages(replies, "messages", **where)
        except SlackApiError as refusal:
            if slack_error(refusal) == "thread_not_found":
                return []
            raise

    async def read_message(self, channel: str, root: str, ts: str) -> Item | None:
        """One message of a thread as it reads now, with its metadata; None where it is not there."""
        replies = self._web.client.conversations_replies
        where: dict[str, Any] = {
            "channel": channel,
            "ts": root,
            "oldest": ts,
            "latest": ts,
            "inclusive": True,
        }
        try:
            async for page in pages(
                self.call_at_pace, replies, "messages", 1, include_all_metadata=True, **where
            ):
                return next((item for item in page if item.get("ts") == ts), None)
        except SlackApiError as refusal:
            if slack_error(refusal) != "thread_not_found":
                raise
        return None

    async def read_members(self, channel: str) -> set[str]:
        """The ids of those who are in a conversation."""
        return await members(self.call_at_pace, self._web.client.conversations_members, channel)

    async def call_at_pace(self, method: Method, **arguments: Any) -> AsyncSlackResponse:
        """Call a method at the pace of all who read here, in the order in which they come: each takes its
        time before it waits."""
        asked = self._asked.setdefault(named(method), deque(maxlen=MOST))
        now = due = self._web.clock.steady()
        if len(asked) == MOST:
            due = max(now, asked[0] + MINUTE)
        asked.append(due)
        if due > now:
            await self._web.clock.sleep(due - now)
        return await self._web.call_readonly(method, patience=PATIENCE, **arguments)

    async def _pages(self, method: Method, key: str, since: float = 0.0, **arguments: Any) -> list[Item]:
        """The items under `key` of all pages, or up to the first one that is older than `since`."""
        items: list[Item] = []
        async for page in pages(self.call_at_pace, method, key, **arguments):
            page = _sound(page)
            items += page
            if page and max(map(time_of, page)) < since:
                break
        return items


def time_of(item: Item, name: str = "ts") -> float:
    """When a message was written, or what else this field is the ts of; long ago if it is none."""
    ts = str(item.get(name))
    if not TS.fullmatch(ts):
        return 0.0
    return float(ts)


def message_if_said(item: Item, channel: str, kind: str) -> SlackMessage | None:
    """The message that this is, if someone said it, and it can be read."""
    if item.get("subtype") not in SPOKEN:
        return None
    try:
        return message_from_item(item, channel=channel, kind=kind)
    except MalformedPayload as fault:
        log.warning("Slack keeps a message in %s that cannot be read: %s.", channel, fault)
        return None


def active_threads(items: Iterable[Item], since: float) -> dict[str, float]:
    """The roots of the threads in which, as these messages tell, something was said since then; and when.

    A root that does not tell of its latest reply may have one: when it was written itself counts then.
    """
    found: dict[str, float] = {}
    for item in items:
        root = str(item.get("thread_ts"))
        latest = max(time_of(item), time_of(item, "latest_reply"))
        untold = root == item.get("ts") and "latest_reply" not in item
        if time_of(item, "thread_ts") and (untold or latest >= since):
            found[root] = max(latest, found.get(root, 0.0))
    return found


def _sound(page: Iterable[Item]) -> list[Item]:
    return [item for item in page if isinstance(item.get("thread_ts"), str | None)]


def _conversation(item: Item) -> ArchivedConversation:
    kind = "channel"
    if item.get("is_im"):
        kind = "dm"
    elif item.get("is_mpim"):
        kind = "group"
    return ArchivedConversation(id=str(item.get("id")), kind=kind)

"""conversations.*: what there is to read, and where; opening and creating."""

from __future__ import annotations

import re
from typing import Any

from rehearsal.api.call import Call, Method
from rehearsal.api.cursors import Span, page, span
from rehearsal.channels import (
    TYPES,
    Channel,
    all_channels,
    channel_json,
    channel_of,
    create,
    direct,
    invite,
    rename,
)
from rehearsal.events import happened
from rehearsal.messages import Message, find, history, message_json, replies
from rehearsal.people import NAMES, TEAM, app_of
from rehearsal.refusal import Refused, missing


def list_all(call: Call) -> dict[str, Any]:
    """The conversations that the caller may see, #general first."""
    found, more = page(call, visible(call, call.user))
    return {"channels": [channel_json(channel, call.user) for channel in found], **more}


def info(call: Call) -> dict[str, Any]:
    """One of them."""
    channel = call.channel()
    return {"channel": channel_json(channel, call.user)}


def members(call: Call) -> dict[str, Any]:
    """Who is in it."""
    channel = call.channel()
    found, more = page(call, channel.members)
    return {"members": list(found), **more}


def read_history(call: Call) -> dict[str, Any]:
    """What stands in the channel itself, newest first."""
    channel = _readable(call)
    asked = span(call)
    latest = min(asked.latest, asked.cursor or asked.latest)
    found = history(call.db, channel.id, asked.oldest, latest, asked.limit + 1)
    return _messages(call, found, asked)


def read_replies(call: Call) -> dict[str, Any]:
    """A thread: its root (which counts for `limit`), then the replies, oldest first."""
    channel = _readable(call)
    asked = span(call)
    root = find(call.db, channel.id, call.need("ts"), error="thread_not_found")
    oldest = max(asked.oldest, asked.cursor or 0)
    found = replies(call.db, root, oldest, asked.latest, asked.limit + 1)
    if not asked.cursor:
        found.insert(0, root)
    return _messages(call, found, asked)


def open_direct(call: Call) -> dict[str, Any]:
    """The DM or group DM with these users, opened if need be."""
    if call.text("channel"):
        channel, there = call.channel(), True
    else:
        everyone = (call.user, *_users(call))
        if all(app_of(user) for user in everyone):
            raise Refused("cannot_dm_bot")
        channel, there = direct(call.db, everyone, call.workspace.soul)
    shown: dict[str, Any] = {"id": channel.id}
    if call.flag("return_im"):
        shown = channel_json(channel, call.user)
    if there:
        return {"channel": shown, "no_op": True, "already_open": True}
    call.workspace.feed.tell(channel, {"type": "channel"})
    return {"channel": shown}


def create_channel(call: Call) -> dict[str, Any]:
    """A new channel."""
    return _told(call, create(call.db, _name(call), call.flag("is_private"), call.user))


def rename_channel(call: Call) -> dict[str, Any]:
    """Another name for a channel."""
    return _told(call, rename(call.db, call.joined(), _name(call)))


def _told(call: Call, channel: Channel) -> dict[str, Any]:
    """The channel as it is now; the page hears of it, too."""
    call.workspace.feed.tell(channel, {"type": "channel"})
    return {"channel": channel_json(channel, call.user)}


def _name(call: Call) -> str:
    """The name that a channel is to have."""
    name = call.need("name")
    if not re.fullmatch(r"[a-z0-9_-]{1,80}", name):
        raise Refused("invalid_name_specials")
    return name


def invite_users(call: Call) -> dict[str, Any]:
    """New members for a channel; the apps in it hear of each."""
    channel = call.joined()
    if channel.kind not in ("channel", "group"):
        raise Refused("method_not_supported_for_channel_type")
    joined = {"type": "member_joined_channel", "channel": channel.id, "team": TEAM, "inviter": call.user}
    for user in _users(call):
        invite(call.db, channel, user)
        channel = channel_of(call.db, channel.id, call.user)
        happened(call.workspace, channel, {**joined, "user": user, "channel_type": channel.id[0]})
    return _told(call, channel)


def visible(call: Call, user: str) -> list[Channel]:
    """The conversations of the types asked for that this user may see."""
    kinds = []
    for name in call.text("types", "public_channel").split(","):
        if name.strip() not in TYPES:
            raise Refused("invalid_types", detail=name)
        kinds.append(TYPES[name.strip()])
    return [one for one in all_channels(call.db) if one.kind in kinds and one.shown_to(user)]


def _users(call: Call) -> list[str]:
    users = call.listed("users")
    if not users:
        raise missing("users")
    if not NAMES.keys() >= set(users):
        raise Refused("user_not_found")
    return users


def _readable(call: Call) -> Channel:
    """A bot reads where it is a member; a person also reads public channels."""
    return call.joined() if call.caller.kind == "bot" else call.channel()


def _messages(call: Call, found: list[Message], asked: Span) -> dict[str, Any]:
    shown = found[: asked.limit]
    cursor = ""
    if len(found) > len(shown):
        cursor = Span.after(shown[-1].stamp)
    metadata = call.flag("include_all_metadata")
    return {
        "messages": [message_json(call.db, message, metadata) for message in shown],
        "has_more": bool(cursor),
        "response_metadata": {"next_cursor": cursor},
    }


METHODS = {
    "conversations.list": Method(answer=list_all, scope="channels:read"),
    "conversations.info": Method(answer=info, scope="channels:read"),
    "conversations.members": Method(answer=members, scope="channels:read"),
    "conversations.history": Method(answer=read_history, scope="channels:history"),
    "conversations.replies": Method(answer=read_replies, scope="channels:history"),
    "conversations.open": Method(answer=open_direct, scope="im:write"),
    "conversations.create": Method(answer=create_channel, scope="channels:manage"),
    "conversations.rename": Method(answer=rename_channel, scope="channels:manage"),
    "conversations.invite": Method(answer=invite_users, scope="channels:manage"),
}

"""Methods conversations.*"""

from __future__ import annotations

import re
from typing import Any

from rehearsal.api.call import ApiMethod, MethodCall
from rehearsal.api.cursors import MessageSpan, page, span
from rehearsal.channels import (
    TYPES,
    StoredChannel,
    all_channels,
    channel_json,
    channel_of,
    create,
    direct,
    invite,
    rename,
)
from rehearsal.events import happened
from rehearsal.messages import StoredMessage, find, history, message_json, replies
from rehearsal.people import NAMES, TEAM, app_of
from rehearsal.refusal import ApiError, missing


def list_all(call: MethodCall) -> dict[str, Any]:
    found, more = page(call, visible(call, call.user))
    return {"channels": [channel_json(channel, call.user) for channel in found], **more}


def info(call: MethodCall) -> dict[str, Any]:
    channel = call.channel()
    return {"channel": channel_json(channel, call.user)}


def members(call: MethodCall) -> dict[str, Any]:
    channel = call.channel()
    found, more = page(call, channel.members)
    return {"members": list(found), **more}


def read_history(call: MethodCall) -> dict[str, Any]:
    """Return a channel's messages without thread replies, newest first."""
    channel = _readable(call)
    asked = span(call)
    latest = min(asked.latest, asked.cursor or asked.latest)
    found = history(call.db, channel.id, asked.oldest, latest, asked.limit + 1)
    return _messages(call, found, asked)


def read_replies(call: MethodCall) -> dict[str, Any]:
    """Return a thread, oldest first; its root counts for `limit`."""
    channel = _readable(call)
    asked = span(call)
    root = find(call.db, channel.id, call.need("ts"), error="thread_not_found")
    oldest = max(asked.oldest, asked.cursor or 0)
    found = replies(call.db, root, oldest, asked.latest, asked.limit + 1)
    if not asked.cursor:
        found.insert(0, root)
    return _messages(call, found, asked)


def open_direct(call: MethodCall) -> dict[str, Any]:
    if call.text("channel"):
        channel, there = call.channel(), True
    else:
        everyone = (call.user, *_users(call))
        if all(app_of(user) for user in everyone):
            raise ApiError("cannot_dm_bot")
        channel, there = direct(call.db, everyone, call.workspace.soul)
    shown: dict[str, Any] = {"id": channel.id}
    if call.flag("return_im"):
        shown = channel_json(channel, call.user)
    if there:
        return {"channel": shown, "no_op": True, "already_open": True}
    call.workspace.feed.tell(channel, {"type": "channel"})
    return {"channel": shown}


def create_channel(call: MethodCall) -> dict[str, Any]:
    return _told(call, create(call.db, _name(call), call.flag("is_private"), call.user))


def rename_channel(call: MethodCall) -> dict[str, Any]:
    return _told(call, rename(call.db, call.joined(), _name(call)))


def _told(call: MethodCall, channel: StoredChannel) -> dict[str, Any]:
    """Report a changed channel to the page; return it."""
    call.workspace.feed.tell(channel, {"type": "channel"})
    return {"channel": channel_json(channel, call.user)}


def _name(call: MethodCall) -> str:
    name = call.need("name")
    if not re.fullmatch(r"[a-z0-9_-]{1,80}", name):
        raise ApiError("invalid_name_specials")
    return name


def invite_users(call: MethodCall) -> dict[str, Any]:
    """Add members; the channel's apps get an event for each."""
    channel = call.joined()
    if channel.kind not in ("channel", "group"):
        raise ApiError("method_not_supported_for_channel_type")
    joined = {"type": "member_joined_channel", "channel": channel.id, "team": TEAM, "inviter": call.user}
    for user in _users(call):
        invite(call.db, channel, user)
        channel = channel_of(call.db, channel.id, call.user)
        happened(call.workspace, channel, {**joined, "user": user, "channel_type": channel.id[0]})
    return _told(call, channel)


def visible(call: MethodCall, user: str) -> list[StoredChannel]:
    kinds = []
    for name in call.text("types", "public_channel").split(","):
        if name.strip() not in TYPES:
            raise ApiError("invalid_types", detail=name)
        kinds.append(TYPES[name.strip()])
    return [one for one in all_channels(call.db) if one.kind in kinds and one.shown_to(user)]


def _users(call: MethodCall) -> list[str]:
    users = call.listed("users")
    if not users:
        raise missing("users")
    if not NAMES.keys() >= set(users):
        raise ApiError("user_not_found")
    return users


def _readable(call: MethodCall) -> StoredChannel:
    """Return the named channel: a bot must be a member, a person may read public channels."""
    return call.joined() if call.caller.kind == "bot" else call.channel()


def _messages(call: MethodCall, found: list[StoredMessage], asked: MessageSpan) -> dict[str, Any]:
    shown = found[: asked.limit]
    cursor = ""
    if len(found) > len(shown):
        cursor = MessageSpan.after(shown[-1].stamp)
    metadata = call.flag("include_all_metadata")
    return {
        "messages": [message_json(call.db, message, metadata) for message in shown],
        "has_more": bool(cursor),
        "response_metadata": {"next_cursor": cursor},
    }


METHODS = {
    "conversations.list": ApiMethod(answer=list_all, scope="channels:read"),
    "conversations.info": ApiMethod(answer=info, scope="channels:read"),
    "conversations.members": ApiMethod(answer=members, scope="channels:read"),
    "conversations.history": ApiMethod(answer=read_history, scope="channels:history"),
    "conversations.replies": ApiMethod(answer=read_replies, scope="channels:history"),
    "conversations.open": ApiMethod(answer=open_direct, scope="im:write"),
    "conversations.create": ApiMethod(answer=create_channel, scope="channels:manage"),
    "conversations.rename": ApiMethod(answer=rename_channel, scope="channels:manage"),
    "conversations.invite": ApiMethod(answer=invite_users, scope="channels:manage"),
}

"""reactions.add and reactions.remove."""

from __future__ import annotations

import re
from typing import Any

from daemon.rehearsal.api.call import Call
from daemon.rehearsal.api.method import Method
from daemon.rehearsal.channels import Channel, joined_channel
from daemon.rehearsal.messages import Message, find, put
from daemon.rehearsal.news import apps_in, happened, tell
from daemon.rehearsal.refusal import Refused

READ = "reactions:read"
"""What an app needs to hear of reactions."""


def add(call: Call) -> dict[str, Any]:
    """An emoji on a message."""
    channel, message, name, users = _reaction(call)
    if call.caller.id in users:
        raise Refused("already_reacted")
    _react(call, channel, message, name, [*users, call.caller.id])
    return {}


def remove(call: Call) -> dict[str, Any]:
    """One's own emoji, off again."""
    channel, message, name, users = _reaction(call)
    if call.caller.id not in users:
        raise Refused("no_reaction")
    _react(call, channel, message, name, [user for user in users if user != call.caller.id])
    return {}


def _reaction(call: Call) -> tuple[Channel, Message, str, list[str]]:
    channel = joined_channel(call.workspace.db, call.need("channel"), call.caller.id)
    message = find(call.workspace.db, channel.id, call.need("timestamp"))
    name = call.need("name")
    if not re.fullmatch(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?", name):
        raise Refused("invalid_name")
    reactions = message.body.get("reactions", [])
    return channel, message, name, next((one["users"] for one in reactions if one["name"] == name), [])


def _react(call: Call, channel: Channel, message: Message, name: str, users: list[str]) -> None:
    before = message.body.get("reactions", [])
    added = len(users) > sum(len(one["users"]) for one in before if one["name"] == name)
    others = [one for one in before if one["name"] != name]
    now = {"name": name, "users": users, "count": len(users)}
    message.body["reactions"] = [*others, now] if users else others
    tell(call.workspace, channel, put(call.workspace.db, message), "changed")
    event = {
        "type": "reaction_added" if added else "reaction_removed",
        "user": call.caller.id,
        "reaction": name,
        "item": {"type": "message", "channel": channel.id, "ts": message.ts},
        "item_user": message.body["user"],
    }
    happened(call.workspace, channel, event, [app for app in apps_in(channel) if READ in app.scopes])


METHODS = {
    "reactions.add": Method(answer=add, scope="reactions:write"),
    "reactions.remove": Method(answer=remove, scope="reactions:write"),
}

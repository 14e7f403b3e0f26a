"""reactions.add and reactions.remove."""

from __future__ import annotations

import re
from typing import Any

from rehearsal.api.call import ApiMethod, MethodCall
from rehearsal.channels import StoredChannel
from rehearsal.events import apps_in, happened, tell
from rehearsal.messages import StoredMessage, find, put
from rehearsal.refusal import ApiError

READ = "reactions:read"


def add(call: MethodCall) -> dict[str, Any]:
    channel, message, name, users = _reaction(call)
    if call.user in users:
        raise ApiError("already_reacted")
    _react(call, "reaction_added", channel, message, name, [*users, call.user])
    return {}


def remove(call: MethodCall) -> dict[str, Any]:
    channel, message, name, users = _reaction(call)
    if call.user not in users:
        raise ApiError("no_reaction")
    others = [user for user in users if user != call.user]
    _react(call, "reaction_removed", channel, message, name, others)
    return {}


def _reaction(call: MethodCall) -> tuple[StoredChannel, StoredMessage, str, list[str]]:
    channel = call.joined()
    message = find(call.db, channel.id, call.need("timestamp"))
    name = call.need("name")
    if not re.fullmatch(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?", name):
        raise ApiError("invalid_name")
    for one in message.body.get("reactions", []):
        if one["name"] == name:
            return channel, message, name, one["users"]
    return channel, message, name, []


def _react(
    call: MethodCall, kind: str, channel: StoredChannel, message: StoredMessage, name: str, users: list[str]
) -> None:
    reactions = [one for one in message.body.get("reactions", []) if one["name"] != name]
    if users:
        reactions.append({"name": name, "users": users, "count": len(users)})
    message.body["reactions"] = reactions
    tell(call.workspace, channel, put(call.db, message), "changed")
    event = {
        "type": kind,
        "user": call.user,
        "reaction": name,
        "item": {"type": "message", "channel": channel.id, "ts": message.ts},
        "item_user": message.body["user"],
    }
    happened(call.workspace, channel, event, [app for app in apps_in(channel) if READ in app.scopes])


METHODS = {
    "reactions.add": ApiMethod(answer=add, scope="reactions:write"),
    "reactions.remove": ApiMethod(answer=remove, scope="reactions:write"),
}

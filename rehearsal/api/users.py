"""Methods of users, bots, team and apps."""

from __future__ import annotations

from typing import Any

from rehearsal.api.call import ApiMethod, MethodCall
from rehearsal.api.conversations import visible
from rehearsal.api.cursors import page
from rehearsal.channels import channel_json
from rehearsal.events import tell_of_name
from rehearsal.people import (
    APPS,
    NAMES,
    TEAM,
    TEAM_DOMAIN,
    TEAM_NAME,
    TEAM_URL,
    USER_GROUPS,
    bot_json,
    handle_of,
    user_json,
)
from rehearsal.refusal import ApiError


def auth_test(call: MethodCall) -> dict[str, Any]:
    tell_of_name(call.workspace)
    who: dict[str, Any] = {
        "url": TEAM_URL,
        "team": TEAM_NAME,
        "team_id": TEAM,
        "is_enterprise_install": False,
        "user": handle_of(call.user, call.workspace.soul),
        "user_id": call.user,
    }
    if call.caller.app is not None:
        who["bot_id"] = call.caller.app.bot
    return who


def connections_open(call: MethodCall) -> dict[str, Any]:
    """Return a WebSocket address, valid once."""
    if call.caller.app is None:
        raise ApiError("not_allowed_token_type")
    ticket = call.workspace.links.ticket(call.caller.app.id)
    return {"url": f"{call.origin}/link/?ticket={ticket}&app_id={call.caller.app.id}"}


def user_info(call: MethodCall) -> dict[str, Any]:
    return {"user": user_json(_known(call.need("user")), call.workspace.soul)}


def user_list(call: MethodCall) -> dict[str, Any]:
    found, more = page(call, list(NAMES))
    return {
        "members": [user_json(user, call.workspace.soul) for user in found],
        "cache_ts": int(call.workspace.clock.now()),
        **more,
    }


def user_conversations(call: MethodCall) -> dict[str, Any]:
    user = _known(call.text("user", call.user))
    joined = [channel for channel in visible(call, call.user) if user in channel.members]
    found, more = page(call, joined)
    return {"channels": [channel_json(channel, call.user) for channel in found], **more}


def group_users(call: MethodCall) -> dict[str, Any]:
    members = USER_GROUPS.get(call.need("usergroup"))
    if members is None:
        raise ApiError("no_such_subteam")
    return {"users": list(members)}


def bot_info(call: MethodCall) -> dict[str, Any]:
    for app in APPS:
        if app.bot == call.need("bot"):
            return {"bot": bot_json(app, call.workspace.soul)}
    raise ApiError("bot_not_found")


def team_info(_: MethodCall) -> dict[str, Any]:
    team = {
        "id": TEAM,
        "name": TEAM_NAME,
        "url": TEAM_URL,
        "domain": TEAM_DOMAIN,
        "email_domain": "",
        "icon": {},
    }
    return {"team": team}


def _known(user: str) -> str:
    if user not in NAMES:
        raise ApiError("user_not_found")
    return user


METHODS = {
    "auth.test": ApiMethod(answer=auth_test, kinds=("user", "bot", "app")),
    "apps.connections.open": ApiMethod(answer=connections_open, kinds=("app",)),
    "users.info": ApiMethod(answer=user_info, scope="users:read"),
    "users.list": ApiMethod(answer=user_list, scope="users:read"),
    "users.conversations": ApiMethod(answer=user_conversations, scope="channels:read"),
    "usergroups.users.list": ApiMethod(answer=group_users, scope="usergroups:read"),
    "bots.info": ApiMethod(answer=bot_info, scope="users:read"),
    "team.info": ApiMethod(answer=team_info, scope="team:read"),
}

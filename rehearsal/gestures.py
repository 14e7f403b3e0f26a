"""Button presses (`POST /rehearsal/press`) and stops of an agent (`POST /rehearsal/stop`)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from aiohttp import web

from rehearsal.blocks import Block, buttons
from rehearsal.channels import StoredChannel, joined_channel
from rehearsal.events import changed, happened
from rehearsal.messages import FOREVER, StoredMessage, find, message_json, put, replies
from rehearsal.people import APPS, TEAM, TEAM_DOMAIN, InstalledApp, app_of, handle_of
from rehearsal.refusal import ApiError
from rehearsal.wire import json_object
from rehearsal.workspace import RehearsedWorkspace
from rehearsal.workspace_store import ts_of

Asked = Mapping[str, str]
KINDS = {"im": "directmessage", "mpim": "mpdm", "group": "privategroup"}
"""Slack's names of non-public channels in these payloads."""


def mount(workspace: RehearsedWorkspace, router: web.UrlDispatcher) -> None:
    router.add_post("/rehearsal/press", partial(_answer, workspace, press))
    router.add_post("/rehearsal/stop", partial(_answer, workspace, stop))


def press(workspace: RehearsedWorkspace, asked: Asked, origin: str) -> dict[str, Any]:
    """Press a button: {"user", "channel", "ts", "action_id" or "label"}. Returns {"event_id", "action_ts"}.

    Without an ack it is redelivered; Slack shows a warning sign instead.
    """
    user = asked.get("user", "")
    channel = joined_channel(workspace.db, asked.get("channel", ""), user)
    message = find(workspace.db, channel.id, asked.get("ts", ""))
    app = app_of(message.body["user"])
    found = next((pair for pair in buttons(message.body) if _meant(pair[1], asked)), None)
    if app is None or found is None:
        raise ApiError("no_such_button")
    handle, stamp = handle_of(user, workspace.soul), ts_of(workspace.mint())
    event_id = f"Pr{secrets.token_hex(5).upper()}"
    payload = {
        **_whence(workspace, app, channel, message),
        "user": {"id": user, "username": handle, "name": handle, "team_id": TEAM},
        "trigger_id": workspace.views.trigger(stamp, app, user, channel.id),
        "response_url": f"{origin}/rehearsal/response/{event_id}",
        "actions": [_action(*found) | {"action_ts": stamp}],
    }
    workspace.courier.post(app.id, event_id, payload)
    return {"event_id": event_id, "action_ts": stamp}


def stop(workspace: RehearsedWorkspace, asked: Asked, origin: str = "") -> dict[str, Any]:
    """Press Stop: {"user", "channel", "thread_ts"}. Returns {"streaming_message_ts": […]}.

    Only while an agent's session is `processing`. Slack ends the thread's streams; the app ends the session.
    """
    user = asked.get("user", "")
    channel = joined_channel(workspace.db, asked.get("channel", ""), user)
    root = find(workspace.db, channel.id, asked.get("thread_ts", ""), error="invalid_thread_ts")
    working = workspace.statuses.working(channel.id, root.ts)
    if not working:
        raise ApiError("session_not_processing")
    stopped: list[str] = []
    for app in [app for app in APPS if app.user in working]:
        ended = _end_streams(workspace, channel, root, app)
        event = {"type": "agent_session_stopped", "channel": channel.id, "thread_ts": root.ts, "user": user}
        happened(workspace, channel, {**event, "streaming_message_ts": ended}, [app])
        stopped += ended
    return {"streaming_message_ts": stopped}


def _meant(button: Block, asked: Asked) -> bool:
    if "action_id" in asked:
        return bool(button["action_id"] == asked["action_id"])
    return bool(button["text"]["text"] == asked.get("label"))


def _whence(
    workspace: RehearsedWorkspace, app: InstalledApp, channel: StoredChannel, message: StoredMessage
) -> dict[str, Any]:
    shown = message_json(workspace.db, message, metadata=True)
    container: dict[str, Any] = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": channel.id,
        "is_ephemeral": False,
    }
    if "thread_ts" in shown:
        container["thread_ts"] = shown["thread_ts"]
    return {
        "type": "block_actions",
        "api_app_id": app.id,
        "token": "rehearsal",
        "container": container,
        "team": {"id": TEAM, "domain": TEAM_DOMAIN},
        "enterprise": None,
        "is_enterprise_install": False,
        "channel": {"id": channel.id, "name": KINDS.get(channel.kind, channel.name)},
        "message": shown,
        "state": {"values": {}},
    }


def _action(block: Block, button: Block) -> Block:
    told: Block = {"block_id": block["block_id"], "type": "button"}
    for name in ("action_id", "text", "value", "style"):
        if name in button:
            told[name] = button[name]
    return told


def _end_streams(
    workspace: RehearsedWorkspace, channel: StoredChannel, root: StoredMessage, app: InstalledApp
) -> list[str]:
    ended = []
    for message in replies(workspace.db, root, 0, FOREVER, FOREVER):
        if message.body["user"] == app.user and workspace.streams(message):
            before = message_json(workspace.db, message)
            body = {**message.body, "streaming_state": "completed"}
            over = put(workspace.db, replace(message, body=body, streaming=None))
            changed(workspace, channel, over, before)
            ended.append(message.ts)
    return ended


async def _answer(
    workspace: RehearsedWorkspace,
    do: Callable[[RehearsedWorkspace, Asked, str], dict[str, Any]],
    request: web.Request,
) -> web.Response:
    asked = await json_object(request)
    if asked is None or not all(isinstance(value, str) for value in asked.values()):
        raise web.HTTPBadRequest(text="expected a JSON object whose values are strings")
    origin = f"{request.scheme}://{request.host}"
    try:
        with workspace.db:
            done = do(workspace, asked, origin)
        return web.json_response({"ok": True, **done})
    except ApiError as refusal:
        return web.json_response(refusal.body)

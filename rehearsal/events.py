"""Events for apps, and the live feed for pages."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from rehearsal.channels import StoredChannel
from rehearsal.messages import StoredMessage, find, mentions, message_json, put
from rehearsal.people import APPS, SOUL, TEAM, InstalledApp, TokenOwner, bot_json, user_json
from rehearsal.refusal import ApiError
from rehearsal.workspace import RehearsedWorkspace
from rehearsal.workspace_store import ts_of

NOT_IN_MENTIONS = ("files", "subtype")


def root_of(workspace: RehearsedWorkspace, channel: StoredChannel, thread_ts: str) -> int | None:
    """Return a thread's stamp; None for "". Raises ApiError if `thread_ts` is no root."""
    if not thread_ts:
        return None
    root = find(workspace.db, channel.id, thread_ts, error="invalid_thread_ts")
    if root.thread is not None:
        raise ApiError("cannot_reply_to_message")
    return root.stamp


def post(
    workspace: RehearsedWorkspace,
    channel: StoredChannel,
    caller: TokenOwner,
    content: dict[str, Any],
    thread: int | None = None,
    streaming: float | None = None,
) -> StoredMessage:
    """Post a message, and clear the author's status line."""
    tell_of_name(workspace)
    body = {**_author(workspace, caller), **content}
    message = StoredMessage(
        stamp=workspace.mint(),
        channel=channel.id,
        thread=thread,
        broadcast=content.get("subtype") == "thread_broadcast",
        streaming=streaming,
        body=body,
    )
    put(workspace.db, message)
    posted(workspace, channel, message)
    if workspace.statuses.shown(channel.id, message.root, caller.id):
        over = workspace.statuses.set(channel.id, message.root, caller.id, "")
        workspace.feed.tell(channel, over.json())
    return message


def tell_of_name(workspace: RehearsedWorkspace) -> None:
    """Send `user_change` to all apps if the soul's name has changed."""
    name = workspace.soul
    if workspace.told_name == [name]:
        return
    if workspace.told_name:
        stamp = ts_of(workspace.mint())
        event = {"type": "user_change", "user": user_json(SOUL.user, name), "event_ts": stamp}
        for app in APPS:
            event_id, payload = payload_of(workspace, app, event)
            workspace.courier.post(app.id, event_id, payload)
    workspace.told_name[:] = [name]


def posted(workspace: RehearsedWorkspace, channel: StoredChannel, message: StoredMessage) -> None:
    """Send `message`, and `app_mention` to mentioned apps."""
    told = message_json(workspace.db, message)
    place = {"channel": channel.id, "event_ts": message.ts}
    for app in apps_in(channel):
        _emit(workspace, channel, app, {**told, **place, "channel_type": channel.kind})
        if channel.kind != "im" and mentions(message, app.user) and app.user != message.body["user"]:
            mention = {name: value for name, value in told.items() if name not in NOT_IN_MENTIONS}
            _emit(workspace, channel, app, {**mention, **place, "type": "app_mention"})
    tell(workspace, channel, message, "message")


def changed(
    workspace: RehearsedWorkspace, channel: StoredChannel, message: StoredMessage, before: dict[str, Any]
) -> None:
    """Send `message_changed` for an edit or a stream's end. `before` is the old message."""
    now = {"message": message_json(workspace.db, message), "previous_message": before}
    _alter(workspace, channel, "message_changed", now)
    tell(workspace, channel, message, "changed")


def deleted(
    workspace: RehearsedWorkspace, channel: StoredChannel, message: StoredMessage, before: dict[str, Any]
) -> None:
    """Send `message_deleted`."""
    gone = {"deleted_ts": message.ts, "previous_message": before}
    _alter(workspace, channel, "message_deleted", gone)
    workspace.feed.tell(channel, {"type": "deleted", "ts": message.ts})


def happened(
    workspace: RehearsedWorkspace,
    channel: StoredChannel,
    event: dict[str, Any],
    to: Iterable[InstalledApp] | None = None,
) -> None:
    """Send another event to these apps; without `to`, to all in the channel."""
    stamp = ts_of(workspace.mint())
    if to is None:
        to = apps_in(channel)
    for app in to:
        _emit(workspace, channel, app, {**event, "event_ts": stamp})


def tell(workspace: RehearsedWorkspace, channel: StoredChannel, message: StoredMessage, kind: str) -> None:
    workspace.feed.tell(channel, {"type": kind, "message": message_json(workspace.db, message)})


def apps_in(channel: StoredChannel) -> Iterable[InstalledApp]:
    return [app for app in APPS if app.user in channel.members]


def payload_of(workspace: RehearsedWorkspace, app: InstalledApp, event: object) -> tuple[str, dict[str, Any]]:
    """Return the event_id, and the wrapped event."""
    event_id = "Ev" + uuid.uuid4().hex[:10].upper()
    authorization = {"enterprise_id": None, "team_id": TEAM, "user_id": app.user, "is_bot": True}
    return event_id, {
        "token": "rehearsal",
        "team_id": TEAM,
        "api_app_id": app.id,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(workspace.clock.now()),
        "authorizations": [{**authorization, "is_enterprise_install": False}],
        "is_ext_shared_channel": False,
        "event_context": "4-" + event_id,
        "event": event,
    }


def _alter(workspace: RehearsedWorkspace, channel: StoredChannel, subtype: str, what: dict[str, Any]) -> None:
    event = {"type": "message", "subtype": subtype, "hidden": True, "channel": channel.id, **what}
    stamp = ts_of(workspace.mint())
    happened_at = {"channel_type": channel.kind, "ts": stamp, "event_ts": stamp}
    for app in apps_in(channel):
        _emit(workspace, channel, app, {**event, **happened_at})


def _emit(
    workspace: RehearsedWorkspace, channel: StoredChannel, app: InstalledApp, event: dict[str, Any]
) -> None:
    event_id, payload = payload_of(workspace, app, event)
    workspace.courier.post(app.id, event_id, payload | {"is_ext_shared_channel": channel.shared})


def _author(workspace: RehearsedWorkspace, caller: TokenOwner) -> dict[str, Any]:
    who = {"user": caller.id, "team": TEAM}
    if caller.app is None:
        return {**who, "client_msg_id": str(uuid.uuid4())}
    profile = bot_json(caller.app, workspace.soul)
    return {**who, "bot_id": caller.app.bot, "app_id": caller.app.id, "bot_profile": profile}

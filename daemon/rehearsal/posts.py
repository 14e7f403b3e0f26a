"""How a message comes into being, whoever wrote it and however: posted, streamed, or put there by a test."""

from __future__ import annotations

import uuid
from typing import Any

from daemon.rehearsal.channels import Channel
from daemon.rehearsal.messages import Message, find, put
from daemon.rehearsal.news import posted
from daemon.rehearsal.people import TEAM, Caller, bot_json
from daemon.rehearsal.refusal import Refused
from daemon.rehearsal.stamps import mint
from daemon.rehearsal.workspace import Workspace


def root_of(workspace: Workspace, channel: Channel, thread_ts: str) -> int | None:
    """The stamp of the message that a reply with this thread_ts answers; none without one."""
    if not thread_ts:
        return None
    root = find(workspace.db, channel.id, thread_ts, error="invalid_thread_ts")
    if root.thread is not None:
        raise Refused("cannot_reply_to_message")
    return root.stamp


def post(
    workspace: Workspace,
    channel: Channel,
    caller: Caller,
    content: dict[str, Any],
    thread: int | None = None,
    streaming: float | None = None,
) -> Message:
    """A new message of this caller's; clears the app's status line in that thread."""
    body = {**_author(caller), **content}
    message = Message(
        stamp=mint(workspace.db, workspace.clock),
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


def _author(caller: Caller) -> dict[str, Any]:
    who = {"user": caller.id, "team": TEAM}
    if caller.app is None:
        return {**who, "client_msg_id": str(uuid.uuid4())}
    return {**who, "bot_id": caller.app.bot, "app_id": caller.app.id, "bot_profile": bot_json(caller.app)}

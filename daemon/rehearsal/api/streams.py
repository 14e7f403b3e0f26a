"""chat.startStream, appendStream, stopStream: one message that grows while it is being thought."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daemon.rehearsal.api.call import Call
from daemon.rehearsal.api.content import checked, metadata
from daemon.rehearsal.api.method import Method
from daemon.rehearsal.api.status import mark_session
from daemon.rehearsal.blocks import accepted
from daemon.rehearsal.channels import Channel, joined_channel
from daemon.rehearsal.messages import Message, find, message_json, put
from daemon.rehearsal.news import changed, tell
from daemon.rehearsal.people import PEOPLE, TEAM
from daemon.rehearsal.posts import post, root_of
from daemon.rehearsal.refusal import Refused

CHUNKS = ("markdown_text", "task_update", "plan_update", "blocks")


def start(call: Call) -> dict[str, Any]:
    """A message that is begun, under the one it answers."""
    channel = joined_channel(call.workspace.db, call.need("channel"), call.caller.id)
    thread = root_of(call.workspace, channel, call.need("thread_ts"))
    if channel.kind != "im":
        _check_recipient(call)
    said = {"text": checked(_text(call))}
    message = post(call.workspace, channel, call.caller, said, thread, streaming=call.workspace.clock.now())
    return {"channel": channel.id, "ts": message.ts}


def append(call: Call) -> dict[str, Any]:
    """More text for it; only the page is told."""
    channel, message = _streaming(call)
    if not call.text("markdown_text") and not call.value("chunks", list, "invalid_chunks"):
        raise Refused("no_text")
    message.body["text"] = checked(message.body["text"] + _text(call))
    tell(call.workspace, channel, put(call.workspace.db, message), "changed")
    return {"channel": channel.id, "ts": message.ts}


def stop(call: Call) -> dict[str, Any]:
    """The last of it; the apps hear of one edit."""
    channel, message = _streaming(call)
    before = message_json(call.workspace.db, message)
    body = {**message.body, "text": checked(message.body["text"] + _text(call)), **metadata(call)}
    if blocks := call.value("blocks", list, "invalid_blocks"):
        body["blocks"] = accepted([{"type": "markdown", "text": body["text"]}, *blocks])
    message = put(call.workspace.db, replace(message, body=body, streaming=None))
    changed(call.workspace, channel, message, before)
    if status := call.text("session_status"):
        mark_session(call, channel, message.root, status)
    shown = message_json(call.workspace.db, message, metadata=True)
    return {"channel": channel.id, "ts": message.ts, "message": shown}


def _check_recipient(call: Call) -> None:
    """Outside a DM Slack wants to know for whom the stream is: a person of this team."""
    if call.text("recipient_team_id") != TEAM:
        raise Refused("missing_recipient_team_id")
    if call.text("recipient_user_id") not in {person.id for person in PEOPLE}:
        raise Refused("missing_recipient_user_id")


def _streaming(call: Call) -> tuple[Channel, Message]:
    channel = joined_channel(call.workspace.db, call.need("channel"), call.caller.id)
    message = find(call.workspace.db, channel.id, call.need("ts"))
    if message.body["user"] != call.caller.id:
        raise Refused("message_not_owned_by_app")
    if not call.workspace.streams(message):
        raise Refused("message_not_in_streaming_state")
    return channel, message


def _text(call: Call) -> str:
    chunks = call.value("chunks", list, "invalid_chunks") or []
    if any(not isinstance(chunk, dict) or chunk.get("type") not in CHUNKS for chunk in chunks):
        raise Refused("invalid_chunks")
    pieces = [str(chunk.get("text", "")) for chunk in chunks if chunk["type"] == "markdown_text"]
    return call.text("markdown_text") + "".join(pieces)


METHODS = {
    "chat.startStream": Method(answer=start, scope="chat:write", kinds=("bot",)),
    "chat.appendStream": Method(answer=append, scope="chat:write", kinds=("bot",)),
    "chat.stopStream": Method(answer=stop, scope="chat:write", kinds=("bot",)),
}

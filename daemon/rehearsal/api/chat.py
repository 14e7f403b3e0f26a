"""chat.*: posting, editing, deleting. Streams are next door."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daemon.rehearsal.api.call import Call
from daemon.rehearsal.api.content import content
from daemon.rehearsal.api.method import Method
from daemon.rehearsal.channels import Channel, channel_named, channel_of, joined_channel
from daemon.rehearsal.messages import FOREVER, Message, find, message_json, put, remove, replies
from daemon.rehearsal.news import changed, deleted
from daemon.rehearsal.people import TEAM_URL
from daemon.rehearsal.posts import post, root_of
from daemon.rehearsal.refusal import Refused
from daemon.rehearsal.stamps import mint, ts_of

UPDATE_MOST = 4_000


def post_message(call: Call) -> dict[str, Any]:
    """A message, in the channel or in a thread; its channel may be named ("#general")."""
    named = channel_named(call.workspace.db, call.need("channel"))
    channel = joined_channel(call.workspace.db, named, call.caller.id)
    said = content(call)
    thread = root_of(call.workspace, channel, call.text("thread_ts"))
    if thread is not None and call.flag("reply_broadcast"):
        said["subtype"] = "thread_broadcast"
    message = post(call.workspace, channel, call.caller, said, thread)
    return _shown(call, message)


def post_ephemeral(call: Call) -> dict[str, Any]:
    """A message that one person sees once, in the channel or in a thread: it is in no history."""
    channel = joined_channel(call.workspace.db, call.need("channel"), call.caller.id)
    user, thread_ts = call.need("user"), call.text("thread_ts")
    if user not in channel.members:
        raise Refused("user_not_in_channel")
    root_of(call.workspace, channel, thread_ts)
    stamp = ts_of(mint(call.workspace.db, call.workspace.clock))
    thread = {"thread_ts": thread_ts} if thread_ts else {}
    message = {"type": "message", "user": call.caller.id, "ts": stamp, **thread, **content(call)}
    whisper = {"channel": channel.id, "message": message | {"is_ephemeral": True}}
    call.workspace.whispers.append({"user": user, **whisper})
    call.workspace.feed.tell(channel, {"type": "ephemeral", **whisper}, only=user)
    return {"message_ts": stamp}


def update(call: Call) -> dict[str, Any]:
    """Another text for one's own message; `text` up to 4,000 characters, `markdown_text` up to 12,000.

    Blocks stay as they were where only `text` is given; an empty list of them takes them away.
    """
    channel, message = _own(call, "cant_update_message")
    if call.workspace.streams(message):
        raise Refused("streaming_state_conflict")
    if len(call.text("text")) > UPDATE_MOST:
        raise Refused("msg_too_long")
    before = message_json(call.workspace.db, message)
    stamp = ts_of(mint(call.workspace.db, call.workspace.clock))
    gone = call.text("markdown_text") or call.value("blocks", list, "invalid_blocks") is not None
    kept = {name: value for name, value in message.body.items() if name != "blocks" or not gone}
    said = content(call)
    body = {**kept, **said, "edited": {"user": call.caller.id, "ts": stamp}}
    message = put(call.workspace.db, replace(message, body=body, streaming=None))
    changed(call.workspace, channel, message, before)
    return {**_shown(call, message), "text": said["text"]}


def delete(call: Call) -> dict[str, Any]:
    """One's own message goes; a root with replies leaves a tombstone."""
    channel, message = _own(call, "cant_delete_message")
    if call.workspace.streams(message):
        raise Refused("cant_delete_message")
    before = message_json(call.workspace.db, message)
    if replies(call.workspace.db, message, 0, FOREVER, 1):
        _bury(call, channel, message, before)
    else:
        remove(call.workspace.db, message)
        deleted(call.workspace, channel, message, before)
    return {"channel": channel.id, "ts": message.ts}


def get_permalink(call: Call) -> dict[str, Any]:
    """Where a message would stand in the browser."""
    channel = channel_of(call.workspace.db, call.need("channel"), call.caller.id)
    message = find(call.workspace.db, channel.id, call.need("message_ts"))
    link = f"{TEAM_URL}archives/{channel.id}/p{message.stamp}"
    if message.thread is not None:
        link += f"?thread_ts={message.root}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def _own(call: Call, error: str) -> tuple[Channel, Message]:
    channel = channel_of(call.workspace.db, call.need("channel"), call.caller.id)
    message = find(call.workspace.db, channel.id, call.need("ts"))
    if message.body["user"] != call.caller.id:
        raise Refused(error)
    return channel, message


def _bury(call: Call, channel: Channel, message: Message, before: dict[str, Any]) -> None:
    """Of a root that has replies a tombstone stays, and the event is an edit: so it is in Slack."""
    body = {"subtype": "tombstone", "text": "This message was deleted.", "user": "USLACKBOT", "hidden": True}
    message = put(call.workspace.db, replace(message, body=body, streaming=None))
    changed(call.workspace, channel, message, before)


def _shown(call: Call, message: Message) -> dict[str, Any]:
    shown = message_json(call.workspace.db, message, metadata=True)
    return {"channel": message.channel, "ts": message.ts, "message": shown}


METHODS = {
    "chat.postMessage": Method(answer=post_message, scope="chat:write"),
    "chat.postEphemeral": Method(answer=post_ephemeral, scope="chat:write"),
    "chat.update": Method(answer=update, scope="chat:write"),
    "chat.delete": Method(answer=delete, scope="chat:write"),
    "chat.getPermalink": Method(answer=get_permalink),
}

"""Methods chat.*"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rehearsal.api.call import ApiMethod, MethodCall
from rehearsal.api.set_status import mark_session
from rehearsal.blocks import accepted, check_tables
from rehearsal.channels import StoredChannel, channel_named, joined_channel
from rehearsal.events import changed, deleted, post, root_of, tell
from rehearsal.messages import FOREVER, TOMBSTONE, StoredMessage, find, message_json, put, remove, replies
from rehearsal.people import PEOPLE, TEAM, TEAM_URL
from rehearsal.refusal import ApiError
from rehearsal.workspace_store import ts_of

TEXT_MOST = 40_000
UPDATE_MOST = 4_000
MARKDOWN_MOST = 12_000
CHUNKS = ("markdown_text", "task_update", "plan_update", "blocks")


def post_message(call: MethodCall) -> dict[str, Any]:
    """Post to a channel (id or "#general") or thread."""
    named = channel_named(call.db, call.need("channel"))
    channel = joined_channel(call.db, named, call.user)
    said = _content(call)
    thread = root_of(call.workspace, channel, call.text("thread_ts"))
    if thread is not None and call.flag("reply_broadcast"):
        said["subtype"] = "thread_broadcast"
    message = post(call.workspace, channel, call.caller, said, thread)
    return _shown(call, message)


def post_ephemeral(call: MethodCall) -> dict[str, Any]:
    """Show a message to one user; no history keeps it."""
    channel = call.joined()
    user, thread_ts = call.need("user"), call.text("thread_ts")
    if user not in channel.members:
        raise ApiError("user_not_in_channel")
    root_of(call.workspace, channel, thread_ts)
    stamp = ts_of(call.workspace.mint())
    message = {"type": "message", "user": call.user, "ts": stamp, **_content(call)}
    if thread_ts:
        message["thread_ts"] = thread_ts
    whisper = {"channel": channel.id, "message": message | {"is_ephemeral": True}}
    call.workspace.whispers.append({"user": user, **whisper})
    call.workspace.feed.tell(channel, {"type": "ephemeral", **whisper}, only=user)
    return {"message_ts": stamp}


def update(call: MethodCall) -> dict[str, Any]:
    """Edit the caller's message: `text` up to 4,000 characters, `markdown_text` up to 12,000.

    Blocks stay if only `text` is given; an empty list removes them.
    """
    channel, message = _own(call, "cant_update_message")
    if call.workspace.streams(message):
        raise ApiError("streaming_state_conflict")
    if len(call.text("text")) > UPDATE_MOST:
        raise ApiError("msg_too_long")
    before = message_json(call.db, message)
    stamp = ts_of(call.workspace.mint())
    said = _content(call)
    body = {**message.body, **said, "edited": {"user": call.user, "ts": stamp}}
    if call.text("markdown_text") or call.value("blocks", list, "invalid_blocks") == []:
        body.pop("blocks", None)
    message = put(call.db, replace(message, body=body, streaming=None))
    changed(call.workspace, channel, message, before)
    return {**_shown(call, message), "text": said["text"]}


def delete(call: MethodCall) -> dict[str, Any]:
    """Delete the caller's message; a root with replies leaves a tombstone."""
    channel, message = _own(call, "cant_delete_message")
    if call.workspace.streams(message):
        raise ApiError("cant_delete_message")
    before = message_json(call.db, message)
    if replies(call.db, message, 0, FOREVER, 1):
        _bury(call, channel, message, before)
    else:
        remove(call.db, message)
        deleted(call.workspace, channel, message, before)
    return {"channel": channel.id, "ts": message.ts}


def get_permalink(call: MethodCall) -> dict[str, Any]:
    channel = call.channel()
    message = find(call.db, channel.id, call.need("message_ts"))
    link = f"{TEAM_URL}archives/{channel.id}/p{message.stamp}"
    if message.thread is not None:
        link += f"?thread_ts={message.root}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def start_stream(call: MethodCall) -> dict[str, Any]:
    channel = call.joined()
    thread = root_of(call.workspace, channel, call.need("thread_ts"))
    if channel.kind != "im":
        _check_recipient(call)
    said = {"text": _checked(_streamed_text(call))}
    message = post(call.workspace, channel, call.caller, said, thread, streaming=call.workspace.clock.now())
    return {"channel": channel.id, "ts": message.ts}


def append_stream(call: MethodCall) -> dict[str, Any]:
    """Append text to a stream; only the page sees it."""
    channel, message = _streaming(call)
    if not call.text("markdown_text") and not call.value("chunks", list, "invalid_chunks"):
        raise ApiError("no_text")
    message.body["text"] = _checked(message.body["text"] + _streamed_text(call))
    tell(call.workspace, channel, put(call.db, message), "changed")
    return {"channel": channel.id, "ts": message.ts}


def stop_stream(call: MethodCall) -> dict[str, Any]:
    """End a stream; apps get one message_changed."""
    channel, message = _streaming(call)
    before = message_json(call.db, message)
    text = _checked(message.body["text"] + _streamed_text(call))
    body = {**message.body, "text": text, "streaming_state": "completed", **_metadata(call)}
    blocks = call.value("blocks", list, "invalid_blocks")
    if blocks:
        body["blocks"] = accepted([{"type": "markdown", "text": text}, *blocks])
    message = put(call.db, replace(message, body=body, streaming=None))
    changed(call.workspace, channel, message, before)
    status = call.text("session_status")
    if status:
        mark_session(call, channel, message.root, status)
    return _shown(call, message)


def _content(call: MethodCall) -> dict[str, Any]:
    """Return the content: text is cut at 40,000 characters, Markdown above 12,000 refused."""
    text, markdown = call.text("text"), call.text("markdown_text")
    blocks = call.value("blocks", list, "invalid_blocks")
    if markdown and (text or blocks):
        raise ApiError("markdown_text_conflict")
    if not (text.strip() or markdown.strip() or blocks):
        raise ApiError("no_text")
    if len(markdown) > MARKDOWN_MOST:
        raise ApiError("markdown_text_too_long")
    found: dict[str, Any] = {"text": text[:TEXT_MOST] or _checked(markdown)}
    if blocks:
        found["blocks"] = accepted(blocks)
    return found | _metadata(call)


def _metadata(call: MethodCall) -> dict[str, Any]:
    given = call.value("metadata", dict, "invalid_metadata_format")
    if not given:
        return {}
    if not isinstance(given.get("event_type"), str) or not isinstance(given.get("event_payload"), dict):
        raise ApiError("invalid_metadata_schema")
    return {"metadata": {"event_type": given["event_type"], "event_payload": given["event_payload"]}}


def _checked(markdown: str) -> str:
    if len(markdown) > MARKDOWN_MOST:
        raise ApiError("msg_too_long")
    check_tables(markdown)
    return markdown


def _own(call: MethodCall, error: str) -> tuple[StoredChannel, StoredMessage]:
    channel = call.channel()
    message = find(call.db, channel.id, call.need("ts"))
    if message.body.get("subtype") == TOMBSTONE["subtype"]:
        raise ApiError("message_not_found")
    if message.body["user"] != call.user:
        raise ApiError(error)
    return channel, message


def _bury(call: MethodCall, channel: StoredChannel, message: StoredMessage, before: dict[str, Any]) -> None:
    """Leave a tombstone; like Slack, report an edit."""
    message = put(call.db, replace(message, body={**TOMBSTONE}, streaming=None))
    changed(call.workspace, channel, message, before)


def _shown(call: MethodCall, message: StoredMessage) -> dict[str, Any]:
    shown = message_json(call.db, message, metadata=True)
    return {"channel": message.channel, "ts": message.ts, "message": shown}


def _check_recipient(call: MethodCall) -> None:
    """Check that a stream outside a DM names its recipient."""
    if call.text("recipient_team_id") != TEAM:
        raise ApiError("missing_recipient_team_id")
    if call.text("recipient_user_id") not in [person.id for person in PEOPLE]:
        raise ApiError("missing_recipient_user_id")


def _streaming(call: MethodCall) -> tuple[StoredChannel, StoredMessage]:
    channel = call.joined()
    message = find(call.db, channel.id, call.need("ts"))
    if message.body["user"] != call.user:
        raise ApiError("message_not_owned_by_app")
    if not call.workspace.streams(message):
        raise ApiError("message_not_in_streaming_state")
    return channel, message


def _streamed_text(call: MethodCall) -> str:
    chunks = call.value("chunks", list, "invalid_chunks") or []
    text = call.text("markdown_text")
    for chunk in chunks:
        if not isinstance(chunk, dict) or chunk.get("type") not in CHUNKS:
            raise ApiError("invalid_chunks")
        if chunk["type"] == "markdown_text":
            text += str(chunk.get("text", ""))
    return text


METHODS = {
    "chat.postMessage": ApiMethod(answer=post_message, scope="chat:write"),
    "chat.postEphemeral": ApiMethod(answer=post_ephemeral, scope="chat:write"),
    "chat.update": ApiMethod(answer=update, scope="chat:write"),
    "chat.delete": ApiMethod(answer=delete, scope="chat:write"),
    "chat.getPermalink": ApiMethod(answer=get_permalink),
    "chat.startStream": ApiMethod(answer=start_stream, scope="chat:write", kinds=("bot",)),
    "chat.appendStream": ApiMethod(answer=append_stream, scope="chat:write", kinds=("bot",)),
    "chat.stopStream": ApiMethod(answer=stop_stream, scope="chat:write", kinds=("bot",)),
}

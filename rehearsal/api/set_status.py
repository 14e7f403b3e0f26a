"""Methods assistant.threads.setStatus and, for agents, agents.sessions.setStatus."""

from __future__ import annotations

from typing import Any

from rehearsal.api.call import ApiMethod, MethodCall
from rehearsal.channels import StoredChannel, joined_channel
from rehearsal.messages import find
from rehearsal.refusal import ApiError, missing

SESSION = ("processing", "active", "suspended", "closed")
AT_WORK = "is working…"
MESSAGES_MOST = 10


def set_status(call: MethodCall) -> dict[str, Any]:
    """Set a thread's status line; an empty one removes it."""
    channel, thread_ts = _place(call)
    if "status" not in call.args:
        raise missing("status")
    loading = call.value("loading_messages", list, "invalid_arguments") or []
    if len(loading) > MESSAGES_MOST:
        raise ApiError("invalid_arguments")
    _show(call, channel, thread_ts, call.text("status"), tuple(map(str, loading)))
    return {}


def set_session_status(call: MethodCall) -> dict[str, Any]:
    if call.caller.app is None or not call.caller.app.agent:
        raise ApiError("not_authorized")
    channel, thread_ts = _place(call)
    status = call.need("status")
    mark_session(call, channel, thread_ts, status)
    return {"status": status, "agent_status": status, "title": call.text("title")}


def mark_session(call: MethodCall, channel: StoredChannel, thread_ts: str, status: str) -> None:
    """Record whether an agent's session is processing, with a default status line if it has none."""
    if status not in SESSION:
        raise ApiError("invalid_arguments")
    working = status == SESSION[0]
    statuses = call.workspace.statuses
    session = statuses.work(channel.id, thread_ts, call.user, working)
    call.workspace.feed.tell(channel, session)
    shown = statuses.shown(channel.id, thread_ts, call.user)
    if shown != working:
        _show(call, channel, thread_ts, "" if shown else AT_WORK, ())


def _place(call: MethodCall) -> tuple[StoredChannel, str]:
    channel = joined_channel(call.db, call.need("channel_id"), call.user)
    message = find(call.db, channel.id, call.need("thread_ts"), error="invalid_thread_ts")
    return channel, message.root


def _show(
    call: MethodCall, channel: StoredChannel, thread_ts: str, text: str, loading: tuple[str, ...]
) -> None:
    line = call.workspace.statuses.set(channel.id, thread_ts, call.user, text, loading)
    call.workspace.feed.tell(channel, line.json())


METHODS = {
    "assistant.threads.setStatus": ApiMethod(answer=set_status, scope="chat:write", kinds=("bot",)),
    "agents.sessions.setStatus": ApiMethod(answer=set_session_status, scope="chat:write", kinds=("bot",)),
}

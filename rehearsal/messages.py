"""Stored messages."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import dataclass
from typing import Any

from rehearsal.refusal import ApiError
from rehearsal.workspace_store import micros_of, ts_of

COLUMNS = "select stamp, channel, thread, broadcast, streaming, body from message"
STREAM_LASTS = 300.0
FOREVER = 1 << 62
TOMBSTONE = {"subtype": "tombstone", "text": "This message was deleted.", "user": "USLACKBOT", "hidden": True}
"""Body of a deleted message; shown while replies to it are left."""
STANDS = "coalesce(json_extract(message.body, '$.subtype'), '') != 'tombstone'"
"""SQL condition: not a tombstone."""
SEEN = f"""({STANDS} or exists (select 1 from message reply where reply.channel = message.channel
  and reply.thread = message.stamp and coalesce(json_extract(reply.body, '$.subtype'), '') != 'tombstone'))"""
PING = re.compile(r"<!(channel|here|everyone)(?:\|[^<>]*)?>")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """Message. `thread` is its root's stamp or None; `streaming` its stream's start."""

    stamp: int
    channel: str
    thread: int | None
    broadcast: bool
    streaming: float | None
    body: dict[str, Any]

    @property
    def ts(self) -> str:
        return ts_of(self.stamp)

    @property
    def root(self) -> str:
        """Ts of its thread, or of the thread it would begin."""
        return ts_of(self.thread or self.stamp)


def put(db: sqlite3.Connection, message: StoredMessage) -> StoredMessage:
    text = message.body.get("text", "") + json.dumps(message.body.get("blocks", []))
    message.body.pop("pings", None)
    pings = set(PING.findall(text))
    if pings:
        message.body["pings"] = sorted(pings)
    db.execute(
        "insert or replace into message values (?, ?, ?, ?, ?, ?)",
        (
            message.stamp,
            message.channel,
            message.thread,
            message.broadcast,
            message.streaming,
            json.dumps(message.body),
        ),
    )
    return message


def remove(db: sqlite3.Connection, message: StoredMessage) -> None:
    db.execute("delete from message where stamp = ?", (message.stamp,))


def find(db: sqlite3.Connection, channel: str, ts: str, error: str = "message_not_found") -> StoredMessage:
    sql = f"{COLUMNS} where stamp = ? and channel = ?"
    row = db.execute(sql, (micros_of(ts, error), channel)).fetchone()
    if row is None:
        raise ApiError(error)
    return _message(row)


def history(
    db: sqlite3.Connection, channel: str, oldest: int, latest: int, limit: int
) -> list[StoredMessage]:
    """Return a channel's messages outside threads, newest first, strictly between two stamps."""
    sql = f"""{COLUMNS} where channel = ? and (thread is null or broadcast) and stamp > ? and stamp < ?
              and {SEEN} order by stamp desc limit ?"""
    return [_message(row) for row in db.execute(sql, (channel, oldest, latest, limit))]


def replies(
    db: sqlite3.Connection, root: StoredMessage, oldest: int, latest: int, limit: int
) -> list[StoredMessage]:
    """Return replies, oldest first, strictly between two stamps."""
    sql = f"""{COLUMNS} where channel = ? and thread = ? and stamp > ? and stamp < ?
              and {STANDS} order by stamp limit ?"""
    rows = db.execute(sql, (root.channel, root.stamp, oldest, latest, limit))
    return [_message(row) for row in rows]


def mentions(message: StoredMessage, user: str) -> bool:
    return re.search(rf"<@{user}(\|[^<>]*)?>", message.body.get("text", "")) is not None


def message_json(db: sqlite3.Connection, message: StoredMessage, metadata: bool = False) -> dict[str, Any]:
    shown = {"type": "message", **message.body, "ts": message.ts}
    if not metadata:
        shown.pop("metadata", None)
    if message.streaming is not None:
        shown |= {"streaming": True, "streaming_state": "in_progress"}
    if message.thread is not None:
        return shown | {"thread_ts": message.root}
    return shown | _thread(db, message)


def _thread(db: sqlite3.Connection, root: StoredMessage) -> dict[str, Any]:
    sql = f"""select stamp, json_extract(body, '$.user') from message
              where channel = ? and thread = ? and {STANDS} order by stamp"""
    rows = db.execute(sql, (root.channel, root.stamp)).fetchall()
    if not rows:
        return {}
    users = list(dict.fromkeys(user for _, user in rows))
    return {
        "thread_ts": root.ts,
        "reply_count": len(rows),
        "reply_users": users,
        "reply_users_count": len(users),
        "latest_reply": ts_of(rows[-1][0]),
        "is_locked": False,
        "subscribed": False,
    }


def _message(row: tuple[int, str, int | None, int, float | None, str]) -> StoredMessage:
    stamp, channel, thread, broadcast, streaming, body = row
    return StoredMessage(
        stamp=stamp,
        channel=channel,
        thread=thread,
        broadcast=bool(broadcast),
        streaming=streaming,
        body=json.loads(body),
    )

"""Erasure of a person's data, which Slack has no method for.

Deleted messages leave tombstones, so that replies keep their place.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from aiohttp import web

from rehearsal.messages import TOMBSTONE
from rehearsal.wire import json_object
from rehearsal.workspace import RehearsedWorkspace
from rehearsal.workspace_store import MICROS, micros_of, ts_of

TS = re.compile(r"\d{10}\.\d{6}")


class ClearingRoute:
    def __init__(self, workspace: RehearsedWorkspace) -> None:
        self._workspace = workspace

    def mount(self, router: web.UrlDispatcher) -> None:
        router.add_post("/rehearsal/forget", self.forget)

    async def forget(self, request: web.Request) -> web.Response:
        """Forget {"user", "until"?: Unix seconds, "messages"?: [[channel, ts], …]}."""
        asked = await json_object(request)
        if asked is None or "user" not in asked:
            raise web.HTTPBadRequest(text='expected {"user": "U…"}: the person to forget')
        until = float(asked.get("until", self._workspace.clock.now()))
        messages = [(str(channel), str(ts)) for channel, ts in asked.get("messages", ())]
        forget(self._workspace, str(asked["user"]), until, messages)
        return web.json_response({"ok": True})


def forget(
    workspace: RehearsedWorkspace, user: str, until: float, messages: Iterable[tuple[str, str]] = ()
) -> None:
    """Erase a user's files, their messages and app DMs up to `until`, and `messages`; also from the WAL."""
    db = workspace.db
    with db:
        stamps = _theirs(db, user, int(until * MICROS))
        stamps += [micros_of(ts) for _, ts in messages]
        stone = json.dumps(TOMBSTONE)
        for stamp in stamps:
            db.execute("update message set body = ? where stamp = ?", (stone, stamp))
        db.execute("delete from share where file in (select id from file where user = ?)", (user,))
        db.execute("delete from file where user = ?", (user,))
        _forget_deliveries(workspace, {ts_of(stamp) for stamp in stamps})
    others = [one for one in workspace.whispers if one["user"] != user]
    workspace.whispers.clear()
    workspace.whispers.extend(others)
    db.execute("vacuum")
    db.execute("pragma wal_checkpoint(truncate)").fetchone()
    workspace.feed.renew()


def _theirs(db: sqlite3.Connection, user: str, until: int) -> list[int]:
    direct = (
        "select id from channel join member on member.channel = channel.id where kind = 'im' and user = ?"
    )
    sql = (
        f"select stamp from message where (json_extract(body, '$.user') = ? or channel in ({direct}))"
        " and stamp <= ?"
    )
    return [stamp for (stamp,) in db.execute(sql, (user, user, until))]


def _forget_deliveries(workspace: RehearsedWorkspace, stamps: AbstractSet[str]) -> None:
    """Blank events about these messages, and stop redelivery."""
    db, now = workspace.db, workspace.clock.now()
    for id, payload in db.execute("select id, payload from delivery").fetchall():
        if not stamps.isdisjoint(TS.findall(payload)):
            db.execute(
                "update delivery set payload = '{}', acked = coalesce(acked, ?) where id = ?", (now, id)
            )

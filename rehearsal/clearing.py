"""A person is forgotten in the rehearsed workspace: what they said is gone from its file. Slack has no such
thing.

Their messages and files, all that stands in their DMs with the apps, and the messages that are named besides.
A tombstone stays of each message, as Slack leaves one of a thread's root: replies still have their place, and
one to which there are none is not seen.
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
    """The route, over one workspace."""

    def __init__(self, workspace: RehearsedWorkspace) -> None:
        self._workspace = workspace

    def mount(self, router: web.UrlDispatcher) -> None:
        """Add it."""
        router.add_post("/rehearsal/forget", self.forget)

    async def forget(self, request: web.Request) -> web.Response:
        """{"user", "until"?: seconds, "messages"?: [[channel, ts], …]}: these are gone, with all of theirs
        until then."""
        asked = await json_object(request)
        if asked is None or "user" not in asked:
            raise web.HTTPBadRequest(text='Say whom: {"user": "U…"}')
        until = float(asked.get("until", self._workspace.clock.now()))
        messages = [(str(channel), str(ts)) for channel, ts in asked.get("messages", ())]
        forget(self._workspace, str(asked["user"]), until, messages)
        return web.json_response({"ok": True})


def forget(
    workspace: RehearsedWorkspace, user: str, until: float, messages: Iterable[tuple[str, str]] = ()
) -> None:
    """Not a word of it is left in the file, nor beside it."""
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
    """The stamps of what they said by then, and of all that was said in their DMs with the apps."""
    direct = (
        "select id from channel join member on member.channel = channel.id where kind = 'im' and user = ?"
    )
    sql = (
        f"select stamp from message where (json_extract(body, '$.user') = ? or channel in ({direct}))"
        " and stamp <= ?"
    )
    return [stamp for (stamp,) in db.execute(sql, (user, user, until))]


def _forget_deliveries(workspace: RehearsedWorkspace, stamps: AbstractSet[str]) -> None:
    """Of events about these nothing is left, and none of them is sent again."""
    db, now = workspace.db, workspace.clock.now()
    for id, payload in db.execute("select id, payload from delivery").fetchall():
        if not stamps.isdisjoint(TS.findall(payload)):
            db.execute(
                "update delivery set payload = '{}', acked = coalesce(acked, ?) where id = ?", (now, id)
            )

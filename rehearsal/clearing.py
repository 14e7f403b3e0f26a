"""A person is forgotten in the rehearsed workspace: what they said is gone from its file. Slack has no such
thing.

Their messages and files, all that stands in their DMs with the apps, and the messages that are named besides.
A tombstone stays of each message, as Slack leaves one of a thread's root: replies still have their place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from aiohttp import web

from rehearsal.store import micros_of
from rehearsal.wire import json_object
from rehearsal.workspace import Workspace

TOMBSTONE = {"subtype": "tombstone", "text": "This message was deleted.", "user": "USLACKBOT", "hidden": True}


class Clearing:
    """The route, over one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def mount(self, router: web.UrlDispatcher) -> None:
        """Add it."""
        router.add_post("/rehearsal/forget", self.forget)

    async def forget(self, request: web.Request) -> web.Response:
        """{"user", "messages"?: [[channel, ts], …]}: these are gone, with all of that person."""
        asked = await json_object(request)
        if asked is None or "user" not in asked:
            raise web.HTTPBadRequest(text='Say whom: {"user": "U…"}')
        messages = [(str(channel), str(ts)) for channel, ts in asked.get("messages", ())]
        forget(self._workspace, str(asked["user"]), messages)
        return web.json_response({"ok": True})


def forget(workspace: Workspace, user: str, messages: Iterable[tuple[str, str]] = ()) -> None:
    """Not a word of it is left in the file, nor beside it."""
    db = workspace.db
    with db:
        direct = [
            channel
            for (channel,) in db.execute(
                "select id from channel join member on member.channel = channel.id"
                " where kind = 'im' and user = ?",
                (user,),
            )
        ]
        stone = json.dumps(TOMBSTONE)
        db.execute("update message set body = ? where json_extract(body, '$.user') = ?", (stone, user))
        for channel in direct:
            db.execute("update message set body = ? where channel = ?", (stone, channel))
        for channel, ts in messages:
            place = (stone, channel, micros_of(ts))
            db.execute("update message set body = ? where channel = ? and stamp = ?", place)
        db.execute("delete from share where file in (select id from file where user = ?)", (user,))
        db.execute("delete from file where user = ?", (user,))
        _forget_deliveries(workspace, [user, *direct])
    _forget_whispers(workspace, user)
    db.execute("vacuum")
    db.execute("pragma wal_checkpoint(truncate)").fetchone()


def _forget_deliveries(workspace: Workspace, about: Sequence[str]) -> None:
    """What was delivered of it, and acked: that is never sent again."""
    for name in about:
        workspace.db.execute(
            "update delivery set payload = '{}' where acked is not null and instr(payload, ?) > 0", (name,)
        )


def _forget_whispers(workspace: Workspace, user: str) -> None:
    others = [one for one in workspace.whispers if one["user"] != user]
    workspace.whispers.clear()
    workspace.whispers.extend(others)

"""Routes under `/rehearsal/` for the page and tests."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web

from rehearsal.channels import StoredChannel, all_channels, channel_json, joined_channel, renumber
from rehearsal.events import happened, payload_of, post, root_of, tell_of_name
from rehearsal.people import APPS, CALLERS, PEOPLE, SOUL, TEAM, InstalledApp, name_of
from rehearsal.refusal import ApiError
from rehearsal.wire import json_object
from rehearsal.workspace import RehearsedWorkspace


class ControlRoutes:
    def __init__(self, workspace: RehearsedWorkspace) -> None:
        self._workspace = workspace

    def mount(self, router: web.UrlDispatcher) -> None:
        router.add_get("/rehearsal/state", self.state)
        router.add_get("/rehearsal/events", self._workspace.feed.listen)
        router.add_get("/rehearsal/deliveries", self.deliveries)
        router.add_post("/rehearsal/clock", self.clock)
        router.add_post("/rehearsal/message", self.message)
        router.add_post("/rehearsal/event", self.event)
        router.add_post("/rehearsal/channel", self.channel)

    async def state(self, _: web.Request) -> web.Response:
        """Return the state, after announcing a new name of the soul."""
        with self._workspace.db:
            tell_of_name(self._workspace)
        return web.json_response(state_of(self._workspace))

    async def deliveries(self, _: web.Request) -> web.Response:
        return web.json_response({"ok": True, "deliveries": self._workspace.courier.deliveries()})

    async def clock(self, request: web.Request) -> web.Response:
        """Set {"speed": n}, which divides the waits before redelivery."""
        speed = (await _asked(request)).get("speed")
        if not isinstance(speed, int | float) or speed <= 0:
            raise web.HTTPBadRequest(text='expected a speed above 0: {"speed": 60}')
        self._workspace.courier.speed = float(speed)
        self._workspace.courier.wake()
        return web.json_response({"ok": True, "speed": self._workspace.courier.speed})

    async def message(self, request: web.Request) -> web.Response:
        """Post {"token", "channel", "text", "thread_ts"?, …}, with any further fields."""
        fields = await _asked(request)
        try:
            with self._workspace.db:
                return web.json_response({"ok": True, "ts": _put(self._workspace, fields)})
        except ApiError as refusal:
            return web.json_response(refusal.body)

    async def channel(self, request: web.Request) -> web.Response:
        """Change a channel's id: {"token", "channel", "id", "private"?}; its apps get an event."""
        asked = await _asked(request)
        workspace = self._workspace
        try:
            with workspace.db as db:
                user = CALLERS[str(asked["token"])].id
                old = joined_channel(db, str(asked["channel"]), user)
                new = renumber(db, old, str(asked["id"]), bool(asked.get("private")))
                ids = {"old_channel_id": old.id, "new_channel_id": new.id}
                happened(workspace, new, {"type": "channel_id_changed", **ids})
        except (KeyError, ApiError):
            expected = "expected a token, a channel that its owner is in, and the new id"
            raise web.HTTPBadRequest(text=expected) from None
        workspace.feed.tell(new, {"type": "channel"})
        return web.json_response({"ok": True})

    async def event(self, request: web.Request) -> web.Response:
        """Send {"event": …} wrapped, {"payload": …} unchanged or {"again": event_id} to `app` (default: the
        soul).
        """
        asked = await _asked(request)
        app = next((app for app in APPS if app.id == asked.get("app", SOUL.id)), None)
        if app is None:
            raise web.HTTPBadRequest(text="no app has this id; GET /rehearsal/state lists them")
        courier = self._workspace.courier
        event_id, wrapped = payload_of(self._workspace, app, asked.get("event"))
        payload = asked.get("payload", wrapped)
        again = asked.get("again")
        if again:
            event_id, payload = again, courier.payload(app.id, again)
            if payload is None:
                unknown = "no event of this id was sent; GET /rehearsal/deliveries lists them"
                raise web.HTTPBadRequest(text=unknown)
        with self._workspace.db:
            courier.post(app.id, event_id, payload)
        return web.json_response({"ok": True, "event_id": event_id})


def state_of(workspace: RehearsedWorkspace) -> dict[str, Any]:
    return {
        "ok": True,
        "team": TEAM,
        "soul": SOUL.user,
        "people": [asdict(person) for person in PEOPLE],
        "apps": [_app(workspace, app) for app in APPS],
        "channels": [_channel(channel) for channel in all_channels(workspace.db)],
        "statuses": [line.json() for line in workspace.statuses.all()],
        "sessions": workspace.statuses.sessions(),
        "whispers": list(workspace.whispers),
        "speed": workspace.courier.speed,
    }


def _app(workspace: RehearsedWorkspace, app: InstalledApp) -> dict[str, Any]:
    return {
        "id": app.id,
        "user": app.user,
        "bot": app.bot,
        "agent": app.agent,
        "name": name_of(app.user, workspace.soul),
        "sockets": workspace.links.live(app.id),
        **workspace.courier.counts(app.id),
    }


def _channel(channel: StoredChannel) -> dict[str, Any]:
    shown = channel_json(channel, channel.creator)
    return shown | {"kind": channel.kind, "members": channel.members}


def _put(workspace: RehearsedWorkspace, fields: dict[str, Any]) -> str:
    caller = CALLERS.get(str(fields.pop("token", "")))
    if caller is None:
        raise ApiError("not_authed")
    channel = joined_channel(workspace.db, fields.pop("channel", ""), caller.id)
    thread = root_of(workspace, channel, fields.pop("thread_ts", ""))
    return post(workspace, channel, caller, {"text": "", **fields}, thread).ts


async def _asked(request: web.Request) -> dict[str, Any]:
    asked = await json_object(request)
    if asked is None:
        raise web.HTTPBadRequest(text="expected a JSON object")
    return asked

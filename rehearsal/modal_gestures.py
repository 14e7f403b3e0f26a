"""Modals as people use them: sending one (`POST /rehearsal/submit`), and closing it (`…/close-view`)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import web

from rehearsal.channels import channel_of
from rehearsal.modal_blocks import state_of
from rehearsal.open_views import OpenView
from rehearsal.people import TEAM, TEAM_DOMAIN, handle_of
from rehearsal.refusal import ApiError
from rehearsal.wire import json_object
from rehearsal.workspace import RehearsedWorkspace
from rehearsal.workspace_store import ts_of

PATIENCE = 3.0
"""Seconds for an ack, after which Slack's client says that there was trouble."""


def mount(workspace: RehearsedWorkspace, router: web.UrlDispatcher) -> None:
    router.add_post("/rehearsal/submit", partial(_submit, workspace))
    router.add_post("/rehearsal/close-view", partial(_close, workspace))


async def submit(
    workspace: RehearsedWorkspace, user: str, view_id: str, entered: Mapping[str, Any]
) -> dict[str, Any]:
    """Send a modal with what was entered, by block id; return the app's errors, or close it."""
    shown = workspace.views.of(view_id, user)
    values, faults = state_of(shown.view, entered)
    if faults:
        return {"errors": faults}
    payload = _payload(workspace, shown, values)
    event_id = f"Vs{secrets.token_hex(5).upper()}"
    answered = workspace.courier.answer_to(event_id)
    with workspace.db:
        workspace.courier.post(shown.app.id, event_id, payload)
    answer = await _within(workspace, answered)
    match answer:
        case {"response_action": "errors", "errors": dict(errors)}:
            return {"errors": errors}
    workspace.views.close(view_id)
    return {"closed": True}


async def _within(workspace: RehearsedWorkspace, answered: asyncio.Future[Any]) -> object:
    wait = asyncio.create_task(workspace.clock.sleep(PATIENCE))
    try:
        await asyncio.wait((answered, wait), return_when=asyncio.FIRST_COMPLETED)
        if not answered.done():
            raise ApiError("no_response")
        return answered.result()
    finally:
        wait.cancel()
        answered.cancel()
        await asyncio.gather(wait, return_exceptions=True)


def _payload(workspace: RehearsedWorkspace, shown: OpenView, values: Mapping[str, Any]) -> dict[str, Any]:
    handle = handle_of(shown.user, workspace.soul)
    channel = channel_of(workspace.db, shown.channel, shown.user)
    stamp = ts_of(workspace.mint())
    return {
        "type": "view_submission",
        "team": {"id": TEAM, "domain": TEAM_DOMAIN},
        "user": {"id": shown.user, "username": handle, "name": handle, "team_id": TEAM},
        "api_app_id": shown.app.id,
        "token": "rehearsal",
        "trigger_id": workspace.views.trigger(stamp, shown.app, shown.user, channel.id),
        "view": {**shown.view, "state": {"values": values}},
        "response_urls": [],
        "is_enterprise_install": False,
        "enterprise": None,
    }


async def _submit(workspace: RehearsedWorkspace, request: web.Request) -> web.Response:
    match await json_object(request):
        case {"user": str(user), "view": str(view), "values": dict(entered)}:
            pass
        case _:
            raise web.HTTPBadRequest(text='expected {"user": id, "view": id, "values": {block_id: …}}')
    try:
        return web.json_response({"ok": True, **await submit(workspace, user, view, entered)})
    except ApiError as refusal:
        return web.json_response(refusal.body)


async def _close(workspace: RehearsedWorkspace, request: web.Request) -> web.Response:
    match await json_object(request):
        case {"user": str(user), "view": str(view)}:
            pass
        case _:
            raise web.HTTPBadRequest(text='expected {"user": id, "view": id}')
    try:
        workspace.views.close(workspace.views.of(view, user).id)
        return web.json_response({"ok": True})
    except ApiError as refusal:
        return web.json_response(refusal.body)

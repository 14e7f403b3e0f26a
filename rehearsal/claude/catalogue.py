"""Routes of `/v1/models`, and error answers."""

from __future__ import annotations

from functools import partial

from aiohttp import web

from rehearsal.claude.wire_format import error
from rehearsal.switchboard import FaultSwitchboard

NUMBER = "req_rehearsal_models"


def catalogue(app: web.Application, faults: FaultSwitchboard) -> None:
    """Add the routes. Any name is a model."""
    app.router.add_get("/v1/models", partial(_all, faults))
    app.router.add_get("/v1/models/{model}", partial(_one, faults))


async def _all(faults: FaultSwitchboard, request: web.Request) -> web.Response:
    failed = _barred(faults, request)
    if failed:
        return failed
    return web.json_response({"data": [], "has_more": False, "first_id": None, "last_id": None})


async def _one(faults: FaultSwitchboard, request: web.Request) -> web.Response:
    """Return a model, even without credit."""
    name = request.match_info["model"]
    failed = _barred(faults, request)
    if failed:
        return failed
    if faults.strikes("unknown-model", name):
        return refusal(404, "not_found_error", f"model: {name}", NUMBER)
    shown = {"type": "model", "id": name, "display_name": name, "created_at": "2026-10-07T00:00:00Z"}
    return web.json_response(shown)


def _barred(faults: FaultSwitchboard, request: web.Request) -> web.Response | None:
    if key_of(request) and not faults.on("unauthorized"):
        return None
    return refusal(401, "authentication_error", "invalid x-api-key", NUMBER)


def key_of(request: web.Request) -> str:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer").strip()
    return bearer or request.headers.get("X-Api-Key", "").strip()


def refusal(status: int, kind: str, text: str, number: str, after: float = 0.0) -> web.Response:
    """Return an error; `after` is its Retry-After."""
    headers = {"request-id": number}
    if after:
        headers["retry-after"] = f"{after:g}"
    return web.json_response(error(kind, text, number), status=status, headers=headers)

"""What every route does with a request: reads its JSON, or breaks the connection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from rehearsal.faults import Value


def parsed(text: str | bytes) -> object:
    """What this JSON says; raises ValueError where it is none, also where it is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


async def json_object(request: web.Request) -> dict[str, Any] | None:
    """The JSON object that a request brings; None where it brings anything else."""
    try:
        found = parsed(await request.text())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def outage(request: web.Request, told: Mapping[str, Value]) -> web.Response:
    """What a request gets while Slack is down: an error of the machines before it, or no answer at all."""
    if told["answer"] == "none":
        hang_up(request)
    status = 500 if told["answer"] == "500" else 503
    return web.Response(status=status, text="upstream connect error")


def bearer(request: web.Request) -> str | None:
    """The token that a request brings in its head; None where it has no place for one."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def hang_up(request: web.Request) -> None:
    """Break the connection: whatever is answered now never arrives."""
    if request.transport is not None:
        request.transport.abort()

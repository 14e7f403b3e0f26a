"""Requests of all routes: JSON read, bearers, outages, broken connections."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from rehearsal.faults import Value


def parsed(text: str | bytes) -> object:
    """Parse JSON. Raises ValueError, even if nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


async def json_object(request: web.Request) -> dict[str, Any] | None:
    """Return the request's JSON object; None for anything else."""
    try:
        found = parsed(await request.text())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def outage(request: web.Request, told: Mapping[str, Value]) -> web.Response:
    """Answer as a proxy during an outage, or disconnect."""
    if told["answer"] == "none":
        hang_up(request)
    status = 500 if told["answer"] == "500" else 503
    return web.Response(status=status, text="upstream connect error")


def bearer(request: web.Request) -> str | None:
    """Return the bearer token; None without one."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()

"""How it looks when Slack is not there: an error of the machines before it, or a connection that breaks."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from daemon.rehearsal.faults import Value


def outage(request: web.Request, told: Mapping[str, Value]) -> web.Response:
    """What a request gets while Slack is down."""
    if told["answer"] == "none":
        hang_up(request)
    return web.Response(status=500 if told["answer"] == "500" else 503, text="upstream connect error")


def hang_up(request: web.Request) -> None:
    """Break the connection: whatever is answered now never arrives."""
    if request.transport is not None:
        request.transport.abort()

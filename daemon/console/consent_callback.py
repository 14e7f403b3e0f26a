"""Callback of OAuth on the page's port: open to all, and of use only with the state of a flow that waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiohttp import web

from daemon.console.access import CALLBACK

Deliver = Callable[[Mapping[str, str]], bool]
"""Function that takes the parameters of a redirect; False if nobody waits for its state."""

TAKEN = "The soul daemon has its answer. You may close this window."
NOT_TAKEN = (
    "Nobody waits for this answer, or it came too late. Begin again: python -m daemon connect, or the page."
)


def mount_consent_callback(app: web.Application, deliver: Deliver) -> None:
    async def answer(request: web.Request) -> web.Response:
        if deliver(request.query):
            return web.Response(text=TAKEN)
        return web.Response(status=400, text=NOT_TAKEN)

    # a preview that asks by HEAD must not use the answer up
    app.router.add_get(CALLBACK, answer, allow_head=False)

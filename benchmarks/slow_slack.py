"""A Slack that takes its time with each status, so that whoever waits for it would be seen to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from daemon.engine.journal import Journal
from daemon.ports import Clock
from daemon.slack.status import Status
from daemon.slack.web import Web

LATENCY = 0.05
"""Seconds of a call."""
TEAM = "T"


@asynccontextmanager
async def status(journal: Journal, clock: Clock) -> AsyncIterator[Status]:
    """While inside, what is to be shown is told to such a Slack."""

    async def take(_: web.Request) -> web.Response:
        await asyncio.sleep(LATENCY)
        return web.json_response({"ok": True})

    app = web.Application()
    app.router.add_post("/api/{method}", take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    async with ClientSession() as session:
        client = AsyncWebClient(token="xoxb-any", base_url=url, session=session)
        shown = Status(Web(client, clock), journal, TEAM)
        try:
            yield shown
        finally:
            await shown.close()
            await runner.cleanup()

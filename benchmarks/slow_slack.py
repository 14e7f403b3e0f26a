"""Slow Slack, to reveal waits for statuses.

A separate process, so that its work is not counted as the daemon's.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from daemon.engine.clock import Clock
from daemon.engine.journal.journal import Journal
from daemon.slack.status import SlackStatus
from daemon.slack.web_api import WebApi

LATENCY = 0.05
"""Seconds per call."""
TEAM = "T"


async def serve() -> None:
    """Print the port, and answer until killed."""

    async def take(_: web.Request) -> web.Response:
        await asyncio.sleep(LATENCY)
        return web.json_response({"ok": True})

    app = web.Application()
    app.router.add_post("/api/{method}", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


@asynccontextmanager
async def status(journal: Journal, clock: Clock) -> AsyncIterator[SlackStatus]:
    """Run statuses against this Slack."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, stdout=PIPE)
    assert process.stdout
    try:
        url = f"http://127.0.0.1:{int(await process.stdout.readline())}/api/"
        async with ClientSession() as session:
            client = AsyncWebClient(token="xoxb-any", base_url=url, session=session)
            shown = SlackStatus(WebApi(client, clock), journal, TEAM)
            try:
                yield shown
            finally:
                await shown.close()
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(serve())

"""Where lines come from: a ticket that is good for once, a handshake, Slack's hello. Made by the surface."""

from __future__ import annotations

import asyncio

from aiohttp import ClientSession, ClientWSTimeout
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from daemon.slack.access import Access, ticket
from daemon.slack.hearing import BEAT, Hearing
from daemon.slack.line import Line
from daemon.slack.web import Web

GOODBYE = 2.0
"""Seconds that Slack has to answer our closing of a line."""


class Exchange:
    """Opens lines to one workspace, all for the same Bolt app. A silent one is given up after 1.5 beats."""

    def __init__(
        self,
        app: AsyncApp,
        web: Web,
        access: Access,
        session: ClientSession,
        hearing: Hearing,
        beat: float = BEAT,
    ) -> None:
        self.web = web
        self.hearing = hearing
        self._app = app
        self._access = access
        self._session = session
        self._beat = beat

    async def open(self) -> Line:
        """A line on which Slack has said hello.

        Raises ConfigError when Slack will not have us any more, SlackApiError or OUT_OF_REACH when it
        cannot be done now.
        """
        client = self.web.client
        ws = await self._session.ws_connect(
            await ticket(self.web, self._access),
            autoping=False,  # so that pongs are seen: they are life
            heartbeat=self._beat,
            proxy=client.proxy,
            ssl=True if client.ssl is None else client.ssl,
            timeout=ClientWSTimeout(ws_close=GOODBYE),
        )
        line = Line(ws, self._listen, self.hearing.frame, self.hearing.lines)
        self.hearing.lines.add(line)
        try:
            async with asyncio.timeout(self._beat):
                await line.greeted
        except BaseException:
            await self.hang_up(line)
            raise
        return line

    async def hang_up(self, line: Line) -> None:
        """Close a line."""
        await line.close()
        self.hearing.lines.discard(line)

    async def _listen(self, line: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.hearing.event(request.type)
        response = await run_async_bolt_app(self._app, request)
        await send_async_response(line, request, response, self.web.clock.now())

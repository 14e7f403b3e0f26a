"""All connections to Slack: each event comes on one of them, and each is replaced before it ends.

A connection is one line after the other: a ticket that is good for once, then hello.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import ClientSession, ClientWSTimeout, WSServerHandshakeError
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.errors import SlackApiError

from daemon.slack.access import SlackAccess, socket_url
from daemon.slack.line import BEAT, ConnectionHealth, SlackConnection
from daemon.slack.refusals import OUT_OF_REACH, describe_failure
from daemon.slack.web import WebApi, retry_pause

GOODBYE = 2.0
"""Seconds that Slack has to answer our closing of a line."""
FULL = "too_many_websockets"
"""Slack's word for more sockets than it allows: there is no room for a new one beside the old."""
RECOUNT = "recount"
"""Why a line is replaced that is well: each new one brings Slack's count of all that are open."""
STEADY = 60.0
"""Seconds that a line must have lasted for the next one to be opened at once, whatever was before."""

ADVICE = {
    FULL: "Lower SLACK_CONNECTIONS, or stop what else uses this app.",
    "link_disabled": "Switch Socket Mode on at https://api.slack.com/apps, your app, Socket Mode.",
}

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ConnectionPool:
    """As many connections as are wanted, each independent of the others, all for the same Bolt app.

    `began` is called whenever one hears again after it may have missed something. A silent line is given up
    after 1.5 beats.
    """

    app: AsyncApp
    web: WebApi
    access: SlackAccess
    session: ClientSession
    hearing: ConnectionHealth
    began: Callable[[], None]
    beat: float = BEAT

    def __post_init__(self) -> None:
        self._first = asyncio.Event()
        self._keeping: list[asyncio.Task[None]] = []

    async def connect(self) -> None:
        """Begin to listen; returns when the first of them does. Raises ConfigError."""
        for _ in range(self.hearing.wanted):
            task = asyncio.create_task(self._keep_connected())
            task.add_done_callback(self._ended)
            self._keeping.append(task)
        first = asyncio.create_task(self._first.wait())
        try:
            await asyncio.wait((self.web.died, first), return_when=asyncio.FIRST_COMPLETED)
        finally:
            first.cancel()
        if self.web.died.done():
            self.web.died.result()

    async def close(self) -> None:
        """Hang up, for good."""
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        await asyncio.gather(*map(self._hang_up, self.hearing.lines))

    async def _keep_connected(self) -> None:
        """One connection: a line, and the next one as soon as it is needed, until cancelled.

        The next one begins before the last is closed, so that nothing falls between them. Each attempt has a
        ticket of its own. Raises ConfigError when Slack will not have us any more.
        """
        clock = self.web.clock
        last: SlackConnection | None = None
        reason = "start"
        attempts = 0
        while True:
            if last and reason == FULL:
                await self._hang_up(last)
            attempts += 1
            await clock.sleep(retry_pause(attempts))
            self.hearing.opening += 1
            try:
                line = await self._open()
            except (SlackApiError, *OUT_OF_REACH) as failure:
                self.hearing.failed[_lacking(failure)] += 1
                log.warning("No socket to Slack (%s); it is tried again.", describe_failure(failure))
                continue
            finally:
                self.hearing.opening -= 1
            again = self.hearing.compare_socket_count(line)
            self.hearing.opened[reason] += 1
            if last is None or not last.is_alive:
                self._first.set()
                self.began()
            if last:
                await self._hang_up(last)
            last = line
            since = clock.steady()
            reason = await self._replacement_reason(line, again)
            self.hearing.was_deaf |= not self.hearing.alive_count
            if reason in ADVICE:
                log.warning("Slack's socket is to be replaced (%s). %s", reason, ADVICE[reason])
            if reason == RECOUNT or clock.steady() - since >= STEADY:
                attempts = 0

    async def _replacement_reason(self, line: SlackConnection, again: float | None) -> str:
        """Why another line must take its place, if only so that Slack counts them again."""
        if again is None:
            return await line.over
        pause = asyncio.create_task(self.web.clock.sleep(again))
        try:
            await asyncio.wait((line.over, pause), return_when=asyncio.FIRST_COMPLETED)
            return line.over.result() if line.over.done() else RECOUNT
        finally:
            pause.cancel()
            await asyncio.gather(pause, return_exceptions=True)

    async def _open(self) -> SlackConnection:
        """A line on which Slack has said hello.

        Raises ConfigError when Slack will not have us any more, SlackApiError or OUT_OF_REACH when it
        cannot be done now.
        """
        client = self.web.client
        ws = await self.session.ws_connect(
            await socket_url(self.web, self.access),
            autoping=False,  # so that pongs are seen: they are life
            heartbeat=self.beat,
            proxy=client.proxy,
            ssl=client.ssl or True,
            timeout=ClientWSTimeout(ws_close=GOODBYE),
        )
        line = SlackConnection(ws, self._listen, self.hearing)
        self.hearing.lines.add(line)
        try:
            async with asyncio.timeout(self.beat):
                await line.greeted
        except BaseException:
            await self._hang_up(line)
            raise
        return line

    async def _hang_up(self, line: SlackConnection) -> None:
        await line.close()
        self.hearing.lines.discard(line)

    async def _listen(self, request: AsyncBoltRequest) -> bool:
        response = await self.app.async_dispatch(request)
        return response.status == HTTPStatus.OK

    def _ended(self, keeping: asyncio.Task[None]) -> None:
        """A connection ends by itself only when it must not go on."""
        if keeping.cancelled():
            return
        error = keeping.exception()
        if error:
            self.web.give_up(error)


def _lacking(failure: Exception) -> str:
    """What an attempt did not get."""
    if isinstance(failure, SlackApiError):
        return "ticket"
    if isinstance(failure, WSServerHandshakeError):
        return "handshake"
    return "answer"

"""One connection that never ends: a line, and the next one as soon as it is needed. Run by sockets.py."""

from __future__ import annotations

import logging
from asyncio import gather
from collections.abc import Callable

from aiohttp import WSServerHandshakeError
from slack_sdk.errors import SlackApiError

from daemon.ports import Clock
from daemon.slack.exchange import Exchange
from daemon.slack.line import Line
from daemon.slack.web import OUT_OF_REACH, pause, why

FULL = "too_many_websockets"
"""Slack's word for more sockets than it allows: there is no room for a new one beside the old."""
STEADY = 60.0
"""Seconds that a line must have lasted for the next one to be opened at once, whatever was before."""

ADVICE = {
    FULL: "Lower SLACK_CONNECTIONS, or stop what else uses this app.",
    "link_disabled": "Switch Socket Mode on at https://api.slack.com/apps, your app, Socket Mode.",
}

log = logging.getLogger(__name__)


class Socket:
    """Stays connected. `began` is called whenever it hears again after it may have missed something."""

    def __init__(self, exchange: Exchange, clock: Clock, began: Callable[[], None]) -> None:
        self._exchange = exchange
        self._clock = clock
        self._began = began
        self._lines: list[Line] = []
        self._attempts = 0

    async def keep(self) -> None:
        """Stay connected until cancelled. Raises ConfigError when Slack will not have us any more."""
        reason = "start"
        try:
            while True:
                line = await self._renew(reason)
                since = self._clock.steady()
                reason = await line.over
                log.log(logging.WARNING if reason in ADVICE else logging.INFO, _told(reason))
                if self._clock.steady() - since >= STEADY:
                    self._attempts = 0
        finally:
            await gather(*map(self._exchange.hang_up, self._lines))

    async def _renew(self, reason: str) -> Line:
        """The next line, begun before the last one is closed, so that nothing falls between them."""
        if reason == FULL:
            await self._hang_up(keep=0)
        line = await self._connect()
        self._exchange.hearing.opened[reason] += 1
        if not any(last.alive for last in self._lines):
            self._began()
        self._lines.append(line)
        await self._hang_up(keep=1)
        return line

    async def _hang_up(self, keep: int) -> None:
        while len(self._lines) > keep:
            await self._exchange.hang_up(self._lines[0])
            del self._lines[0]

    async def _connect(self) -> Line:
        """A line, however many attempts it takes; each has a ticket of its own."""
        while True:
            self._attempts += 1
            await self._clock.sleep(pause(self._attempts))
            try:
                return await self._exchange.open()
            except (SlackApiError, *OUT_OF_REACH) as failure:
                self._exchange.hearing.failed[_lacking(failure)] += 1
                log.warning("No socket to Slack (%s); it is tried again.", why(failure))


def _lacking(failure: Exception) -> str:
    """What an attempt did not get."""
    if isinstance(failure, SlackApiError):
        return "ticket"
    return "handshake" if isinstance(failure, WSServerHandshakeError) else "answer"


def _told(reason: str) -> str:
    return f"Slack's socket is to be replaced ({reason}). {ADVICE.get(reason, '')}".rstrip()

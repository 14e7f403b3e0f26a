"""One connection that never ends: a line, and the next one as soon as it is needed. Run by sockets.py."""

from __future__ import annotations

import logging
from asyncio import gather
from collections.abc import Callable
from random import uniform

from aiohttp import WSServerHandshakeError
from slack_sdk.errors import SlackApiError

from daemon.ports import Clock
from daemon.slack.exchange import Exchange
from daemon.slack.line import Line
from daemon.slack.web import OUT_OF_REACH, error_of

FULL = "too_many_websockets"
"""Slack's word for more sockets than it allows: there is no room for a new one beside the old."""
STEADY = 60.0
"""Seconds that a line must have lasted for the next one to be opened at once, whatever was before."""
AT_ONCE = 2
"""Attempts before the first pause."""
LONGEST_PAUSE = 30.0

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
        why = "start"
        try:
            while True:
                line = await self._renew(why)
                since = self._clock.now()
                why = await line.over
                log.log(logging.WARNING if why in ADVICE else logging.INFO, _told(why))
                if self._clock.now() - since >= STEADY:
                    self._attempts = 0
        finally:
            await gather(*map(self._exchange.hang_up, self._lines))

    async def _renew(self, why: str) -> Line:
        """The next line, begun before the last one is closed, so that nothing falls between them."""
        if why == FULL:
            await self._hang_up(keep=0)
        line = await self._connect()
        self._exchange.hearing.opened[why] += 1
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
                log.warning("No socket to Slack (%s); it is tried again.", _cause(failure))


def pause(attempt: int) -> float:
    """Seconds before this attempt: more each time, up to a bound, and by chance: others try as well."""
    if attempt <= AT_ONCE:
        return 0.0
    return min(2.0 ** min(attempt - AT_ONCE, 9), LONGEST_PAUSE) * uniform(0.5, 1.0)


def _lacking(failure: Exception) -> str:
    """What an attempt did not get."""
    if isinstance(failure, SlackApiError):
        return "ticket"
    return "handshake" if isinstance(failure, WSServerHandshakeError) else "answer"


def _cause(failure: Exception) -> str:
    """What to say of it: never an address, which holds the ticket."""
    if isinstance(failure, SlackApiError):
        return error_of(failure) or "no answer of Slack's"
    return f"{type(failure).__name__} {getattr(failure, 'status', '')}".rstrip()


def _told(why: str) -> str:
    return f"Slack's socket is to be replaced ({why}). {ADVICE.get(why, '')}".rstrip()

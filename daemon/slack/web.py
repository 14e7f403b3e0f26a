"""Slack's Web API, called with patience for rate limits and with `hold` before every request.

Every call of this room goes through here. The SDK's own retries are off: they would not ask `hold` again.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from random import uniform
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.ports import Clock, Hold
from daemon.slack.payload import first_text
from daemon.slack.refusals import (
    LIMITED,
    MISSING_SCOPE,
    NOT_SLACK,
    REVOKED,
    ScopeStatus,
    slack_error,
    token_advice,
)

Method = Callable[..., Awaitable[AsyncSlackResponse]]
Item = Mapping[str, Any]
"""A message, or a conversation, as Slack keeps it."""

CHANNEL = frozenset({"channel", "channel_id"})
"""Arguments that name a channel."""
PAGE, MEMBERS = 200, 1_000
"""Items, and members of a conversation, that are asked for at once."""

SKEW = 300
"""Seconds by which Slack's clock and ours may differ: so many are read twice, and known again."""
TIMEOUT = 30.0
"""Seconds for one request."""
LONGEST_WAIT = 30
"""Seconds that a call waits for a rate limit, in all; for a longer Retry-After it does not wait at all."""
SECONDS = re.compile(r"[0-9]{1,9}")
AT_ONCE = 2
"""Attempts at the same thing before the first pause."""
LONGEST_PAUSE = 30.0


def no_lease_check() -> None:
    """The `hold` of a call that changes nothing in the world."""


def retry_pause(attempt: int) -> float:
    """Seconds before this attempt: more each time, up to a bound, and by chance: others try as well."""
    if attempt <= AT_ONCE:
        return 0.0
    return min(2.0 ** min(attempt - AT_ONCE, 9), LONGEST_PAUSE) * uniform(0.5, 1.0)


def named(method: Method) -> str:
    """A method of the SDK's as Slack calls it."""
    return str(getattr(method, "__name__", "a method")).replace("_", ".")


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class WebApi:
    """The Web API of one workspace."""

    client: AsyncWebClient
    clock: Clock
    died: asyncio.Future[None] = field(default_factory=_future)
    """Fails when Slack will not have us any more: the daemon cannot go on."""
    scopes: ScopeStatus = field(default_factory=ScopeStatus)
    """What the app may not do."""
    channel_now: Callable[[str], str] = str
    """The id by which Slack calls a channel now: the journal keeps the first one."""
    answered_at: float | None = None
    """What time it was for Slack when it last answered, in Unix seconds; None where it did not say."""
    _dated: float = 0.0
    """The time at which that answer came, by the clock that nobody sets."""

    def now(self) -> float:
        """Slack's time as of its last answer, or ours where it does not say: ours may be set wrong."""
        if self.answered_at is None:
            return self.clock.now()
        return self.answered_at

    def time(self) -> float | None:
        """Slack's time by now, in Unix seconds: its last answer's, and what has passed since; None where no
        answer says it."""
        if self.answered_at is None:
            return None
        return self.answered_at + self.clock.steady() - self._dated

    async def wait_until(self, event: asyncio.Event, seconds: float) -> None:
        """Wait until this happened, or this long."""
        waits = [asyncio.create_task(self.clock.sleep(seconds)), asyncio.create_task(event.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def call(
        self, hold: Hold, method: Method, /, patience: int = LONGEST_WAIT, **arguments: Any
    ) -> AsyncSlackResponse:
        """One method; waits out a rate limit, for so many seconds. Raises SlackApiError or OUT_OF_REACH."""
        while True:
            try:
                return await self.send_request(hold, method, **arguments)
            except SlackApiError as refusal:
                wait = retry_after(refusal, patience)
                if wait is None:
                    raise
            patience -= wait
            await self.clock.sleep(wait)

    async def call_readonly(
        self, method: Method, /, patience: int = LONGEST_WAIT, **arguments: Any
    ) -> AsyncSlackResponse:
        """The same of a method that changes nothing in the world: that needs no `hold`."""
        return await self.call(no_lease_check, method, patience, **arguments)

    async def send_request(self, hold: Hold, method: Method, /, **arguments: Any) -> AsyncSlackResponse:
        """One request, whatever comes of it. If the bot token is of no use any more, that is the end."""
        hold()
        for name in CHANNEL & arguments.keys():
            arguments[name] = self.channel_now(str(arguments[name]))
        async with asyncio.timeout(TIMEOUT):
            try:
                answer = await method(**arguments)
            except (AttributeError, RecursionError) as error:  # the SDK takes every answer for a JSON object
                raise aiohttp.ClientPayloadError(NOT_SLACK) from error
            except SlackApiError as refusal:
                word = slack_error(refusal)
                if word in REVOKED and "app_token" not in arguments:
                    self.give_up(token_advice("SLACK_BOT_TOKEN", self.client.base_url, word))
                if word == MISSING_SCOPE and isinstance(refusal.response.data, dict):
                    self.scopes.note_refused(named(method), refusal.response.data)
                raise
        self.scopes.note_accepted(named(method))
        self.answered_at = server_time(answer)
        self._dated = self.clock.steady()
        return answer

    def give_up(self, reason: BaseException) -> None:
        """Slack will not have us any more. The first reason counts."""
        if not self.died.done():
            self.died.set_exception(reason)
            self.died.exception()  # or asyncio would complain where nobody waits for it yet


async def pages(
    ask: Method, method: Method, key: str, most: int = sys.maxsize, /, **arguments: Any
) -> AsyncIterator[list[Item]]:
    """What a method shows under `key`, page by page, `most` of them at the most. Raises what `ask` does."""
    async for answer in _answers(ask, method, most, limit=PAGE, **arguments):
        page = answer.get(key)
        if not isinstance(page, list):
            raise aiohttp.ClientPayloadError(f"Slack's answer holds no {key}")
        yield [item for item in page if isinstance(item, Mapping)]


async def members(ask: Method, method: Method, channel: str, most: int = sys.maxsize) -> set[str]:
    """The ids of those who are in a conversation, of so many pages at the most. Raises what `ask` does."""
    found = set[str]()
    async for answer in _answers(ask, method, most, limit=MEMBERS, channel=channel):
        found.update(map(str, answer.get("members") or ()))
    return found


async def _answers(
    ask: Method, method: Method, most: int, **arguments: Any
) -> AsyncIterator[AsyncSlackResponse]:
    for _ in range(most):
        answer = await ask(method, **arguments)
        yield answer
        cursor = next_page(answer)
        if not cursor:
            return
        arguments["cursor"] = cursor


def next_page(answer: AsyncSlackResponse) -> str:
    """Slack's cursor of the page after this one; empty after the last."""
    return first_text(answer.get("response_metadata"), "next_cursor")


def server_time(answer: AsyncSlackResponse) -> float | None:
    """When Slack gave this answer, as its `Date` says; None where that cannot be read."""
    said = parsedate_tz(str(answer.headers.get("Date", "")))
    if said is None:
        return None
    try:
        return float(mktime_tz(said))
    except (OverflowError, ValueError):
        return None


def retry_after(refusal: SlackApiError, longest: int = LONGEST_WAIT) -> int | None:
    """Seconds to wait before another try; None when waiting is of no use, or too long."""
    if slack_error(refusal) != LIMITED:
        return None
    return seconds_of(str(refusal.response.headers.get("Retry-After", "1")), longest)


def seconds_of(said: str, longest: int) -> int | None:
    """What a Retry-After says; None for what is no number of seconds, or more than that."""
    if not SECONDS.fullmatch(said) or int(said) > longest:
        return None
    return max(int(said), 1)

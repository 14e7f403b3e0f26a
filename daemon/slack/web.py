"""Slack's Web API, called with patience for rate limits and with `hold` before every request.

Every call of this room goes through here. The SDK's own retries are off: they would not ask `hold` again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from http import HTTPStatus
from random import uniform
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.ports import Clock, Hold
from daemon.slack.scopes import Scopes
from daemon.slack.tokens import REVOKED, refused

Method = Callable[..., Awaitable[AsyncSlackResponse]]

OUT_OF_REACH = (aiohttp.ClientError, TimeoutError)
"""What a call raises when Slack was not reached, or did not answer: it may have been done or not."""
TIMEOUT = 30.0
"""Seconds for one request."""
LONGEST_WAIT = 30
"""Seconds that a call waits for a rate limit, in all; for a longer Retry-After it does not wait at all."""
LIMITED = "ratelimited"
MISSING_SCOPE = "missing_scope"
CLOSED = frozenset(
    {
        "cannot_dm_bot",
        "channel_not_found",
        "ekm_access_denied",
        "is_archived",
        "messages_tab_disabled",
        "no_permission",
        "not_in_channel",
        "team_access_not_granted",
        "user_disabled",
    }
)
"""Slack's words for a conversation in which nothing can be said until somebody changes something there."""
RESTRICTED = "restricted_action"
"""How others of them begin."""
UNWELL = frozenset({"", LIMITED, "fatal_error", "internal_error", "request_timeout", "service_unavailable"})
"""Slack's words for being out of order; none at all, where somebody else answered."""
NOT_SLACK = "no answer of Slack's"
AT_ONCE = 2
"""Attempts at the same thing before the first pause."""
LONGEST_PAUSE = 30.0


def free() -> None:
    """The `hold` of a call that changes nothing in the world."""


def error_of(refusal: SlackApiError) -> str:
    """Slack's word for what was wrong; empty when the answer was not Slack's."""
    response = refusal.response
    if isinstance(response, AsyncSlackResponse) and response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return LIMITED
    data = response.data if isinstance(response, AsyncSlackResponse) else None
    return str(data.get("error") or "") if isinstance(data, dict) else ""


def final(refusal: SlackApiError) -> bool:
    """Will Slack never take this? Not so where it is out of order, or our token is."""
    status = getattr(refusal.response, "status_code", HTTPStatus.OK)
    ours = error_of(refusal) not in UNWELL | REVOKED
    return ours and status < HTTPStatus.INTERNAL_SERVER_ERROR


def closed(failure: Exception) -> bool:
    """Does Slack say that nothing can be said in this conversation, whatever it is?"""
    word = error_of(failure) if isinstance(failure, SlackApiError) else ""
    return word in CLOSED or word.startswith(RESTRICTED)


def why(failure: Exception) -> str:
    """What to say of a call that failed: never an address, which may hold a ticket."""
    if isinstance(failure, SlackApiError):
        return error_of(failure) or NOT_SLACK
    if isinstance(failure, aiohttp.ClientError) and not isinstance(failure, aiohttp.ClientPayloadError):
        return f"{type(failure).__name__} {getattr(failure, 'status', '')}".rstrip()
    return str(failure) or type(failure).__name__


def pause(attempt: int) -> float:
    """Seconds before this attempt: more each time, up to a bound, and by chance: others try as well."""
    if attempt <= AT_ONCE:
        return 0.0
    return min(2.0 ** min(attempt - AT_ONCE, 9), LONGEST_PAUSE) * uniform(0.5, 1.0)


def _named(method: Method) -> str:
    """A method of the SDK's as Slack calls it."""
    return str(getattr(method, "__name__", "a method")).replace("_", ".")


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class Dated:
    """What time it was for Slack when it last answered, in Unix seconds; None where it did not say."""

    at: float | None = None


@dataclass(frozen=True, slots=True)
class Web:
    """The Web API of one workspace."""

    client: AsyncWebClient
    clock: Clock
    patience: int = LONGEST_WAIT
    died: asyncio.Future[None] = field(default_factory=_future)
    """Fails when Slack will not have us any more: the daemon cannot go on."""
    scopes: Scopes = field(default_factory=Scopes)
    """What the app may not do."""
    dated: Dated = field(default_factory=Dated)

    def now(self) -> float:
        """Slack's time as of its last answer, or ours where it does not say: ours may be set wrong."""
        return self.clock.now() if self.dated.at is None else self.dated.at

    async def call(self, hold: Hold, method: Method, /, **arguments: Any) -> AsyncSlackResponse:
        """One method; waits out a rate limit, within bounds. Raises SlackApiError or OUT_OF_REACH."""
        left = self.patience
        while True:
            try:
                return await self.once(hold, method, **arguments)
            except SlackApiError as refusal:
                if (wait := retry_after(refusal, left)) is None:
                    raise
            left -= wait
            await self.clock.sleep(wait)

    async def once(self, hold: Hold, method: Method, /, **arguments: Any) -> AsyncSlackResponse:
        """One request, whatever comes of it. If the bot token is of no use any more, that is the end."""
        hold()
        async with asyncio.timeout(TIMEOUT):
            try:
                answer = await method(**arguments)
            except (AttributeError, RecursionError) as error:  # the SDK takes every answer for a JSON object
                raise aiohttp.ClientPayloadError(NOT_SLACK) from error
            except SlackApiError as refusal:
                if (word := error_of(refusal)) in REVOKED and "app_token" not in arguments:
                    self.end(refused("SLACK_BOT_TOKEN", self.client.base_url, word))
                if word == MISSING_SCOPE and isinstance(refusal.response.data, dict):
                    self.scopes.refused(_named(method), refusal.response.data)
                raise
        self.scopes.taken(_named(method))
        self.dated.at = date(answer)
        return answer

    def end(self, reason: BaseException) -> None:
        """Slack will not have us any more. The first reason counts."""
        if not self.died.done():
            self.died.set_exception(reason)
            self.died.exception()  # or asyncio would complain where nobody waits for it yet

    async def pages(
        self, method: Method, key: str, most: int, /, **arguments: Any
    ) -> AsyncIterator[Mapping[str, Any]]:
        """The items under `key` of a paginated reading method, `most` pages at the most."""
        cursor = ""
        for _ in range(most):
            page = await self.call(
                free, method, limit=200, **arguments, **({"cursor": cursor} if cursor else {})
            )
            for item in page.get(key) or ():
                yield item
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return


def date(answer: AsyncSlackResponse) -> float | None:
    """When Slack gave this answer, as its `Date` says; None where that cannot be read."""
    told = parsedate_tz(str(answer.headers.get("Date", "")))
    try:
        return None if told is None else float(mktime_tz(told))
    except (OverflowError, ValueError):
        return None


def retry_after(refusal: SlackApiError, longest: int = LONGEST_WAIT) -> int | None:
    """Seconds to wait before another try; None when waiting is of no use, or too long."""
    if error_of(refusal) != LIMITED:
        return None
    said = str(refusal.response.headers.get("Retry-After", "1"))
    seconds = max(int(said), 1) if said.isdecimal() else longest + 1
    return seconds if seconds <= longest else None

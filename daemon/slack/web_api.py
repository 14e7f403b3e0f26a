"""Client of Slack's Web API: rate limits, refusals, tokens and scopes.

The SDK's retries are off, since they would skip the check of the lease (`hold`). A missing scope is logged
once; an essential scope is shown to owners until its method succeeds.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from http import HTTPStatus
from random import uniform
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import ClientSession
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.engine.clock import Clock
from daemon.engine.exceptions import recorded_name
from daemon.engine.execution import Hold, no_lease_check
from daemon.settings.parse import ConfigError
from daemon.slack.block_text import TS, display_name, first_text, object_or_empty
from daemon.slack.incoming import SOMEWHERE, BotIdentity

OUT_OF_REACH = (aiohttp.ClientError, TimeoutError)
"""Failures without an answer: the call may have taken effect."""

LIMITED = "ratelimited"
MISSING_SCOPE = "missing_scope"

CLOSED = frozenset(
    {
        "cannot_dm_bot",
        "cannot_reply_to_message",
        "channel_not_found",
        "ekm_access_denied",
        "invalid_thread_ts",
        "is_archived",
        "messages_tab_disabled",
        "no_permission",
        "not_in_channel",
        "team_access_not_granted",
        "thread_not_found",
        "user_disabled",
    }
)
"""Slack errors of a conversation closed to posts."""

RESTRICTED = "restricted_action"
"""Prefix of further errors of closed conversations."""

UNWELL = frozenset(
    {
        "",
        LIMITED,
        "external_channel_migrating",
        "fatal_error",
        "internal_error",
        "message_limit_exceeded",
        "rate_limited",
        "request_timeout",
        "service_unavailable",
        "streaming_state_conflict",
        "team_added_to_org",
    }
)
"""Slack errors of a temporary fault; "" if the answer is not Slack's."""

NOT_SLACK = "no answer of Slack's"

LACKING = frozenset(
    [
        "unknown_method",
        "method_deprecated",
        "deprecated_endpoint",
        "missing_scope",
        "not_allowed_token_type",
        "not_agent_app",
        "not_authorized",
        "not_enabled",
        "feature_not_enabled",
        "plan_upgrade_required",
        "access_denied",
        "no_permission",
    ]
)
"""Refusals of an optional method, valid until the next start."""

REVOKED = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
"""Slack errors of an invalid token."""

FATAL = REVOKED | {
    "access_denied",
    "enterprise_is_restricted",
    "forbidden_team",
    "missing_scope",
    "no_permission",
    "not_allowed_token_type",
    "team_access_not_granted",
}
"""Slack errors of a login that no retry fixes."""

FIXED = frozenset({"cant_update_message", "edit_window_closed"})
"""Slack errors of a message that cannot be edited any more."""

NOT_ABOUT_CONTENT = (
    FATAL
    | LACKING
    | {
        "accesslimited",
        "message_not_found",
        "org_login_required",
        "team_not_found",
        "two_factor_setup_required",
        "user_not_found",
        "user_not_in_channel",
    }
)
"""Refusals that do not depend on a message's text."""

TOKEN_FIXES = {
    "SLACK_BOT_TOKEN": "copy the bot token (xoxb-…) from https://api.slack.com/apps, OAuth & Permissions",
    "SLACK_APP_TOKEN": "make an app-level token (xapp-…) with connections:write at "
    "https://api.slack.com/apps, Basic Information",
}

ESSENTIAL = "chat:write"
SCOPE = re.compile(r"[a-z_.]+:[a-z_:.]+")

FIX = (
    "Add it at https://api.slack.com/apps, OAuth & Permissions (manifest.json names all that are needed), "
    "and install the app again."
)

log = logging.getLogger(__name__)


def slack_error(refusal: SlackApiError) -> str:
    """Return Slack's error code; empty if the answer is not Slack's."""
    response = refusal.response
    if not isinstance(response, AsyncSlackResponse):
        return ""
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return LIMITED
    return first_text(response.data, "error")


def is_permanent(refusal: SlackApiError) -> bool:
    """True if Slack will never accept this call."""
    status = getattr(refusal.response, "status_code", HTTPStatus.OK)
    ours = slack_error(refusal) not in UNWELL | REVOKED
    return ours and status < HTTPStatus.INTERNAL_SERVER_ERROR


def is_conversation_closed(failure: Exception) -> bool:
    if not isinstance(failure, SlackApiError):
        return False
    code = slack_error(failure)
    return code in CLOSED or code.startswith(RESTRICTED)


def is_content_refusal(failure: Exception) -> bool:
    """True if Slack refuses a message's content; unknown errors count as such refusals."""
    if not isinstance(failure, SlackApiError) or is_conversation_closed(failure):
        return False
    return is_permanent(failure) and slack_error(failure) not in NOT_ABOUT_CONTENT


def describe_failure(failure: Exception) -> str:
    """Describe a failed call without its URL, which may hold a secret."""
    if isinstance(failure, SlackApiError):
        return slack_error(failure) or NOT_SLACK
    if isinstance(failure, aiohttp.ClientError) and not isinstance(failure, aiohttp.ClientPayloadError):
        return f"{type(failure).__name__} {getattr(failure, 'status', '')}".rstrip()
    return str(failure) or recorded_name(failure)


def token_advice(name: str, at: str, code: str) -> ConfigError:
    return ConfigError(f"{name} was refused by {at} ({code}): {TOKEN_FIXES[name]}.")


class ScopeStatus:
    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._lacking: dict[str, str] = {}

    @property
    def owner_advice(self) -> Sequence[str]:
        essential = dict.fromkeys(needed for needed in self._lacking.values() if ESSENTIAL in needed)
        return [
            f"The Slack app lacks the scope {needed}, so nothing can be said. {FIX}" for needed in essential
        ]

    def note_refused(self, method: str, answer: Mapping[str, Any]) -> None:
        needed = _scopes(answer, "needed") or "one that it does not name"
        self._lacking[method] = needed
        if (method, needed) not in self._told:
            self._told.add((method, needed))
            provided = _scopes(answer, "provided") or "none"
            log.error(
                "Slack refuses %s: the app lacks the scope %s. %s It has: %s.", method, needed, FIX, provided
            )

    def note_accepted(self, method: str) -> None:
        """Note that the app has this method's scope; other methods that lacked it count as allowed, too."""
        needed = self._lacking.get(method)
        if needed:
            self._lacking = {other: lacks for other, lacks in self._lacking.items() if lacks != needed}


def _scopes(answer: Mapping[str, Any], name: str) -> str:
    return ", ".join(SCOPE.findall(first_text(answer, name)))


SHOWN = 3_600.0
"""Seconds for which the last refusal is shown to owners."""


class RefusedContent:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = 0.0
        self._last = ""

    @property
    def owner_advice(self) -> Sequence[str]:
        if not self._last or self._clock.steady() - self._at > SHOWN:
            return ()
        return [self._last]

    def record_refusal(self, place: str, thread: str, code: str) -> None:
        self._at = self._clock.steady()
        said = f"what was to be said in {place} ({code})"
        self._last = f"Slack refused in every form {said}: it is missing there."
        log.error("Slack refused a message in %s in every form: %s.", thread, code)


Method = Callable[..., Awaitable[AsyncSlackResponse]]

Item = Mapping[str, Any]
"""Message or conversation in Slack's format."""

CHANNEL_ARGUMENTS = frozenset({"channel", "channel_id"})
PAGE, MEMBERS = 200, 1_000

SKEW = 300
"""Seconds by which clocks may differ, hence by which readings overlap."""

TIMEOUT = 30.0

LONGEST_WAIT = 30
"""Most seconds that a call waits for rate limits; a longer Retry-After fails at once."""

SECONDS = re.compile(r"[0-9]{1,9}")

AT_ONCE = 2
"""Attempts made without a pause."""

LONGEST_PAUSE = 30.0


def retry_pause(attempt: int) -> float:
    """Return seconds to wait before this attempt: growing, limited and random."""
    if attempt <= AT_ONCE:
        return 0.0
    return min(2.0 ** min(attempt - AT_ONCE, 9), LONGEST_PAUSE) * uniform(0.5, 1.0)


def method_name(method: Method) -> str:
    return str(getattr(method, "__name__", "a method")).replace("_", ".")


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class WebApi:
    client: AsyncWebClient
    clock: Clock
    died: asyncio.Future[None] = field(default_factory=_future)
    """Future that fails when Slack rejects our token, which ends the daemon."""
    scopes: ScopeStatus = field(default_factory=ScopeStatus)
    channel_now: Callable[[str], str] = str
    """Function that maps a recorded channel id to its current one."""
    answered_at: float | None = None
    """Slack's time in Unix seconds at its last answer; None if not stated."""
    _dated: float = 0.0

    def now(self) -> float:
        """Return Slack's time at its last answer; if unstated, local time, which may be wrong."""
        if self.answered_at is None:
            return self.clock.now()
        return self.answered_at

    def time(self) -> float | None:
        """Return Slack's present time in Unix seconds; None if unknown."""
        if self.answered_at is None:
            return None
        return self.answered_at + self.clock.steady() - self._dated

    async def wait_until(self, event: asyncio.Event, seconds: float) -> None:
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
        """Call a method; wait up to `patience` seconds for rate limits.

        Raises SlackApiError or OUT_OF_REACH.
        """
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
        return await self.call(no_lease_check, method, patience, **arguments)

    async def send_request(self, hold: Hold, method: Method, /, **arguments: Any) -> AsyncSlackResponse:
        """Send one request; a rejected bot token ends the daemon."""
        await hold()
        for name in CHANNEL_ARGUMENTS & arguments.keys():
            arguments[name] = self.channel_now(str(arguments[name]))
        async with asyncio.timeout(TIMEOUT):
            try:
                answer = await method(**arguments)
            except (AttributeError, RecursionError) as error:  # the SDK expects a JSON object
                raise aiohttp.ClientPayloadError(NOT_SLACK) from error
            except SlackApiError as refusal:
                code = slack_error(refusal)
                if code in REVOKED and "app_token" not in arguments:
                    self.give_up(token_advice("SLACK_BOT_TOKEN", self.client.base_url, code))
                if code == MISSING_SCOPE and isinstance(refusal.response.data, dict):
                    self.scopes.note_refused(method_name(method), refusal.response.data)
                raise
        self.scopes.note_accepted(method_name(method))
        self.answered_at = server_time(answer)
        self._dated = self.clock.steady()
        return answer

    def give_up(self, reason: BaseException) -> None:
        """End the daemon for this reason; only the first reason counts."""
        if not self.died.done():
            self.died.set_exception(reason)
            self.died.exception()  # stops asyncio's complaint if nobody awaits it


async def read_pages(
    ask: Method, method: Method, key: str, most: int = sys.maxsize, /, **arguments: Any
) -> AsyncIterator[list[Item]]:
    """Yield the items under `key`, page by page, of up to `most` pages. Raises as `ask` does."""
    async for answer in _answers(ask, method, most, limit=PAGE, **arguments):
        page = answer.get(key)
        if not isinstance(page, list):
            raise aiohttp.ClientPayloadError(f"Slack's answer holds no {key}")
        yield [item for item in page if isinstance(item, Mapping)]


async def read_members(ask: Method, method: Method, channel: str, most: int = sys.maxsize) -> set[str]:
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
    return first_text(answer.get("response_metadata"), "next_cursor")


def server_time(answer: AsyncSlackResponse) -> float | None:
    said = parsedate_tz(str(answer.headers.get("Date", "")))
    if said is None:
        return None
    try:
        return float(mktime_tz(said))
    except (OverflowError, ValueError):
        return None


def retry_after(refusal: SlackApiError, longest: int = LONGEST_WAIT) -> int | None:
    """Return the seconds before a retry after a rate limit; None for other errors, or if over `longest`."""
    if slack_error(refusal) != LIMITED:
        return None
    return seconds_of(str(refusal.response.headers.get("Retry-After", "1")), longest)


def seconds_of(said: str, longest: int) -> int | None:
    if not SECONDS.fullmatch(said) or int(said) > longest:
        return None
    return max(int(said), 1)


SLACK = AsyncWebClient.BASE_URL


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackAccess:
    """Tokens and address of a workspace. `headers` are sent with every request."""

    bot_token: str = field(repr=False)
    app_token: str = field(repr=False)
    base_url: str = SLACK
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def local(self) -> bool:
        """True for a rehearsal server on this machine, which needs no proxy."""
        return urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")


def make_web_api(
    access: SlackAccess, session: ClientSession, clock: Clock, scopes: ScopeStatus | None = None
) -> WebApi:
    client = AsyncWebClient(
        token=access.bot_token,
        base_url=access.base_url,
        session=session,
        retry_handlers=[],
        logger=quiet_logger("daemon.slack.api"),
    )
    if access.local:
        client.proxy = None
    return WebApi(client, clock, scopes=scopes or ScopeStatus())


async def authenticate(web: WebApi, access: SlackAccess) -> BotIdentity:
    """Return our identity, retrying until Slack answers. Raises ConfigError with advice."""
    attempt = 1
    while True:
        try:
            return await identify_bot(web, access)
        except (SlackApiError, *OUT_OF_REACH) as failure:
            if attempt == 1:
                log.warning("%s It is tried again until it can.", unreachable_advice(access, failure))
        attempt += 1
        await web.clock.sleep(retry_pause(attempt))


async def identify_bot(web: WebApi, access: SlackAccess) -> BotIdentity:
    answer = await _proven(web, access, "SLACK_BOT_TOKEN", web.client.auth_test)
    name = str(answer.get("user") or "")
    with suppress(SlackApiError, *OUT_OF_REACH):
        described = await web.call_readonly(web.client.users_info, user=answer["user_id"])
        name = display_name(object_or_empty(described, "user")) or name
    return BotIdentity(
        team=str(answer["team_id"]),
        user=str(answer["user_id"]),
        bot=str(answer.get("bot_id") or ""),
        name=name,
        url=str(answer.get("url") or SOMEWHERE),
    )


async def socket_url(web: WebApi, access: SlackAccess) -> str:
    """Return the address of a new socket, valid once.

    Raises ConfigError for an invalid token, else SlackApiError or OUT_OF_REACH.
    """
    open_socket = web.client.apps_connections_open
    answer = await _proven(web, access, "SLACK_APP_TOKEN", open_socket, app_token=access.app_token)
    return str(answer["url"])


def unreachable_advice(access: SlackAccess, failure: Exception) -> str:
    reason = describe_failure(failure)
    return f"Slack cannot be reached ({reason} at {access.base_url}): check SLACK_API_URL and the network."


async def _proven(
    web: WebApi, access: SlackAccess, name: str, method: Method, **arguments: Any
) -> AsyncSlackResponse:
    try:
        return await web.call_readonly(method, **arguments)
    except SlackApiError as refusal:
        code = slack_error(refusal)
        if code in FATAL:
            raise token_advice(name, access.base_url, code) from refusal
        raise


def quiet_logger(name: str) -> logging.Logger:
    logger = logging.getLogger(name)
    logger.setLevel(logging.ERROR)
    return logger


def time_of(item: Item, name: str = "ts") -> float:
    """Return a ts of the item in Unix seconds; 0 if invalid."""
    ts = str(item.get(name))
    if not TS.fullmatch(ts):
        return 0.0
    return float(ts)

"""Slack's Web API, called with patience for rate limits and with `hold` before every request.

Every call of this room goes through here. The SDK's own retries are off: they would not ask `hold` again.

What Slack refuses, in its own words, and what that means: for a call, a token, a scope of the app.

Each lack of a scope is said once. What is a nicety is left out; what is essential is shown until a call of
its kind goes well.

How the daemon gets into a workspace: tokens, who they make us, tickets. For the surface and the doctor.

What Slack refused in each form: said in the log, and for a while among what is wrong.
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
from daemon.engine.execution import Hold
from daemon.settings.parse import ConfigError
from daemon.slack.block_text import TS, display_name, first_text, object_or_empty
from daemon.slack.incoming import SOMEWHERE, BotIdentity

OUT_OF_REACH = (aiohttp.ClientError, TimeoutError)
"""What a call raises when Slack was not reached, or did not answer: it may have been done or not."""


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
"""Slack's words for a conversation in which nothing can be said until somebody changes something there."""


RESTRICTED = "restricted_action"
"""How others of them begin."""


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
"""Slack's words for being out of order, or for having no time; none at all, where somebody else answered."""


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
"""Refusals of a nicety that will not change while this process lives."""


REVOKED = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
"""Slack's words for a token that is none any more, whatever it is used for."""


FATAL = REVOKED | {
    "access_denied",
    "enterprise_is_restricted",
    "forbidden_team",
    "missing_scope",
    "no_permission",
    "not_allowed_token_type",
    "team_access_not_granted",
}
"""Slack's words for what no further attempt to get in can mend."""


FIXED = frozenset({"cant_update_message", "edit_window_closed"})
"""Slack's words for a message that cannot be rewritten any more: only another one can be posted."""


OTHERWISE = (
    FATAL
    | frozenset(LACKING)
    | {
        "accesslimited",
        "deprecated_endpoint",
        "message_not_found",
        "org_login_required",
        "team_not_found",
        "two_factor_setup_required",
        "user_not_found",
        "user_not_in_channel",
    }
)
"""Refusals that say nothing of a message's words: another text would be refused as well."""


WHERE = {
    "SLACK_BOT_TOKEN": "copy the bot token (xoxb-…) from https://api.slack.com/apps, OAuth & Permissions",
    "SLACK_APP_TOKEN": "make an app-level token (xapp-…) with connections:write at "
    "https://api.slack.com/apps, Basic Information",
}
"""What the owner can do about a token that is of no use."""


ESSENTIAL = "chat:write"
"""Without it nothing can be said at all."""


SCOPE = re.compile(r"[a-z_.]+:[a-z_:.]+")


FIX = (
    "Add it at https://api.slack.com/apps, OAuth & Permissions (manifest.json names all that are needed), "
    "and install the app again."
)


log = logging.getLogger(__name__)


def slack_error(refusal: SlackApiError) -> str:
    """Slack's word for what was wrong; empty when the answer was not Slack's."""
    response = refusal.response
    if not isinstance(response, AsyncSlackResponse):
        return ""
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return LIMITED
    return first_text(response.data, "error")


def is_permanent(refusal: SlackApiError) -> bool:
    """Will Slack never take this? Not so where it is out of order, or our token is."""
    status = getattr(refusal.response, "status_code", HTTPStatus.OK)
    ours = slack_error(refusal) not in UNWELL | REVOKED
    return ours and status < HTTPStatus.INTERNAL_SERVER_ERROR


def is_conversation_closed(failure: Exception) -> bool:
    """Does Slack say that nothing can be said in this conversation, whatever it is?"""
    if not isinstance(failure, SlackApiError):
        return False
    word = slack_error(failure)
    return word in CLOSED or word.startswith(RESTRICTED)


def is_content_refusal(failure: Exception) -> bool:
    """Does Slack refuse what is in a message? So it is taken for each word of Slack's that is not known.

    What is wrong with Slack, with us or with the place has words that are known, and lasts.
    """
    if not isinstance(failure, SlackApiError) or is_conversation_closed(failure):
        return False
    return is_permanent(failure) and slack_error(failure) not in OTHERWISE


def describe_failure(failure: Exception) -> str:
    """What to say of a call that failed: never an address, which may hold a ticket."""
    if isinstance(failure, SlackApiError):
        return slack_error(failure) or NOT_SLACK
    if isinstance(failure, aiohttp.ClientError) and not isinstance(failure, aiohttp.ClientPayloadError):
        return f"{type(failure).__name__} {getattr(failure, 'status', '')}".rstrip()
    return str(failure) or recorded_name(failure)


def token_advice(name: str, at: str, word: str) -> ConfigError:
    """The token of this name was refused there, with this word: what to do."""
    return ConfigError(f"{name} was refused by {at} ({word}): {WHERE[name]}.")


class ScopeStatus:
    """What is known of them in this life."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._lacking: dict[str, str] = {}
        """What each method was refused for."""

    @property
    def owner_advice(self) -> Sequence[str]:
        """What is lacking without which the soul cannot speak, and what to do."""
        essential = dict.fromkeys(needed for needed in self._lacking.values() if ESSENTIAL in needed)
        return [
            f"The Slack app lacks the scope {needed}, so nothing can be said. {FIX}" for needed in essential
        ]

    def note_refused(self, method: str, answer: Mapping[str, Any]) -> None:
        """Slack refused this method for want of a scope; its answer names it, and those that there are."""
        needed = _scopes(answer, "needed") or "one that it does not name"
        self._lacking[method] = needed
        if (method, needed) not in self._told:
            self._told.add((method, needed))
            provided = _scopes(answer, "provided") or "none"
            log.error(
                "Slack refuses %s: the app lacks the scope %s. %s It has: %s.", method, needed, FIX, provided
            )

    def note_accepted(self, method: str) -> None:
        """Slack took a call of this method: what it was refused for is there now, for others, too."""
        needed = self._lacking.get(method)
        if needed:
            self._lacking = {other: lacks for other, lacks in self._lacking.items() if lacks != needed}


def _scopes(answer: Mapping[str, Any], name: str) -> str:
    return ", ".join(SCOPE.findall(first_text(answer, name)))


SHOWN = 3_600.0
"""Seconds for which it is shown."""


class RefusedContent:
    """The last of it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = 0.0
        self._last = ""

    @property
    def owner_advice(self) -> Sequence[str]:
        """What was refused lately, in a sentence."""
        if not self._last or self._clock.steady() - self._at > SHOWN:
            return ()
        return [self._last]

    def record_refusal(self, place: str, thread: str, word: str) -> None:
        """Slack refused something in this place, with this word."""
        self._at = self._clock.steady()
        said = f"what was to be said in {place} ({word})"
        self._last = f"Slack refused in every form {said}: it is missing there."
        log.error("Slack refused in every form what was to be said in %s: %s.", thread, word)


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


SLACK = AsyncWebClient.BASE_URL


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackAccess:
    """Which workspace, and as whom. `headers` go with every request: the rehearsal may ask for one."""

    bot_token: str = field(repr=False)
    app_token: str = field(repr=False)
    base_url: str = SLACK
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def local(self) -> bool:
        """Is it a rehearsal on this machine? No proxy leads there."""
        return urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")


def make_web_api(
    access: SlackAccess, session: ClientSession, clock: Clock, scopes: ScopeStatus | None = None
) -> WebApi:
    """The Web API of this workspace."""
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
    """Who we are, however long Slack takes to say so. Raises ConfigError with what to do."""
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
    """Who the bot token makes us. Raises as `ticket` does."""
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
    """The address of a socket, good for once.

    Raises ConfigError with what to do where the token is of no use, else SlackApiError or OUT_OF_REACH:
    that may pass.
    """
    open_socket = web.client.apps_connections_open
    answer = await _proven(web, access, "SLACK_APP_TOKEN", open_socket, app_token=access.app_token)
    return str(answer["url"])


def unreachable_advice(access: SlackAccess, failure: Exception) -> str:
    """What to say, and to do, where Slack may only be away."""
    reason = describe_failure(failure)
    return f"Slack cannot be reached ({reason} at {access.base_url}): check SLACK_API_URL and the network."


async def _proven(
    web: WebApi, access: SlackAccess, name: str, method: Method, **arguments: Any
) -> AsyncSlackResponse:
    try:
        return await web.call_readonly(method, **arguments)
    except SlackApiError as refusal:
        word = slack_error(refusal)
        if word in FATAL:
            raise token_advice(name, access.base_url, word) from refusal
        raise


def quiet_logger(name: str) -> logging.Logger:
    """A logger for code that is not ours: errors only; Bolt warns of settings that we chose."""
    logger = logging.getLogger(name)
    logger.setLevel(logging.ERROR)
    return logger


def time_of(item: Item, name: str = "ts") -> float:
    """When a message was written, or what else this field is the ts of; long ago if it is none."""
    ts = str(item.get(name))
    if not TS.fullmatch(ts):
        return 0.0
    return float(ts)

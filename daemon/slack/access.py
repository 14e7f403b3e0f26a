"""How the daemon gets into a workspace: tokens, who they make us, tickets. For the surface and the doctor."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientSession
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.ports import Clock
from daemon.slack.payload import display_name, object_or_empty
from daemon.slack.policy import SOMEWHERE, BotIdentity
from daemon.slack.refusals import (
    FATAL,
    OUT_OF_REACH,
    ScopeStatus,
    describe_failure,
    slack_error,
    token_advice,
)
from daemon.slack.web import Method, WebApi, retry_pause

SLACK = AsyncWebClient.BASE_URL

log = logging.getLogger(__name__)


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

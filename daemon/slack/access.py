"""How the daemon gets into a workspace: tokens, and the two calls that prove them before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.errors import ConfigError
from daemon.slack.policy import Me
from daemon.slack.web import OUT_OF_REACH, Method, Web, error_of, free

SLACK = AsyncWebClient.BASE_URL
WHERE = {
    "SLACK_BOT_TOKEN": "copy the bot token (xoxb-…) from https://api.slack.com/apps, OAuth & Permissions",
    "SLACK_APP_TOKEN": "make an app-level token (xapp-…) with connections:write at "
    "https://api.slack.com/apps, Basic Information",
}

FATAL = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_allowed_token_type",
        "missing_scope",
        "no_permission",
        "access_denied",
        "team_access_not_granted",
        "enterprise_is_restricted",
        "forbidden_team",
    }
)
"""Slack's words for what no further attempt can mend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Which workspace, and as whom. `headers` go with every request: the rehearsal may ask for one."""

    bot_token: str
    app_token: str
    base_url: str = SLACK
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def local(self) -> bool:
        """Is it a rehearsal on this machine? No proxy leads there."""
        return urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")


async def introduce(web: Web, access: Access) -> Me:
    """Who the bot token makes us. Raises ConfigError with what to do."""
    answer = await _proven(web, access, "SLACK_BOT_TOKEN", web.client.auth_test)
    name = str(answer.get("user") or "")
    with suppress(SlackApiError, *OUT_OF_REACH):
        user = (await web.call(free, web.client.users_info, user=answer["user_id"])).get("user") or {}
        profile = user.get("profile") or {}
        name = str(profile.get("display_name") or profile.get("real_name") or name)
    return Me(
        team=str(answer["team_id"]),
        user=str(answer["user_id"]),
        bot=str(answer.get("bot_id") or ""),
        name=name,
    )


async def ticket(web: Web, access: Access) -> str:
    """The address of a first socket, good for once. Raises ConfigError with what to do."""
    open_socket = web.client.apps_connections_open
    answer = await _proven(web, access, "SLACK_APP_TOKEN", open_socket, app_token=access.app_token)
    return str(answer["url"])


async def another_ticket(web: Web, access: Access) -> str:
    """The address of a further socket. Raises ConfigError only where the app token is of no use any more.

    Else SlackApiError or OUT_OF_REACH: that may pass.
    """
    try:
        answer = await web.call(free, web.client.apps_connections_open, app_token=access.app_token)
    except SlackApiError as refusal:
        if error_of(refusal) in FATAL:
            raise _refused(access, "SLACK_APP_TOKEN", refusal) from refusal
        raise
    return str(answer["url"])


async def _proven(
    web: Web, access: Access, name: str, method: Method, **arguments: str
) -> AsyncSlackResponse:
    try:
        return await web.call(free, method, **arguments)
    except SlackApiError as refusal:
        raise _refused(access, name, refusal) from refusal
    except OUT_OF_REACH as failure:
        raise ConfigError(
            f"Slack cannot be reached at {access.base_url} ({failure}): check SLACK_API_URL and the network."
        ) from failure


def _refused(access: Access, name: str, refusal: SlackApiError) -> ConfigError:
    word = error_of(refusal) or "no answer of Slack's"
    return ConfigError(f"{name} was refused by {access.base_url} ({word}): {WHERE[name]}.")

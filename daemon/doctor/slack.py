"""The workspace: who the bot token makes us, what it may do, and whether a socket may be opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Set

from aiohttp import ClientSession
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.doctor.finding import Finding, ill
from daemon.errors import ConfigError
from daemon.ports import Clock
from daemon.slack.access import Access, introduce, ticket
from daemon.slack.web import OUT_OF_REACH, Web, free


async def slack(access: Access, wanted: Set[str], clock: Clock) -> AsyncIterator[Finding]:
    """auth.test with the scopes that it shows, of which the manifest asks for `wanted`; then a ticket."""
    async with ClientSession(headers=access.headers) as session:
        client = AsyncWebClient(
            token=access.bot_token, base_url=access.base_url, session=session, retry_handlers=[]
        )
        if access.local:
            client.proxy = None
        web = Web(client, clock)
        try:
            me = await introduce(web, access)
            yield Finding(name="bot token", said=f"{me.name}, in the workspace {me.team}")
            yield await _scopes(web, wanted)
        except ConfigError as error:
            yield ill("bot token", str(error))
        try:
            await ticket(web, access)
            yield Finding(name="app token", said="opens a socket")
        except ConfigError as error:
            yield ill("app token", str(error))


async def _scopes(web: Web, wanted: Set[str]) -> Finding:
    """What the bot token may do, as Slack says in a header."""
    try:
        answer = await web.call(free, web.client.auth_test)
    except (SlackApiError, *OUT_OF_REACH) as error:
        return ill("scopes", f"cannot be seen now ({type(error).__name__}). Try again in a few minutes")
    shown = next((text for name, text in answer.headers.items() if name.lower() == "x-oauth-scopes"), "")
    if missing := sorted(wanted - {scope.strip() for scope in shown.split(",")}):
        fix = "Add them at https://api.slack.com/apps, OAuth & Permissions, and install the app again"
        return ill("scopes", f"{', '.join(missing)} are missing. {fix}")
    return Finding(name="scopes", said=f"all {len(wanted)} that manifest.json asks for")

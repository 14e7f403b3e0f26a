"""The workspace: who the bot token makes us, what it may do, and whether a socket may be opened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Set

from aiohttp import ClientSession
from slack_sdk.errors import SlackApiError

from daemon.doctor.finding import Finding, ill_finding, well_finding
from daemon.errors import ConfigError
from daemon.ports import Clock
from daemon.slack.access import SlackAccess, identify_bot, make_web_api, socket_url, unreachable_advice
from daemon.slack.line import BEAT
from daemon.slack.other_daemon import MEND
from daemon.slack.payload import count_at, parse_json
from daemon.slack.refusals import LACKING, OUT_OF_REACH, is_permanent, slack_error
from daemon.slack.sign import ADVICE
from daemon.slack.status import DONE
from daemon.slack.web import WebApi, named

NOWHERE, NEVER = "C0000000000", "1.000000"
"""A conversation that there is not."""


async def examine_slack(
    access: SlackAccess, wanted: Set[str], clock: Clock, *, alone: bool
) -> AsyncIterator[Finding]:
    """auth.test with the scopes that it shows, of which the manifest asks for `wanted`; then a ticket.

    `alone`: no daemon of this home runs, so that no socket of the app is ours.
    """
    async with ClientSession(headers=access.headers) as session:
        web = make_web_api(access, session, clock)
        bot = await _look_once("bot token", access, _bot(web, access))
        yield bot
        if bot.ok:
            scopes = await _look_once("scopes", access, _scopes(web, wanted))
            yield scopes
            if scopes.ok:
                yield await _look_once("agent", access, _agent(web))
        app = await _look_once("app token", access, _app(web, access))
        yield app
        if alone and app.ok:
            yield await _look_once("sockets", access, _sockets(web, access, session))


async def _look_once(name: str, access: SlackAccess, looking: Awaitable[Finding]) -> Finding:
    """What comes of looking once, or what was in the way."""
    try:
        return await looking
    except ConfigError as error:
        return ill_finding(name, str(error))
    except (SlackApiError, *OUT_OF_REACH) as failure:
        return ill_finding(name, unreachable_advice(access, failure))


async def _bot(web: WebApi, access: SlackAccess) -> Finding:
    me = await identify_bot(web, access)
    return well_finding("bot token", f"{me.name}, in the workspace {me.team}")


async def _scopes(web: WebApi, wanted: Set[str]) -> Finding:
    """What the bot token may do, as Slack says in a header."""
    answer = await web.call_readonly(web.client.auth_test)
    shown = str(answer.headers.get("X-OAuth-Scopes", ""))
    missing = sorted(wanted - {scope.strip() for scope in shown.split(",")})
    if missing:
        fix = "Add them at https://api.slack.com/apps, OAuth & Permissions, and install the app again"
        return ill_finding("scopes", f"{', '.join(missing)} are missing. {fix}")
    return well_finding("scopes", f"all {len(wanted)} that manifest.json asks for")


async def _agent(web: WebApi) -> Finding:
    """Does Slack take signs of work? Asked of a conversation that there is not: nothing is shown."""
    method = web.client.agents_sessions_setStatus
    try:
        await web.call_readonly(method, channel_id=NOWHERE, thread_ts=NEVER, status=DONE)
    except SlackApiError as refusal:
        if slack_error(refusal) in LACKING:
            return ill_finding("agent", f"Slack refuses {named(method)} ({slack_error(refusal)}). {ADVICE}")
        if not is_permanent(refusal):
            raise
    return well_finding("agent", "Slack shows that it is at work, with a Stop button")


async def _app(web: WebApi, access: SlackAccess) -> Finding:
    await socket_url(web, access)
    return well_finding("app token", "opens a socket")


async def _sockets(web: WebApi, access: SlackAccess, session: ClientSession) -> Finding:
    """Is the app's only socket ours? It is opened for no more than Slack's count of them."""
    client = web.client
    url = await socket_url(web, access)
    async with session.ws_connect(url, proxy=client.proxy, ssl=client.ssl or True) as ws:
        async with asyncio.timeout(BEAT):
            hello = parse_json(await ws.receive_str())
    counted = count_at(hello.get("num_connections")) if isinstance(hello, dict) else 0
    if counted <= 1:
        return well_finding("sockets", "no other daemon uses this app")
    others = f"Slack counts {counted - 1} sockets of this app that are not ours, so another daemon uses it"
    return ill_finding(
        "sockets", f"{others}. {MEND} One that has just ended is counted for a moment: look again."
    )

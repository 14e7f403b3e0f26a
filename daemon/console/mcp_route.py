"""The route of the soul's MCP server: a token of its own, which opens nothing else on the port.

Host and Origin are checked before, as for every route.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from aiohttp import hdrs, web

from daemon.console.access import LOGIN_LIMIT, MCP, json_error, refuse_wrong_token
from daemon.console.asgi_route import ANY_METHOD, AsgiRoute
from daemon.console.server import CONNECTIONS

SCHEME = "bearer"

NO_TOKEN = (
    "This needs a token in the header Authorization, as Bearer: the MCP_TOKEN of the daemon's .env, or where "
    "there is none, what SOUL_HOME/mcp-token contains. `python -m daemon mcp` finds it by itself."
)
CLOSED = "The daemon starts or stops, and answers no MCP client yet. Try again in some seconds."


def mount_mcp(app: web.Application, token: str) -> AsgiRoute:
    """Serve an application at /mcp, once the returned route is opened."""
    route = AsgiRoute(CLOSED)
    guarded = GuardedMcpRoute(route=route, token=token)
    for method in ANY_METHOD:
        app.router.add_route(method, MCP, guarded.answer)
    return route


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedMcpRoute:
    route: AsgiRoute
    token: str

    async def answer(self, request: web.Request) -> web.StreamResponse:
        shown = _shown_token(request)
        if not shown:
            return _with_challenge(json_error(401, NO_TOKEN))
        if not hmac.compare_digest(shown.encode(errors="replace"), self.token.encode()):
            return _with_challenge(await refuse_wrong_token(request, request.app[LOGIN_LIMIT], NO_TOKEN))
        request.app[CONNECTIONS].mark_trusted(request.protocol)
        return await self.route.answer(request)


def _shown_token(request: web.Request) -> str:
    scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    return token.strip() if scheme.casefold() == SCHEME else ""


def _with_challenge(response: web.Response) -> web.Response:
    if response.status == 401:
        response.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
    return response

"""How a browser signs in and out: a link is exchanged for a session, and a session is ended.

The page's script does the exchange, by a POST: whoever only looks at a link does not use it up.
"""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from daemon.console.brake import LoginRateLimit
from daemon.console.credentials import PageCredentials
from daemon.console.crowd import CROWD
from daemon.console.guard import BRAKE, HEADER, SESSION, json_error, refuse_wrong_token
from daemon.console.posted import read_posted_json

NO_JSON = 'Send {"token": "…"}: the token of a link, or the lasting one.'
NO_SESSION = "This is no session that could be ended."


def mount_sessions(app: web.Application, credentials: PageCredentials) -> None:
    """Add the route to this application, after its guard."""
    routes = SessionRoutes(credentials=credentials, brake=app[BRAKE])
    app.router.add_post(SESSION, routes.open)
    app.router.add_delete(SESSION, routes.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRoutes:
    """What answers it."""

    credentials: PageCredentials
    brake: LoginRateLimit

    async def open(self, request: web.Request) -> web.Response:
        """Open a session for the token of a link, which is used up, or for the lasting one."""
        token = await _token(request)
        if not token:
            return json_error(400, NO_JSON)
        secret = self.credentials.open_session(token)
        if not secret:
            return await refuse_wrong_token(request, self.brake)
        return web.json_response({"ok": True, "session": secret})

    async def end(self, request: web.Request) -> web.Response:
        """End the session that is shown, with all that is sent to it now."""
        shown = request.headers.get(HEADER, "")
        name = shown and self.credentials.session_of(shown)
        if not name:
            return json_error(401, NO_SESSION)
        self.credentials.sessions.remove(name)
        request.app[CROWD].close_session(name, request.protocol)
        return web.json_response({"ok": True})


async def _token(request: web.Request) -> str:
    """What stands in the request; empty where it is none of ours."""
    token = (await read_posted_json(request)).get("token")
    return token.strip() if isinstance(token, str) else ""

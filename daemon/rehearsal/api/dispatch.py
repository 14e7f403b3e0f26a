"""`/api/{method}`: finds the method, checks the token, answers as Slack does: 200, `ok` or an error."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.rehearsal.api import chat, conversations, reactions, status, streams, users
from daemon.rehearsal.api.call import Call, arguments, caller_of
from daemon.rehearsal.refusal import Refused
from daemon.rehearsal.workspace import Workspace

METHODS = {
    **chat.METHODS,
    **streams.METHODS,
    **conversations.METHODS,
    **users.METHODS,
    **reactions.METHODS,
    **status.METHODS,
}


class Api:
    """Slack's Web API over one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def answer(self, request: web.Request) -> web.Response:
        """Any call; what a refused one had already changed is taken back."""
        headers: dict[str, str] = {}
        try:
            args = await arguments(request)
            name = request.match_info["method"]
            body = _test(args) if name == "api.test" else self._called(request, name, args, headers)
        except Refused as refusal:
            body = refusal.body
        return web.json_response({"ok": True, **body}, headers=headers)

    def _called(
        self, request: web.Request, name: str, args: dict[str, Any], headers: dict[str, str]
    ) -> dict[str, Any]:
        method = METHODS.get(name)
        if method is None:
            raise Refused("unknown_method", req_method=name)
        caller = caller_of(request, args)
        if caller.app is not None:
            granted = caller.app.scopes if caller.kind == "bot" else ("connections:write",)
            headers["x-oauth-scopes"] = ",".join(granted)
        method.check(caller)
        origin = f"{'wss' if request.secure else 'ws'}://{request.host}"
        with self._workspace.db:
            return method.answer(Call(workspace=self._workspace, caller=caller, args=args, origin=origin))


def _test(args: dict[str, Any]) -> dict[str, Any]:
    if error := args.get("error"):
        raise Refused(str(error), args=args)
    return {"args": args}

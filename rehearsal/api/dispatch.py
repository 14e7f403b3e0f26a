"""Dispatch of `/api/{method}`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from aiohttp import web

from rehearsal.api import chat, conversations, reactions, set_status, uploads, users, views
from rehearsal.api.call import MethodCall, arguments, caller_of
from rehearsal.faults import Value
from rehearsal.people import TokenOwner
from rehearsal.refusal import ApiError
from rehearsal.wire import hang_up, outage
from rehearsal.workspace import RehearsedWorkspace

METHODS = {
    **chat.METHODS,
    **conversations.METHODS,
    **users.METHODS,
    **reactions.METHODS,
    **set_status.METHODS,
    **uploads.METHODS,
    **views.METHODS,
}


class WebApiServer:
    def __init__(self, workspace: RehearsedWorkspace) -> None:
        self._workspace = workspace

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a call, subject to faults. People's calls are spared, so that they can still talk."""
        try:
            args = await arguments(request)
        except ApiError as refusal:
            return web.json_response(refusal.body)
        faults, name = self._workspace.faults, request.match_info["method"]
        if _is_person(request, args):
            return self._answered(request, name, args)
        down = faults.strikes("down")
        if down:
            return outage(request, down)
        limit = faults.strikes("rate-limit", name)
        if limit:
            return _limited(float(limit["seconds"]))
        broken = faults.strikes("broken", name)
        if broken:
            return outage(request, broken)
        refused = faults.strikes("refused", name)
        if refused:
            return web.json_response({"ok": False, "error": str(refused["error"])})
        response = self._answered(request, name, args)
        if faults.strikes("answer-lost", name):
            hang_up(request)
        return response

    def _answered(self, request: web.Request, name: str, args: dict[str, Any]) -> web.Response:
        """Call the method; roll back after a refusal."""
        headers: dict[str, str] = {}
        try:
            body = _test(args) if name == "api.test" else self._called(request, name, args, headers)
        except ApiError as refusal:
            body = refusal.body
        return web.json_response({"ok": True, **body}, headers=headers)

    def _called(
        self, request: web.Request, name: str, args: dict[str, Any], headers: dict[str, str]
    ) -> dict[str, Any]:
        method = METHODS.get(name)
        if method is None:
            raise ApiError("unknown_method", req_method=name)
        caller = caller_of(request, args)
        faults = self._workspace.faults
        if caller.app is not None:
            granted = _granted(caller, faults.on("missing-scope"))
            headers["x-oauth-scopes"] = ",".join(granted)
        method.check(caller)
        if caller.kind == "bot" and method.scope and faults.strikes("missing-scope", method.scope):
            raise ApiError("missing_scope", needed=method.scope, provided=headers["x-oauth-scopes"])
        scheme = "wss" if request.secure else "ws"
        origin = f"{scheme}://{request.host}"
        with self._workspace.db:
            return method.answer(
                MethodCall(workspace=self._workspace, caller=caller, args=args, origin=origin)
            )


def _granted(caller: TokenOwner, lacking: Mapping[str, Value] | None) -> Sequence[str]:
    """Return a token's scopes without those that a fault removes."""
    if caller.kind != "bot" or caller.app is None:
        return ("connections:write",)
    if not lacking:
        return caller.app.scopes
    return [scope for scope in caller.app.scopes if not fnmatchcase(scope, str(lacking["scope"]))]


def _is_person(request: web.Request, args: dict[str, Any]) -> bool:
    try:
        return caller_of(request, args).kind == "user"
    except ApiError:
        return False


def _limited(seconds: float) -> web.Response:
    """Return a 429, Slack's only status besides 200."""
    headers = {"Retry-After": str(math.ceil(seconds))}
    return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)


def _test(args: dict[str, Any]) -> dict[str, Any]:
    if args.get("error"):
        raise ApiError(str(args["error"]), args=args)
    return {"args": args}

"""Methods of Slack's Web API, and calls with their arguments."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from rehearsal.channels import StoredChannel, channel_of, joined_channel
from rehearsal.people import CALLERS, TokenOwner
from rehearsal.refusal import ApiError, missing
from rehearsal.wire import bearer, parsed
from rehearsal.workspace import RehearsedWorkspace


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCall:
    """Call of a method. `origin` is the WebSocket address of the called host."""

    workspace: RehearsedWorkspace
    caller: TokenOwner
    args: Mapping[str, Any]
    origin: str

    @property
    def db(self) -> sqlite3.Connection:
        return self.workspace.db

    @property
    def user(self) -> str:
        """User id of the caller."""
        return self.caller.id

    def channel(self) -> StoredChannel:
        """Return the named conversation. Raises channel_not_found if invisible to the caller."""
        return channel_of(self.db, self.need("channel"), self.user)

    def joined(self) -> StoredChannel:
        """Return the named conversation. Raises not_in_channel unless the caller is a member."""
        return joined_channel(self.db, self.need("channel"), self.user)

    def text(self, name: str, default: str = "") -> str:
        value = self.args.get(name)
        return default if value is None else str(value)

    def need(self, name: str) -> str:
        """Return a required argument. Raises invalid_arguments if empty."""
        text = self.text(name)
        if not text:
            raise missing(name)
        return text

    def listed(self, name: str) -> list[str]:
        return [one.strip() for one in self.text(name).split(",") if one.strip()]

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in ("true", "1")

    def number(self, name: str, default: int, most: int) -> int:
        """Return a positive integer argument, at most `most`."""
        text = self.text(name, str(default))
        if not text.isdecimal() or int(text) < 1:
            raise ApiError(f"invalid_{name}")
        return min(int(text), most)

    def value(self, name: str, kind: type, error: str) -> Any:
        """Return a nested argument, which a form sends as JSON; None if missing. Raises `error`."""
        value = self.args.get(name)
        if value is None or value == "":
            return None
        try:
            if isinstance(value, str):
                value = parsed(value)
        except ValueError:
            raise ApiError(error) from None
        if not isinstance(value, kind):
            raise ApiError(error)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiMethod:
    """Method with its required scope and accepted kinds of token."""

    answer: Callable[[MethodCall], dict[str, Any]]
    scope: str = ""
    kinds: tuple[str, ...] = ("user", "bot")

    def check(self, caller: TokenOwner) -> None:
        """Raise ApiError for a token's wrong kind or missing scope."""
        if caller.kind not in self.kinds:
            raise ApiError("not_allowed_token_type")
        if not self.scope or caller.app is None or caller.kind != "bot":
            return
        granted = caller.app.scopes
        if self.scope not in granted:
            raise ApiError("missing_scope", needed=self.scope, provided=",".join(granted))


async def arguments(request: web.Request) -> dict[str, Any]:
    """Merge query, form and JSON arguments."""
    body: object
    try:
        if request.content_type == "application/json":
            error = "invalid_json"
            body = parsed(await request.text() or "{}")
        else:
            error = "invalid_form_data"
            body = dict(await request.post())
    except (ValueError, LookupError):
        raise ApiError(error) from None
    if not isinstance(body, dict):
        raise ApiError("json_not_object")
    return dict(request.query) | body


def caller_of(request: web.Request, args: Mapping[str, Any]) -> TokenOwner:
    """Return the owner of the bearer token or `token` argument."""
    token = bearer(request)
    if token is None:
        token = str(args.get("token") or "")
    if not token:
        raise ApiError("not_authed")
    if token not in CALLERS:
        raise ApiError("invalid_auth")
    return CALLERS[token]

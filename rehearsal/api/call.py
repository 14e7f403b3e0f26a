"""A method of the Web API, and one call of it: who calls, with which arguments, and how to read them."""

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
    """What a method is given. `origin` is the WebSocket address of the host that was called."""

    workspace: RehearsedWorkspace
    caller: TokenOwner
    args: Mapping[str, Any]
    origin: str

    @property
    def db(self) -> sqlite3.Connection:
        """The workspace's store."""
        return self.workspace.db

    @property
    def user(self) -> str:
        """The id of whoever calls."""
        return self.caller.id

    def channel(self) -> StoredChannel:
        """The conversation that it names, as far as the caller may know of it; else channel_not_found."""
        return channel_of(self.db, self.need("channel"), self.user)

    def joined(self) -> StoredChannel:
        """The same if the caller is in it; else not_in_channel."""
        return joined_channel(self.db, self.need("channel"), self.user)

    def text(self, name: str, default: str = "") -> str:
        """A plain argument, as text."""
        value = self.args.get(name)
        return default if value is None else str(value)

    def need(self, name: str) -> str:
        """A plain argument that must be there."""
        text = self.text(name)
        if not text:
            raise missing(name)
        return text

    def listed(self, name: str) -> list[str]:
        """What stands between commas in a plain argument."""
        return [one.strip() for one in self.text(name).split(",") if one.strip()]

    def flag(self, name: str) -> bool:
        """A yes or no: true, "true", 1, "1"."""
        return self.text(name).lower() in ("true", "1")

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number from 1 up to `most`."""
        text = self.text(name, str(default))
        if not text.isdecimal() or int(text) < 1:
            raise ApiError(f"invalid_{name}")
        return min(int(text), most)

    def value(self, name: str, kind: type, error: str) -> Any:
        """A nested argument, which a form brings as JSON; None when it isn't there."""
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
    """A method: what answers it, the scope it wants, the kinds of token that Slack takes for it."""

    answer: Callable[[MethodCall], dict[str, Any]]
    scope: str = ""
    kinds: tuple[str, ...] = ("user", "bot")

    def check(self, caller: TokenOwner) -> None:
        """Refuse a token of the wrong kind or without the scope."""
        if caller.kind not in self.kinds:
            raise ApiError("not_allowed_token_type")
        if not self.scope or caller.app is None or caller.kind != "bot":
            return
        granted = caller.app.scopes
        if self.scope not in granted:
            raise ApiError("missing_scope", needed=self.scope, provided=",".join(granted))


async def arguments(request: web.Request) -> dict[str, Any]:
    """Query, form and JSON arguments of a request in one, nested values as they came."""
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
    """Who calls, by the bearer or the `token` argument."""
    token = bearer(request)
    if token is None:
        token = str(args.get("token") or "")
    if not token:
        raise ApiError("not_authed")
    if token not in CALLERS:
        raise ApiError("invalid_auth")
    return CALLERS[token]

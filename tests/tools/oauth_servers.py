"""An authorization server and an MCP server behind it, on loopback."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

from aiohttp import web

from tests.web.loopback import Loopback, serve_loopback

LIFE = 3_600


@dataclass(kw_only=True)
class OAuthPlace:
    """Both servers at one origin, unless `issuer` names another one.

    Access tokens in `valid` are accepted. `clients` are registrations by id, with their secrets. Refresh
    tokens are taken once. `down` is a status that the token endpoint answers with.
    """

    loopback: Loopback
    issuer: str = ""
    valid: set[str] = field(default_factory=set)
    refresh: set[str] = field(default_factory=set)
    clients: dict[str, str] = field(default_factory=dict)
    codes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    grants: list[str] = field(default_factory=list)
    registered: list[Mapping[str, Any]] = field(default_factory=list)
    authorized: list[Mapping[str, str]] = field(default_factory=list)
    down: int = 0
    refuses_consent: bool = False
    named_endpoint: str = ""
    """Authorization endpoint in the metadata, instead of the real one."""
    scope_needed: str = ""
    echoes: bool = False
    """The tool answers with the token that it got."""
    refuses: bool = False
    """No connection is opened."""
    rotates: bool = True
    """Refresh tokens are taken once, and a new one comes with each access token."""

    @property
    def url(self) -> str:
        return f"{self.loopback.url}/mcp"

    def mount(self) -> None:
        well_known = "/.well-known/oauth"
        self.loopback.answers |= {
            "/mcp": self.mcp,
            f"{well_known}-protected-resource/mcp": self.resource,
            f"{well_known}-authorization-server": self.metadata,
            f"{well_known}-authorization-server/tenant": self.metadata,
            "/register": self.register,
            "/authorize": self.authorize,
            "/token": self.token,
        }

    async def resource(self, _: web.Request) -> web.Response:
        issuer = self.issuer or self.loopback.url
        return web.json_response({"resource": self.url, "authorization_servers": [issuer]})

    async def metadata(self, _: web.Request) -> web.Response:
        here = self.loopback.url
        return web.json_response(
            {
                "issuer": self.issuer or here,
                "authorization_endpoint": self.named_endpoint or f"{here}/authorize",
                "token_endpoint": f"{here}/token",
                "registration_endpoint": f"{here}/register",
                "code_challenge_methods_supported": ["S256"],
                "scopes_supported": ["read", "write"],
            }
        )

    async def register(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.registered.append(asked)
        name = f"client-{len(self.registered)}"
        self.clients[name] = secrets.token_hex(8)
        secret = {"client_id": name, "client_secret": self.clients[name]}
        return web.json_response(
            {**asked, **secret, "token_endpoint_auth_method": "client_secret_basic"}, status=201
        )

    async def authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        self.authorized.append(asked)
        answer = {"state": asked["state"], "iss": self.issuer or self.loopback.url}
        if self.refuses_consent:
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_hex(8)
            self.codes[answer["code"]] = asked
        raise web.HTTPFound(f"{asked['redirect_uri']}?{urlencode(answer)}")

    async def token(self, request: web.Request) -> web.Response:
        asked = {name: str(value) for name, value in (await request.post()).items()}
        self.grants.append(asked["grant_type"])
        if self.down:
            return web.json_response({"error": "server_error"}, status=self.down)
        fault = self._fault(asked, request.headers.get("Authorization", ""))
        if fault:
            return web.json_response({"error": fault}, status=400)
        brings = asked["grant_type"] == "authorization_code" or self.rotates
        return web.json_response(
            self.issue(with_refresh=brings and asked["grant_type"] != "client_credentials")
        )

    def _fault(self, asked: Mapping[str, str], header: str) -> str:
        scheme, _, packed = header.partition(" ")
        name, _, secret = (
            base64.b64decode(packed).decode().partition(":") if scheme == "Basic" else ("", "", "")
        )
        if self.clients.get(unquote(name)) != unquote(secret) or not secret:
            return "invalid_client"
        match asked["grant_type"]:
            case "refresh_token":
                if asked["refresh_token"] not in self.refresh:
                    return "invalid_grant"
                if self.rotates:
                    self.refresh.remove(asked["refresh_token"])
            case "authorization_code":
                begun = self.codes.pop(asked["code"], {})
                hashed = hashlib.sha256(asked["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(hashed).decode().rstrip("=")
                if begun.get("code_challenge") != challenge:
                    return "invalid_grant"
        return ""

    def issue(self, *, with_refresh: bool = True) -> Mapping[str, Any]:
        access = f"access-{secrets.token_hex(8)}"
        self.valid.add(access)
        tokens = {"access_token": access, "token_type": "bearer", "expires_in": LIFE, "scope": "read"}
        if with_refresh:
            tokens["refresh_token"] = f"refresh-{secrets.token_hex(8)}"
            self.refresh.add(str(tokens["refresh_token"]))
        return tokens

    async def mcp(self, request: web.Request) -> web.StreamResponse:
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        where = f'resource_metadata="{self.loopback.url}/.well-known/oauth-protected-resource/mcp"'
        if shown not in self.valid:
            return web.Response(status=401, headers={"WWW-Authenticate": f"Bearer {where}"})
        if self.scope_needed:
            why = f'Bearer error="insufficient_scope", scope="{self.scope_needed}"'
            return web.Response(status=403, headers={"WWW-Authenticate": why})
        if request.method != "POST":
            return web.Response(status=405)
        said = await request.json()
        text = shown if self.echoes else "seven croissants"
        if self.refuses:
            error = {"code": -32603, "message": f"no: {text}"}
            return web.json_response({"jsonrpc": "2.0", "id": said.get("id"), "error": error})
        return answer_rpc(said, text)


def answer_rpc(said: Mapping[str, Any], text: str) -> web.Response:
    """Answer as an MCP server of the older era with one tool."""
    if "id" not in said:
        return web.Response(status=202)
    tool = {"name": "stock", "inputSchema": {"type": "object"}}
    results: Mapping[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shop", "version": "1"},
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": text}]},
    }
    answer = {"jsonrpc": "2.0", "id": said["id"]}
    if said["method"] in results:
        return web.json_response({**answer, "result": results[said["method"]]})
    return web.json_response({**answer, "error": {"code": -32601, "message": "no such method"}})


@asynccontextmanager
async def serve_oauth() -> AsyncIterator[OAuthPlace]:
    async with serve_loopback() as loopback:
        place = OAuthPlace(loopback=loopback)
        place.mount()
        yield place

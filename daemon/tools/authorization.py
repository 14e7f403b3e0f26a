"""Authorization of requests to a server by stored OAuth tokens.

The SDK restores neither expiry nor metadata, and opens a browser after a 401 (python-sdk#3328). Here a token
is refreshed before it expires, and once after a 401. A refresh that fails leaves everything as it was stored.
Consent is given elsewhere; a server that lacks it says so in a sentence.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth, issuers_match
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.http_faults import (
    HttpFault,
    RequestFault,
    fault_of_error,
    fault_of_status,
    needs_consent,
    not_done,
)
from daemon.tools.token_store import StoredGrant, TokenStore
from daemon.web.address_policy import AddressRefused, parse_address

EARLY_SECONDS = 60.0
"""Seconds before the expiry at which a token is refreshed."""

REFRESH_SECONDS = 30.0
"""Seconds that a refresh may take in all."""

ACCEPTED = "application/json, text/event-stream"
NO_REDIRECT = AnyUrl("http://127.0.0.1/")
SCOPES = re.compile(r"[\x21\x23-\x5b\x5d-\x7e ]{1,1000}")
"""Scopes of RFC 6749, with spaces between."""

LONGEST_ISSUER = 200
"""Most characters of an issuer that a sentence shows."""

PROBE: Mapping[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
"""Request without an effect, which a server refuses without a token."""


class MemoryStorage:
    """Storage of the SDK's flows, for their time; results are stored at the end, at once."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class ServerAuthorization(httpx2.Auth):
    """Access token of a server on each request, renewed when needed.

    `transport` carries requests to the authorization server; `now` returns Unix seconds.
    """

    def __init__(
        self,
        settings: ToolServerSettings,
        store: TokenStore,
        transport: httpx2.AsyncBaseTransport,
        now: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._server = settings.name
        self._store = store
        # never closed: the transport belongs to the client of the server
        self._http = httpx2.AsyncClient(transport=transport, timeout=REFRESH_SECONDS, trust_env=False)
        self._now = now
        self._renewing = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send with a token, and once more after a 401. Raises RequestFault."""
        grant = await self._current_grant()
        _add_token(request, grant)
        response = yield request
        if extract_field_from_www_auth(response, "error") == "insufficient_scope":
            self._note_lacking(grant, extract_scope_from_www_auth(response) or "")
            raise RequestFault(needs_consent(self._server, "its tokens lack a right"))
        if response.status_code != 401:
            return
        _add_token(request, await self._renewed(grant))
        response = yield request
        if response.status_code == 401:
            raise RequestFault(needs_consent(self._server, "it does not accept its tokens"))

    def _note_lacking(self, grant: StoredGrant, scopes: str) -> None:
        """Store the scopes to ask for at the next consent."""
        if SCOPES.fullmatch(scopes) and scopes != grant.lacking:
            with suppress(OSError):
                self._store.write(replace(grant, lacking=scopes))

    async def _current_grant(self) -> StoredGrant:
        grant = self._store.read()
        is_due = grant.expires_by(self._now() + EARLY_SECONDS)
        if not is_due and (grant.access_token or not self._has_client_credentials):
            return grant
        try:
            return await self._renewed(grant)
        except RequestFault:
            if grant.access_token and not grant.expires_by(self._now()):
                return grant  # it is still good, and the next request tries again
            raise

    @property
    def _has_client_credentials(self) -> bool:
        return self._settings.oauth.grant == "client_credentials"

    async def _renewed(self, used: StoredGrant) -> StoredGrant:
        """Return a newer grant than the one used. Raises RequestFault."""
        try:
            async with self._renewing, self._store.locked():
                grant = self._store.read()
                if grant.access_token and grant.access_token != used.access_token:
                    return grant  # another request or process has renewed it
                async with asyncio.timeout(REFRESH_SECONDS):
                    made = await self._renew(grant)
                self._store.write(made)
                return made
        except TimeoutError:
            raise RequestFault(not_done(f"{self._login_server} does not answer in time.")) from None
        except (httpx2.TransportError, AddressRefused, httpx2.InvalidURL) as error:
            raise RequestFault(fault_of_error(self._login_server, "its address", error)) from error
        except OSError as error:
            raise RequestFault(
                not_done(f"The tokens of {self._server} cannot be stored ({error.strerror}).")
            ) from error

    @property
    def _login_server(self) -> str:
        return f"The authorization server of {self._server}"

    async def _renew(self, grant: StoredGrant) -> StoredGrant:
        if self._has_client_credentials:
            return await self._obtain()
        if not grant.tokens:
            raise RequestFault(needs_consent(self._server, "nobody has consented yet"))
        if not grant.tokens.get("refresh_token") or not grant.client:
            raise RequestFault(needs_consent(self._server, "its tokens have expired"))
        response = await self._http.send(self._refresh_request(grant))
        return self._refreshed(grant, response)

    def _refresh_request(self, grant: StoredGrant) -> httpx2.Request:
        try:
            context = restored_context(self._settings.url, grant)
            assert context.client_info is not None
            data = {
                "grant_type": "refresh_token",
                "refresh_token": str(grant.tokens["refresh_token"]),
                "client_id": context.client_info.client_id,
            }
            if context.should_include_resource_param():
                data["resource"] = context.get_resource_url()
            data, headers = context.prepare_token_auth(data, {})
        except (ValidationError, OAuthFlowError):
            raise RequestFault(needs_consent(self._server, "what is stored of it cannot be read")) from None
        return httpx2.Request("POST", _token_endpoint(context), data=data, headers=headers)

    def _refreshed(self, grant: StoredGrant, response: httpx2.Response) -> StoredGrant:
        """Return the grant with the tokens of a response. Raises RequestFault."""
        if response.status_code in (400, 401, 403):
            raise RequestFault(needs_consent(self._server, "its tokens can no longer be refreshed"))
        try:
            tokens = OAuthToken.model_validate_json(response.content)
        except ValidationError:
            tokens = None
        if tokens is None or response.status_code != 200:
            raise RequestFault(not_done(f"{self._login_server} failed ({response.status_code}): try again."))
        kept = {key: grant.tokens[key] for key in ("refresh_token", "scope") if grant.tokens.get(key)}
        return replace(
            grant,
            tokens={**kept, **_as_json(tokens)},
            expires_at=expiry(tokens, self._now()),
        )

    async def _obtain(self) -> StoredGrant:
        """Get tokens by the owner's client credentials. Raises RequestFault."""
        oauth, url = self._settings.oauth, self._settings.url
        provider = ClientCredentialsOAuthProvider(
            server_url=url,
            storage=MemoryStorage(),
            client_id=oauth.client_id,
            client_secret=oauth.client_secret,
            scope=" ".join(oauth.scopes) or None,
            issuer=oauth.issuer or str(parse_address(url).origin),
        )
        return await run_flow(self._settings, provider, self._http, self._now)


async def run_flow(
    settings: ToolServerSettings,
    provider: OAuthClientProvider,
    http: httpx2.AsyncClient,
    now: Callable[[], float],
) -> StoredGrant:
    """Let the SDK get tokens for a server, and return the grant. Raises RequestFault and transport errors."""
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # its tracebacks show states and bodies
    probe = http.build_request("POST", settings.url, json=PROBE, headers={"Accept": ACCEPTED})
    try:
        response = await http.send(probe, auth=provider, stream=True)
        await response.aclose()
    except (OAuthFlowError, ValueError) as error:
        raise RequestFault(_fault_of_flow(settings, provider.context, error)) from error
    context = provider.context
    if context.current_tokens is None or context.client_info is None:
        fault = fault_of_status(settings.name, response)
        raise RequestFault(fault or not_done(f"{settings.name} asks for no OAuth: it needs no consent."))
    return StoredGrant(
        url=settings.url,
        tokens=_as_json(context.current_tokens),
        expires_at=expiry(context.current_tokens, now()),
        client=_as_json(context.client_info),
        metadata=_as_json(context.oauth_metadata),
        resource=_as_json(context.protected_resource_metadata),
        authorization_server=context.auth_server_url or "",
    )


def _fault_of_flow(settings: ToolServerSettings, context: OAuthContext, error: Exception) -> HttpFault:
    server = settings.name
    if isinstance(error, AddressRefused):
        return not_done(f"{server} names an address for its authorization that is not allowed: {error}.")
    if isinstance(error, OAuthRegistrationError):
        return not_done(
            f"{server} lets no client register itself: write a key of yours as a header into mcp.json, or "
            "register a client, and write its `clientId` and `clientSecret` into `oauth`."
        )
    other = foreign_issuer(settings, context.auth_server_url)
    if other and settings.oauth.client_secret:
        return foreign_issuer_fault(server, other)
    if isinstance(error, OAuthTokenError):
        return not_done(f"The authorization server of {server} gave no token: check `oauth` in mcp.json.")
    return not_done(
        f"The authorization server of {server} does not answer as OAuth demands: ask who runs it, or write a "
        "key of yours as a header into mcp.json."
    )


def foreign_issuer(settings: ToolServerSettings, named: str | None) -> str:
    """Return the authorization server that a server names, if the owner did not name it; else empty."""
    if not named:
        return ""
    trusted = settings.oauth.issuer or str(parse_address(settings.url).origin)
    if issuers_match(named, trusted):
        return ""
    try:
        return parse_address(named).url[:LONGEST_ISSUER]
    except AddressRefused:
        return "another address"


def foreign_issuer_fault(server: str, other: str) -> HttpFault:
    return not_done(
        f"{server} names {other} as its authorization server, which got no secret: if you trust it, write "
        "its address as `issuer` into `oauth` in mcp.json."
    )


def _as_json(model: BaseModel | None) -> Mapping[str, Any]:
    return model.model_dump(mode="json", exclude_none=True) if model else {}


def expiry(tokens: OAuthToken, now: float) -> float | None:
    return None if tokens.expires_in is None else now + tokens.expires_in


Model = TypeVar("Model", bound=BaseModel)


def _restored(kind: type[Model], found: Mapping[str, Any]) -> Model | None:
    return kind.model_validate(found) if found else None


def _add_token(request: httpx2.Request, grant: StoredGrant) -> None:
    if grant.access_token:
        request.headers["Authorization"] = f"Bearer {grant.access_token}"


def _token_endpoint(context: OAuthContext) -> str:
    if context.oauth_metadata:
        return str(context.oauth_metadata.token_endpoint)
    return f"{context.get_authorization_base_url(context.server_url)}/token"


def restored_context(url: str, grant: StoredGrant) -> OAuthContext:
    """Return the SDK's context as it was when the grant was stored. Raises ValidationError."""
    return OAuthContext(
        server_url=url,
        client_metadata=OAuthClientMetadata(redirect_uris=[NO_REDIRECT]),
        storage=MemoryStorage(),
        redirect_handler=None,
        callback_handler=None,
        client_info=_restored(OAuthClientInformationFull, grant.client),
        oauth_metadata=_restored(OAuthMetadata, grant.metadata),
        protected_resource_metadata=_restored(ProtectedResourceMetadata, grant.resource),
        auth_server_url=grant.authorization_server or None,
    )

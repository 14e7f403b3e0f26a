"""Consent of a person to a server's OAuth: the browser flow with PKCE, by the SDK.

Tokens and registration are stored together when the flow has succeeded, so that a flow that ends before then
leaves the tokens of the last one in force.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
)
from pydantic import AnyUrl, ValidationError

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.settings.private_files import PrivateFiles
from daemon.tools.authorization import (
    REFRESH_SECONDS,
    MemoryStorage,
    foreign_issuer,
    foreign_issuer_fault,
    run_flow,
)
from daemon.tools.consent_answers import ConsentAnswers
from daemon.tools.http_faults import RequestFault, ResponseCutOff, fault_of_error, not_done
from daemon.tools.http_transport import ServerTransport, has_own_token, policy_for
from daemon.tools.token_store import StoredGrant, TokenStore
from daemon.web.address_policy import AddressPolicy, parse_address
from daemon.web.name_resolution import Resolve, check_resolved, resolve_host

CLIENT_NAME = "Soul daemon"

ShowAddress = Callable[[str], Awaitable[None]]
"""Function that shows a person the address at which to consent."""


class ConsentProvider(OAuthClientProvider):
    """The SDK's flow with a stored or configured client, for the owner's scopes and those `lacking`."""

    def __init__(
        self,
        settings: ToolServerSettings,
        redirect: str,
        answers: ConsentAnswers,
        show: ShowAddress,
        client: OAuthClientInformationFull | None,
        lacking: str = "",
        resolve: Resolve = resolve_host,
    ) -> None:
        metadata = OAuthClientMetadata(
            client_name=CLIENT_NAME,
            redirect_uris=[AnyUrl(redirect)],
            application_type="web" if redirect.startswith("https://") else "native",
        )
        super().__init__(settings.url, metadata, MemoryStorage(), self._ask, self._answer)
        self._settings = settings
        self._policy: AddressPolicy = policy_for(settings)
        self._answers = answers
        self._show = show
        self._client = client
        self._lacking = lacking
        self._resolve = resolve
        self._state = ""

    async def _initialize(self) -> None:
        self.context.client_info = self._client
        self._initialized = True

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        context = self.context
        other = foreign_issuer(self._settings, context.auth_server_url)
        if other and self._settings.oauth.client_secret:
            raise RequestFault(foreign_issuer_fault(self._settings.name, other))
        if self._settings.oauth.scopes:
            context.client_metadata.scope = " ".join(self._settings.oauth.scopes)
        context.client_metadata.scope = union_scopes(context.client_metadata.scope, self._lacking)
        if self._client and self._settings.oauth.client_secret:
            self._client.token_endpoint_auth_method = secret_method(context.oauth_metadata)
        return await super()._perform_authorization_code_grant()

    async def _ask(self, url: str) -> None:
        address = await check_resolved(self._policy, url, self._resolve)
        self._state = parse_qs(urlsplit(url).query)["state"][0]
        self._answers.expect(self._state)
        await self._show(address.url)

    async def _answer(self) -> AuthorizationCodeResult:
        server = self._settings.name
        answer = await self._answers.wait(self._state)
        if answer is None:
            raise RequestFault(not_done(f"Nobody consented to {server} in time: begin again."))
        if answer.error or not answer.code:
            raise RequestFault(not_done(f"{server} got no consent: the authorization server says no."))
        return AuthorizationCodeResult(code=answer.code, state=self._state, iss=answer.iss or None)


async def give_consent(
    settings: ToolServerSettings,
    files: PrivateFiles,
    redirect: str,
    show: ShowAddress,
    now: Callable[[], float],
    *,
    register: bool = False,
    resolve: Resolve = resolve_host,
) -> None:
    """Let a person consent to a server, and store its grant. Raises RequestFault.

    `redirect` is the address of the callback. With `register`, the stored registration is not used again.
    """
    if has_own_token(settings):
        raise RequestFault(not_done(f"{settings.name} has a header Authorization, so it needs no consent."))
    store = TokenStore(files, settings.name, settings.url)
    former = store.read()
    client = own_client(settings, redirect)
    if client is None and not register:
        client = reusable_client(former, redirect, now())
    transport = ServerTransport(settings, policy_for(settings), resolve=resolve)
    answers = ConsentAnswers(files, now)
    provider = ConsentProvider(settings, redirect, answers, show, client, former.lacking, resolve)
    try:
        async with httpx2.AsyncClient(transport=transport, timeout=REFRESH_SECONDS, trust_env=False) as http:
            grant = await run_flow(settings, provider, http, now)
        async with store.locked():
            store.write(grant)
    except (httpx2.TransportError, httpx2.InvalidURL, ResponseCutOff) as error:
        host = parse_address(settings.url).host
        raise RequestFault(fault_of_error(settings.name, host, error)) from error
    except OSError as error:
        raise RequestFault(
            not_done(f"The consent cannot be stored in SOUL_HOME ({error.strerror}).")
        ) from error


def own_client(settings: ToolServerSettings, redirect: str) -> OAuthClientInformationFull | None:
    """Return the client that the owner registered."""
    oauth = settings.oauth
    if not oauth.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=oauth.client_id,
        client_secret=oauth.client_secret or None,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="none",
    )


def secret_method(metadata: OAuthMetadata | None) -> str:
    """Return the method by which a client shows its secret; the default is that of RFC 8414."""
    supported = metadata and metadata.token_endpoint_auth_methods_supported
    if supported and "client_secret_basic" not in supported:
        return "client_secret_post"
    return "client_secret_basic"


def reusable_client(grant: StoredGrant, redirect: str, now: float) -> OAuthClientInformationFull | None:
    """Return the registration of a grant, if it holds for this callback and has not expired."""
    try:
        client = OAuthClientInformationFull.model_validate(grant.client)
    except ValidationError:
        return None
    has_ended = bool(client.client_secret_expires_at) and (client.client_secret_expires_at or 0) <= now
    if has_ended or AnyUrl(redirect) not in (client.redirect_uris or ()):
        return None
    return client

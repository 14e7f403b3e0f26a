"""OAuth of a server: consent, restart, refresh, and each way in which it fails."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from daemon.console.consent_callback import mount_consent_callback
from daemon.settings.mcp_servers import OAuthSettings, ToolServerSettings
from daemon.settings.private_files import FolderFiles
from daemon.tools.connection import ConnectionFailed, ConnectionMeans
from daemon.tools.consent import give_consent
from daemon.tools.consent_answers import ConsentAnswers
from daemon.tools.http_faults import FaultCode, RequestFault
from daemon.tools.http_transport import MOST_RESPONSE_BYTES, http_client_for
from daemon.tools.mcp_connection import open_connection
from daemon.tools.tool_call import ToolRequest, ToolResult
from daemon.web.name_resolution import Resolve, resolve_host
from tests.clock import FakeClock
from tests.tools.oauth_servers import LIFE, OAuthPlace, serve_oauth
from tests.web.loopback import serve_app_on_loopback


@pytest.fixture
async def place() -> AsyncIterator[OAuthPlace]:
    async with serve_oauth() as place:
        yield place


class OwnersMachine:
    """A home with a port for the callback, and a browser in which a person consents."""

    def __init__(self, place: OAuthPlace, home: Path, clock: FakeClock) -> None:
        self.place = place
        self.home = home
        self.clock = clock
        self.shown: list[str] = []
        self.ends: list[int] = []

    def settings(self, **oauth: Any) -> ToolServerSettings:
        return ToolServerSettings(name="shop", url=self.place.url, oauth=OAuthSettings(**oauth))

    async def consent(self, *, register: bool = False, resolve: Resolve = resolve_host, **oauth: Any) -> None:
        app = web.Application()
        mount_consent_callback(app, ConsentAnswers(FolderFiles(self.home), self.clock.now).deliver)
        async with serve_app_on_loopback(app) as page:
            await give_consent(
                self.settings(**oauth),
                FolderFiles(self.home),
                f"{page}/oauth/callback",
                self.show,
                self.clock.now,
                register=register,
                resolve=resolve,
            )

    async def show(self, url: str) -> None:
        self.shown.append(url)
        async with aiohttp.ClientSession() as browser, browser.get(url) as page:
            self.ends.append(page.status)

    async def stock(self, **oauth: Any) -> str:
        """Call the tool by a new client, as after a restart."""
        settings = self.settings(**oauth)
        async with (
            http_client_for(settings, FolderFiles(self.home), now=self.clock.now) as http,
            Client(streamable_http_client(settings.url, http_client=http)) as client,
        ):
            result = await client.session.call_tool("stock", {})
        [content] = result.content
        return str(getattr(content, "text", ""))

    async def refusal(self, **oauth: Any) -> tuple[int, str]:
        with pytest.raises(ExceptionGroup) as failed:
            await self.stock(**oauth)
        error: BaseException = failed.value
        while isinstance(error, BaseExceptionGroup):
            [error] = error.exceptions
        assert isinstance(error, MCPError)
        return error.code, error.message

    @property
    def file(self) -> Path:
        return self.home / "oauth-tokens" / "shop.json"

    @property
    def stored(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text())
        return found


@pytest.fixture
def machine(place: OAuthPlace, tmp_path: Path) -> OwnersMachine:
    return OwnersMachine(place, tmp_path, FakeClock())


async def test_consent_registers_a_client_and_its_tokens_outlive_a_restart(machine: OwnersMachine) -> None:
    code, sentence = await machine.refusal()
    assert code == FaultCode.NEEDS_CONSENT
    assert "python -m daemon connect shop" in sentence
    assert not machine.place.registered

    await machine.consent()
    [asked] = machine.place.authorized
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == machine.place.url
    assert machine.ends == [200]
    for _ in range(2):
        assert await machine.stock() == "seven croissants"
    assert machine.place.grants == ["authorization_code"]
    assert len(machine.place.registered) == 1
    assert stat.S_IMODE(machine.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(machine.file.parent.stat().st_mode) == 0o700
    assert not [*(machine.home / "oauth-consents").iterdir()]


async def test_a_token_is_refreshed_before_it_expires_after_a_restart(machine: OwnersMachine) -> None:
    await machine.consent()
    first = machine.stored["tokens"]
    machine.clock.set_ahead(LIFE - 30)
    assert await machine.stock() == "seven croissants"
    assert machine.place.grants == ["authorization_code", "refresh_token"]
    second = machine.stored["tokens"]
    assert (second["access_token"] != first["access_token"], second["scope"]) == (True, "read")
    assert await machine.stock() == "seven croissants"
    assert len(machine.place.grants) == 2


async def test_a_token_that_was_withdrawn_early_is_refreshed_after_the_401(machine: OwnersMachine) -> None:
    await machine.consent()
    machine.place.valid.clear()
    assert await machine.stock() == "seven croissants"
    assert machine.place.grants == ["authorization_code", "refresh_token"]


async def test_a_refresh_token_that_stays_the_same_is_kept(machine: OwnersMachine) -> None:
    machine.place.rotates = False
    await machine.consent()
    for _ in range(2):
        machine.place.valid.clear()
        assert await machine.stock() == "seven croissants"
    assert machine.place.grants == ["authorization_code", "refresh_token", "refresh_token"]


async def test_calls_at_the_same_time_refresh_once(machine: OwnersMachine) -> None:
    await machine.consent()
    machine.place.valid.clear()
    assert await asyncio.gather(*[machine.stock() for _ in range(4)]) == ["seven croissants"] * 4
    assert machine.place.grants == ["authorization_code", "refresh_token"]


async def test_a_refused_refresh_asks_for_consent_and_deletes_nothing(machine: OwnersMachine) -> None:
    await machine.consent()
    before = machine.stored
    machine.place.valid.clear()
    machine.place.refresh.clear()
    code, sentence = await machine.refusal()
    assert (code, "can no longer be refreshed" in sentence) == (FaultCode.NEEDS_CONSENT, True)
    assert machine.stored == before


async def test_an_authorization_server_that_is_away_costs_neither_tokens_nor_consent(
    machine: OwnersMachine,
) -> None:
    await machine.consent()
    before = machine.stored
    machine.place.down = 503
    machine.clock.set_ahead(LIFE - 30)
    assert await machine.stock() == "seven croissants", "the token is good for 30 seconds"
    machine.clock.set_ahead(LIFE + 30)
    code, sentence = await machine.refusal()
    assert (code, "authorization server of shop failed (503)" in sentence) == (FaultCode.NOT_DONE, True)
    assert machine.stored == before
    machine.place.down = 0
    assert await machine.stock() == "seven croissants"


async def test_a_second_consent_uses_the_registration_again_unless_told_otherwise(
    machine: OwnersMachine,
) -> None:
    app = web.Application()
    mount_consent_callback(app, ConsentAnswers(FolderFiles(machine.home), machine.clock.now).deliver)
    async with serve_app_on_loopback(app) as page:
        for register in (False, False, True):
            await give_consent(
                machine.settings(),
                FolderFiles(machine.home),
                f"{page}/oauth/callback",
                machine.show,
                machine.clock.now,
                register=register,
            )
    assert [asked["client_id"] for asked in machine.place.authorized] == ["client-1", "client-1", "client-2"]


async def test_another_callback_needs_another_registration(machine: OwnersMachine) -> None:
    for _ in range(2):
        await machine.consent()  # each time on another port
    assert [asked["client_id"] for asked in machine.place.authorized] == ["client-1", "client-2"]
    assert await machine.stock() == "seven croissants"


async def test_tokens_that_another_process_writes_are_used_without_a_restart(machine: OwnersMachine) -> None:
    settings = machine.settings()
    async with http_client_for(settings, FolderFiles(machine.home), now=machine.clock.now) as http:
        assert (await http.post(settings.url, json={})).status_code == 502
        await machine.consent()
        said = await http.post(settings.url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert said.json()["result"]["tools"]


async def test_tokens_are_not_sent_when_the_owner_has_changed_the_address(machine: OwnersMachine) -> None:
    await machine.consent()
    async with serve_oauth() as other:
        machine.place = other
        assert (await machine.refusal())[0] == FaultCode.NEEDS_CONSENT
        assert not [one for one in other.loopback.headers if "authorization" in one]


async def test_a_right_that_is_lacking_asks_for_consent(machine: OwnersMachine) -> None:
    await machine.consent()
    machine.place.scope_needed = "admin"
    code, sentence = await machine.refusal()
    assert (code, "lack a right" in sentence) == (FaultCode.NEEDS_CONSENT, True)
    machine.place.scope_needed = ""
    await machine.consent()
    assert [asked["scope"] for asked in machine.place.authorized] == ["read write", "read write admin"]
    assert not machine.stored["lacking"]


async def test_client_credentials_need_no_person_and_are_renewed(machine: OwnersMachine) -> None:
    own = {"client_id": "soul", "client_secret": "s3cr3t/+", "grant": "client_credentials"}
    machine.place.clients["soul"] = "s3cr3t/+"
    assert await machine.stock(**own) == "seven croissants"
    assert await machine.stock(**own) == "seven croissants"
    assert machine.place.grants == ["client_credentials"]
    machine.clock.set_ahead(LIFE)
    assert await machine.stock(**own) == "seven croissants"
    assert machine.place.grants == ["client_credentials"] * 2
    assert not machine.place.registered


async def test_a_secret_goes_to_no_authorization_server_that_the_owner_did_not_name(
    machine: OwnersMachine,
) -> None:
    own = {"client_id": "soul", "client_secret": "s3cr3t", "grant": "client_credentials"}
    async with serve_oauth() as other:
        other.clients["soul"] = "s3cr3t"
        machine.place.issuer = other.loopback.url
        code, sentence = await machine.refusal(**own)
        assert (code, "s3cr3t" in sentence) == (FaultCode.NOT_DONE, False)
        assert "not allowed" in sentence
        assert not other.loopback.requests
        machine.place.valid = other.valid
        assert await machine.stock(**own, issuer=other.loopback.url) == "seven croissants"
        assert other.grants == ["client_credentials"]


async def test_a_secret_goes_to_no_other_issuer_at_the_same_origin_either(machine: OwnersMachine) -> None:
    own = {"client_id": "soul", "client_secret": "s3cr3t", "grant": "client_credentials"}
    machine.place.clients["soul"] = "s3cr3t"
    machine.place.issuer = tenant = f"{machine.place.loopback.url}/tenant"
    code, sentence = await machine.refusal(**own)
    assert (code, f"names {tenant} as its authorization server" in sentence) == (FaultCode.NOT_DONE, True)
    with pytest.raises(RequestFault, match="got no secret"):
        await machine.consent(client_id="soul", client_secret="s3cr3t")
    assert not machine.place.grants
    assert await machine.stock(**own, issuer=tenant) == "seven croissants"


async def test_a_client_of_the_owner_is_not_registered(machine: OwnersMachine) -> None:
    machine.place.clients["soul"] = "s3cr3t"
    await machine.consent(client_id="soul", client_secret="s3cr3t", scopes=("write",))
    assert await machine.stock() == "seven croissants"
    [asked] = machine.place.authorized
    assert (asked["client_id"], asked["scope"]) == ("soul", "write")
    assert not machine.place.registered


async def test_a_server_without_oauth_is_told_apart_from_one_that_waits_for_consent(
    machine: OwnersMachine,
) -> None:
    async def nothing(_: web.Request) -> web.Response:
        return web.Response(status=404)

    for path in [*machine.place.loopback.answers]:
        if path != "/mcp":
            machine.place.loopback.answers[path] = nothing
    with pytest.raises(RequestFault, match="write a key of yours as a header"):
        await machine.consent()
    machine.place.loopback.answers["/mcp"] = nothing
    with pytest.raises(RequestFault, match="asks for no OAuth"):
        await machine.consent()

    async def broken(_: web.Request) -> web.Response:
        return web.Response(status=503)

    machine.place.loopback.answers["/mcp"] = broken
    with pytest.raises(RequestFault, match=r"an error of its own \(503\)"):
        await machine.consent()


async def test_a_login_address_in_the_network_is_never_opened(machine: OwnersMachine) -> None:
    machine.place.named_endpoint = "http://169.254.169.254/authorize"
    with pytest.raises(RequestFault, match="not allowed"):
        await machine.consent()
    assert not machine.shown
    assert not machine.file.exists()


async def test_a_person_who_says_no_leaves_the_old_tokens_in_force(machine: OwnersMachine) -> None:
    await machine.consent()
    before = machine.stored
    machine.place.refuses_consent = True
    with pytest.raises(RequestFault, match="got no consent"):
        await machine.consent()
    assert machine.stored == before
    assert await machine.stock() == "seven croissants"


async def test_a_result_that_holds_a_token_is_masked(machine: OwnersMachine) -> None:
    await machine.consent()
    machine.place.echoes = True
    means = ConnectionMeans(folder=machine.home / "tools")
    async with open_connection(machine.settings(), means, lambda: None) as connection:
        for _ in range(2):
            asked = ToolRequest(server="shop", tool="stock")
            result = await connection.call(asked, lambda _: None, None)
            assert isinstance(result, ToolResult)
            assert machine.stored["tokens"]["access_token"] not in result.text
            machine.place.valid.clear()  # the next call gets a new token


async def test_a_refusal_of_the_connection_that_holds_a_token_is_masked(machine: OwnersMachine) -> None:
    await machine.consent()
    machine.place.echoes = machine.place.refuses = True
    with pytest.raises(ConnectionFailed, match=r"no: \[masked\]"):
        async with open_connection(
            machine.settings(), ConnectionMeans(folder=machine.home / "tools"), lambda: None
        ):
            pass


async def test_an_endless_answer_of_an_authorization_server_gets_a_sentence(machine: OwnersMachine) -> None:
    async def endless(_: web.Request) -> web.Response:
        return web.Response(body=b" " * (MOST_RESPONSE_BYTES + 1), content_type="application/json")

    machine.place.loopback.answers["/register"] = endless
    with pytest.raises(RequestFault, match="was cut off"):
        await machine.consent()


async def test_a_login_address_whose_name_leads_into_the_network_is_never_opened(
    machine: OwnersMachine,
) -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["192.168.0.1"]

    machine.place.named_endpoint = "https://login.example/authorize"
    with pytest.raises(RequestFault, match="leads into a private network"):
        await machine.consent(resolve=resolve)
    assert not machine.shown


async def test_no_log_shows_tokens_codes_or_states(
    machine: OwnersMachine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await machine.consent()
    machine.place.refuses_consent = True
    with pytest.raises(RequestFault):
        await machine.consent()
    machine.place.refuses_consent, machine.place.down = False, 400
    with pytest.raises(RequestFault, match="gave no token"):
        await machine.consent()
    assert "Traceback" not in caplog.text
    tokens = machine.stored["tokens"]
    secrets = [tokens["access_token"], tokens["refresh_token"], machine.stored["client"]["client_secret"]]
    secrets += [asked["state"] for asked in machine.place.authorized]
    assert not [secret for secret in secrets if secret in caplog.text]

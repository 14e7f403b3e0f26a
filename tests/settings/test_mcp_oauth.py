"""The key `oauth` of a server in mcp.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.settings.mcp_servers import NO_OAUTH, OAuthSettings
from tests.settings.test_mcp_file import read_one

URL = "https://shop.example/mcp"


def oauth_of(folder: Path, oauth: Any) -> OAuthSettings:
    found = read_one(folder, {"url": URL, "oauth": oauth})
    assert not found.faults
    return found.servers["it"].oauth


def test_a_client_of_the_owner_is_written_as_for_other_clients(tmp_path: Path) -> None:
    given = {"clientId": "soul", "clientSecret": "${GITHUB_TOKEN}", "scopes": ["read", "write"]}
    found = oauth_of(tmp_path, {**given, "callbackPort": 8080})
    assert (found.client_id, found.client_secret) == ("soul", "hush-token")
    assert (found.scopes, found.grant, found.issuer) == (("read", "write"), "authorization_code", "")
    assert "hush-token" not in repr(found)
    assert oauth_of(tmp_path, {"scopes": "read write"}).scopes == ("read", "write")
    assert oauth_of(tmp_path, {}) == NO_OAUTH


def test_client_credentials_name_their_grant_and_may_name_the_issuer(tmp_path: Path) -> None:
    given = {"clientId": "soul", "clientSecret": "s3cr3t-word", "grantType": "client_credentials"}
    found = oauth_of(tmp_path, {**given, "issuer": "https://login.example"})
    assert (found.grant, found.issuer) == ("client_credentials", "https://login.example")
    servers = read_one(tmp_path, {"url": URL, "oauth": given})
    assert "s3cr3t-word" in servers.secrets


@pytest.mark.parametrize(
    ("oauth", "words"),
    [
        (True, "`oauth` is true or false, and an object"),
        ({"grantType": "client_credentials", "clientId": "x"}, "needs `clientId` and `clientSecret`"),
        ({"clientSecret": "s3cr3t-word"}, "a `clientSecret` without `clientId`"),
        ({"grantType": "password"}, "has a `grantType` that is none of authorization_code, client_cred"),
        ({"clientId": 7}, "has a `clientId` that is a number"),
        ({"clientId": "x", "clientSecret": "s3cr3t\nword"}, "has a `clientSecret` that holds a line break"),
        ({"scopes": ["a b"]}, "has a `scopes` that has an item that is no scope"),
        ({"issuer": "nowhere"}, "has a `issuer` that"),
        ({"clientId": "${UNSET}"}, "uses the variable `UNSET`, which is not set"),
        ({"clientId": "${SLACK_BOT_TOKEN}"}, "a key of the daemon itself"),
    ],
)
def test_a_fault_leaves_the_server_out_and_shows_no_secret(tmp_path: Path, oauth: Any, words: str) -> None:
    found = read_one(tmp_path, {"url": URL, "oauth": oauth})
    [fault] = found.faults
    assert words in fault
    assert "s3cr3t" not in fault
    assert [*found.servers] == ["well"]


def test_oauth_of_a_program_means_nothing(tmp_path: Path) -> None:
    found = read_one(tmp_path, {"command": "sh", "oauth": {"clientId": "x"}})
    assert found.remarks == ["it: `oauth` means nothing beside `command`, and is ignored"]

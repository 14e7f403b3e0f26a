"""Commands beside daemons that share a log: they use the private files in its database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from daemon.app.command_files import find_token
from daemon.cluster.file_table import FileTable
from daemon.cluster.schema import prepare_log
from daemon.settings.token_file import MCP_TOKEN_FILE
from daemon.tools.token_store import TokenStore
from tests.app.test_connect import Console, connect, settings, write_servers
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.tools.oauth_servers import OAuthPlace, serve_oauth

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
async def place() -> AsyncIterator[OAuthPlace]:
    async with serve_oauth() as place:
        yield place


@pytest.fixture
async def files(log_url: str) -> AsyncIterator[FileTable]:
    with psycopg.connect(log_url, autocommit=True) as database:
        prepare_log(database)
    async with FileTable(log_url, "soul:1:files") as files:
        yield files


async def test_a_consent_by_the_command_is_that_of_all_daemons(
    place: OAuthPlace, files: FileTable, tmp_path: Path, log_url: str, capsys: Console
) -> None:
    servers = write_servers(tmp_path, shop={"url": place.url})
    status, said = await connect(settings(tmp_path / "home", servers, database_url=log_url), capsys)
    assert (status, "Its tokens are in the log's database" in said) == (0, True)
    assert TokenStore(files, "shop", place.url).read().access_token in place.valid
    assert not (tmp_path / "home" / "oauth-tokens").exists()


async def test_the_token_of_mcp_clients_is_found(files: FileTable, tmp_path: Path, log_url: str) -> None:
    with_log = settings(tmp_path, write_servers(tmp_path), database_url=log_url)
    assert await asyncio.to_thread(find_token, with_log, MCP_TOKEN_FILE) == ""
    files.create(MCP_TOKEN_FILE.name, "a-token-of-clients\n")
    assert await asyncio.to_thread(find_token, with_log, MCP_TOKEN_FILE) == "a-token-of-clients"

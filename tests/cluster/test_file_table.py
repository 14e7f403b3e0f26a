"""Private files, in a folder and in the log's database: one behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from daemon.cluster.file_table import FILE_TABLES, FilesAway, FileTable
from daemon.settings.private_files import FolderFiles, PrivateFiles
from daemon.tools.consent_answers import ConsentAnswer, ConsentAnswers
from daemon.tools.token_store import StoredGrant, TokenStore
from tests.attention import PATIENCE
from tests.clock import FakeClock
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

Pair = tuple[PrivateFiles, PrivateFiles]


@pytest.fixture(params=["folder", "database"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path, log_url: str) -> AsyncIterator[Pair]:
    """Files as two processes have them."""
    if request.param == "folder":
        yield FolderFiles(tmp_path), FolderFiles(tmp_path)
        return
    with psycopg.connect(log_url, autocommit=True) as database:
        database.execute(FILE_TABLES)
    async with FileTable(log_url, "soul:1:files") as one, FileTable(log_url, "soul:2:files") as other:
        yield one, other


async def test_what_one_writes_the_other_reads_at_once(pair: Pair) -> None:
    one, other = pair
    assert one.read("console-token") is None
    one.write("console-token", "secret")
    assert other.read("console-token") == "secret"
    assert one.read("console-token") == "secret"
    async with asyncio.timeout(PATIENCE):
        while not is_in_memory(one, "console-token"):
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(one.read, "other"))])
    one.write("console-token", "changed")
    assert one.read("console-token") == "changed"
    async with asyncio.timeout(PATIENCE), other.locked("console-token"):
        assert other.read("console-token") == "changed", "under the lock it is the newest"


def is_in_memory(files: PrivateFiles, name: str) -> bool:
    """True if a database's file is read from memory, as it is soon."""
    return not isinstance(files, FileTable) or name in files._texts


async def test_of_two_that_make_a_file_both_get_the_text_of_the_first(pair: Pair) -> None:
    one, other = pair
    assert one.create("console-sessions/a", "mine") == "mine"
    assert other.create("console-sessions/a", "yours") == "mine"
    assert other.names("console-sessions") == ["console-sessions/a"]
    assert one.names("console-links") == []


async def test_a_file_is_removed_once(pair: Pair) -> None:
    one, other = pair
    one.write("console-links/a", "")
    assert other.read("console-links/a") == ""
    assert [one.remove("console-links/a"), other.remove("console-links/a")] == [True, False]
    assert one.read("console-links/a") is None


async def test_a_lock_keeps_the_other_out(pair: Pair) -> None:
    one, other = pair
    order: list[str] = []

    async def refresh() -> None:
        async with other.locked("oauth-tokens/shop.json"):
            order.append("other")

    async with one.locked("oauth-tokens/shop.json"):
        waiting = asyncio.create_task(refresh())
        await asyncio.wait([waiting], timeout=0.3)
        order.append("one")
    async with asyncio.timeout(PATIENCE):
        await waiting
    assert order == ["one", "other"]


async def test_a_grant_that_one_renews_is_that_of_the_other(pair: Pair) -> None:
    one, other = (TokenStore(files, "shop", "https://shop.example/mcp") for files in pair)
    before = other.stamp
    one.write(StoredGrant(url="https://shop.example/mcp", tokens={"access_token": "abc"}))
    async with asyncio.timeout(PATIENCE), other.locked():
        assert other.stamp != before
        assert other.read().access_token == "abc"


async def test_a_consent_that_one_waits_for_may_reach_the_other(pair: Pair) -> None:
    clock = FakeClock()
    one, other = (ConsentAnswers(files, clock.now) for files in pair)
    one.expect("state")
    waiting = asyncio.create_task(one.wait("state"))
    assert other.deliver({"state": "state", "code": "x"})
    async with asyncio.timeout(PATIENCE):
        assert await waiting == ConsentAnswer(code="x")
    assert not other.deliver({"state": "state", "code": "y"})


async def test_while_the_database_is_away_what_was_read_stays_and_the_rest_says_so(log_url: str) -> None:
    with psycopg.connect(log_url, autocommit=True) as database:
        database.execute(FILE_TABLES)
        async with AsyncExitStack() as stack:
            files = await stack.enter_async_context(FileTable(log_url, "soul:1:files"))
            files.write("console-token", "secret")
            other = await stack.enter_async_context(FileTable(log_url, "soul:2:files"))
            other._url = "postgresql://127.0.0.1:1/none"
            cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s"
            database.execute(cut, ("soul:2:files",))
            with pytest.raises(FilesAway, match="does not answer") as away:
                other.write("mcp-token", "changed")
            assert "127.0.0.1" not in str(away.value)
            assert other.read("console-token") == "secret"
            files.write("console-token", "changed")
            assert files.read("console-token") == "changed"

"""The limit of connections, which still admits the owner and health checks."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from tests.attention import PATIENCE
from tests.console.flood import OWNER, TOKEN, house
from tests.console.site import message

HALF = b"GET /console/state HTTP/1.1\r\nHost: localhost\r\nX-Half: "


@pytest.mark.parametrize("says", [b"", HALF, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
async def test_strangers_who_wait_shut_nobody_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, says: bytes
) -> None:
    async with house(tmp_path, most=16) as here:
        for _ in range(5):
            await here.flood(20, says)
            assert await here.status("/healthz") == 200
            assert await here.status("/console/state", **OWNER) == 200
        assert await here.alive() <= here.crowd.most_per_address
        assert len(here.crowd) <= here.crowd.most
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "Too many connections" in caplog.text


async def test_strangers_who_hold_streams_of_the_world_shut_nobody_out(tmp_path: Path) -> None:
    asks = b"GET /rehearsal/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with house(tmp_path, most=16, open_world=True) as here:
        for _ in range(60):
            await here.flood(1, asks)
            assert await here.status("/healthz") == 200
        assert await here.status("/console/state", **OWNER) == 200


async def test_who_has_shown_the_token_stays(tmp_path: Path) -> None:
    async with house(tmp_path, most=16) as here:
        stream = await here.http.get(f"{here.url}/console/journal?since=0", headers=OWNER)
        await here.flood(60)
        await here.journal.append("sess-1", message("still there"), key="msg:1")
        async with asyncio.timeout(PATIENCE):
            assert (await stream.content.readline()).startswith(b"id: ")
        stream.close()


async def test_who_has_shown_the_token_stays_between_two_questions_too(tmp_path: Path) -> None:
    ask = f"GET /console/state HTTP/1.1\r\nHost: localhost\r\nX-Console-Token: {TOKEN}\r\n\r\n".encode()
    async with house(tmp_path, most=16) as here:
        await here.flood(1, ask)
        reader, writer = here.ends[0]
        await reader.readuntil(b"}")
        await here.flood(60)
        writer.write(ask)
        assert b" 200 " in await reader.readline()


async def test_a_socket_that_came_with_its_ticket_stays(tmp_path: Path) -> None:
    async with house(tmp_path, most=16) as here, here.http.ws_connect(f"{here.url}/link/?ticket=1") as socket:
        assert len(here.crowd._known) == 1
        assert await socket.receive_str() == "hello"


async def test_no_address_takes_the_places_of_another(tmp_path: Path) -> None:
    async with house(tmp_path, most=16) as here:
        await here.flood(2, host="127.0.0.2")
        await here.flood(100, host="127.0.0.3")
        assert await here.alive() <= here.crowd.most_per_address + 2
        assert await here.alive(first=2) == 2


async def test_many_addresses_leave_the_owner_and_a_health_check_their_share(tmp_path: Path) -> None:
    async with house(tmp_path, most=16) as here:
        for n in range(2, 60):
            await here.flood(2, host=f"127.0.0.{n}")
        assert await here.alive() <= here.crowd.most - here.crowd.most_per_address
        assert await here.status("/healthz") == 200
        assert await here.status("/console/state", **OWNER) == 200


async def test_the_owners_own_leave_a_share_too(tmp_path: Path) -> None:
    hello = f"GET /console/state HTTP/1.1\r\nHost: localhost\r\nX-Console-Token: {TOKEN}\r\n\r\n"
    async with house(tmp_path, most=16) as here:
        await here.flood(60, hello.encode())
        assert await here.alive() <= here.crowd.most
        assert await here.status("/healthz") == 200
        assert await here.status("/console/state", **OWNER) == 200


@pytest.mark.parametrize(
    "says", [b"\x16\x03\x01\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"GET /\x00 HTTP/1.1\r\nA\r\n\r\n"]
)
async def test_what_is_no_request_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, says: bytes
) -> None:
    async with house(tmp_path) as here:
        await here.flood(3, says)
        for reader, _ in here.ends:
            assert b" 400 " in await reader.readline()
    assert caplog.records == []


async def test_who_goes_before_the_answer_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asks = f"GET /console/journal HTTP/1.1\r\nHost: localhost\r\nX-Console-Token: {TOKEN}\r\n\r\n"
    async with house(tmp_path) as here:
        for _ in range(20):
            await here.flood(1, asks.encode())
            here.ends[-1][1].transport.abort()
        assert await here.status("/healthz") == 200
    assert caplog.records == []


@pytest.mark.parametrize("says", [b"", HALF, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
async def test_who_asks_nothing_or_no_more_is_let_go(tmp_path: Path, says: bytes) -> None:
    async with house(tmp_path, idle=0.2) as here:
        await here.flood(1, says)
        async with asyncio.timeout(PATIENCE):
            await here.ends[0][0].read()


async def test_who_sends_a_head_drop_by_drop_is_let_go(tmp_path: Path) -> None:
    async with house(tmp_path, idle=0.2) as here:
        await here.flood(1, HALF)
        reader, writer = here.ends[0]
        over = asyncio.create_task(reader.read())
        async with asyncio.timeout(PATIENCE):
            while not over.done():
                writer.write(b"x")
                await asyncio.wait({over}, timeout=0.02)

"""Reachable daemon with more connections than file descriptors."""

from __future__ import annotations

import asyncio
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientSession, ClientTimeout

from tests.soak import SOAK
from tests.stories.process import Daemon, address_in, ended, ready, start, visit
from tests.stories.stage import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Only Linux limits another process.")

TOKEN = "open sesame, and be quick"
SHOWN = {"X-Console-Token": TOKEN}
FILES = 128
STRANGERS = 300
SAYINGS = (b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Half:", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")


@SOAK
async def test_while_strangers_flood_it_it_is_well_and_its_owner_and_its_people_are_answered(
    tmp_path: Path,
) -> None:
    process = await start(tmp_path, HOST="0.0.0.0", CONSOLE_TOKEN=TOKEN)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
    try:
        url = address_in(await ready(process))
        async with visit(url, SHOWN) as alice, flooded(url):
            for path, headers in (("/healthz", {}), ("/console/state", SHOWN)):
                assert await status(url + path, headers) == 200
            ts = await alice.say("Hello")
            async with asyncio.timeout(PATIENCE):
                while not any("rehearsal script" in said["text"] for said in await alice.answers(ts)):
                    pass
            assert await status(f"{url}/healthz", {}) == 200
        process.send_signal(signal.SIGTERM)
        code, said = await ended(process)
    finally:
        await gone(process)
    assert code == 0
    assert "Too many connections are open" in said
    assert "can be let in" not in said, "it has not come to its last file"
    assert len(said.splitlines()) <= 5, said


async def status(url: str, headers: dict[str, str]) -> int:
    timeout = ClientTimeout(total=PATIENCE)
    async with ClientSession(timeout=timeout) as session, session.get(url, headers=headers) as answer:
        return answer.status


@asynccontextmanager
async def flooded(url: str) -> AsyncIterator[None]:
    port = urlsplit(url).port
    ends: list[asyncio.StreamWriter] = []
    try:
        for n in range(STRANGERS):
            _, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=(f"127.0.0.{n % 9 + 2}", 0)
            )
            writer.write(SAYINGS[n % len(SAYINGS)])
            ends.append(writer)
        yield
    finally:
        for writer in ends:
            writer.close()


async def gone(process: Daemon) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()

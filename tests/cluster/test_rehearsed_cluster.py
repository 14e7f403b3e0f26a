"""`make cluster`: from nothing to daemons that take over from each other, and back to nothing."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import ClientResponse, ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from daemon.console.server import bind, serve_app, url_of_socket
from rehearsal.cluster_front import run_front
from rehearsal.people import ALICE, SOUL
from tests.attention import PATIENCE
from tests.postgres import NEEDS_POSTGRES
from tests.source import ROOT

DM = "D0ALICE0001"
PROCESS = re.compile(r"^(\S+) +http://\S+ +\((at work|standing by), process (\d+)\)$")


@dataclass(slots=True)
class ClusterOutput:
    """A cluster's process, and the lines that it has printed."""

    process: Process
    lines: list[str] = field(default_factory=list)

    async def line_with(self, *words: str) -> str:
        """Return the first line that begins or goes on with one of these words."""
        assert self.process.stdout
        while True:
            for line in self.lines:
                if any(word in line for word in words):
                    return line
            read = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)
            assert read, f"it ended: {self.lines}"
            self.lines.append(read.decode().rstrip())

    async def pid_of(self, doing: str) -> int:
        found = PROCESS.match(await self.line_with(f"({doing}, process"))
        assert found
        return int(found[3])


@asynccontextmanager
async def cluster(folder: Path, count: int) -> AsyncIterator[ClusterOutput]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rehearsal.cluster", str(count)),
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder), "LOG_LEVEL": "warning"},
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=None,
    )
    try:
        yield ClusterOutput(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)  # PostgreSQL may run as another user
    return tmp_path


def is_empty(folder: Path) -> bool:
    return not [*folder.iterdir()]


def left_over(folder: Path) -> Sequence[str]:
    """Return the command lines of processes that work in this folder."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environment = (one / "environ").read_bytes()
            if str(folder).encode() in environment + (one / "cmdline").read_bytes():
                found.append((one / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return [line for line in found if line]


@NEEDS_POSTGRES
async def test_a_conversation_goes_on_when_the_daemon_at_work_is_killed(home: Path) -> None:
    async with cluster(home, 2) as output, ClientSession() as session:
        front = (await output.line_with("chat  ")).split()[1].partition("/?")[0]
        works = await output.pid_of("at work")
        await output.pid_of("standing by")
        alice = AsyncWebClient(token=ALICE.token, base_url=f"{front}/api/", session=session)
        async with session.get(f"{front}/rehearsal/events", params={"token": ALICE.token}) as events:
            said = await alice.chat_postMessage(channel=DM, text="Hello! Who are you?")
            os.kill(works, signal.SIGKILL)
            await asyncio.wait_for(is_answered(events, str(said["ts"])), PATIENCE)
        async with session.get(f"{front}/healthz") as health:
            assert (await health.json())["log"]["reachable"]
        for _ in range(2):  # somebody who is in a hurry
            output.process.send_signal(signal.SIGINT)
            await output.line_with("end  ")
        assert await asyncio.wait_for(output.process.wait(), PATIENCE) == 0
    assert is_empty(home)
    assert not left_over(home)


async def is_answered(events: ClientResponse, ts: str) -> None:
    """Return when the soul has said something in this thread."""
    async for line in events.content:
        if SOUL.user.encode() in line and f'"thread_ts": "{ts}"'.encode() in line.replace(b'":"', b'": "'):
            return
    raise AssertionError("the events ended")


@pytest.mark.parametrize("count", ["0", "11"])
async def test_more_daemons_than_sockets_are_refused(home: Path, count: str) -> None:
    async with cluster(home, int(count)) as output:
        assert await asyncio.wait_for(output.process.wait(), PATIENCE) == 78
    assert is_empty(home)


async def test_its_page_comes_from_whichever_daemon_answers() -> None:
    async def tell(request: web.Request) -> web.Response:
        return web.json_response({"from": request.host, "rehearsed": {"workspace": False, "model": False}})

    gone = bind("127.0.0.1", 0)
    away = url_of_socket(gone)
    gone.close()
    app, listener = web.Application(), bind("127.0.0.1", 0)
    app.router.add_get("/{path:.*}", tell)
    async with serve_app(app, listener), ClientSession() as session:
        here = url_of_socket(listener)
        async with run_front(away, lambda: (away, here)) as front:
            async with session.get(f"{front}/console/state") as state:
                told = await state.json()
            async with session.get(f"{front}/api/auth.test") as world:
                assert world.status == 502, "the world is another process"
    assert f"http://{told['from']}" == front, "the page's own address is checked by the daemon"
    assert told["rehearsed"] == {"workspace": True, "model": True}


async def test_a_daemon_that_dies_in_the_middle_of_an_answer_ends_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    began = asyncio.Event()

    async def begin(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        await began.wait()
        assert request.transport
        request.transport.abort()
        return response

    app, listener = web.Application(), bind("127.0.0.1", 0)
    app.router.add_get("/console/journal", begin)
    async with serve_app(app, listener), ClientSession() as session:
        here = url_of_socket(listener)
        async with (
            run_front(here, lambda: (here,)) as front,
            session.get(f"{front}/console/journal") as events,
        ):
            assert await events.content.readline() == b"data: 1\n"
            began.set()
            assert await asyncio.wait_for(events.content.read(), PATIENCE) == b"\n"
    assert "Error handling request" not in caplog.text

"""Daemons whose log is away: at the start, in the middle, or because they were paused for too long."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from aiohttp import ClientConnectionError, ClientSession

from rehearsal.people import SOUL
from rehearsal.postgres_server import free_port
from tests.attention import PATIENCE, until
from tests.cluster.daemons import cluster_env, machine
from tests.cluster.proxy import TcpProxy
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import around, ended, ready, running, start

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

ASKED = f"<@{SOUL.user}> Tell me about tea, please."
PASSWORD = "opensesame"


def with_password(url: str) -> str:
    """Return the URL with a password, which the server of the tests does not ask for."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    return url.replace(urlsplit(url).netloc, f"soul:{PASSWORD}@{host}", 1)


async def status_of(session: ClientSession, url: str) -> tuple[int, str]:
    try:
        async with session.get(url) as response:
            return response.status, await response.text()
    except ClientConnectionError:
        return 0, ""


async def until_status(session: ClientSession, url: str, status: int, says: str = "") -> str:
    """Ask until the answer has this status and says this; return its text."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found, text = await status_of(session, url)
            if found == status and says in text:
                return text


async def test_a_log_that_is_away_at_the_start_and_later_is_waited_for_and_said(
    tmp_path: Path, log_url: str
) -> None:
    port = free_port()
    page = f"http://127.0.0.1:{port}"
    with TcpProxy(with_password(log_url)) as proxy:
        proxy.refuse()
        async with around(tmp_path) as place, ClientSession() as session:
            daemon = await start(tmp_path / "soul", **cluster_env(place, proxy.url, "m", PORT=str(port)))
            try:
                waits = await until_status(session, f"{page}/healthz", 503, "cannot be reached")
                assert PASSWORD not in waits
                assert (await status_of(session, f"{page}/livez"))[0] == 200
                proxy.mend()
                assert (await ready(daemon))[-1].startswith("ready")
                await until_status(session, f"{page}/healthz", 200)
                proxy.cut()
                away = await until_status(session, f"{page}/healthz", 503, "does not answer")
                assert PASSWORD not in away
                assert (await status_of(session, f"{page}/livez"))[0] == 200
                unheard = await place.say(ASKED)
                proxy.mend()
                await until_status(session, f"{page}/healthz", 200)
                await until(lambda: place.texts(unheard))
                daemon.terminate()
                status, said = await ended(daemon)
                assert status == 0
                assert PASSWORD not in said
            finally:
                if daemon.returncode is None:
                    daemon.kill()
                await daemon.wait()


async def test_a_daemon_that_was_paused_for_too_long_ends_with_75(tmp_path: Path, log_url: str) -> None:
    async with (
        around(tmp_path, pace=0.05) as place,
        machine(tmp_path, place, log_url, "first") as first,
        machine(tmp_path, place, log_url, "second") as second,
    ):
        ts = await place.say(ASKED)
        await until(lambda: place.texts(ts))
        first.process.send_signal(signal.SIGSTOP)
        await second.wait_until_at_work()
        first.process.send_signal(signal.SIGCONT)
        status, said = await ended(first.process)
        assert status == 75
        assert "counts as dead" in said
        await until(lambda: len(place.texts(ts)) == 1 and not place.working)


async def test_a_rehearsed_slack_within_a_daemon_has_no_second_one(tmp_path: Path, log_url: str) -> None:
    async with running(tmp_path / "first", DATABASE_URL=log_url, MACHINE="first"):
        env = {"DATABASE_URL": log_url, "MACHINE": "second"}
        status, said = await ended(await start(tmp_path / "second", **env))
    assert status == 78
    assert "a rehearsed Slack is in one daemon alone" in said


async def test_a_log_of_another_workspace_ends_the_start(tmp_path: Path, log_url: str) -> None:
    async with around(tmp_path) as place:
        async with machine(tmp_path, place, log_url, "first") as first:
            first.process.terminate()
            assert (await ended(first.process))[0] == 0
        with psycopg.connect(log_url, autocommit=True) as connection:
            connection.execute("update soul_log set team = 'T0OTHER'")
        env = cluster_env(place, log_url, "second")
        status, said = await ended(await start(tmp_path / "second", **env))
        assert status == 78
        assert "belongs to another workspace" in said

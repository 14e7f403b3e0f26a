"""Full disk and locked database: no ack."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from aiohttp import ClientSession

from daemon.engine.journal.rows import WrittenRow
from daemon.engine.journal.writer import WritableTables
from tests.attention import CountedWriter
from tests.stories.process import PATIENCE, Daemon, ended, into, running, visit
from tests.stories.stage import ALICE, Stage, reply

if sys.platform == "linux":
    import resource


async def healthy(session: ClientSession, url: str) -> bool:
    async with session.get(f"{url}/healthz") as response:
        return response.status == 200


async def delivered(session: ClientSession, world: str) -> tuple[int, int]:
    async with session.get(f"{world}/rehearsal/state") as response:
        app = (await response.json())["apps"][0]
        return app["sent"], app["unacked"]


async def redeliver(session: ClientSession, world: str, speed: int) -> None:
    async with session.post(f"{world}/rehearsal/clock", json={"speed": speed}):
        pass


def limit_files(process: Daemon, full: bool) -> None:
    most = resource.RLIM_INFINITY
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1 if full else most, most))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can limit the files of another process")
async def test_a_full_disk_loses_nothing_and_needs_no_restart(tmp_path: Path) -> None:
    async with (
        running(tmp_path / "world", "rehearse") as (_, world),
        visit(world) as alice,
        running(tmp_path / "soul", **into(world)) as (daemon, url),
        asyncio.timeout(PATIENCE),
    ):
        limit_files(daemon, True)
        ts = await alice.say("Are you there?")
        while await healthy(alice.session, url):
            pass
        await redeliver(alice.session, world, 5)
        while await delivered(alice.session, world) != (2, 1):  # redelivered and deduplicated
            pass
        limit_files(daemon, False)
        await redeliver(alice.session, world, 100)
        while not any("rehearsal script" in said["text"] for said in await alice.answers(ts)):
            pass
        while (await delivered(alice.session, world))[1]:
            pass
        assert await healthy(alice.session, url)
        daemon.terminate()
        status, said = await ended(daemon)
        assert (status, len(await alice.answers(ts))) == (0, 1)
    assert said.count("nothing is acknowledged until it can be") == 1
    assert "The journal can be written again." in said
    assert "Traceback" not in said


class Hurried(CountedWriter):
    """Writer that waits for locks in real time."""

    def __init__(self, store: WritableTables, committed: Callable[[Sequence[WrittenRow]], None]) -> None:
        super().__init__(store, committed)
        store._db.execute("pragma busy_timeout = 100")


async def hurry(stage: Stage) -> None:
    await stage.sleep()
    stage.writer = Hurried
    await stage.wake()


async def test_a_locked_database_is_waited_for(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    await hurry(stage)
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)  # backfill would read the unacked
    other = sqlite3.connect(stage.home / "journal.db", isolation_level=None)
    other.execute("begin immediate")
    ts = await stage.post("alice", ALICE, "Are you there?")
    await stage.until(lambda: not stage.soul.journal.is_writable)
    assert stage.entries("input") == []
    other.execute("rollback")
    other.close()
    stage.model.say(reply("I am."))
    await stage.clock.advance(4.0)  # Slack redelivers
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["I am."]
    assert "database is locked" in caplog.text
    assert "The journal can be written again." in caplog.text

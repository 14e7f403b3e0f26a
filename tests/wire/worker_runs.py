"""Worker runs over the wire: whole daemons, forked with all imports done and nothing open."""

from __future__ import annotations

import asyncio
import atexit
import functools
import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import ClientSession

from config import Settings
from daemon.app.daemon import RunningDaemon, start_daemon
from daemon.engine.clock import Clock, SystemClock
from daemon.engine.event import Input
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import OutageBegan, TurnBegan, WaitBegan
from daemon.kinds import SOUL_KINDS, GrowingMessageSeen
from daemon.lifetime import run_until_failure
from daemon.turn.prompt_files import PromptFiles
from rehearsal.people import SOUL
from tests.attention import run
from tests.crashes.worker_runs import fork
from tests.machine import MEMORY, folder
from tests.stories.stage import ALICE, staged
from tests.texts import whole
from tests.wire.kill_points import ArmedKillPoint, crashing_writer
from tests.wire.scenario import WireScenario
from tests.wire.shared_page import FastClock, SharedPage, share_page
from tests.wire.world import WireWorld

MakeWorld = Callable[[SharedPage, WireScenario, ArmedKillPoint], WireWorld]
FOREVER = 1e6
"""Seconds: a world ends with its case."""
LOOK = 0.2


@contextmanager
def open_home(name: str) -> Iterator[tuple[Path, SharedPage]]:
    with folder(f"wire-{name}") as path:
        home = path / "home"
        shutil.copytree(warm_home(), home)
        yield home, share_page()


@contextmanager
def run_world(
    page: SharedPage, scenario: WireScenario, armed: ArmedKillPoint, make: MakeWorld = WireWorld
) -> Iterator[None]:
    process = fork(lambda: make(page, scenario, armed).run(), FOREVER)
    try:
        while not page.port:
            assert process.is_running(), "the world fell before it stood"
            time.sleep(0.001)
        yield
    finally:
        process.kill()


def settings_for(page: SharedPage, scenario: WireScenario, home: Path) -> Settings:
    here = f"http://127.0.0.1:{page.port}"
    return Settings(
        slack_bot_token=SOUL.bot_token,
        slack_app_token=SOUL.app_token,
        slack_api_url=f"{here}/api/",
        anthropic_api_key="any",
        anthropic_base_url=here,
        port=0,
        soul_home=home,
        **scenario.settings,
    )


async def work(page: SharedPage, scenario: WireScenario, armed: ArmedKillPoint) -> None:
    """Run a daemon to the end of the scenario."""
    page.worker = os.getpid()
    settings = settings_for(page, scenario, armed.home)
    start = start_daemon(
        settings, FastClock(page), whole(), processes=scenario.processes(page), writer=crashing_writer(armed)
    )
    async with start as awoken, ClientSession(f"http://127.0.0.1:{page.port}") as session:
        ends = {asyncio.create_task(run_until_failure(awoken.journal.died, awoken.slack.died))}
        ends.add(asyncio.create_task(_to_the_end(page, scenario, awoken, session)))
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in done:
            end.result()
        os._exit(0)  # a kill at rest


async def _to_the_end(
    page: SharedPage, scenario: WireScenario, awoken: RunningDaemon, session: ClientSession
) -> None:
    over, clock = False, FastClock(page)
    while not over:
        at = page.phase
        there = at not in scenario.away
        while (there and _waits(awoken)) or not await _quiet(awoken, session, clock):
            await clock.sleep(LOOK)
        async with session.post(f"/scenario/{at}") as answer:
            over = (await answer.json())["over"]


async def _quiet(awoken: RunningDaemon, session: ClientSession, clock: Clock) -> bool:
    if _busy(awoken, clock):
        return False
    async with session.get("/scenario") as answer:
        known = await answer.json()
    if known["coming"] or not all(map(awoken.journal.get, known["keys"])) or _busy(awoken, clock):
        return False
    if known["left"]:
        await session.post("/scenario/rest")
    return not known["left"]


def _waits(awoken: RunningDaemon) -> bool:
    waits = awoken.journal.pending_entries(OutageBegan)
    return any(not awoken.worker.has_lost(waiting.thread) for waiting in waits)


def _busy(awoken: RunningDaemon, clock: Clock) -> bool:
    journal, worker = awoken.journal, awoken.worker
    now = clock.now()
    threads = [
        entry.thread for entry in journal.pending_entries(WaitBegan) if (entry.event.due or now) <= now
    ]
    threads += [entry.thread for entry in journal.pending_entries(Input, TurnBegan, GrowingMessageSeen)]
    return worker.is_busy or any(not (worker.has_lost(one) or worker.is_asleep(one)) for one in threads)


@functools.cache
def warm_home() -> Path:
    """Return the template of homes, after a full warm-up run."""
    home = Path(tempfile.mkdtemp(prefix="warm-", dir=MEMORY))
    atexit.register(shutil.rmtree, home, ignore_errors=True)

    async def rehearse(path: Path) -> None:
        async with staged(path) as stage:
            await stage.wake()
            await stage.say("alice", ALICE, "Hello")
        async with Journal(home / "journal.db", SystemClock(), SOUL_KINDS) as journal:
            await PromptFiles(whole(), journal).current_set()

    with folder("rehearsed") as path:
        run(rehearse(path))
    gc.collect()
    gc.freeze()  # no child copies what it only counts
    return home

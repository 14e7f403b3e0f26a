"""Daemons as processes, forked with all imports done and nothing open."""

from __future__ import annotations

import asyncio
import atexit
import functools
import gc
import os
import shutil
import signal
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
from tests.attention import PATIENCE, run
from tests.lives import fork
from tests.machine import MEMORY, folder
from tests.stories.stage import ALICE, staged
from tests.texts import whole
from tests.wire.board import Board, SwiftClock, board
from tests.wire.mark import Mark, marked
from tests.wire.scenario import Scenario
from tests.wire.world import Outside

Kind = Callable[[Board, Scenario, Mark], Outside]
FOREVER = 1e6
"""Seconds: a world ends with its case."""
LOOK = 0.2


@contextmanager
def home_for(name: str) -> Iterator[tuple[Path, Board]]:
    with folder(f"wire-{name}") as path:
        home = path / "home"
        shutil.copytree(warm(), home)
        yield home, board()


@contextmanager
def world(page: Board, scenario: Scenario, mark: Mark, kind: Kind = Outside) -> Iterator[None]:
    pid = fork(lambda: kind(page, scenario, mark).run(), FOREVER)
    try:
        while not page.port:
            assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the world fell before it stood"
            time.sleep(0.001)
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def soul(page: Board, scenario: Scenario, mark: Mark, seconds: float = PATIENCE) -> int:
    """Fork a daemon that runs the scenario; return its pid."""
    return fork(lambda: _live(page, scenario, mark), seconds)


def settings_for(page: Board, scenario: Scenario, home: Path) -> Settings:
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


async def _live(page: Board, scenario: Scenario, mark: Mark) -> None:
    page.soul = os.getpid()
    settings = settings_for(page, scenario, mark.home)
    start = start_daemon(
        settings, SwiftClock(page), whole(), processes=scenario.processes(page), writer=marked(mark)
    )
    async with start as awoken, ClientSession(f"http://127.0.0.1:{page.port}") as session:
        ends = {asyncio.create_task(run_until_failure(awoken.journal.died, awoken.slack.died))}
        ends.add(asyncio.create_task(_to_the_end(page, scenario, awoken, session)))
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in done:
            end.result()
        os._exit(0)  # a kill at rest


async def _to_the_end(page: Board, scenario: Scenario, awoken: RunningDaemon, session: ClientSession) -> None:
    over, clock = False, SwiftClock(page)
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
def warm() -> Path:
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

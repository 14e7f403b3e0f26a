"""The daemon as a process of its own, as often as a case needs one; forked from a process that has imported
everything, done it all once, and holds nothing open.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import gc
import logging
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from config import Settings
from daemon.app import Awake, awake
from daemon.clock import SystemClock
from daemon.journal.journal import Journal
from daemon.life.texts import Texts
from daemon.lifetime import live
from daemon.ports import Clock
from daemon.project import root
from daemon.rehearsal.people import SOUL
from tests.attention import run
from tests.core.lives import HOMES
from tests.stories.stage import ALICE, staged
from tests.wire.board import Board, SwiftClock, board
from tests.wire.mark import Mark, marked
from tests.wire.story import Story
from tests.wire.world import Outside

LIFE_SECONDS = 40.0
"""After which a daemon that has not come to the end of its story never will."""
LOOK = 0.2
"""Seconds of the story between two looks whether a daemon is quiet."""


@contextmanager
def case(name: str) -> Iterator[tuple[Path, Board]]:
    """A folder with the owner's texts in it, and a page to share."""
    with tempfile.TemporaryDirectory(prefix=f"wire-{name}-", dir=HOMES) as folder:
        home = Path(folder) / "home"
        shutil.copytree(warm(), home)
        yield home, board()


@contextmanager
def world(page: Board, story: Story, mark: Mark, kind: type[Outside] = Outside) -> Iterator[None]:
    """The world of a case, while it lasts."""
    pid = fork(lambda: kind(page, story, mark).run())
    try:
        while not page.port:
            assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the world fell before it stood"
            time.sleep(0.001)
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def soul(page: Board, story: Story, mark: Mark, seconds: float = LIFE_SECONDS) -> int:
    """A daemon that lives until the story is told, or has taken too long; returns its pid."""
    return fork(lambda: asyncio.wait_for(_live(page, story, mark), seconds))


def fork(work: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """A process that does this and ends with 0, or with 3 where it failed. Returns its pid."""
    if pid := os.fork():
        return pid
    if "VERBOSE" not in os.environ:
        logging.disable()
    os.environ["SSL_CERT_DIR"] = os.devnull  # all is on the loopback, and reading certificates takes long
    try:
        run(work())
        os._exit(0)
    except BaseException:  # noqa: BLE001  whatever ends a life, the process ends with it
        if "VERBOSE" in os.environ:
            traceback.print_exc()
        os._exit(3)


async def _live(page: Board, story: Story, mark: Mark) -> None:
    page.soul = os.getpid()
    here = f"http://127.0.0.1:{page.port}"
    settings = Settings(
        slack_bot_token=SOUL.bot_token,
        slack_app_token=SOUL.app_token,
        slack_api_url=f"{here}/api/",
        anthropic_api_key="any",
        anthropic_base_url=here,
        port=0,
        soul_home=mark.home,
        **story.settings,
    )
    start = awake(settings, SwiftClock(page), processes=story.processes(page), writer=marked(mark))
    async with start as awoken, ClientSession(here) as session:
        ends = {asyncio.create_task(live(awoken.waker, awoken.journal, awoken.slack.died))}
        ends.add(asyncio.create_task(_to_the_end(page, story, awoken, session)))
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in done:
            end.result()
        os._exit(0)  # a kill at rest


async def _to_the_end(page: Board, story: Story, awoken: Awake, session: ClientSession) -> None:
    """Until the story is told and there is nothing left to do."""
    over, clock = False, SwiftClock(page)
    while not over:
        at = page.phase
        there = at not in story.away
        while (there and _waits(awoken)) or not await _quiet(awoken, session, clock):
            await clock.sleep(LOOK)
        async with session.post(f"/story/{at}") as answer:
            over = (await answer.json())["over"]


async def _quiet(awoken: Awake, session: ClientSession, clock: Clock) -> bool:
    """Everything that was said is known, and then no thread that is ours has anything to do."""
    if _busy(awoken, clock):
        return False
    async with session.get("/story") as answer:
        known = await answer.json()
    if known["coming"] or not all(map(awoken.journal.get, known["keys"])) or _busy(awoken, clock):
        return False
    if known["left"]:
        await session.post("/story/rest")
    return not known["left"]


def _waits(awoken: Awake) -> bool:
    """Does somebody wait for the model? Where it is there again, they are at rest when they are answered."""
    waits = awoken.journal.open("watch")
    return any("failure" in watch.body and not awoken.waker.lost(watch.thread) for watch in waits)


def _busy(awoken: Awake, clock: Clock) -> bool:
    journal, waker = awoken.journal, awoken.waker
    due = [watch for watch in journal.open("watch") if watch.body["due"] <= clock.now()]
    due += journal.open("perception", "turn-began")
    return waker.busy or any(not waker.lost(entry.thread) for entry in due)


@functools.cache
def warm() -> Path:
    """The folder that every home is a copy of. A whole life goes before it, so that none has to warm up."""
    home = Path(tempfile.mkdtemp(prefix="warm-", dir=HOMES))
    atexit.register(shutil.rmtree, home, ignore_errors=True)

    async def rehearse(folder: Path) -> None:
        async with staged(folder) as stage:
            await stage.wake()
            await stage.say("alice", ALICE, "Hello")
        async with Journal(home / "journal.db", SystemClock()) as journal:
            await Texts(root(), journal).current()

    with tempfile.TemporaryDirectory(dir=HOMES) as folder:
        run(rehearse(Path(folder)))
    gc.collect()
    gc.freeze()  # so that no child copies what it only counts
    return home

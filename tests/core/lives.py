"""Lives of the core, forked from a process that has imported everything and opened nothing."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import logging
import os
import shutil
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from daemon.journal.journal import Journal
from daemon.knowledge.people import PersonModels
from daemon.knowledge.places import Places
from daemon.life.begin import Blueprint
from daemon.life.budget import Budget
from daemon.life.limits import Gauge
from daemon.life.live import Life
from daemon.life.past import Pasts
from daemon.life.reach import Reach
from daemon.life.scope import World
from daemon.life.suspects import wake_up
from daemon.life.texts import Texts
from daemon.life.waker import SWEEP, AsyncioWaker
from daemon.limits import PERSON, THREAD, TURN
from tests.core.boundary import Boundary, MortalWriter
from tests.core.outside import Event, FileModel, FileSlack, StoryClock, note, read
from tests.core.story import Scenario

ROOT = Path(__file__).resolve().parents[2]
LIFE_SECONDS = 20
MEMORY = Path("/dev/shm")
"""A kill loses no page of memory: homes live there where they can, and their fsync is free."""
HOMES = MEMORY if MEMORY.is_dir() else None


class People:
    """They send again until they are acked, and are acked only when it is in the journal."""

    def __init__(self, home: Path, journal: Journal) -> None:
        self._home = home
        self._journal = journal

    async def send(self, events: Sequence[Event]) -> list[str]:
        acked = read(self._home / "acks.jsonl")
        return [await self._send(event) for event in events if event.ts not in acked]

    async def _send(self, event: Event) -> str:
        where = {"team": "T", "channel": event.thread, "ts": "1", "place": "a direct message"}
        opened, _ = await self._journal.thread(f"thread:T:{event.thread}:1", where)
        body = {
            "user": event.user,
            "name": "Alice",
            "bot": False,
            "text": event.text,
            "ts": event.ts,
            "files": [],
        }
        if event.rank:
            body["rank"] = event.rank
        if event.answers:
            waiting = self._journal.open("asked", thread=opened.thread)
            asked = next((e for e in waiting if f"/{event.answers}#" in e.key), None)
            body |= {"answers": asked.key if asked else "", "value": event.text, "address": "press"}
        kind, key = ("heard", "heard") if event.heard else ("perception", "msg")
        if not event.heard:
            body["address"] = event.address
        key = f"{key}:T:{event.thread}:{event.ts}"
        await self._journal.append(opened.thread, kind, body, key=key, author=event.user, cause=opened.seq)
        note(self._home / "acks.jsonl", event.ts)
        return opened.thread


def soul_of(home: Path, story: Scenario, journal: Journal) -> Blueprint:
    """The soul of this life."""
    return Blueprint(
        texts=Texts(home / "texts", journal),
        processes=story.processes(home),
        initial="conversation",
        code=story.code[min(len(read(home / "lives.jsonl")), len(story.code)) - 1],
        surroundings=story.surroundings(home),
    )


async def live(home: Path, story: Scenario, phase: int) -> None:
    """One life: take what the world brings, go on until nothing is left to do now."""
    clock = StoryClock(phase)
    async with Journal(home / "journal.db", clock, MortalWriter) as journal:
        people = People(home, journal)
        suspects = await wake_up(journal, clock)

        async def interrupt(events: Sequence[Event]) -> None:
            for thread in await people.send(events):
                waker.wake(thread)

        model = FileModel(
            home=home,
            journal=journal,
            script=story.script,
            events=story.events,
            deliver=interrupt,
            price=story.price,
            clock=clock,
            pace=story.pace,
        )
        budget = Budget(journal, clock, 1.5 * story.price, ("U9",))
        reach = Reach(journal, clock, {"speak": "echo"})
        world = World(
            journal=journal,
            llm=model,
            speaker=FileSlack(home),
            clock=clock,
            budget=budget,
            gauge=Gauge(journal, clock, budget, turn=TURN, thread=THREAD, person=PERSON),
            pasts=Pasts(journal),
            people=PersonModels(journal, Places(journal)),
            reach=reach,
            owners=("U9",),
            life=suspects.life,
        )
        life = Life(world, soul_of(home, story, journal), story.max_attempts)
        waker = AsyncioWaker(journal, clock, life.live, life.notice, suspects, reach.due)
        asked = len(read(home / "llm.jsonl"))
        await people.send([e for e in story.events if e.phase <= phase and e.during <= asked])
        await quiet(journal, waker, clock)
        await waker.drain(5)


async def quiet(journal: Journal, waker: AsyncioWaker, clock: StoryClock) -> None:
    """Until no thread that is ours has anything to do; where all of them rest, time goes on."""
    waker.sweep()
    while waker.busy or [e for e in journal.open("perception", "turn-began") if not waker.lost(e.thread)]:
        await asyncio.sleep(0.001)
        if not waker.busy:  # the real one sweeps once a second only: nothing is to rest on it
            clock.go_on(SWEEP)
            await waker.lived(SWEEP)
            waker.sweep()


def fork(home: Path, story: Scenario, phase: int) -> int:
    """A life in a process of its own; the caller has set its boundary. Returns its pid."""
    if pid := os.fork():
        return pid
    if "VERBOSE" not in os.environ:
        logging.disable()
    try:
        note(home / "lives.jsonl", phase)
        asyncio.run(asyncio.wait_for(live(home, story, phase), LIFE_SECONDS))
        (home / f"points.{phase}").write_text(str(Boundary.count))
        os._exit(0)
    except BaseException:  # noqa: BLE001  whatever ends a life, the process ends with it
        if "VERBOSE" in os.environ:
            traceback.print_exc()
        os._exit(3)


def life(home: Path, story: Scenario, phase: int, at: int = 0, every: int = 0) -> int:
    """A whole life; returns its exit status, negative for the signal that ended it."""
    Boundary.set(at, every)
    _, status = os.waitpid(fork(home, story, phase), 0)
    return os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def home_for(name: str) -> Iterator[Path]:
    """A folder of its own, with the owner's texts in it, read once by a life that ended well."""
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=HOMES) as folder:
        home = Path(folder) / "home"
        shutil.copytree(warm(), home)
        yield home


@functools.cache
def warm() -> Path:
    """The folder that every home is a copy of; made once a process."""
    home = Path(tempfile.mkdtemp(prefix="warm-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    shutil.copytree(ROOT / "prompts", home / "texts" / "prompts")
    shutil.copytree(ROOT / "playbooks", home / "texts" / "playbooks")
    shutil.copy(ROOT / "soul.md", home / "texts" / "soul.md")

    async def read_texts() -> None:
        async with Journal(home / "journal.db", StoryClock(0)) as journal:
            await Texts(home / "texts", journal).current()

    if pid := os.fork():
        os.waitpid(pid, 0)
        return home
    try:
        asyncio.run(read_texts())
    finally:
        os._exit(0)

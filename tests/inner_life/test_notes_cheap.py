"""Lookups of notes at constant cost, by comparison instead of a time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from daemon.inner_life.note import NoteFilter
from daemon.kinds import INNER, AmbientMessage, CommandRan
from daemon.knowledge.visibility import always_visible
from tests.inner_life.noting import Inbox, inbox
from tests.soak import SOAK

FEW, MANY = 500, 10_000
AT_MOST = 4.0
"""Allowed ratio for twenty times as many notes; a full scan takes twenty."""
AND = 0.0005
"""Seconds of tolerance."""
CHANNELS = 20
TURNS = 15


async def fill(here: Inbox, count: int) -> None:
    """Add notes: one in a hundred by a bot, most others read."""
    threads = [await here.open(f"C{number}", ts="") for number in range(CHANNELS)]
    await here.say(await here.open("D1"), "the only direct one")
    for start in range(0, count, 500):
        async with asyncio.TaskGroup() as group:
            for number in range(start, start + 500):
                group.create_task(_notice(here, threads[number % CHANNELS], number))
    await here.notes.update()
    ids = here.notes.matching(NoteFilter(source="channel"), always_visible, most=count)[100:]
    read = CommandRan(tick=1, cmd_id="1", name="notes.mark", args={"ids": ids})
    await here.write(INNER, read, "read")
    await here.notes.update()
    assert len(here.notes.new_since(0)) == count + 1


async def _notice(here: Inbox, thread: str, number: int) -> None:
    ts = f"{1_780_000_000 + number}.000001"
    said = AmbientMessage(user="UBob", name="Bob", text="tea", ts=ts, bot=number % 100 == 0)
    await here.write(thread, said, f"noticed:{ts}")


def looks(here: Inbox) -> dict[str, Callable[[], object]]:
    notes = here.notes
    last = notes.new_since(0)[-1]
    note = notes.get(last)
    assert note
    return {
        "counts": notes.counts,
        "listed": notes.list_open,
        "get": lambda: notes.get(last),
        "new": lambda: notes.new_since(last - 3),
        "words": lambda: notes.words(note, always_visible),
        "all": lambda: notes.matching(NoteFilter(), always_visible),
        "important": lambda: notes.matching(NoteFilter(priority="important"), always_visible),
        "none": lambda: notes.matching(NoteFilter(priority="urgent", unread=True), always_visible),
        "tag": lambda: notes.matching(NoteFilter(tags=("there-is-none",)), always_visible),
        "lately": lambda: notes.matching(NoteFilter(since=here.clock.now()), always_visible),
        "unknown": lambda: notes.matching(NoteFilter(), lambda there, wrote=0: False),
        "unread": lambda: notes.matching(NoteFilter(source="channel", unread=True), always_visible, most=200),
    }


def seconds(look: Callable[[], object]) -> float:
    tries = []
    for _ in range(TURNS):
        began = time.process_time()
        for _ in range(5):
            look()
        tries.append(time.process_time() - began)
    return min(tries)


async def marked(here: Inbox) -> float:
    tries = []
    for id in here.notes.new_since(0)[:TURNS]:
        began = time.process_time()
        await here.do("notes.hide", ids=[id])
        await here.do("notes.mark", ids=[id])
        tries.append(time.process_time() - began)
    return min(tries)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def measured(path: Path, count: int) -> dict[str, float]:
    async with inbox(path) as here:
        await fill(here, count)
        await here.clock.advance(60)
        await here.say(await here.open("D2"), "the last one")
        await here.notes.update()
        found = {name: seconds(look) for name, look in looks(here).items()}
        return found | {"marked": await marked(here)}


@SOAK
async def test_a_look_costs_the_same_however_many_there_are(tmp_path: Path) -> None:
    few, many = await measured(made(tmp_path / "few"), FEW), await measured(made(tmp_path / "many"), MANY)
    dear = {name: (few[name], many[name]) for name in few if many[name] > AT_MOST * few[name] + AND}
    assert dear == {}

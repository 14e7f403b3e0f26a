"""How a turn begins: fixes what it answers, for ever, or takes up the half turn that a crash left.

Life calls it. What is read here is read once; the turn reads everything as of its first begin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.entry import Entry
from daemon.errors import Fenced
from daemon.life.scope import World
from daemon.life.texts import Texts
from daemon.life.turn import Turn
from daemon.ports import Process, Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """What a soul is made of, besides the world it lives in. `code` is a hash of the code that thinks."""

    texts: Texts
    processes: Mapping[str, Process]
    initial: str
    code: str
    surroundings: Surroundings


async def begin(world: World, soul: Blueprint, thread: str) -> Turn | None:
    """The turn that this thread takes now; None when nothing waits. Raises Fenced."""
    if half := world.journal.open("turn-began", thread=thread):
        return await _resume(world, soul, half[0])
    await _ripen(world, thread)
    waiting = world.journal.open("perception", thread=thread)
    if not waiting:
        return None
    postponed = [w for w in world.journal.open("watch", thread=thread) if "carries" in w.body]
    await _overhear(world, soul.surroundings, thread)
    return await _begin(world, soul, [*postponed, *waiting])


async def _begin(world: World, soul: Blueprint, took: Sequence[Entry]) -> Turn:
    first = next(entry for entry in took if entry.kind == "perception")
    thread = first.thread
    path = _path(world, f"{thread}@{first.seq}")
    texts = await soul.texts.current()
    process = world.pasts.of(thread, world.journal.last() + 1).process
    body = {
        "took": [entry.seq for entry in took],
        "path": path,
        "process": process if process in soul.processes else soul.initial,
        "code": soul.code,
        "texts": texts,
    }
    began, ours = await world.journal.append(
        thread, "turn-began", body, key=f"{path}/began", author="core", cause=first.seq
    )
    if not ours:
        raise Fenced(began.key)
    return Turn(world, soul.texts, began, began.seq, tuple(soul.processes))


async def _resume(world: World, soul: Blueprint, began: Entry) -> Turn:
    """Another attempt at a half turn; an entry too, so that a poisonous message is not tried for ever."""
    path = began.body["path"]
    attempt = attempts(world, path) + 1
    again, ours = await world.journal.append(
        began.thread,
        "turn-resumed",
        {"attempt": attempt},
        key=f"{path}/attempt#{attempt}",
        author="core",
        cause=began.seq,
    )
    if not ours:
        raise Fenced(again.key)
    return Turn(world, soul.texts, began, again.seq, tuple(soul.processes))


def attempts(world: World, path: str) -> int:
    """How often the body under this path has been tried."""
    return 1 + sum(entry.kind == "turn-resumed" for entry in world.journal.under(path))


def _path(world: World, first: str) -> str:
    """A body's path; only after one that was let go does a fresh body get a path of its own.

    So when another daemon begins or ends this turn before our `turn-began` is written, its key is the same,
    and ours is refused.
    """
    path, n = first, 1
    while (ended := world.journal.get(f"{path}/ended")) and ended.body["outcome"] == "let-go":
        n += 1
        path = f"{first}~{n}"
    return path


async def _ripen(world: World, thread: str) -> None:
    """A watch whose time has come becomes exactly one perception."""
    for watch in world.journal.open("watch", thread=thread):
        if watch.body["due"] <= world.clock.now():
            await world.journal.append(
                thread,
                "perception",
                {"carries": watch.body["carries"]},
                key=f"{watch.key}/woke",
                author="core",
                cause=watch.seq,
                closes=[watch.seq],
            )


async def _overhear(world: World, surroundings: Surroundings, thread: str) -> None:
    """Once in a thread's life: what was said there before the soul was called, as context."""
    key = f"overheard:{thread}"
    if world.journal.get(key):
        return
    for heard in await surroundings.earlier(thread):
        await world.journal.append(thread, "heard", heard.body, key=heard.key, author=heard.author)
    await world.journal.append(thread, "overheard", {}, key=key, author="core")

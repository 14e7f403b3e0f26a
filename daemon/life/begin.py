"""How a turn begins: fixes what it answers, for ever, or takes up the half turn that a crash left.

Life calls it. What is read here is read once; the turn reads everything as of its first begin.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.entry import Entry
from daemon.errors import Fenced
from daemon.life.due import is_ripe
from daemon.life.resting import failed
from daemon.life.scope import World
from daemon.life.taking import Taking, everything, taking
from daemon.life.texts import Texts
from daemon.life.turn import Turn
from daemon.ports import Surroundings
from daemon.process import Process

log = logging.getLogger(__name__)

MOST_TRIES = 3
"""Failures to begin a turn after which nobody looks any more at what it would take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """What a soul is made of, besides the world it lives in. `code` is a hash of the code that thinks."""

    texts: Texts
    processes: Mapping[str, Process]
    initial: str
    code: str
    surroundings: Surroundings
    offered: Sequence[str] = ()
    """The processes that one may go over into; all of them, if none is named."""
    at_once: Collection[str] = ()
    """Those of them that go to work within the turn that chooses them."""


async def begin(world: World, soul: Blueprint, thread: str) -> Turn | None:
    """The turn that this thread takes now; None when nothing waits. Raises Fenced."""
    half = world.journal.open("turn-began", thread=thread)
    tries = len([entry for entry in failed(world.journal, thread) if entry.kind == "unbegun"])
    if half and tries >= MOST_TRIES:
        await _bury(world, half[0])
        return None
    if half:
        return await _resume(world, soul, half[0])
    if tries >= MOST_TRIES:
        taken = everything(world.journal, thread)
    else:
        await _ripen(world, thread)
        taken = taking(world.journal, thread, world.owners)
    if taken is None:
        return None
    texts = await soul.texts.current() if tries < 2 * MOST_TRIES else {}
    return await _begin(world, soul, taken, texts)


async def unbegun(world: World, thread: str, error: str) -> None:
    """A turn of this thread could not be begun, or taken up again: an entry, so that this has an end."""
    before = len(world.journal.of(thread, "unbegun"))
    key = f"{thread}/unbegun#{before + 1}"
    await world.journal.append(thread, "unbegun", {"error": error}, key=key, author="core")


async def _begin(world: World, soul: Blueprint, taken: Taking, texts: Mapping[str, str]) -> Turn:
    cause = next(entry for entry in taken.took if entry.kind == "perception")
    thread = cause.thread
    path = _path(world, f"{thread}@{cause.seq}")
    body: dict[str, Any] = {"took": [entry.seq for entry in taken.took]}
    if taken.asked:
        first = first_of(world, taken.asked.body["body"])
        body = {**first.body, **body, "asked": taken.asked.seq, "code": soul.code}
    elif taken.unfit:
        body |= {"path": path, "code": soul.code, "texts": texts, "process": soul.initial, "unfit": True}
    else:
        process = taken.process or world.pasts.of(thread, world.journal.last() + 1).process
        body["process"] = process if process in soul.processes else soul.initial
        if taken.process:
            body["apart"] = dict(taken.params)
        body |= {"path": path, "code": soul.code, "texts": texts}
    body["life"] = world.life
    began, ours = await world.journal.append(
        thread, "turn-began", body, key=f"{path}/began", author="core", cause=cause.seq
    )
    if not ours:
        raise Fenced(began.key)
    return _turn(world, soul, began, began.seq)


async def _bury(world: World, began: Entry) -> None:
    """The end of a half turn that cannot be taken up: all that it owes is paid, and nothing can be said."""
    journal, half, path = world.journal, began.seq, str(began.body.get("path", ""))
    owing = [entry.seq for entry in journal.under(path) if journal.is_open(entry.seq)]
    took = [seq for seq in began.body.get("took", ()) if journal.is_open(seq)]
    log.error("A turn of %s cannot be taken up again (%s); it is given up.", began.thread, began.key)
    await journal.append(
        began.thread,
        "turn-ended",
        {"outcome": "abandoned", "keep": [], "process": None, "params": {}},
        key=f"{began.key.removesuffix('/began')}/ended",
        author="core",
        cause=began.seq,
        closes=list(dict.fromkeys([began.seq, *took, *owing])),
        owed=half,
    )


def _turn(world: World, soul: Blueprint, began: Entry, epoch: int) -> Turn:
    """A body sees what it saw at first, in whichever turn it goes on."""
    first = first_of(world, began.body["path"])
    return Turn(world, soul.texts, began, first, epoch, soul.offered or tuple(soul.processes), soul.at_once)


def first_of(world: World, path: str) -> Entry:
    """How the body of this path began."""
    first = world.journal.get(f"{path}/began")
    assert first is not None, f"a body without a beginning: {path}"
    return first


async def _resume(world: World, soul: Blueprint, began: Entry) -> Turn:
    """Another attempt at a half turn; an entry too, so that a poisonous message is not tried for ever.

    Where another daemon has ended the turn meanwhile, or has even begun the next one, it is refused.
    """
    path = began.key.removesuffix("/began")
    attempt = attempts(world, path) + 1
    again, ours = await world.journal.append(
        began.thread,
        "turn-resumed",
        {"attempt": attempt, "life": world.life},
        key=f"{path}/attempt#{attempt}",
        author="core",
        cause=began.seq,
        owed=began.seq,
    )
    if not ours:
        raise Fenced(again.key)
    return _turn(world, soul, began, again.seq)


def attempts(world: World, turn: str) -> int:
    """How often the turn of this id has been tried."""
    return 1 + sum(entry.kind == "turn-resumed" for entry in world.journal.under(turn))


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
        if await is_ripe(world.journal, world.clock, watch) or world.reach.ripe(watch):
            await world.journal.append(
                thread,
                "perception",
                _woken(watch.body),
                key=f"{watch.key}/woke",
                author="core",
                cause=watch.seq,
                closes=[watch.seq],
            )


def _woken(watch: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a watch becomes: what it carries, a note that it kept, or word to the body that waits for it."""
    if "answers" in watch:
        return {"rank": "resume", "answers": watch["answers"]}
    if "note" in watch:
        return dict(watch["note"])
    return {"carries": watch["carries"]}

"""A projection folded in pieces, always read whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import FOLD_PIECE, BackgroundReader, Journal, Projection
from daemon.kinds import SOUL_KINDS, AudienceChanged, ConversationOpened, PersonModelWritten
from daemon.knowledge.visibility import KnownChannels
from tests.clock import FakeClock
from tests.soak import SOAK


class Learned(Projection):
    kinds = (PersonModelWritten,)

    def _reset(self) -> None:
        self.texts: list[str] = []

    def _fold_entry(self, entry: Entry[PersonModelWritten]) -> None:
        self.texts.append(entry.event.text)


FIRST, ALICE = "sess-0", "U1"
T = TypeVar("T")


class Watched(Journal):
    """Journal that notes when a piece is read."""

    def __init__(self, path: Path, clock: FakeClock, kinds: Sequence[type[Event]]) -> None:
        super().__init__(path, clock, kinds)
        self.read = asyncio.Event()
        self.opened = 0

    async def read_in_background(self, ask: Callable[[BackgroundReader], T]) -> T:
        self.opened += 1
        return await super().read_in_background(ask)

    def readable_entries(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        self.read.set()
        return super().readable_entries(seqs)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Watched]:
    """Journal of some hundred conversations and person models; the audience comes last."""
    async with Watched(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        await asyncio.gather(*(_open(journal, number) for number in range(3 * FOLD_PIECE)))
        await _learn(journal, ALICE, "likes tea")
        await asyncio.gather(*(_learn(journal, f"U{number}", "reads") for number in range(2, 8 * FOLD_PIECE)))
        await _learn(journal, ALICE, "likes coffee")
        noted = AudienceChanged(team="T", channel="C1", audience="shared")
        await journal.append("slack:T", noted, key="audience:T:C1:1")
        yield journal


async def _open(journal: Journal, number: int) -> None:
    opened = ConversationOpened(
        team="T",
        channel="C1",
        ts=f"{number}",
        where="channel",
        place="#one",
        audience="public",
        user=ALICE,
        called_by="",
    )
    await journal.append(f"sess-{number}", opened, key=f"thread:T:C1:{number}")


async def _learn(journal: Journal, person: str, text: str) -> None:
    since = journal.last_seq_of_all()
    learned = PersonModelWritten(person=person, name=person, text=text, since=since)
    await journal.append(FIRST, learned, key=f"{person}@{since}")


async def passes(journal: Journal, places: KnownChannels) -> int:
    """Return how often other tasks ran meanwhile."""
    task, turns = asyncio.create_task(places.update()), 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    await task
    return turns


async def test_others_go_on_while_it_is_folded_and_then_there_is_little_left(journal: Watched) -> None:
    places = KnownChannels(journal)
    assert await passes(journal, places) > 3
    assert await passes(journal, places) <= 2, "there is nothing left to fold"
    channel = places.channel_of("sess-7")
    assert channel
    assert channel.audience == "shared"


async def test_whoever_asks_in_between_is_told_from_the_whole(journal: Watched) -> None:
    places = KnownChannels(journal)
    folding = asyncio.create_task(places.update())
    await journal.read.wait()
    assert not folding.done()
    channel = places.channel_of(FIRST)
    assert channel
    assert channel.audience == "shared", "who can read it now, not who could then"
    await folding
    assert channel.audiences == ["public", "shared"], "and nothing was folded twice"


async def test_where_something_is_forgotten_in_between_it_begins_anew(journal: Watched) -> None:
    learned = Learned(journal)
    folding = asyncio.create_task(learned.update())
    await journal.read.wait()
    journal.erasures += 1  # as after erasure
    await asyncio.gather(folding, learned.update())
    assert learned.texts == ["likes tea", *["reads"] * (8 * FOLD_PIECE - 2), "likes coffee"]


@SOAK
async def test_a_burst_far_behind_looks_beside_the_loop_once_and_one_that_is_near_not_at_all(
    journal: Watched,
) -> None:
    places = KnownChannels(journal)
    await asyncio.gather(*(places.update() for _ in range(50)))
    assert journal.opened == 0
    await asyncio.gather(
        *(_learn(journal, f"U{number}", "runs") for number in range(KnownChannels.far_behind + 1))
    )
    places = KnownChannels(journal)
    await asyncio.gather(*(places.update() for _ in range(50)))
    assert journal.opened == 1
    assert await passes(journal, places) <= 2


async def test_what_a_former_run_wrote_is_folded_though_only_something_else_was_written_since(
    tmp_path: Path,
) -> None:
    path = tmp_path / "another.db"
    async with Journal(path, FakeClock(), SOUL_KINDS) as journal:
        await _open(journal, 0)
    async with Journal(path, FakeClock(), SOUL_KINDS) as journal:
        assert journal.last_seq_of_all() == 1
        await _learn(journal, ALICE, "likes tea")
        assert journal.last_seq_of_all() == 2
        places = KnownChannels(journal)
        await places.update()
        assert places.channel_of(FIRST)
        await _open(journal, 1)
        await places.update()
        assert places.channel_of("sess-1")


async def test_what_another_daemon_wrote_is_folded_also_where_something_else_came_after_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "another.db"
    async with Journal(path, FakeClock(), SOUL_KINDS) as journal:
        await _open(journal, 0)
        places = KnownChannels(journal)
        await places.update()
        (tmp_path / "another.db.lock").unlink()  # a lock that failed
        async with Journal(path, FakeClock(), SOUL_KINDS) as other:
            await _open(other, 1)
            await places.update()
            assert places.channel_of("sess-1")
            await _open(other, 2)
        await _learn(journal, ALICE, "likes tea")
        await places.update()
        assert places.channel_of("sess-2")

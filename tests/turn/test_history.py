"""Histories of threads, resumed or folded from the start."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal
from daemon.kinds import (
    SOUL_KINDS,
    ContextCleared,
    MoodChanged,
    OverheardMessage,
    SoulTurnBegan,
    SoulTurnEnded,
)
from daemon.turn.history import ENTRIES_PER_PIECE, ThreadHistories, ThreadHistory
from daemon.turn.prompt_files import draw_tag_suffix
from tests.clock import FakeClock
from tests.turn.spending import called

E = TypeVar("E", bound=Event)
THREAD = "sess-00000001"


class Life:
    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    async def write(self, event: E, cause: int | None = None) -> Entry[E]:
        key = f"{event.kind}:{self.journal.last_seq_of_all()}"
        entry, _ = await self.journal.append(THREAD, event, key=key, cause=cause)
        return entry

    async def begin(self) -> Entry[SoulTurnBegan]:
        key = f"{THREAD}@{self.journal.last_seq_of_all()}"
        return await self.write(SoulTurnBegan(execution=key, inputs=(), process="conversation", texts=""))

    async def hear(self, text: str) -> Entry[OverheardMessage]:
        return await self.write(OverheardMessage(user="U2", name="Bob", text=text, ts="1"))

    async def think(self, text: str) -> int:
        return (await self.write(called(text=text))).seq

    async def turn(self, *texts: str, process: str = "conversation", keep: bool = True) -> list[int]:
        heard = [
            entry.seq
            for entry in ThreadHistories(self.journal)
            .history_of(THREAD, self.journal.last_seq_of_all() + 1)
            .overheard
        ]
        began = await self.begin()
        said = [await self.think(text) for text in texts]
        kept = [*heard, *said] if keep else []
        params = {"turn": began.seq}
        ended = SoulTurnEnded(outcome="completed", keep=tuple(kept), process=process, params=params)
        await self.write(ended, began.seq)
        return kept

    async def clear(self, last: int, *texts: str) -> list[int]:
        began = await self.begin()
        kept = [await self.think(text) for text in texts]
        cleared = await self.write(ContextCleared(text="", last=last, kept=1))
        kept.append(cleared.seq)
        await self.write(SoulTurnEnded(outcome="completed", keep=tuple(kept)), began.seq)
        return kept

    async def sum_up(self, last: int) -> int:
        return (await self.write(ContextCleared(text="summed up", last=last))).seq


@pytest.fixture
async def life(tmp_path: Path) -> AsyncIterator[Life]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        yield Life(journal)


def now(life: Life, pasts: ThreadHistories) -> ThreadHistory:
    return pasts.history_of(THREAD, life.journal.last_seq_of_all() + 1)


def seqs(past: ThreadHistory) -> Sequence[int | None]:
    return [memory.seq for memory in past.kept]


async def test_what_a_turn_has_taken_is_heard_no_more(life: Life) -> None:
    await life.hear("one")
    await life.turn("a")
    await life.hear("two")
    past = ThreadHistories(life.journal).history_of(THREAD, life.journal.last_seq_of_all() + 1)
    assert [entry.event.text for entry in past.overheard] == ["two"]


async def test_a_past_is_folded_on_from_where_it_was_read_before(life: Life) -> None:
    pasts, first = ThreadHistories(life.journal), await life.turn("one")
    assert seqs(now(life, pasts)) == first
    assert seqs(now(life, pasts)) == first
    second = await life.turn("two", "three", process="greeting")
    assert seqs(now(life, pasts)) == first + second
    assert now(life, pasts).process == "greeting"


async def test_what_was_heard_is_taken_by_the_next_turn_that_keeps_anything(life: Life) -> None:
    pasts = ThreadHistories(life.journal)
    heard = await life.hear("one")
    assert list(now(life, pasts).overheard) == [heard]
    await life.turn(keep=False)
    assert list(now(life, pasts).overheard) == [heard]
    await life.turn("two")
    assert list(now(life, pasts).overheard) == []


async def test_what_was_heard_while_a_turn_ran_is_for_the_next_one(life: Life) -> None:
    pasts = ThreadHistories(life.journal)
    began = await life.begin()
    heard = await life.hear("meanwhile")
    assert list(now(life, pasts).overheard) == [heard]
    said = await life.think("yes")
    await life.write(SoulTurnEnded(outcome="completed", keep=(said,)), began.seq)
    assert list(now(life, pasts).overheard) == [heard]


async def test_answers_are_shown_with_the_suffix_as_of_the_seq(life: Life) -> None:
    pasts = ThreadHistories(life.journal)
    answer = called(name="pipeline", text="<aside>Hm.</aside><say>Yes.</say>")
    began = await life.begin()
    said = await life.write(answer)
    await life.write(SoulTurnEnded(outcome="completed", keep=(said.seq,)), began.seq)
    before = life.journal.last_seq_of_all() + 1
    bare, marked = "<aside>Hm.</aside><say>Yes.</say>", "<aside-{0}>Hm.</aside-{0}><say-{0}>Yes.</say-{0}>"
    assert [memory.content for memory in now(life, pasts).kept] == [bare]
    await draw_tag_suffix(life.journal)
    await draw_tag_suffix(life.journal)
    drawn = pasts.suffix.suffix_at(life.journal.last_seq_of_all() + 1)
    assert re.fullmatch("[a-z][0-9]", drawn)
    assert [memory.content for memory in now(life, pasts).kept] == [marked.format(drawn)]
    assert [memory.content for memory in pasts.history_of(THREAD, before).kept] == [bare]


async def test_an_earlier_seq_is_read_as_it_was_then(life: Life) -> None:
    pasts, first = ThreadHistories(life.journal), await life.turn("one")
    await life.write(MoodChanged(mood="calm"))
    before = life.journal.last_seq_of_all() + 1
    await life.turn("two", process="greeting")
    await life.write(MoodChanged(mood="cross"))
    assert now(life, pasts).mood == "cross"
    then = pasts.history_of(THREAD, before)
    assert (seqs(then), then.mood, then.process) == (first, "calm", "conversation")
    assert now(life, pasts) == now(life, ThreadHistories(life.journal))


@pytest.mark.parametrize("before", [True, False], ids=["folded on", "from the beginning"])
async def test_a_summary_stands_for_what_was_kept_before_it(life: Life, before: bool) -> None:
    pasts, kept = ThreadHistories(life.journal), [*await life.turn("one", "two"), *await life.turn("three")]
    if before:
        assert seqs(now(life, pasts)) == kept
    summary = await life.sum_up(kept[1])
    assert seqs(now(life, pasts)) == [summary, kept[2]]
    assert now(life, pasts).kept[0].content == "<context-cleared>\nsummed up\n</context-cleared>"
    assert seqs(pasts.history_of(THREAD, summary)) == kept, "as it was then"
    later = await life.turn("four")
    assert seqs(now(life, pasts)) == [summary, kept[2], *later]
    again = await life.sum_up(kept[2])
    assert seqs(now(life, pasts)) == [again, *later]


async def test_a_summary_of_what_was_summed_up_before_changes_nothing(life: Life) -> None:
    pasts, kept = ThreadHistories(life.journal), await life.turn("one", "two", "three")
    first = await life.sum_up(kept[1])
    await life.sum_up(kept[0])
    assert seqs(now(life, pasts)) == [first, kept[2]]


@pytest.mark.parametrize("before", [True, False], ids=["folded on", "from the beginning"])
async def test_a_clearing_that_its_own_turn_keeps_stands_once_and_goes_with_the_next_one(
    life: Life, before: bool
) -> None:
    pasts, first = ThreadHistories(life.journal), await life.turn("one", "two")
    three, cleared = await life.clear(first[0], "three")
    if before:
        assert seqs(now(life, pasts)) == [cleared, first[1], three]
    four, again = await life.clear(first[1], "four")
    assert seqs(now(life, pasts)) == [again, three, four]


async def test_what_another_daemon_wrote_in_between_is_seen(life: Life, tmp_path: Path) -> None:
    pasts, mine = ThreadHistories(life.journal), await life.turn("mine")
    assert seqs(now(life, pasts)) == mine
    (tmp_path / "journal.db.lock").unlink()  # as in the crash harness: a lock that failed
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as other:
        theirs = await Life(other).turn("theirs", process="greeting")
    assert seqs(now(life, pasts)) == mine + theirs
    assert now(life, pasts).process == "greeting"


class Counting(Journal):
    asked = 0

    def entries_at(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        self.asked += len(seqs)
        return super().entries_at(seqs)


async def test_what_was_read_before_is_not_read_again_unless_it_was_too_much_to_keep(tmp_path: Path) -> None:
    async with (journal := Counting(tmp_path / "journal.db", FakeClock(), SOUL_KINDS)):
        life, pasts = Life(journal), ThreadHistories(journal, most=4)
        kept = await life.turn("one", "two")
        for asked in (2, 0):
            journal.asked = 0
            assert seqs(now(life, pasts)) == kept
            assert journal.asked == asked
        pasts.history_of("sess-00000002", journal.last_seq_of_all() + 1)
        kept += await life.turn("three", "four")
        for asked in (2, 4, 4):
            journal.asked = 0
            assert seqs(now(life, pasts)) == kept
            assert journal.asked == asked


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_happens_a_fold_from_the_beginning_gives_the_same(life: Life, seed: int) -> None:
    dice, pasts = random.Random(seed), ThreadHistories(life.journal, most=20)
    for step in range(40):
        match dice.randrange(6):
            case 0:
                await life.hear(f"heard {step}")
            case 1:
                await life.write(MoodChanged(mood=f"mood {step}"))
            case 2 if kept := seqs(now(life, pasts)):
                await life.sum_up(dice.choice(kept) or 0)
            case 3 if kept := seqs(now(life, pasts)):
                await life.clear(dice.choice(kept) or 0, f"said {step}")
            case _:
                await life.turn(f"said {step}", process=f"p{step}", keep=dice.random() < 0.8)
        before = life.journal.last_seq_of_all() + 1 - dice.choice([0, 0, 0, 3])
        assert pasts.history_of(THREAD, before) == ThreadHistories(life.journal).history_of(THREAD, before)


async def test_a_long_past_is_folded_in_pieces_and_is_the_same(life: Life) -> None:
    for number in range(ENTRIES_PER_PIECE):
        await life.turn(f"said {number}")
        await life.write(MoodChanged(mood=f"mood {number}"))
    await life.hear("last")
    before = life.journal.last_seq_of_all() + 1
    pasts, turns = ThreadHistories(life.journal), 0
    folding = asyncio.create_task(pasts.preload(THREAD, before))
    while not folding.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 3, "others go on meanwhile"
    assert pasts.history_of(THREAD, before) == ThreadHistories(life.journal, most=0).history_of(
        THREAD, before
    )
    assert len(pasts.history_of(THREAD, before).kept) == ENTRIES_PER_PIECE


async def test_what_is_forgotten_while_a_past_is_folded_is_in_no_part_of_it(life: Life) -> None:
    first, *_ = await life.turn(*(f"said {number}" for number in range(2 * ENTRIES_PER_PIECE)))
    before, pasts = life.journal.last_seq_of_all() + 1, ThreadHistories(life.journal)
    folding = pasts._pieces(THREAD, before)
    next(folding)
    await life.journal.forget([first], thread="t", key="forget", why="asked")
    pasts.history_of("sess-00000002", before)
    list(folding)
    assert "said 0" not in str(pasts.history_of(THREAD, before))

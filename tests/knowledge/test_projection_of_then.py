"""Folds as of any entry: resumed, partial, without damaged entries."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import FOLD_PIECE, Journal, Projection
from daemon.kinds import SOUL_KINDS, MemoryNote, MoodChanged
from tests.clock import FakeClock


class Noted(Projection):
    kinds: ClassVar[tuple[type[Event], ...]] = (MemoryNote,)
    taken = 0

    def _reset(self) -> None:
        self.texts: list[str] = []

    def _fold_entry(self, entry: Entry[Any]) -> None:
        self.taken += 1
        self.texts.append(entry.event.text)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        yield journal


async def note(journal: Journal, text: str) -> int:
    entry, _ = await journal.append("thread", MemoryNote(text=text), key=f"note:{text}")
    return entry.seq


async def test_it_goes_on_and_back(journal: Journal) -> None:
    fold = Noted(journal)
    await fold.update()
    first, second = await note(journal, "one"), await note(journal, "two")
    await fold.update(second)
    assert (fold.texts, fold.folded) == (["one"], first)
    await fold.update()
    await fold.update()
    assert (fold.texts, fold.taken) == (["one", "two"], 2)
    await fold.update(second + 1)
    assert (fold.texts, fold.taken) == (["one", "two"], 2)  # no way back
    await fold.update(second)
    assert (fold.texts, fold.taken) == (["one"], 3)
    await fold.update(first)
    assert fold.texts == []
    await note(journal, "three")
    await fold.update()
    assert fold.texts == ["one", "two", "three"]


async def test_what_comes_after_much_else_is_found(journal: Journal) -> None:
    fold = Noted(journal)
    await note(journal, "one")
    await fold.update()
    moods = (journal.append("thread", MoodChanged(mood="calm"), key=f"mood:{n}") for n in range(300))
    await asyncio.gather(*moods)
    await fold.update()
    last = await note(journal, "two")
    await fold.update(last)
    assert fold.texts == ["one"]
    await fold.update()
    assert fold.texts == ["one", "two"]


async def test_much_is_folded_in_parts(journal: Journal) -> None:
    await asyncio.gather(*(note(journal, str(n)) for n in range(FOLD_PIECE * 2 + 1)))
    fold, seen = Noted(journal), list[int]()

    async def look() -> None:
        while len(fold.texts) <= FOLD_PIECE * 2:
            seen.append(len(fold.texts))
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        group.create_task(fold.update())
        group.create_task(fold.update())
    assert {FOLD_PIECE, FOLD_PIECE * 2} <= {*seen}
    assert fold.taken == FOLD_PIECE * 2 + 1  # two concurrent requests fold once


async def test_what_is_damaged_is_left_out(journal: Journal, tmp_path: Path) -> None:
    seqs = [await note(journal, text) for text in ("one", "two", "three")]
    with closing(sqlite3.connect(tmp_path / "journal.db")) as file, file:
        file.execute("update entry set body = '{' where seq = ?", (seqs[1],))
    fold = Noted(journal)
    await fold.update()
    assert fold.texts == ["one", "three"]
    assert journal.damage


async def test_what_was_forgotten_is_read_anew(journal: Journal) -> None:
    fold = Noted(journal)
    seq = await note(journal, "a secret")
    await fold.update()
    assert fold.texts == ["a secret"]
    await journal.forget([seq], thread="soul", key="wish", why="somebody wants it")
    await fold.update()
    assert fold.texts == [""]

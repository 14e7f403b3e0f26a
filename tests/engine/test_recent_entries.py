"""The cache of recent entries, equal to the file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.engine.event import Event
from daemon.engine.journal.journal import MOST_RECENT_ENTRIES, Journal
from daemon.engine.kinds import AnswerAwaited, Intent, Outcome, QuestionWithdrawn, ThreadOpened
from tests.clock import FakeClock
from tests.engine.scenario import Pressed, Said


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(tmp_path / "journal.db", FakeClock(), [Said, Pressed]) as journal:
        yield journal


async def fill(journal: Journal) -> None:
    await journal.open_with("thread:T:C:1", ThreadOpened(), Said(text="a"), first_key="a", author="U")
    asked = [await journal.append("t", AnswerAwaited(), key=f"asked:{n}") for n in range(2)]
    seqs = [entry.seq for entry, _ in asked]
    await journal.append("t", QuestionWithdrawn(), key="first", closes=seqs[:1])
    await journal.append("t", QuestionWithdrawn(), key="both", moot=seqs)
    intent = journal.submit(journal.make_draft("t", Intent(name="look"), key="t@1/look#1"))
    done = journal.make_draft("t", Outcome(result=[1, 2]), key="t@1/look#1!done")
    await asyncio.gather(intent, journal.submit(done, after="t@1/look#1", receipt_of="t@1/look#1"))


async def test_whatever_one_asks_for_is_as_it_stands_in_the_file(journal: Journal) -> None:
    await fill(journal)
    for since in range(1 + journal.last_seq_of_all()):
        assert journal.entries_of_kind(Event, since=since) == journal.entries_between(
            since, journal.last_seq_of_all(), Event
        )
    late = journal.entries_of_kind(Event, since=3)[-1]
    assert journal.entries_of_kind(Outcome) == [late]
    assert journal.entries_of_kind(Event, at=late.at + 1) == []


async def test_what_came_before_it_is_asked_of_the_file(journal: Journal) -> None:
    said = [journal.append("t", Said(text="a"), key=f"said:{n}") for n in range(MOST_RECENT_ENTRIES + 2)]
    await asyncio.gather(*said)
    for since in range(4):
        assert len(journal.entries_of_kind(Said, since=since)) == MOST_RECENT_ENTRIES + 2 - since


async def test_what_a_program_changes_of_it_nobody_else_is_told(journal: Journal) -> None:
    mine, _ = await journal.append("t", Outcome(result=[1, 2]), key="t@1/look#1!done")
    mine.event.result.append(3)
    journal.entries_of_kind(Outcome)[0].event.result.append(4)
    assert [one.event.result for one in journal.entries_of_kind(Outcome, since=mine.seq - 1)] == [[1, 2]]


async def test_what_another_daemon_writes_is_seen(journal: Journal, tmp_path: Path) -> None:
    await fill(journal)
    since = journal.last_seq_of_all()
    (tmp_path / "journal.db.lock").unlink()  # a lock that failed
    async with Journal(tmp_path / "journal.db", FakeClock(), [Said, Pressed]) as other:
        theirs, _ = await other.append("t", Said(text="theirs"), key="theirs")
    assert journal.entries_of_kind(Said, since=since - 1) == [theirs]
    ours, _ = await journal.append("t", Said(text="ours"), key="ours")
    assert journal.entries_of_kind(Said, since=since - 1) == [theirs, ours]

"""The journal on its own: its lock, its writer, its ids, its order."""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import Connection

from daemon.errors import Fenced, JournalError, JournalHeld
from daemon.journal.journal import Journal
from daemon.journal.writer import Append, Result, Writer
from tests.attention import PATIENCE
from tests.clock import FakeClock


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(tmp_path / "journal.db", FakeClock()) as journal:
        yield journal


async def test_a_key_is_there_once_and_gives_the_first_entry(journal: Journal) -> None:
    first, new = await journal.append("t", "note", {"n": 1}, key="k")
    again, second = await journal.append("t", "note", {"n": 2}, key="k")
    assert (new, second) == (True, False)
    assert again == first


async def test_debts_are_open_until_somebody_pays(journal: Journal) -> None:
    debt, _ = await journal.append("t", "perception", {}, key="p")
    assert journal.open("perception", thread="t") == [debt]
    assert journal.is_open(debt.seq)
    await journal.append("t", "turn-ended", {}, key="e", closes=[debt.seq])
    assert journal.open("perception") == []


async def test_a_later_attempt_fences_the_former(journal: Journal) -> None:
    first, _ = await journal.append("t", "turn-began", {}, key="one")
    fence = ("t", first.seq)
    await journal.append("t", "note", {}, key="a", fence=fence)
    await journal.append("t", "turn-resumed", {}, key="two")
    assert not journal.held(*fence)
    with pytest.raises(Fenced):
        await journal.append("t", "note", {}, key="b", fence=fence)
    assert journal.get("b") is None


async def test_a_body_that_is_no_json_fails_alone_and_in_the_caller(journal: Journal) -> None:
    good = asyncio.gather(*(journal.append("t", "note", {}, key=f"k{n}") for n in range(20)))
    for body in ({"at": float("nan")}, {"at": object()}):
        with pytest.raises((TypeError, ValueError)):
            await journal.append("t", "note", body, key="bad")
    assert len(await good) == 20


async def test_a_row_that_the_database_refuses_fails_alone(journal: Journal) -> None:
    too_large = 2**70
    appends = [journal.append("t", "note", {}, key=f"k{n}", cause=too_large * (n == 5)) for n in range(10)]
    results = await asyncio.gather(*appends, return_exceptions=True)
    assert [isinstance(result, JournalError) for result in results] == [n == 5 for n in range(10)]


class MortalWriter(Writer):
    """A writer with a fault that nobody thought of."""

    def commit(self, connection: Connection, batch: Sequence[Append]) -> list[Result]:
        if any(append.row["key"] == "fatal" for append in batch):
            raise LookupError("a fault in the writer itself")
        return super().commit(connection, batch)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_writer_that_dies_says_so_to_everyone(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), MortalWriter) as journal:
        await journal.append("t", "note", {}, key="fine")
        with pytest.raises(JournalError, match="died"):
            await journal.append("t", "note", {}, key="fatal")
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(JournalError):
                await journal.died
            with pytest.raises(JournalError, match="died"):
                await journal.append("t", "note", {}, key="late")


async def test_appends_are_committed_in_the_order_in_which_they_came(journal: Journal) -> None:
    appended = await asyncio.gather(*(journal.append("t", "note", {}, key=f"k{n}") for n in range(600)))
    assert [entry.seq for entry, _ in appended] == sorted(entry.seq for entry, _ in appended)


async def test_two_conversations_never_share_an_id(journal: Journal) -> None:
    key = "thread:T:C:1.0"
    digits = hashlib.sha256(key.encode()).hexdigest()
    await journal.append(f"sess-{digits[:8]}", "thread", {}, key="thread:T:C:another")
    opened, _ = await journal.thread(key, {})
    assert opened.thread == f"sess-{digits[:9]}"
    assert (await journal.thread(key, {}))[0] == opened


async def test_followers_see_every_entry_once_and_in_order(journal: Journal) -> None:
    async def follow() -> list[int]:
        seen: list[int] = []
        async for entries in journal.follow(0):
            seen += [entry.seq for entry in entries]
            if len(seen) == 50:
                break
        return seen

    following = asyncio.create_task(follow())
    await asyncio.gather(*(journal.append("t", "note", {}, key=f"k{n}") for n in range(50)))
    async with asyncio.timeout(PATIENCE):
        assert await following == list(range(1, 51))


def hold(path: Path, out: multiprocessing.Queue[str]) -> None:
    """Try to open a journal, in another process."""

    async def opened() -> str:
        try:
            async with Journal(path, FakeClock()):
                return "opened"
        except JournalHeld as held:
            return str(held)

    out.put(asyncio.run(opened()))


async def test_a_second_daemon_is_refused_before_it_connects(tmp_path: Path, journal: Journal) -> None:
    context = multiprocessing.get_context("spawn")
    said: multiprocessing.Queue[str] = context.Queue()
    path = tmp_path / "journal.db"
    before = path.stat().st_mtime_ns
    other = context.Process(target=hold, args=(path, said))
    other.start()
    answer = await asyncio.to_thread(said.get, True, 20)
    other.join()
    assert "Another daemon" in answer
    assert "SOUL_HOME" in answer
    assert path.stat().st_mtime_ns == before


async def test_what_is_no_journal_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_text("this is a diary, not a database" * 100)
    with pytest.raises(JournalError, match="cannot be opened as a journal"):
        async with Journal(path, FakeClock()):
            pass

"""The journal's index: kept, resumed, and rebuilt if suspect."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import ALWAYS
from daemon.engine.journal.writer import JournalWriter
from daemon.kinds import SOUL_KINDS, IncomingMessage
from daemon.knowledge.search import HITS, PATIENCE, SAID, SPAN, FullTextIndex, IndexPart, MessageSearch
from daemon.knowledge.visibility import KnownChannels
from tests.attention import until
from tests.clock import FakeClock
from tests.knowledge.office import Office

SECRET = "marzipan"
NAME = "journal.index.db"


@asynccontextmanager
async def office_in(home: Path, writer: type[JournalWriter] = JournalWriter) -> AsyncIterator[Office]:
    async with Journal(home / "journal.db", FakeClock(), SOUL_KINDS, writer) as journal:
        office = Office(journal)
        office._ts = journal.last_seq_of_all()  # later than all earlier messages
        yield office


@contextmanager
def looking(office: Office, part: IndexPart = SAID, patience: float = PATIENCE) -> Iterator[MessageSearch]:
    with FullTextIndex(office.journal, [part], patience) as index:
        yield MessageSearch(office.journal, KnownChannels(office.journal), index)


async def found(memories: MessageSearch, thread: str, query: str = "cake") -> list[str]:
    return sorted(said.text for said in await memories.search(query, thread, ALWAYS))


async def baked(home: Path, cakes: int = 3) -> str:
    """Write a journal about cakes with its index; return the thread."""
    async with office_in(home) as office:
        thread = await office.open("C1")
        for number in range(cakes):
            await office.say(thread, "Ann", f"cake {number}")
        with looking(office) as memories:
            assert len(await found(memories, thread)) == min(cakes, HITS)
    return thread


def change(home: Path, statement: str) -> None:
    with closing(sqlite3.connect(home / NAME)) as db, db:
        db.execute(statement)


def files(home: Path) -> set[str]:
    return {path.name for path in home.iterdir()}


def modes(home: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in home.glob(f"{NAME}*")}


def files_with(home: Path, secret: str) -> list[str]:
    return [path.name for path in home.iterdir() if secret.encode() in path.read_bytes()]


async def test_it_is_kept_and_goes_on_where_it_was(tmp_path: Path) -> None:
    thread = await baked(tmp_path)
    assert files(tmp_path) == {"journal.db", "journal.db.lock", NAME}
    change(tmp_path, "delete from line where seq = 2")  # already indexed, so not read again
    async with office_in(tmp_path) as office:
        await office.say(thread, "Ann", "cake 4")
        with looking(office) as memories:
            assert await found(memories, thread) == ["cake 1", "cake 2", "cake 4"]
            assert modes(tmp_path) == {0o600}
            await office.say(thread, "Ann", "cake 5")
            assert await found(memories, thread) == ["cake 1", "cake 2", "cake 4", "cake 5"]


async def test_it_may_be_deleted_at_any_time(tmp_path: Path) -> None:
    thread = await baked(tmp_path)
    (tmp_path / NAME).unlink()
    async with office_in(tmp_path) as office:
        with looking(office) as memories:
            assert len(await found(memories, thread)) == 3
            (tmp_path / NAME).unlink()
            (tmp_path / f"{NAME}-wal").unlink()
            await office.say(thread, "Ann", "cake 4")
            assert len(await found(memories, thread)) == 4
        with looking(office) as memories:
            assert len(await found(memories, thread)) == 4


async def test_it_is_made_from_the_start_on_though_nobody_asks(tmp_path: Path) -> None:
    thread = await baked(tmp_path)
    (tmp_path / NAME).unlink()
    async with office_in(tmp_path) as office:
        index = FullTextIndex(office.journal, [SAID])
        with index:
            await index.run_in_thread(lambda: None)  # earlier work is done by then
        change(tmp_path, "delete from line where seq = 2")
        with looking(office) as memories:
            assert await found(memories, thread) == ["cake 1", "cake 2"]


async def test_a_kill_leaves_what_was_in_it(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    async with office_in(tmp_path) as office:
        thread = await office.open("C1")
        for number in range(3):
            await office.say(thread, "Ann", f"cake {number}")
        with looking(office) as memories:
            assert len(await found(memories, thread)) == 3
            for name in files(tmp_path) - {"copy"}:  # copied without an orderly close
                shutil.copy(tmp_path / name, copy)
    assert f"{NAME}-wal" in files(copy)
    change(copy, "delete from line where seq = 2")
    async with office_in(copy) as office:
        await office.say(thread, "Ann", "cake 3")
        with looking(office) as memories:
            assert await found(memories, thread) == ["cake 1", "cake 2", "cake 3"]


def other_journal(home: Path) -> None:
    """Replace the journal with another of equal length."""
    for name in ("journal.db", "journal.db.lock"):
        shutil.copy(home / "other" / name, home / name)


def older_journal(home: Path) -> None:
    """Restore an older copy of the journal."""
    with closing(sqlite3.connect(home / "journal.db")) as db, db:
        db.execute("delete from entry where seq = 4")


def garbage(home: Path) -> None:
    (home / NAME).write_bytes(b"no database at all " * 1_000)


def torn(home: Path) -> None:
    """Cut the file in half."""
    whole = (home / NAME).read_bytes()
    (home / NAME).write_bytes(whole[: len(whole) // 2])


def scratched(home: Path) -> None:
    """Overwrite all pages but the first."""
    whole = (home / NAME).read_bytes()
    (home / NAME).write_bytes(whole[:4096] + b"\x05" * (len(whole) - 4096))


def emptied(home: Path) -> None:
    (home / NAME).write_bytes(b"")


def older_version(home: Path) -> None:
    change(home, "update mark set version = 'older'")


def unmarked(home: Path) -> None:
    change(home, "delete from mark")


WRONG: list[Callable[[Path], None]] = [
    *(other_journal, older_journal, garbage, torn, scratched, emptied, older_version, unmarked)
]


@pytest.mark.parametrize("spoil", WRONG)
async def test_where_it_may_be_wrong_it_is_made_anew(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    (tmp_path / "other").mkdir()
    async with office_in(tmp_path / "other") as office:
        thread = await office.open("C1")
        for number in (7, 8, 9):
            await office.say(thread, "Ann", f"cake {number}")
    await baked(tmp_path)
    change(tmp_path, "delete from line where seq = 2")
    spoil(tmp_path)
    async with office_in(tmp_path) as office:
        [last] = office.journal.entries_at([office.journal.last_seq_of_all()])
        said = [entry.event.text for entry in office.journal.entries_of_kind(IncomingMessage)]
        for _ in range(2):
            with looking(office) as memories:
                assert await found(memories, last.thread) == said
        assert NAME in files(tmp_path)


async def test_damage_that_shows_while_it_is_open_fails_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    thread = await baked(tmp_path, 400)
    async with office_in(tmp_path) as office:
        with FullTextIndex(office.journal, [SAID]) as index:
            assert await index.update()
            with (tmp_path / NAME).open("r+b") as file:
                file.seek(4096)
                file.write(b"\x05" * ((tmp_path / NAME).stat().st_size - 4096))
            with caplog.at_level(logging.WARNING):
                memories = MessageSearch(office.journal, KnownChannels(office.journal), index)
                assert len(await found(memories, thread)) == HITS
    assert len(caplog.records) == 1
    assert "rebuilding it" in caplog.text


async def test_who_has_it_open_keeps_it_and_all_is_found_from_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    thread = await baked(tmp_path)
    async with office_in(tmp_path) as office:
        with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as somebody:
            somebody.execute("begin immediate")
            with looking(office) as memories, caplog.at_level(logging.WARNING):
                assert len(await found(memories, thread)) == 3
            assert somebody.execute("select count(*) from line").fetchone() == (3,)
    assert "in memory" in caplog.text


@pytest.mark.parametrize("full", [False, True])
async def test_where_there_is_no_place_for_it_it_is_kept_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, full: bool
) -> None:
    thread = await baked(tmp_path)
    (tmp_path / NAME).unlink()
    part = SAID
    if full:
        part = replace(SAID, schema=f"pragma max_page_count = 12; {SAID.schema}", fold=_unless_full)
    else:
        (tmp_path / NAME).mkdir()
    async with office_in(tmp_path) as office:
        with looking(office, part) as memories, caplog.at_level(logging.WARNING):
            assert len(await found(memories, thread)) == 3
            await office.say(thread, "Ann", "cake 4")
            assert len(await found(memories, thread)) == 4
    assert len(caplog.records) == 2
    assert "in memory" in caplog.records[1].message


def _unless_full(database: sqlite3.Connection, *entry: Any) -> None:
    """Fail like a full disk, if the database is a file."""
    [(_, _, file)] = database.execute("pragma database_list")
    if file:
        raise sqlite3.OperationalError("database or disk is full")
    SAID.fold(database, *entry)


async def test_a_wrong_question_is_no_damage(tmp_path: Path) -> None:
    await baked(tmp_path)
    async with office_in(tmp_path) as office:
        with FullTextIndex(office.journal, [SAID]) as index:
            with pytest.raises(sqlite3.OperationalError):
                await index.rows("select nonsense", {})
            assert await index.rows("select count(*) from line", {}) == [(3,)]


async def test_who_waits_too_long_searches_what_is_there_and_is_told(tmp_path: Path) -> None:
    thread = await baked(tmp_path)
    go_on = threading.Event()

    def slow(*entry: Any) -> None:
        if "plum" in str(entry):
            go_on.wait()
        SAID.fold(*entry)

    async with office_in(tmp_path) as office:
        for number in range(SPAN):
            await office.say(thread, "Ann", f"pie {number}")
        await office.say(thread, "Ann", "plum cake")
        with looking(office, replace(SAID, fold=slow), patience=0.0) as memories:
            searching = asyncio.create_task(found(memories, thread))
            await until(lambda: memories.is_behind)
            go_on.set()
            assert await searching == ["cake 0", "cake 1", "cake 2"]
        with looking(office) as memories:
            assert "plum cake" in await found(memories, thread)
            assert not memories.is_behind


# Forgotten text


async def test_no_byte_of_what_is_forgotten_is_left_in_it(tmp_path: Path) -> None:
    async with office_in(tmp_path) as office:
        thread = await office.open("C1")
        said = await office.say(thread, "Ann", f"{SECRET} cake")
        await office.say(thread, "Ann", "plum cake")
        with looking(office) as memories:
            assert len(await found(memories, thread)) == 2
            assert f"{NAME}-wal" in files_with(tmp_path, SECRET)
            await office.journal.forget([said.seq], thread="soul", key="wish", why="Ann wants it")
            assert files_with(tmp_path, SECRET) == []
            assert await found(memories, thread, f"{SECRET} cake") == ["plum cake"]
            assert NAME in files(tmp_path), "it is made anew"
            assert files_with(tmp_path, SECRET) == []
        assert files_with(tmp_path, SECRET) == []


async def test_what_was_read_before_it_was_forgotten_is_written_nowhere(tmp_path: Path) -> None:
    reading, go_on = threading.Event(), threading.Event()

    def slow(*entry: Any) -> None:
        if SECRET in str(entry):
            reading.set()
            go_on.wait()
        SAID.fold(*entry)

    async with office_in(tmp_path) as office:
        thread = await office.open("C1")
        said = await office.say(thread, "Ann", f"{SECRET} cake")
        with looking(office, replace(SAID, fold=slow)) as memories:
            searching = asyncio.create_task(found(memories, thread))
            await asyncio.to_thread(reading.wait)
            await office.journal.forget([said.seq], thread="soul", key="wish", why="Ann wants it")
            go_on.set()
            assert await searching == []
            assert files_with(tmp_path, SECRET) == []
            await office.say(thread, "Ann", "plum cake")
            assert await found(memories, thread) == ["plum cake"]
        assert files_with(tmp_path, SECRET) == []


async def test_an_index_from_before_it_was_forgotten_is_not_looked_at(tmp_path: Path) -> None:
    async with office_in(tmp_path) as office:
        thread = await office.open("C1")
        said = await office.say(thread, "Ann", f"{SECRET} cake")
        await office.say(thread, "Ann", "plum cake")
        with looking(office) as memories:
            assert len(await found(memories, thread)) == 2
        shutil.copy(tmp_path / NAME, tmp_path / "copy")
        await office.journal.forget([said.seq], thread="soul", key="wish", why="Ann wants it")
        shutil.copy(tmp_path / "copy", tmp_path / NAME)
        (tmp_path / "copy").unlink()
        assert files_with(tmp_path, SECRET)
        with looking(office) as memories:
            assert await found(memories, thread) == ["plum cake"]
        assert files_with(tmp_path, SECRET) == []

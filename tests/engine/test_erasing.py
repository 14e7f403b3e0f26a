"""Erasure of forgotten text, with kills anywhere."""

from __future__ import annotations

import asyncio
import resource
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.event import FORGOTTEN_START, Entry
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.verify import verify
from daemon.engine.journal.writer import JournalWriter, WritableTables, WriterJob, blank_bodies
from daemon.engine.kinds import EntriesErased, EntriesForgotten, EntryMatch, StepResult, WaitBegan
from tests.clock import FakeClock
from tests.engine.scenario import Pressed, Said

KINDS = [Said, Pressed]
SECRET = "marzipan"
MANY = 450
"""More entries than one batch."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def filled(journal: Journal, many: int = MANY) -> list[Entry[Said]]:
    texts = [f"{number}: {SECRET} " * 20 for number in range(many)]
    appends = [
        journal.append("ann", Said(text=text), key=f"said:{number}") for number, text in enumerate(texts)
    ]
    return [entry for entry, _ in await asyncio.gather(*appends)]


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.glob("journal*"))


async def forget(journal: Journal, said: list[Entry[Said]]) -> None:
    seqs = [entry.seq for entry in said]
    await journal.forget(seqs, thread="soul", key="wish", why="Ann wants it", lets_go=seqs)


async def test_the_words_are_gone_and_all_else_stays(tmp_path: Path, clock: FakeClock) -> None:
    async with Journal(tmp_path / "journal.db", clock, KINDS) as journal:
        first, *others = await filled(journal)
        assert SECRET.encode() in bytes_of(tmp_path)
        await forget(journal, others)
        assert journal.entry(first.seq) == first
        for entry in others:
            left: Entry[Any] = journal.entry(entry.seq)
            assert left.event == Said(text="")
            same = ("seq", "thread", "author", "key", "cause", "closes", "at")
            assert [getattr(left, name) for name in same] == [getattr(entry, name) for name in same]
            assert left.forgotten
        assert [entry.event.text for entry in journal.entries_of_kind(Said, since=others[-3].seq)] == ["", ""]
        assert verify(journal).violations == []
        assert [entry.seq for entry in journal.pending_entries(Said)] == [first.seq], (
            "nobody goes on with the others"
        )
        await journal.forget([first.seq], thread="soul", key="another", why="Ann wants it")
        assert SECRET.encode() not in bytes_of(tmp_path)


async def test_what_comes_again_under_its_key_stays_forgotten(tmp_path: Path, clock: FakeClock) -> None:
    async with Journal(tmp_path / "journal.db", clock, KINDS) as journal:
        said = await filled(journal, 3)
        await forget(journal, said)
        again, new = await journal.append("ann", Said(text=SECRET), key="said:1")
        assert (new, again.event.text, again.seq) == (False, "", said[1].seq)
        assert SECRET.encode() not in bytes_of(tmp_path)


def copied(home: Path) -> Path:
    copy = home / "copy"
    copy.mkdir()
    for file in home.glob("journal*"):
        shutil.copy(file, copy)
    return copy


class Frail(JournalWriter):
    left = 0

    def _use(self) -> None:
        type(self).left -= 1
        if self.left < 0:
            raise sqlite3.OperationalError("the worker is killed")

    def work(self, work: WriterJob) -> Any:
        def do(store: WritableTables) -> None:
            self._use()
            work.do(store)
            self._use()

        return super().work(WriterJob(do=do, done=work.done))

    def _insert(self, append: Any) -> Any:
        self._use()
        return super()._insert(append)


@pytest.mark.parametrize("at", range(1, 13))
async def test_a_kill_at_any_commit_ends_forgotten(tmp_path: Path, clock: FakeClock, at: int) -> None:
    async with Journal(tmp_path / "journal.db", clock, KINDS) as journal:
        said = await filled(journal)
    Frail.left = at
    killed = False
    journal = Journal(tmp_path / "journal.db", clock, KINDS, Frail)
    async with journal:
        try:
            await forget(journal, said)
        except JournalError:
            killed = True
        copy = copied(tmp_path)  # the state at death, without an orderly close
    assert killed == (at < 12)
    async with Journal(copy / "journal.db", clock, KINDS) as journal:
        assert SECRET.encode() not in bytes_of(copy)
        assert {entry.event.text for entry in journal.entries_of_kind(Said)} == {""}
        assert verify(journal).violations == []
        assert not journal.pending_entries(Said)
    with open_reader(copy / "journal.db", KINDS) as read:
        assert [entry.kind for entry in read.all_entries()][MANY:] == ["forgotten", "erased"]


async def test_somebody_who_reads_it_as_it_was_holds_it_up_and_nothing_else(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with Journal(tmp_path / "journal.db", clock, KINDS) as journal:
        said = await filled(journal)
        await journal._writer.run_job(lambda store: store._db.execute("pragma busy_timeout = 50"))
        with open_reader(tmp_path / "journal.db", KINDS) as old:
            with pytest.raises(JournalError, match="reads"):
                await forget(journal, said)
            assert old.entry(said[0].seq).event.text, "as it was when it was opened"
            [left] = journal.pending_entries(EntriesForgotten)
            log = (tmp_path / "journal.db-wal").stat()
            for _ in range(3):
                with pytest.raises(JournalError, match="reads"):
                    await journal.erase(left)
            assert (tmp_path / "journal.db-wal").stat().st_size == log.st_size, "not all pages at each try"
        assert journal.entry(said[0].seq).event == Said(text="")
        await journal.erase(left)
        assert SECRET.encode() not in bytes_of(tmp_path)
        assert verify(journal).violations == []


@pytest.mark.parametrize("at", range(1, 13))
async def test_what_was_folded_of_it_beside_the_journal_is_gone_before_it_says_so(
    tmp_path: Path, clock: FakeClock, at: int
) -> None:
    async with Journal(tmp_path / "journal.db", clock, KINDS) as journal:
        said = await filled(journal)
    made = [
        journal.index_path.with_name(journal.index_path.name + end)
        for end in ("", "-wal", "-shm", "-journal")
    ]
    for path in made:
        path.write_text(SECRET)
    Frail.left = at
    async with Journal(tmp_path / "journal.db", clock, KINDS, Frail) as journal:
        with made[0].open("a") as kept, suppress(JournalError):
            await forget(journal, said)
            kept.write(SECRET)
        erased = journal.entries_of_kind(EntriesErased)
        assert bool(erased) == (at == 12)
        assert not erased or not any(path.exists() for path in made)
        copy = copied(tmp_path)
    async with Journal(copy / "journal.db", clock, KINDS) as journal:
        assert SECRET.encode() not in bytes_of(copy)
        assert journal.index_path.parent == copy


async def test_a_disk_that_is_too_small_for_it_does_not_stay_full(tmp_path: Path, clock: FakeClock) -> None:
    path, log = tmp_path / "journal.db", tmp_path / "journal.db-wal"
    async with Journal(path, clock, KINDS) as journal:
        gone, *_ = await filled(journal)
        event = EntriesForgotten(seqs=(gone.seq,), why="Ann wants it")
        left, _ = await journal.append("soul", event, key="wish")
        await journal._writer.run_job(
            partial(blank_bodies, kinds=journal.kinds, seqs=[gone.seq], by=left.seq)
        )
        await journal._writer.run_job(lambda store: store._empty_log())
        bounds = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size // 2, bounds[1]))
        try:
            with pytest.raises(JournalError, match="could not be written"):
                await journal.erase(left)
            assert log.stat().st_size == 0
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, bounds)
        await journal.erase(left)
        assert not journal.pending_entries(EntriesForgotten)


async def test_what_cannot_be_deleted_beside_it_holds_it_up(tmp_path: Path, clock: FakeClock) -> None:
    async with Journal(tmp_path / "journal.db", clock, KINDS) as journal:
        said = await filled(journal, 3)
        journal.index_path.mkdir()
        with pytest.raises(JournalError, match="could not be written"):
            await forget(journal, said)
        [left] = journal.pending_entries(EntriesForgotten)
        journal.index_path.rmdir()
        await journal.erase(left)
        assert not journal.pending_entries(EntriesForgotten)
        await journal.append("ann", Said(text="The writer goes on."), key="on")


def change(home: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home / "journal.db")) as db, db:
        db.execute(statement, values)


WRONG: dict[str, tuple[Callable[[str], str], str]] = {
    "blanked by nobody": (lambda body: body.replace("451", "7"), "no entry says"),
    "words under a mark": (lambda body: body.replace('""', '"marzipan"'), "still holds words"),
    "words again": (lambda _: '{"text": "marzipan"}', "are still there"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_verify_knows_what_was_forgotten(tmp_path: Path, clock: FakeClock, name: str) -> None:
    edit, found = WRONG[name]
    async with Journal(tmp_path / "journal.db", clock, KINDS) as journal:
        said = await filled(journal)
        await forget(journal, said)
        assert verify(journal).violations == []
        with journal._query_guard:
            body = journal._store.at_seqs([5])[0][4]
        assert body.startswith(FORGOTTEN_START)
        change(tmp_path, "update entry set body = ? where seq = 5", edit(body))
        violations = verify(journal).violations
        assert {one.seq for one in violations} == {5}
        assert violations[0].rule == "altered"
        assert found in str(violations[1])


def test_codes_stay_and_nothing_else_does() -> None:
    match = EntryMatch(kinds=("said",), about={"tags": [SECRET]})
    waiting = WaitBegan(matching=match, note={"text": SECRET}, due=5.0, execution="ann@1", fingerprint="ab")
    left = waiting.without_words()
    assert (left.execution, left.due, left.want, left.note, left.fingerprint) == (
        "ann@1",
        5.0,
        "all",
        None,
        "",
    )
    assert StepResult(value=SECRET).without_words() == StepResult()

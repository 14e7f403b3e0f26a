"""Opening of a journal: foreign, damaged and rebuilt parts."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import resource
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from daemon.engine.exceptions import JournalDamaged, JournalError, JournalVersionError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_file import hold_lock, lock_holder
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import TurnBegan, TurnEnded
from daemon.engine.program import Program
from tests.clock import FakeClock
from tests.engine.scenario import Pressed, Said
from tests.soak import SOAK

KINDS = (Said, Pressed)


@contextmanager
def changed(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as db, db:
        yield db


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    async with Journal(path, FakeClock(), KINDS) as journal:
        for n in (1, 4):
            said, _ = await journal.append("t", Said(text="hello"), key=f"said {n}")
            event = TurnBegan(execution=f"t@{n}", inputs=(said.seq,))
            began, _ = await journal.append("t", event, key=f"t@{n}/began", cause=said.seq)
            if n == 1:
                ended = TurnEnded(outcome="completed")
                await journal.append("t", ended, key="t@1/ended", closes=[1, 2], cause=began.seq)
    return path


def content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def refused(path: Path) -> JournalError:
    before = content(path)
    with pytest.raises(JournalError) as writing:
        async with Journal(path, FakeClock(), KINDS):
            pass
    assert "cannot be opened as a journal" in str(writing.value)
    with (
        pytest.raises(JournalError, match="cannot be read as a journal") as looking,
        open_reader(path, KINDS),
    ):
        pass
    assert type(looking.value) is type(writing.value)
    assert content(path) == before
    return writing.value


async def test_a_journal_of_another_version_is_not_touched(path: Path) -> None:
    with changed(path) as db:
        db.execute("pragma user_version = 7")
    why = await refused(path)
    assert isinstance(why, JournalVersionError)
    assert "It is of version 7, and this program reads version 4." in str(why)


async def test_what_is_no_journal_is_said_so(tmp_path: Path, path: Path) -> None:
    diary, other = tmp_path / "diary.db", tmp_path / "other.db"
    diary.write_text("this is a diary, not a database" * 100)
    assert "not a database" in str(await refused(diary))
    with changed(other) as db:
        db.execute("create table note (text)")
    assert "no table of entries" in str(await refused(other))
    with changed(path) as db:
        db.execute("drop table entry")
    assert "no table of entries" in str(await refused(path))


async def test_its_files_are_for_its_owner_alone(path: Path) -> None:
    for name in ("journal.db", "journal.db.lock"):
        assert path.with_name(name).stat().st_mode & 0o077 == 0


async def test_who_only_looks_who_holds_it_keeps_nobody_out(path: Path) -> None:
    with path.with_name("journal.db.lock").open() as looked:
        fcntl.flock(looked, fcntl.LOCK_SH)
        threading.Timer(0.01, fcntl.flock, (looked, fcntl.LOCK_UN)).start()
        async with Journal(path, FakeClock(), KINDS):
            assert lock_holder(path) == str(os.getpid())


def test_a_disk_that_takes_no_lock_is_said_in_a_line(path: Path) -> None:
    bounds = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, bounds[1]))
    try:
        with pytest.raises(JournalError, match=r"lock .* cannot be used .*make room on"), hold_lock(path):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, bounds)


@pytest.mark.parametrize(
    ("table", "how"),
    [
        ("pending", "drop table {}"),
        ("pending", "delete from {}"),
        ("pending", "update {} set kind = 'said'"),
        ("lease", "drop table {}"),
        ("lease", "delete from {}"),
        ("lease", "update {} set epoch = 2"),
    ],
)
async def test_a_folded_table_that_is_wrong_is_made_anew(
    path: Path, table: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    with changed(path) as db:
        db.execute(how.format(table))
    async with Journal(path, FakeClock(), KINDS) as journal:
        assert [entry.seq for entry in journal.pending_entries(*journal.kinds)] == [4, 5]
        assert journal.holds_lease("t", 5)
        assert not verify(journal).violations
        assert journal.is_well
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert f"table {table} was not what its entries say" in caplog.text


async def test_a_damaged_entry_hides_no_other_one(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with changed(path) as db:
        db.execute("update entry set body = cast(x'7bff7d' as text) where seq = 2")
        db.execute("update entry set kind = 'unheard-of' where seq = 3")
    async with Journal(path, FakeClock(), KINDS) as journal:
        assert [entry.seq for entry in journal.entries_since(0)] == [1, 4, 5]
        assert [entry.seq for entry in journal.entries_since(0, limit=2)] == [1, 4]
        assert "The entry 2 cannot be read (its body)." in journal.damage
        assert journal.is_writable
        assert not journal.is_well
        for seq, why in ((2, "its body"), (3, "its kind, unheard-of, is not known")):
            with pytest.raises(JournalDamaged, match=rf"The entry {seq} cannot be read \({why}\)"):
                journal.entry(seq)
        await journal.append("t", Said(text="go on"), key="more")
    assert [record.levelno for record in caplog.records if "cannot be read" in record.message] == [
        logging.CRITICAL
    ], "said once, and loudly"


async def test_whoever_keeps_what_is_said_of_damage_holds_no_old_state_of_the_file(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with changed(path) as db:
        db.execute("update entry set body = 'null' where seq = 2")
    async with Journal(path, FakeClock(), KINDS) as journal:
        assert [entry.seq for entry in journal.entries_since(0, limit=2)] == [1, 3]
        assert caplog.records[0].args, "with the error, and all that it passed through"
        said, _ = await journal.append("t", Said(text="go on"), key="more")
        assert journal.last_seq_of_all() == said.seq


async def test_what_an_entry_closes_may_be_damaged_and_all_else_goes_on(path: Path) -> None:
    with changed(path) as db:
        db.execute("update entry set closes = '[1, 2' where seq = 3")
    async with Journal(path, FakeClock(), KINDS) as journal:
        assert "malformed JSON" in journal.damage
        assert [entry.seq for entry in journal.pending_entries(*journal.kinds)] == [4, 5], "as it was folded"
        await journal.append("t", Said(text="go on"), key="more")


async def test_a_file_that_is_damaged_is_no_file_that_is_busy(path: Path) -> None:
    with changed(path) as db:
        db.execute("pragma wal_checkpoint(truncate)")
        [(root,)] = db.execute("select rootpage from sqlite_master where name = 'entry'").fetchall()
        [(size,)] = db.execute("pragma page_size").fetchall()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)
    async with Journal(path, FakeClock(), KINDS) as journal:
        assert "malformed" in journal.damage
        with pytest.raises(JournalDamaged, match="put a copy of the journal back"):
            journal.entries_since(0)
        with pytest.raises(JournalDamaged):
            journal.check_pages()


async def test_an_entry_that_has_lost_its_key_is_asked_for_by_nobody(path: Path) -> None:
    with changed(path) as db:
        db.execute("update entry set key = '' where seq = 3")
    async with Journal(path, FakeClock(), KINDS) as journal:
        pressed, _ = await journal.append("t", Pressed(text="yes"), key="pressed")
        taken = Program().take(journal, [pressed])
        assert taken is not None
        assert taken.resumes is None, "it answers nothing"
        assert journal.is_well


@SOAK
async def test_a_file_that_another_program_writes_to_is_said_to_be_held(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(JournalError, match="Another program holds it: end that one"):
            async with Journal(path, FakeClock(), KINDS):
                pass


async def test_verify_names_each_fault_and_says_what_is_pending_apart(path: Path) -> None:
    with open_reader(path, KINDS) as journal:
        assert str(verify(journal)) == "5 entries, clean; pending: 1 said to be answered, 1 turn-began half"
    with changed(path) as db:
        db.execute("update entry set closes = '[1, 2, 2]', body = '{}' where seq = 3")
        db.execute("update entry set cause = 9, thread = 'u' where seq = 5")
    with open_reader(path, KINDS) as journal:
        found = {(one.seq, one.rule) for one in verify(journal).violations}
    broken = {
        (3, "altered"),
        (3, "shape"),
        (5, "altered"),
        (5, "cause"),
        (5, "refers"),
        (5, "turn"),
        (5, "pending"),
        (5, "lease"),
        (2, "lease"),
    }
    assert found == broken

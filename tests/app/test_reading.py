"""Reading of a live journal: lock-free, read-only, from one moment."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal_file import open_readonly
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.rows import EntryRow
from daemon.engine.journal.writer import WritableTables
from daemon.kinds import SOUL_KINDS
from tests.app.forgery import opened
from tests.stories.stage import ALICE, Stage

ROW = EntryRow(
    thread="t",
    kind="mood",
    author="a",
    body="{}",
    key="k",
    cause=None,
    closes=(),
    moot=(),
    at=0.0,
    pending=False,
    leases=False,
)


def test_nothing_is_written_and_no_lock_is_taken(journal: Path) -> None:
    before = hashlib.sha256(journal.read_bytes()).digest(), journal.stat().st_mtime_ns
    with open_reader(journal, SOUL_KINDS) as found:
        verify_journal(found)
        assert [*found.all_entries()]
    assert (hashlib.sha256(journal.read_bytes()).digest(), journal.stat().st_mtime_ns) == before
    assert not journal.with_name("journal.db.lock").exists()


def test_nothing_can_be_written(journal: Path) -> None:
    store = open_readonly(journal)
    with closing(store), pytest.raises(sqlite3.OperationalError, match="readonly database"):
        WritableTables.insert(cast(WritableTables, store), ROW)


async def test_beside_a_live_daemon_all_is_of_one_moment(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    with open_reader(stage.home / "journal.db", SOUL_KINDS) as journal:
        last = journal.last_seq_of_all()
        await stage.say("alice", ALICE, "Again")
        assert stage.soul.journal.last_seq_of_all() > last
        assert [entry.seq for entry in journal.all_entries()] == [*range(1, last + 1)]
        assert verify_journal(journal).violations == []


async def test_what_a_killed_daemon_left_in_its_log_is_read_too(stage: Stage, tmp_path: Path) -> None:
    await stage.say("alice", ALICE, "Hello")
    for name in ("journal.db", "journal.db-wal"):
        shutil.copy(stage.home / name, tmp_path)
    with open_reader(tmp_path / "journal.db", SOUL_KINDS) as journal:
        assert journal.last_seq_of_all() == stage.soul.journal.last_seq_of_all()


def test_a_strange_name_is_no_other_file(journal: Path) -> None:
    strange = journal.rename(journal.with_name("what? 100%25 #1.db"))
    with open_reader(strange, SOUL_KINDS) as found:
        assert found.last_seq_of_all()


def test_what_is_no_journal_is_said_so_and_not_made_one(tmp_path: Path) -> None:
    none, diary, other = (tmp_path / f"{name}.db" for name in ("none", "diary", "other"))
    diary.write_text("Dear diary, " * 1000)
    with opened(other) as copy:
        copy.db.execute("create table note (text)")
    for path, why in (
        (none, "There is no journal at"),
        (diary, "not a database"),
        (other, "no table of entries"),
    ):
        with pytest.raises(JournalError, match=why), open_reader(path, SOUL_KINDS):
            pass
    assert not none.exists()


def test_an_entry_that_cannot_be_read_is_named(journal: Path) -> None:
    with opened(journal) as copy:
        seq = copy.change(copy.seqs("mood")[0], body="{")
    with (
        open_reader(journal, SOUL_KINDS) as found,
        pytest.raises(JournalError, match=f"The entry {seq} cannot be read"),
    ):
        [*found.all_entries()]

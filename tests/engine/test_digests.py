"""Digests of entries: detected changes, and migration of older journals."""

from __future__ import annotations

import asyncio
import logging
import resource
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from daemon.engine.exceptions import JournalVersionError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_file import VERSION, open_store
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.rows import DIGEST_BYTES
from daemon.engine.journal.verify import VerifyResult, verify
from daemon.engine.journal.writer import MIGRATION_PIECE, WritableTables, add_digests
from daemon.engine.kinds import with_engine_kinds
from tests.clock import FakeClock
from tests.engine.scenario import Pressed, Said

KINDS = [Said, Pressed]
MANY = 2 * MIGRATION_PIECE + 100
"""Entries that migrate in three pieces."""


async def lived(path: Path, many: int = 8) -> None:
    async with Journal(path, FakeClock(), KINDS) as journal:
        appends = [
            journal.append("ann", Said(text=f"{number} pounds of tea"), key=f"said:{number}", author="ann")
            for number in range(1, many + 1)
        ]
        await asyncio.gather(*appends)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    await lived(path)
    return path


def change(path: Path, statements: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(statements)


def verdict(path: Path) -> VerifyResult:
    with open_reader(path, KINDS) as journal:
        return verify(journal)


def swap(*columns: str) -> str:
    other = [f"{name} = (select {name} from kept where seq = 9 - entry.seq)" for name in columns]
    return (
        "create temp table kept as select * from entry;"
        f"update entry set {', '.join(other)} where seq in (3, 6);"
    )


EXCHANGED = "update entry set seq = {} where seq = {};"


ALTERED: dict[str, tuple[str, set[int]]] = {
    "a word": ("update entry set body = replace(body, 'tea', 'gin') where seq = 3", {3}),
    "a blank": ("update entry set body = replace(body, ': ', ':') where seq = 3", {3}),
    "a case": ("update entry set body = replace(body, 'tea', 'Tea') where seq = 3", {3}),
    "a field more": ("""update entry set body = '{"more": 1, ' || substr(body, 2) where seq = 3""", {3}),
    "no words": ("""update entry set body = '{"text": ""}' where seq = 3""", {3}),
    "bytes for text": ("update entry set body = cast(body as blob) where seq = 3", {3}),
    "its author": ("update entry set author = 'bob' where seq = 3", {3}),
    "its kind": ("update entry set kind = 'pressed' where seq = 3", {3}),
    "its thread": ("update entry set thread = 'bob' where seq = 3", {3}),
    "its key": ("update entry set key = 'said:33' where seq = 3", {3}),
    "its cause": ("update entry set cause = 1 where seq = 3", {3}),
    "what it closes": ("update entry set closes = '[ ]' where seq = 3", {3}),
    "its time": ("update entry set at = at + 0.001 where seq = 3", {3}),
    "its digest": ("update entry set digest = randomblob(16) where seq = 3", {3}),
    "a digest as text": ("update entry set digest = hex(digest) where seq = 3", {3}),
    "a shorter digest": ("update entry set digest = substr(digest, 1, 8) where seq = 3", {3}),
    "no digest": ("update entry set digest = null where seq = 3", {3}),
    "all digests gone": ("update entry set digest = null", set(range(1, 9))),
    "two bodies": (swap("body"), {3, 6}),
    "two bodies with their digests": (swap("body", "digest"), {3, 6}),
    "two digests": (swap("digest"), {3, 6}),
    "two entries": ("".join(EXCHANGED.format(*two) for two in ((10, 3), (3, 6), (6, 10))), {3, 6}),
    "a letter that moves into the next column": (
        "update entry set author = 'an', key = 'n' || key where seq = 3",
        {3},
    ),
    "an entry of somebody's": (
        "insert into entry(thread, kind, author, body, key, closes, at)"
        """ values ('ann', 'said', 'ann', '{"text": "gin"}', 'said:9', '[]', 1.0)""",
        {9},
    ),
}


@pytest.mark.parametrize("name", ALTERED)
async def test_verify_names_each_entry_that_was_altered(path: Path, name: str) -> None:
    assert verdict(path).violations == []
    statements, seqs = ALTERED[name]
    change(path, statements)
    assert {one.seq for one in verdict(path).violations if one.rule == "altered"} == seqs


@pytest.mark.parametrize("seq", [1, 4])
async def test_verify_names_an_entry_that_was_taken_out(path: Path, seq: int) -> None:
    change(path, f"delete from entry where seq = {seq}")
    assert (seq, "gone") in {(one.seq, one.rule) for one in verdict(path).violations}


@pytest.mark.parametrize(
    ("table", "row"), [("pending", "99, 'ann', 'said'"), ("lease", "'bob', 3")], ids=["pending", "lease"]
)
async def test_verify_names_what_was_altered_in_a_folded_table(path: Path, table: str, row: str) -> None:
    change(path, f"insert into {table} values ({row})")
    assert table in {one.rule for one in verdict(path).violations}


async def test_a_digest_is_written_with_the_entry_and_is_small(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        digests = [digest for (digest,) in db.execute("select digest from entry")]
    assert len(set(digests)) == 8
    assert {len(digest) for digest in digests} == {DIGEST_BYTES}


# Older journals


def made_older(path: Path) -> None:
    change(path, "alter table entry drop column digest; pragma user_version = 3; vacuum")


def content(path: Path) -> bytes:
    return path.read_bytes()


def missing(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        [(count,)] = db.execute("select count(*) from entry where digest is null")
    return int(count)


async def test_an_older_journal_is_read_as_it_is_and_nothing_is_written(path: Path) -> None:
    made_older(path)
    before = content(path)
    found = verdict(path)
    assert (found.violations, found.undigested) == ([], 8)
    told = "8 entries, clean (8 without a digest: the daemon's next start adds it); pending: 8 said"
    assert told in str(found)
    with open_reader(path, KINDS) as journal:
        assert len(list(journal.all_entries())) == 8
    assert content(path) == before


async def test_an_older_journal_gets_its_digests_when_it_is_first_opened(path: Path) -> None:
    made_older(path)
    async with Journal(path, FakeClock(), KINDS) as journal:
        await journal.append("ann", Said(text="more"), key="said:9")
    assert missing(path) == 0
    assert "9 entries, clean; pending" in str(verdict(path))
    change(path, "update entry set body = replace(body, 'tea', 'gin') where seq = 3")
    assert [str(one)[:9] for one in verdict(path).violations] == ["3 altered"]


async def test_an_older_journal_without_entries_is_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await lived(path, 0)
    made_older(path)
    await lived(path)
    assert "8 entries, clean; pending" in str(verdict(path))
    change(path, "update entry set digest = null where seq = 3")
    assert [one.seq for one in verdict(path).violations] == [3]


async def test_a_journal_that_has_digests_is_opened_by_no_older_program(path: Path) -> None:
    made_older(path)
    open_store(path).close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma user_version").fetchone() == (VERSION,) != (3,)
    change(path, f"pragma user_version = {VERSION + 1}")
    with pytest.raises(JournalVersionError, match="Run the version that wrote it"):
        async with Journal(path, FakeClock(), KINDS):
            pass


class Dying(WritableTables):
    left = 0

    def commit(self) -> None:
        self._use()
        super().commit()
        self._use()

    def _use(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise sqlite3.OperationalError("the worker is killed")


@pytest.mark.parametrize("at", range(9))
async def test_a_kill_at_any_commit_of_it_is_gone_on_from(tmp_path: Path, at: int) -> None:
    path, copy = tmp_path / "journal.db", tmp_path / "copy.db"
    await lived(path, MANY)
    made_older(path)
    open_store(path).close()
    store = Dying(sqlite3.connect(path, isolation_level=None), path)
    store.left = at
    try:
        add_digests(store, with_engine_kinds(KINDS))
    except sqlite3.OperationalError:
        assert at < 8
    else:
        assert at == 8
    for end in ("", "-wal"):
        shutil.copy(f"{path}{end}", f"{copy}{end}")
    store.close()
    found = verdict(copy)
    assert (found.violations, found.undigested) == ([], max(0, MANY - (at + 1) // 2 * MIGRATION_PIECE))
    async with Journal(copy, FakeClock(), KINDS) as journal:
        assert verify(journal).undigested == 0
    assert missing(copy) == 0
    assert verdict(copy).violations == []


async def test_what_is_altered_in_a_half_is_found_where_digests_are_there(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await lived(path, MANY)
    made_older(path)
    with closing(open_store(path)) as store:
        assert store.digest_some(MIGRATION_PIECE)
    change(path, "update entry set digest = null where seq = 5")
    change(path, f"update entry set author = 'bob' where seq in (7, {MANY})")
    found = verdict(path)
    assert {one.seq for one in found.violations} == {5, 7}
    assert found.undigested == MANY - MIGRATION_PIECE


async def test_a_disk_that_is_full_keeps_no_daemon_from_its_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal.db"
    await lived(path, MANY)
    made_older(path)
    open_store(path).close()
    bounds = resource.getrlimit(resource.RLIMIT_FSIZE)
    journal = Journal(path, FakeClock(), KINDS)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size // 4, bounds[1]))
    try:
        await journal.__aenter__()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, bounds)
    await journal.append("ann", Said(text="The daemon lives."), key="on")
    await journal.__aexit__(None, None, None)
    assert "Older entries have no digests yet" in caplog.text
    assert verdict(path).violations == []
    await lived(path, MANY)
    assert missing(path) == 0
    assert verdict(path).violations == []


async def test_what_was_damaged_before_gets_a_digest_and_stays_named(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    made_older(path)
    change(path, "update entry set body = cast(x'7bff7d' as text), at = 'noon' where seq = 3")
    change(path, "update entry set kind = x'ff', cause = 'none' where seq = 5")
    async with Journal(path, FakeClock(), KINDS):
        """It is given digests."""
    assert missing(path) == 0
    assert {(one.seq, one.rule) for one in verdict(path).violations} == {(3, "shape"), (5, "shape")}

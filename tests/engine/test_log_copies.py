"""Copies of a log: deleted, overwritten, damaged; unusual rows; the order in which they are told."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalDamaged, JournalError, KeyConflict
from daemon.engine.journal.journal import Projection
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.rows import index_path
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.verify import verify
from tests.attention import until
from tests.clock import FakeClock
from tests.engine.scenario import Said
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
def url(log_url: str) -> str:
    with closing(connect(log_url, "test")) as connection:
        install_log(connection)
    return log_url


def copy_of(home: Path, machine: str) -> Path:
    folder = home / machine
    folder.mkdir(exist_ok=True)
    return folder / "journal.db"


def journal(url: str, home: Path, machine: str) -> SharedJournal:
    return SharedJournal(copy_of(home, machine), FakeClock(), (Said,), url=url, machine=machine)


async def say(to: SharedJournal, *keys: str) -> list[Entry[Said]]:
    said = await asyncio.gather(*(to.append("t", Said(text=f"text of {key}"), key=key) for key in keys))
    return [entry for entry, _ in said]


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    path.rename(path.with_name("moved.db"))
    path.with_name("moved.db").read_bytes()
    path.write_bytes(path.with_name("moved.db").read_bytes())


def empty(path: Path) -> None:
    path.write_bytes(b"")


def overwrite(path: Path) -> None:
    path.write_text("now something else" * 1000)


@pytest.mark.parametrize("harm", [delete, replace, empty, overwrite])
async def test_a_copy_that_is_gone_ends_its_daemon_and_is_made_anew(
    url: str, tmp_path: Path, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    async with journal(url, tmp_path, "oak") as oak:
        said = await say(oak, "a", "b")
        harm(copy_of(tmp_path, "oak"))
        await until(oak.died.done)
        assert isinstance(oak.died.exception(), JournalDamaged)
    assert "was deleted or replaced while its daemon ran. Nothing is lost" in caplog.text
    async with journal(url, tmp_path, "oak") as oak:
        assert [oak.entry(one.seq) for one in said] == said
        await say(oak, "c")
        assert not verify(oak).violations


async def test_a_damaged_entry_of_a_copy_ends_its_daemon_and_is_read_from_the_log_again(
    url: str, tmp_path: Path
) -> None:
    async with journal(url, tmp_path, "oak") as oak:
        [said] = await say(oak, "a")
        with closing(sqlite3.connect(copy_of(tmp_path, "oak"))) as db, db:
            db.execute("update entry set body = '{\"te'")
        with pytest.raises(JournalDamaged):
            oak.entry(said.seq)
        await until(oak.died.done)
        assert not oak.is_writable
    async with journal(url, tmp_path, "oak") as oak:
        assert oak.entry(said.seq) == said


async def test_a_copy_with_another_row_is_noticed_by_the_next_append(url: str, tmp_path: Path) -> None:
    async with journal(url, tmp_path, "oak") as oak:
        await say(oak, "a")
        with closing(sqlite3.connect(copy_of(tmp_path, "oak"))) as db, db:
            db.execute("update entry set key = 'b'")
        with pytest.raises(JournalError):
            await say(oak, "b")
        await until(oak.died.done)
        assert isinstance(oak.died.exception(), JournalDamaged)
    async with journal(url, tmp_path, "oak") as oak:
        keys = [entry.key for entry in oak.thread_entries("t", Said)]
        assert keys == ["a", "b"][: len(keys)]


async def test_an_index_never_outlives_its_copy(url: str, tmp_path: Path) -> None:
    index_path(copy_of(tmp_path, "oak")).write_bytes(b"of a copy that somebody deleted")
    async with journal(url, tmp_path, "oak"):
        assert not index_path(copy_of(tmp_path, "oak")).exists()


async def test_unusual_rows_come_to_every_copy_as_they_were(url: str, tmp_path: Path) -> None:
    texts = {
        "nul": "a\x00b\\u0000",
        "half a pair": "\ud800 and \udfff",
        "escape": "\x1a0\x1a1\x1a",
        "ten thousand bytes " + "ü" * 5_000: "x",
        "all planes": "\U0010ffff\ufffe\u2028",
        "slashes": "\\\\' \" %s $1 {}",
    }
    async with journal(url, tmp_path, "oak") as oak, journal(url, tmp_path, "elm") as elm:
        for key, text in texts.items():
            await oak.append("t\x00\x1a", Said(text=text), key=key)
        await until(lambda: elm.last_seq_of_all() == len(texts))
        for key in texts:
            assert elm.get(key) == oak.get(key) is not None
        assert list(elm.all_rows()) == list(oak.all_rows())
        assert not verify(elm).violations
        with pytest.raises(KeyConflict):
            await oak._writer.submit(oak.make_draft("t", Said(text=""), key=[*texts][3]).row, None, None)


async def test_a_batch_of_twenty_megabytes_and_an_entry_of_as_many(url: str, tmp_path: Path) -> None:
    async with journal(url, tmp_path, "oak") as oak, journal(url, tmp_path, "elm") as elm:
        batch = [oak.append("t", Said(text=f"{n}" * 1_000_000), key=f"k{n}") for n in range(20)]
        await asyncio.gather(*batch, oak.append("t", Said(text="y" * 20_000_000), key="large"))
        await until(lambda: elm.last_seq_of_all() == 21)
        assert list(elm.all_rows()) == list(oak.all_rows())


class Seen(Projection):
    kinds = (Said,)

    def _reset(self) -> None:
        self.seqs = list[int]()

    def _fold_entry(self, entry: Entry[Any]) -> None:
        self.seqs.append(entry.seq)


async def test_what_others_wrote_before_is_told_with_the_answer(url: str, tmp_path: Path) -> None:
    """Between an answer and what was written before it, no follower may see a gap."""
    async with journal(url, tmp_path, "oak") as oak, journal(url, tmp_path, "elm") as elm:
        told = list[int]()
        notify = oak._notify

        def note(rows: Any) -> None:
            told.extend(one.seq for one in rows)
            notify(rows)

        oak._writer._committed = note
        oak._follower._told = lambda rows: oak._call_in_loop(note, rows)
        for n in range(100):
            theirs = await elm.append("t", Said(text="x"), key=f"elm:{n}")
            ours, _ = await oak.append("t", Said(text="x"), key=f"oak:{n}")
            assert told[-1] == ours.seq
            assert told == [*range(1, ours.seq + 1)]
            assert theirs[0].seq in told


async def test_followers_and_projections_see_no_gap_while_four_write(url: str, tmp_path: Path) -> None:
    async with journal(url, tmp_path, "oak") as oak, journal(url, tmp_path, "elm") as elm:
        seen, folded = list[int](), Seen(elm)

        async def follow() -> None:
            async for entries in elm.follow_entries(0):
                seen.extend(entry.seq for entry in entries)
                folded.fold()
                if len(seen) == 400:
                    return

        async def write(to: SharedJournal, writer: int) -> None:
            for n in range(100):
                await to.append(f"t{writer}", Said(text="x"), key=f"{writer}:{n}")

        await asyncio.gather(follow(), *(write((oak, elm)[n % 2], n) for n in range(4)))
        folded.fold()
        assert seen == folded.seqs == [*range(1, 401)]

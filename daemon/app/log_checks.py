"""The doctor's look at the log: its server, and the daemons that share it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import psycopg

from config import Settings
from daemon.app.check import Finding, doubtful_finding, ill_finding, well_finding
from daemon.app.copy_commands import is_own_journal
from daemon.cluster.daemon_facts import DaemonRow
from daemon.cluster.differences import find_differences
from daemon.cluster.log_server import (
    Connection,
    LogUnreachable,
    ServerFacts,
    connect_to_server,
    examine_server,
    unreachable_sentence,
)
from daemon.cluster.membership import MOST_SOCKETS
from daemon.cluster.schema import log_version, newer_log_sentence
from daemon.engine.exceptions import CopyAhead, JournalError, JournalMisplaced
from daemon.engine.journal.journal_copy import not_moved_sentence, why_of_another_log
from daemon.engine.journal.journal_file import open_readonly
from daemon.engine.journal.log_erasing import away_sentence
from daemon.engine.journal.log_schema import LOG_VERSION
from daemon.engine.journal.postgres_log import PostgresLog, from_log
from daemon.engine.kinds import EntriesForgotten
from daemon.settings.database_url import shown_database_url
from daemon.settings.parse import ConfigError

NAME = "soul:doctor"

DAEMONS = """
select to_jsonb(d) || jsonb_build_object('silent', extract(epoch from clock_timestamp() - w.last_heartbeat))
  from soul_daemon d join procrastinate_workers w on w.id = d.worker_id order by d.machine
"""

UNCLEARED = """
select machine from soul_copy where cleared < (
  select max(seq) from entry where kind = %s and seq in (select seq from pending)) order by machine
"""

USUAL_OFFSET = 1.0
"""Seconds by which clocks may differ without a word."""


def examine_log(settings: Settings) -> Sequence[Finding]:
    """Return findings about the log and its daemons, without changing anything."""
    url = settings.database_url
    try:
        server = examine_server(url, NAME)
        with closing(connect_to_server(url, NAME)) as connection:
            findings = [*_server_findings(url, server), *_log_findings(connection)]
            return [*findings, _copy_finding(settings.journal_path, url, log_version(connection))]
    except (ConfigError, LogUnreachable) as error:
        return [ill_finding("log", str(error).rstrip("."))]
    except psycopg.Error as error:
        return [ill_finding("log", unreachable_sentence(error, url).rstrip("."))]


def _server_findings(url: str, server: ServerFacts) -> Iterator[Finding]:
    yield well_finding(
        "log",
        f"{shown_database_url(url)}: PostgreSQL {server.version}, schema {server.schema}; LISTEN and session"
        " locks work",
    )
    waits = f"for {server.synchronous_standbys}" if server.synchronous_standbys else "for no replica"
    fsync = "on" if server.fsync else "off"
    yield well_finding(
        "commits",
        f"synchronous_commit={server.synchronous_commit}, fsync={fsync}; a commit waits {waits};"
        f" {server.replicas} replicas are connected",
    )
    for warning in server.warnings:
        yield doubtful_finding("commits", warning.rstrip("."))


def _log_findings(connection: Connection) -> Iterator[Finding]:
    version = log_version(connection)
    if version is None:
        yield well_finding("daemons", "none so far; the first start makes the log's tables")
        return
    if version > LOG_VERSION:
        yield ill_finding("log", newer_log_sentence(version, LOG_VERSION).rstrip("."))
        return
    yield _clock_finding(connection)
    rows = [DaemonRow.of_json(row) for (row,) in connection.execute(DAEMONS)]
    yield from _daemon_findings(rows)
    uncleared = [from_log(machine) for (machine,) in connection.execute(UNCLEARED, (EntriesForgotten.kind,))]
    if uncleared:
        yield doubtful_finding("forgetting", away_sentence(uncleared).rstrip("."))


def _copy_finding(path: Path, url: str, version: int | None) -> Finding:
    """Check whether the file of this machine is a copy of the log, without changing it."""
    if not path.exists():
        return well_finding("copy", f"none yet; the next start makes {path}")
    if version is None:
        if is_own_journal(path):
            return ill_finding("copy", not_moved_sentence(path).rstrip("."))
        return well_finding("copy", f"{path}; the next start fills the log's tables")
    try:
        with closing(open_readonly(path)) as tables, closing(PostgresLog(url, NAME)) as shared:
            why = why_of_another_log(tables, shared)
            behind = shared.last() - tables.last()
    except (CopyAhead, JournalMisplaced) as error:
        return ill_finding("copy", str(error).rstrip("."))
    except (JournalError, sqlite3.Error, ValueError) as error:
        why = f"it is damaged ({str(error).rstrip('.')})"
    if why:
        return doubtful_finding("copy", f"{path}: {why}. The next start makes it anew")
    return well_finding("copy", f"{path}, {behind} entries behind the log")


def _clock_finding(connection: Connection) -> Finding:
    before = time.time()
    [there] = connection.execute("select extract(epoch from clock_timestamp())::float8").fetchone() or (0.0,)
    offset = there - (before + time.time()) / 2
    said = f"this machine's clock is {abs(offset):.1f} s {'behind' if offset > 0 else 'ahead of'} the log's"
    if abs(offset) < USUAL_OFFSET:
        return well_finding("clock", f"{said}; the log's counts")
    return doubtful_finding("clock", f"{said}. The log's counts for all daemons; set this one by NTP")


def _daemon_findings(rows: Sequence[DaemonRow]) -> Iterator[Finding]:
    if not rows:
        yield well_finding("daemons", "none is alive")
        return
    for row in rows:
        yield well_finding("daemons", daemon_line(row))
    sockets = sum(row.sockets for row in rows)
    yield well_finding("sockets", f"all daemons have {sockets} of the {MOST_SOCKETS} that Slack allows")
    for sentence in find_differences(rows):
        yield doubtful_finding("daemons", sentence)


def daemon_line(row: DaemonRow) -> str:
    """Return a daemon in one line."""
    parts = [
        "at work" if row.working else "stands by",
        f"version {row.version}",
        f"{row.sockets} socket{'' if row.sockets == 1 else 's'}",
        f"heard of {row.silent:.1f} s ago",
    ]
    if abs(row.clock_offset) >= USUAL_OFFSET:
        slow = "behind" if row.clock_offset > 0 else "ahead of"
        parts.append(f"its clock {abs(row.clock_offset):.1f} s {slow} the log's")
    return f"{row.machine}: {', '.join(parts)}"

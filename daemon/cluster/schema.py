"""The tables of the log's database: made and migrated in one transaction, by one daemon at a time.

A newer daemon migrates when no older one is alive. An older daemon never uses a newer log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from procrastinate.schema import SchemaManager

from daemon.cluster.log_server import Connection, LogUnreachable
from daemon.engine.journal.log_schema import APPEND, LOG_TABLES, LOG_VERSION
from daemon.settings.parse import ConfigError

SCHEMA_LOCK = 7304
"""First key of the advisory lock under which tables are made, migrated and filled by a move."""

SILENCE_SECONDS = 4.0
"""Seconds without a heartbeat after which a daemon is dead."""

TABLES_OF_OTHERS = ("entry", "pending", "lease", "soul_daemon", "procrastinate_jobs")
"""Tables that are ours only beside the table `soul_log`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSchema:
    """Statements for a new log of this version, and those that lead to a version from the one before it.

    Until it has migrated, a daemon reads only the table `entry`: its columns are added to, never changed.
    """

    version: int
    tables: Sequence[str]
    migrations: Mapping[int, str] = field(default_factory=dict)


LOG_SCHEMA = LogSchema(version=LOG_VERSION, tables=(LOG_TABLES, APPEND, SchemaManager.get_schema()))


def prepare_log(connection: Connection, schema: LogSchema = LOG_SCHEMA) -> Sequence[str]:
    """Make or migrate the tables if necessary; return the machines of older daemons that are in the way.

    Raises ConfigError for a newer log or tables of others, LogUnreachable while another program changes
    them, psycopg.Error.
    """
    with connection.transaction():
        lock_schema(connection)
        return prepare_locked(connection, schema)


def lock_schema(connection: Connection) -> None:
    """Hold the log's schema until the transaction ends. Raises LogUnreachable."""
    connection.execute("set local statement_timeout = 0")
    if not value(connection, "select pg_try_advisory_xact_lock(%s, hashtext(current_schema))", SCHEMA_LOCK):
        raise LogUnreachable(
            "The log's tables are being made, migrated or filled by another program: the start waits for it."
        )


def prepare_locked(connection: Connection, schema: LogSchema = LOG_SCHEMA) -> Sequence[str]:
    """Do the same under `lock_schema`."""
    found = log_version(connection)
    if found is None:
        _make_tables(connection, schema)
    elif found > schema.version:
        raise ConfigError(
            f"The log in DATABASE_URL is of version {found}, and this program knows version {schema.version}:"
            " update it, as the other daemons were."
        )
    elif found < schema.version:
        alive = machines_alive(connection)
        if alive:
            return alive
        _migrate(connection, found, schema)
    return ()


def log_version(connection: Connection) -> int | None:
    """Return the version of the log; None if there is none. Raises ConfigError for tables of others."""
    if _has_table(connection, "soul_log"):
        found = connection.execute("select version from soul_log").fetchone()
        return int(found[0]) if found else None
    theirs = [name for name in TABLES_OF_OTHERS if _has_table(connection, name)]
    if theirs:
        raise ConfigError(
            f"The schema of DATABASE_URL has tables of another program ({', '.join(theirs)}): give the"
            " journal a schema of its own, like ?options=-csearch_path%3Dsoul after `create schema soul`."
        )
    return None


def machines_alive(connection: Connection) -> Sequence[str]:
    """Return the machines of all daemons that may be alive. After a restart of the server, all may be."""
    rows = connection.execute(
        "select coalesce(to_jsonb(d)->>'machine', 'worker ' || w.id) from procrastinate_workers w"
        " left join soul_daemon d on d.worker_id = w.id"
        " where greatest(w.last_heartbeat, pg_postmaster_start_time())"
        " > clock_timestamp() - make_interval(secs => %s) order by 1",
        (SILENCE_SECONDS,),
    )
    return [name for (name,) in rows]


def claim_workspace(connection: Connection, team: str, app: str) -> None:
    """Note the team and the app that the log belongs to. Raises ConfigError for those of another workspace."""
    connection.execute(
        "update soul_log set team = case team when '' then %s else team end,"
        " app = case app when '' then %s else app end",
        (team, app),
    )
    found = connection.execute("select team, app from soul_log").fetchone()
    theirs = found or ("", "")
    if any(ours and ours != there for ours, there in zip((team, app), theirs, strict=True)):
        raise ConfigError(
            f"The log in DATABASE_URL belongs to another workspace or app (team {theirs[0]}, app"
            f" {theirs[1]}; this daemon is in team {team}, app {app}): give each a schema of its own, like"
            " ?options=-csearch_path%3Dsoul2 after `create schema soul2`."
        )


def _make_tables(connection: Connection, schema: LogSchema) -> None:
    for statements in schema.tables:
        connection.execute(statements.encode())
    connection.execute("insert into soul_log(version) values(%s)", (schema.version,))


def _migrate(connection: Connection, found: int, schema: LogSchema) -> None:
    _end_dead_sessions(connection)
    for version in range(found + 1, schema.version + 1):
        connection.execute(schema.migrations[version].encode())
    connection.execute("update soul_log set version = %s", (schema.version,))


def _end_dead_sessions(connection: Connection) -> None:
    """End the sessions of daemons that nobody has counted as dead so far: one may only be paused."""
    dead = [worker for (worker,) in connection.execute("delete from procrastinate_workers returning id")]
    for worker in dead:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and application_name like %s",
            (f"soul:{worker}:%",),
        )


def _has_table(connection: Connection, name: str) -> bool:
    found = "select to_regclass(quote_ident(current_schema) || '.' || quote_ident(%s)) is not null"
    return bool(value(connection, found, name))


def value(connection: psycopg.Connection[Any], query: str, *values: object) -> Any:
    """Return the one value of a query."""
    found = connection.execute(query.encode(), values).fetchone()
    assert found is not None
    return found[0]

"""The tables of the log's database: made and migrated in one transaction, by one daemon at a time.

A newer daemon migrates when no older one is alive. An older daemon never uses a newer log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from procrastinate.schema import SchemaManager

from daemon.cluster.file_table import FILE_TABLES
from daemon.cluster.log_server import Connection, LogUnreachable
from daemon.cluster.membership import SILENCE_SECONDS
from daemon.cluster.membership_tables import MEMBERSHIP_FUNCTIONS, MEMBERSHIP_TABLES
from daemon.cluster.shared_places import PLACE_TABLES
from daemon.cluster.shared_spending import SPENDING_TABLES
from daemon.cluster.tree_wake import TREE_WAKE
from daemon.engine.journal.log_locks import LogLock
from daemon.engine.journal.log_schema import APPEND, LOG_TABLES, LOG_VERSION
from daemon.settings.parse import ConfigError

TABLES_OF_OTHERS = ("entry", "pending", "lease", "soul_daemon", "procrastinate_jobs")
"""Tables that are ours only beside the table `soul_log`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSchema:
    """Statements for a new log of this version, and those that lead to a version from the one before it.

    `kinds` are those of the entries that the program knows: one with more of them is newer, too. Without
    any, they are not looked at.
    Until it has migrated, a daemon reads only the table `entry`: its columns are added to, never changed.
    """

    version: int
    tables: Sequence[str]
    migrations: Mapping[int, str] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()


KINDS_COLUMN = "alter table soul_log add column if not exists kinds text[] not null default '{}'"


def make_schema(kinds: Iterable[str] = ()) -> LogSchema:
    """Return the schema of this program: the tables of all that keeps something beside the journal."""
    of_procrastinate = SchemaManager.get_schema()
    limits = (SPENDING_TABLES, PLACE_TABLES, FILE_TABLES)
    shared = (MEMBERSHIP_TABLES, MEMBERSHIP_FUNCTIONS, TREE_WAKE, *limits)
    tables = (LOG_TABLES, KINDS_COLUMN, APPEND, of_procrastinate, *shared)
    return LogSchema(version=LOG_VERSION, tables=tables, kinds=frozenset(kinds))


def prepare_log(connection: Connection, schema: LogSchema | None = None) -> Sequence[str]:
    """Make or migrate the tables if necessary; return the machines of older daemons that are in the way.

    Raises ConfigError for a newer log or tables of others, LogUnreachable while another program changes
    them, psycopg.Error.
    """
    with connection.transaction():
        lock_schema(connection)
        return prepare_locked(connection, schema)


def newer_log_sentence(found: int, known: int) -> str:
    return (
        f"The log in DATABASE_URL is of version {found}, and this program knows version {known}: update it,"
        " as the other daemons were."
    )


def lock_schema(connection: Connection) -> None:
    """Hold the log's schema until the transaction ends. Raises LogUnreachable."""
    connection.execute("set local statement_timeout = 0")
    if not value(
        connection, "select pg_try_advisory_xact_lock(%s, hashtext(current_schema))", LogLock.SCHEMA
    ):
        raise LogUnreachable(
            "The log's tables are being made, migrated or filled by another program: the start waits for it."
        )


def prepare_locked(connection: Connection, schema: LogSchema | None = None) -> Sequence[str]:
    """Make or migrate the tables as `prepare_log` does, inside the transaction of `lock_schema`."""
    schema = schema or make_schema()
    found = log_version(connection)
    if found is None:
        _make_tables(connection, schema)
        return ()
    if found > schema.version:
        raise ConfigError(newer_log_sentence(found, schema.version))
    kinds = frozenset(value(connection, "select kinds from soul_log"))
    _check_kinds(connection, kinds, schema)
    if found < schema.version or (schema.kinds and kinds != schema.kinds):
        alive = machines_alive(connection)
        if alive:
            return alive
        _migrate(connection, found, schema)
    return ()


def _check_kinds(connection: Connection, kinds: frozenset[str], schema: LogSchema) -> None:
    """Raise ConfigError if the log has, or may get, entries that this program does not know."""
    unknown = sorted(kinds - schema.kinds)
    if not unknown or not schema.kinds:
        return
    written = value(connection, "select exists(select from entry where kind = any(%s))", unknown)
    if written or machines_alive(connection):
        raise ConfigError(
            f"The log in DATABASE_URL may hold entries that this program does not know"
            f" ({', '.join(unknown)}): update it, as the other daemons were."
        )


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
        "select coalesce(d.machine, 'worker ' || w.id) from procrastinate_workers w"
        " left join soul_daemon d on d.worker_id = w.id"
        " where greatest(w.last_heartbeat, pg_postmaster_start_time())"
        " > clock_timestamp() - make_interval(secs => %s) order by 1",
        (SILENCE_SECONDS,),
    )
    return [name for (name,) in rows]


def claim_workspace(connection: Connection, team: str, app: str) -> None:
    """Note the team and the app that the log belongs to. Raises ConfigError if it belongs to others."""
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
    connection.execute(
        "insert into soul_log(version, kinds) values(%s, %s)", (schema.version, sorted(schema.kinds))
    )


def _migrate(connection: Connection, found: int, schema: LogSchema) -> None:
    _end_dead_sessions(connection)
    for version in range(found + 1, schema.version + 1):
        connection.execute(schema.migrations[version].encode())
    connection.execute("update soul_log set version = %s", (schema.version,))
    if schema.kinds:
        connection.execute("update soul_log set kinds = %s", (sorted(schema.kinds),))


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

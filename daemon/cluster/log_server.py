"""The log's database server: whether it can be reached, and whether it can hold the log.

A wrong setting is a ConfigError, which no waiting mends; everything else is a LogUnreachable.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import conninfo, sql
from psycopg.rows import tuple_row

from daemon.engine.exceptions import JournalError
from daemon.settings.database_url import shown_database_url
from daemon.settings.parse import ConfigError, is_loopback

Connection = psycopg.Connection[tuple[Any, ...]]

OLDEST_SERVER = 140_000
"""First version of PostgreSQL that has all the log needs, as `server_version_num`."""

CONNECT_SECONDS = 5

NOTICE_SECONDS = 5.0
"""Seconds within which a notice has to arrive."""

SESSION_MODE = (
    "LISTEN and session locks do not work there, as behind PgBouncer in transaction mode: connect to the"
    " server itself, or to a pool in session mode"
)


class LogUnreachable(JournalError):
    """The log's database cannot be used for now; waiting may help."""

    recorded_name = "LogUnreachable"


UNREADABLE = (
    "DATABASE_URL: a part of it is no text in UTF-8, or a host is no name: write an odd character as bytes"
    " of UTF-8, like %C3%A4, and names of hosts with at most 63 characters between two dots."
)

REFUSALS = (
    (
        re.compile("password authentication failed|no password supplied|role .* does not exist"),
        "refuses the user or the password: correct them in DATABASE_URL",
    ),
    (
        re.compile("database .* does not exist"),
        "has no database of that name: make it (createdb), or correct the name in DATABASE_URL",
    ),
    (
        re.compile("no pg_hba.conf entry|pg_hba.conf rejects"),
        "lets nobody in from this machine as that user: add a line to its pg_hba.conf",
    ),
    (
        re.compile("certificate|does not support SSL|sslmode"),
        "cannot be reached with the TLS that DATABASE_URL asks for: see sslmode and sslrootcert",
    ),
    (
        re.compile(
            r"invalid (\S+ )?value|unrecognized configuration parameter|invalid port number"
            "|definition of service|could not match"
        ),
        "cannot be reached with an option of DATABASE_URL: correct its value",
    ),
)
"""Answers of a server that waiting does not change, and what to do. In other languages they count as away."""

READ_ONLY = re.compile("session is read-only|server is in hot standby mode")
"""Answers of libpq to `target_session_attrs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """State of the log's server. `replicas` are connected now; `schema` holds the log's tables."""

    version: str
    schema: str
    host: str
    is_encrypted: bool
    synchronous_commit: str
    synchronous_standbys: str
    fsync: bool
    replicas: int

    @property
    def warnings(self) -> Sequence[str]:
        """Return a sentence for each way in which the log may lose or show what it holds."""
        return list(self._warnings())

    def _warnings(self) -> Iterator[str]:
        if self.synchronous_commit == "off":
            yield (
                "synchronous_commit is off at the journal's database: if its server crashes, it forgets"
                " entries that were acknowledged. Set it to on there."
            )
        if not self.fsync:
            yield (
                "fsync is off at the journal's database: if its machine crashes, the journal may be damaged."
                " Set it to on there."
            )
        if not self.is_encrypted and not is_local(self.host):
            yield (
                f"The journal's database on {self.host} is reached without TLS: whoever is in between can"
                " read the password and all conversations. Add sslmode=verify-full to DATABASE_URL."
            )


def is_local(host: str) -> bool:
    """True for this machine: a loopback address, or the folder of a socket."""
    return not host or host.startswith("/") or is_loopback(host)


def connect_to_server(url: str, name: str) -> Connection:
    """Connect to the log's server, in autocommit. Raises ConfigError or LogUnreachable."""
    _check_parameters(url)
    try:
        return psycopg.connect(
            url,
            autocommit=True,
            application_name=name,
            row_factory=tuple_row,
            connect_timeout=CONNECT_SECONDS,
        )
    except psycopg.Error as error:
        raise connection_error(error, url) from None  # psycopg's own errors hold the URL's parts


def _check_parameters(url: str) -> None:
    try:
        given = conninfo.conninfo_to_dict(url)
        for host in str(given.get("host") or "").split(","):
            if not host.startswith(("/", "@")):  # no folder of a socket
                host.encode("idna")
    except UnicodeError:
        raise ConfigError(UNREADABLE) from None
    except psycopg.Error as error:
        found = re.search('invalid URI query parameter: "(.*)"', str(error))
        why = f"has no parameter {found[1]}" if found else "cannot read it"
        raise ConfigError(f"DATABASE_URL: libpq {why}. Correct it.") from None


def connection_error(error: psycopg.Error, url: str) -> ConfigError | LogUnreachable:
    """Return the error for the owner, without the password."""
    said, where = without_password(str(error), url), shown_database_url(url)
    for answer, remedy in REFUSALS:
        if answer.search(said):
            return ConfigError(f"The server of {where} {remedy} ({_first_line(said)}).")
    if READ_ONLY.search(said):
        return LogUnreachable(f"{read_only_sentence(where)} ({_first_line(said)})")
    return LogUnreachable(unreachable_sentence(error, url))


def unreachable_sentence(error: psycopg.Error, url: str) -> str:
    said, where = without_password(str(error), url), shown_database_url(url)
    return f"The journal's database {where} cannot be reached ({_first_line(said)})."


def read_only_sentence(where: str) -> str:
    return (
        f"The server of {where} only reads, as a replica does or a server in recovery: nothing is written"
        " until it is the primary, or DATABASE_URL names the one that is."
    )


def without_password(text: str, url: str) -> str:
    """Return the text with the URL's password taken out."""
    try:
        password = conninfo.conninfo_to_dict(url).get("password")
    except psycopg.Error:
        return "its text is left out, as it may hold the password"
    return text.replace(str(password), "…") if password else text


def _first_line(text: str) -> str:
    return " ".join(text.strip().partition("\n")[0].split())


def examine_server(url: str, name: str = "soul:start") -> ServerFacts:
    """Check that the server can hold a log, and return its state. Raises ConfigError or LogUnreachable."""
    where = shown_database_url(url)
    with closing(connect_to_server(url, name)) as first, closing(connect_to_server(url, name)) as second:
        try:
            _check_version(first, where)
            _check_is_writable(first, where)
            _check_defaults(first, where)
            _check_schema(first, where)
            _check_session_mode(first, second, where)
            return _facts(first)
        except psycopg.Error as error:
            raise LogUnreachable(unreachable_sentence(error, url)) from None


def _check_version(connection: Connection, where: str) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        major = connection.info.server_version // 10_000
        raise ConfigError(
            f"The server of {where} is PostgreSQL {major}, and the journal needs 14 or newer: update it."
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ConfigError(
            f"The database {where} stores text as {encoding}, and the journal needs UTF8: make a database"
            " with `createdb --encoding UTF8 --template template0 NAME`."
        )


def _check_is_writable(connection: Connection, where: str) -> None:
    in_recovery, read_only = _row(
        connection, "select pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'"
    )
    if in_recovery or read_only:
        raise LogUnreachable(read_only_sentence(where))


def _check_defaults(connection: Connection, where: str) -> None:
    """Check what a URL, a role or a database may set: the log's functions need what is usual."""
    for name, usual in (("client_encoding", "UTF8"), ("default_transaction_isolation", "read committed")):
        [found] = _row(connection, "select current_setting(%s)", name)
        if found != usual:
            raise ConfigError(
                f"Sessions with {where} have {name}={found}, and the journal needs {usual}: leave it out"
                " of DATABASE_URL, or reset it for the role and the database there."
            )


def _check_schema(connection: Connection, where: str) -> None:
    role, schema, path = _row(
        connection, "select current_user, current_schema, current_setting('search_path')"
    )
    if schema is None:
        raise ConfigError(
            f"The database {where} has no schema {path}: make it (`create schema {path}`), or correct"
            " search_path in DATABASE_URL."
        )
    [may_create] = _row(connection, "select has_schema_privilege(current_schema, 'create')")
    if not may_create:
        raise ConfigError(
            f"The role {role} may not create tables in the schema {schema} of {where}: `grant create on"
            f" schema {schema} to {role}`, or give it a schema of its own."
        )


def _check_session_mode(first: Connection, second: Connection, where: str) -> None:
    """Check that what a session listens to and locks stays its own."""
    channel, key = sql.Identifier(f"soul_{uuid.uuid4().hex}"), uuid.uuid4().int % 2**62
    first.execute(sql.SQL("listen {}").format(channel))
    [locked] = _row(first, "select pg_try_advisory_lock(%s)", key)
    [locked_twice] = _row(second, "select pg_try_advisory_lock(%s)", key)
    if not locked or locked_twice:
        raise ConfigError(f"DATABASE_URL: {SESSION_MODE} ({where}).")
    second.execute(sql.SQL("notify {}").format(channel))
    if not list(first.notifies(timeout=NOTICE_SECONDS, stop_after=1)):
        raise ConfigError(f"DATABASE_URL: {SESSION_MODE} ({where}).")


def _facts(connection: Connection) -> ServerFacts:
    version, schema, commit, standbys, fsync, replicas = _row(
        connection,
        "select current_setting('server_version'), current_schema, current_setting('synchronous_commit'),"
        " current_setting('synchronous_standby_names'), current_setting('fsync') = 'on',"
        " (select count(*) from pg_stat_replication)",
    )
    return ServerFacts(
        version=version,
        schema=schema,
        host=connection.info.host,
        is_encrypted=bool(connection.pgconn.ssl_in_use),
        synchronous_commit=commit,
        synchronous_standbys=standbys,
        fsync=fsync,
        replicas=replicas,
    )


def _row(connection: Connection, query: str, *values: object) -> tuple[Any, ...]:
    found = connection.execute(query.encode(), values).fetchone()
    assert found is not None
    return found

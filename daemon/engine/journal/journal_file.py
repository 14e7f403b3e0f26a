"""The journal's file: opening, versions, and the lock, which ends with its process."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from urllib.parse import quote

from daemon.engine.event import EventCodec
from daemon.engine.exceptions import JournalDamaged, JournalError, JournalLocked, JournalVersionError
from daemon.engine.journal.rows import DIGESTS, FOLDED_TABLES, TABLES, JournalTables, decode_text
from daemon.engine.journal.writer import WritableTables
from daemon.engine.kinds import LEASES

VERSION = 4

UNDIGESTED = 3
"""Version without digests. Opening it for writing upgrades it, and older programs then refuse it."""

DAMAGE = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FORMAT}
)
"""SQLite's codes for a damaged file or disk."""

RESTORE = (
    "put a copy of the journal back, without the -wal and -shm of this one,"
    " or move it away to begin a new one"
)

NO_JSON = "malformed JSON"
LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL})

LOG_BYTES = 4 * 2**20
"""Size in bytes to which a checkpoint cuts the write-ahead log."""

log = logging.getLogger(__name__)


@contextmanager
def as_journal_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise journal_error(error) from error


def journal_error(error: sqlite3.Error) -> JournalError:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and (code & 0xFF in DAMAGE or NO_JSON in str(error)):
        return damage_error(str(error))
    return JournalError(f"The journal could not be read ({error}).")


def is_damage(error: BaseException | None) -> bool:
    """True if an error, or its cause, says that the file is damaged."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGE
    return isinstance(error, JournalDamaged) or (error is not None and is_damage(error.__cause__))


def damage_error(why: str) -> JournalDamaged:
    return JournalDamaged(f"The journal is damaged ({why}). Stop the daemon, and {RESTORE}.")


def open_store(path: Path) -> WritableTables:
    """Open the tables for writing; create or upgrade them if necessary. Raises JournalError."""
    mend = " Make it this user's, make room on its disk, put a copy back, or move it away to begin a new one."
    with _as_journal(path, "opened", mend):
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=2.0)
        connection.text_factory = decode_text
        version = _version_of(connection)  # before anything is written to a file of others
        for pragma in ("journal_mode = wal", "synchronous = full", f"journal_size_limit = {LOG_BYTES}"):
            connection.execute(f"pragma {pragma}")
        connection.execute("begin immediate")
        if version == 0:
            _create(connection, TABLES)
        else:
            _create(connection, FOLDED_TABLES)  # missing tables are filled later
        if version == UNDIGESTED:
            _create(connection, DIGESTS)
        if version != VERSION:
            connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    return WritableTables(connection, path)


def open_readonly(path: Path, *, snapshot: bool = True) -> JournalTables:
    """Open the tables for reading. Raises JournalError.

    A `snapshot` lets the write-ahead log grow: not for readers that pause.
    """
    if not os.path.isfile(path):  # noqa: PTH113  Path.is_file raises where a folder is closed to us
        raise JournalError(f"There is no journal at {path}. Name the file, or start the daemon to make one.")
    with _as_journal(path, "read", ""):
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None)
        connection.text_factory = decode_text
        if snapshot:
            connection.execute("begin")
        digested = _version_of(connection) > UNDIGESTED
        store = JournalTables(connection, path, digested=digested)
        store.last()
    return store


def rebuild_folded_tables(store: WritableTables, kinds: EventCodec) -> None:
    """Rebuild tables of projections that differ from the entries. Raises JournalDamaged, without changes."""
    for table, names in folded_kinds(kinds).items():
        with as_journal_errors():
            stored, replayed = set(store.folded(table)), set(store.replay(table, names))
            if stored == replayed:
                continue
            store.replace(table, replayed)
        log.warning(
            "The journal's table %s was not what its entries say (%d rows in place of %d, %d wrong):"
            " it was made anew from them.",
            *(table, len(stored), len(replayed), len(stored ^ replayed)),
        )


def folded_kinds(kinds: EventCodec) -> Mapping[str, Sequence[str]]:
    """Return the kinds of entries by table of a projection."""
    return {"pending": [each.kind for each in kinds if each.pending], "lease": kinds.kind_names(LEASES)}


@contextmanager
def _as_journal(path: Path, done: str, hint: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in LOCKED:
            hint = " Another program holds it: end that one, or wait for it, and start again."
        raise JournalError(f"{path} cannot be {done} as a journal ({error}).{hint}") from error
    except JournalError as error:
        raise type(error)(f"{path} cannot be {done} as a journal. {error}") from error


def _version_of(connection: sqlite3.Connection) -> int:
    """Return the file's version; 0 if it is new. Raises JournalError for a file of another program."""
    [version] = connection.execute("pragma user_version").fetchone()
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
    if version not in (0, UNDIGESTED, VERSION):
        raise JournalVersionError(
            f"It is of version {version}, and this program reads version {VERSION}."
            " Run the version that wrote it, or name another journal."
        )
    if "entry" not in tables and (tables or version):
        raise JournalError("It has no table of entries.")
    if tables and not version:
        raise JournalError("It has tables of another program.")
    return int(version)


def _create(connection: sqlite3.Connection, tables: str) -> None:
    for statement in tables.split(";"):
        connection.execute(statement)


PRIVATE = 0o600
"""Mode of the journal's files, which contain private thoughts."""

LOCK_RETRY_SECONDS = 0.05
"""Seconds before a second try for the lock, since a check of the lock holds it for a moment."""


@contextmanager
def hold_lock(journal: Path) -> Iterator[None]:
    """Hold the journal's lock. Raises JournalLocked if another process has it, JournalError if it cannot be
    used.
    """
    path = journal.with_name(journal.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for made in (path, journal):
            make_private(made)
        file = path.open("a+b", buffering=0)  # unbuffered, so that closing does not write to a full disk
    except OSError as error:
        raise _lock_error(path, error) from error
    with file:
        try:
            _lock(file, journal)
        except OSError as error:
            raise _lock_error(path, error) from error
        yield


def make_private(path: Path) -> None:
    """Make a file for this user alone, unless it exists; SQLite's other files get its mode, too."""
    if not path.exists():
        path.touch(mode=PRIVATE)


def _lock(file: FileIO, journal: Path) -> None:
    if not _try_lock(file):
        time.sleep(LOCK_RETRY_SECONDS)
        if not _try_lock(file):
            file.seek(0)
            holder = file.read().decode(errors="replace").strip() or "unknown"
            raise JournalLocked(
                f"Another daemon (process {holder}) holds the journal {journal}."
                " Stop it first, or give this one a journal of its own."
            )
    file.truncate(0)
    file.write(str(os.getpid()).encode())


def _try_lock(file: FileIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_error(path: Path, error: OSError) -> JournalError:
    return JournalError(
        f"The lock {path} cannot be used ({error.strerror})."
        " Make it and its folder this user's, make room on the disk, or put the journal in another folder."
    )


def lock_holder(journal: Path) -> str:
    """Return the id of the process that has the journal's lock; empty if none has."""
    try:
        with journal.with_name(journal.name + ".lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return journal.with_name(journal.name + ".lock").read_text().strip() or "unknown"
    except OSError:
        return ""
    return ""

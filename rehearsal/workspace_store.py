"""SQLite file of the workspace, and its stamps.

A stamp is Slack's `ts`, a message's id and time, in whole microseconds.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from rehearsal.people import ALICE, APPS, BOB, ECHO, PEOPLE, SOUL
from rehearsal.refusal import ApiError
from rehearsal.timekeeping import RehearsalClock

SCHEMA = """
create table if not exists stamp (last integer not null);
create table if not exists channel (
  place integer primary key, id text not null unique, kind text not null, name text not null,
  creator text not null, created integer not null
);
create table if not exists member (channel text not null, user text not null, primary key (channel, user));
create table if not exists message (
  stamp integer primary key, channel text not null, thread integer, broadcast integer not null,
  streaming real, body text not null
);
create index if not exists message_by_channel on message (channel, stamp);
create index if not exists message_by_thread on message (channel, thread, stamp);
create table if not exists file (
  id text primary key, user text not null, name text not null, title text not null, size integer not null,
  created integer not null, ticket text unique, content blob, shared integer not null default 0
);
create table if not exists share (file text not null, channel text not null, stamp integer not null);
create index if not exists share_by_file on share (file);
create table if not exists delivery (
  id integer primary key, app text not null, event_id text not null, payload text not null,
  attempts integer not null default 0, sent real, acked real
);
create index if not exists delivery_waiting on delivery (app, id) where acked is null;
"""
MICROS = 1_000_000
EVERYBODY = tuple(person.id for person in PEOPLE)
PUBLIC = {
    "general": ("C0GENERAL01", (*EVERYBODY, SOUL.user, ECHO.user)),
    "random": ("C0RANDOM002", (*EVERYBODY, SOUL.user, ECHO.user)),
    "workshop": ("C0WORKSHOP3", (*EVERYBODY, SOUL.user)),
}
PRIVATE = {"backroom": ("C0BACKROOM4", (ALICE.id, BOB.id, SOUL.user))}


def open_store(path: Path) -> sqlite3.Connection:
    """Open or create the store. Raises OSError with advice."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)  # private messages
        db = sqlite3.connect(path)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.executescript(SCHEMA)
        with db:
            if db.execute("update stamp set last = last").rowcount == 0:
                _fill(db)
    except (OSError, sqlite3.Error) as error:
        raise OSError(
            f"{path} cannot be opened as a rehearsed workspace ({error}). "
            "Make it and its folder this user's, make room on the disk, or move it away to begin a new one."
        ) from error
    return db


def add_channel(db: sqlite3.Connection, id: str, kind: str, name: str, members: tuple[str, ...]) -> None:
    """Add a conversation; the first member is its creator."""
    sql = (
        "insert into channel (id, kind, name, creator, created) values (?, ?, ?, ?, (select last from stamp))"
    )
    db.execute(sql, (id, kind, name, members[0]))
    db.executemany("insert into member values (?, ?)", [(id, member) for member in members])


def mint(db: sqlite3.Connection, clock: RehearsalClock) -> int:
    """Return a new stamp: now, or just after the last one."""
    sql = "update stamp set last = max(last + 1, ?) returning last"
    row: tuple[int] = db.execute(sql, (int(clock.now() * MICROS),)).fetchone()
    return row[0]


def ts_of(micros: int) -> str:
    return f"{micros // MICROS}.{micros % MICROS:06d}"


def micros_of(ts: str, error: str = "invalid_ts") -> int:
    """Parse a stamp or a number of seconds. Raises ApiError with `error`."""
    found = re.fullmatch(r"(\d{1,12})(?:\.(\d{1,6}))?", ts)
    if found is None:
        raise ApiError(error)
    return int(found[1]) * MICROS + int((found[2] or "").ljust(6, "0"))


def _fill(db: sqlite3.Connection) -> None:
    db.execute("insert into stamp values (0)")
    for name, (id, members) in PUBLIC.items():
        add_channel(db, id, "channel", name, members)
    for name, (id, members) in PRIVATE.items():
        add_channel(db, id, "group", name, members)
    for person in PEOPLE:
        for number, app in enumerate(APPS, start=1):
            add_channel(db, f"D0{person.name.upper():0<8}{number}", "im", "", (person.id, app.user))

"""Slack's `ts`: the name of a message and its place in time. In the store: whole microseconds."""

from __future__ import annotations

import re
import sqlite3

from daemon.ports import Clock
from daemon.rehearsal.refusal import Refused

MICROS = 1_000_000


def mint(db: sqlite3.Connection, clock: Clock) -> int:
    """A new stamp: now, or just after the last one given out in this workspace."""
    sql = "update stamp set last = max(last + 1, ?) returning last"
    row: tuple[int] = db.execute(sql, (int(clock.now() * MICROS),)).fetchone()
    return row[0]


def ts_of(micros: int) -> str:
    """The stamp as Slack writes it."""
    return f"{micros // MICROS}.{micros % MICROS:06d}"


def micros_of(ts: str, error: str = "invalid_ts") -> int:
    """The stamp that was written so, or a plain number of seconds; refused with `error` otherwise."""
    found = re.fullmatch(r"(\d{1,12})(?:\.(\d{1,6}))?", ts)
    if found is None:
        raise Refused(error)
    return int(found[1]) * MICROS + int((found[2] or "").ljust(6, "0"))

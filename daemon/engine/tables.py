"""The journal's tables in SQLite, and a row of `entry`: before it is written, and as it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FOLDED_TABLES = """
create table if not exists pending(seq integer primary key, thread text not null, kind text not null);
create index if not exists pending_by_kind on pending(kind, thread);
create table if not exists lease(thread text primary key, epoch integer not null)
"""
TABLES = f"""
create table entry(
  seq integer primary key, thread text not null, kind text not null, author text not null, body text not null,
  key text not null unique, cause integer, closes text not null, at real not null, digest blob);
create index entry_by_thread on entry(thread, kind, seq);
create index entry_by_kind on entry(kind, at);
create unique index entry_opens_thread on entry(thread) where kind = 'thread';
{FOLDED_TABLES}"""
"""The last index: two conversations never share an id."""
DIGESTS = """
alter table entry add column digest blob;
create table undigested(since integer not null, upto integer not null);
insert into undigested select 0, coalesce(max(seq), 0) from entry
"""
"""Turns tables of version 3, which had no digests, into today's. As long as `undigested` is there, the
entries after `since`, up to `upto`, may have none."""

REPLAYS: Mapping[str, str] = {
    "pending": "select seq, thread, kind from entry where kind in (select value from json_each(?))"
    " and seq not in (select value from entry, json_each(closes) where closes <> '[]') order by 1",
    "lease": "select thread, max(seq) from entry where kind in (select value from json_each(?))"
    " group by thread order by 1",
}
"""Each folded table as a replay of all entries gives it."""

ROW = "seq, thread, kind, author, body, key, cause, closes, at"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """An entry as it stands in the file. `pending` and `leases` say what it changes in the folded tables."""

    thread: str
    kind: str
    author: str
    body: str
    key: str
    cause: int | None
    closes: tuple[int, ...]
    moot: tuple[int, ...]
    """What it closes besides, if nothing has closed that by then."""
    at: float
    pending: bool
    leases: bool


Stored = tuple[int, str, str, str, str, str, int | None, str, float]
"""A row that was read, in the order of ROW."""

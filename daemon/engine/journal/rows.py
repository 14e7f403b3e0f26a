"""The journal's tables in SQLite: statements, rows and digests.

The table `entry` is the journal; `pending` and `lease` are projections, written in the same transaction.
Digests show accidental damage only: whoever can write the file can write digests.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from daemon.engine.event import NO_DATE, Entry, Event, EventCodec, forgotten_mark

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
"""Tables of a new journal. The last index keeps thread ids unique."""

DIGESTS = """
alter table entry add column digest blob;
create table undigested(since integer not null, upto integer not null);
insert into undigested select 0, coalesce(max(seq), 0) from entry
"""
"""Upgrade of version 3. While the table `undigested` exists, entries in its range may lack digests."""

REPLAYS: Mapping[str, str] = {
    "pending": "select seq, thread, kind from entry where kind in (select value from json_each(?))"
    " and seq not in (select value from entry, json_each(closes) where closes <> '[]') order by 1",
    "lease": "select thread, max(seq) from entry where kind in (select value from json_each(?))"
    " group by thread order by 1",
}
"""Query over all entries for the rows of each projection."""

ROW = "seq, thread, kind, author, body, key, cause, closes, at"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """Row to be written. `pending` and `leases` say if it is added to these projections.

    `tree` is the root of a tree of threads that has something to do by it; else empty.
    """

    thread: str
    kind: str
    author: str
    body: str
    key: str
    cause: int | None
    closes: tuple[int, ...]
    moot: tuple[int, ...]
    at: float
    pending: bool
    leases: bool
    tree: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    seq: int
    row: EntryRow


Stored = tuple[int, str, str, str, str, str, int | None, str, float]
E = TypeVar("E", bound=Event)
SEQS = TypeAdapter(tuple[int, ...])


def entry_from_written(row: EntryRow, seq: int, event: E) -> Entry[E]:
    return Entry(
        seq=seq,
        thread=row.thread,
        author=row.author,
        key=row.key,
        cause=row.cause,
        closes=row.closes,
        at=row.at,
        event=event,
    )


def entry_from_row(row: Stored, kinds: EventCodec) -> Entry[Any]:
    """Decode a row. Raises ValueError with the names of damaged columns."""
    seq, thread, kind, author, body, key, cause, closes, at = row
    closed = parse_seqs(closes)
    if closed is None or not _is_sound(row):
        damaged = list(_damaged_columns(row))
        if damaged:
            raise ValueError(f"its {', '.join(damaged)}")
    return Entry(
        seq=seq,
        thread=thread,
        author=author,
        key=key,
        cause=cause,
        closes=closed or (),
        at=at,
        event=kinds.load(kind, body),
        forgotten=forgotten_mark(body),
    )


def _is_sound(row: Stored) -> bool:
    _, thread, kind, author, body, key, cause, _, at = row
    return (
        type(thread) is type(kind) is type(author) is type(body) is type(key) is str
        and bool(thread and kind and author and body and key)
        and (cause is None or type(cause) is int)
        and type(at) is float
        and 0 <= at < NO_DATE
    )


def _damaged_columns(row: Stored) -> Iterator[str]:
    """Yield the names of damaged columns, since SQLite stores any type in any column."""
    _, thread, kind, author, body, key, cause, closes, at = row
    texts = {"thread": thread, "kind": kind, "author": author, "body": body, "key": key}
    for name, text in texts.items():
        if not text or not isinstance(text, str):
            yield name
    if not isinstance(cause, int | None):
        yield "cause"
    if parse_seqs(closes) is None:
        yield "closes"
    if not isinstance(at, int | float) or not 0 <= at < NO_DATE:
        yield "at"


def parse_seqs(text: str) -> tuple[int, ...] | None:
    """Parse the column `closes`; return None if it is damaged."""
    if text == "[]":
        return ()
    try:
        return SEQS.validate_json(text, strict=True)
    except ValueError:
        return None


DIGEST_BYTES = 16
"""Bytes of a digest, enough against collisions."""


def digest_of_row(row: Stored) -> bytes:
    """Return the digest of a row and its seq.

    The lengths of texts precede them, so that no text can move to the next column unnoticed.
    """
    seq, thread, kind, author, body, key, cause, closes, at = row
    try:
        lengths = f"{len(thread)} {len(kind)} {len(author)} {len(key)} {len(closes)}"
    except TypeError:  # a damaged column is not a text
        return digest_of_row(
            (seq, repr(thread), repr(kind), repr(author), body, repr(key), cause, repr(closes), at)
        )
    recorded = f"{seq} {cause!r} {at!r} {lengths}\n{thread}{kind}{author}{key}{closes}{body}"
    return hashlib.sha256(recorded.encode(errors="surrogatepass")).digest()[:DIGEST_BYTES]


ROWS_AT_ONCE = 500
"""Rows read at once."""

FEW_ENTRIES = 200
"""Number of entries below which a scan is faster than the kind index."""

SHORT_RANGE = 20_000
"""Number of entries in a range up to which a scan is faster than the kind index."""

JSON_VALUES = "(select value from json_each(?))"


def index_path(journal: Path) -> Path:
    """Return the path of a journal's search index, which erasing deletes."""
    return journal.with_name(f"{journal.stem}.index{journal.suffix}")


def delete_database(file: Path) -> None:
    """Delete a database and its side files. Raises OSError.

    The write-ahead log is deleted first, so that a new database never finds an old log.
    """
    for made in ("-wal", "-shm", "-journal", ""):
        file.with_name(f"{file.name}{made}").unlink(missing_ok=True)


class JournalTables:
    """Connection to the tables of a journal. Methods raise sqlite3.Error.

    `digested`: the table `entry` has a column for digests.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, digested: bool = True) -> None:
        self._db = connection
        self._digested = digested
        self.path = path

    @property
    def connection(self) -> sqlite3.Connection:
        return self._db

    def close(self) -> None:
        self._db.close()

    def rollback(self) -> None:
        """End the transaction, if there is one: of a reader its snapshot."""
        if self._db.in_transaction:
            self._db.execute("rollback")

    # Reading projections

    def epoch(self, thread: str) -> int | None:
        return self._number("select epoch from lease where thread = ?", thread)

    def is_pending(self, seq: int) -> bool:
        return self._number("select seq from pending where seq = ?", seq) is not None

    def still_pending(self, seqs: Sequence[int]) -> list[int]:
        query = f"select seq from pending where seq in {JSON_VALUES} order by seq"
        return self._column(query, _json(seqs))

    def pending(self, kinds: Iterable[str], thread: str | None = None) -> list[Stored]:
        which = f"kind in {JSON_VALUES}"
        values = [_json(kinds)]
        if thread is not None:
            which += " and thread = ?"
            values.append(thread)
        return self._rows(f"seq in (select seq from pending where {which})", *values)

    def pending_seqs(self, kinds: Iterable[str]) -> list[int]:
        query = f"select seq from pending where kind in {JSON_VALUES} order by seq"
        return self._column(query, _json(kinds))

    def threads_with_pending(self, kinds: Iterable[str], root: str = "") -> list[str]:
        """Return the threads with pending rows of these kinds, or those whose names begin with `root`."""
        query, asked = f"select thread from pending where kind in {JSON_VALUES}", [_json(kinds)]
        if root:
            query, asked = f"{query} and thread >= ? and thread < ?", [*asked, *_range(root)]
        return self._column(f"{query} group by thread order by min(seq)", *asked)

    def latest_attempts(self, since: int) -> list[tuple[str, int]]:
        return self._db.execute(
            "select thread, epoch from lease where epoch > ? order by epoch", (since,)
        ).fetchall()

    # Reading entries

    def get(self, key: str) -> Stored | None:
        found = self._rows("key = ?", key)
        return found[0] if found else None

    def seq_of(self, key: str, thread: str = "") -> int | None:
        return self._number("select seq from entry where key = ? and ? in ('', thread)", key, thread)

    def at_seqs(self, seqs: Sequence[int]) -> list[Stored]:
        return self._rows(f"seq in {JSON_VALUES}", _json(seqs))

    def under(self, path: str) -> list[Stored]:
        return self._rows("key >= ? and key < ?", f"{path}/", f"{path}0")  # "0" follows "/"

    def parts(self, key: str) -> list[Stored]:
        return self._rows("key >= ? and key < ?", f"{key}!", f'{key}"')  # '"' follows "!"

    def beginning_with(self, name: str) -> list[Stored]:
        """Return the rows of an execution and its restarts, or of a turn, by the beginning of their keys."""
        found = list[Stored]()
        for sign in "!/~":
            found += self._rows("key >= ? and key < ?", *_range(f"{name}{sign}"))
        return found

    def of_thread(
        self, thread: str, kinds: Iterable[str], since: int, most: int | None = None
    ) -> list[Stored]:
        names = list(kinds)
        where = "thread = ? and seq > ?"
        values: list[object] = [thread, since]
        if names:
            where += f" and kind in {JSON_VALUES}"
            values.append(_json(names))
        if most is not None:
            where = f"seq in (select seq from entry where {where} order by seq limit ?)"
            values.append(most)
        return self._rows(where, *values)

    def of_descendants(self, thread: str, kinds: Iterable[str], since: int) -> list[Stored]:
        """Return the rows of a thread's descendants.

        `+` keeps SQLite on the thread index: few threads have descendants, and other indexes would read
        everything.
        """
        names = list(kinds)
        where = "thread > ? and thread < ? and +seq > ?"
        values: list[object] = [f"{thread}.", f"{thread}/", since]  # "/" follows "."
        if names:
            where += f" and +kind in {JSON_VALUES}"
            values.append(_json(names))
        return self._rows(where, *values)

    def latest(self, thread: str, kind: str, before: int) -> Stored | None:
        """Return a thread's last row of this kind.

        `(select ?)` instead of `?` spares SQLite from preparing the query again for each kind.
        """
        found: Stored | None = self._db.execute(
            f"select {ROW} from entry where thread = ? and kind = (select ?) and seq < ?"
            " order by seq desc limit 1",
            (thread, kind, before),
        ).fetchone()
        return found

    def count(self, thread: str, kinds: Iterable[str], before: int) -> int:
        query = f"select count(*) from entry where thread = ? and kind in {JSON_VALUES} and seq < ?"
        return self._number(query, thread, _json(kinds), before) or 0

    def of_kinds(self, kinds: Iterable[str], since: int, at: float) -> list[Stored]:
        where = f"{_kind(self.last() - since)} in {JSON_VALUES} and seq > ? and at >= ?"
        return self._rows(where, _json(kinds), since, at)

    def seqs_of_kinds(self, kinds: Iterable[str], since: int, upto: int) -> list[int]:
        where = f"{_kind(upto - since)} in {JSON_VALUES} and seq > ? and seq <= ?"
        return self._column(f"select seq from entry where {where} order by seq", _json(kinds), since, upto)

    def seqs_between(
        self, root: str, path: str, since: int, before: int, limit: int, *, newest: bool
    ) -> list[int]:
        """Return the seqs that `seqs_between` asks for.

        `+` keeps SQLite on the thread or key index; by seq, it might read everything.
        """
        text = "select seq from entry where +seq > ? and +seq < ?"
        values: list[object] = [since, before]
        if path:
            text += " and key >= ? and key < ?"
            values += [f"{path}/", f"{path}0"]  # "0" follows "/"
        elif root:
            text = f"{text} and thread = ? union all {text} and thread > ? and thread < ?"
            values += [root, *values, f"{root}.", f"{root}/"]  # "/" follows "."
        else:
            text = "select seq from entry where seq > ? and seq < ?"
        text += " order by seq"
        if newest:
            text += " desc"
        return sorted(self._column(f"{text} limit ?", *values, limit))

    def iterate(self, seqs: Sequence[int], *, newest: bool) -> Iterator[Stored]:
        query = f"select {ROW} from entry where seq in {JSON_VALUES} order by seq"
        if newest:
            query += " desc"
        return self._one_by_one(query, _json(seqs))

    def like(self, patterns: Sequence[str], since: int, before: int) -> Iterator[Stored]:
        return self._like("seq > ? and seq < ?", [since, before], patterns)

    def like_among(self, patterns: Sequence[str], seqs: Sequence[int]) -> Iterator[Stored]:
        return self._like(f"seq in {JSON_VALUES}", [_json(seqs)], patterns)

    def _like(self, where: str, values: list[object], patterns: Sequence[str]) -> Iterator[Stored]:
        where += " and body like ? escape '~'" * len(patterns)
        query = f"select {ROW} from entry not indexed where {where} order by seq desc"
        return self._one_by_one(query, *values, *patterns)

    def between(self, since: int, upto: int, kinds: Iterable[str]) -> list[Stored]:
        """Return the rows after `since` up to `upto`. `+` keeps SQLite off the kind index, which would read
        everything.
        """
        return self._rows(f"seq > ? and seq <= ? and +kind in {JSON_VALUES}", since, upto, _json(kinds))

    def fields(
        self, kinds: Iterable[str], paths: Sequence[str], since: int, upto: int, at: float
    ) -> list[tuple[Any, ...]]:
        # `+` keeps SQLite off the kind index if the range is short
        kind = "+kind" if 0 < upto - since <= SHORT_RANGE else "kind"
        where = f"{kind} in {JSON_VALUES} and seq > ? and seq <= ? and at >= ? and json_valid(body)"
        row = f"seq, thread, kind, at, json_extract(body, {', '.join('?' * len(paths))})"
        text = f"select {row} from entry where {where} order by seq"
        return self._db.execute(text, (*paths, _json(kinds), since, upto, at)).fetchall()

    def fields_below(
        self, prefix: str, kinds: Iterable[str], paths: Sequence[str], since: int, upto: int
    ) -> list[tuple[Any, ...]]:
        row = f"seq, thread, kind, at, json_extract(body, {', '.join('?' * len(paths))})"
        threads = "select thread from entry where key >= ? and key < ?"
        where = (
            f"thread in ({threads}) and kind in {JSON_VALUES} and +seq > ? and +seq <= ? and json_valid(body)"
        )
        text = f"select {row} from entry where {where} order by seq"
        return self._db.execute(text, (*paths, *_range(prefix), _json(kinds), since, upto)).fetchall()

    def threads_below(self, prefix: str) -> list[str]:
        query = "select thread from entry where key >= ? and key < ? order by seq desc"
        return self._column(query, *_range(prefix))

    def last_below(self, prefix: str, before: int) -> Stored | None:
        last = "select max(seq) from entry where key >= ? and key < ? and +seq < ?"
        found = self._rows(f"seq = ({last})", *_range(prefix), before)
        return found[0] if found else None

    def containing(self, kinds: Iterable[str], text: str, since: int, upto: int) -> list[Stored]:
        where = f"{_kind(upto - since)} in {JSON_VALUES} and seq > ? and seq <= ? and instr(body, ?)"
        return self._rows(where, _json(kinds), since, upto, text)

    def recently_active(
        self, roots: Iterable[str], active: Iterable[str], at: float
    ) -> Iterator[tuple[Stored, float]]:
        found = self._db.execute(
            f"select {ROW}, last from entry join (select thread as lively, max(at) as last from entry"
            f" where kind in {JSON_VALUES} and at >= ? group by thread)"
            f" on thread = lively where kind in {JSON_VALUES} order by last desc",
            (_json(active), at, _json(roots)),
        )
        for *row, last in found:
            yield cast(Stored, tuple(row)), last

    def after(self, seq: int) -> Generator[Stored]:
        return self._one_by_one(f"select {ROW} from entry where seq > ? order by seq", seq)

    def _one_by_one(self, query: str, *values: object) -> Generator[Stored]:
        with closing(self._db.execute(query, values)) as rows:
            yield from rows

    def rows(self, upto: int) -> Iterator[Stored]:
        part = self._next_rows(0, upto)
        while part:
            yield from part
            part = self._next_rows(part[-1][0], upto)

    def rows_and_digests(self) -> Iterator[tuple[Stored, object]]:
        digest = "digest" if self._digested else "null"
        since = 0
        while part := self._next_rows(since, self.last(), digest):
            for row in part:
                yield row[:-1], row[-1]
            since = part[-1][0]

    def _next_rows(self, since: int, upto: int, *more: str) -> list[Any]:
        """Return the next rows. SQLite decodes texts itself, which is faster, unless one is damaged."""
        columns = ", ".join([ROW, *more])
        query = f"select {columns} from entry where seq > ? and seq <= ? order by seq limit {ROWS_AT_ONCE}"
        careful = self._db.text_factory
        self._db.text_factory = str
        try:
            return self._db.execute(query, (since, upto)).fetchall()
        except sqlite3.OperationalError:
            self._db.text_factory = careful
            return self._db.execute(query, (since, upto)).fetchall()
        finally:
            self._db.text_factory = careful

    def heads(self, seq: int, limit: int) -> list[tuple[int, str, str, str]]:
        return self._db.execute(
            "select seq, thread, kind, closes from entry where seq > ? order by seq limit ?", (seq, limit)
        ).fetchall()

    def first_after(self, seq: int, now: float) -> tuple[int, float] | None:
        found: tuple[int, float] | None = self._db.execute(
            "select seq, at from entry where seq > ? and at <= ? order by seq limit 1", (seq, now)
        ).fetchone()
        return found

    def last(self) -> int:
        return self._number("select max(seq) from entry") or 0

    def _number(self, query: str, *values: object) -> int | None:
        found: tuple[int | None] | None = self._db.execute(query, values).fetchone()
        if found is None:
            return None
        return found[0]

    def _column(self, query: str, *values: object) -> list[Any]:
        return [row[0] for row in self._db.execute(query, values)]

    def _rows(self, where: str, *values: object) -> list[Stored]:
        text = f"select {ROW} from entry where {where} order by seq"
        return self._db.execute(text, values).fetchall()

    # Checks

    def problems(self, *, quick: bool = False) -> list[str]:
        check = "integrity_check"
        if quick:
            check = "quick_check(1)"
        found = self._column(f"pragma {check}")
        return [text for text in found if text != "ok"]

    def duplicate_keys(self) -> list[tuple[int, str]]:
        return self._db.execute("select max(seq), key from entry group by key having count(*) > 1").fetchall()

    def undigested(self) -> tuple[int, int] | None:
        if not self._digested:
            return 0, self.last()
        if self._number("select 1 from sqlite_master where name = 'undigested'") is None:
            return None
        between: tuple[int, int] | None = self._db.execute("select since, upto from undigested").fetchone()
        return between

    def folded(self, table: str) -> list[tuple[Any, ...]]:
        return self._db.execute(f"select * from {table} order by 1").fetchall()

    def replay(self, table: str, kinds: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return the rows that a projection should have. `kinds` are those of its entries."""
        return self._db.execute(REPLAYS[table], (_json(kinds),)).fetchall()


def _kind(entries: int) -> str:
    """Return the column `kind`, with `+` against its index if there are few entries."""
    if entries < FEW_ENTRIES:
        return "+kind"
    return "kind"


def _range(prefix: str) -> tuple[str, str]:
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _json(values: Iterable[object]) -> str:
    return json.dumps(list(values))


def decode_text(raw: bytes) -> str | bytes:
    """Decode a text. A damaged one stays bytes, so that the rest of the row can be read."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw

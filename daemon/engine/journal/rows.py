"""Tables of the journal in SQLite: statements, rows and digests.

`entry` is the journal; `pending` and `lease` are projections, updated in the same transaction. Digests reveal
accidents, not intent: whoever writes the file can write digests.
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
"""The last index keeps thread ids unique."""


DIGESTS = """
alter table entry add column digest blob;
create table undigested(since integer not null, upto integer not null);
insert into undigested select 0, coalesce(max(seq), 0) from entry
"""
"""Upgrade from version 3, which had no digests; while `undigested` exists, its range may lack them."""


REPLAYS: Mapping[str, str] = {
    "pending": "select seq, thread, kind from entry where kind in (select value from json_each(?))"
    " and seq not in (select value from entry, json_each(closes) where closes <> '[]') order by 1",
    "lease": "select thread, max(seq) from entry where kind in (select value from json_each(?))"
    " group by thread order by 1",
}
"""Each projection as a query over all entries."""


ROW = "seq, thread, kind, author, body, key, cause, closes, at"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """Row to be written. `pending` and `leases` say how it changes projections."""

    thread: str
    kind: str
    author: str
    body: str
    key: str
    cause: int | None
    closes: tuple[int, ...]
    moot: tuple[int, ...]
    """Seqs that it also closes, if still pending."""
    at: float
    pending: bool
    leases: bool


Stored = tuple[int, str, str, str, str, str, int | None, str, float]
"""Row as read, in the order of ROW."""


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
    """Decode a row. Raises ValueError naming the damaged columns."""
    seq, thread, kind, author, body, key, cause, closes, at = row
    closed = parse_seqs(closes)
    if closed is None or not _looks_right(row):
        amiss = list(_strays(row))
        if amiss:
            raise ValueError(f"its {', '.join(amiss)}")
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


def _looks_right(row: Stored) -> bool:
    """True if columns have their usual types: a fast check."""
    _, thread, kind, author, body, key, cause, _, at = row
    return (
        type(thread) is type(kind) is type(author) is type(body) is type(key) is str
        and bool(thread and kind and author and body and key)
        and (cause is None or type(cause) is int)
        and type(at) is float
        and 0 <= at < NO_DATE
    )


def _strays(row: Stored) -> Iterator[str]:
    """Yield damaged columns: SQLite stores any type anywhere."""
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
    """Parse the `closes` column; None if damaged."""
    if text == "[]":
        return ()
    try:
        return SEQS.validate_json(text, strict=True)
    except ValueError:
        return None


DIGEST_BYTES = 16
"""Bytes of a digest: safe against collisions, at 17 bytes a row."""


def digest_of_row(row: Stored) -> bytes:
    """Return a row's digest, with its seq, so that swapped rows are found.

    Lengths precede texts, so that nothing can move between columns. Damaged cells count as their `repr`.
    """
    seq, thread, kind, author, body, key, cause, closes, at = row
    try:
        lengths = f"{len(thread)} {len(kind)} {len(author)} {len(key)} {len(closes)}"
    except TypeError:  # not a text
        return digest_of_row(
            (seq, repr(thread), repr(kind), repr(author), body, repr(key), cause, repr(closes), at)
        )
    recorded = f"{seq} {cause!r} {at!r} {lengths}\n{thread}{kind}{author}{key}{closes}{body}"
    return hashlib.sha256(recorded.encode(errors="surrogatepass")).digest()[:DIGEST_BYTES]


PART = 500
"""Rows per query."""


FEW = 200
"""Entries that are scanned faster than looked up."""


SPAN = 20_000
"""Entries of a range that are scanned faster than a whole kind."""


THESE = "(select value from json_each(?))"
"""Values of a JSON list parameter."""


def index_path(journal: Path) -> Path:
    """Return the path of a search index. It may be deleted any time, and is by erasing."""
    return journal.with_name(f"{journal.stem}.index{journal.suffix}")


def delete_database(file: Path) -> None:
    """Delete a database and its side files. Raises OSError.

    The log goes first, so that a kill leaves no log to a new file.
    """
    for made in ("-wal", "-shm", "-journal", ""):
        file.with_name(f"{file.name}{made}").unlink(missing_ok=True)


class JournalTables:
    """Queries over a connection to the tables in `path`; methods raise sqlite3.Error.

    `digested`: `entry` has a digest column; a read-only one may lack it.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, digested: bool = True) -> None:
        self._db = connection
        self._digested = digested
        self.path = path

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
        query = f"select seq from pending where seq in {THESE} order by seq"
        return self._column(query, _json(seqs))

    def pending(self, kinds: Iterable[str], thread: str | None = None) -> list[Stored]:
        which = f"kind in {THESE}"
        values = [_json(kinds)]
        if thread is not None:
            which += " and thread = ?"
            values.append(thread)
        return self._rows(f"seq in (select seq from pending where {which})", *values)

    def pending_seqs(self, kinds: Iterable[str]) -> list[int]:
        query = f"select seq from pending where kind in {THESE} order by seq"
        return self._column(query, _json(kinds))

    def waiting(self, kinds: Iterable[str]) -> list[str]:
        query = f"select thread from pending where kind in {THESE} group by thread order by min(seq)"
        return self._column(query, _json(kinds))

    def attempted(self, since: int) -> list[tuple[str, int]]:
        return self._db.execute(
            "select thread, epoch from lease where epoch > ? order by epoch", (since,)
        ).fetchall()

    # Reading entries

    def get(self, key: str) -> Stored | None:
        found = self._rows("key = ?", key)
        return found[0] if found else None

    def seq_of(self, key: str, thread: str = "") -> int | None:
        """Return the seq under this key, if any (in `thread`)."""
        return self._number("select seq from entry where key = ? and ? in ('', thread)", key, thread)

    def many(self, seqs: Sequence[int]) -> list[Stored]:
        return self._rows(f"seq in {THESE}", _json(seqs))

    def under(self, path: str) -> list[Stored]:
        """Return rows with keys under `path/`."""
        return self._rows("key >= ? and key < ?", f"{path}/", f"{path}0")  # "0" follows "/"

    def parts(self, key: str) -> list[Stored]:
        """Return rows with keys under `key!`."""
        return self._rows("key >= ? and key < ?", f"{key}!", f'{key}"')  # '"' follows "!"

    def beginning_with(self, name: str) -> list[Stored]:
        """Return an execution's or turn's rows, over all restarts."""
        found = list[Stored]()
        for sign in "!/~":
            found += self._rows("key >= ? and key < ?", *_range(f"{name}{sign}"))
        return found

    def of(self, thread: str, kinds: Iterable[str], since: int, most: int | None = None) -> list[Stored]:
        """Return a thread's rows of these kinds (default: all); `most` limits reading, too."""
        names = list(kinds)
        where = "thread = ? and seq > ?"
        values: list[object] = [thread, since]
        if names:
            where += f" and kind in {THESE}"
            values.append(_json(names))
        if most is not None:
            where = f"seq in (select seq from entry where {where} order by seq limit ?)"
            values.append(most)
        return self._rows(where, *values)

    def below(self, thread: str, kinds: Iterable[str], since: int) -> list[Stored]:
        """Return rows of a thread's descendants, of these kinds (default: all).

        `+` keeps SQLite on the thread index, since few have descendants; other indexes read the whole
        journal.
        """
        names = list(kinds)
        where = "thread > ? and thread < ? and +seq > ?"
        values: list[object] = [f"{thread}.", f"{thread}/", since]  # "/" follows "."
        if names:
            where += f" and +kind in {THESE}"
            values.append(_json(names))
        return self._rows(where, *values)

    def latest(self, thread: str, kind: str, before: int) -> Stored | None:
        """Return a thread's last row of this kind.

        With `kind = ?`, SQLite would prepare anew each time, as a value may allow the partial index. `(select
        ?)` avoids that.
        """
        found: Stored | None = self._db.execute(
            f"select {ROW} from entry where thread = ? and kind = (select ?) and seq < ?"
            " order by seq desc limit 1",
            (thread, kind, before),
        ).fetchone()
        return found

    def count(self, thread: str, kinds: Iterable[str], before: int) -> int:
        query = f"select count(*) from entry where thread = ? and kind in {THESE} and seq < ?"
        return self._number(query, thread, _json(kinds), before) or 0

    def kind(self, kinds: Iterable[str], since: int, at: float) -> list[Stored]:
        where = f"{_kind(self.last() - since)} in {THESE} and seq > ? and at >= ?"
        return self._rows(where, _json(kinds), since, at)

    def seqs(self, kinds: Iterable[str], since: int, upto: int) -> list[int]:
        """Return seqs after `since`, up to `upto`."""
        where = f"{_kind(upto - since)} in {THESE} and seq > ? and seq <= ?"
        return self._column(f"select seq from entry where {where} order by seq", _json(kinds), since, upto)

    def span(self, root: str, path: str, since: int, before: int, limit: int, *, newest: bool) -> list[int]:
        """Return the first or newest seqs between two others.

        Of a thread and its descendants, of keys under `path/`, or of all. `+` keeps SQLite on the thread or
        key index; by seq it might read the whole journal.
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

    def each(self, seqs: Sequence[int], *, newest: bool) -> Iterator[Stored]:
        """Yield existing rows, few in memory."""
        query = f"select {ROW} from entry where seq in {THESE} order by seq"
        if newest:
            query += " desc"
        return self._one_by_one(query, _json(seqs))

    def holding(self, patterns: Sequence[str], since: int, before: int) -> Iterator[Stored]:
        """Yield rows whose body matches all LIKE patterns (escape `~`), newest first."""
        return self._holding("seq > ? and seq < ?", [since, before], patterns)

    def holding_of(self, patterns: Sequence[str], seqs: Sequence[int]) -> Iterator[Stored]:
        return self._holding(f"seq in {THESE}", [_json(seqs)], patterns)

    def _holding(self, where: str, values: list[object], patterns: Sequence[str]) -> Iterator[Stored]:
        where += " and body like ? escape '~'" * len(patterns)
        query = f"select {ROW} from entry not indexed where {where} order by seq desc"
        return self._one_by_one(query, *values, *patterns)

    def between(self, since: int, upto: int, kinds: Iterable[str]) -> list[Stored]:
        """Return rows after `since`, up to `upto`. `+` avoids the kind index, which reads everything."""
        return self._rows(f"seq > ? and seq <= ? and +kind in {THESE}", since, upto, _json(kinds))

    def fields(
        self, kinds: Iterable[str], paths: Sequence[str], since: int, upto: int, at: float
    ) -> list[tuple[Any, ...]]:
        """Return (seq, thread, kind, at, JSON list of the values under `paths`); skip invalid JSON."""
        # `+` avoids the kind index if the range is shorter than a whole kind
        kind = "+kind" if 0 < upto - since <= SPAN else "kind"
        where = f"{kind} in {THESE} and seq > ? and seq <= ? and at >= ? and json_valid(body)"
        row = f"seq, thread, kind, at, json_extract(body, {', '.join('?' * len(paths))})"
        text = f"select {row} from entry where {where} order by seq"
        return self._db.execute(text, (*paths, _json(kinds), since, upto, at)).fetchall()

    def fields_below(
        self, prefix: str, kinds: Iterable[str], paths: Sequence[str], since: int, upto: int
    ) -> list[tuple[Any, ...]]:
        """Return such rows of threads with this key prefix, by key and thread index."""
        row = f"seq, thread, kind, at, json_extract(body, {', '.join('?' * len(paths))})"
        threads = "select thread from entry where key >= ? and key < ?"
        where = f"thread in ({threads}) and kind in {THESE} and +seq > ? and +seq <= ? and json_valid(body)"
        text = f"select {row} from entry where {where} order by seq"
        return self._db.execute(text, (*paths, *_range(prefix), _json(kinds), since, upto)).fetchall()

    def threads_below(self, prefix: str) -> list[str]:
        query = "select thread from entry where key >= ? and key < ? order by seq desc"
        return self._column(query, *_range(prefix))

    def last_below(self, prefix: str, before: int) -> Stored | None:
        """Return the last row with this key prefix, by the key index alone."""
        last = "select max(seq) from entry where key >= ? and key < ? and +seq < ?"
        found = self._rows(f"seq = ({last})", *_range(prefix), before)
        return found[0] if found else None

    def naming(self, kinds: Iterable[str], text: str, since: int, upto: int) -> list[Stored]:
        """Return rows with this text in their body."""
        where = f"{_kind(upto - since)} in {THESE} and seq > ? and seq <= ? and instr(body, ?)"
        return self._rows(where, _json(kinds), since, upto, text)

    def lately(self, roots: Iterable[str], said: Iterable[str], at: float) -> Iterator[tuple[Stored, float]]:
        """Yield `roots` rows of threads with `said` rows since `at`, with their last time, latest first."""
        found = self._db.execute(
            f"select {ROW}, last from entry join (select thread as lively, max(at) as last from entry"
            f" where kind in {THESE} and at >= ? group by thread)"
            f" on thread = lively where kind in {THESE} order by last desc",
            (_json(said), at, _json(roots)),
        )
        for *row, last in found:
            yield cast(Stored, tuple(row)), last

    def since(self, seq: int) -> Generator[Stored]:
        return self._one_by_one(f"select {ROW} from entry where seq > ? order by seq", seq)

    def _one_by_one(self, query: str, *values: object) -> Generator[Stored]:
        with closing(self._db.execute(query, values)) as rows:
            yield from rows

    def rows(self, upto: int) -> Iterator[Stored]:
        """Yield rows, few in memory, and no statement open between parts."""
        part = self._part(0, upto)
        while part:
            yield from part
            part = self._part(part[-1][0], upto)

    def rows_and_digests(self) -> Iterator[tuple[Stored, object]]:
        digest = "digest" if self._digested else "null"
        since = 0
        while part := self._part(since, self.last(), digest):
            for row in part:
                yield row[:-1], row[-1]
            since = part[-1][0]

    def _part(self, since: int, upto: int, *more: str) -> list[Any]:
        """Return some rows. SQLite itself decodes texts faster, but fails on damaged ones."""
        columns = ", ".join([ROW, *more])
        query = f"select {columns} from entry where seq > ? and seq <= ? order by seq limit {PART}"
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
        """Return (seq, thread, kind, closes) after a seq."""
        return self._db.execute(
            "select seq, thread, kind, closes from entry where seq > ? order by seq limit ?", (seq, limit)
        ).fetchall()

    def first_after(self, seq: int, now: float) -> tuple[int, float] | None:
        """Return seq and time of the first entry after a seq not dated after `now`."""
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
        """Return SQLite's findings; `quick`: the first, without checking indexes."""
        check = "integrity_check"
        if quick:
            check = "quick_check(1)"
        found = self._column(f"pragma {check}")
        return [text for text in found if text != "ok"]

    def doubled(self) -> list[tuple[int, str]]:
        """Return duplicate keys, each with its last seq."""
        return self._db.execute("select max(seq), key from entry group by key having count(*) > 1").fetchall()

    def undigested(self) -> tuple[int, int] | None:
        """Return the range of seqs (first excluded) that may lack digests, or None."""
        if not self._digested:
            return 0, self.last()
        if self._number("select 1 from sqlite_master where name = 'undigested'") is None:
            return None
        between: tuple[int, int] | None = self._db.execute("select since, upto from undigested").fetchone()
        return between

    def folded(self, table: str) -> list[tuple[Any, ...]]:
        return self._db.execute(f"select * from {table} order by 1").fetchall()

    def replay(self, table: str, kinds: Iterable[str]) -> list[tuple[Any, ...]]:
        """Rebuild a projection's rows: about a second per million entries.

        `kinds` are the pending or the leasing ones.
        """
        return self._db.execute(REPLAYS[table], (_json(kinds),)).fetchall()


def _kind(entries: int) -> str:
    """Return the kind column, without index for few entries."""
    if entries < FEW:
        return "+kind"
    return "kind"


def _range(prefix: str) -> tuple[str, str]:
    """Return the first key with this prefix, and the first after all."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _json(values: Iterable[object]) -> str:
    return json.dumps(list(values))


def _text(raw: bytes) -> str | bytes:
    """Decode a text; damaged ones stay bytes, to hide no others."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    """Row on disk, with its seq."""

    seq: int
    row: EntryRow

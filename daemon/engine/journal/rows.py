"""The journal's tables in SQLite, and a row of `entry`: before it is written, and as it is read.

An entry as a row of the file: as it was written, or read and looked at for damage.

Every statement that is run on the journal's tables.

`entry` is the journal. `pending` and `lease` are folded from it in the transaction that appends, and can be
rebuilt by a replay. A store is one connection; it knows rows, not events.

Digests of entries, which stand beside them in the file: an entry that was altered does not fit its own.

They tell of accidents and careless edits. Whoever can write to the file can write a digest, too.
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


E = TypeVar("E", bound=Event)


SEQS = TypeAdapter(tuple[int, ...])


def entry_from_written(row: EntryRow, seq: int, event: E) -> Entry[E]:
    """The entry that was written as this row."""
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
    """The entry that stands in this row. Raises ValueError, which names what is amiss in it."""
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
    """Are its columns, but for what it closes, as in nearly all rows? Of others each is looked at."""
    _, thread, kind, author, body, key, cause, _, at = row
    return (
        type(thread) is type(kind) is type(author) is type(body) is type(key) is str
        and bool(thread and kind and author and body and key)
        and (cause is None or type(cause) is int)
        and type(at) is float
        and 0 <= at < NO_DATE
    )


def _strays(row: Stored) -> Iterator[str]:
    """The columns, but the body, that are not what they should be: SQLite keeps anything anywhere."""
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
    """The seqs in the column of what is closed; None where it is damaged."""
    if text == "[]":
        return ()
    try:
        return SEQS.validate_json(text, strict=True)
    except ValueError:
        return None


DIGEST_BYTES = 16
"""Bytes of a digest: an alteration that keeps it is out of the question, and a row grows by 17 bytes."""


def digest_of_row(row: Stored) -> bytes:
    """Digest all that is recorded of an entry, its seq included: also two rows that were swapped are seen.

    Lengths come before texts, so that nothing can move from one column into the next. A damaged cell, which
    may be of any type, counts as Python shows it.
    """
    seq, thread, kind, author, body, key, cause, closes, at = row
    try:
        lengths = f"{len(thread)} {len(kind)} {len(author)} {len(key)} {len(closes)}"
    except TypeError:  # a number, or nothing, where a text should be
        return digest_of_row(
            (seq, repr(thread), repr(kind), repr(author), body, repr(key), cause, repr(closes), at)
        )
    recorded = f"{seq} {cause!r} {at!r} {lengths}\n{thread}{kind}{author}{key}{closes}{body}"
    return hashlib.sha256(recorded.encode(errors="surrogatepass")).digest()[:DIGEST_BYTES]


PART = 500
"""Entries that are read at once where all are."""


FEW = 200
"""Entries that are looked through faster than they are looked up."""


SPAN = 20_000
"""Entries of a span that are looked through faster than all that there is of a kind."""


THESE = "(select value from json_each(?))"
"""Each of a list, which is handed over as JSON."""


def index_path(journal: Path) -> Path:
    """Where a program may keep, in an SQLite file, what it has folded of a journal to find it again.

    It may be deleted at any time, and is when words are forgotten.
    """
    return journal.with_name(f"{journal.stem}.index{journal.suffix}")


def delete_database(file: Path) -> None:
    """Delete a database, and what SQLite keeps beside it. Who has it open writes to nothing from then on.

    Its log goes first: without the file it is worth nothing, but the file without it may be half of two.
    Raises OSError.
    """
    for made in ("-wal", "-shm", "-journal", ""):
        file.with_name(f"{file.name}{made}").unlink(missing_ok=True)


class JournalTables:
    """One connection to the tables in the file at `path`. Raises sqlite3.Error.

    `digested`: the table of entries has a column of digests. One that is only read may have none.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, digested: bool = True) -> None:
        self._db = connection
        self._digested = digested
        self.path = path

    def close(self) -> None:
        self._db.close()

    # Writing

    def begin(self) -> None:
        self._db.execute("begin immediate")

    def commit(self) -> None:
        self._db.execute("commit")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("rollback")

    def insert(self, row: EntryRow) -> int | None:
        """Insert the row with its digest, and fold it; returns its seq, or None where its key or thread is
        there already."""
        seq = self.last() + 1
        closes, at = json.dumps(row.closes), float(row.at)  # as they are read back
        stored = (seq, row.thread, row.kind, row.author, row.body, row.key, row.cause, closes, at)
        inserted = self._db.execute(
            f"insert into entry({ROW}, digest) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
            (*stored, digest_of_row(stored)),
        )
        if not inserted.rowcount:
            return None
        self._fold(seq, row)
        return seq

    def _fold(self, seq: int, row: EntryRow) -> None:
        if row.pending:
            self._db.execute("insert into pending values(?, ?, ?)", (seq, row.thread, row.kind))
        if row.leases:
            self._db.execute("insert or replace into lease values(?, ?)", (row.thread, seq))
        for closed in row.closes:
            self._db.execute("delete from pending where seq = ?", (closed,))

    def overwrite(self, row: Stored, *, key: str, body: str) -> None:
        """Put this key and body in the place of the row's own, and their digest in the place of its digest.
        Only what is forgotten is ever written over."""
        seq, thread, kind, author, _, _, cause, closes, at = row
        digest = digest_of_row((seq, thread, kind, author, body, key, cause, closes, at))
        self._db.execute(
            "update entry set key = ?, body = ?, digest = ? where seq = ?", (key, body, digest, seq)
        )

    def digest_some(self, most: int) -> bool:
        """Give so many entries without a digest theirs, in one transaction. True if there were any."""
        between = self.undigested()
        if between is None:
            return False
        self.begin()
        where = f"seq > ? and seq <= ? and digest is null order by seq limit {most}"
        rows = self._db.execute(f"select {ROW} from entry where {where}", between).fetchall()
        for row in rows:
            self._db.execute("update entry set digest = ? where seq = ?", (digest_of_row(row), row[0]))
        if rows:
            self._db.execute("update undigested set since = ?", (rows[-1][0],))
        else:
            self._db.execute("drop table undigested")
        self.commit()
        return bool(rows)

    def scrub(self) -> None:
        """Make sure that nothing of what was written over is left in the file, nor beside it.

        Every page is written anew, the log is emptied, and what was folded of it is deleted: now, since who
        folds from now on reads what is blank. Raises sqlite3.OperationalError where somebody still reads it
        as it was, or the disk is too small; OSError.
        """
        self._empty_log()  # as long as somebody reads, each try would leave all pages in it once more
        try:
            self._db.execute("vacuum")
        finally:
            self._empty_log()  # a disk that was too small does not stay full
        delete_database(index_path(self.path))

    def _empty_log(self) -> None:
        busy, *_ = self._db.execute("pragma wal_checkpoint(truncate)").fetchone()
        if busy:
            raise sqlite3.OperationalError("somebody reads it as it was before")

    # Reading the folded tables

    def epoch(self, thread: str) -> int | None:
        """The seq of the attempt that holds this thread."""
        return self._number("select epoch from lease where thread = ?", thread)

    def is_pending(self, seq: int) -> bool:
        """Has no later entry closed it?"""
        return self._number("select seq from pending where seq = ?", seq) is not None

    def still_pending(self, seqs: Sequence[int]) -> list[int]:
        """Those of these entries that no later one has closed."""
        query = f"select seq from pending where seq in {THESE} order by seq"
        return self._column(query, _json(seqs))

    def pending(self, kinds: Iterable[str], thread: str | None = None) -> list[Stored]:
        """The pending entries of these kinds, of one thread or of all, in order."""
        which = f"kind in {THESE}"
        values = [_json(kinds)]
        if thread is not None:
            which += " and thread = ?"
            values.append(thread)
        return self._rows(f"seq in (select seq from pending where {which})", *values)

    def pending_seqs(self, kinds: Iterable[str]) -> list[int]:
        """Which pending entries are of these kinds, in order."""
        query = f"select seq from pending where kind in {THESE} order by seq"
        return self._column(query, _json(kinds))

    def waiting(self, kinds: Iterable[str]) -> list[str]:
        """The threads in which an entry of one of these kinds is pending, those that wait longest first."""
        query = f"select thread from pending where kind in {THESE} group by thread order by min(seq)"
        return self._column(query, _json(kinds))

    def attempted(self, since: int) -> list[tuple[str, int]]:
        """The threads whose latest attempt began after a seq, and with which seq; the latest last."""
        return self._db.execute(
            "select thread, epoch from lease where epoch > ? order by epoch", (since,)
        ).fetchall()

    # Reading entries

    def get(self, key: str) -> Stored | None:
        found = self._rows("key = ?", key)
        return found[0] if found else None

    def seq_of(self, key: str, thread: str = "") -> int | None:
        """Which entry is under this key; with a thread, only one that is there."""
        return self._number("select seq from entry where key = ? and ? in ('', thread)", key, thread)

    def many(self, seqs: Sequence[int]) -> list[Stored]:
        """The entries of these seqs that are there, in order of seq."""
        return self._rows(f"seq in {THESE}", _json(seqs))

    def under(self, path: str) -> list[Stored]:
        """The entries whose key begins with `path/`."""
        return self._rows("key >= ? and key < ?", f"{path}/", f"{path}0")  # "0" follows "/"

    def parts(self, key: str) -> list[Stored]:
        """The entries whose key begins with `key!`."""
        return self._rows("key >= ? and key < ?", f"{key}!", f'{key}"')  # '"' follows "!"

    def beginning_with(self, name: str) -> list[Stored]:
        """The entries of the execution, or turn, of this name: also before each restart."""
        found = list[Stored]()
        for sign in "!/~":
            found += self._rows("key >= ? and key < ?", *_range(f"{name}{sign}"))
        return found

    def of(self, thread: str, kinds: Iterable[str], since: int, most: int | None = None) -> list[Stored]:
        """A thread's entries of these kinds after a seq; of all kinds where none is named, of `most` of some:
        the first ones, which are found without a look at the others."""
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
        """The entries of these kinds of all threads under this one, after a seq; of all where none is named.

        They are found by thread alone, which few have below them: by kind or seq, SQLite would read the
        whole journal. Hence the `+`.
        """
        names = list(kinds)
        where = "thread > ? and thread < ? and +seq > ?"
        values: list[object] = [f"{thread}.", f"{thread}/", since]  # "/" follows "."
        if names:
            where += f" and +kind in {THESE}"
            values.append(_json(names))
        return self._rows(where, *values)

    def latest(self, thread: str, kind: str, before: int) -> Stored | None:
        """A thread's last entry of this kind before a seq.

        SQLite would prepare `kind = ?` anew each time: the value might let it use the index of one kind.
        """
        found: Stored | None = self._db.execute(
            f"select {ROW} from entry where thread = ? and kind = (select ?) and seq < ?"
            " order by seq desc limit 1",
            (thread, kind, before),
        ).fetchone()
        return found

    def count(self, thread: str, kinds: Iterable[str], before: int) -> int:
        """How many entries of these kinds a thread has before a seq."""
        query = f"select count(*) from entry where thread = ? and kind in {THESE} and seq < ?"
        return self._number(query, thread, _json(kinds), before) or 0

    def kind(self, kinds: Iterable[str], since: int, at: float) -> list[Stored]:
        """All entries of these kinds after a seq, from a time on."""
        where = f"{_kind(self.last() - since)} in {THESE} and seq > ? and at >= ?"
        return self._rows(where, _json(kinds), since, at)

    def seqs(self, kinds: Iterable[str], since: int, upto: int) -> list[int]:
        """Which entries are of these kinds, after a seq and up to one, in order."""
        where = f"{_kind(upto - since)} in {THESE} and seq > ? and seq <= ?"
        return self._column(f"select seq from entry where {where} order by seq", _json(kinds), since, upto)

    def span(self, root: str, path: str, since: int, before: int, limit: int, *, newest: bool) -> list[int]:
        """Which entries stand between two seqs, both left out: the newest, or the first ones, in order.

        Those of a thread and of all under it, or those whose key begins with `path/`; all where neither is
        named. They are found by thread or key alone: by seq, SQLite might read the whole journal. Hence the
        `+`.
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
        """The entries of these seqs that are there, the newest or the oldest first; few of them are in memory
        at once."""
        query = f"select {ROW} from entry where seq in {THESE} order by seq"
        if newest:
            query += " desc"
        return self._one_by_one(query, _json(seqs))

    def holding(self, patterns: Sequence[str], since: int, before: int) -> Iterator[Stored]:
        """The entries between two seqs, both left out, whose body is like all these patterns, newest first.

        The patterns are SQL's; "~" escapes a sign.
        """
        return self._holding("seq > ? and seq < ?", [since, before], patterns)

    def holding_of(self, patterns: Sequence[str], seqs: Sequence[int]) -> Iterator[Stored]:
        """The same of the entries of these seqs."""
        return self._holding(f"seq in {THESE}", [_json(seqs)], patterns)

    def _holding(self, where: str, values: list[object], patterns: Sequence[str]) -> Iterator[Stored]:
        where += " and body like ? escape '~'" * len(patterns)
        query = f"select {ROW} from entry not indexed where {where} order by seq desc"
        return self._one_by_one(query, *values, *patterns)

    def between(self, since: int, upto: int, kinds: Iterable[str]) -> list[Stored]:
        """The entries of these kinds after a seq, up to another. By kind, SQLite would read all: so `+`."""
        return self._rows(f"seq > ? and seq <= ? and +kind in {THESE}", since, upto, _json(kinds))

    def fields(
        self, kinds: Iterable[str], paths: Sequence[str], since: int, upto: int, at: float
    ) -> list[tuple[Any, ...]]:
        """Of the entries of these kinds after a seq, up to another, from a time on, in order: seq, thread,
        kind, when it was written, and what their bodies hold under these paths, as a list in JSON. A body
        that is no JSON is left out."""
        # `+` keeps SQLite off the index of kinds where a span of the journal is shorter than all of a kind
        kind = "+kind" if 0 < upto - since <= SPAN else "kind"
        where = f"{kind} in {THESE} and seq > ? and seq <= ? and at >= ? and json_valid(body)"
        row = f"seq, thread, kind, at, json_extract(body, {', '.join('?' * len(paths))})"
        text = f"select {row} from entry where {where} order by seq"
        return self._db.execute(text, (*paths, _json(kinds), since, upto, at)).fetchall()

    def fields_below(
        self, prefix: str, kinds: Iterable[str], paths: Sequence[str], since: int, upto: int
    ) -> list[tuple[Any, ...]]:
        """The same rows of the threads that have an entry whose key begins with `prefix`, up to a seq: found
        by key and thread alone."""
        row = f"seq, thread, kind, at, json_extract(body, {', '.join('?' * len(paths))})"
        threads = "select thread from entry where key >= ? and key < ?"
        where = f"thread in ({threads}) and kind in {THESE} and +seq > ? and +seq <= ? and json_valid(body)"
        text = f"select {row} from entry where {where} order by seq"
        return self._db.execute(text, (*paths, *_range(prefix), _json(kinds), since, upto)).fetchall()

    def threads_below(self, prefix: str) -> list[str]:
        """The threads that have an entry whose key begins with `prefix`, the latest such entry first."""
        query = "select thread from entry where key >= ? and key < ? order by seq desc"
        return self._column(query, *_range(prefix))

    def last_below(self, prefix: str, before: int) -> Stored | None:
        """The last entry before a seq whose key begins with `prefix`. Only the index of keys is searched."""
        last = "select max(seq) from entry where key >= ? and key < ? and +seq < ?"
        found = self._rows(f"seq = ({last})", *_range(prefix), before)
        return found[0] if found else None

    def naming(self, kinds: Iterable[str], text: str, since: int, upto: int) -> list[Stored]:
        """The entries of these kinds after a seq, up to another, with this text in their body."""
        where = f"{_kind(upto - since)} in {THESE} and seq > ? and seq <= ? and instr(body, ?)"
        return self._rows(where, _json(kinds), since, upto, text)

    def lately(self, roots: Iterable[str], said: Iterable[str], at: float) -> Iterator[tuple[Stored, float]]:
        """The entries of the kinds `roots` in the threads with one of the kinds `said` from a time on, each
        with when the last of those was written, which is the order."""
        found = self._db.execute(
            f"select {ROW}, last from entry join (select thread as lively, max(at) as last from entry"
            f" where kind in {THESE} and at >= ? group by thread)"
            f" on thread = lively where kind in {THESE} order by last desc",
            (_json(said), at, _json(roots)),
        )
        for *row, last in found:
            yield cast(Stored, tuple(row)), last

    def since(self, seq: int) -> Generator[Stored]:
        """The entries after this seq, in order; few of them are in memory at once."""
        return self._one_by_one(f"select {ROW} from entry where seq > ? order by seq", seq)

    def _one_by_one(self, query: str, *values: object) -> Generator[Stored]:
        with closing(self._db.execute(query, values)) as rows:
            yield from rows

    def rows(self, upto: int) -> Iterator[Stored]:
        """Every entry up to a seq, in order; few of them are in memory at once.

        No statement is open while the reader looks at a part.
        """
        part = self._part(0, upto)
        while part:
            yield from part
            part = self._part(part[-1][0], upto)

    def rows_and_digests(self) -> Iterator[tuple[Stored, object]]:
        """Every entry with its digest, in order; None stands for one that is missing."""
        digest = "digest" if self._digested else "null"
        since = 0
        while part := self._part(since, self.last(), digest):
            for row in part:
                yield row[:-1], row[-1]
            since = part[-1][0]

    def _part(self, since: int, upto: int, *more: str) -> list[Any]:
        """Some of the entries after a seq, up to another. Each text is made by SQLite itself, which is
        quicker; where one of them is none, all are read as everywhere else."""
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
        """Seq, thread, kind and what is closed of so many entries after this seq, in order."""
        return self._db.execute(
            "select seq, thread, kind, closes from entry where seq > ? order by seq limit ?", (seq, limit)
        ).fetchall()

    def first_after(self, seq: int, now: float) -> tuple[int, float] | None:
        """Seq and time of the first entry after a seq that is not dated after now."""
        found: tuple[int, float] | None = self._db.execute(
            "select seq, at from entry where seq > ? and at <= ? order by seq limit 1", (seq, now)
        ).fetchone()
        return found

    def last(self) -> int:
        """The newest seq; 0 where there is none."""
        return self._number("select max(seq) from entry") or 0

    def _number(self, query: str, *values: object) -> int | None:
        """The number that this finds first; None where it finds none."""
        found: tuple[int | None] | None = self._db.execute(query, values).fetchone()
        if found is None:
            return None
        return found[0]

    def _column(self, query: str, *values: object) -> list[Any]:
        """The first value of each row that this finds."""
        return [row[0] for row in self._db.execute(query, values)]

    def _rows(self, where: str, *values: object) -> list[Stored]:
        text = f"select {ROW} from entry where {where} order by seq"
        return self._db.execute(text, values).fetchall()

    # Looking at all of it

    def problems(self, *, quick: bool = False) -> list[str]:
        """What SQLite itself finds wrong; quick: the first thing, without a look at the indexes."""
        check = "integrity_check"
        if quick:
            check = "quick_check(1)"
        found = self._column(f"pragma {check}")
        return [text for text in found if text != "ok"]

    def doubled(self) -> list[tuple[int, str]]:
        """The keys that are there more than once, each with its last seq."""
        return self._db.execute("select max(seq), key from entry group by key having count(*) > 1").fetchall()

    def undigested(self) -> tuple[int, int] | None:
        """The entries after the first seq, up to the second, may have no digest yet; None: each must have
        one."""
        if not self._digested:
            return 0, self.last()
        if self._number("select 1 from sqlite_master where name = 'undigested'") is None:
            return None
        between: tuple[int, int] | None = self._db.execute("select since, upto from undigested").fetchone()
        return between

    def folded(self, table: str) -> list[tuple[Any, ...]]:
        """The rows of a folded table."""
        return self._db.execute(f"select * from {table} order by 1").fetchall()

    def replay(self, table: str, kinds: Iterable[str]) -> list[tuple[Any, ...]]:
        """The same rows, from a replay of all entries: about a second for a million of them.

        `kinds` are those that wait, of `pending`, and those that take a thread, of `lease`.
        """
        return self._db.execute(REPLAYS[table], (_json(kinds),)).fetchall()

    def replace(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Put these rows in the place of all in a folded table."""
        self.begin()
        self._db.execute(f"delete from {table}")
        for row in rows:
            self._db.execute(f"insert into {table} values({', '.join('?' * len(row))})", row)
        self.commit()


def _kind(entries: int) -> str:
    """The column of kinds, for a search among so many entries: few are looked through, where SQLite would go
    through all that there is of these kinds."""
    if entries < FEW:
        return "+kind"
    return "kind"


def _range(prefix: str) -> tuple[str, str]:
    """The first key that begins with `prefix`, and the first one after all that do."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _json(values: Iterable[object]) -> str:
    return json.dumps(list(values))


def _text(raw: bytes) -> str | bytes:
    """A text; where a bit of it was lost, its bytes: one such cell must not hide all others."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    """An entry that is on disk: its row as it stands there."""

    seq: int
    row: EntryRow

"""Reading a journal: what may be asked of it, and how it is opened beside a live daemon.

The Journal is a Reading that also appends; `trace`, `verify` and `export` open one that cannot.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, func, select
from sqlalchemy.exc import SQLAlchemyError

from daemon.entry import Entry
from daemon.errors import JournalDamaged, JournalError
from daemon.journal import queries
from daemon.journal.database import damaged, readable, readonly, reason_of, run
from daemon.journal.opening import version_of
from daemon.journal.schema import DEBT, ENTRY, LEASE, read
from daemon.journal.shape import misfits, strays

CHUNK = 500
"""How many entries are fetched together where all are read."""
COLUMNS = [column.name for column in ENTRY.c]
ALWAYS = 2**62
"""Comes after every seq."""


class Reading:
    """The entries of a journal, and what is folded from them, over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._reader = connection
        self._right: tuple[int, int, float | None, float] = (0, 0, None, 0.0)
        """What `first_after` found last: for all seqs from the first to before the second one, and when."""

    def held(self, thread: str, epoch: int) -> bool:
        """Is the attempt that began at `epoch` still the latest at this thread?"""
        return bool(self._scalar(queries.HELD, thread=thread) == epoch)

    def attempted(self, since: int) -> list[tuple[str, int]]:
        """The threads whose latest attempt began after seq `since`, and with which seq; the latest last."""
        with readable():
            return [(row[0], row[1]) for row in run(self._reader, queries.ATTEMPTED, {"since": since})]

    def get(self, key: str) -> Entry | None:
        """The entry under this key."""
        return next(iter(self._entries(queries.GET, key=key)), None)

    def at(self, seq: int) -> Entry:
        """The entry of this seq; raises KeyError when there is none."""
        return self.many([seq])[0]

    def many(self, seqs: Sequence[int]) -> list[Entry]:
        """The entries of these seqs, in the order given."""
        found = {entry.seq: entry for entry in self._entries(queries.MANY, seqs=seqs)}
        return [found[seq] for seq in seqs]

    def under(self, path: str) -> list[Entry]:
        """The entries whose key begins with `path/`."""
        return self._entries(queries.UNDER, first=path + "/", end=path + "0")  # "0" follows "/"

    def of(self, thread: str, *kinds: str, since: int = 0) -> list[Entry]:
        """A thread's entries of these kinds (of all, where none is named) after seq `since`, in order."""
        if not kinds:
            return self._entries(queries.ALL_OF, thread=thread, since=since)
        return self._entries(queries.OF, thread=thread, kinds=kinds, since=since)

    def tree(self, root: str, *kinds: str, since: int = 0) -> list[Entry]:
        """The entries of these kinds of a thread and of all threads under it, after seq `since`, in order."""
        own = self.of(root, *kinds, since=since)
        below = {"first": f"{root}.", "end": f"{root}/"}  # "/" follows "."
        inside = self._entries(queries.BELOW, **below, kinds=kinds, since=since)
        return sorted([*own, *inside], key=lambda entry: entry.seq)

    def latest(self, thread: str, kind: str, before: int = ALWAYS) -> Entry | None:
        """A thread's last entry of this kind, before seq `before` if given."""
        return next(iter(self._entries(queries.LATEST, thread=thread, kind=kind, before=before)), None)

    def kind(self, kind: str, since: float = 0.0) -> list[Entry]:
        """All entries of a kind, from this time on."""
        return self._entries(queries.KIND, kind=kind, since=since)

    def conversations(self, since: float) -> list[Entry]:
        """The `thread` entries of those in which something was said from this time on."""
        return self._entries(queries.CONVERSATIONS, since=since)

    def open(self, *kinds: str, thread: str | None = None) -> list[Entry]:
        """The entries of these kinds whose debt nobody has paid yet."""
        if thread is None:
            return self._entries(queries.OPEN, kinds=kinds)
        return self._entries(queries.OPEN_IN, kinds=kinds, thread=thread)

    def waiting(self, *kinds: str) -> list[str]:
        """The threads in which debts of these kinds are open, those that wait longest first.

        Asks no entry, so that a damaged one stands in no other thread's way.
        """
        with self._reading():
            return [row[0] for row in run(self._reader, queries.WAITING, {"kinds": kinds})]

    def is_open(self, seq: int) -> bool:
        """Is the debt of this entry still unpaid?"""
        return self._scalar(queries.IS_OPEN, seq=seq) is not None

    def since(self, seq: int, limit: int = 1000) -> list[Entry]:
        """The entries after this seq, oldest first; one that is damaged is left out.

        For those who read all that was ever written: one entry must not hide all others from them.
        """
        return [*self._sound(queries.SINCE, seq=seq, limit=limit)]

    def last(self) -> int:
        """The newest seq; 0 in an empty journal."""
        return int(self._scalar(queries.LAST) or 0)

    def first_after(self, seq: int, now: float) -> float | None:
        """When the first entry after this seq was written that is not of the future; None: there is none.

        Whoever asks for many seqs asks for the lowest first: the others mostly have the same answer.
        """
        since, upto, at, then = self._right
        lasts = at <= now if at is not None else (now, self.last() + 1) == (then, upto)
        if not (lasts and since <= seq < upto):
            with self._reading():
                found = run(self._reader, queries.FIRST_AFTER, {"seq": seq, "now": now}).fetchone()
            upto, at = (found[0], found[1]) if found else (self.last() + 1, None)
            self._right = (seq, upto, at, now)
        return at

    def rows(self) -> Iterator[RowMapping]:
        """Every entry as its row stands in the file, in order; few of them are in memory at once."""
        with readable():
            found = self._reader.execution_options(yield_per=CHUNK).execute(queries.ENTRIES)
            yield from found.mappings()

    def check(self) -> None:
        """Look at every page of the file, though not at what is on it; raises JournalDamaged."""
        with self._reading():
            found = self._reader.exec_driver_sql("pragma quick_check(1)").scalar_one()
        if found != "ok":
            raise damaged(str(found))

    def problems(self) -> Iterator[tuple[int, str, str]]:
        """What the database itself sees wrong: seq (0: the file), rule, sentence."""
        with readable():
            for sentence in self._reader.exec_driver_sql("pragma integrity_check").scalars():
                if sentence != "ok":
                    yield 0, "file", str(sentence)
            doubled = select(func.max(ENTRY.c.seq), ENTRY.c.key).group_by(ENTRY.c.key)
            for seq, key in self._reader.execute(doubled.having(func.count() > 1)):
                yield seq, "key", f"the key {key} was there before"

    def projections(self, connection: Connection | None = None) -> dict[str, list[tuple[Any, ...]]]:
        """The folded tables, row by row: what a replay must give again."""
        source = connection or self._reader
        with readable():
            return {
                t.name: [tuple(r) for r in source.execute(select(t).order_by(*t.primary_key))]
                for t in (DEBT, LEASE)
            }

    def _entries(self, query: Select[Any], **asked: Any) -> list[Entry]:
        with self._reading():
            return [self._entry(columns) for columns in self._columns(query, asked)]

    def _sound(self, query: Select[Any], **asked: Any) -> Iterator[Entry]:
        with self._reading():
            for columns in self._columns(query, asked):
                try:
                    yield self._entry(columns)
                except JournalDamaged as damage:
                    self._found(damage)

    def _columns(self, query: Select[Any], asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for row in run(self._reader, query, asked):
            yield dict(zip(COLUMNS, row, strict=True))

    def _entry(self, columns: Mapping[str, Any]) -> Entry:
        return _read(columns)

    def _found(self, damage: JournalDamaged) -> None:
        """What a live journal remembers."""

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What goes wrong inside is a JournalError."""
        try:
            with readable():
                yield
        except JournalDamaged as damage:
            self._found(damage)
            raise

    def _scalar(self, query: Select[Any], **asked: Any) -> Any:
        with self._reading():
            row = run(self._reader, query, asked).fetchone()
            return row[0] if row else None


class Inspection(Reading):
    """A Reading for the owner's eyes: a damaged entry is a JournalError that names it."""

    def entries(self) -> Iterator[Entry]:
        """Every entry, in order, like `rows`, whatever its body says."""
        for row in self.rows():
            yield _readable({**row})

    def _entry(self, columns: Mapping[str, Any]) -> Entry:
        entry = _readable(columns)
        if amiss := [*misfits(entry.kind, entry.body)]:
            raise _damaged(entry.seq, f"its {amiss[0]}")
        return entry


def _read(columns: Mapping[str, Any]) -> Entry:
    try:
        entry = read(**columns)
    except (TypeError, ValueError, RecursionError) as error:
        raise _damaged(columns["seq"], str(error)) from error
    if not isinstance(entry.body, dict):
        raise _damaged(entry.seq, "its body is no object")
    return entry


def _readable(columns: Mapping[str, Any]) -> Entry:
    entry = _read(columns)
    if astray := [*strays(entry)]:
        raise _damaged(entry.seq, f"its {astray[0]}")
    return entry


def _damaged(seq: int, why: str) -> JournalDamaged:
    return JournalDamaged(
        f"The entry {seq} cannot be read ({why}). `python -m daemon verify` names all that is damaged; "
        "put a copy of the journal back, or move it away to begin a new one."
    )


@contextmanager
def reading(path: Path) -> Iterator[Inspection]:
    """The journal at this path as it is at this moment, opened so that nothing can be written to it.

    Takes no lock: a daemon may live beside it. Raises JournalError when there is no journal.
    """
    if not os.path.isfile(path):  # noqa: PTH113  Path.is_file raises where a folder is closed to us
        raise JournalError(f"There is no journal at {path}. Name the file, or start the daemon to make one.")
    engine = readonly(path)
    try:
        with engine.connect() as connection:
            try:
                version_of(connection)
                connection.execute(queries.LAST)
            except SQLAlchemyError as error:
                raise JournalError(f"{path} cannot be read as a journal ({reason_of(error)}).") from error
            except JournalError as error:
                raise type(error)(f"{path} cannot be read as a journal. {error}") from error
            yield Inspection(connection)
    finally:
        engine.dispose()

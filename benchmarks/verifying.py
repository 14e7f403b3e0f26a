"""CPU time of verifying a journal. Floor: reading its rows and parsing their JSON."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.ground import Ground, ground
from daemon.app.journal_commands import verify_journal
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.rows import ROW, Stored, digest_of_row
from daemon.kinds import SOUL_KINDS

AIM = 2.0
"""Seconds per hundred thousand entries."""
AIMED_AT = 100_000
SEQS = ("inputs", "keep", "seqs")
"""Fields with seqs."""
INSERT = f"insert into entry({ROW}, digest) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
LEASES = "insert or replace into lease select thread, seq from entry where kind = 'turn-began'"


async def verifying(folder: Path, *, entries: int = AIMED_AT, rounds: int = 3) -> Sequence[Figure]:
    """Verify copies of one real conversation."""
    path = folder / "journal.db"
    async with ground(folder) as here:
        one = await _lived(here)
    _copy(path, one, entries)

    def floor() -> None:
        with closing(sqlite3.connect(path)) as bare:
            for _, body in bare.execute("select seq, body from entry order by seq"):
                json.loads(body)

    def ours() -> None:
        with open_reader(path, SOUL_KINDS) as journal:
            assert not verify_journal(journal).violations

    found = [(_seconds(floor), _seconds(ours)) for _ in range(rounds)]
    read, verified = (min(column) for column in zip(*found, strict=True))
    return [
        Figure(
            name=f"verify, {entries:,} entries",
            value=verified,
            unit="s",
            floor=read,
            aim=f"at most {AIM:g} s",
            met=verified <= AIM * max(entries / AIMED_AT, 1),
        )
    ]


def _seconds(do: Callable[[], None]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


async def _lived(here: Ground) -> Sequence[Stored]:
    """Return a second conversation's rows: the first also records prompt texts."""
    taker, thread = here.turns(), ""
    for name in ("first", "second"):
        thread = await here.open(name)
        await here.say(thread, "What would you do with a free afternoon?", "1")
        assert await taker.take_turn(thread)
    return [row for row in here.world.journal.all_rows() if row[1] == thread]


def _copy(path: Path, rows: Sequence[Stored], entries: int) -> None:
    with closing(sqlite3.connect(path)) as bare, bare:
        [last] = bare.execute("select max(seq) from entry").fetchone()
        for begin in range(last + 1, entries, len(rows)):
            bare.executemany(INSERT, [(*row, digest_of_row(row)) for row in _moved(rows, begin)])
        bare.execute(LEASES)


def _moved(rows: Sequence[Stored], begin: int) -> Iterator[Stored]:
    """Yield the rows of a copy that begins with seq `begin`."""
    first, *_ = rows
    shift = begin - first[0]
    thread, other = first[1], f"sess-{begin:012x}"
    seqs = {row[0] for row in rows}
    names = {thread: other, '"channel": "second"': f'"channel": "D{begin}"', ":second:": f":D{begin}:"}
    names |= {f"{other}@{seq}": f"{other}@{seq + shift}" for seq in seqs}

    def named(text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    for seq, _, kind, author, body, key, cause, closes, at in rows:
        fields = json.loads(named(body))
        for name in SEQS:
            if name in fields:
                fields[name] = [one + shift if one in seqs else one for one in fields[name]]
        yield (
            seq + shift,
            other,
            kind,
            author,
            json.dumps(fields),
            named(key),
            cause + shift if cause else None,
            json.dumps([one + shift for one in json.loads(closes)]),
            at,
        )

"""The tables: `entry`, and `debt` and `lease`, which are folded from it in the same transaction.

Portable between SQLite and Postgres; bodies are JSON text, serialised by whoever appends.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
)
from sqlalchemy.dialects.sqlite import insert

from daemon.entry import LEASES, OPENERS, Entry
from daemon.journal.database import run
from daemon.writable import writable_json

METADATA = MetaData()
SEQ = BigInteger().with_variant(Integer, "sqlite")

ENTRY = Table(
    "entry",
    METADATA,
    Column("seq", SEQ, primary_key=True),
    Column("thread", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("key", Text, nullable=False, unique=True),
    Column("cause", SEQ),
    Column("closes", Text, nullable=False),
    Column("at", Float, nullable=False),
)
Index("entry_by_thread", ENTRY.c.thread, ENTRY.c.kind, ENTRY.c.seq)
Index("entry_by_kind", ENTRY.c.kind, ENTRY.c.at)
OPENS_THREAD = ENTRY.c.kind == "thread"
Index(
    "one_root", ENTRY.c.thread, unique=True, sqlite_where=OPENS_THREAD, postgresql_where=OPENS_THREAD
)  # two conversations never share an id

DEBT = Table(
    "debt",
    METADATA,
    Column("seq", SEQ, primary_key=True, autoincrement=False),
    Column("thread", Text, nullable=False),
    Column("kind", Text, nullable=False),
)
Index("debt_by_kind", DEBT.c.kind, DEBT.c.thread)

LEASE = Table(
    "lease",
    METADATA,
    Column("thread", Text, primary_key=True),
    Column("epoch", SEQ, nullable=False),
)

LEND = insert(DEBT)
TAKE = insert(LEASE)
TAKE = TAKE.on_conflict_do_update(index_elements=["thread"], set_={"epoch": TAKE.excluded.epoch})
PAY = delete(DEBT).where(DEBT.c.seq == bindparam("paid"))


def fold(connection: Connection, entry: Entry) -> None:
    """What a new entry changes in the projections: a debt opened, debts paid, a lease taken."""
    if entry.kind in OPENERS:
        run(connection, LEND, {"seq": entry.seq, "thread": entry.thread, "kind": entry.kind})
    if entry.kind in LEASES:
        run(connection, TAKE, {"thread": entry.thread, "epoch": entry.seq})
    for seq in entry.closes:
        run(connection, PAY, {"paid": seq})


def read(*, body: str, closes: str, **columns: Any) -> Entry:
    """An entry from the columns of its row, without the halves of characters that older journals hold."""
    return Entry(body=json.loads(writable_json(body)), closes=tuple(json.loads(closes)), **columns)

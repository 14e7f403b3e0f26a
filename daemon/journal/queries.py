"""What the journal is asked, each question built once: to build one takes longer than to answer it.

Their parameters are named like those of the journal's methods, which ask them.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ColumnElement, bindparam, func, select

from daemon.journal.schema import DEBT, ENTRY, LEASE


def among(column: Column[Any], name: str) -> ColumnElement[bool]:
    """Is the column one of those in the list of this name?"""
    return column.in_(select(func.json_each(bindparam(name)).table_valued("value").c.value))


ENTRIES = select(ENTRY).order_by(ENTRY.c.seq)
OF_THREAD = ENTRIES.where(ENTRY.c.thread == bindparam("thread"))
DEBTS = select(DEBT.c.seq).where(among(DEBT.c.kind, "kinds"))

GET = ENTRIES.where(ENTRY.c.key == bindparam("key"))
MANY = ENTRIES.where(among(ENTRY.c.seq, "seqs"))
UNDER = ENTRIES.where(ENTRY.c.key >= bindparam("first"), ENTRY.c.key < bindparam("end"))
ALL_OF = OF_THREAD.where(ENTRY.c.seq > bindparam("since"))
OF = ALL_OF.where(among(ENTRY.c.kind, "kinds"))
LATEST = (
    OF_THREAD.where(ENTRY.c.kind == bindparam("kind"), ENTRY.c.seq < bindparam("before"))
    .order_by(None)
    .order_by(ENTRY.c.seq.desc())
    .limit(1)
)
KIND = ENTRIES.where(ENTRY.c.kind == bindparam("kind"), ENTRY.c.at >= bindparam("since"))
SAID = (ENTRY.c.kind == "perception") | (ENTRY.c.kind == "heard")
CONVERSATIONS = ENTRIES.where(
    ENTRY.c.kind == "thread",
    ENTRY.c.thread.in_(select(ENTRY.c.thread).where(SAID, ENTRY.c.at >= bindparam("since"))),
)
OPEN = ENTRIES.where(ENTRY.c.seq.in_(DEBTS))
OPEN_IN = ENTRIES.where(ENTRY.c.seq.in_(DEBTS.where(DEBT.c.thread == bindparam("thread"))))
SINCE = ENTRIES.where(ENTRY.c.seq > bindparam("seq")).limit(bindparam("limit"))

IS_OPEN = select(DEBT.c.seq).where(DEBT.c.seq == bindparam("seq"))
LAST = select(func.max(ENTRY.c.seq))
HELD = select(LEASE.c.epoch).where(LEASE.c.thread == bindparam("thread"))

"""What the journal is asked, each question built once: to build one takes longer than to answer it.

Their parameters are named like those of the journal's methods, which ask them.
"""

from __future__ import annotations

from sqlalchemy import bindparam, func, select

from daemon.journal.schema import DEBT, ENTRY, LEASE

KINDS = select(func.json_each(bindparam("kinds")).table_valued("value").c.value)
SEQS = select(func.json_each(bindparam("seqs")).table_valued("value").c.value)
"""Lists: as one parameter each, so that the question stays the same however many are asked for."""

ENTRIES = select(ENTRY).order_by(ENTRY.c.seq)
OF_THREAD = ENTRIES.where(ENTRY.c.thread == bindparam("thread"))
DEBTS = select(DEBT.c.seq).where(DEBT.c.kind.in_(KINDS))

GET = ENTRIES.where(ENTRY.c.key == bindparam("key"))
MANY = ENTRIES.where(ENTRY.c.seq.in_(SEQS))
UNDER = ENTRIES.where(ENTRY.c.key >= bindparam("first"), ENTRY.c.key < bindparam("end"))
ALL_OF = OF_THREAD.where(ENTRY.c.seq > bindparam("since"))
OF = ALL_OF.where(ENTRY.c.kind.in_(KINDS))
BELOW = ENTRIES.where(
    ENTRY.c.thread > bindparam("first"),
    ENTRY.c.thread < bindparam("end"),
    (ENTRY.c.kind + "").in_(KINDS),
    ENTRY.c.seq + 0 > bindparam("since"),
).order_by(None)
"""Found by thread alone, which few have below them: by kind or seq it would read the whole journal."""
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
WAITING = (
    select(DEBT.c.thread).where(DEBT.c.kind.in_(KINDS)).group_by(DEBT.c.thread).order_by(func.min(DEBT.c.seq))
)
SINCE = ENTRIES.where(ENTRY.c.seq > bindparam("seq")).limit(bindparam("limit"))
FIRST_AFTER = (
    select(ENTRY.c.seq, ENTRY.c.at)
    .where(ENTRY.c.seq > bindparam("seq"), ENTRY.c.at <= bindparam("now"))
    .order_by(ENTRY.c.seq)
    .limit(1)
)

IS_OPEN = select(DEBT.c.seq).where(DEBT.c.seq == bindparam("seq"))
LAST = select(func.max(ENTRY.c.seq))
ATTEMPTED = (
    select(LEASE.c.thread, LEASE.c.epoch).where(LEASE.c.epoch > bindparam("since")).order_by(LEASE.c.epoch)
)
HELD = select(LEASE.c.epoch).where(LEASE.c.thread == bindparam("thread"))

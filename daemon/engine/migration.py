"""Give the entries of an older journal their digests, when it is opened to be written for the first time.

Each piece is one transaction, and what is left is in the file: after a kill the next opening goes on there.
"""

from __future__ import annotations

import logging

from daemon.engine.erasing import EntriesForgotten
from daemon.engine.event import EventCodec
from daemon.engine.overwriting import clear_hashes, find_executions, readable_rows
from daemon.engine.store import JournalTables

MIGRATION_PIECE = 1_000
"""Entries that are given their digests in one transaction."""

log = logging.getLogger(__name__)


def add_digests(store: JournalTables, kinds: EventCodec) -> None:
    """Give the digests that are missing. Raises sqlite3.Error, OSError; then the next opening goes on."""
    between = store.undigested()
    if between is None:
        return
    since, upto = between
    if upto:
        log.warning("Adding digests to the entries %d to %d, once: a minute for a million.", since + 1, upto)
    if since == 0:
        _clear_hashes(store, kinds)
    while store.digest_some(MIGRATION_PIECE):
        pass
    if upto:
        log.warning("All entries have digests now.")


def _clear_hashes(store: JournalTables, kinds: EventCodec) -> None:
    """Clear what versions before left of what was forgotten: the hashes that were made of it."""
    seqs = list[int]()
    for _, event in readable_rows(store.kind([EntriesForgotten.kind], 0, 0.0), kinds):
        if isinstance(event, EntriesForgotten):
            seqs += event.seqs
    if seqs:
        clear_hashes(store, kinds, find_executions(store, kinds, seqs))
        store.scrub()

"""Give the entries of an older journal their digests, when it is opened to be written for the first time.

Each piece is one transaction, and what is left is in the file: after a kill the next opening goes on there.
"""

from __future__ import annotations

import logging

from daemon.engine.erasing import Forgotten
from daemon.engine.event import Kinds
from daemon.engine.overwriting import executions_of, readable_of, unhash
from daemon.engine.store import Store

PIECE = 1_000
"""Entries that are given their digests in one transaction."""

log = logging.getLogger(__name__)


def add_digests(store: Store, kinds: Kinds) -> None:
    """Give the digests that are missing. Raises sqlite3.Error, OSError; then the next opening goes on."""
    between = store.undigested()
    if between is None:
        return
    since, upto = between
    if upto:
        log.warning("Adding digests to the entries %d to %d, once: a minute for a million.", since + 1, upto)
    if since == 0:
        _clear_hashes(store, kinds)
    while store.digest_some(PIECE):
        pass
    if upto:
        log.warning("All entries have digests now.")


def _clear_hashes(store: Store, kinds: Kinds) -> None:
    """Clear what versions before left of what was forgotten: the hashes that were made of it."""
    seqs = list[int]()
    for _, event in readable_of(store.kind([Forgotten.kind], 0, 0.0), kinds):
        if isinstance(event, Forgotten):
            seqs += event.seqs
    if seqs:
        unhash(store, kinds, executions_of(store, kinds, seqs))
        store.scrub()

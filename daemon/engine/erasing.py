"""What is forgotten: recorded first, then blanked, then erased from the file; each may be done again.

A kill between any two of these leaves a `forgotten` entry that is pending: the next opening goes on there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from daemon.engine.blanking import mark_of
from daemon.engine.event import Event, Kinds, chunks
from daemon.engine.keys import part
from daemon.engine.store import Store
from daemon.engine.tables import Row

CHUNK = 200
"""Bodies that are blanked in one transaction, while nothing else is committed."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten(Event):
    """The words of these entries are forgotten: their bodies are blanked, all else of them stays.

    It is pending until nothing of them is left in the file. It closes what of them still waited: nobody goes
    on with that. `why` says so without their words.
    """

    kind = "forgotten"
    pending = True
    closed_by = frozenset({"erased"})
    state = "being erased"
    stays: ClassVar[tuple[str, ...]] = ("why",)
    seqs: tuple[int, ...]
    why: str

    def line(self) -> str:
        return f"{len(self.seqs)} entries: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased(Event):
    """Of what was forgotten nothing is left in the file, nor beside it."""

    kind = "erased"


def blank(store: Store, kinds: Kinds, seqs: Sequence[int], by: int) -> None:
    """Blank the bodies of these entries, under the entry `by`; those that are blank already stay so.

    Raises sqlite3.Error; then none of them was.
    """
    store.begin()
    for seq, _, kind, _, body, *_ in store.many(seqs):
        if not mark_of(str(body)):
            store.overwrite(seq, kinds.blank(kind, str(body), by))
    store.commit()


def finish(store: Store, kinds: Kinds, now: float) -> None:
    """Bring to its end what a former life began to forget, before anybody reads. Raises sqlite3.Error."""
    for row in store.pending([Forgotten.kind]):
        seq, thread, kind, author, body, key, *_ = row
        forgotten = kinds.load(kind, body)
        assert isinstance(forgotten, Forgotten)
        for some in chunks(forgotten.seqs, CHUNK):
            blank(store, kinds, some, seq)
        store.scrub()
        store.begin()
        store.insert(
            Row(
                thread=thread,
                kind=Erased.kind,
                author=author,
                body=kinds.dump(Erased()),
                key=erased_key(key),
                cause=seq,
                closes=(seq,),
                moot=(),
                at=now,
                pending=False,
                leases=False,
            )
        )
        store.commit()
        log.warning("What was being forgotten when the daemon died (%s) is forgotten now.", key)


def erased_key(key: str) -> str:
    """The key of the entry that says that nothing is left of what this one made forgotten."""
    return part(key, "erased")

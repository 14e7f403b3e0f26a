"""A journal is replayed and compared: what is damaged, lost, closed twice, or folded wrongly."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalError
from daemon.engine.journal import LEASES, Reading
from daemon.engine.kinds import TurnBegan, TurnEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with one entry; `seq` 0 is the file itself."""

    seq: int
    text: str

    def __str__(self) -> str:
        return f"{self.seq}: {self.text}"


class Replay:
    """What is known up to one entry of a replay."""

    def __init__(self) -> None:
        self.kinds = dict[int, str]()
        self.pending = dict[int, Entry[Any]]()
        self.leases = dict[str, int]()
        self.half = dict[str, int]()
        """Each thread's turn that has begun and not ended."""
        self.last = 0

    def fold(self, entry: Entry[Any]) -> None:
        """One entry more."""
        self.last = entry.seq
        self.kinds[entry.seq] = entry.kind
        for seq in entry.closes:
            self.pending.pop(seq, None)
        if entry.event.pending:
            self.pending[entry.seq] = entry
        if isinstance(entry.event, LEASES):
            self.leases[entry.thread] = entry.seq
        if isinstance(entry.event, TurnBegan):
            self.half[entry.thread] = entry.seq
        if isinstance(entry.event, TurnEnded):
            self.half.pop(entry.thread, None)


def verify(journal: Reading) -> list[Fault]:
    """All faults of a journal, in order. Raises JournalError where it cannot be read at all."""
    return sorted(_faults(journal), key=lambda fault: fault.seq)


def _faults(journal: Reading) -> Iterator[Fault]:
    replay = Replay()
    try:
        for text in journal.damage():
            yield Fault(seq=0, text=text)
        for seq, entry in journal.every():
            if seq != replay.last + 1:
                yield Fault(seq=replay.last + 1, text=f"nothing is there up to {seq - 1}")
            if isinstance(entry, JournalError):
                yield Fault(seq=seq, text=str(entry))
                replay.last = seq
                continue
            yield from _of_entry(replay, entry)
            replay.fold(entry)
    except sqlite3.Error as error:
        raise JournalError(f"The journal could not be read ({error}).") from error
    yield from _of_folded(journal, replay)


def _of_entry(replay: Replay, entry: Entry[Any]) -> Iterator[Fault]:
    if entry.cause is not None and entry.cause not in replay.kinds:
        yield Fault(seq=entry.seq, text=f"its cause {entry.cause} is not there")
    for seq in entry.closes:
        closed = replay.pending.get(seq)
        if seq not in replay.kinds:
            yield Fault(seq=entry.seq, text=f"it closes {seq}, which is not there")
        elif closed is None:
            yield Fault(seq=entry.seq, text=f"it closes {seq}, which was not pending any more")
        elif entry.kind not in closed.event.closed_by:
            yield Fault(seq=entry.seq, text=f"no {entry.kind} closes a {closed.kind}, as it does with {seq}")
    half = replay.half.get(entry.thread)
    if isinstance(entry.event, TurnBegan):
        if half:
            yield Fault(seq=entry.seq, text=f"it begins while the turn {half} of its thread is half")
        for seq in entry.event.inputs:
            if seq not in replay.pending:
                yield Fault(seq=entry.seq, text=f"it takes up {seq}, which is not pending")
    if isinstance(entry.event, TurnEnded) and half not in entry.closes:
        yield Fault(seq=entry.seq, text="it ends no half turn of its thread")


def _of_folded(journal: Reading, replay: Replay) -> Iterator[Fault]:
    pending, leases = journal.folded()
    replayed = {seq: (entry.thread, entry.kind) for seq, entry in replay.pending.items()}
    for seq in sorted(pending.keys() ^ replayed.keys()):
        yield Fault(seq=seq, text="whether it is pending is folded wrongly")
    for thread in sorted(leases.keys() | replay.leases.keys()):
        if leases.get(thread) != replay.leases.get(thread):
            yield Fault(seq=replay.leases.get(thread, 0), text=f"the lease of {thread} is folded wrongly")

"""A line in the log for each turn that this daemon ended, with its calls and its cost."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.kinds import ModelCall, SoulTurnBegan, SoulTurnEnded
from daemon.lifetime import in_background
from daemon.telemetry.log import FIELDS

log = logging.getLogger("daemon.turn_lines")


@asynccontextmanager
async def log_ended_turns(journal: Journal) -> AsyncIterator[None]:
    """Log a line for each turn that ends during the block, except damaged ones."""
    if not log.isEnabledFor(logging.INFO):
        yield
        return
    ended = EndedTurns(journal)
    try:
        async with in_background(ended.log_forever()):
            yield
    finally:
        ended.log_lines()


class EndedTurns:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._told = journal.last_seq_of_all()

    async def log_forever(self) -> None:
        while True:
            changed = self._journal.next_change
            self.log_lines()
            await changed.wait()

    def log_lines(self) -> None:
        if self._journal.change_counter(SoulTurnEnded) <= self._told:
            return
        for ended in self._journal.entries_of_kind(SoulTurnEnded, since=self._told):
            self._told = ended.seq
            if not self._journal.is_own(ended.seq):
                continue
            with suppress(JournalError):
                _tell(self._journal, ended)


def _tell(journal: Journal, ended: Entry[SoulTurnEnded]) -> None:
    began = journal.entry(ended.cause or 0)
    if not isinstance(began.event, SoulTurnBegan):
        return
    calls, dollars = 0, 0.0
    for call in journal.thread_entries(ended.thread, ModelCall, since=began.seq):
        if call.seq < ended.seq and not call.event.taken_from:
            calls += 1
            dollars += call.event.cost
    process = ended.event.process or began.event.process
    seconds = ended.at - began.at
    counted = "1 call" if calls == 1 else f"{calls} calls"
    fields = {
        "thread": ended.thread,
        "process": process,
        "outcome": ended.event.outcome,
        "calls": calls,
        "dollars": round(dollars, 6),
        "seconds": round(seconds, 3),
    }
    said = f"{process} {ended.event.outcome}: {counted}, ${dollars:.4f}, {seconds:.1f} s"
    log.info("%s  %s", ended.thread, said, extra={FIELDS: fields})

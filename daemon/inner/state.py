"""All that the inner life knows, as of one entry of the journal: its folds, brought to the same point."""

from __future__ import annotations

from dataclasses import dataclass

from daemon.engine.reading import ALWAYS
from daemon.inner.agent_log import TickLog
from daemon.inner.notes import Notes
from daemon.inner.process_log import ProgramLog
from daemon.inner.records import InnerRecords
from daemon.inner.said import DeliveryLog
from daemon.knowledge.views import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerLifeState:
    """The log of its ticks, its notes, its records, its processes, and what became of what it wanted said."""

    log: TickLog
    notes: Notes
    records: InnerRecords
    processes: ProgramLog
    said: DeliveryLog
    views: Visibility

    async def update(self, before: int = ALWAYS) -> None:
        """Make it what it was when the entry `before` was written; without that, what it is now."""
        await self.views.update()
        await self.log.update(before)
        await self.notes.update(before)
        await self.records.update(before)
        await self.processes.update(before)
        await self.said.update(before)

    @property
    def unread_entries(self) -> int:
        """How many entries of the journal one of them did not look at yet."""
        folds = (self.log, self.notes, self.records, self.processes, self.said)
        return max(*[fold.entries_left for fold in folds], self.views.entries_left)

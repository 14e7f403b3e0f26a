"""All that the inner life knows, as of one entry of the journal: its folds, brought to the same point."""

from __future__ import annotations

from dataclasses import dataclass

from daemon.engine.reading import ALWAYS
from daemon.inner.agent_log import AgentLog
from daemon.inner.notes import Notes
from daemon.inner.process_log import ProcessLog
from daemon.inner.records import Records
from daemon.inner.said import SaidLog
from daemon.knowledge.views import Views


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The log of its ticks, its notes, its records, its processes, and what became of what it wanted said."""

    log: AgentLog
    notes: Notes
    records: Records
    processes: ProcessLog
    said: SaidLog
    views: Views

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
